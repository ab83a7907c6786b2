// keras.ops.einsum.
#include "formats/keras/operation.h"

#include <array>

namespace convoy::keras {
namespace {

Values einsum(Call& call) {
  const Json* argument = option(call, "subscripts", nowhere);
  if (!argument || !argument->is_string() || !call.call || call.call->args.size() != 2) {
    call.refuse(Fault::Unsupported, "is an einsum of something other than two tensors");
    return {};
  }
  std::string equation = argument->get<std::string>();
  std::erase(equation, ' ');
  if (equation.find("...") != std::string::npos) call.refuse(Fault::Unsupported, "leaves axes of its equation out");
  return {call.add(Einsum{equation}, {operand(call, "x1", 0), operand(call, "x2", 1)})};
}

constexpr std::array operation_shape_table{LayerRow{"Einsum", einsum}};

}  // namespace

std::span<const LayerRow> operation_shape_rows() { return operation_shape_table; }

}  // namespace convoy::keras
