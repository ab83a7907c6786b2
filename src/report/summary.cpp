#include "report/summary.h"

#include "base/shown.h"
#include "graph/path.h"
#include "report/cost.h"
#include "report/layers.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace convoy {
namespace {

struct HeldWeight {
  std::string name;
  Sizes shape;
  Size count = 0;
  bool trainable = true;
};

// One operator, or all those of a module.
struct SummaryRow {
  LayerRow said;
  std::string path;
  std::vector<std::size_t> nodes;
  std::vector<HeldWeight> weights;  // each at its first use
  std::optional<Size> products, bytes;
};

// The first so many parts of a path: "layer1.0.conv1" is in "layer1.0" is in "layer1".
std::string beginning_of(const std::string& path, Size parts) {
  for (std::size_t at = 1; at < path.size(); ++at)
    if ((path[at] == '.' || path[at] == '/') && --parts == 0) return path.substr(0, at);
  return path;
}

std::vector<SummaryRow> rows_of(const Graph& graph) {
  std::vector<SummaryRow> rows;
  std::set<ValueId> counted;
  auto said = layer_rows(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    SummaryRow row{std::move(said[i]), path_of(node), {i}, {}, multiply_adds(graph, node), bytes_given(graph, node)};
    for (const ValueId v : node.inputs)
      if (v && graph[v].constant && !graph[v].literal && !graph.tied.contains(graph[v].name) &&
          counted.insert(v).second)
        row.weights.push_back(
            {graph[v].name, graph[v].constant->shape(), graph[v].constant->count(), graph[v].trainable});
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Size> added(std::optional<Size> a, std::optional<Size> b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

// What lies deeper is taken together where it stands together.
std::vector<SummaryRow> at_depth(std::vector<SummaryRow> rows, Size depth) {
  std::vector<SummaryRow> taken;
  bool last_is_module = false;
  for (SummaryRow& row : rows) {
    const std::string module = beginning_of(row.path, depth);
    const bool is_inside = module != row.path;
    if (!is_inside || !last_is_module || taken.back().path != module) {
      last_is_module = is_inside;
      if (is_inside) {
        row.path = row.said.name = module;
        row.said.padding.clear();
      }
      taken.push_back(std::move(row));
      continue;
    }
    SummaryRow& whole = taken.back();
    whole.nodes.push_back(row.nodes.front());
    whole.said.operation = fmt::format("{} operators", whole.nodes.size());
    whole.said.output = row.said.output;
    whole.said.padding.clear();
    whole.said.parameters += row.said.parameters;
    if (whole.said.note.empty()) whole.said.note = row.said.note;
    whole.weights.insert(whole.weights.end(), row.weights.begin(), row.weights.end());
    whole.products = added(whole.products, row.products);
    whole.bytes = added(whole.bytes, row.bytes);
  }
  return taken;
}

std::vector<SummaryRow> arranged(const Graph& graph, const SummaryOptions& options) {
  auto rows = rows_of(graph);
  if (options.depth > 0) rows = at_depth(std::move(rows), options.depth);
  if (options.sort.empty()) return rows;
  for (SummaryRow& row : rows) row.said.name = row.path;
  const auto cost = [&](const SummaryRow& row) -> Size {
    if (options.sort == "parameters") return row.said.parameters;
    return (options.sort == "memory" ? row.bytes : row.products).value_or(0);
  };
  std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) { return cost(a) > cost(b); });
  return rows;
}

Size trainable_in(const SummaryRow& row) {
  Size count = 0;
  for (const HeldWeight& w : row.weights) count += w.trainable ? w.count : 0;
  return count;
}

std::string trainable_words(const SummaryRow& row) {
  if (row.said.parameters == 0) return {};
  const Size count = trainable_in(row);
  return count == row.said.parameters ? "yes" : count == 0 ? "no" : "part";
}

std::string weight_words(const SummaryRow& row) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < row.weights.size() && i < most; ++i) {
    text += i ? ", " : "";
    for (std::size_t k = 0; k < row.weights[i].shape.size(); ++k)
      text += (k ? "x" : "") + std::to_string(row.weights[i].shape[k]);
    if (row.weights[i].shape.empty()) text += "1";
  }
  return row.weights.size() > most ? text + fmt::format(" and {} more", row.weights.size() - most) : text;
}

