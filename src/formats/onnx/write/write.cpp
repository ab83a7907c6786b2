// A graph becomes a document: values keep their names, constants become initializers, each node is written by its row.
#include "formats/onnx/check.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/write/element_types.h"
#include "formats/onnx/write/sink.h"
#include "formats/source_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace convoy::onnx {
namespace {

auto all_rows() {
  return std::array{convolution_rows(),   pooling_rows(),    unfold_rows(),      pad_rows(),       linear_rows(),
                    normalization_rows(), activation_rows(), elementwise_rows(), reduction_rows(), reshape_rows(),
                    slice_concat_rows(),  resize_rows(),     recurrent_rows()};
}

Status write_node(const Node& node, Sink& sink) {
  static const auto rows = by_operator(all_rows());
  const Row& row = rows.at(name_of(node.op));
  if (!row.write) return fail(Fault::Unsupported, std::string(row.why_not));
  sink.begin(node);
  return row.write(node.op, sink);
}

// Names for sizes that are unknown, so that a runtime can tell which ones are one size: the source's, else "N" for a batch
// and a name of its own for any other size of an input.
class SizeNames {
 public:
  explicit SizeNames(const SizeWords& given) : given_(given) {
    for (const auto& [value, words] : given) taken_.insert(words.begin(), words.end());
  }

  DocumentValue input(const Graph& graph, ValueId v) {
    DocumentValue described = output(graph, v, graph[v].name);
    for (std::size_t i = 0; i < described.unknown.size(); ++i)
      if (!described.type.shape[i].known() && described.unknown[i].empty())
        described.unknown[i] = unlike_given(i == 0 ? "N" : described.name + "_" + std::to_string(i));
    return described;
  }
  DocumentValue output(const Graph& graph, ValueId v, const std::string& name) const {
    const TensorType& type = graph[v].type;
    DocumentValue described{name, type, std::vector<std::string>(type.shape.size())};
    const auto words = given_.find(name);
    for (std::size_t i = 0; words != given_.end() && i < type.shape.size() && i < words->second.size(); ++i)
      if (!type.shape[i].known()) described.unknown[i] = words->second[i];
    return described;
  }

 private:
  std::string unlike_given(std::string word) const {
    while (taken_.contains(word)) word += "_";
    return word;
  }

  const SizeWords& given_;
  std::set<std::string> taken_;
};

Status check_element_types(const Document& document, const Sink& sink) {
  ElementTypes types(document);
  for (const DocumentNode& node : document.nodes) {
    const auto untaken = types.enter(node);
    if (!untaken) continue;
    const std::string place = node.stands_for ? place_of(*node.stands_for) : "node '" + node.name + "'";
    if (!untaken->type) return within(place, Status(sink.broken(node.op)));
    std::string what = node.op + " of " + std::string(name_of(*untaken->type));
    if (untaken->beside) what += " and " + std::string(name_of(*untaken->beside));
    if (untaken->since == 0) return within(place, Status(sink.refused(what)));
    return within(place, Status(sink.too_old(what, untaken->since)));
  }
  return {};
}

void name_doubles(const Node& node, const Sink& sink, const Document& document, std::size_t first,
                  std::set<std::string>& without_kernel) {
  const auto is_double = [&](ValueId v) { return v && sink.graph()[v].type.dtype == DType::F64; };
  if (std::ranges::none_of(node.inputs, is_double)) return;
  for (std::size_t i = first; i < document.nodes.size(); ++i)
    if (!has_kernel_of_doubles(document.nodes[i].op)) without_kernel.insert(document.nodes[i].op);
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> operators() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& family : all_rows())
    for (const Row& row : family) all.emplace_back(row.op, row.why_not);
  return all;
}

Status write_model(const Graph& graph, const WriteOptions& options,
                   const std::function<Status(std::span<const std::byte>)>& append) {
  if (options.opset < least_opset || options.opset > newest_opset)
    return fail(Fault::Usage, "--opset " + std::to_string(options.opset) + ": convoy writes operator sets " +
                                  std::to_string(least_opset) + " to " + std::to_string(newest_opset));
  Document document{
      own_producer, CONVOY_VERSION, graph.name.empty() ? "model" : graph.name, options.opset, {}, {}, {}, {}, {}};
  Sink sink(graph, document);
  if (options.keeps_quantized) sink.keep_quantized();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (sink.is_made(i)) continue;
    const Node& node = graph.nodes[i];
    if (const QuantizedStretch* stretch = sink.stretch(i)) {
      sink.write_stretch(*stretch);
      continue;
    }
    const std::size_t before = document.nodes.size();
    if (auto written = within(place_of(node), write_node(node, sink)); !written) return written;
    if (options.without_kernel) name_doubles(node, sink, document, before, *options.without_kernel);
  }
  SizeNames sizes(options.size_words);
  for (const ValueId v : graph.inputs) {
    document.inputs.push_back(sizes.input(graph, v));
    document.inputs.back().says = python::lying_text(graph[v]);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    document.outputs.push_back(sizes.output(graph, graph.outputs[i], sink.output(i)));
    document.outputs.back().says = python::lying_text(graph[graph.outputs[i]]);
    if (options.output_names) options.output_names->push_back(document.outputs.back().name);
  }
  sink.hold_weights(options.held);
  sink.place_initializers();
  if (auto typed = check_element_types(document, sink); !typed) return typed;
  if (auto sound = check_model(model_of(document), Maker::Convoy); !sound) return sound;
  if (!options.external_append) return write_document(document, append);
  const ExternalData external{options.external_location, options.external_append};
  return write_document(document, append, &external);
}

}  // namespace convoy::onnx
