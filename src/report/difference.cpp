#include "report/difference.h"

#include "base/shown.h"
#include "diagnose/cause.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace convoy {

namespace {

using diagnose::Diagnosis;
using diagnose::Finding;

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  return value == 0 ? "0" : fmt::format("{:.2g}", value);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + shown(word);
  return text;
}

std::string head(const Diagnosis& d, const DiffNames& names) {
  std::string text = fmt::format("a  {}  {}\nb  {}  {}\n", shown(names.file_a), shown(names.source_a),
                                 shown(names.file_b), shown(names.source_b));
  text += fmt::format("aligned: {} of {} weighted layers by their numbers", d.by_weights,
                      std::max(d.weighted_a, d.weighted_b));
  if (d.by_place > 0) text += fmt::format(", {} by their place", d.by_place);
  if (d.shared > 0) text += fmt::format("; {} tensors of b hold a's numbers: source says no weights", d.shared);
  text += '\n';
  if (!d.only_a.empty()) text += "only in a: " + joined(d.only_a) + "\n";
  if (!d.only_b.empty()) text += "only in b: " + joined(d.only_b) + "\n";
  if (!d.hidden_orders.empty())
    text += "channels in another order, in the layer and in what reads it: " + joined(d.hidden_orders) + "\n";
  for (const std::string& one : d.outside) text += one + ": the one standard order of axes between them\n";
  return text + "sizes tried: " + joined(d.sizes) + "\n\n";
}

std::string layer_table(const Diagnosis& d) {
  Table table("llllrrrrl");
  table.row({"layer", "in b", "pads a", "pads b", "r", "limit", "share", "largest", "verdict"});
  for (const auto& layer : d.layers) {
    const std::string share = layer.same ? "0 %" : fmt::format("{:.0f} %", layer.share * 100);
    table.row({layer.a, layer.b, layer.pads_a, layer.pads_b, short_number(layer.r), short_number(layer.limit), share,
               short_number(layer.largest), layer.same ? "same" : "DIFFERENT"});
  }
  return table.text();
}

// What `same` stands on, and what no number came to.
std::string scope_text(const Diagnosis& d) {
  const diagnose::Scope& scope = d.scope;
  const int otherwise = scope.stretches - scope.identical, computed = scope.tensors - scope.equal - scope.moved;
  std::string text =
      fmt::format("structure  {} of {} stretches operator by operator", scope.identical, scope.stretches);
  if (otherwise > 0) text += fmt::format("; {} written otherwise, compared in float64", otherwise);
  text += fmt::format("\nweights    {} of {} tensors bit for bit", scope.equal, scope.tensors);
  if (scope.moved > 0) text += fmt::format(", {} in another order", scope.moved);
  if (computed > 0) text += fmt::format(", {} computed or rounded otherwise", computed);
  text += fmt::format("\nsizes      {}\n", joined(d.sizes));
  if (!scope.not_reached.empty()) text += fmt::format("ranges     no input reached {}\n", joined(scope.not_reached));
  if (!scope.not_finite.empty())
    text += fmt::format("ranges     only one of both is infinite, or no number, in {}\n", joined(scope.not_finite));
  for (const std::string& one : scope.other_types)
    text += fmt::format("types      {}: their numbers are compared\n", one);
  return text;
}

std::string finding_text(const Finding& f) {
  std::string text = fmt::format("\n{}: {}\n", shown(f.a), f.cause);
  const std::string change =
      f.other_shape ? "another shape" : fmt::format("r {}, limit {}", short_number(f.ratio), short_number(f.limit));
  if (f.cause == "unknown") {
    text +=
        fmt::format("  '{}' of b differs ({}), and no known mistake explains it{}{}.\n  a  {}\n  b  {}\n", shown(f.b),
                    change, f.says.empty() ? "" : ": ", shown(f.says), shown(f.what_a), shown(f.what_b));
    if (!f.next.empty())
      text += fmt::format("  Nearest: {}, which leaves r at {}.\n", shown(f.next), short_number(f.ratio_next));
    return text;
  }
  text += fmt::format("  b ('{}') {}.\n", shown(f.b), diagnose::words_of_cause(f.cause));
  text += fmt::format("  With this change ({}) a gives b's numbers: {} falls to r {}.\n", shown(f.says), change,
                      short_number(f.ratio_after_fix));
  if (!f.next.empty() && std::isfinite(f.ratio_next))
    text += fmt::format("  Next best explanation: {}, which leaves r at {}{}.\n", shown(f.next),
                        short_number(f.ratio_next), f.certain || !f.also.empty() ? "" : ", too near to be sure");
  if (!f.also.empty()) text += fmt::format("  At the sizes tried the same numbers come from: {}.\n", joined(f.also));
  if (!f.separating_size.empty())
    text += fmt::format("  An input of {} would tell them apart: --size {}.\n", f.separating_size, f.separating_size);
  if (!f.fix.torch.empty()) text += fmt::format("  PyTorch   {}\n", f.fix.torch);
  if (!f.fix.keras.empty()) text += fmt::format("  Keras     {}\n", f.fix.keras);
  return text;
}

