#include "ops/recurrent.h"

#include "ops/expect.h"

#include <string>
#include <utility>

namespace convoy {

namespace {

Result<TensorTypes> walked(GateOrder order, Size gates, bool returns_sequence, const Inputs& in) {
  if (auto s = expect_rank("input", in[0], 3); !s) return pass(s);
  if (auto s = expect_rank("kernel", in[1], 2); !s) return pass(s);
  if (auto s = expect_rank("recurrent kernel", in[2], 2); !s) return pass(s);
  const bool keras = order == GateOrder::Keras;
  const Dim units = in[2].shape[keras ? 0 : 1];
  if (!units.known() || *units < 1)
    return fail(Fault::Unsupported, "recurrent kernel has shape " + text_of(in[2].shape) + ", which holds no units");
  const auto width = checked_multiply(gates, *units);
  if (!width) return fail(Fault::Limit, std::to_string(*units) + " units are too many");
  const Dim features = in[0].shape[2], stacked = *width;
  if (auto s = expect_shape("kernel", in[1], keras ? Shape{features, stacked} : Shape{stacked, features}); !s)
    return pass(s);
  if (auto s = expect_shape("recurrent kernel", in[2], keras ? Shape{units, stacked} : Shape{stacked, units}); !s)
    return pass(s);
  const Shape state{in[0].shape[0], units};
  const std::pair<std::string_view, Shape> more[] = {{"bias", {stacked}},
                                                     {"recurrent bias", {stacked}},
                                                     {"first state", state},
                                                     {"first cell", state},
                                                     {"peepholes", {*units * 3}}};
  for (std::size_t i = 3; i < in.count(); ++i)
    if (in.has(i))
      if (auto s = expect_shape(more[i - 3].first, in[i], more[i - 3].second); !s) return pass(s);
  const DType dtype = arithmetic(in[0].dtype);
  if (returns_sequence) return one_type(dtype, {in[0].shape[0], in[0].shape[1], units});
  return one_type(dtype, {in[0].shape[0], units});
}

}  // namespace

Result<TensorTypes> infer(const Lstm& op, const Inputs& in) {
  auto types = walked(op.gates, 4, op.returns_sequence, in);
  if (types && op.returns_cell) types->push_back({types->front().dtype, {in[0].shape[0], types->front().shape.back()}});
  return types;
}
Result<TensorTypes> infer(const Gru& op, const Inputs& in) { return walked(op.gates, 3, op.returns_sequence, in); }
Result<TensorTypes> infer(const SimpleRnn& op, const Inputs& in) {
  return walked(op.gates, 1, op.returns_sequence, in);
}

}  // namespace convoy
