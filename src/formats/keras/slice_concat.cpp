// Concatenate.
#include "formats/keras/call.h"

#include <array>

namespace convoy::keras {
namespace {

Values concatenate(Call& call) {
  const Size argument = call.attrs.integer("axis", -1);
  if (call.inputs.empty()) {
    call.refuse(Fault::Format, "joins no inputs");
    return {};
  }
  return {call.add(Concat{call.axis(argument, call.rank(call.inputs.front()))}, call.inputs)};
}

constexpr std::array slice_concat_table{LayerRow{"Concatenate", concatenate}};

}  // namespace

std::span<const LayerRow> slice_concat_rows() { return slice_concat_table; }

}  // namespace convoy::keras
