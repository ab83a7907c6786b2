// Matrices: torch.nn.functional.linear and its layer.
#include "formats/torch/functions/arguments.h"
#include "formats/torch/functions/functions.h"
#include "ops/expect.h"

#include <array>

namespace convoy::torch {
namespace {

// A bias of another shape than [O] stretches, as long as the result does not.
ValueId plus_bias(FunctionCall& call, ValueId y, ValueId bias) {
  if (!bias || call.failed()) return y;
  const auto shape = broadcast(call.shape(y), call.shape(bias));
  if (!shape || *shape != call.shape(y))
    call.refuse(Fault::Format, "bias has shape " + text_of(call.shape(bias)) + ", which does not stretch to " +
                                   text_of(call.shape(y)));
  return call.add(Binary{BinaryFunction::Add}, {y, bias});
}

// A weight [I] gives one number and takes the axis away.
std::vector<ValueId> linear(FunctionCall& call) {
  const ValueId x = call.tensor("input"), weight = call.tensor("weight"), bias = call.optional("bias");
  if (call.failed()) return {};
  if (call.rank(weight) == 1) {
    if (bias && call.rank(bias) != 0)
      call.refuse(Fault::Format, "bias has shape " + text_of(call.shape(bias)) +
                                     ", expected a single number beside a "
                                     "weight of rank 1");
    const ValueId row = call.add(Unsqueeze{{0}}, {weight});
    const ValueId y = call.add(Linear{LinearOrder::OutIn}, {x, row});
    return {plus_bias(call, call.add(Squeeze{{call.rank(x) - 1}}, {y}), bias)};
  }
  if (bias && call.shape(bias) != Shape{call.dim(weight, 0)})
    return {plus_bias(call, call.add(Linear{LinearOrder::OutIn}, {x, weight}), bias)};
  return {call.add(Linear{LinearOrder::OutIn}, {x, weight, bias})};
}

std::vector<ValueId> linear_layer(FunctionCall& call) {
  const Size in = whole_number(call, "in_features"), out = whole_number(call, "out_features");
  const bool biased = call.attrs.truth("bias", true);
  call.attrs.ignore({"device", "dtype"});
  const ValueId weight = call.tensor("weight"), bias = call.optional("bias");
  if (call.failed()) return {};
  if (call.shape(weight) != Shape{out, in})
    call.refuse(Fault::Format,
                "weight has shape " + text_of(call.shape(weight)) + ", expected " + text_of(Shape{out, in}));
  if (biased != static_cast<bool>(bias))
    call.refuse(Fault::Format, biased ? "the bias is missing" : "a bias is given, but argument 'bias' is false");
  return linear(call);
}

constexpr std::array linear_table{FunctionRow{"linear", "input weight bias", linear},
                                  FunctionRow{"Linear", "in_features out_features bias device dtype", linear_layer}};

}  // namespace

std::span<const FunctionRow> linear_functions() { return linear_table; }

}  // namespace convoy::torch
