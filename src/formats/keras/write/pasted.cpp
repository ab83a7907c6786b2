// A few operators as lines of Keras: the words of the source's writer, without names of layers.
#include "formats/pasted.h"
#include "formats/keras/write/document.h"
#include "formats/keras/write/python.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace convoy::keras {
namespace {

void count_reads(const Argument& argument, std::map<std::size_t, int>& reads) {
  if (const auto* one = std::get_if<Reference>(&argument)) ++reads[one->layer];
  if (const auto* list = std::get_if<std::vector<Item>>(&argument))
    for (const Item& item : *list)
      if (const auto* one = std::get_if<Reference>(&item)) ++reads[one->layer];
}

std::map<std::size_t, int> reads_in(const Document& document) {
  std::map<std::size_t, int> reads;
  for (const DocumentLayer& layer : document.layers)
    for (const DocumentCall& call : layer.calls) {
      for (const Argument& argument : call.args) count_reads(argument, reads);
      for (const auto& [word, argument] : call.kwargs) count_reads(argument, reads);
    }
  return reads;
}

}  // namespace

Result<std::vector<std::string>> lines_of(const Graph& graph, const std::vector<std::string>& names,
                                          std::span<const std::string_view> always) {
  auto document = document_of(graph, always);
  if (!document) return pass(document);
  python::Pasted lines(reads_in(*document));
  for (std::size_t i = 0; i < names.size(); ++i) lines.input(document->inputs[i].layer, names[i]);
  for (std::size_t i = 0; i < document->layers.size(); ++i) {
    const DocumentLayer& layer = document->layers[i];
    if (layer.class_name == "InputLayer") continue;
    if (layer.calls.size() != 1 || layer.calls[0].results.size() != 1)
      return fail(Fault::Unsupported, "layer '" + layer.name + "' takes more than a line");
    std::optional<std::string> table;
    // A layer stands behind what it is called with, not around it.
    const Spoken spoken{[&](const Reference& r) { return lines.read(r.layer, !layer.is_operation()).text; },
                        [&](const Tensor& numbers) {
                          if (numbers.count() == 1) return python::number_of_float(numbers.floats()[0]);
                          table = layer.name;
                          return std::string();
                        }};
    std::string constructor, text;
    if (layer.is_operation()) text = operation_text(layer, layer.calls[0], spoken);
    else constructor = constructor_text(layer, ""), text = constructor + arguments_text(layer.calls[0], spoken);
    if (table) return fail(Fault::Unsupported, "layer '" + *table + "' holds numbers that no line says");
    lines.made(i, {text, python::Binds::Atom, 1, false, {}}, constructor);
  }
  return lines.lines(document->outputs[0].layer);
}

}  // namespace convoy::keras
