#include "ops/op.h"

#include "ops/axes.h"
#include "ops/declared.h"
#include "ops/expect.h"

#include <concepts>
#include <string>

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

Op::Op(std::size_t kind, void* op) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto take = [&]<class T>(std::type_identity<T>) { emplace<T>(std::move(*static_cast<T*>(op))); };
    (void)((kind == i && (take(std::type_identity<std::tuple_element_t<i, AnyOp::tuple>>()), true)) || ...);
  }(std::make_index_sequence<std::tuple_size_v<AnyOp::tuple>>());
}
Op::Op() = default;
Op::Op(const Op&) = default;
Op::Op(Op&&) noexcept = default;
Op& Op::operator=(const Op&) = default;
Op& Op::operator=(Op&&) noexcept = default;
Op::~Op() = default;

bool operator==(const Op& a, const Op& b) {
  return static_cast<const AnyOp::type&>(a) == static_cast<const AnyOp::type&>(b);
}

const void* Op::held() const {
  return std::visit([](const auto& o) -> const void* { return &o; }, static_cast<const AnyOp::type&>(*this));
}
void* Op::held() { return const_cast<void*>(std::as_const(*this).held()); }

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
