#include "ops/pooling.h"

#include "ops/expect.h"

#include <cmath>
#include <string>

namespace convoy {

namespace {

Result<TensorTypes> pooled(const Axes& axes, const std::vector<Window>& windows, const std::vector<Padding>& paddings,
                           const Inputs& in) {
  if (axes.space < 1 || axes.space > 16)
    return fail(Fault::Format, "a pool over " + std::to_string(axes.space) + " spatial axes");
  if (auto s = expect_rank("input", in[0], axes.rank()); !s) return pass(s);
  if (auto s = expect_per_axis("windows", windows.size(), axes.space); !s) return pass(s);
  if (auto s = expect_per_axis("padding", paddings.size(), axes.space); !s) return pass(s);
  Shape shape = in[0].shape;
  for (Size i = 0; i < axes.space; ++i) {
    const Window& window = windows[static_cast<std::size_t>(i)];
    const std::string text = "window of " + std::to_string(window.kernel) + " cells, stride " +
                             std::to_string(window.stride) + " and dilation " + std::to_string(window.dilation) +
                             " on spatial axis " + std::to_string(i);
    if (!window.sane()) return fail(Fault::Format, text);
    Dim& size = at(shape, axes.spatial(i));
    if (!size.known()) continue;
    if (empties(paddings[static_cast<std::size_t>(i)], window, *size)) {
      size = 0;
      continue;
    }
    const auto placed = place(paddings[static_cast<std::size_t>(i)], window, *size);
    if (!placed) return fail(Fault::Unsupported, "no window fits: input size " + std::to_string(*size) + ", " + text);
    size = placed->out;
  }
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> with_positions(Positions positions, Result<TensorTypes> types) {
  if (types && positions != Positions::None) types->push_back({DType::I64, types->front().shape});
  return types;
}

}  // namespace

Result<TensorTypes> infer(const MaxPool& pool, const Inputs& in) {
  return with_positions(pool.positions, pooled(pool.axes, pool.windows, pool.paddings, in));
}

Result<TensorTypes> infer(const LpPool& pool, const Inputs& in) {
  if (!std::isfinite(pool.p) || pool.p == 0) return fail(Fault::Format, "p is " + std::to_string(pool.p));
  auto types = pooled(pool.axes, pool.windows, pool.paddings, in);
  if (types) types->front().dtype = arithmetic(types->front().dtype);
  return types;
}

Result<TensorTypes> infer(const AveragePool& pool, const Inputs& in) {
  if (pool.divisor && *pool.divisor == 0) return fail(Fault::Format, "divisor is 0");
  auto types = pooled(pool.axes, pool.windows, pool.paddings, in);
  if (types) types->front().dtype = arithmetic(types->front().dtype);
  return types;
}

Result<TensorTypes> infer(const AdaptivePool& pool, const Inputs& in) {
  if (pool.axes.space < 1 || pool.axes.space > 16)
    return fail(Fault::Format, "a pool over " + std::to_string(pool.axes.space) + " spatial axes");
  if (auto s = expect_rank("input", in[0], pool.axes.rank()); !s) return pass(s);
  if (auto s = expect_per_axis("output size", pool.out.size(), pool.axes.space); !s) return pass(s);
  if (pool.kind == Extreme::Average && pool.positions != Positions::None)
    return fail(Fault::Format, "an average has no positions");
  Shape shape = in[0].shape;
  for (Size i = 0; i < pool.axes.space; ++i) {
    Dim& size = at(shape, pool.axes.spatial(i));
    const Size out = at(pool.out, i);
    if (out < 1 || out > Size{1} << 30) return fail(Fault::Format, "output size is " + std::to_string(out));
    if (size.known() && *size < 1)
      return fail(Fault::Unsupported, "input has shape " + text_of(in[0].shape) + ", which holds nothing to pool");
    size = out;
  }
  return with_positions(pool.positions, one_type(pool.kind == Extreme::Average ? arithmetic(in[0].dtype) : in[0].dtype,
                                                 std::move(shape)));
}

Result<TensorTypes> infer(const MaxUnpool& pool, const Inputs& in) {
  if (pool.axes.space < 1 || pool.axes.space > 16)
    return fail(Fault::Format, "an unpool over " + std::to_string(pool.axes.space) + " spatial axes");
  if (pool.positions == Positions::None) return fail(Fault::Format, "the numbering of the positions is not told");
  if (auto s = expect_rank("input", in[0], pool.axes.rank()); !s) return pass(s);
  if (auto s = expect_shape("positions", in[1], in[0].shape); !s) return pass(s);
  if (auto s = expect_per_axis("output size", pool.out.size(), pool.axes.space); !s) return pass(s);
  Shape shape = in[0].shape;
  for (Size i = 0; i < pool.axes.space; ++i) {
    const Size out = at(pool.out, i);
    if (out < 1 || out > Size{1} << 30) return fail(Fault::Format, "output size is " + std::to_string(out));
    at(shape, pool.axes.spatial(i)) = out;
  }
  return one_type(in[0].dtype, std::move(shape));
}

}  // namespace convoy