std::string number_words(const std::optional<Size>& n) { return !n ? "?" : *n == 0 ? "" : with_commas(*n); }

// "1,234 bytes", "5.6 MB": powers of ten, as disks and PyTorch's summaries count.
std::string byte_words(const std::optional<Size>& n) {
  if (!n) return "?";
  if (*n < 10000) return fmt::format("{} bytes", with_commas(*n));
  double count = static_cast<double>(*n) / 1000;
  for (const char* unit : {"kB", "MB", "GB"}) {
    if (count < 1000) return fmt::format("{:.3g} {}", count, unit);
    count /= 1000;
  }
  return fmt::format("{:.3g} TB", count);
}

// Columns by their places; those that a narrow terminal goes without, the first first.
enum Column { Layer, Operator, Mark, Output, Padding, WeightShapes, Parameters, Trainable, Products, Bytes, Columns };
constexpr const char* column_names[] = {"layer",   "operator", "",          "output",        "padding (before,after)",
                                        "weights", "numbers",  "trainable", "multiply-adds", "bytes"};
constexpr std::string_view column_sides = "llllllrlrr";
constexpr Column given_up[] = {WeightShapes, Bytes, Trainable, Products, Padding, Parameters};

using Cells = std::vector<std::string>;  // one per Column

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most || most < 5) return text;
  const std::size_t head = (most - 2) / 2, tail = most - 2 - head;
  return text.substr(0, head) + ".." + text.substr(text.size() - tail);
}

std::string table_text(const std::vector<Cells>& rows, const std::set<Column>& without, std::size_t longest_name) {
  std::string sides;
  for (std::size_t c = 0; c < Columns; ++c)
    if (!without.contains(static_cast<Column>(c))) sides += column_sides[c] == 'r' ? 'r' : 'l';
  Table table(sides);
  for (const Cells& row : rows) {
    Cells kept;
    for (std::size_t c = 0; c < Columns; ++c)
      if (!without.contains(static_cast<Column>(c)))
        kept.push_back(c <= Operator ? shortened(row[c], longest_name) : row[c]);
    table.row(std::move(kept));
  }
  return table.text();
}

std::size_t width_of(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    widest = std::max(widest, static_cast<std::size_t>(std::count_if(text.begin() + static_cast<std::ptrdiff_t>(from),
                                                                     text.begin() + static_cast<std::ptrdiff_t>(end),
                                                                     [](char c) { return (c & 0xC0) != 0x80; })));
    from = end + 1;
  }
  return widest;
}

std::string fitting_table(const std::vector<Cells>& rows, std::size_t width) {
  constexpr std::size_t no_limit = 1000000;
  std::set<Column> without;
  std::string text = table_text(rows, without, no_limit);
  for (const Column column : given_up) {
    if (width == 0 || width_of(text) <= width) return text;
    without.insert(column);
    text = table_text(rows, without, no_limit);
  }
  for (std::size_t longest = 60; width_of(text) > width && longest >= 8; longest -= 2)
    text = table_text(rows, without, longest);
  return text;
}

Json shape_json_of(const Shape& shape) {
  Json dims = Json::array();
  for (const Dim d : shape) d.known() ? dims.push_back(*d) : dims.push_back(nullptr);
  return dims;
}

Json or_null(const std::optional<Size>& n) { return n ? Json(*n) : Json(); }

