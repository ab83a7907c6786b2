#include "formats/keras/write/lines.h"

#include "formats/keras/weights.h"
#include "formats/keras/write/python.h"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

namespace convoy::keras {

using namespace python;  // the words of Python text

namespace {

constexpr Size largest_table = 4096;  // numbers that source code may hold in one piece
constexpr std::size_t least_loop = 3;  // calls that a loop is worth

// Names of variables in a function say what a layer is, not which.
std::string without_numbers(const std::string& name, const DocumentLayer& layer) {
  std::string word;
  for (const char c : name)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && (c != '_' || (!word.empty() && word.back() != '_')))
      word += c;
  while (!word.empty() && word.back() == '_') word.pop_back();
  return word.empty() ? snake_case(layer.class_name) : word;
}

// Braces would end the text of an f-string.
std::string without_braces(const std::string& text) {
  std::string made;
  for (const char c : text) made += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return made;
}

// A convolution with its stride and padding said, so that blocks of several strides are alike.
DocumentLayer with_stride(DocumentLayer layer) {
  if (layer.class_name.find("Conv") == std::string::npos) return layer;
  Json arguments = Json::object();
  for (const auto& [key, value] : layer.arguments.items()) {
    arguments[key] = value;
    if (key == "kernel_size" && !layer.arguments.contains("strides")) arguments["strides"] = 1;
    const bool last = key == "strides" || (key == "kernel_size" && !layer.arguments.contains("strides"));
    if (last && !layer.arguments.contains("padding")) arguments["padding"] = "valid";
  }
  layer.arguments = std::move(arguments);
  return layer;
}

// What the block's layers are named after.
std::string name_of_block(const Part& block) { return block.prefix.substr(0, block.prefix.size() - 1); }

// "stage_" 2 3 4 "_conv": names that count. Nothing: they do not.
struct Counted {
  std::string front, back;
  Size first = 0;
};
std::optional<Counted> counted(const std::vector<std::string>& names) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string front = names[0], back = names[0];
  for (const std::string& name : names) {
    front.resize(static_cast<std::size_t>(std::ranges::mismatch(front, name).in1 - front.begin()));
    std::size_t same = 0;
    while (same < std::min(back.size(), name.size()) && back[back.size() - 1 - same] == name[name.size() - 1 - same])
      ++same;
    back.erase(0, back.size() - same);
  }
  while (!front.empty() && digit(front.back())) front.pop_back();
  while (!back.empty() && digit(back.front())) back.erase(0, 1);
  Counted made{front, back};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() <= front.size() + back.size()) return std::nullopt;
    const std::string middle = names[i].substr(front.size(), names[i].size() - front.size() - back.size());
    if (middle.size() > 6 || !std::ranges::all_of(middle, digit) || (middle[0] == '0' && middle.size() > 1))
      return std::nullopt;
    const Size n = std::stoll(middle);
    if (i == 0) made.first = n;
    if (n != made.first + static_cast<Size>(i)) return std::nullopt;
  }
  return made;
}

}  // namespace

Lines::Lines(SourceParts& parts, std::string prefix)
    : parts_(parts),
      prefix_(std::move(prefix)),
      names_(taken_names()) {}

void Lines::name_input(const Reference& r, const std::string& wanted, bool brief) {
  variables_[{r.layer, r.call}] = brief ? wanted : names_.take(identifier(wanted));
}

Status Lines::write(const std::vector<Part>& all, const std::vector<Reference>& outputs, bool plain, std::size_t times,
                    const std::vector<Reference>& arguments) {
  if (auto ok = flatten(all, plain, times); !ok) return ok;
  // A variable of that name would hide the function from the whole body.
  for (const Item& item : items_)
    if (item.function && names_.free(item.function->name)) names_.take(item.function->name);
  for (std::size_t i = 0; i < items_.size(); ++i)
    for (const Reference& r : reads(items_[i])) last_use_[{r.layer, r.call}] = i;
  for (const Reference& r : outputs) last_use_[{r.layer, r.call}] = items_.size();
  // What lives beyond the first line is not called `x`, which others take.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Step made{arguments[i].layer, arguments[i].call};
    name_tensor(arguments[i], arguments.size() > 1  ? names_.take("x" + std::to_string(i + 1))
                              : last_use_[made] > 0 ? "inputs"
                                                    : "x");
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (const std::size_t end = loop_end(i); end >= i + least_loop) {
      write_loop(i, end);
      i = end - 1;
    } else if (items_[i].function) {
      write_call(i);
    } else if (auto ok = write_item(i); !ok) {
      return ok;
    }
  }
  return {};
}

