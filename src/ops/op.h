// The whole vocabulary: a value that holds one operator of all families.
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

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace convoy {

template <class... Families>
struct one_of;
template <class... A>
struct one_of<std::tuple<A...>> {
  using tuple = std::tuple<A...>;
  static constexpr std::size_t size = std::max({sizeof(A)...}), alignment = std::max({alignof(A)...});
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

// Made, copied and destroyed in op.cpp, by a table of the kinds. A std::variant does the same and more, but instantiates for each
// of so many kinds something for each of the others, in every source that includes it.
class Op {
 public:
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

  std::size_t index() const { return kind_; }  // the place of its kind among all
  // The operator itself, which is of the kind that index() says.
  const void* held() const { return storage_; }
  void* held() { return storage_; }

  // What the visitor answers to the operator that is held. Its answers to all kinds are of one type.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return Visits<std::remove_reference_t<Visitor>, const void, AnyOp::tuple>::calls[kind_](visitor, held());
  }
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) {
    return Visits<std::remove_reference_t<Visitor>, void, AnyOp::tuple>::calls[kind_](visitor, held());
  }

 private:
  Op(std::size_t kind, void* op);  // moves out of *op, which is of that kind

  std::size_t kind_;
  alignas(AnyOp::alignment) std::byte storage_[AnyOp::size];
};

// The same questions as of a std::variant.
template <class T>
bool holds_alternative(const Op& op) {
  return op.index() == AnyOp::kind<T>;
}
template <class T>
const T* get_if(const Op* op) {
  return op && holds_alternative<T>(*op) ? static_cast<const T*>(op->held()) : nullptr;
}
template <class T>
T* get_if(Op* op) {
  return op && holds_alternative<T>(*op) ? static_cast<T*>(op->held()) : nullptr;
}
// Of what is known to be a T.
template <class T>
const T& get(const Op& op) {
  return *get_if<T>(&op);
}
template <class T>
T& get(Op& op) {
  return *get_if<T>(&op);
}

// The operator's name in the text form.
std::string_view name_of(const Op& op);

// What its struct states. Does not compile for an operator that states nothing.
const Traits& traits_of(const Op& op);

// Checks the number of inputs, then asks the operator.
Result<TensorTypes> infer(const Op& op, const Inputs& in);

}  // namespace convoy
