// Is PyTorch's padding=1 the same as Keras' padding="same"? At stride 2 that depends on the size of the input.
#include <convoy/keras.h>
#include <convoy/torch.h>

#include <cstdio>
#include <vector>

using convoy::Tensor;

namespace {

// 1, 10, 100, ...: the digits of a result tell which cells its window saw, and how the kernel weighted them.
std::vector<float> powers_of_ten(convoy::Size count) {
  std::vector<float> values{1};
  while (static_cast<convoy::Size>(values.size()) < count) values.push_back(10 * values.back());
  return values;
}

void print(const char* who, const Tensor& y) {
  std::printf("  %-18s", who);
  for (const float v : y.floats()) std::printf(" %8.0f", v);
  std::printf("\n");
}

// Prints both answers for an input of n cells; false where one of them is refused.
bool compare(convoy::Size n) {
  const auto values = powers_of_ten(n);
  const std::vector<float> weights{1, 2, 3};
  // One image, one channel: Keras has channels last and the kernel as [k, in, out], PyTorch channels first.
  const auto keras =
      convoy::keras::conv1d(convoy::View(std::span(values), {1, n, 1}), convoy::View(std::span(weights), {3, 1, 1}),
                            nullptr, {.strides = 2, .padding = "same"});
  const auto torch =
      convoy::torch::conv1d(convoy::View(std::span(values), {1, 1, n}), convoy::View(std::span(weights), {1, 1, 3}),
                            nullptr, {.stride = 2, .padding = 1});
  if (!keras || !torch) {
    std::fprintf(stderr, "%s\n", message((keras ? torch : keras).error()).c_str());
    return false;
  }
  std::printf("%d cells: %s\n", static_cast<int>(n), keras->floats() == torch->floats() ? "equal" : "not equal");
  print("Keras same", *keras);
  print("PyTorch padding=1", *torch);
  return true;
}

}  // namespace

int main() { return compare(5) && compare(6) ? 0 : 1; }
