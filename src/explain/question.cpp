// From the text to the one call in it that is a layer or a function, and on to its framework.
#include "explain/question.h"

#include "explain/arguments.h"
#include "explain/asked.h"
#include "explain/vocabularies.h"

#include <algorithm>
#include <array>

namespace convoy::explain {
namespace {

using python::Expression;
using python::Kind;

// What holds a layer, and what works on its result cell by cell.
constexpr std::array around = {"add",         "append",        "TimeDistributed", "Sequential",
                               "weight_norm", "spectral_norm", "bias_add"};
constexpr std::array activations = {"relu", "relu6", "leaky_relu", "elu", "gelu", "silu", "sigmoid", "tanh"};

std::string last_part(const std::string& dotted) { return dotted.substr(dotted.rfind('.') + 1); }

// The call that is meant: of `Conv2D(8, 3)(x)` the inner one, of `model.add(Conv2D(8, 3))` the argument. `applied` holds
// the call of the layer, if there is one, and `activation` the function that its result goes through.
const Expression* meant(const Expression& e, const Expression** applied, std::string& activation) {
  if (e.kind == Kind::Attribute) return meant(e.base[0], applied, activation);
  if (e.kind != Kind::Call) return nullptr;
  const Expression& callee = e.base[0];
  if (callee.kind == Kind::Call) {
    *applied = &e;
    return meant(callee, applied, activation);
  }
  if (callee.kind == Kind::Attribute) return meant(callee.base[0], applied, activation);
  if (callee.kind != Kind::Name) return nullptr;
  const std::string last = last_part(callee.text);
  const bool activates = std::ranges::find(activations, last) != activations.end();
  if (activates || std::ranges::find(around, last) != around.end())
    for (const auto& argument : e.arguments)
      if (const Expression* inner = meant(argument.value, applied, activation)) {
        if (activates && activation.empty()) activation = last;
        return inner;
      }
  return &e;
}

// onnx.helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3]): the operator's name is an argument.
Result<Asked> node_of(const Expression& call) {
  Asked asked;
  asked.named.framework = Framework::Onnx;
  for (const auto& argument : call.arguments) {
    if (argument.keyword.empty() || argument.keyword == "op_type") {
      if (argument.value.kind == Kind::String && asked.named.function.empty())
        asked.named.function = argument.value.text;
      else if (argument.value.kind == Kind::List) asked.results = std::max<std::size_t>(1, argument.value.items.size());
      continue;
    }
    if (argument.keyword != "inputs" && argument.keyword != "outputs" && argument.keyword != "name")
      asked.given.push_back(argument);
  }
  if (asked.named.function.empty() || !parameters_of(asked.named))
    return fail(Fault::Usage, "operator '" + asked.named.function + "' has no windows that are known here");
  return asked;
}

Result<Asked> asked_of(const Expression& whole) {
  const Expression* applied = nullptr;
  std::string activation;
  const Expression* call = meant(whole, &applied, activation);
  if (!call && whole.kind == Kind::Name) {
    auto named = resolve(whole.text, {});
    if (!named) return pass(named);
    return fail(Fault::Usage, "'" + whole.text + "' is a name; write the layer with its arguments, as " + whole.text +
                                  "(...) in a program");
  }
  if (!call && whole.kind == Kind::Subscript)
    return fail(Fault::Usage, "the slice behind the call is not read; write the call alone");
  if (!call) return fail(Fault::Usage, "this is no layer and no call of a function");
  const std::string& name = call->base[0].text;
  if (last_part(name) == "make_node") return node_of(*call);
  auto named = resolve(name, call->arguments);
  if (!named) return pass(named);
  Asked asked{std::move(*named), call->arguments, {}};
  asked.activation = std::move(activation);
  if (applied)
    for (const auto& argument : applied->arguments) {
      if (argument.keyword == "output_size") asked.given.push_back(argument);
      if (argument.value.kind == Kind::Call) asked.inner = argument.value;
    }
  return asked;
}

// The activation that a layer has as an argument; 'linear' and None are none.
std::string activation_of(const Arguments& arguments) {
  const Expression* said = arguments.find("activation");
  if (!said || said->kind == Kind::None || said->text == "linear") return {};
  return said->kind == Kind::String ? said->text : last_part(arguments.source(*said));
}

// What is said about padding, for the headline.
void note_words(Spoken& spoken, const Arguments& arguments) {
  for (const std::string_view word :
       {"padding", "border_mode", "auto_pad", "pads", "output_padding", "output_shape", "output_size", "padding_mode",
        "ceil_mode", "count_include_pad", "divisor_override"})
    if (const Expression* value = arguments.find(word); value && value->kind != Kind::None)
      spoken.words.emplace_back(word, value->kind == Kind::String ? value->text : arguments.source(*value));
  if (spoken.words.empty() && spoken.framework == Framework::Keras) spoken.words.emplace_back("padding", "valid");
  if (spoken.words.empty() && spoken.framework == Framework::Torch) spoken.words.emplace_back("padding", "0");
}

// A pasted call is no file: what is wrong with its numbers is wrong with the command line.
Error of_command_line(Error e) {
  if (e.fault == Fault::Format || is_too_much(e.fault)) e.fault = Fault::Usage;
  return e;
}

std::string excerpt(const std::string& text) {
  std::string s = text.substr(0, 60);
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return "'" + s + (text.size() > 60 ? "...'" : "'");
}

Result<Spoken> read(const Question& question) {
  auto whole = python::parse_expression(question.text);
  if (!whole) {
    whole.error().where += " of " + excerpt(question.text);
    return pass(whole);
  }
  auto asked = asked_of(*whole);
  if (!asked) return pass(asked);
  const std::string place = last_part(asked->named.function);
  if (asked->named.framework == Framework::Torch && asked->given.size() && asked->given.back().keyword == "output_size")
    asked->output_size = asked->given.back().value, asked->given.pop_back();
  auto arguments = within(place, Arguments::bind(asked->named, asked->given, question.text));
  if (!arguments) return pass(arguments);
  asked->arguments = std::move(*arguments);
  const Framework framework = asked->named.framework;
  auto* const ask = framework == Framework::Torch        ? ask_torch
                    : framework == Framework::TensorFlow ? ask_tensorflow
                    : framework == Framework::Onnx       ? ask_onnx
                                                         : ask_keras;
  Result<Spoken> spoken = within(place, ask(*asked, question));
  if (!spoken) return spoken;
  if (asked->inner) note_inner(*asked, *asked->inner, *spoken);
  spoken->framework = asked->named.framework;
  spoken->function = asked->named.function;
  spoken->says_bias = spoken->framework == Framework::Keras || place[0] == 'C';
  if (spoken->framework == Framework::Onnx || spoken->framework == Framework::TensorFlow) spoken->says_bias = false;
  spoken->activation = asked->activation.empty() ? activation_of(asked->arguments) : asked->activation;
  note_words(*spoken, asked->arguments);
  return spoken;
}

}  // namespace

Result<Spoken> read_question(const Question& question) {
  auto spoken = read(question);
  if (!spoken) spoken.error() = of_command_line(std::move(spoken.error()));
  return spoken;
}

bool is_known(const std::string& text) {
  const auto whole = python::parse_expression(text);
  return whole && asked_of(*whole);
}

}  // namespace convoy::explain
