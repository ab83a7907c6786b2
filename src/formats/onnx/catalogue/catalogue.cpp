// The rows of all families together, and their signatures taken apart.
#include "formats/onnx/catalogue/catalogue.h"

#include "base/words.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>

namespace convoy::onnx {
namespace {

Size number_in(std::string_view digits, Size otherwise) {
  std::from_chars(digits.data(), digits.data() + digits.size(), otherwise);
  return otherwise;
}

// "13": since then; "-12": until then; "9-10".
Versions versions_in(std::string_view text) {
  const auto dash = text.find('-');
  const auto last = dash == std::string_view::npos ? std::string_view() : text.substr(dash + 1);
  return {number_in(text.substr(0, dash), oldest_read), number_in(last, newest_read)};
}

bool take_end(std::string_view& word, std::string_view end) {
  if (!word.ends_with(end)) return false;
  word.remove_suffix(end.size());
  return true;
}

Parameter parameter_in(std::string_view word) {
  Parameter parameter;
  if (const auto at = word.find('@'); at != std::string_view::npos) {
    parameter.versions = versions_in(word.substr(at + 1));
    word = word.substr(0, at);
  }
  if (const auto colon = word.find(':'); colon != std::string_view::npos) {
    parameter.kind = word[colon + 1];
    word = word.substr(0, colon);
  }
  parameter.optional = take_end(word, "?");
  parameter.several = take_end(word, "...");
  parameter.name = word;
  return parameter;
}

std::vector<Parameter> parameters_in(std::string_view text) {
  std::vector<Parameter> all;
  for (const std::string_view word : words_in(text)) all.push_back(parameter_in(word));
  return all;
}

std::vector<Signature> made_signatures() {
  std::vector<Signature> all;
  for (const auto family :
       {convolution_operators(), pooling_operators(),      padding_operators(),    resize_operators(),
        reshape_operators(),     slice_concat_operators(), scatter_operators(),    normalization_operators(),
        activation_operators(),  elementwise_operators(),  comparison_operators(), reduction_operators(),
        linear_operators(),      quantization_operators(), recurrent_operators(),  attention_operators(),
        loss_operators(),        transform_operators(),    select_operators(),     region_operators(),
        data_sized_operators(),  state_operators(),        deformable_operators(), bit_operators(),
        other_operators()})
    for (const Operator& row : family) all.push_back({&row, parameters_in(row.inputs), parameters_in(row.attributes)});
  return all;
}

const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all = made_signatures();
  return all;
}

const Parameter* found_in(const std::vector<Parameter>& parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

bool is_same(const Meaning& a, const Meaning& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class Kind>(const Kind& kind) {
        if constexpr (std::is_enum_v<Kind>) return kind == std::get<Kind>(b);
        else return false;
      },
      a);
}

}  // namespace

const Parameter* Signature::attribute(std::string_view name) const { return found_in(attributes, name); }
const Parameter* Signature::input(std::string_view name) const { return found_in(inputs, name); }

Signature::Count Signature::count_of_inputs(std::optional<Size> opset) const {
  Count count;
  for (const Parameter& input : inputs) {
    if (opset && !input.versions.has(*opset)) continue;
    count.most = input.several ? any_number : count.most + 1;
    // At any opset, what only some have may be absent.
    if (!input.optional &&
        (opset || input.versions.since == row->versions.since || input.versions.since == oldest_read))
      count.least += 1;
  }
  return count;
}

const Signature* signature_of(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const Signature*> all;
    for (const Signature& one : signatures()) all.emplace(one.row->name, &one);
    return all;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const Operator* operator_for(const Meaning& meaning) {
  const auto found =
      std::ranges::find_if(signatures(), [&](const Signature& s) { return is_same(s.row->meaning, meaning); });
  return found == signatures().end() ? nullptr : found->row;
}

std::span<const FunctionRow> functions() {
  static std::deque<std::string> names;  // which the rows refer to
  static const std::vector<FunctionRow> all = [] {
    std::vector<FunctionRow> rows;
    for (const Signature& one : signatures()) {
      if (!one.row->read) continue;
      std::string& text = names.emplace_back();
      for (const Parameter& input : one.inputs)
        text += (text.empty() ? "" : " ") + std::string(input.name) + (input.several ? "..." : "");
      rows.push_back({one.row->name, text, one.row->read});
    }
    return rows;
  }();
  return all;
}

}  // namespace convoy::onnx
