#include "report/calls.h"

#include "report/difference.h"

#include "diagnose/cause.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace convoy {
namespace {

using diagnose::CallsComparison;

std::string verdict(const CallsComparison& c) {
  if (c.same()) {
    for (const auto& axis : c.axes)
      if (axis.holds != "every size") return "same: both read the same cells at this size\n";
    return "same: both read the same cells at every size\n";
  }
  std::string text = "different\n";
  for (const auto& finding : c.findings) {
    const std::string_view words = diagnose::words_of_cause(finding.cause);
    text += fmt::format("\n{}\n  {}\n", finding.cause, finding.says);
    if (!words.empty()) text += fmt::format("  b {}\n", words);
  }
  return text;
}

Json lines_json(const std::vector<explain::Line>& lines) {
  Json all = Json::array();
  for (const auto& line : lines)
    all.push_back({{"framework", explain::name_of(line.framework)}, {"code", line.code}, {"holds", line.holds}});
  return all;
}

std::string windows_text(const CallsComparison& c) {
  std::string text = fmt::format("a  {}\nb  {}\n\n", headline(c.a), headline(c.b));
  if (!c.axes.empty()) {
    const bool cuts = c.a.layer.does == explain::Does::Transpose;
    Table table("llll");
    table.row({"", cuts ? "a cuts before, after" : "a before, after", cuts ? "b cuts before, after" : "b before, after",
               "the same at"});
    for (const auto& axis : c.axes) table.row({axis.name, axis.a, axis.b, axis.holds});
    text += table.text() + "\n";
  }
  text += verdict(c);
  if (!c.b_like_a.empty()) text += "\nso that b does what a does:\n" + text_of(c.b_like_a);
  if (!c.a_like_b.empty()) text += "\nso that a does what b does:\n" + text_of(c.a_like_b);
  if (!c.kernel.empty()) text += fmt::format("\nkernel  {}\n", c.kernel);
  if (!c.notes.empty()) text += "\n";
  for (const auto& note : c.notes) text += "  note: " + note + "\n";
  return text;
}

Json windows_json(const CallsComparison& c) {
  Json json{{"schema", 1}, {"same", c.same()}, {"axes", Json::array()}, {"findings", Json::array()}};
  for (const auto* side : {&c.a, &c.b})
    json[side == &c.a ? "a" : "b"] = {{"framework", explain::name_of(side->framework)}, {"layer", side->function}};
  for (const auto& axis : c.axes)
    json["axes"].push_back(
        {{"name", axis.name}, {"a", axis.a}, {"b", axis.b}, {"same", axis.is_same}, {"holds", axis.holds}});
  for (const auto& finding : c.findings) json["findings"].push_back({{"cause", finding.cause}, {"says", finding.says}});
  json["b_like_a"] = lines_json(c.b_like_a);
  json["a_like_b"] = lines_json(c.a_like_b);
  if (!c.kernel.empty()) json["kernel"] = c.kernel;
  if (!c.notes.empty()) json["notes"] = c.notes;
  return json;
}

}  // namespace

std::string calls_text(const ComparedCalls& compared) {
  if (compared.by_windows) return windows_text(*compared.by_windows);
  const CallsByNumbers& c = *compared.by_numbers;
  return diff_text(c.found, {c.text_a, c.format_a, c.text_b, c.format_b}) +
         fmt::format("input      a {}, b {}\n", text_of(c.input_a), text_of(c.input_b));
}

Json calls_json(const ComparedCalls& compared) {
  if (compared.by_windows) return windows_json(*compared.by_windows);
  const CallsByNumbers& c = *compared.by_numbers;
  Json json = diff_json(c.found);
  json["input_a"] = text_of(c.input_a);
  json["input_b"] = text_of(c.input_b);
  return json;
}

}  // namespace convoy
