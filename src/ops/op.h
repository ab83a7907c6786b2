// The whole vocabulary: one variant over the operators of all families.
#pragma once
#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/normalization.h"
#include "ops/pad.h"
#include "ops/pooling.h"
#include "ops/recurrent.h"
#include "ops/reduction.h"
#include "ops/reshape.h"
#include "ops/resize.h"
#include "ops/slice_concat.h"
#include "ops/unfold.h"

#include <variant>

namespace convoy {

template <class... Families>
struct one_of;
template <class... A>
struct one_of<std::tuple<A...>> {
  using type = std::variant<A...>;
};
template <class... A, class... B, class... Rest>
struct one_of<std::tuple<A...>, std::tuple<B...>, Rest...> : one_of<std::tuple<A..., B...>, Rest...> {};

using Op = one_of<Convolution, Pooling, Unfolding, Padded, LinearFamily, Normalization, Activation, Elementwise,
                  ReductionFamily, ReshapeFamily, SliceConcat, ResizeFamily, Recurrent>::type;

inline std::string_view name_of(const Op& op) {
  return std::visit([](const auto& o) { return o.name; }, op);
}

// Checks the number of inputs, then asks the operator.
Result<Facts> infer(const Op& op, const Inputs& in);

}  // namespace convoy
