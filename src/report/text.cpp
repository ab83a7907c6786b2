#include "report/text.h"

#include "base/shown.h"
#include "report/layers.h"
#include "report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace convoy {
namespace {

std::string parameter_words(const Graph& g) {
  const auto n = count_parameters(g);
  return fmt::format("{} parameters ({} trainable, {} not)", with_commas(n.all), with_commas(n.trainable),
                     with_commas(n.all - n.trainable));
}

std::string layer_table(const Graph& g) {
  Table table("lllllr");
  table.row({"layer", "operator", "", "output", "padding (before,after)", "numbers"});
  std::string notes;
  for (const ValueId v : g.inputs) table.row({g[v].name, "input", "", text_of(g[v].type.shape), "", ""});
  for (const auto& row : layer_rows(g)) {
    table.row({row.name, row.operation, row.note.empty() ? "" : "(!)", row.output, row.padding,
               row.parameters ? with_commas(row.parameters) : ""});
    if (!row.note.empty()) notes += fmt::format("(!) {}: {}\n", shown(row.name), shown(row.note));
  }
  return table.text() + (notes.empty() ? "" : "\n" + notes);
}

std::string head(const Graph& g, const std::string& file) {
  return fmt::format("{}  {}  {} operator{}  {}\n", shown(file), shown(g.source_format), g.nodes.size(),
                     g.nodes.size() == 1 ? "" : "s", parameter_words(g));
}

std::string pass_lines(const PortReport& r) {
  std::string lines;
  for (const auto& pass : r.passes) {
    if (pass.remarks.empty()) continue;
    // The same thing said of several layers is said once, with the layers behind it.
    std::vector<std::pair<std::string, std::vector<std::string>>> grouped;
    for (const auto& remark : pass.remarks) {
      auto it = std::find_if(grouped.begin(), grouped.end(), [&](const auto& g) { return g.first == remark.text; });
      if (it == grouped.end()) it = grouped.insert(grouped.end(), {remark.text, {}});
      it->second.push_back(remark.layer);
    }
    for (const auto& [text, layers] : grouped) {
      std::string who;
      for (std::size_t i = 0; i < layers.size() && i < 4; ++i) who += (i ? ", " : "") + shown(layers[i]);
      if (layers.size() > 4) who += fmt::format(" and {} more", layers.size() - 4);
      lines += fmt::format("  {:<16} {}: {}\n", pass.name, who, shown(text));
    }
  }
  return lines.empty() ? "" : "rewritten\n" + lines + "\n";
}

std::string moved_words(const PortedValue& c) {
  std::string s = fmt::format("{} {}", shown(c.name), text_of(c.target));
  if (!is_identity(c.permutation))
    s += fmt::format(" (source {} permuted {}: '{}' names the channels)", text_of(c.source),
                     fmt::join(c.permutation, ","), shown(c.channels_of));
  return s;
}

std::string joined(const std::vector<std::string>& words, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) text += (i ? ", " : "") + shown(words[i]);
  return words.size() > most ? text + fmt::format(" and {} more", words.size() - most) : text;
}

// What whole numbers showed, and of which layers they could not.
std::string structure_lines(const Proof& p) {
  Size exact = 0;
  std::vector<std::string> bounded;
  for (const auto& l : p.layers) {
    if (l.structure.is_exact()) ++exact;
    else if (!l.structure.rounds.empty()) bounded.push_back(fmt::format("{} ({})", l.layer, l.structure.rounds));
  }
  const bool tried = exact > 0 || !bounded.empty();
  if (!tried) return "";
  const bool alone = std::ranges::any_of(p.layers, [](const auto& l) { return !l.structure.tried.empty(); });
  std::string s =
      fmt::format("        structure  {} of {} layers bit for bit on whole numbers", exact, p.layers.size());
  s += !bounded.empty() ? fmt::format("; these round them:\n                   {}\n", joined(bounded, 4)) : "\n";
  if (!alone || !p.holds) return s;
  Size last = 0;
  std::vector<std::string> not_every;
  for (const auto& l : p.layers) {
    if (!l.structure.tried.empty()) last = std::max(last, l.structure.tried.back());
    if (!l.structure.every_size) not_every.push_back(l.layer);
  }
  s += fmt::format(
      "                   each layer alone at sizes of its own input up to {}, every remainder of its stride", last);
  if (not_every.empty()) return s + ":\n                   the same at every size\n";
  return s + fmt::format(
                 ";\n                   the same at every size but for those not shown beyond the sizes tried:\n"
                 "                   {}\n",
                 joined(not_every, 4));
}

// No input leaves a size open but the batch, and some have more sizes than that.
bool takes_one_size(const Graph& g) {
  const auto is_batch = [&](ValueId v) { return g[v].type.rank() == 1 && !g[v].type.shape[0].known(); };
  return !std::ranges::all_of(g.inputs, is_batch) && std::ranges::all_of(g.inputs, [&](ValueId v) {
    const Shape& shape = g[v].type.shape;
    return std::all_of(shape.begin() + (shape.empty() ? 0 : 1), shape.end(), [](Dim d) { return d.known(); });
  });
}

