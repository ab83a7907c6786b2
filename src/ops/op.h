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

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace convoy {

template <class... Families>
struct one_of;
template <class... A>
struct one_of<std::tuple<A...>> {
  using type = std::variant<A...>;
  using tuple = std::tuple<A...>;
  template <class T>  // the place of T among them; their number when it is none of them
  static constexpr std::size_t kind = [] {
    std::size_t place = 0;
    (void)((std::is_same_v<T, A> || (++place, false)) || ...);
    return place;
  }();
};
template <class... A, class... B, class... Rest>
struct one_of<std::tuple<A...>, std::tuple<B...>, Rest...> : one_of<std::tuple<A..., B...>, Rest...> {};

using AnyOp = one_of<Convolution, Pooling, Unfolding, Padded, LinearFamily, Normalization, Activation, Elementwise,
                     ReductionFamily, ReshapeFamily, SliceConcat, ResizeFamily, Recurrent>;

// The calls of a visitor for each kind, from which its number chooses. What std::visit puts between is dear to compile
// for so many.
template <class Visitor, class Place, class Ops>
struct Visits;
template <class Visitor, class Place, class First, class... O>
struct Visits<Visitor, Place, std::tuple<First, O...>> {
  template <class T>
  using Held = std::conditional_t<std::is_const_v<Place>, const T, T>;
  using Answer = std::invoke_result_t<Visitor&, Held<First>&>;
  template <class T>
  static Answer call(Visitor& visitor, Place* held) {
    return visitor(*static_cast<Held<T>*>(held));
  }
  static constexpr Answer (*calls[])(Visitor&, Place*) = {call<First>, call<O>...};
};

// Made, copied and destroyed in op.cpp: a variant of this many kinds is dear to compile wherever that is done.
struct Op : AnyOp::type {
  template <class T>
    requires(AnyOp::kind<T> < std::tuple_size_v<AnyOp::tuple>)
  Op(T op) : Op(AnyOp::kind<T>, &op) {}
  Op();
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();

  friend bool operator==(const Op& a, const Op& b);

  // What the visitor answers to the operator that is held. Its answers to all kinds are of one type.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return Visits<std::remove_reference_t<Visitor>, const void, AnyOp::tuple>::calls[index()](visitor, held());
  }
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) {
    return Visits<std::remove_reference_t<Visitor>, void, AnyOp::tuple>::calls[index()](visitor, held());
  }

 private:
  const void* held() const;
  void* held();
  Op(std::size_t kind, void* op);  // moves out of *op, which is of that kind
};

// The operator's name in the text form.
std::string_view name_of(const Op& op);

// What its struct states. Does not compile for an operator that states nothing.
const Traits& traits_of(const Op& op);

// Checks the number of inputs, then asks the operator.
Result<TensorTypes> infer(const Op& op, const Inputs& in);

}  // namespace convoy
