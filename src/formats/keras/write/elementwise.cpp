// Sums and products of two tensors, plain numbers, and what acts in training alone.
#include "formats/keras/write/sink.h"

#include <algorithm>
#include <array>
#include <optional>

namespace convoy::keras::writing {
namespace {

struct Word {
  const char* layer;  // of several tensors; null where there is none
  const char* operation;
};

Word word_of(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::Add: return {"Add", "Add"};
    case BinaryFunction::Subtract: return {"Subtract", "Subtract"};
    case BinaryFunction::Multiply: return {"Multiply", "Multiply"};
    case BinaryFunction::Divide: return {nullptr, "Divide"};
    case BinaryFunction::Maximum: return {"Maximum", "Maximum"};
    case BinaryFunction::Minimum: return {"Minimum", "Minimum"};
    case BinaryFunction::Power: return {nullptr, "Power"};
    case BinaryFunction::Modulo: return {nullptr, "Mod"};
    case BinaryFunction::FloorDivide: return {nullptr, "FloorDivide"};
    case BinaryFunction::Equal: return {nullptr, "Equal"};
    case BinaryFunction::NotEqual: return {nullptr, "NotEqual"};
    case BinaryFunction::Less: return {nullptr, "Less"};
    case BinaryFunction::LessOrEqual: return {nullptr, "LessEqual"};
    case BinaryFunction::Greater: return {nullptr, "Greater"};
    case BinaryFunction::GreaterOrEqual: return {nullptr, "GreaterEqual"};
    case BinaryFunction::And: return {nullptr, "LogicalAnd"};
    case BinaryFunction::Or: return {nullptr, "LogicalOr"};
    case BinaryFunction::Xor: return {nullptr, "LogicalXor"};
    case BinaryFunction::Remainder:
    case BinaryFunction::TruncateDivide: return {nullptr, nullptr};
  }
  std::unreachable();
}

// How many of the last axes a factor that is trained has numbers for; nothing where it is no such factor of the other input.
std::optional<Size> trained_axes(std::size_t factor, Sink& sink) {
  const Tensor* numbers = sink.constant(factor);
  const std::size_t other = 1 - factor;
  if (!numbers || sink.constant(other) || !sink.graph()[sink.node().inputs[factor]].trainable) return std::nullopt;
  Sizes shape = numbers->shape();
  shape.erase(shape.begin(), std::ranges::find_if(shape, [](Size n) { return n != 1; }));
  const auto axes = static_cast<Size>(shape.size());
  if (axes == 0 || axes >= sink.rank(other) || numbers->rank() > sink.rank(other)) return std::nullopt;
  for (Size i = 0; i < axes; ++i)
    if (sink.dim(sink.rank(other) - axes + i, other) != Dim(shape[static_cast<std::size_t>(i)])) return std::nullopt;
  return axes;
}

// The layer of Keras that multiplies by a weight cell by cell.
Status write_trained_factor(std::size_t factor, Size axes, Sink& sink) {
  const std::size_t other = 1 - factor;
  std::string letters;
  Json shape = Json::array();
  for (Size i = 0; i < sink.rank(other); ++i) {
    letters += static_cast<char>('a' + i);
    if (i > 0) shape.push_back(sink.dim(i, other).known() ? Json(*sink.dim(i, other)) : Json());
  }
  const std::string last = letters.substr(letters.size() - static_cast<std::size_t>(axes));
  LayerConfig config = sink.layer("EinsumDense");
  config.args = {std::get<Reference>(sink.argument(other))};
  config.arguments["equation"] = letters + "," + last + "->" + letters;
  config.arguments["output_shape"] = std::move(shape);
  if (auto ok = sink.weigh(config, factor, "kernel"); !ok) return ok;
  Tensor& kernel = config.weights.back().tensor;
  kernel = kernel.reshaped(Sizes(kernel.shape().end() - axes, kernel.shape().end()));
  return sink.last(std::move(config));
}

// keras.ops.add on TensorFlow takes a second operand that is one vector (all other axes 1) for a bias where its length is
// that of the first one's last axis or, else, of axis 1, and adds it there, wherever it stood. Source: Keras 3.15.1,
// backend/tensorflow/numpy.py. Is it ruled out, or does the vector stand there?
bool is_added_in_place(const Shape& first, const Shape& second) {
  if (first.size() < 2) return true;
  std::vector<std::size_t> long_axes;
  for (std::size_t i = 0; i < second.size(); ++i)
    if (second[i].known() && *second[i] > 1) long_axes.push_back(i);
  const bool all_known = std::ranges::all_of(second, [](Dim n) { return n.known(); });
  if (long_axes.size() != 1) return long_axes.size() > 1 || all_known;
  const Dim length = second[long_axes[0]];
  const bool is_last = long_axes[0] + 1 == second.size();
  if (is_last && first.back() == length) return true;
  const bool other_lengths = first.back().known() && first.back() != length && first[1].known() && first[1] != length;
  return other_lengths;
}

enum class Addends : std::uint8_t { AsTheyStand, Swapped, Subtracted };
// In which order a sum is right whatever the sizes: a second operand as large as the sum is never moved.
Addends order_of_addends(const Sink& sink) {
  const Shape &first = sink.type(0).shape, &second = sink.type(1).shape, &sum = sink.result_type().shape;
  if (is_added_in_place(first, second) || second == sum) return Addends::AsTheyStand;
  return first == sum ? Addends::Swapped : Addends::Subtracted;
}

// x1 - (-x2), or x2 - (-x1) where x2 are numbers: neither operand is taken for a bias.
Status write_sum_by_difference(Sink& sink) {
  const std::size_t kept = sink.constant(1) ? 1 : 0, negated = 1 - kept;
  LayerConfig negative = sink.operation("numpy", "Negative");
  sink.operand(negative, 0, negated, "x");
  const Argument other = sink.step(std::move(negative), "negative", sink.type(negated));
  LayerConfig config = sink.operation("numpy", "Subtract");
  sink.operand(config, 0, kept, "x1");
  config.args.push_back(other);
  return sink.last(std::move(config));
}

// A merging layer puts axes behind the batch of an input that has fewer, unlike numpy, so ranks must agree.
Status write_binary(const Binary& op, Sink& sink) {
  const Addends order = op.function == BinaryFunction::Add ? order_of_addends(sink) : Addends::AsTheyStand;
  if (order == Addends::Subtracted) return write_sum_by_difference(sink);
  const std::size_t first = order == Addends::Swapped ? 1 : 0, second = 1 - first;
  const Word word = word_of(op.function);
  if (!word.operation) return sink.refused("a division that rounds toward zero");
  // A merging layer also wants one batch.
  const bool one_batch = sink.rank(0) == 0 || sink.rank(1) == 0 || !sink.dim(0, 0).known() || !sink.dim(0, 1).known() ||
                         sink.dim(0, 0) == sink.dim(0, 1);
  if (word.layer && one_batch && !sink.constant(0) && !sink.constant(1) && sink.rank(0) == sink.rank(1) &&
      sink.rank(0) > 0) {
    LayerConfig config = sink.layer(word.layer);
    config.args = {
        std::vector<Item>{std::get<Reference>(sink.argument(first)), std::get<Reference>(sink.argument(second))}};
    return sink.last(std::move(config));
  }
  if (op.function == BinaryFunction::Multiply)
    for (const std::size_t factor : {std::size_t{1}, std::size_t{0}})
      if (const auto axes = trained_axes(factor, sink)) return write_trained_factor(factor, *axes, sink);
  LayerConfig config = sink.operation("numpy", word.operation);
  sink.operand(config, 0, first, "x1");
  sink.operand(config, 1, second, "x2");
  return sink.last(std::move(config));
}

Status write_where(const Where&, Sink& sink) {
  LayerConfig config = sink.operation("numpy", "Where");
  sink.operand(config, 0, 0, "condition");
  sink.operand(config, 1, 1, "x1");
  sink.operand(config, 2, 2, "x2");
  return sink.last(std::move(config));
}

Status write_affine(const Affine& op, Sink& sink) {
  LayerConfig config = sink.layer("Rescaling");
  config.arguments["scale"] = op.scale;
  config.arguments["offset"] = op.offset;  // Keras does not load the layer without it
  return sink.last(std::move(config));
}

Status write_dropout(const Dropout& op, Sink& sink) {
  const char* name = nullptr;
  switch (op.noise) {
    case Noise::Dropout: name = "Dropout"; break;
    case Noise::AlphaDropout: name = "AlphaDropout"; break;
    case Noise::GaussianDropout: name = "GaussianDropout"; break;
    case Noise::GaussianNoise: name = "GaussianNoise"; break;
    case Noise::SpatialDropout:
      if (op.channel != sink.rank() - 1 || sink.rank() < 3 || sink.rank() > 5)
        return sink.refused("a dropout of channels in this order");
      break;
    case Noise::Augmentation: return sink.refused("an augmentation");
  }
  LayerConfig config = sink.layer(name ? std::string(name) : class_of("SpatialDropout", sink.rank() - 2));
  config.arguments[op.noise == Noise::GaussianNoise ? "stddev" : "rate"] = op.rate;
  return sink.last(std::move(config));
}

Status write_identity(const Identity&, Sink& sink) { return sink.last(sink.layer("Identity")); }

Status write_cast(const Cast& op, Sink& sink) {
  LayerConfig config = sink.operation("core", "Cast");
  config.arguments["dtype"] = std::string(convoy::name_of(op.to));
  return sink.last(std::move(config));
}

constexpr std::array elementwise_table{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                                       writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(elementwise_table));

}  // namespace

std::span<const Row> elementwise_rows() { return elementwise_table; }

}  // namespace convoy::keras::writing