std::string weight_lines(const Proof& p) {
  const Size all = p.weights_equal + p.weights_reordered + p.weights_folded + p.weights_different;
  std::string s = fmt::format("        weights    {} of {} tensors byte for byte, {} of them reordered\n",
                              p.weights_equal + p.weights_reordered, all, p.weights_reordered);
  std::vector<std::string> computed;
  for (const auto& w : p.weights) {
    if (w.kept != Kept::Computed) continue;
    std::string of = shown(w.name);
    if (!w.made_of.empty()) of += " from " + joined(w.made_of, 5);
    if (!w.layer.empty()) of += ", in the bound of " + shown(w.layer);
    computed.push_back(std::move(of));
  }
  for (std::size_t i = 0; i < computed.size() && i < 3; ++i)
    s += fmt::format("                   {}: {}\n", i ? "        " : "computed", computed[i]);
  if (computed.size() > 3) s += fmt::format("                   and {} more computed\n", computed.size() - 3);
  if (!p.weights_left.empty()) s += "                   left behind, not read: " + joined(p.weights_left, 4) + "\n";
  return s;
}

// The layer is shown in float64, in which nothing is magnified that far.
std::string magnified_line(const LayerProof& l) {
  const std::string off = std::isfinite(l.magnified) ? fmt::format("is off by {:.2g}", l.magnified) : "overflows";
  return fmt::format(
      "                   {} magnifies rounding: in float32 the source {} itself, in float64 the two agree\n",
      shown(l.layer), off);
}

std::string proof_lines(const Proof& p, bool one_size) {
  Size differing = 0, magnifying = 0;
  const LayerProof* closest = nullptr;
  for (const auto& l : p.layers) {
    differing += !l.same;
    magnifying += l.magnified > 0;
    const auto share = [](const LayerProof& x) { return x.limit > 0 ? x.r / x.limit : 0; };
    if (!closest || share(l) > share(*closest)) closest = &l;
  }
  std::string s = fmt::format("proof   sizes      {}{}\n", joined(p.sizes, p.sizes.size()),
                              one_size ? ", the only size this port takes" : "");
  s += structure_lines(p);
  if (differing == 0 && closest)
    s +=
        fmt::format("        numbers    {} of {} layers within their rounding bound; closest: {}, r {:.2g} of {:.3g}\n",
                    static_cast<Size>(p.layers.size()) - magnifying, p.layers.size(), shown(closest->layer), closest->r,
                    closest->limit);
  for (const auto& l : p.layers)
    if (l.magnified > 0) s += magnified_line(l);
  s += weight_lines(p);
  s += fmt::format("        whole      largest difference {:.2g}\n", p.whole_largest);
  if (differing) {
    Table table("lrrrll");
    table.row({"layer", "largest", "r", "limit", "", ""});
    for (const auto& l : p.layers)
      if (!l.same)
        table.row({l.layer, fmt::format("{:.3g}", l.largest), fmt::format("{:.3g}", l.r),
                   fmt::format("{:.3g}", l.limit), "DIFFERENT at " + l.where,
                   l.structure.tried.empty() ? "" : "alone the same " + sizes_where_same(l.structure)});
    s += table.text();
  }
  return s;
}

}  // namespace

std::string port_text(const PortReport& r, const std::string& file) {
  std::string s = "read    " + head(r.source, file) + "\n" + layer_table(r.source) + "\n" + pass_lines(r);
  for (const std::string& remark : r.remarks) s += "note    " + shown_sentence(remark) + "\n";
  s += "port    ";
  for (std::size_t i = 0; i < r.inputs.size(); ++i) s += (i ? ", " : "") + moved_words(r.inputs[i]);
  s += "  ->  ";
  for (std::size_t i = 0; i < r.outputs.size(); ++i) s += (i ? ", " : "") + moved_words(r.outputs[i]);
  s += "\n";
  if (r.proof) {
    s += proof_lines(*r.proof, takes_one_size(r.source));
    if (r.proof->holds)
      for (std::size_t i = 0; i < r.read_back.size(); ++i)
        s += fmt::format("        {:<10} {}\n", i ? "" : "source", shown(r.read_back[i]));
  } else {
    s += "proof   none (--no-proof): nothing was compared, and no answer is stored to check the port with\n";
  }
  for (std::size_t i = 0; i < r.files.size(); ++i)
    s += fmt::format("{:<8}{}  {} bytes  sha256 {}\n", i ? "" : "wrote", shown(r.files[i].path.string()),
                     with_commas(r.files[i].bytes), r.files[i].sha256.substr(0, 16));
  return s;
}

}  // namespace convoy
