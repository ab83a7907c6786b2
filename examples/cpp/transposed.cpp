// A PyTorch network grows its images with ConvTranspose(kernel 3, stride=2, padding=1, output_padding=1). TensorFlow's
// "same" answers with the same size and other numbers: PyTorch cuts off the first cell, TensorFlow the last.
#include <convoy/keras.h>
#include <convoy/torch.h>

#include <cstdio>
#include <vector>

using convoy::Result;
using convoy::Tensor;

namespace {

// Prints a line of cells; false where the call is refused.
bool print(const char* who, const Result<Tensor>& y) {
  if (!y) {
    std::fprintf(stderr, "%s: %s\n", who, message(y.error()).c_str());
    return false;
  }
  std::printf("%-36s", who);
  for (const float v : y->floats()) std::printf(" %4.0f", v);
  std::printf("\n");
  return true;
}

}  // namespace

int main() {
  const auto x = Tensor::of({1, 1, 3}, std::vector<float>{1, 10, 100});
  const auto w = Tensor::of({1, 1, 3}, std::vector<float>{1, 2, 3});
  const auto torch = convoy::torch::conv_transpose1d(x, w, nullptr, {.stride = 2, .padding = 1, .output_padding = 1});

  // Channels last, and the kernel as [k, out, in].
  const auto last = x.reshaped({1, 3, 1}), kernel = w.reshaped({3, 1, 1});
  const auto same = convoy::keras::conv1d_transpose(last, kernel, nullptr, {.strides = 2, .padding = "same"});
  // What says the same: every cell that the kernel reaches, without the first.
  const auto all = convoy::keras::conv1d_transpose(last, kernel, nullptr, {.strides = 2, .padding = "valid"});
  if (!print("PyTorch padding=1, output_padding=1", torch) || !print("Keras same", same) || !print("Keras valid", all))
    return 1;
  const auto cut = convoy::keras::cropping1d(*all, {{1, 0}});
  if (!print("Keras valid, then Cropping1D((1, 0))", cut)) return 1;
  return torch->floats() == cut->floats() && torch->floats() != same->floats() ? 0 : 1;
}