// What a function takes or gives is one tensor, also where its layer gives several.
void Lines::name_tensor(const Reference& r, std::string name) {
  if (parts_.document.layers[r.layer].calls[r.call].results.size() > 1) single_[{{r.layer, r.call}, r.tensor}] = name;
  else variables_[{r.layer, r.call}] = std::move(name);
}

std::string Lines::tensor(const Reference& r) const {
  const Step made{r.layer, r.call};
  if (const auto at = single_.find({made, r.tensor}); at != single_.end()) return at->second;
  const bool several = parts_.document.layers[r.layer].calls[r.call].results.size() > 1;
  return several ? variables_.at(made) + "[" + std::to_string(r.tensor) + "]" : variables_.at(made);
}

std::vector<Reference> Lines::reads(const Item& item) const {
  return item.part->step ? reads_of(parts_.document, *item.part->step) : item.part->inputs;
}

Status Lines::flatten(const std::vector<Part>& all, bool plain, std::size_t times) {
  for (const Part& part : all) {
    if (part.step) {
      items_.push_back({&part});
      continue;
    }
    const auto function = plain ? Result<const BlockFunction*>(nullptr) : function_of(parts_, part, times);
    if (!function) return std::unexpected(function.error());
    if (*function) items_.push_back({&part, *function});
    else if (auto ok = flatten(part.inside, plain, times); !ok) return ok;
  }
  return {};
}

// Keras names operations by itself, after their function: a layer must not have such a name.
std::string Lines::name_text(std::string layer) const {
  const std::string stem = layer.substr(0, layer.find_last_not_of("0123456789_") + 1);
  for (const DocumentLayer& other : parts_.document.layers)
    if (other.is_operation() && snake_case(other.class_name) == stem) {
      layer += "_layer";
      break;
    }
  return text_of_name(layer);
}

std::string Lines::text_of_name(const std::string& name) const {
  if (prefix_.empty() || !name.starts_with(prefix_)) return python::quoted(name);
  return "f\"{name}" + without_braces(python::quoted(prefix_.back() + name.substr(prefix_.size()))).substr(1);
}

// `x` for what the next line uses up; a name after the layer for what lives longer.
std::string Lines::variable_for(const Step& made, std::size_t at, const std::string& wanted) {
  const auto last = last_use_.find(made);
  if (last == last_use_.end()) return names_.take("_" + identifier(wanted));
  return last->second == at + 1 ? "x" : names_.take(identifier(wanted));
}

Result<std::string> Lines::table(const Tensor& numbers) {
  if (numbers.rank() == 0 && numbers.dtype() == DType::F32) return number_of_float(numbers.floats()[0]);
  if (numbers.count() > largest_table)
    return fail(Fault::Unsupported, "holds a table of " + std::to_string(numbers.count()) +
                                        " numbers, too many for source code; write a .keras file");
  for (const auto& [known, name] : parts_.known_tables)
    if (same_bytes(known, numbers)) return name;
  std::vector<std::string> all;
  const bool whole = numbers.dtype() >= DType::I8 && numbers.dtype() != DType::Bool;
  if (whole)
    for (const std::int64_t n : numbers.integers()) all.push_back(std::to_string(n));
  else if (numbers.dtype() == DType::F64)
    for (const double n : numbers.doubles()) all.push_back(number(n));
  else
    for (const float n : numbers.floats()) all.push_back(std::isfinite(n) ? number_of_float(n) : number(n));
  const std::string name = "TABLE_" + std::to_string(parts_.tables.size() + 1);
  // Rows of rows, from the innermost axis outwards.
  for (std::size_t axis = numbers.shape().size(); axis-- > 0;) {
    const auto length = static_cast<std::size_t>(numbers.shape()[axis]);
    std::vector<std::string> rows;
    for (std::size_t i = 0; i + length <= all.size() && length > 0; i += length)
      rows.push_back("[" +
                     joined({all.begin() + static_cast<std::ptrdiff_t>(i),
                             all.begin() + static_cast<std::ptrdiff_t>(i + length)}) +
                     "]");
    all = std::move(rows);
  }
  const std::string text =
      fmt::format("np.array({}, dtype=\"{}\")", all.empty() ? "[]" : all[0], name_of(numbers.dtype()));
  parts_.tables.push_back(statement(0, name + " = " + text));
  parts_.known_tables.emplace_back(numbers, name);
  return name;
}

