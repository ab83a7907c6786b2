// A graph as a document, node by node through the row of its operator.
#include "base/budget.h"
#include "base/fresh_names.h"
#include "formats/tflite/tflite.h"
#include "formats/tflite/types.h"
#include "formats/tflite/write/axes.h"
#include "formats/tflite/write/integers.h"
#include "formats/tflite/write/sink.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::tflite {
namespace {

std::array<std::span<const Row>, 13> all_rows() {
  return {convolution_rows(),   pooling_rows(),    unfold_rows(),      pad_rows(),       linear_rows(),
          normalization_rows(), activation_rows(), elementwise_rows(), reduction_rows(), reshape_rows(),
          slice_concat_rows(),  resize_rows(),     recurrent_rows()};
}

// TensorFlow's interpreter sets tensors without a number aside, and XNNPACK takes a slice of none for the whole axis.
Status has_numbers(const Node& node, const Graph& graph) {
  for (const auto* values : {&node.inputs, &node.outputs})
    for (const ValueId v : *values)
      if (v && std::ranges::find(graph[v].type.shape, Dim(0)) != graph[v].type.shape.end())
        return fail(Fault::Unsupported, "'" + graph[v].name + "' of shape " + text_of(graph[v].type.shape) +
                                            " holds no number, and TFLite's kernels answer otherwise then");
  return {};
}

Status write_node(const Node& node, Sink& sink) {
  if (auto s = has_numbers(node, sink.graph()); !s) return s;
  static const auto rows = by_operator(all_rows());
  const Row& row = rows.at(convoy::name_of(node.op));
  if (!row.write) return fail(Fault::Unsupported, std::string(row.why_not));
  for (const ValueId v : node.inputs)
    if (v && type_code_of(sink.graph()[v].type.dtype) < 0)
      return fail(Fault::Unsupported,
                  "TFLite has no numbers of type " + std::string(name_of(sink.graph()[v].type.dtype)));
  return row.write(node.op, sink);
}

// What is refused of 16 or 64 bits may have a form in float32.
Status advised(Status written, const Node& node, const Graph& graph) {
  const auto is_real = [&](ValueId v) {
    return v && is_floating(graph[v].type.dtype) && graph[v].type.dtype != DType::F32;
  };
  if (written || written.error().fault != Fault::Unsupported) return written;
  if (std::ranges::none_of(node.inputs, is_real) && std::ranges::none_of(node.outputs, is_real)) return written;
  written.error().what += "; --float32 carries the model in float32, and says what that changes";
  return written;
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> operators() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& family : all_rows())
    for (const Row& row : family) all.emplace_back(row.op, row.why_not);
  return all;
}

Status write_model(const Graph& graph, const std::function<Status(std::span<const std::byte>)>& append,
                   const WriteOptions& options) {
  Document document;
  document.name = graph.name.empty() ? "model" : graph.name;
  document.description = std::string("convoy ") + CONVOY_VERSION;
  Sink sink(graph, document);
  if (options.in_integers) sink.keep_stretches();
  for (const ValueId v : graph.inputs) sink.add_input(v);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{static_cast<std::int32_t>(i)};
    if (sink.is_made(id)) continue;
    sink.begin(id);
    if (const QuantizedStretch* stretch = sink.stretch(id)) {
      sink.write_stretch(*stretch);
      continue;
    }
    const std::size_t before = document.operators.size();
    auto written = write_node(graph[id], sink);
    for (std::size_t k = before; written && k < document.operators.size(); ++k)
      written = check_types(document, document.operators[k]);
    if (!written) return within(place_of(graph[id]), advised(std::move(written), graph[id], graph));
  }
  // A signature gives its outputs in a dictionary: of one name, the last would be the only one.
  const auto names = names_apart(graph.output_names);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) sink.add_output(graph.outputs[i], names[i]);
  IntegerReport unread;
  if (options.in_integers)
    if (auto s = compute_in_integers(document, options.held, options.report ? *options.report : unread); !s) return s;
  if (auto s = join_axes(document); !s) return s;
  if (options.in_halves)
    if (auto stored = store_halves(document); !stored) return stored;
  return write_document(document, append);
}

}  // namespace convoy::tflite
