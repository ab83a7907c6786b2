#include "formats/keras/write/functions.h"

#include "formats/keras/source/signatures.h"
#include "formats/keras/weights.h"
#include "formats/keras/write/lines.h"
#include "formats/numbered_text.h"

#include <algorithm>
#include <utility>

namespace convoy::keras {

using namespace python;  // the words of Python text

namespace {

constexpr std::size_t least_block = 3;  // lines that a function is worth

std::size_t lines_of(const Part& part) {
  std::size_t n = part.step ? 1 : 0;
  for (const Part& inner : part.inside) n += lines_of(inner);
  return n;
}

// Shared layers are not made anew by each call, and f-strings do not hold braces.
bool is_one_of_a_kind(const Document& document, const Part& part) {
  if (part.step)
    return document.layers[part.step->layer].calls.size() > 1 ||
           document.layers[part.step->layer].name.find_first_of("{}") != std::string::npos;
  return std::ranges::any_of(part.inside, [&](const Part& inner) { return is_one_of_a_kind(document, inner); });
}

bool may_be_function(const Document& document, const Part& part) {
  return !part.step && !part.prefix.empty() && part.outputs.size() == 1 && !part.inputs.empty() &&
         (lines_of(part) >= least_block || !part.word.empty()) && !is_one_of_a_kind(document, part) &&
         document.layers[part.outputs[0].layer].calls[part.outputs[0].call].results.size() == 1;
}

std::string without_usual(std::string text) {
  for (const std::string_view usual : {", strides=1", ", padding=\"valid\""})
    for (auto at = text.find(usual); at != std::string::npos; at = text.find(usual, at)) {
      const char next = at + usual.size() < text.size() ? text[at + usual.size()] : ' ';
      // A pool without strides has those of its window.
      const auto layer = std::min(text.rfind("layers.", at), at);
      const bool convolution = text.substr(layer, text.find('(', layer) - layer).find("Conv") != std::string::npos;
      if (convolution && (next == ',' || next == ')')) text.erase(at, usual.size());
      else ++at;
    }
  return text;
}

// The body of a block's function: its arguments in the first line, and what it returns in the last.
Result<std::string> body_of(SourceParts& parts, const Part& block, bool plain, std::size_t times) {
  Lines lines(parts, block.prefix);
  if (auto ok = lines.write(block.inside, block.outputs, plain, times, block.inputs); !ok) return pass(ok);
  std::vector<std::string> arguments;
  for (const Reference& r : block.inputs) arguments.push_back(lines.tensor(r));
  const std::string returned = lines.tensor(block.outputs[0]);
  std::string text = lines.text();
  // What the last line computes is returned as it is.
  const auto last = text.rfind('\n', text.size() - 2) + 1;
  const std::string assigned = "    " + returned + " = ";
  if (text.compare(last, assigned.size(), assigned) == 0) text.replace(last, assigned.size(), "    return ");
  else text += "    return " + returned + "\n";
  return joined(arguments) + "\n" + text;
}

const Part& first_of(const Part& part) { return part.step ? part : first_of(part.inside.front()); }

// The last word of the scope; the framework's numbers of blocks say nothing. Empty: there are numbers only.
std::string word_of(const Part& block, const Document& document) {
  std::string path = block.path.substr(0, block.path.find_last_of(':'));
  const bool by_names = document.layers[first_of(block).step->layer].scopes.empty();
  while (!path.empty()) {
    const auto slash = path.find_last_of("/.");
    std::string word = slash == std::string::npos ? path : path.substr(slash + 1);
    word.resize(std::min(word.find_first_of(":0123456789"), word.size()));
    while (word.ends_with('_')) word.pop_back();
    if (!word.empty() || by_names) return word;
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  return {};
}

// "basic_block", after what all these blocks are called; else after their first layer.
std::string function_name(const std::vector<const Part*>& same, const Document& document) {
  if (!same[0]->word.empty()) return identifier(same[0]->word);
  std::string word = word_of(*same[0], document);
  if (!std::ranges::all_of(same, [&](const Part* one) { return word_of(*one, document) == word; })) word.clear();
  if (word.empty()) word = snake_case(document.layers[first_of(*same[0]).step->layer].class_name);
  return identifier(word + (word.ends_with("block") ? "" : "_block"));
}

// What the number behind this text is called where it stands.
std::string name_of_number(const std::string& before, const SourceParts& parts) {
  if (std::ranges::count(before.substr(before.rfind('\n') + 1), '"') % 2 == 1) return "number";  // in a layer's name
  auto [keyword, function, place] = argument_behind(before);
  if (!keyword.empty()) return keyword;
  for (const auto& [kind, known] : parts.functions) {
    if (known.name != function) continue;
    const std::size_t tensors = parts.alike.at(kind)[0]->inputs.size();
    return place >= tensors && place - tensors < known.signature.size() ? known.signature[place - tensors] : "size";
  }
  if (function == "range") return place == 0 ? "first" : "last";
  if (function.starts_with("layers.")) function.erase(0, 7);
  const auto words = signature_of(function);
  std::string_view rest = words.value_or("");
  for (; place > 0 && !rest.empty(); --place) rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
  const std::string word(rest.substr(0, rest.find(' ')));
  return word.empty() ? "size" : word;
}

std::set<std::string> variables_in(const std::string& body) {
  std::set<std::string> all = taken_names();
  for (std::size_t from = 0; from < body.size();) {
    const std::size_t to = std::min(body.find('\n', from), body.size());
    const std::string text = body.substr(from, to - from);
    if (const auto equals = text.find(" = "); text.starts_with("    ") && equals != std::string::npos)
      all.insert(text.substr(text.find_first_not_of(' '), equals - text.find_first_not_of(' ')));
    from = to + 1;
  }
  return all;
}

// One function for all blocks of a kind, whose bodies are alike but for their numbers.
void write_function(SourceParts& parts, const std::string& kind, const std::vector<Numbered>& bodies) {
  const auto& same = parts.alike.at(kind);
  const Variation varying = variation(bodies);
  std::string first;
  for (std::size_t i = 0; i < bodies[0].words.size(); ++i)
    first += bodies[0].words[i] + (i < bodies[0].numbers.size() ? bodies[0].numbers[i] : "");
  FreshNames names(variables_in(first));
  BlockFunction made;
  std::string body = bodies[0].words[0], before = body;
  for (std::size_t i = 0; i < varying.places.size(); ++i) {
    const auto parameter = varying.places[i];
    if (parameter && *parameter == made.signature.size())
      made.signature.push_back(names.take(name_of_number(before, parts)));
    const bool in_name = std::ranges::count(before.substr(before.rfind('\n') + 1), '"') % 2 == 1;
    const std::string word = parameter ? made.signature[*parameter] : bodies[0].numbers[i];
    if (parameter && in_name)
      if (const auto quote = body.rfind('"'); body[quote - 1] != 'f') body.insert(quote, "f");
    body += parameter && in_name ? "{" + word + "}" : word;
    before += bodies[0].numbers[i];
    body += bodies[0].words[i + 1];
    before += bodies[0].words[i + 1];
  }
  for (std::size_t k = 0; k < same.size(); ++k) {
    auto& own = made.numbers[same[k]];
    for (const auto& values : varying.parameters) own.push_back(values[k]);
  }
  made.name = parts.names.take(function_name(same, parts.document));
  body = without_usual(std::move(body));
  const auto end = body.find('\n');
  std::vector<std::string> signature{body.substr(0, end)};
  signature.insert(signature.end(), made.signature.begin(), made.signature.end());
  made.text =
      statement(0, "def " + made.name + "(" + joined(signature) + ", name):") + wrapped_lines(body.substr(end + 1));
  parts.functions.emplace(kind, std::move(made));
  parts.order.push_back(kind);
}

}  // namespace

const std::set<std::string>& taken_names() {
  static const std::set<std::string> names{"keras",  "layers", "ops",   "np",    "sys",    "hashlib", "Path",
                                           "HERE",   "build",  "load",  "check", "inputs", "name",    "x",
                                           "stored", "model",  "slice", "float", "int",    "max",     "min",
                                           "bool",   "list",   "str",   "i",     "range"};
  return names;
}

Result<const BlockFunction*> function_of(SourceParts& parts, const Part& block, std::size_t times) {
  const auto kind = parts.kinds.find(&block);
  if (kind == parts.kinds.end()) return nullptr;
  const auto& same = parts.alike.at(kind->second);
  if (same.size() <= std::max<std::size_t>(times, 1)) return nullptr;
  if (const auto known = parts.functions.find(kind->second); known != parts.functions.end()) return &known->second;
  std::vector<Numbered> bodies;
  for (const bool plain : {false, true}) {  // loops over blocks inside may stand in one of them only
    bodies.clear();
    for (const Part* one : same) {
      auto body = body_of(parts, *one, plain, same.size());
      if (!body) return pass(body);
      bodies.push_back(numbered(*body, name_mark, true));
    }
    const std::string skeleton = bodies[0].skeleton();
    if (std::ranges::all_of(bodies, [&](const Numbered& one) { return one.skeleton() == skeleton; })) break;
  }
  write_function(parts, kind->second, bodies);
  return &parts.functions.at(kind->second);
}

PartText text_alone(SourceParts& parts, const Part& part) {
  if (is_one_of_a_kind(parts.document, part)) return {};
  if (!part.step && !may_be_function(parts.document, part)) return {};
  if (!part.step) {
    const auto body = body_of(parts, part, true, 0);
    if (!body) return {};
    auto text = numbered(*body, name_mark, true);
    return {"block " + text.skeleton(), std::move(text.numbers), 1};
  }
  const DocumentLayer& layer = parts.document.layers[part.step->layer];
  Lines lines(parts, layer.name);
  const auto inputs = reads_of(parts.document, *part.step);
  if (!lines.write({part}, {{part.step->layer, part.step->call, 0}}, true, 0, inputs)) return {};
  std::string text = lines.text();
  // The name goes: what a line does is asked here.
  if (const auto at = text.find(name_mark); at != std::string::npos) {
    const auto quote = text.find('"', at);
    text.erase(at, text.find('"', quote + 1) + 1 - at);
  }
  auto made = numbered(text, {}, true);
  return {made.skeleton(), std::move(made.numbers), 1 + text.size() / 100};
}

SourceParts::SourceParts(const Document& of) : document(of), names(taken_names()) {}

Status count_blocks(SourceParts& parts, const std::vector<Part>& all) {
  for (const Part& part : all) {
    if (may_be_function(parts.document, part)) {
      auto body = body_of(parts, part, true, 0);
      if (!body) return pass(body);
      std::string kind = numbered(*body, name_mark, true).skeleton();
      parts.alike[kind].push_back(&part);
      parts.kinds.emplace(&part, std::move(kind));
    }
    if (auto ok = count_blocks(parts, part.inside); !ok) return ok;
  }
  return {};
}

std::string wrapped_lines(const std::string& text) {
  std::string made;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    const std::size_t begin = std::min(text.find_first_not_of(' ', from), to);
    made += statement(static_cast<int>(begin - from), text.substr(begin, to - begin));
    from = to + 1;
  }
  return made;
}

}  // namespace convoy::keras
