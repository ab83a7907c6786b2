#include "port/compared_calls.h"

#include "base/words.h"
#include "containers/python/expression.h"
#include "containers/python/token.h"
#include "formats/source.h"
#include "graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

namespace convoy {
namespace {

enum class Words : std::uint8_t { Torch, Keras };

constexpr std::array torch_modules{"torch", "nn", "F"};
constexpr std::array keras_modules{"keras", "layers", "ops", "tf", "tensorflow", "activations", "K"};
constexpr std::array other_modules{"np", "numpy", "math"};

std::string last_part(const std::string& dotted) { return dotted.substr(dotted.rfind('.') + 1); }
bool is_capital(const std::string& name) { return !name.empty() && std::isupper(static_cast<unsigned char>(name[0])); }

// The first parts of all names, of values (`x.flip(1)`, `F.gelu(2 * x)`) and of modules, but of no layer: F and K are modules.
std::set<std::string> names_in(const std::string& text) {
  constexpr std::array keywords{"True", "False", "None", "and", "or", "not", "if", "else", "lambda", "in", "is"};
  std::set<std::string> names;
  const auto tokens = python::tokens_of(text);
  for (std::size_t i = 0; tokens && i + 1 < tokens->size(); ++i) {
    const python::Token& one = (*tokens)[i];
    const bool is_part = i > 0 && (*tokens)[i - 1].text == ".", is_argument = (*tokens)[i + 1].text == "=";
    const bool is_layer = is_capital(one.text) && one.text.size() > 1;
    if (one.kind == python::TokenKind::Name && !is_part && !is_argument && !is_layer && !is_among(keywords, one.text))
      names.insert(one.text);
  }
  return names;
}

// A layer by itself, or with what it is called on; or a function of one value.
struct AskedCall {
  std::string text;  // of the layer, or of the whole call
  std::string value;  // the name of what a function reads; empty: a layer
  std::vector<Words> words;  // the likeliest first
  bool is_bare = false;  // a layer without the module in front
  Sizes numbers;  // whole ones that it says: channels may be among them
  bool looks_up = false, walks = false;  // a table, for whole numbers; a sequence, and gives its states besides
  bool has_one_axis = false;  // of space, beside channels: "1d"
};

Result<AskedCall> asked(const std::string& text) {
  auto whole = python::parse_expression(text);
  if (!whole) return pass(whole);
  const python::Expression* call = &*whole;
  while (call->kind == python::Kind::Call && call->base[0].kind == python::Kind::Call)
    call = &call->base[0];  // LAYER(x)
  AskedCall made{python::source_of(*call, text)};
  std::set<std::string> names = names_in(text);
  const auto holds = [&](const auto& modules) {
    return std::ranges::any_of(names, [&](const std::string& name) { return is_among(modules, name); });
  };
  if (holds(torch_modules)) made.words = {Words::Torch};
  else if (holds(keras_modules)) made.words = {Words::Keras};
  else made.words = {Words::Keras, Words::Torch};
  const bool is_layer = call->kind == python::Kind::Call && call->base[0].kind == python::Kind::Name &&
                        is_capital(last_part(call->base[0].text));
  if (is_layer) {
    const std::string name = last_part(call->base[0].text);
    made.is_bare = name == call->base[0].text;
    made.looks_up = name == "Embedding";
    made.has_one_axis = name.ends_with("1d") || name.ends_with("1D");
    made.walks = made.words.front() == Words::Torch && (name == "LSTM" || name == "GRU" || name == "RNN");
    constexpr std::size_t most_numbers = 4;  // each is tried with every kind of input
    for (const auto& argument : call->arguments)
      if (argument.value.kind == python::Kind::Integer && argument.value.integer > 0 &&
          made.numbers.size() < most_numbers)
        made.numbers.push_back(argument.value.integer);
    return made;
  }
  made.text = python::source_of(*whole, text);
  std::erase_if(names, [](const std::string& name) {
    return is_among(torch_modules, name) || is_among(keras_modules, name) || is_among(other_modules, name);
  });
  if (names.size() != 1)
    return fail(Fault::Usage, names.empty() ? "'" + text + "' reads no value by name; write x for its input"
                                            : fmt::format("'{}' reads {}; calls of one value are compared", text,
                                                          fmt::join(names, " and ")));
  made.value = *names.begin();
  return made;
}

std::string program_of(const AskedCall& call, Words words, const Shape& shape) {
  const std::string value = call.value.empty() ? "x" : call.value;
  if (words == Words::Torch)
    return fmt::format(
        "import math\nimport numpy as np\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
        "\nclass Layer(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        {}\n    def forward(self, {}):\n        return {}\n",
        call.value.empty() ? std::string("self.layer = ") + (call.is_bare ? "nn." : "") + call.text : "pass", value,
        !call.value.empty() ? call.text
        : call.walks        ? "self.layer(x)[0]"
                            : "self.layer(x)");
  Sizes sizes;
  for (const Dim n : shape) sizes.push_back(n.size().value_or(1));
  return fmt::format(
      "import math\nimport numpy as np\nimport keras\nimport tensorflow as tf\nfrom keras import activations, layers, "
      "ops\n"
      "from keras import backend as K\nfrom keras.layers import *\n\n{0} = keras.Input(batch_shape=({1},), "
      "dtype=\"{3}\")\n"
      "model = keras.Model({0}, {2})\n",
      value, fmt::join(sizes, ", "), call.value.empty() ? "(" + call.text + ")(x)" : call.text,
      call.looks_up ? "int64" : "float32");
}

Result<Graph> model_of(const AskedCall& call, Words words, const Shape& shape) {
  LoadOptions options;
  if (words == Words::Torch) options.shapes[""] = shape;
  if (words == Words::Torch && call.looks_up) options.types[""] = DType::I64;
  return read_source_text(program_of(call, words, shape), words == Words::Torch ? "Layer" : "model", options);
}

// One input, as PyTorch has its axes and as Keras has them.
struct Input {
  Sizes torch, keras;
  const Sizes& in(Words words) const { return words == Words::Torch ? torch : keras; }
};

std::vector<Input> inputs_of(Size c, const Sizes& size, bool has_one_axis) {
  const auto n = [&](std::size_t axis, Size otherwise) { return axis < size.size() ? size[axis] : otherwise; };
  const Size h = n(0, 9), w = n(1, 11), d = n(2, 10);
  std::vector<Input> all{{{2, c, h, w}, {2, h, w, c}},
                         {{2, h, c}, {2, h, c}},
                         {{2, c, h}, {2, h, c}},
                         {{2, c}, {2, c}},
                         {{2, c, h, w, d}, {2, h, w, d, c}}};
  const auto fits = [&](const Input& one) { return size.empty() || one.torch.size() == size.size() + 2; };
  if (has_one_axis) all.erase(all.begin() + 1);  // no sequence whose features lie last in both
  std::erase_if(all, [&](const Input& one) { return !fits(one); });
  return all;
}

// With the channels that are asked for; or else with a number that blocks and groups divide, or with one that a call says.
std::vector<Input> inputs_to_try(const AskedCall& a, const AskedCall& b, const explain::Question& question) {
  Sizes size;
  for (const Dim n : question.size)
    if (n.known()) size.push_back(*n);
  if (a.looks_up || b.looks_up) return {{{2, 7}, {2, 7}}};
  Sizes channels;
  if (question.channels) channels = {*question.channels};
  for (const Sizes& numbers : {Sizes{6, 8, 12}, a.numbers, b.numbers})
    if (!question.channels) channels.insert(channels.end(), numbers.begin(), numbers.end());
  std::vector<Input> all;  // an image with each number of channels, then a sequence with each
  for (const Size c : channels)
    for (Input& input : inputs_of(c, size, a.has_one_axis || b.has_one_axis)) all.push_back(std::move(input));
  std::ranges::stable_sort(all, {}, [](const Input& one) {
    constexpr std::array<int, 6> places{5, 4, 3, 1, 0, 4};  // by how many axes it has
    return places[one.torch.size()];
  });
  return all;
}

// a's shape, and its counterpart where the frameworks differ: channels first there, last here, in what is no sequence.
Input counterpart(const Shape& shape, Words of_a, bool has_one_axis) {
  Sizes own;
  for (const Dim n : shape) own.push_back(n.size().value_or(2));
  Input made{own, own};
  const bool has_channels = own.size() > 3 || (own.size() == 3 && has_one_axis);
  if (has_channels && of_a == Words::Torch)
    std::rotate(made.keras.begin() + 1, made.keras.begin() + 2, made.keras.end());
  if (has_channels && of_a == Words::Keras) std::rotate(made.torch.begin() + 1, made.torch.end() - 1, made.torch.end());
  return made;
}

Shape shape_of(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

struct CallModels {
  Graph a, b;
  Shape input_a, input_b;
};

// The models of the first input that both calls take. Fails: as b does of the likeliest that a takes, or as a does of the
// likeliest.
Result<CallModels> models_of(const AskedCall& a, const AskedCall& b, const explain::Question& question,
                             const std::optional<Shape>& shape) {
  std::optional<Error> trouble, trouble_beside_a;
  for (const Words of_a : a.words)
    for (const Words of_b : b.words)
      for (const Input& input : shape ? std::vector{counterpart(*shape, of_a, a.has_one_axis || b.has_one_axis)}
                                      : inputs_to_try(a, b, question)) {
        const Shape own = shape_of(input.in(of_a)), other = shape_of(input.in(of_b));
        auto one = within("a", model_of(a, of_a, own));
        if (!one) {
          if (!trouble) trouble = std::move(one.error());
          continue;
        }
        auto two = within("b", model_of(b, of_b, other));
        if (two) return CallModels{*std::move(one), *std::move(two), own, other};
        if (!trouble_beside_a) trouble_beside_a = std::move(two.error());
      }
  if (trouble_beside_a) trouble = std::move(trouble_beside_a);
  if (!trouble) return fail(Fault::Usage, "no input has so many sizes; leave --size out, or give --shape");
  // A pasted call is no file, and has no lines.
  trouble->fault = Fault::Usage;
  trouble->where = trouble->where.substr(0, 1);
  trouble->what = trouble->what.substr(0, trouble->what.find('\n'));
  return std::unexpected(*std::move(trouble));
}

Result<CallsByNumbers> by_numbers(const explain::Question& a, const explain::Question& b,
                                  const std::optional<Shape>& shape) {
  const auto first = within("a", asked(a.text));
  if (!first) return std::unexpected(first.error());
  const auto second = within("b", asked(b.text));
  if (!second) return std::unexpected(second.error());
  auto models = models_of(*first, *second, a, shape);
  if (!models) return std::unexpected(models.error());
  diagnose::Options options;
  options.shares_weights = true;
  auto found = diagnose::diagnose(models->a, models->b, options);
  if (!found) return pass(found);
  if (!found->only_a.empty() || !found->only_b.empty())
    return fail(
        Fault::Usage,
        fmt::format("the weights of '{}' do not fit '{}', so that their numbers cannot be compared", a.text, b.text));
  return CallsByNumbers{*std::move(found),       models->input_a,        models->input_b, a.text, b.text,
                        models->a.source_format, models->b.source_format};
}

}  // namespace

bool ComparedCalls::same() const { return by_windows ? by_windows->same() : by_numbers->found.same; }

std::vector<std::string> ComparedCalls::sentences() const {
  std::vector<std::string> all;
  if (by_windows)
    for (const diagnose::CallFinding& one : by_windows->findings) all.push_back(one.says);
  else
    for (const diagnose::Finding& one : by_numbers->found.findings) all.push_back(one.says);
  return all;
}

Result<ComparedCalls> compare_calls(const explain::Question& a, const explain::Question& b,
                                    const std::optional<Shape>& shape) {
  ComparedCalls made;
  std::optional<Error> of_windows;
  if (!shape) {
    auto found = diagnose::compare_calls(a, b);
    if (found) return made.by_windows = *std::move(found), made;
    of_windows = std::move(found.error());
  }
  auto found = by_numbers(a, b, shape);
  if (found) return made.by_numbers = *std::move(found), made;
  if (!of_windows || of_windows->fault == Fault::Unsupported) return std::unexpected(std::move(found.error()));
  // What is wrong with windows is said better of windows, and so is a name that is nearly one of theirs and no other.
  const bool is_unknown = found.error().what.find("not known here") != std::string::npos;
  const bool are_known = diagnose::is_known_call(a.text) && diagnose::is_known_call(b.text);
  return std::unexpected(are_known || is_unknown ? *std::move(of_windows) : std::move(found.error()));
}

}  // namespace convoy
