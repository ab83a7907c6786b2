// Products of matrices: Dense and EinsumDense where one factor is a weight, keras.ops otherwise.
#include "formats/keras/write/sink.h"

#include <algorithm>
#include <array>

namespace convoy::keras::writing {
namespace {

Status write_dense(Sink& sink) {
  LayerConfig config = sink.layer("Dense");
  config.arguments["units"] = sink.constant(1)->shape()[1];
  if (!sink.has(2)) config.arguments["use_bias"] = false;
  if (auto ok = sink.weigh(config, 1, "kernel"); !ok) return ok;
  if (sink.has(2))
    if (auto ok = sink.weigh(config, 2, "bias"); !ok) return ok;
  return sink.last(std::move(config));
}

Status write_linear(const Linear& linear, Sink& sink) {
  if (linear.order != LinearOrder::InOut) return sink.broken("a matrix in another framework's order");
  if (sink.rank() < 2) return sink.refused("a product of a vector without a batch");
  if (!sink.constant(1)) return sink.refused("a kernel that the model computes");
  return write_dense(sink);
}

Status write_matmul(const MatMul&, Sink& sink) {
  const Tensor* b = sink.constant(1);
  const bool weight = b && b->rank() == 2 && sink.graph()[sink.node().inputs[1]].trainable;
  if (weight && sink.rank() >= 2 && sink.dim(sink.rank() - 1).known()) return write_dense(sink);
  LayerConfig config = sink.operation("numpy", "Matmul");
  sink.operand(config, 0, 0, "x1");
  sink.operand(config, 1, 1, "x2");
  return sink.last(std::move(config));
}

// EinsumDense counts its first axis as the batch and takes the output's other sizes.
bool is_dense(const EinsumLetters& letters, const Sink& sink) {
  if (letters.a.empty() || letters.out.empty() || letters.a[0] != letters.out[0]) return false;
  if (letters.b.find(letters.a[0]) != std::string::npos || !sink.constant(1)) return false;
  if (!sink.graph()[sink.node().inputs[1]].trainable) return false;
  for (const char c : letters.b) {
    const bool in = letters.a.find(c) != std::string::npos, out = letters.out.find(c) != std::string::npos;
    if (!in && !out) return false;
  }
  return true;
}

Status write_einsum(const Einsum& einsum, Sink& sink) {
  const auto letters = letters_of(einsum);
  if (!letters) return std::unexpected(letters.error());
  if (is_dense(*letters, sink)) {
    LayerConfig config = sink.layer("EinsumDense");
    config.arguments["equation"] = einsum.equation;
    Json shape = Json::array();
    for (std::size_t i = 1; i < letters->out.size(); ++i) {
      const Dim n = sink.result_type().shape[i];
      shape.push_back(n.known() ? Json(*n) : Json());
    }
    config.arguments["output_shape"] = std::move(shape);
    if (auto ok = sink.weigh(config, 1, "kernel"); !ok) return ok;
    return sink.last(std::move(config));
  }
  LayerConfig config = sink.operation("numpy", "Einsum");
  config.arguments["subscripts"] = einsum.equation;
  sink.operand(config, 0, 0, "x1");
  sink.operand(config, 1, 1, "x2");
  return sink.last(std::move(config));
}

Status write_embedding(const Embedding&, Sink& sink) {
  const Tensor* table = sink.constant(1);
  if (!table) return sink.refused("a table that the model computes");
  if (sink.constant(0)) return sink.refused("a lookup of numbers that are known beforehand");
  LayerConfig config = sink.layer("Embedding");
  config.arguments["input_dim"] = table->shape()[0];
  config.arguments["output_dim"] = table->shape()[1];
  if (auto ok = sink.weigh(config, 1, "embeddings"); !ok) return ok;
  return sink.last(std::move(config));
}

constexpr std::array linear_table{writes<write_linear>(), writes<write_matmul>(), writes<write_einsum>(),
                                  writes<write_embedding>()};
static_assert(decides<LinearFamily>(linear_table));

}  // namespace

std::span<const Row> linear_rows() { return linear_table; }

}  // namespace convoy::keras::writing
