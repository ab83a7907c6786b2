// What is looked up in the catalogue, made of its rows once.
#include "formats/torch/catalogue/catalogue.h"

#include "base/words.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <deque>
#include <map>
#include <string>

namespace convoy::torch {
namespace {

constexpr std::array catalogue_families{activation_operators,
                                        one_number_operators,
                                        two_number_operators,
                                        reduction_operators,
                                        pooling_operators,
                                        convolution_operators,
                                        unfold_operators,
                                        batch_norm_operators,
                                        normalization_operators,
                                        product_operators,
                                        padding_operators,
                                        resize_operators,
                                        reshape_operators,
                                        shuffle_operators,
                                        part_operators,
                                        pick_operators,
                                        attention_operators,
                                        constant_operators,
                                        composed_operators,
                                        composed_number_operators,
                                        write_operators,
                                        recurrent_operators,
                                        scatter_operators,
                                        diagonal_operators,
                                        arranged_operators,
                                        loss_operators,
                                        length_operators,
                                        neighbour_operators,
                                        special_number_operators,
                                        composed_product_operators,
                                        fake_quantization_operators};

// "max_pool2d" of "max_pool[123]d", and of "[23]/default" what stands behind the blank; nothing where the digit is not
// among them.
std::string with_digit(std::string_view text, char digit) {
  std::string all;
  while (!text.empty()) {
    const auto opens = std::min(text.find('['), text.size()), closes = std::min(text.find(']'), text.size());
    const bool has_digit = text.substr(opens, closes - opens).contains(digit);
    const bool chooses = text.substr(closes).starts_with("]/");
    if (opens == text.size() || has_digit) {
      all += text.substr(0, opens);
      if (has_digit && !chooses) all += digit;
      text.remove_prefix(std::min(text.size(), closes + (chooses ? 2 : 1)));
    } else {
      // Leaves out the whole word.
      const auto begins = chooses ? opens : text.find_last_of(' ', opens) + 1;
      all += text.substr(0, begins);
      text.remove_prefix(std::min(text.size(), text.find_first_of(" ()[", closes)));
    }
  }
  return all;
}

enum class Kind : std::uint8_t { Shared, Function, Torch, Aten, Layer, As };
struct Name {
  std::string_view word;
  Kind kind;
};
Name name_in(std::string_view word) {
  if (word.starts_with("F.")) return {word.substr(2), Kind::Function};
  if (word.starts_with("nn.")) return {word.substr(3), Kind::Layer};
  if (word.starts_with("torch.")) return {word.substr(6), Kind::Torch};
  if (word.starts_with("aten.")) return {word.substr(5), Kind::Aten};
  if (word.starts_with("as.")) return {word.substr(3), Kind::As};
  return {word, Kind::Shared};
}
bool is_aten(Kind kind) { return kind == Kind::Shared || kind == Kind::Torch || kind == Kind::Aten; }

// "dim(input:T dim:i -> TT)"
struct Overload {
  std::string_view of;  // the operator; empty: all of the row that are not named so
  std::string_view name, parameters, results = "T";
};
std::vector<Overload> overloads_in(std::string_view signature) {
  std::vector<Overload> all;
  const auto made = [&](std::string_view name, std::string_view parameters) {
    Overload one{{}, name, parameters};
    if (const auto dot = name.find('.'); dot != std::string_view::npos)
      one.of = name.substr(0, dot), one.name = name.substr(dot + 1);
    if (const auto arrow = parameters.find("-> "); arrow != std::string_view::npos)
      one.results = parameters.substr(arrow + 3), one.parameters = parameters.substr(0, arrow);
    all.push_back(one);
  };
  if (signature.find('(') > signature.find(':')) {
    made("default", signature);
    return all;
  }
  while (!signature.empty()) {
    const auto opens = signature.find('('), closes = signature.find(')');
    made(signature.substr(0, opens), signature.substr(opens + 1, closes - opens - 1));
    signature.remove_prefix(std::min(signature.size(), closes + 2));
  }
  return all;
}

constexpr std::string_view made_where = "dtype:t?= layout:d?= device:d?= pin_memory:d?= memory_format:d?=";

bool takes(Kind kind, std::string_view place, const SchemaParameter& parameter) {
  if (parameter.name == "inplace") return !is_aten(kind) || kind == Kind::Shared;
  if (kind == Kind::Layer && (parameter.kind == 'T' || parameter.kind == 'L')) return false;
  if (place == "nn") return kind == Kind::Layer;
  if (place == "aten") return kind == Kind::Aten;
  if (place == "F") return kind != Kind::Layer && kind != Kind::Aten;
  return place.empty() || kind != Kind::Layer;
}

// Those that a name of this kind takes; `rest`: whether the last one takes all that is left.
std::vector<SchemaParameter> parameters_in(std::string_view words, Kind kind, bool* rest = nullptr,
                                           bool by_name = false) {
  std::vector<SchemaParameter> all;
  for (std::string_view word : words_in(words)) {
    if (word == "*") by_name = true;
    if (word == "$")
      for (const SchemaParameter& one : parameters_in(made_where, kind, nullptr, by_name)) all.push_back(one);
    if (word == "*" || word == "$") continue;
    const auto slash = word.find('/');
    const std::string_view place = slash == std::string_view::npos ? "" : word.substr(0, slash);
    if (slash != std::string_view::npos) word.remove_prefix(slash + 1);
    const bool takes_rest = word.ends_with("...");
    if (takes_rest) word.remove_suffix(3);
    const auto colon = word.find(':'), equals = word.find('=');
    const std::string_view type = word.substr(colon + 1, equals - colon - 1);
    const bool has_default = equals != std::string_view::npos;
    const SchemaParameter one{.name = word.substr(0, colon),
                              .kind = type.front(),
                              .optional = type.contains('?'),
                              .has_default = has_default,
                              .by_name_only = by_name,
                              .otherwise = has_default ? word.substr(equals + 1) : std::string_view()};
    if (!takes(kind, place, one)) continue;
    if (rest) *rest = takes_rest;
    all.push_back(one);
  }
  return all;
}

// The names of the parameters as a table of functions holds them; of several overloads, the one that takes most.
std::string words_of(std::string_view signature, Kind kind) {
  std::string longest;
  std::size_t most = 0;
  for (const Overload& overload : overloads_in(signature)) {
    if (!overload.of.empty()) continue;
    bool rest = false;
    std::string words;
    std::size_t count = 0;
    for (const SchemaParameter& one : parameters_in(overload.parameters, kind, &rest)) {
      if (one.by_name_only && kind == Kind::Torch) continue;
      words += (count++ ? " " : "") + std::string(one.name);
    }
    if (rest) words += "...";
    if (count > most || longest.empty()) longest = words, most = count;
  }
  return longest;
}

struct Catalogue {
  struct AtenRow {
    const CatalogueRow* of;
    std::string_view overload;
    const FunctionRow* row;
  };
  std::deque<std::string> words;   // which the rows below view
  std::deque<CatalogueRow> with_digits;
  std::deque<FunctionRow> rows;
  std::vector<FunctionRow> functions;
  std::map<std::string_view, const FunctionRow*> called;
  std::map<std::string_view, std::vector<AtenRow>> aten;
  std::map<std::string_view, const CatalogueRow*> layers;
  std::multimap<std::string_view, const CatalogueRow*> of_name;  // all of them, in the order of their families
  std::map<Function, std::string> spelled;
  std::vector<Schema> schemas;