Json row_json(const Graph& graph, const SummaryRow& row) {
  const Node& node = graph.nodes[row.nodes.back()];
  Json layer;
  if (row.nodes.size() == 1) {
    layer["name"] = node.layer;
    layer["kind"] = node.kind;
    layer["operator"] = std::string(name_of(node.op));
  } else {
    layer["name"] = row.path;
  }
  layer["path"] = row.path;
  layer["operators"] = row.nodes.size();
  layer["words"] = row.said.operation;
  layer["output"] = node.outputs.empty() ? Json::array() : shape_json_of(graph[node.outputs[0]].type.shape);
  layer["padding"] = row.said.padding;
  layer["parameters"] = row.said.parameters;
  layer["trainable"] = trainable_in(row);
  layer["weights"] = Json::array();
  for (const HeldWeight& w : row.weights)
    layer["weights"].push_back({{"name", w.name}, {"shape", w.shape}, {"trainable", w.trainable}});
  layer["multiply_adds"] = or_null(row.products);
  layer["bytes"] = or_null(row.bytes);
  if (!row.said.note.empty()) layer["note"] = row.said.note;
  return layer;
}

}  // namespace

const std::vector<std::string>& summary_sort_keys() {
  static const std::vector<std::string> keys{"parameters", "multiply-adds", "memory"};
  return keys;
}

std::string summary_text(const Graph& graph, const std::string& file, const SummaryOptions& options) {
  const auto n = count_parameters(graph);
  std::string text = fmt::format("{}  {}  {} operator{}  {} parameters ({} trainable, {} not)\n\n", shown(file),
                                 shown(graph.source_format), graph.nodes.size(), graph.nodes.size() == 1 ? "" : "s",
                                 with_commas(n.all), with_commas(n.trainable), with_commas(n.all - n.trainable));
  std::vector<Cells> cells{Cells(std::begin(column_names), std::end(column_names))};
  std::string notes;
  for (const ValueId v : graph.inputs) {
    cells.emplace_back(Columns);
    cells.back()[Layer] = graph[v].name;
    cells.back()[Operator] = "input";
    cells.back()[Output] = text_of(graph[v].type.shape);
  }
  for (const SummaryRow& row : arranged(graph, options)) {
    cells.push_back({row.said.name, row.said.operation, row.said.note.empty() ? "" : "(!)", row.said.output,
                     row.said.padding, weight_words(row), row.said.parameters ? with_commas(row.said.parameters) : "",
                     trainable_words(row), number_words(row.products), row.bytes ? number_words(row.bytes) : "?"});
    if (!row.said.note.empty()) notes += fmt::format("(!) {}: {}\n", shown(row.path), shown(row.said.note));
  }
  text += fitting_table(cells, options.width);
  if (!notes.empty()) text += "\n" + notes;
  text += "\noutputs ";
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    text += fmt::format("{}{} {}", i ? ", " : "", shown(graph.output_names[i]),
                        text_of(graph[graph.outputs[i]].type.shape));
  const Cost cost = cost_of(graph);
  const std::string products = cost.multiply_adds ? with_commas(*cost.multiply_adds) : "?";
  return text + fmt::format("\none example: {} multiply-adds, {} of activations ({} at once), {} of parameters\n",
                            products, byte_words(cost.activations), byte_words(cost.most_at_once),
                            byte_words(cost.parameters));
}

Json summary_json(const Graph& graph, const std::string& file, const SummaryOptions& options) {
  const auto n = count_parameters(graph);
  const Cost cost = cost_of(graph);
  Json j;
  j["schema"] = 1;
  j["file"] = file;
  j["format"] = graph.source_format;
  j["parameters"] = {{"all", n.all}, {"trainable", n.trainable}, {"bytes", cost.parameters}};
  j["multiply_adds"] = or_null(cost.multiply_adds);
  j["activations"] = {{"bytes", or_null(cost.activations)}, {"most_at_once", or_null(cost.most_at_once)}};
  Json inputs = Json::array(), outputs = Json::array();
  for (const ValueId v : graph.inputs)
    inputs.push_back({{"name", graph[v].name},
                      {"dtype", std::string(name_of(graph[v].type.dtype))},
                      {"shape", shape_json_of(graph[v].type.shape)}});
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    outputs.push_back({{"name", graph.output_names[i]}, {"shape", shape_json_of(graph[graph.outputs[i]].type.shape)}});
  j["inputs"] = std::move(inputs);
  j["outputs"] = std::move(outputs);
  j["layers"] = Json::array();
  for (const SummaryRow& row : arranged(graph, options)) j["layers"].push_back(row_json(graph, row));
  return j;
}

}  // namespace convoy