void Lines::write_call(std::size_t i) {
  const Item& item = items_[i];
  std::vector<std::string> passed;
  for (const Reference& r : item.part->inputs) passed.push_back(tensor(r));
  std::ranges::copy(item.function->numbers.at(item.part), std::back_inserter(passed));
  const std::string name = name_of_block(*item.part);
  passed.push_back(std::string(name_mark) + text_of_name(name));
  const Reference& out = item.part->outputs[0];
  const std::string own = name.starts_with(prefix_) ? name.substr(prefix_.size()) : name;
  const std::string variable = variable_for({out.layer, out.call}, i, own);
  name_tensor(out, variable);
  line(variable + " = " + item.function->name + "(" + joined(passed) + ")");
}

// The item behind a row of calls of one function with the same numbers: each reads only what the one before it gives, and
// their names count. The first reads `x`.
std::size_t Lines::loop_end(std::size_t i) const {
  std::size_t end = i;
  std::vector<std::string> names;
  for (; end < items_.size() && items_[end].function && items_[end].function == items_[i].function; ++end) {
    const Part& part = *items_[end].part;
    const auto& numbers = items_[i].function->numbers;
    if (part.inputs.size() != 1 || numbers.at(&part) != numbers.at(items_[i].part)) break;
    if (end == i && tensor(part.inputs[0]) != "x") break;
    if (end > i) {
      const Reference& before = items_[end - 1].part->outputs[0];
      if (part.inputs[0] != before || last_use_.at({before.layer, before.call}) != end) break;
    }
    names.push_back(name_of_block(part));
    if (end > i && !counted(names)) break;
  }
  return end;
}

// for i in range(2, 5): x = block(x, 64, name=f"stage_{i}")
void Lines::write_loop(std::size_t from, std::size_t end) {
  const Item& item = items_[from];
  std::vector<std::string> names, passed{"x"};
  for (std::size_t i = from; i < end; ++i) names.push_back(name_of_block(*items_[i].part));
  std::ranges::copy(item.function->numbers.at(item.part), std::back_inserter(passed));
  const Counted count = *counted(names);
  std::string front = text_of_name(count.front), back = without_braces(python::quoted(count.back));
  if (!front.starts_with("f")) front = "f" + without_braces(front);
  front.pop_back();  // the closing quote
  passed.push_back(std::string(name_mark) + front + "{i}" + back.substr(1));
  const Size last = count.first + static_cast<Size>(names.size());
  line(fmt::format("for i in range({}{}):", count.first == 0 ? "" : std::to_string(count.first) + ", ", last));
  line("x = " + item.function->name + "(" + joined(passed) + ")", 8);
  const Reference& out = items_[end - 1].part->outputs[0];
  const std::string variable = variable_for({out.layer, out.call}, end - 1, names.back());
  name_tensor(out, variable);
  if (variable != "x") line(variable + " = x");
}

Status Lines::write_item(std::size_t i) {
  const Step step = *items_[i].part->step;
  const DocumentLayer& layer = parts_.document.layers[step.layer];
  const DocumentCall& call = layer.calls[step.call];
  Status trouble;
  const Spoken spoken{[&](const Reference& r) { return tensor(r); },
                      [&](const Tensor& numbers) {
                        auto name = table(numbers);
                        if (!name && trouble) trouble = within("layer '" + layer.name + "'", Status(pass(name)));
                        return name.value_or("");
                      }};
  std::string text;
  if (layer.is_operation()) {
    text = operation_text(layer, call, spoken);
  } else if (layer.calls.size() > 1) {
    auto& variable = shared_[step.layer];
    if (variable.empty()) {
      variable = names_.take(identifier(layer.name) + "_layer");
      line(variable + " = " + constructor_text(layer, name_text(layer.name)));
    }
    text = variable + arguments_text(call, spoken);
  } else {
    const std::string name = name_text(layer.name);
    text = constructor_text(prefix_.empty() ? layer : with_stride(layer), name) + arguments_text(call, spoken);
  }
  if (!trouble) return trouble;
  std::string wanted = layer.name;
  if (!prefix_.empty())
    wanted = without_numbers(wanted.starts_with(prefix_) ? wanted.substr(prefix_.size()) : wanted, layer);
  variables_[step] = variable_for(step, i, wanted);
  line(variables_[step] + " = " + text);
  return {};
}

}  // namespace convoy::keras
