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
  Said said = sink.layer("EinsumDense");
  said.args = {std::get<Reference>(sink.argument(other))};
  said.arguments["equation"] = letters + "," + last + "->" + letters;
  said.arguments["output_shape"] = std::move(shape);
  if (auto ok = sink.weigh(said, factor, "kernel"); !ok) return ok;
  Tensor& kernel = said.weights.back().tensor;
  kernel = kernel.reshaped(Sizes(kernel.shape().end() - axes, kernel.shape().end()));
  return sink.last(std::move(said));
}

// A merging layer puts axes behind the batch of an input that has fewer, unlike numpy, so ranks must agree.
Status write_binary(const Binary& op, Sink& sink) {
  const Word word = word_of(op.function);
  if (!word.operation) return sink.refused("a division that rounds toward zero");
  // A merging layer also wants one batch.
  const bool one_batch = sink.rank(0) == 0 || sink.rank(1) == 0 || !sink.dim(0, 0).known() || !sink.dim(0, 1).known() ||
                         sink.dim(0, 0) == sink.dim(0, 1);
  if (word.layer && one_batch && !sink.constant(0) && !sink.constant(1) && sink.rank(0) == sink.rank(1) &&
      sink.rank(0) > 0) {
    Said said = sink.layer(word.layer);
    said.args = {std::vector<Item>{std::get<Reference>(sink.argument(0)), std::get<Reference>(sink.argument(1))}};
    return sink.last(std::move(said));
  }
  if (op.function == BinaryFunction::Multiply)
    for (const std::size_t factor : {std::size_t{1}, std::size_t{0}})
      if (const auto axes = trained_axes(factor, sink)) return write_trained_factor(factor, *axes, sink);
  Said said = sink.operation("numpy", word.operation);
  sink.operand(said, 0, 0, "x1");
  sink.operand(said, 1, 1, "x2");
  return sink.last(std::move(said));
}

Status write_where(const Where&, Sink& sink) {
  Said said = sink.operation("numpy", "Where");
  sink.operand(said, 0, 0, "condition");
  sink.operand(said, 1, 1, "x1");
  sink.operand(said, 2, 2, "x2");
  return sink.last(std::move(said));
}

Status write_affine(const Affine& op, Sink& sink) {
  Said said = sink.layer("Rescaling");
  said.arguments["scale"] = op.scale;
  said.arguments["offset"] = op.offset;  // Keras does not load the layer without it
  return sink.last(std::move(said));
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
  Said said = sink.layer(name ? std::string(name) : class_of("SpatialDropout", sink.rank() - 2));
  said.arguments[op.noise == Noise::GaussianNoise ? "stddev" : "rate"] = op.rate;
  return sink.last(std::move(said));
}

Status write_identity(const Identity&, Sink& sink) { return sink.last(sink.layer("Identity")); }

Status write_cast(const Cast& op, Sink& sink) {
  Said said = sink.operation("core", "Cast");
  said.arguments["dtype"] = std::string(convoy::name_of(op.to));
  return sink.last(std::move(said));
}

constexpr std::array rows{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                          writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(rows));

}  // namespace

std::span<const Row> elementwise_rows() { return rows; }

}  // namespace convoy::keras::writing
