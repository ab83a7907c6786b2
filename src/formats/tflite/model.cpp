// Fields by their numbers in schema.fbs; of a union the kind comes first, its table is the next field.
#include "formats/tflite/model.h"

#include "formats/tflite/types.h"

#include <algorithm>

namespace convoy::tflite {
namespace {

StoredQuantization quantization_of(const FlatTable& tensor) {
  const auto table = tensor.table(4);
  if (!table) return {};
  return {table->numbers<float>(2), table->numbers<std::int64_t>(3), table->number<std::int32_t>(6),
          table->number<std::uint8_t>(4) != 0};
}

// A list of int32, uint16 or uint8, which a union holds in a table of its own.
std::vector<std::int64_t> list_of_union(const FlatTable& t, int kind) {
  const auto table = t.table(kind + 1);
  if (!table) return {};
  const auto wide = [](const auto& numbers) { return std::vector<std::int64_t>(numbers.begin(), numbers.end()); };
  switch (t.number<std::uint8_t>(kind)) {
    case 1: return wide(table->numbers<std::int32_t>(0));
    case 2: return wide(table->numbers<std::uint16_t>(0));
    case 3: return wide(table->numbers<std::uint8_t>(0));
    default: return {};
  }
}

StoredSparsity sparsity_of(const FlatTable& t) {
  StoredSparsity sparsity{t.numbers<std::int32_t>(0), t.numbers<std::int32_t>(1), {}};
  for (const FlatTable& axis : t.tables(2))
    sparsity.axes.push_back({axis.number<std::int8_t>(0) == 0, axis.number<std::int32_t>(1), list_of_union(axis, 2),
                             list_of_union(axis, 4)});
  return sparsity;
}

StoredTensor tensor_of(const FlatTable& t) {
  StoredTensor tensor;
  tensor.shape = t.numbers<std::int32_t>(0);
  tensor.type = t.number<std::int8_t>(1);
  tensor.buffer = t.number<std::uint32_t>(2);
  tensor.name = t.text(3);
  tensor.quantization = quantization_of(t);
  tensor.is_variable = t.number<std::uint8_t>(5) != 0;
  if (const auto sparsity = t.table(6)) tensor.sparsity = sparsity_of(*sparsity);
  tensor.signature = t.numbers<std::int32_t>(7);
  tensor.external = t.number<std::uint32_t>(10);
  return tensor;
}

StoredOperator operator_in(const FlatTable& t) {
  StoredOperator op;
  op.code = t.number<std::uint32_t>(0);
  op.inputs = t.numbers<std::int32_t>(1);
  op.outputs = t.numbers<std::int32_t>(2);
  op.options_kind = t.number<std::uint8_t>(3);
  if (op.options_kind != 0) op.options = t.table(4);
  op.options_2_kind = t.number<std::uint8_t>(11);
  return op;
}

SubGraph subgraph_of(const FlatTable& t) {
  SubGraph graph;
  for (const FlatTable& tensor : t.tables(0)) graph.tensors.push_back(tensor_of(tensor));
  graph.inputs = t.numbers<std::int32_t>(1);
  graph.outputs = t.numbers<std::int32_t>(2);
  for (const FlatTable& op : t.tables(3)) graph.operators.push_back(operator_in(op));
  graph.name = t.text(4);
  return graph;
}

Signature signature_of(const FlatTable& t) {
  Signature signature{t.text(2), t.number<std::uint32_t>(4), {}, {}};
  for (const FlatTable& map : t.tables(0)) signature.inputs[map.number<std::uint32_t>(1)] = map.text(0);
  for (const FlatTable& map : t.tables(1)) signature.outputs[map.number<std::uint32_t>(1)].push_back(map.text(0));
  return signature;
}

}  // namespace

bool begins_model(Bytes bytes) { return bytes.size() >= 8 && text_of(bytes).substr(4, 4) == "TFL3"; }

Result<Model> parse_model(Bytes bytes) {
  Model model;
  model.file = std::make_shared<FlatFile>(bytes);
  FlatFile& file = *model.file;
  const FlatTable root = FlatTable::root(file);
  if (const auto sound = file.done(); !sound) return std::unexpected(sound.error());
  model.version = root.number<std::uint32_t>(0);
  if (model.version != 3 && !file.failed())
    return fail(Fault::Unsupported, "is of schema version " + std::to_string(model.version) + ", this version reads 3");
  model.description = root.text(3);
  for (const FlatTable& t : root.tables(1))
    model.codes.push_back(
        {std::max<int>(t.number<std::int8_t>(0), t.number<std::int32_t>(3)), t.number<std::int32_t>(2, 1), t.text(1)});
  for (const FlatTable& t : root.tables(2)) {
    if (file.failed()) break;
    model.subgraphs.push_back(subgraph_of(t));
  }
  for (const FlatTable& t : root.tables(4)) {
    const auto offset = t.number<std::uint64_t>(1), size = t.number<std::uint64_t>(2);
    model.buffers.push_back(offset > 1 ? file.take(offset, size, "a buffer behind the model") : t.run(0));
  }
  for (SubGraph& graph : model.subgraphs)
    for (StoredTensor& tensor : graph.tensors) {
      const bool is_weight = tensor.buffer < model.buffers.size() && !model.buffers[tensor.buffer].empty();
      if (tensor.type != four_bits || !is_weight) continue;
      tensor.is_packed = true;
      tensor.type = static_cast<int>(type_code_of(DType::I8));
    }
  for (const FlatTable& t : root.tables(7)) model.signatures.push_back(signature_of(t));
  if (const auto sound = file.done(); !sound) return std::unexpected(sound.error());
  return model;
}

}  // namespace convoy::tflite
