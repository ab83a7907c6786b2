// Arguments are unions of one key. Source: torch/_export/serde/schema.py, Argument.
#include "formats/torch/exported/arguments.h"

#include "containers/json.h"
#include "formats/torch/exported/archive.h"
#include "formats/torch/exported/nodes.h"

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::torch {
namespace {

constexpr std::string_view computed_from_free = "is computed from a size that is free; give the input a size";

SymbolicSize size_in(const Json& json) {
  if (json.is_number_integer()) return {json.get<Size>(), {}};
  if (const Json* number = member(json, "as_int"); number && number->is_number_integer())
    return {number->get<Size>(), {}};
  if (const Json* expression = member(json, "as_expr"))
    if (const Json* text = member(*expression, "expr_str"); text && text->is_string())
      return {{}, text->get<std::string>()};
  return {{}, "?" + json_text(json)};
}

// What says nothing about the numbers: where and how tensors lie in memory.
bool is_silent(std::string_view key) {
  return key == "as_none" || key == "as_device" || key == "as_layout" || key == "as_memory_format";
}

// "self" is the first parameter of methods; torch.nn.functional calls it "input".
std::string parameter(const std::string& name) { return name == "self" ? "input" : name; }

bool trains(const std::string& name, const Json& value) {
  return (name == "train" || name == "training" || name == "use_input_stats") && value.is_boolean() &&
         value.get<bool>();
}

// Numbers that JSON has no digits for come as words.
Json with_numbers(const Json& value) {
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return value;
}

class Arguments {
 public:
  Arguments(const Json& node, const ExportedTensors& tensors, const Symbols& symbols, const Json* values)
      : node_(node),
        tensors_(tensors),
        symbols_(symbols),
        values_(values) {
    if (const Json* target = member(node, "target"); target && target->is_string())
      target_ = target->get<std::string>();
  }

  Result<ExportedArguments> run() {
    const Json* inputs = member(node_, "inputs");
    if (!inputs || !inputs->is_array()) return fail(Fault::Format, "has no inputs");
    for (const Json& input : *inputs) {
      const Json *name = member(input, "name"), *argument = member(input, "arg");
      if (!name || !name->is_string() || !argument) return fail(Fault::Format, "an input is not a name and an arg");
      const auto said = union_of(*argument);
      if (!said) return std::unexpected(said.error());
      auto taken = within("argument '" + name->get<std::string>() + "'", take(name->get<std::string>(), *said));
      if (!taken) return pass(taken);
    }
    if (!bounds_.empty())
      if (auto cut = part(); !cut) return pass(cut);
    // Without running statistics those of the batch are the layer's meaning, in eval mode as well.
    if (target_.find("batch_norm") != std::string::npos && !found_.tensors.contains("running_mean"))
      found_.trains = false;
    return std::move(found_);
  }

 private:
  Status take(const std::string& said_name, const Union& argument) {
    const std::string name = parameter(said_name);
    const auto& [key, value] = argument;
    if (is_silent(key) || is_known_by_shape(said_name)) return {};
    if (key == "as_tensor") return tensor(name, *value);
    if (key == "as_tensors" || key == "as_optional_tensors") return several(name, *value);
    if (key == "as_scalar_type") {
      const auto dtype = exported_dtype(*value);
      if (!dtype) return std::unexpected(dtype.error());
      found_.plain[name] = std::string(name_of(*dtype));
      return {};
    }
    if (key == "as_sym_int") {
      const SymbolicSize size = resolved(*value);
      if (counts_along(name, size)) return {};
      if (name == "other" && !size.known) {
        found_.free_numbers[name] = size.expression;
        return {};
      }
      if (!size.known && cuts() && (name == "start" || name == "end")) {
        bounds_[name] = size;
        return {};
      }
      if (const auto back = counted_from_end(name, size)) {
        found_.plain[name] = *back;
        return {};
      }
      return put(name, size);
    }
    if (key == "as_sym_float" && name == "other") {
      const SymbolicSize number = resolved(*value);
      if (number.expression.starts_with('?')) return fail(Fault::Unsupported, std::string(computed_from_free));
      found_.free_numbers[name] = number.expression;
      return {};
    }
    if (key == "as_sym_ints" && name == "pad" && pads_freely(*value)) return pads(*value);
    if (key == "as_sym_ints") return sizes(name, *value);
    if (key == "as_int" || key == "as_ints" || key == "as_float" || key == "as_floats" || key == "as_bool" ||
        key == "as_bools") {
      if (trains(said_name, *value)) found_.trains = target_.find("instance_norm") == std::string::npos;
      found_.plain[name] = with_numbers(*value);
      return {};
    }
    if (key == "as_string") {
      found_.plain[name] = *value;
      return {};
    }
    return fail(Fault::Unsupported, "is of kind '" + std::string(key) + "', which is not carried");
  }

  // Sizes of the input, said once more.
  bool is_known_by_shape(const std::string& name) const {
    return target_ == "torch.ops.aten.native_group_norm.default" && (name == "N" || name == "C" || name == "HxW");
  }

  Result<ValueId> value_named(const Json& json) const {
    const Json* name = member(json, "name");
    const auto found = name && name->is_string() ? tensors_.find(name->get<std::string>()) : tensors_.end();
    if (found == tensors_.end()) return fail(Fault::Format, "is a tensor that no node has made");
    if (!found->second) return fail(Fault::Unsupported, "is a result that is not carried");
    return found->second;
  }

  Status tensor(const std::string& name, const Json& json) {
    const auto value = value_named(json);
    if (!value) return std::unexpected(value.error());
    found_.tensors[name] = *value;
    if (name == "input") input_ = &json;
    return {};
  }

  // By place; an absent one leaves its place out.
  Status several(const std::string& name, const Json& list) {
    if (!list.is_array()) return fail(Fault::Format, "is no list of tensors");
    std::size_t place = 0;
    for (const Json& one : list) {
      const std::string element = name + "." + std::to_string(place++);
      if (member(one, "as_none")) continue;
      const Json* inner = member(one, "as_tensor");
      if (auto s = tensor(element, inner ? *inner : one); !s) return s;
    }
    return {};
  }

  SymbolicSize resolved(const Json& json) const {
    if (const Json* name = member(json, "as_name"); name && name->is_string())
      return symbols_.named(name->get<std::string>());
    return symbols_.worked_out(size_in(json));
  }

  // 0, 1, ... as far as a free size goes, and a slice that ends there: no slice where the axis is that long.
  bool counts_along(const std::string& name, const SymbolicSize& size) {
    const bool slices = cuts();
    const bool counts = slices || target_.starts_with("torch.ops.aten.arange.");
    const bool makes = (name == "steps" && target_.starts_with("torch.ops.aten.linspace.")) ||
                       (name == "n" && target_.starts_with("torch.ops.aten.eye."));
    if (size.known || (!makes && !(name == "end" && counts)) || !bounds_.empty()) return false;
    if (slices && input_) {
      const auto length = asked_size();
      if (length && length->same(size)) return true;
    }
    const Symbols::Owner* owner = symbols_.owner(size.expression);
    if (const auto length = owner || slices ? std::nullopt : symbols_.growth(size.expression)) {
      found_.lengths["like.0"] = *length;
      found_.plain["from"] = Json::array({0});
      return true;
    }
    if (!owner) return false;
    found_.tensors["like.0"] = owner->value;
    found_.plain["from"] = Json::array({owner->axis});
    return true;
  }

  bool cuts() const { return target_ == "torch.ops.aten.slice.Tensor"; }

  static std::function<std::optional<Size>(const KnownSymbols&)> value_at(const SymbolicSize& size) {
    if (size.known) return [known = size.known](const KnownSymbols&) { return known; };
    return [expression = parsed(size.expression)](const KnownSymbols& known) {
      return expression ? value_of(*expression, known) : std::nullopt;
    };
  }

  // A part of an axis whose ends are computed of free sizes, as Python counts them.
  Status part() {
    const auto computed = fail(Fault::Unsupported, std::string(computed_from_free));
    const auto length = input_ ? asked_size() : std::nullopt;
    if (!length || (found_.plain.contains("step") && found_.plain["step"] != 1)) return computed;
    const auto bound = [&](const std::string& name, const SymbolicSize& otherwise) {
      const auto free = bounds_.find(name);
      if (free != bounds_.end()) return value_at(free->second);
      const auto said = found_.plain.find(name);
      return value_at(said == found_.plain.end() || !said->is_number_integer() ? otherwise
                                                                               : SymbolicSize{said->get<Size>(), {}});
    };
    const auto begin = bound("start", {0, {}}), end = bound("end", *length), cells = value_at(*length);
    const auto range = [=](const KnownSymbols& known) -> std::optional<std::pair<Size, Size>> {
      const auto n = cells(known), from = begin(known), to = end(known);
      if (!n || !from || !to) return std::nullopt;
      const auto placed = [&](Size at) { return std::clamp<Size>(at < 0 ? at + *n : at, 0, *n); };
      return std::pair{placed(*from), std::max(placed(*from), placed(*to))};
    };
    const auto start = symbols_.growth([&](const KnownSymbols& known) {
      const auto both = range(known);
      return both ? std::optional(both->first) : std::nullopt;
    });
    const auto count = symbols_.growth([&](const KnownSymbols& known) {
      const auto both = range(known);
      return both ? std::optional(both->second - both->first) : std::nullopt;
    });
    if (!start || !count) return computed;
    const auto sizes = std::ssize(sizes_of_input());
    const Size dim = found_.plain.value("dim", Size{0});
    found_.cut = ExportedArguments::Cut{dim < 0 ? dim + sizes : dim, *start, *count};
    return {};
  }

  bool pads_freely(const Json& list) const {
    return input_ && list.is_array() &&
           (target_ == "torch.ops.aten.pad.default" || target_ == "torch.ops.aten.constant_pad_nd.default") &&
           std::ranges::any_of(list, [&](const Json& one) { return !resolved(one).known; });
  }

  Status pads(const Json& list) {
    const auto sizes = sizes_of_input();
    if (list.size() % 2 != 0 || list.size() / 2 > sizes.size())
      return fail(Fault::Format,
                  std::to_string(list.size()) + " pads of a tensor of rank " + std::to_string(sizes.size()));
    for (std::size_t i = 0; 2 * i < list.size(); ++i) {
      const SymbolicSize before = resolved(list[2 * i]), after = resolved(list[2 * i + 1]);
      if (before.known == 0 && after.known == 0) continue;
      const std::size_t axis = sizes.size() - 1 - i;
      const auto own = value_at(sizes[axis]), front = value_at(before), behind = value_at(after);
      const auto length = symbols_.growth([&](const KnownSymbols& known) -> std::optional<Size> {
        const auto n = own(known), first = front(known), last = behind(known);
        return n && first && last ? std::optional(*n + *first + *last) : std::nullopt;
      });
      if (!length) return fail(Fault::Unsupported, std::string(computed_from_free));
      found_.pads.push_back({static_cast<Size>(axis), *length,
                             before.known ? "Integer(" + std::to_string(*before.known) + ")" : before.expression});
    }
    return {};
  }

  // A cell so many before the end of the axis. Where a slice begins or ends is no such place: of an axis that is shorter than that
  // it takes what there is, which the program does not.
  std::optional<Size> counted_from_end(const std::string& name, const SymbolicSize& size) const {
    if (target_ != "torch.ops.aten.select.int" || name != "index" || size.known || !input_) return std::nullopt;
    const auto length = asked_size();
    const auto at = symbols_.steady(size.expression), end = length ? symbols_.steady(length->expression) : std::nullopt;
    if (!at || !end || at->like != end->like || at->axis != end->axis || at->scale != end->scale) return std::nullopt;
    return at->offset < end->offset ? std::optional(at->offset - end->offset) : std::nullopt;
  }

  // Of the input, along the axis that argument 'dim' names.
  std::optional<SymbolicSize> asked_size() const {
    const auto sizes = sizes_of_input();
    const auto said = found_.plain.find("dim");
    const Size dim = said != found_.plain.end() && said->is_number_integer() ? said->get<Size>() : 0;
    const Size axis = dim < 0 ? dim + std::ssize(sizes) : dim;
    if (axis < 0 || axis >= std::ssize(sizes)) return std::nullopt;
    return sizes[static_cast<std::size_t>(axis)];
  }

  Status put(const std::string& name, const SymbolicSize& size) {
    if (!size.known) return fail(Fault::Unsupported, std::string(computed_from_free));
    found_.plain[name] = *size.known;
    return {};
  }

  // In a new shape, a free size that the tensor has at this place is 0, the one other -1; when repeating, -1 keeps it.
  Status sizes(const std::string& name, const Json& list) {
    if (!list.is_array()) return fail(Fault::Format, "is no list of sizes");
    const bool shapes = target_.ends_with("aten.view.default") || target_.ends_with("aten.reshape.default") ||
                        target_.ends_with("aten._unsafe_view.default") || target_.ends_with("aten.expand.default");
    const bool repeats = target_.ends_with("aten.expand.default");
    const auto before = shapes && input_ ? sizes_of_input() : std::vector<SymbolicSize>();
    Json plain = Json::array();
    int others = 0;
    const bool makes =
        repeats || makes_a_shape() || (name == "output_size" && target_.find("aten.upsample_") != std::string::npos);
    Json from = Json::array();
    for (std::size_t i = 0; i < list.size(); ++i) {
      const SymbolicSize size = resolved(list[i]);
      const std::size_t at = repeats && before.size() <= list.size() ? i - (list.size() - before.size()) : i;
      const bool kept = at < before.size() && before[at].same(size);
      from.push_back(0);
      if (size.known) {
        plain.push_back(*size.known);
        others += *size.known == -1 && !repeats;
      } else if (kept) {
        plain.push_back(repeats ? -1 : 0);
      } else if (i == 0 && target_.ends_with("aten.affine_grid_generator.default")) {
        plain.push_back(1);  // the matrices say how many there are
      } else if (shapes && !repeats) {
        plain.push_back(-1);
        ++others;
      } else if (const Symbols::Owner* owner = makes ? symbols_.owner(size.expression) : nullptr) {
        plain.push_back(1);
        from.back() = owner->axis;
        found_.tensors["like." + std::to_string(i)] = owner->value;
        found_.plain["from"] = from;
      } else if (const auto length = makes ? symbols_.growth(size.expression) : std::nullopt) {
        plain.push_back(1);
        found_.lengths["like." + std::to_string(i)] = *length;
        found_.plain["from"] = from;
      } else {
        return fail(Fault::Unsupported, std::string(computed_from_free));
      }
    }
    if (others > 1 && shapes && !repeats) others -= told_by_result(list, plain);
    if (found_.plain.contains("from")) found_.plain["from"] = std::move(from);
    if (others > 1) return between_kept(name, list, before);
    found_.plain[name] = std::move(plain);
    return {};
  }

  // A -1 that the program itself wrote beside a free size is a number where the result's own shape says so. How many are.
  int told_by_result(const Json& list, Json& plain) const {
    const auto names = names_in(list_member(node_, "outputs"));
    const auto after = names.empty() ? std::vector<SymbolicSize>() : sizes_of(names[0]);
    int told = 0;
    for (std::size_t i = 0; i < list.size() && after.size() == list.size(); ++i)
      if (resolved(list[i]).known == -1 && after[i].known) {
        plain[i] = *after[i].known;
        ++told;
      }
    return told;
  }

  // A new shape with several free sizes: "kept" says how many axes on the left and on the right stay as they are. Where what
  // lies between has several free sizes as well, each is that of another tensor.
  Status between_kept(const std::string& name, const Json& list, const std::vector<SymbolicSize>& before) {
    std::vector<SymbolicSize> after;
    for (const Json& one : list) after.push_back(resolved(one));
    const auto names = names_in(list_member(node_, "outputs"));
    const auto result = names.empty() ? std::vector<SymbolicSize>() : sizes_of(names[0]);
    for (std::size_t i = 0; i < after.size() && result.size() == after.size(); ++i)
      if (after[i].known == -1) after[i] = result[i];
    if (by_groups(before, after)) return {};
    const std::size_t most = std::min(before.size(), after.size());
    std::size_t left = 0, right = 0;
    while (left < most && before[left].same(after[left])) ++left;
    while (left + right < most && before[before.size() - 1 - right].same(after[after.size() - 1 - right])) ++right;
    Json plain = Json::array(), from = Json::array();
    TensorArguments likes;
    std::map<std::string, Growth> lengths;
    std::size_t free = 0, owned = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      const bool kept = i < left || i + right >= after.size(), is_free = !after[i].known || *after[i].known == -1;
      plain.push_back(kept ? 0 : is_free ? -1 : *after[i].known);
      from.push_back(0);
      if (kept || !is_free) continue;
      ++free;
      const Symbols::Owner* owner = after[i].known ? nullptr : symbols_.owner(after[i].expression);
      if (const auto length = owner || after[i].known ? std::nullopt : symbols_.growth(after[i].expression)) {
        ++owned;
        lengths["like." + std::to_string(i)] = *length;
      }
      if (!owner) continue;
      ++owned;
      from.back() = owner->axis;
      likes["like." + std::to_string(i)] = owner->value;
    }
    if (free > 1 && owned < free)
      return fail(Fault::Unsupported, "has several sizes that are computed from free ones; give the input a size");
    if (free > 1) {
      found_.tensors.merge(likes);
      found_.lengths.merge(lengths);
      found_.plain["from"] = std::move(from);
    }
    found_.plain["kept"] = Json::array({left, right});
    found_.plain[name] = std::move(plain);
    return {};
  }

  // Whether the new shape is several groups of axes, each of which has one free size at most.
  bool by_groups(const std::vector<SymbolicSize>& before, const std::vector<SymbolicSize>& after) {
    const auto from = symbols_.unlike(before), to = symbols_.unlike(after);
    const auto groups = from && to ? axis_groups(*from, *to) : std::nullopt;
    if (!groups) return false;
    std::vector<ExportedArguments::Regrouped> made;
    std::size_t axis = 0, rank = before.size();
    for (const RegroupedAxes& group : *groups) {
      if (group.from != 1 || group.to != 1) {
        ExportedArguments::Regrouped one;
        one.to.assign(axis, 0);
        for (std::size_t i = 0; i < group.to; ++i) one.to.push_back(after[axis + i].known.value_or(-1));
        if (std::ranges::count(one.to, Size{-1}) > 1) return false;
        const std::size_t right = rank - axis - group.from;
        one.to.insert(one.to.end(), right, 0);
        one.kept = {static_cast<Size>(axis), static_cast<Size>(right)};
        made.push_back(std::move(one));
        rank = rank - group.from + group.to;
      }
      axis += group.to;
    }
    if (made.size() < 2) return false;
    found_.groups = std::move(made);
    return true;
  }

  // Rows that repeat axes of size 1 as often as a free size says.
  bool makes_a_shape() const {
    for (const std::string_view name : {"zeros", "ones", "full", "new_zeros", "new_ones", "new_full", "new_empty"})
      if (target_ == "torch.ops.aten." + std::string(name) + ".default") return true;
    if (target_ == "torch.ops.aten.empty.memory_format" || target_ == "torch.ops.aten.repeat.default") return true;
    return false;
  }

  std::vector<SymbolicSize> sizes_of_input() const {
    const Json* name = member(*input_, "name");
    return name && name->is_string() ? sizes_of(name->get<std::string>()) : std::vector<SymbolicSize>();
  }

  std::vector<SymbolicSize> sizes_of(const std::string& name) const {
    auto sizes = values_ ? Symbols::sizes_of(member(*values_, name)) : std::vector<SymbolicSize>();
    for (SymbolicSize& size : sizes) size = symbols_.worked_out(std::move(size));
    return sizes;
  }

  const Json& node_;
  const ExportedTensors& tensors_;
  const Symbols& symbols_;
  const Json* values_;
  const Json* input_ = nullptr;
  std::string target_;
  std::map<std::string, SymbolicSize> bounds_;  // of a slice, where they are free
  ExportedArguments found_;
};

}  // namespace

