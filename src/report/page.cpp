#include "report/page.h"

#include "diagnose/cause.h"
#include "explain/drawing.h"
#include "report/page_template.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>

namespace convoy {

namespace {

using diagnose::AxisOfWindows;
using diagnose::Diagnosis;
using diagnose::ErrorMap;
using diagnose::Finding;

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const auto at = [&](std::size_t k) { return static_cast<std::uint32_t>(k < left ? bytes[i + k] : 0); };
    const std::uint32_t three = at(0) << 16 | at(1) << 8 | at(2);
    for (std::size_t k = 0; k < 4; ++k) text += k <= left ? letters[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// A number that JSON can hold: the page shows nothing for one that is none.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const Dim d : shape) text += (text.empty() ? "" : ", ") + (d.known() ? std::to_string(*d) : std::string("?"));
  return text;
}

// The layers of a model in order, each with the places of those that it reads.
struct Layers {
  Json json = Json::array();
  std::map<std::string, int> places;
};

Layers layers_of(const Graph& graph) {
  Layers layers;
  std::vector<std::set<int>> reads;
  std::vector<int> makers(graph.values.size(), -1);
  const auto placed = [&](const std::string& name, const std::string& kind) {
    const auto [it, is_new] = layers.places.emplace(name, static_cast<int>(layers.json.size()));
    if (is_new) {
      layers.json.push_back({{"name", name}, {"kind", kind}, {"shape", ""}, {"reads", Json::array()}});
      reads.emplace_back();
    }
    return it->second;
  };
  for (const ValueId v : graph.inputs) {
    const int at = placed(graph[v].name, "input");
    makers[v.slot()] = at;
    layers.json[static_cast<std::size_t>(at)]["shape"] = shape_text(graph[v].type.shape);
  }
  for (const Node& node : graph.nodes) {
    const int at = placed(node.layer, node.kind.empty() ? std::string(name_of(node.op)) : node.kind);
    for (const ValueId v : node.inputs) {
      const int from = v ? makers[v.slot()] : -1;
      if (from >= 0 && from != at) reads[static_cast<std::size_t>(at)].insert(from);
    }
    for (const ValueId v : node.outputs) {
      makers[v.slot()] = at;
      layers.json[static_cast<std::size_t>(at)]["shape"] = shape_text(graph[v].type.shape);
    }
  }
  for (std::size_t i = 0; i < reads.size(); ++i) layers.json[i]["reads"] = reads[i];
  return layers;
}

Json map_json(const ErrorMap& map) {
  if (map.cells.empty()) return {};
  return {{"rows", map.rows},
          {"cols", map.cols},
          {"full_rows", map.full_rows},
          {"full_cols", map.full_cols},
          {"channels", map.of_channels},
          {"cells", base64(map.cells)}};
}

std::string drawing_of(const std::string& title, const std::vector<AxisOfWindows>& axes) {
  std::vector<explain::Drawing> drawings;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const AxisOfWindows& axis = axes[i];
    const std::string name = axes.size() == 2 ? (i == 0 ? "rows" : "cols") : fmt::format("axis {}", i);
    if (axis.cut) drawings.push_back(explain::draw(name, axis.window, *axis.cut, axis.in));
    else if (axis.placed) drawings.push_back(explain::draw(name, axis.window, *axis.placed, axis.in));
  }
  if (drawings.empty()) return {};
  const std::string svg = explain::svg_of(title, drawings);
  return "data:image/svg+xml;base64," + base64({reinterpret_cast<const std::uint8_t*>(svg.data()), svg.size()});
}

Json finding_of_page(const Finding& f) {
  return {{"a", f.a},
          {"b", f.b},
          {"row", f.shows_in},
          {"cause", f.cause},
          {"words", f.cause == "unknown" ? "" : std::string(diagnose::words_of_cause(f.cause))},
          {"change", f.says},
          {"also", f.also},
          {"ratio", number(f.ratio)},
          {"limit", number(f.limit)},
          {"after", number(f.ratio_after_fix)},
          {"next", f.next},
          {"ratio_next", number(f.ratio_next)},
          {"certain", f.certain},
          {"other_shape", f.other_shape},
          {"share", f.share},
          {"largest", number(f.largest)},
          {"size", f.size},
          {"operator_a", f.what_a},
          {"operator_b", f.what_b},
          {"torch", f.fix.torch},
          {"keras", f.fix.keras},
          {"drawing_a", drawing_of("a: " + f.a, f.windows_a)},
          {"drawing_b", drawing_of("b: " + f.b, f.windows_b)}};
}

Json data_of(const Diagnosis& d, const Graph& a, const Graph& b, const DiffNames& names) {
  const Layers of_a = layers_of(a), of_b = layers_of(b);
  const auto place = [](const Layers& layers, const std::string& name) {
    const auto it = layers.places.find(name);
    return it == layers.places.end() ? -1 : it->second;
  };
  Json rows = Json::array();
  for (const auto& layer : d.layers)
    rows.push_back({{"a", place(of_a, layer.a)},
                    {"b", place(of_b, layer.b)},
                    {"name_a", layer.a},
                    {"name_b", layer.b},
                    {"same", layer.same},
                    {"ratio", number(layer.r)},
                    {"limit", number(layer.limit)},
                    {"share", layer.share},
                    {"largest", number(layer.largest)},
                    {"terms", layer.terms},
                    {"shape_a", layer.shape_a},
                    {"shape_b", layer.shape_b},
                    {"pads_a", layer.pads_a},
                    {"pads_b", layer.pads_b},
                    {"map", map_json(layer.map)}});
  Json findings = Json::array();
  for (const Finding& finding : d.findings) findings.push_back(finding_of_page(finding));
  return {
      {"version", CONVOY_VERSION},
      {"same", d.same},
      {"sizes", d.sizes},
      {"a", {{"file", names.file_a}, {"source", names.source_a}, {"layers", of_a.json}}},
      {"b", {{"file", names.file_b}, {"source", names.source_b}, {"layers", of_b.json}}},
      {"aligned",
       {{"weighted", std::max(d.weighted_a, d.weighted_b)}, {"by_weights", d.by_weights}, {"by_place", d.by_place}}},
      {"outputs", {{"largest", number(d.outputs_largest)}, {"scale", number(d.outputs_scale)}}},
      {"rows", std::move(rows)},
      {"findings", std::move(findings)}};
}

// JSON in which no character can end a script or begin markup.
std::string safe(const Json& json) {
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string all;
  all.reserve(text.size());
  for (const char c : text) {
    if (c == '<') all += "\\u003c";
    else if (c == '>') all += "\\u003e";
    else if (c == '&') all += "\\u0026";
    else all += c;
  }
  return all;
}

}  // namespace

std::string diff_page(const Diagnosis& diagnosis, const Graph& a, const Graph& b, const DiffNames& names) {
  constexpr std::string_view mark = "{\"data\": \"of convoy\"}";
  std::string page(page_template());
  const auto at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), safe(data_of(diagnosis, a, b, names)));
  return page;
}

}  // namespace convoy
