#include "ops/op.h"

#include "ops/axes.h"
#include "ops/declared.h"
#include "ops/expect.h"

#include <array>
#include <concepts>
#include <string>
#include <utility>

namespace convoy {

namespace {

// Trailing inputs beyond the least number may be absent; batch normalization lacks gamma or beta in the middle.
template <class O>
bool may_be_absent(std::size_t i) {
  if constexpr (std::same_as<O, BatchNorm>) return i == 1 || i == 2;
  return i >= O::least_inputs;
}

template <class O>
Status check_inputs(const Inputs& in) {
  if (in.count() < O::least_inputs || in.count() > O::most_inputs) {
    std::string wanted = std::to_string(O::least_inputs);
    if (O::most_inputs != O::least_inputs) wanted += " to " + std::to_string(O::most_inputs);
    return fail(Fault::Format,
                std::string(O::name) + " has " + std::to_string(in.count()) + " inputs, expected " + wanted);
  }
  for (std::size_t i = 0; i < in.count(); ++i)
    if (!in.has(i) && !may_be_absent<O>(i))
      return fail(Fault::Format, "input " + std::to_string(i) + " of " + std::string(O::name) + " is absent");
  return {};
}

template <class O>
Result<TensorTypes> like_input(const O& op, const Inputs& in) {
  const Size rank = in[0].rank();
  if constexpr (requires { op.axis; })
    if (auto s = expect_axis(positive_axis(op.axis, rank), rank); !s) return pass(s);
  if constexpr (requires { op.axes; }) {
    if (op.axes.empty()) return fail(Fault::Format, "axes is empty");
    if (auto s = expect_axes("axes", op.axes, rank); !s) return pass(s);
  }
  return one_type(arithmetic(in[0].dtype), in[0].shape);
}

}  // namespace

// The functions of the families.
template <class O>
struct Infers {};
template <class O>
  requires(O::traits.result == ResultType::Own)
struct Infers<O> {
  friend Result<TensorTypes> infer(const O& op, const Inputs& in);
};

namespace {

// What is done with a value of one kind, wherever it lies.
struct Handling {
  void (*copy)(const void* from, void* to);
  void (*move)(void* from, void* to) noexcept;
  void (*destroy)(void* op) noexcept;
  bool (*equal)(const void* a, const void* b);
};

template <class T>
constexpr Handling handling_of = {
    [](const void* from, void* to) { new (to) T(*static_cast<const T*>(from)); },
    [](void* from, void* to) noexcept { new (to) T(std::move(*static_cast<T*>(from))); },
    [](void* op) noexcept { static_cast<T*>(op)->~T(); },
    [](const void* a, const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); }};

template <class... T>
constexpr std::array<Handling, sizeof...(T)> handlings_of(std::type_identity<std::tuple<T...>>) {
  return {handling_of<T>...};
}

constexpr auto handlings = handlings_of(std::type_identity<AnyOp::tuple>());

}  // namespace

Op::Op(std::size_t kind, void* op) : kind_(kind) { handlings[kind_].move(op, storage_); }
Op::Op() : Op(std::tuple_element_t<0, AnyOp::tuple>()) {}
Op::Op(const Op& other) : kind_(other.kind_) { handlings[kind_].copy(other.storage_, storage_); }
Op::Op(Op&& other) noexcept : kind_(other.kind_) { handlings[kind_].move(other.storage_, storage_); }
Op& Op::operator=(const Op& other) {
  if (this != &other) *this = Op(other);
  return *this;
}
Op& Op::operator=(Op&& other) noexcept {
  if (this == &other) return *this;
  handlings[kind_].destroy(storage_);
  kind_ = other.kind_;
  handlings[kind_].move(other.storage_, storage_);
  return *this;
}
Op::~Op() { handlings[kind_].destroy(storage_); }

bool operator==(const Op& a, const Op& b) {
  return a.kind_ == b.kind_ && handlings[a.kind_].equal(a.storage_, b.storage_);
}

std::string_view name_of(const Op& op) {
  return op.visit([](const auto& o) { return o.name; });
}

const Traits& traits_of(const Op& op) {
  return op.visit([](const auto& o) -> const Traits& { return o.traits; });
}

Result<TensorTypes> infer(const Op& op, const Inputs& in) {
  const Declaring<Inputs, Infers> declared(in);
  auto types = op.visit([&]<class O>(const O& o) -> Result<TensorTypes> {
    if (auto status = check_inputs<O>(in); !status) return pass(status);
    if constexpr (O::traits.result == ResultType::LikeInput) return like_input(o, in);
    else return infer(o, declared);
  });
  if (!types) return types;
  for (const TensorType& type : *types)
    if (auto count = product_of(type.shape); !count) return pass(count);
  return types;
}

}  // namespace convoy
