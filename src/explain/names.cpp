#include "explain/names.h"

#include "base/nearest.h"
#include "explain/vocabularies.h"

#include <algorithm>
#include <array>

namespace convoy::explain {
namespace {

std::string_view last_part(std::string_view dotted) {
  const auto dot = dotted.rfind('.');
  return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// TensorFlow's names keep their module: "nn.conv2d".
std::string tensorflow_name(std::string_view name) {
  for (std::string_view prefix : {"", "nn.", "image.", "compat.v1.", "compat.v1.nn."})
    if (parameters_of({Framework::TensorFlow, std::string(prefix) + std::string(name)}))
      return std::string(prefix) + std::string(name);
  for (std::string_view prefix : {"compat.v1.", "compat.v2."})
    if (name.starts_with(prefix)) return tensorflow_name(name.substr(prefix.size()));
  return {};
}

// Nothing: a prefix of one's own, as in `my.nn.Conv2d`.
std::optional<std::vector<Named>> by_prefix(std::string_view prefix, const std::string& last) {
  const auto known = [](Named n) { return parameters_of(n) ? std::vector<Named>{std::move(n)} : std::vector<Named>{}; };
  const auto tensorflow = [&](std::string_view name) {
    const std::string full = tensorflow_name(name);
    return full.empty() ? std::vector<Named>{} : std::vector<Named>{{Framework::TensorFlow, full}};
  };
  if (prefix.ends_with("layers") || one_of(prefix, {"keras", "L", "kl", "KL", "keras.ops"}))
    return known({Framework::Keras, last});
  if (one_of(prefix, {"F", "functional", "nn.functional", "torch.nn.functional", "torch", "torch.nn", "tnn"}))
    return known({Framework::Torch, last});
  if (prefix == "nn") {  // also `from tensorflow import nn`
    auto found = known({Framework::Torch, last});
    return found.empty() ? tensorflow("nn." + last) : found;
  }
  for (const std::string_view module : {"tf", "tensorflow"})
    if (prefix == module || prefix.starts_with(std::string(module) + "."))
      return tensorflow(prefix == module ? last : std::string(prefix.substr(module.size() + 1)) + "." + last);
  if (one_of(prefix, {"onnx", "op", "ops"})) return known({Framework::Onnx, last});
  return std::nullopt;
}

std::vector<Named> by_letters(const std::string& last) {
  std::vector<Named> found;
  for (const Framework f : {Framework::Keras, Framework::Torch, Framework::Onnx})
    if (parameters_of({f, last})) found.push_back({f, last});
  if (const std::string name = tensorflow_name(last); !name.empty()) found.push_back({Framework::TensorFlow, name});
  return found;
}

std::string spelled(const Named& n) {
  switch (n.framework) {
    case Framework::Torch: return (n.function[0] >= 'a' ? "F." : "nn.") + n.function;
    case Framework::Keras: return "layers." + n.function;
    case Framework::TensorFlow: return "tf." + n.function;
    default: return n.function;
  }
}

// Of names with what stands before them, by their last part: "nn.Conv2d".
std::string nearest_by_last_part(const std::string& word, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) parts.emplace_back(last_part(name));
  const auto place = nearest_place(word, parts);
  return place ? names[*place] : std::string();
}

}  // namespace

Result<Named> resolve(const std::string& dotted, const std::vector<python::Argument>& arguments) {
  const std::string last(last_part(dotted));
  const std::string prefix = dotted.substr(0, dotted.size() - last.size() - (last.size() < dotted.size()));
  auto meant = prefix.empty() ? std::nullopt : by_prefix(prefix, last);
  std::vector<Named> found = meant ? std::move(*meant) : by_letters(last);
  if (found.size() > 1) {
    auto fitting = found;
    std::erase_if(fitting, [&](const Named& n) {
      return std::ranges::any_of(arguments, [&](const python::Argument& a) {
        return !a.keyword.empty() && a.keyword[0] != '*' && !takes(n, a.keyword);
      });
    });
    if (!fitting.empty()) found = std::move(fitting);
  }
  if (found.size() == 1) return std::move(found.front());
  if (found.size() > 1) {
    std::string choices;
    for (const Named& n : found) choices += (choices.empty() ? "" : " or ") + spelled(n);
    return fail(Fault::Usage, "'" + dotted + "' stands in several frameworks; write " + choices);
  }
  // What goes by this prefix is meant before all else.
  std::vector<std::string> all, near_by;
  for (const Named& n : all_names()) {
    all.push_back(spelled(n));
    if (!prefix.empty() && all.back().starts_with(prefix + ".")) near_by.push_back(all.back());
  }
  std::string near = nearest_by_last_part(last, near_by);
  if (near.empty()) near = nearest_by_last_part(last, all);
  return fail(Fault::Usage, "'" + dotted + "' is no layer or function that is known here" +
                                (near.empty() ? "; convoy pad --help shows examples" : "; did you mean " + near + "?"));
}

}  // namespace convoy::explain