void Symbols::read(const Json& graph) {
  for (const char* kind : {"sym_int_values", "sym_float_values", "sym_bool_values"})
    if (const Json* values = member(graph, kind); values && values->is_object())
      for (const auto& [name, value] : values->items()) named_[name] = size_in(value);
}

SymbolicSize Symbols::named(const std::string& name) const {
  const auto found = named_.find(name);
  return found == named_.end() ? SymbolicSize{{}, "?" + name} : worked_out(found->second);
}

void Symbols::set(const std::string& expression, Size value) {
  if (auto one = solved(expression, value)) numbers_.insert(std::move(*one));
}

SymbolicSize Symbols::worked_out(SymbolicSize size) const {
  if (!size.known && !numbers_.empty()) size.known = value_of(size.expression, numbers_);
  return size;
}

std::optional<FreeNumber> Symbols::steady(const std::string& expression) const {
  constexpr Size first = 8, next = 9;
  const auto computed = parsed(expression);
  if (!computed) return std::nullopt;
  for (const auto& [own, owner] : owners_) {
    const auto symbol = solved(own, first);
    if (!symbol || symbol->second != first) continue;  // the size itself
    const auto at = [&](Size n) {
      KnownSymbols known = numbers_;
      known[symbol->first] = n;
      return value_of(*computed, known);
    };
    const auto a = at(first), b = at(next);
    if (!a || !b) continue;
    const FreeNumber found{owner.value, owner.axis, *b - *a, *a - (*b - *a) * first};
    const auto is_met = [&](Size n) { return at(n) == found.scale * n + found.offset; };
    if (std::ranges::all_of(std::array<Size, 8>{1, 2, 3, 10, 11, 13, 100, 1023}, is_met)) return found;
  }
  return std::nullopt;
}