  Catalogue() {
    for (const auto& family : catalogue_families)
      for (const CatalogueRow& one : family()) add_each(one);
    std::ranges::stable_sort(schemas, {}, &Schema::name);
  }

 private:
  void add_each(const CatalogueRow& one) {
    if (!one.names.contains('[')) return add(one);
    for (const char digit : {'1', '2', '3'}) {
      const auto& names = words.emplace_back(with_digit(one.names, digit));
      const auto& signature = words.emplace_back(with_digit(one.signature, digit));
      if (!names.empty()) add(with_digits.emplace_back(CatalogueRow{names, signature, one.read}));
    }
  }

  void add(const CatalogueRow& one) {
    const auto names = words_in(one.names);
    const auto overloads = overloads_in(one.signature);
    std::string_view first;
    for (const std::string_view word : names) {
      const auto [name, kind] = name_in(word);
      const std::string_view read_as = is_aten(kind) && kind != Kind::Shared && !first.empty() ? first : name;
      if (first.empty()) first = name;
      if (kind == Kind::As) continue;
      words.push_back(words_of(one.signature, kind));
      rows.push_back({read_as, words.back(), one.read});
      const FunctionRow* row = &rows.back();
      of_name.emplace(read_as, &one);
      if (kind == Kind::Layer) layers.emplace(name, &one);
      if (kind == Kind::Shared || kind == Kind::Function || kind == Kind::Layer) functions.push_back(*row);
      if (kind != Kind::Layer && kind != Kind::Aten) called.emplace(name, row);
      if (!is_aten(kind)) continue;
      const bool own = std::ranges::find(overloads, name, &Overload::of) != overloads.end();
      for (const Overload& overload : overloads) {
        if (own ? overload.of != name : !overload.of.empty()) continue;
        aten[name].push_back({&one, overload.name, row});
        schemas.push_back({name, overload.name, overload.parameters, overload.results});
      }
    }
    if (one.function)
      spelled.emplace(*one.function,
                      (name_in(names.front()).kind == Kind::Shared ? "F." : "") + std::string(names.front()));
  }
};

const Catalogue& catalogue() {
  static const Catalogue made;
  return made;
}

}  // namespace

std::span<const FunctionRow> functions() { return catalogue().functions; }

const FunctionRow* catalogued_function(std::string_view name) {
  const auto found = catalogue().called.find(name);
  return found == catalogue().called.end() ? nullptr : found->second;
}

bool is_catalogued_overload(std::string_view name, std::string_view overload) {
  const auto found = catalogue().aten.find(name);
  return found != catalogue().aten.end() &&
         std::ranges::find(found->second, overload, &Catalogue::AtenRow::overload) != found->second.end();
}

const FunctionRow* catalogued_aten(std::string_view name, std::string_view overload) {
  const auto found = catalogue().aten.find(name);
  if (found == catalogue().aten.end()) return nullptr;
  const auto& all = found->second;
  if (const auto exact = std::ranges::find(all, overload, &Catalogue::AtenRow::overload); exact != all.end())
    return exact->row;
  const bool one_row = std::ranges::all_of(all, [&](const auto& one) { return one.of == all.front().of; });
  return one_row ? all.front().row : nullptr;
}

std::span<const Schema> schemas() { return catalogue().schemas; }

std::span<const Schema> schemas_named(std::string_view name) {
  const auto found = std::ranges::equal_range(catalogue().schemas, name, {}, &Schema::name);
  return {found.begin(), found.end()};
}

std::vector<SchemaParameter> parameters_of(const Schema& schema) {
  auto all = parameters_in(schema.parameters, Kind::Aten);
  return all;
}

std::vector<SchemaParameter> constructor_of(std::string_view layer) {
  const auto found = catalogue().layers.find(layer);
  if (found == catalogue().layers.end()) return {};
  return parameters_in(overloads_in(found->second->signature).front().parameters, Kind::Layer);
}

std::string_view written_name(Function function) {
  const auto found = catalogue().spelled.find(function);
  return found == catalogue().spelled.end() ? std::string_view() : found->second;
}

std::string_view default_in_row(std::string_view name, std::string_view argument) {
  const auto [begin, end] = catalogue().of_name.equal_range(name);
  for (auto row = begin; row != end; ++row)
    for (const Overload& overload : overloads_in(row->second->signature))
      for (std::string_view word : words_in(overload.parameters)) {
        word.remove_prefix(word.find('/') + 1);  // the place that alone takes it, if there is one
        const auto colon = word.find(':'), equals = word.find('=', std::min(colon, word.size()));
        if (word.substr(0, colon) == argument && equals + 1 < word.size() && equals != std::string_view::npos)
          return word.substr(equals + 1);
      }
  return {};
}

std::optional<double> default_number(std::string_view name, std::string_view argument) {
  const std::string_view word = default_in_row(name, argument);
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace convoy::torch
