#include "report/copied.h"

#include "base/shown.h"
#include "diagnose/cause.h"
#include "graph/stored.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace convoy {

namespace {

using diagnose::CarriedModel;
using diagnose::CarriedWeight;

std::string shape_text(const Sizes& shape) {
  std::string text;
  for (const Size n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

// How far b's own numbers are from those that a has there; none: other kinds of numbers.
std::map<std::string, double> differences(const MatchedModels& models) {
  std::map<std::string, double> all;
  for (std::size_t i = 0; i < models.b.values.size(); ++i) {
    const Value &own = models.b.values[i], &given = models.carried.b.values[i];
    if (!own.constant || !given.constant || own.constant->dtype() != DType::F32) continue;
    const auto x = own.constant->floats(), y = given.constant->floats();
    double largest = 0;
    for (std::size_t k = 0; k < x.size(); ++k)
      largest = std::max(largest, std::abs(static_cast<double>(x[k]) - static_cast<double>(y[k])));
    all[stored_name(own)] = largest;
  }
  return all;
}

std::string table_of(const CarriedModel& carried, const std::map<std::string, double>* unlike) {
  Table table("llllll");
  std::vector<std::string> head{"a", "shape", "b", "shape", "how"};
  if (unlike) head.emplace_back("numbers");
  table.row(head);
  for (const CarriedWeight& row : carried.weights) {
    std::vector<std::string> cells{row.source.empty() ? "-" : row.source,
                                   row.source.empty() ? "" : shape_text(row.source_shape), row.target,
                                   shape_text(row.shape), row.how};
    if (unlike) {
      const double largest = unlike->at(row.target);
      cells.push_back(largest == 0 ? "equal" : fmt::format("differ by up to {:.2g}", largest));
    }
    table.row(cells);
  }
  return table.text();
}

Json rows_json(const CarriedModel& carried) {
  Json rows = Json::array();
  for (const CarriedWeight& row : carried.weights)
    rows.push_back({{"layer_a", row.layer_a},
                    {"source", row.source},
                    {"source_shape", row.source_shape},
                    {"layer_b", row.layer_b},
                    {"target", row.target},
                    {"shape", row.shape},
                    {"how", row.how}});
  return rows;
}

}  // namespace

bool all_equal(const MatchedModels& models) {
  return std::ranges::all_of(differences(models), [](const auto& one) { return one.second == 0; });
}

std::string matched_text(const MatchedModels& models, const std::string& file_a, const std::string& file_b) {
  const auto unlike = differences(models);
  return fmt::format("a  {}  {}\nb  {}  {}\n\n{}", shown(file_a), shown(models.a.source_format), shown(file_b),
                     shown(models.b.source_format), table_of(models.carried, &unlike));
}

Json matched_json(const MatchedModels& models) {
  Json json{{"schema", 1}, {"equal", all_equal(models)}, {"tensors", rows_json(models.carried)}};
  const auto unlike = differences(models);
  for (auto& row : json["tensors"]) row["largest"] = finite(unlike.at(row["target"].get<std::string>()));
  return json;
}

std::string reason_of(const CopiedWeights& copied) {
  if (copied.holds()) return {};
  const auto& proof = *copied.proof;
  std::string sentence = "with a's weights b still computes something else";
  if (proof.findings.empty()) return sentence;
  const auto& first = proof.findings.front();
  sentence += fmt::format(", first at layer '{}' of a ('{}' of b): ", first.a, first.b);
  sentence += first.cause == "unknown" ? std::string("no known mistake explains it")
                                       : fmt::format("b {}", diagnose::words_of_cause(first.cause));
  return sentence;
}

std::string copied_text(const CopiedWeights& copied, const std::string& file_a, const std::string& file_b) {
  std::string text = fmt::format("a  {}  {}\nb  {}  {}\n\n{}\n", shown(file_a), shown(copied.format_a), shown(file_b),
                                 shown(copied.format_b), table_of(copied.carried, nullptr));
  if (!copied.proof) {
    text += "proof   declined: whether b computes the same was not looked at\n";
  } else {
    const auto& proof = *copied.proof;
    const auto same = std::ranges::count_if(proof.layers, [](const auto& layer) { return layer.same; });
    std::string sizes;
    for (const std::string& size : proof.sizes) sizes += (sizes.empty() ? "" : ", ") + size;
    text += fmt::format(
        "proof   {} of {} stretches agree within rounding, at {}; outputs differ by up to {:.2g} of "
        "{:.2g}\n",
        same, proof.layers.size(), sizes, proof.outputs_largest, proof.outputs_scale);
  }
  if (copied.file)
    text +=
        fmt::format("wrote   {}  {} tensors, {} bytes; read back as b\n", shown(copied.file->path.filename().string()),
                    copied.carried.weights.size(), with_commas(copied.file->bytes));
  for (const std::string& note : copied.notes) text += "note    " + shown_sentence(note) + "\n";
  return text;
}

Json copied_json(const CopiedWeights& copied) {
  Json json{{"schema", 1}, {"holds", copied.holds()}, {"proven", copied.proof.has_value() && copied.holds()}};
  if (const auto reason = reason_of(copied); !reason.empty()) json["reason"] = reason;
  json["tensors"] = rows_json(copied.carried);
  json["kept"] = copied.carried.kept;
  if (copied.proof)
    json["outputs"] = {{"largest", finite(copied.proof->outputs_largest)},
                       {"scale", finite(copied.proof->outputs_scale)}};
  json["output"] =
      copied.file
          ? Json{{"path", copied.file->path.string()}, {"bytes", copied.file->bytes}, {"sha256", copied.file->sha256}}
          : Json();
  json["notes"] = copied.notes;
  return json;
}

}  // namespace convoy