const Symbols::Owner* Symbols::owner_of_symbol(const std::string& name) const {
  for (const auto& [own, owner] : owners_) {
    const auto expression = parsed(own);
    if (expression && expression->function == "Symbol" && expression->name == name) return &owner;
  }
  return nullptr;
}

std::optional<Growth> Symbols::growth(
    const std::function<std::optional<Size>(const KnownSymbols& known)>& value) const {
  for (const auto& [own, owner] : owners_) {
    const auto expression = parsed(own);
    if (!expression || expression->function != "Symbol") continue;
    const auto least = least_.find(expression->name);
    KnownSymbols known = numbers_;
    const auto steps = stepwise(
        [&](Size n) {
          known[expression->name] = n;
          return value(known);
        },
        1, least == least_.end() ? 1 : std::max<Size>(least->second, 1));
    if (steps && steps->from == 1) return Growth{owner.value, owner.axis, *steps};
  }
  return std::nullopt;
}

std::optional<Sizes> Symbols::unlike(const std::vector<SymbolicSize>& sizes) const {
  constexpr Size unit = 420;
  constexpr std::array<Size, 8> primes{11, 13, 17, 19, 23, 29, 31, 37};
  KnownSymbols known = numbers_;
  std::size_t next = 0;
  for (const auto& [own, owner] : owners_) {
    const auto expression = parsed(own);
    if (expression && expression->function == "Symbol" && !known.contains(expression->name))
      known[expression->name] = unit * primes[next++ % primes.size()];
  }
  Sizes found;
  for (const SymbolicSize& size : sizes) {
    const auto n = size.known ? size.known : value_of(size.expression, known);
    if (!n || *n < 1) return std::nullopt;
    found.push_back(*n);
  }
  return found;
}

std::optional<Growth> Symbols::growth(const std::string& expression) const {
  const auto found = parsed(expression);
  if (!found) return std::nullopt;
  return growth([&](const KnownSymbols& known) { return value_of(*found, known); });
}

std::vector<SymbolicSize> Symbols::sizes_of(const Json* meta) {
  std::vector<SymbolicSize> sizes;
  const Json* list = meta ? member(*meta, "sizes") : nullptr;
  if (list && list->is_array())
    for (const Json& one : *list) sizes.push_back(size_in(one));
  return sizes;
}

Result<ExportedArguments> call_arguments(const Json& node, const ExportedTensors& tensors, const Symbols& symbols,
                                         const Json* values) {
  return Arguments(node, tensors, symbols, values).run();
}

}  // namespace convoy::torch
