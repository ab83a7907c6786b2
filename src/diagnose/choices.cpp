#include "diagnose/choices.h"

#include "ops/expect.h"

#include <array>
#include <optional>

namespace convoy::diagnose {

namespace {

bool asks_whether_a_number(const Graph& piece, ValueId condition) {
  const NodeId maker = piece[condition].producer;
  return maker && holds_alternative<Binary>(piece[maker].op) && piece[maker].inputs[0] == piece[maker].inputs[1];
}

// Steps of a tensor that is stretched to a shape, ranks aligned at the last axis.
std::vector<std::size_t> steps_within(const Sizes& own, const Sizes& shape) {
  std::vector<std::size_t> steps(shape.size(), 0);
  std::size_t step = 1;
  for (std::size_t i = own.size(); i-- > 0;) {
    if (own[i] != 1) steps[shape.size() - own.size() + i] = step;
    step *= static_cast<std::size_t>(own[i]);
  }
  return steps;
}

// The shape that all stretch to; nothing where they do not fit.
std::optional<Sizes> common_shape(const std::vector<const Tensor*>& all) {
  Sizes shape;
  for (const Tensor* tensor : all) {
    const Sizes& own = tensor->shape();
    if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), 1);
    for (std::size_t i = 0; i < own.size(); ++i) {
      Size& at = shape[shape.size() - own.size() + i];
      if (own[i] != 1 && at != 1 && own[i] != at) return std::nullopt;
      if (at == 1) at = own[i];
    }
  }
  return shape;
}

}  // namespace

std::vector<Choice> choices_in(const Graph& piece) {
  std::vector<Choice> all;
  for (const Node& node : piece.nodes) {
    const auto& in = node.inputs;
    if (holds_alternative<Where>(node.op)) {
      const bool is_known = piece[in[0]].constant || (piece[in[1]].constant && piece[in[2]].constant);
      if (!is_known && in[1] != in[2] && !asks_whether_a_number(piece, in[0]))
        all.push_back({.condition = in[0], .first = in[1], .second = in[2], .layer = node.layer});
    }
    const auto* binary = get_if<Binary>(&node.op);
    const bool is_largest = binary && binary->function == BinaryFunction::Maximum;
    if (!is_largest && !(binary && binary->function == BinaryFunction::Minimum)) continue;
    if (in[0] != in[1] && !piece[in[0]].constant && !piece[in[1]].constant)
      all.push_back({.first = in[0], .second = in[1], .largest = is_largest, .layer = node.layer});
  }
  return all;
}

void note(Choice& choice, const std::vector<Tensor>& values) {
  if (choice.first_taken && choice.second_taken) return;
  std::vector<const Tensor*> read{&values[choice.first.slot()], &values[choice.second.slot()]};
  if (choice.condition) read.push_back(&values[choice.condition.slot()]);
  const auto shape = common_shape(read);
  if (!shape) return;
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<std::size_t>> steps;
  for (const Tensor* tensor : read)
    numbers.push_back(tensor->doubles()), steps.push_back(steps_within(tensor->shape(), *shape));
  const auto count = static_cast<std::size_t>(checked_count(*shape).value_or(0));
  for (std::size_t n = 0; n < count && !(choice.first_taken && choice.second_taken); ++n) {
    std::array<std::size_t, 3> at{};
    std::size_t left = n;
    for (std::size_t axis = shape->size(); axis-- > 0;) {
      const auto size = static_cast<std::size_t>((*shape)[axis]);
      for (std::size_t k = 0; k < read.size(); ++k) at[k] += left % size * steps[k][axis];
      left /= size;
    }
    const double x = numbers[0][at[0]], y = numbers[1][at[1]];
    if (x == y) continue;
    const bool takes_first = choice.condition ? numbers[2][at[2]] != 0 : (x > y) == choice.largest;
    (takes_first ? choice.first_taken : choice.second_taken) = true;
  }
}

}  // namespace convoy::diagnose
