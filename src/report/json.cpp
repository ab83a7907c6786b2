#include "report/layers.h"
#include "report/table.h"
#include "report/text.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <utility>

namespace convoy {
namespace {

Json shape_json(const Shape& shape) {
  Json dims = Json::array();
  for (const Dim d : shape) d.known() ? dims.push_back(*d) : dims.push_back(nullptr);
  return dims;
}

Json layers_json(const Graph& g) {
  Json layers = Json::array();
  const auto rows = layer_rows(g);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Node& node = g.nodes[i];
    Json layer;
    layer["name"] = node.layer;
    layer["kind"] = node.kind;
    layer["operator"] = std::string(name_of(node.op));
    layer["words"] = rows[i].operation;
    layer["output"] = node.outputs.empty() ? Json::array() : shape_json(g[node.outputs[0]].type.shape);
    layer["padding"] = rows[i].padding;
    layer["parameters"] = rows[i].parameters;
    if (!rows[i].note.empty()) layer["note"] = rows[i].note;
    layers.push_back(std::move(layer));
  }
  return layers;
}

// JSON has no word for infinity: another shape, or one bit apart where every bit must agree.
Json structure_json(const LayerStructure& s) {
  Json j;
  j["exact"] = s.is_exact();
  j["compared"] = s.compared;
  if (!s.rounds.empty()) j["rounds"] = s.rounds;
  if (s.tried.empty()) return j;
  j["alone"] = {{"sizes", s.tried},     {"differs", s.differs},       {"period", s.period},
                {"settled", s.settled}, {"every_size", s.every_size}, {"same", sizes_where_same(s)}};
  return j;
}

Json weight_json(const WeightProof& w) {
  constexpr std::array kept{"equal", "reordered", "computed", "different"};
  Json j;
  j["name"] = w.name;
  j["kept"] = kept.at(static_cast<std::size_t>(w.kept));
  if (w.kept == Kept::Computed) {
    j["layer"] = w.layer;
    j["made_of"] = w.made_of;
    return j;
  }
  j["source"] = w.source;
  if (!w.split.empty()) j["split"] = w.split;
  if (!w.permutation.empty()) j["permutation"] = w.permutation;
  return j;
}

Json proof_json(const Proof& p) {
  Json j;
  j["holds"] = p.holds;
  if (!p.reason.empty()) j["reason"] = p.reason;
  j["sizes"] = p.sizes;
  j["every_size"] = p.every_size;
  j["weights"] = {{"equal", p.weights_equal},
                  {"reordered", p.weights_reordered},
                  {"folded", p.weights_folded},
                  {"different", p.weights_different},
                  {"left", p.weights_left}};
  j["whole_largest"] = finite(p.whole_largest);
  Json layers = Json::array(), tensors = Json::array();
  for (const auto& l : p.layers) {
    layers.push_back({{"layer", l.layer},
                      {"kind", l.kind},
                      {"largest", finite(l.largest)},
                      {"r", finite(l.r)},
                      {"limit", l.limit},
                      {"terms", l.terms},
                      {"same", l.same},
                      {"structure", structure_json(l.structure)}});
    if (l.magnified > 0) layers.back()["magnified"] = finite(l.magnified);
  }
  for (const auto& w : p.weights) tensors.push_back(weight_json(w));
  j["layers"] = std::move(layers);
  j["tensors"] = std::move(tensors);
  return j;
}

Json ported_json(const std::vector<PortedValue>& all) {
  Json list = Json::array();
  for (const auto& c : all)
    list.push_back({{"name", c.name},
                    {"dtype", std::string(name_of(c.dtype))},
                    {"source_shape", shape_json(c.source)},
                    {"shape", shape_json(c.target)},
                    {"permutation", c.permutation},
                    {"channels_of", c.channels_of.empty() ? Json() : Json(c.channels_of)}});
  return list;
}

}  // namespace

Json port_json(const PortReport& r, const std::string& file) {
  Json j;
  j["schema"] = 1;
  j["source"] = {
      {"file", file}, {"format", r.source.source_format}, {"sha256", r.source_sha256}, {"remarks", r.remarks}};
  j["inputs"] = ported_json(r.inputs);
  j["outputs"] = ported_json(r.outputs);
  j["layers"] = layers_json(r.source);
  Json passes = Json::array();
  for (const auto& p : r.passes) {
    Json remarks = Json::array();
    for (const auto& m : p.remarks) remarks.push_back({{"layer", m.layer}, {"text", m.text}});
    passes.push_back({{"name", std::string(p.name)}, {"remarks", std::move(remarks)}});
  }
  j["passes"] = std::move(passes);
  j["proof"] = r.proof ? proof_json(*r.proof) : Json(nullptr);
  Json files = Json::array();
  for (const auto& f : r.files) files.push_back({{"path", f.path.string()}, {"bytes", f.bytes}, {"sha256", f.sha256}});
  j["files"] = std::move(files);
  return j;
}

}  // namespace convoy