Json finding_json(const Finding& f) {
  Json json;
  json["a"] = f.a;
  json["b"] = f.b;
  json["cause"] = f.cause;
  json["also"] = f.also;
  json["ratio"] = finite(f.ratio);
  json["limit"] = f.limit;
  json["ratio_after_fix"] = finite(f.ratio_after_fix);
  json["certain"] = f.certain;
  json["largest"] = finite(f.largest);
  json["share"] = f.share;
  json["size"] = f.size;
  json["separating_size"] = f.separating_size;
  json["change"] = f.says;
  json["next"] = f.next;
  json["ratio_next"] = finite(f.ratio_next);
  json["operator_a"] = f.what_a;
  json["operator_b"] = f.what_b;
  json["fix"] = {{"torch", f.fix.torch}, {"keras", f.fix.keras}};
  return json;
}

std::string losses_text(const Diagnosis& d) {
  constexpr std::size_t most = 12;
  std::string text =
      std::string(d.rounds_weights_alone
                      ? "\nthe weights of one model are rounded to steps, those of the other are not; beside that "
                      : "\none model rounds to steps, the other does not; beside that ") +
      (d.findings.empty() ? "nothing differs" : "what stands above") +
      ". How much of each layer is kept\n(20 dB: all but a tenth), by itself and with what was lost in front "
      "of it, worst first:\n";
  for (std::size_t i = 0; i < std::min(d.losses.size(), most); ++i)
    text += fmt::format("  {:6.1f} dB {:6.1f} dB  {}  ({})\n", d.losses[i].decibels, d.losses[i].together,
                        d.losses[i].a, d.losses[i].b);
  if (d.losses.size() > most) text += fmt::format("  and {} others, in --json\n", d.losses.size() - most);
  return text;
}

// Probing numbers know nothing of the ranges that a quantiser saw.
std::string beyond_text(const Diagnosis& d) {
  if (d.beyond_range.empty()) return {};
  return fmt::format(
      "{} of that without any steps, for numbers beyond the range of a rounding: {:.2g} % of those at '{}'; "
      "--input compares on your own\n",
      short_number(d.outputs_with_ranges), 100 * d.share_beyond, shown(d.beyond_range));
}

}  // namespace

std::string diff_text(const Diagnosis& d, const DiffNames& names) {
  std::string text = head(d, names) + layer_table(d);
  if (std::isfinite(d.outputs_largest))
    text += fmt::format("\noutputs differ by up to {} of {}\n{}", short_number(d.outputs_largest),
                        short_number(d.outputs_scale), beyond_text(d));
  if (d.outputs_moved > 0)
    text += fmt::format("the last digits of a's weights alone move them by {}: the models magnify rounding\n",
                        short_number(d.outputs_moved));
  // Scales or channels that one layer gains and the next one loses are other weights and the same model.
  if (!d.same && d.outputs_agree && std::isfinite(d.outputs_largest))
    text += "the outputs agree all the same: what differs inside cancels there, or shows with other inputs\n";
  if (d.same) return text + "\nsame: no stretch differs by more than rounding explains\n" + scope_text(d);
  for (const Finding& f : d.findings) text += finding_text(f);
  if (!d.losses.empty()) text += losses_text(d);
  return text +
         "\nr = difference / (2^-24 * (|W|*|x| + |b|)); rounding alone stays below the limit. A limit of 0: bit for "
         "bit.\n";
}

Json diff_json(const Diagnosis& d) {
  Json json;
  json["schema"] = 1;
  json["same"] = d.same;
  json["sizes"] = d.sizes;
  json["interface"] = d.outside;
  json["aligned"] = {{"weighted_a", d.weighted_a},      {"weighted_b", d.weighted_b}, {"by_weights", d.by_weights},
                     {"by_place", d.by_place},          {"only_a", d.only_a},         {"only_b", d.only_b},
                     {"hidden_orders", d.hidden_orders}};
  json["scope"] = {{"stretches", d.scope.stretches},   {"identical", d.scope.identical},
                   {"tensors", d.scope.tensors},       {"equal", d.scope.equal},
                   {"moved", d.scope.moved},           {"not_reached", d.scope.not_reached},
                   {"not_finite", d.scope.not_finite}, {"other_types", d.scope.other_types}};
  json["outputs_largest"] = finite(d.outputs_largest);
  if (d.outputs_moved > 0) json["outputs_moved"] = d.outputs_moved;
  if (!d.beyond_range.empty())
    json["beyond_range"] = {
        {"layer", d.beyond_range}, {"share", d.share_beyond}, {"outputs", finite(d.outputs_with_ranges)}};
  json["first"] = d.findings.empty() ? Json() : finding_json(d.findings.front());
  json["differences"] = Json::array();
  for (const Finding& f : d.findings) json["differences"].push_back(finding_json(f));
  if (!d.losses.empty()) json["losses"] = Json::array();
  for (const auto& loss : d.losses)
    json["losses"].push_back(
        {{"a", loss.a}, {"b", loss.b}, {"decibels", finite(loss.decibels)}, {"together", finite(loss.together)}});
  json["layers"] = Json::array();
  for (const auto& layer : d.layers)
    json["layers"].push_back({{"a", layer.a},
                              {"b", layer.b},
                              {"same", layer.same},
                              {"ratio", finite(layer.r)},
                              {"limit", layer.limit},
                              {"share", layer.share},
                              {"largest", finite(layer.largest)},
                              {"pads_a", layer.pads_a},
                              {"pads_b", layer.pads_b},
                              {"terms", layer.terms}});
  return json;
}

}  // namespace convoy
