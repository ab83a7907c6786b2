#include "formats/keras/catalogue/catalogue.h"

#include "formats/keras/catalogue/write.h"
#include "formats/keras/operation.h"
#include "formats/keras/write/python.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <ranges>

namespace convoy::keras {
namespace {

constexpr std::array families{
    activation_operators,  one_number_operators,   pooling_operators,        padding_operators,
    reshape_operators,     slice_concat_operators, resize_operators,         reduction_operators,
    elementwise_operators, product_operators,      normalization_operators,  convolution_operators,
    merge_operators,       recurrent_operators,    conv_recurrent_operators, cell_operators,
    wrapper_operators,     attention_operators,    encoding_operators};

std::vector<std::string_view> split(std::string_view text, char mark = ' ') {
  std::vector<std::string_view> all;
  for (const auto part : std::views::split(text, mark))
    if (part.begin() != part.end()) all.emplace_back(part.begin(), part.end());
  return all;
}

struct Name {
  std::string_view module, name;  // "nn", "Elu"
  std::string_view kind() const {
    constexpr std::array<std::string_view, 5> others{"layers", "activations", "code", "keras1", "saved"};
    return std::ranges::find(others, module) == others.end() ? "ops" : module;
  }
};
Name name_in(std::string_view full) {
  const auto dot = full.find('.');
  return {full.substr(0, dot), full.substr(dot + 1)};
}

struct Entry {
  const CatalogueRow* row;
  std::string_view usual;
};
using Index = std::map<std::pair<std::string_view, std::string_view>, Entry>;
const Index& index_of_rows() {
  static const Index all = [] {
    Index made;
    for (const auto family : families)
      for (const CatalogueRow& row : family())
        for (const auto full : split(row.names)) {
          const auto names = split(name_in(full).name, '|');
          for (const auto one : names) made.emplace(std::pair(name_in(full).kind(), one), Entry{&row, names.front()});
        }
    return made;
  }();
  return all;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::pair<CatalogueParameter, std::size_t> parameter(const CatalogueRow& row, std::string_view name) {
  const auto all = parameters_of(row);
  const auto found = std::ranges::find(all, name, &CatalogueParameter::name);
  if (found == all.end())
    return {CatalogueParameter{name, {}, true, {}}, nowhere};  // this name of the operator has it not
  return {*found, static_cast<std::size_t>(found - all.begin())};
}

// What nobody asked for would go unread.
void expect_all_read(const Use& use) {
  if (!use.call.call || use.call.failed()) return;
  const auto all = parameters_of(use.row);
  const auto& args = use.call.call->args;
  const auto is_read = [&](std::string_view name) { return std::ranges::find(use.asked, name) != use.asked.end(); };
  for (std::size_t i = 0; i < args.size(); ++i)
    if (!args[i].is_null() && (i >= all.size() || !is_read(all[i].name)))
      use.call.refuse(Fault::Unsupported,
                      "argument " + (i < all.size() ? "'" + std::string(all[i].name) + "'" : std::to_string(i)) +
                          " is not understood");
  for (const auto& [key, value] : use.call.call->kwargs.items())
    if (!value.is_null() && key != "name" && !is_read(key))
      use.call.refuse(Fault::Unsupported, "argument '" + key + "' is not understood");
}

}  // namespace

std::vector<CatalogueParameter> parameters_of(const CatalogueRow& row) {
  std::vector<CatalogueParameter> made;
  for (std::string_view one : split(row.signature)) {
    CatalogueParameter p;
    if (const auto equals = one.find('='); equals != std::string_view::npos) {
      p.optional = true;
      p.otherwise = one.substr(equals + 1);
      one = one.substr(0, equals);
    }
    p.name = one.substr(0, one.find('|'));
    if (p.name.size() < one.size()) p.old = one.substr(p.name.size() + 1);
    made.push_back(p);
  }
  return made;
}

std::string words_of(const CatalogueRow& row, Use::Kind kind) {
  std::string made;
  for (const CatalogueParameter& p : parameters_of(row))
    if (kind != Use::Kind::Layer || p.name != "x") made += (made.empty() ? "" : " ") + std::string(p.name);
  return made;
}

const CatalogueRow* catalogued(std::string_view kind, std::string_view name) {
  const auto found = index_of_rows().find({kind, name});
  return found == index_of_rows().end() ? nullptr : found->second.row;
}

std::string_view usual_name(std::string_view layer) {
  const auto found = index_of_rows().find({"layers", layer});
  return found == index_of_rows().end() ? layer : found->second.usual;
}

const CatalogueRow* catalogued_layer(std::string_view name) {
  const CatalogueRow* row = catalogued("layers", name);
  return row ? row : catalogued("saved", name);
}

const CatalogueRow* catalogued_operation(std::string_view name) {
  const CatalogueRow* row = catalogued("ops", name);
  return row ? row : catalogued("activations", name);
}

std::string_view first_name(const CatalogueRow& row, std::string_view kind) {
  for (const auto full : split(row.names))
    if (name_in(full).kind() == kind) return name_in(full).name;
  return {};
}

Values read_catalogued(Use use) {
  if (use.call.failed()) return {};
  Values made = use.row.read(use);
  if (use.kind == Use::Kind::Operation) expect_all_read(use);
  return made;
}

std::vector<std::string_view> names_of(std::string_view kind) {
  std::vector<std::string_view> made;
  for (const auto& [key, entry] : index_of_rows())
    if (key.first == kind) made.push_back(key.second);
  return made;
}

ValueId activate(Call& call, ValueId y, const std::string& word, std::string_view step) {
  if (call.failed() || word == "linear") return call.failed() ? ValueId{} : y;
  if (const CatalogueRow* row = catalogued("activations", word)) {
    const Values made = read_catalogued({call, *row, Use::Kind::Word, y, step});
    return made.empty() ? ValueId{} : made.front();
  }
  call.refuse(Fault::Unsupported, "activation '" + word + "' is none of Keras that this version carries");
  return {};
}

ValueId Use::x() {
  if (kind == Kind::Word) return value;
  return kind == Kind::Layer ? call.x() : operand("x");
}

std::optional<DType> Use::element_type(std::string_view name) {
  const Json* argument = option(name);
  if (!argument || argument->is_null()) return std::nullopt;
  const std::string said = argument->is_string() ? argument->get<std::string>() : argument->dump();
  for (const DType type : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I16, DType::I32,
                           DType::I64, DType::U8, DType::U16, DType::Bool})
    if (said == convoy::name_of(type)) return type;
  call.refuse(Fault::Unsupported, "casts to '" + said + "', which this version does not carry");
  return std::nullopt;
}

ValueId without_truths(Use& use, ValueId x) {
  Call& call = use.call;
  return call.failed() || call.type(x).dtype != DType::Bool ? x : call.add(Cast{DType::I32}, {x});
}

ValueId Use::operand(std::string_view name) {
  asked.push_back(name);
  return keras::operand(call, name, parameter(row, name).second);
}

Values Use::operands(std::string_view name) {
  asked.push_back(name);
  return keras::operands(call, name, parameter(row, name).second);
}

bool Use::takes(std::string_view name) const { return parameter(row, name).second != nowhere; }

Size Use::space() const {
  const auto digit = call.layer.class_name.find_first_of("123");
  return digit == std::string::npos ? 0 : call.layer.class_name[digit] - '0';
}

std::string Use::called(std::string_view name) const {
  return (kind == Kind::Operation ? "argument '" : "attribute '") + std::string(name) + "'";
}

const Json* Use::option(std::string_view name) {
  const Json* said = sized_option(name);
  if (kind == Kind::Operation && holds_free_size(said))
    call.refuse(Fault::Unsupported, called(name) + " holds a size that is free; give it with --shape");
  return said;
}

const Json* Use::sized_option(std::string_view name) {
  if (kind == Kind::Word) return nullptr;
  const auto [p, place] = parameter(row, name);
  if (place == nowhere) return nullptr;
  asked.push_back(p.name);
  if (kind == Kind::Operation) {
    const Json* said = keras::option(call, name, place);
    // None where one axis is usual means all of them, as they lie one behind the other.
    if (!said && p.name == "axis" && number_in(p.otherwise) && is_said_none(call, name, place))
      call.refuse(Fault::Unsupported, called(name) + " is None, and this version reads one axis");
    return said;
  }
  const Json* argument = call.attrs.raw(name);
  for (const auto old : split(p.old, '|'))
    if (const Json* before = call.attrs.raw(old); !argument) argument = before;
  return argument;
}

double Use::number(std::string_view name) {
  const CatalogueParameter p = parameter(row, name).first;
  return call.attrs.number_of(option(name), name,
                              p.optional ? std::optional(number_in(p.otherwise).value_or(0)) : std::nullopt);
}

bool Use::truth(std::string_view name) {
  const Json* argument = option(name);
  if (!argument) return parameter(row, name).first.otherwise == "True";
  if (!argument->is_boolean() && *argument != 0 && *argument != 1)
    call.refuse(Fault::Format, called(name) + " is not true or false");
  return argument->is_boolean() ? argument->get<bool>() : *argument == 1;
}

Size Use::whole(std::string_view name) {
  const CatalogueParameter p = parameter(row, name).first;
  const auto otherwise = number_in(p.otherwise);
  return call.attrs.integer_of(option(name), name,
                               otherwise ? std::optional(static_cast<Size>(*otherwise)) : std::nullopt);
}

Sizes Use::list(std::string_view name) {
  if (const Json* argument = option(name)) return list_of(call, argument, name);
  const CatalogueParameter p = parameter(row, name).first;
  if (!p.optional) call.refuse(Fault::Format, called(name) + " is missing");
  const auto otherwise = number_in(p.otherwise);
  return otherwise ? Sizes{static_cast<Size>(*otherwise)} : Sizes{};
}

Sizes Use::sizes(std::string_view name, std::size_t count) {
  const auto otherwise = number_in(parameter(row, name).first.otherwise);
  return call.attrs.sizes_of(option(name), name, count,
                             otherwise ? std::optional(static_cast<Size>(*otherwise)) : std::nullopt);
}

std::string Use::word(std::string_view name) {
  const Json* argument = option(name);
  const CatalogueParameter p = parameter(row, name).first;
  if (!argument && !p.optional) call.refuse(Fault::Format, called(name) + " is missing");
  if (!argument) return std::string(p.otherwise);
  if (argument->is_string()) return argument->get<std::string>();
  call.refuse(Fault::Format, called(name) + " is no word");
  return {};
}

Order Use::order() {
  if (kind != Kind::Operation) return call.order();
  const std::string word = option("data_format") ? this->word("data_format") : "channels_last";
  if (word == "channels_first") return Order::ChannelsFirst;
  if (word != "channels_last")
    call.refuse(Fault::Format,
                called("data_format") + " is '" + word + "', expected 'channels_last' or 'channels_first'");
  return Order::ChannelsLast;
}

namespace {

// The arguments that differ from their defaults, and those that are said in any case.
Json differing(const CatalogueRow& row, const Given& given, const auto& always_says) {
  Json arguments = Json::object();
  for (const auto& [word, value] : given) {
    const auto p = parameter(row, word).first;
    const auto usual = number_in(p.otherwise);
    const bool is_usual = p.optional && (usual && value.is_number() ? value == *usual
                                         : value.is_boolean()       ? p.otherwise == (value == true ? "True" : "False")
                                         : value.is_string()        ? value == p.otherwise
                                                                    : p.otherwise.empty() && value.is_null());
    if (!is_usual || always_says(word)) arguments[std::string(word)] = value;
  }
  return arguments;
}

}  // namespace

std::string layer_text(std::string_view name, const Given& given) {
  const std::string_view own = name_in(name).name;
  DocumentLayer layer;
  layer.class_name = own;
  layer.module = "keras.layers";
  const auto is_first = [&](std::string_view word) { return word == given.begin()->first; };
  layer.arguments = differing(*catalogued_layer(own), given, is_first);
  return constructor_text(layer, "");
}

bool takes_data_format(std::string_view class_name, bool is_operation) {
  const CatalogueRow* row = catalogued(is_operation ? "ops" : "layers", class_name);
  return row && std::ranges::any_of(split(row->signature),
                                    [](std::string_view parameter) { return parameter.starts_with("data_format="); });
}

namespace writing {

LayerConfig layer_as(Sink& sink, std::string_view name, const Given& given) {
  const auto [module, own] = name_in(name);
  const CatalogueRow& row = *catalogued(name_in(name).kind(), own);
  Json arguments = differing(row, given, [&](std::string_view word) { return sink.always_says(word); });
  if (module == "activations" && arguments.empty()) {
    LayerConfig config = sink.layer("Activation");
    config.arguments["activation"] = std::string(own);
    return config;
  }
  // A word takes no arguments; the operation does.
  std::string_view full = name;
  if (module == "activations")
    for (const auto one : split(row.names))
      if (name_in(one).kind() == "ops") full = one;
  LayerConfig config = module == "layers" ? sink.layer(std::string(own))
                                          : sink.operation(name_in(full).module, std::string(name_in(full).name));
  config.arguments = std::move(arguments);
  return config;
}

Status write_as(Sink& sink, std::string_view name, const Given& given) {
  return sink.last(layer_as(sink, name, given));
}

std::string_view written_name(Function function) {
  for (const auto family : families)
    for (const CatalogueRow& row : family())
      if (row.function == function) return split(row.names).front();
  return {};
}

std::string_view written_name(BinaryFunction function) {
  for (const auto family : families)
    for (const CatalogueRow& row : family())
      if (row.binary == function) return name_in(split(row.names).front()).name;
  return {};
}

}  // namespace writing
}  // namespace convoy::keras
