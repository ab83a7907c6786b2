// Operators that are others, one behind another.
#include "formats/free_length.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <numeric>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

Size dim(FunctionCall& call, const char* key, ValueId x, Size otherwise) {
  return axis_of(call, call.attrs.integer(key, otherwise), call.rank(x));
}

// The axes `source` go to the places `destination`; the others keep their order.
Results movedim(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes source = call.attrs.list("source"), destination = call.attrs.list("destination");
  const Size rank = call.rank(x);
  if (source.size() != destination.size()) call.refuse(Fault::Format, "moves axes to another number of places");
  if (call.failed()) return {};
  Sizes order(static_cast<std::size_t>(rank), -1);
  std::vector<char> moved(static_cast<std::size_t>(rank), 0);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const Size from = axis_of(call, source[i], rank), to = axis_of(call, destination[i], rank);
    if (call.failed()) return {};
    order[static_cast<std::size_t>(to)] = from;
    moved[static_cast<std::size_t>(from)] = 1;
  }
  Size next = 0;
  for (Size& axis : order) {
    if (axis >= 0) continue;
    while (next < rank && moved[static_cast<std::size_t>(next)]) ++next;
    axis = next++;
  }
  return {call.add(Transpose{order}, {x})};
}

Results tile(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes times = call.attrs.list("dims");
  const auto rank = static_cast<std::size_t>(call.rank(x));
  if (call.failed()) return {};
  if (times.size() > rank) x = with_axes_in_front(call, x, static_cast<Size>(times.size()));
  const std::size_t first = times.size() < rank ? rank - times.size() : 0;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i] != 1) x = call.add(Tile{static_cast<Size>(first + i), times[i]}, {x});
  return {x};
}

// Parts that end where the next one begins; a place before the last one's begins nothing.
Results cut_at(FunctionCall& call, ValueId x, Size axis, Size size, Sizes places) {
  if (call.failed()) return {};
  Split split{axis, {}};
  Size from = 0;
  places.push_back(size);
  for (const Size place : places) {
    const Size cut = std::clamp<Size>(place < 0 ? place + size : place, 0, size);
    split.sizes.push_back(std::max<Size>(cut - from, 0));
    from = cut;
  }
  return call.add_all(split, {x});
}

// As many parts as asked for, the first ones a cell longer where it does not come out even.
Results tensor_split(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = dim(call, "dim", x, 0), n = known_size(call, x, axis);
  if (call.attrs.has("indices")) return cut_at(call, x, axis, n, call.attrs.list("indices"));
  const Size count = call.attrs.integer("sections");
  if (count < 1 || count > 65536) call.refuse(Fault::Format, "argument 'sections' is " + std::to_string(count));
  if (call.failed()) return {};
  Split split{axis, {}};
  for (Size i = 0; i < count; ++i) split.sizes.push_back(n / count + (i < n % count));
  return call.add_all(split, {x});
}

// Windows of an axis, which become the last axis.
Results windows(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Size axis = dim(call, "dimension", x, 0), size = call.attrs.integer("size"), step = call.attrs.integer("step");
  const Size rank = call.rank(x);
  const Dim whole = call.dim(x, axis);
  if (size < 1 || step < 1 || (whole.known() && size > *whole))
    call.refuse(Fault::Format, "windows of " + std::to_string(size) + " cells by " + std::to_string(step));
  constexpr Size most = Size{1} << 24;
  const Size count = call.failed() || !whole.known() ? 1 : (*whole - size) / step + 1;
  if (checked_multiply(count, size).value_or(most + 1) > most) call.refuse(Fault::Limit, "takes too many cells");
  if (call.failed()) return {};
  Sizes to, order;
  for (Size i = 0; i < rank; ++i) {
    if (i == axis) to.insert(to.end(), {count, size});
    else to.push_back(i < axis ? 0 : call.dim(x, i).size().value_or(-1));
  }
  for (Size i = 0; i <= rank; ++i)
    if (i != axis + 1) order.push_back(i);
  order.push_back(axis + 1);
  if (!whole.known() || std::ranges::count(to, Size{-1}) > 1)
    return {call.add(Transpose{order}, {windows_along(call, x, axis, size, step)})};
  if (step == size) {
    if (count * size != *whole) x = call.add(Slice{.axis = axis, .start = {}, .stop = count * size}, {x});
  } else {
    Take take{axis, {}};
    for (Size i = 0; i < count; ++i)
      for (Size k = 0; k < size; ++k) take.indices.push_back(i * step + k);
    x = call.add(take, {x});
  }
  return {call.add(Transpose{order}, {call.add(Reshape{to}, {x})})};
}

// Rows of the unit matrix.
Results one_hot(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size count = integer_or_default(call, "num_classes");
  if (count < 1 || count > 4096)
    call.refuse(Fault::Unsupported, "argument 'num_classes' is " + std::to_string(count) + ", expected 1 to 4096");
  if (call.failed()) return {};
  std::vector<std::int64_t> table(static_cast<std::size_t>(count * count), 0);
  for (Size i = 0; i < count; ++i) table[static_cast<std::size_t>(i * count + i)] = 1;
  return {call.add(Gather{0}, {call.make_constant("classes", Tensor::of({count, count}, std::move(table))), x})};
}

// One axis each, repeated along those of the others.
Results meshgrid(FunctionCall& call) {
  const auto given = call.several("tensors");
  const bool swaps = call.attrs.word("indexing", "ij") == "xy" && given.size() > 1;
  if (given.size() > 64) call.refuse(Fault::Limit, "makes tensors of " + std::to_string(given.size()) + " axes");
  if (call.failed()) return {};
  const auto place = [&](std::size_t i) { return static_cast<Size>(swaps && i < 2 ? 1 - i : i); };
  Results grids;
  for (std::size_t i = 0; i < given.size() && !call.failed(); ++i) {
    ValueId x = given[i];
    if (call.rank(x) > 1) call.refuse(Fault::Format, "takes lists alone");
    Sizes others;
    for (std::size_t k = 0; k < given.size(); ++k)
      if (k != i || call.rank(x) == 0) others.push_back(place(k));
    std::ranges::sort(others);
    if (!others.empty()) x = call.add(Unsqueeze{others}, {x});
    for (std::size_t k = 0; k < given.size() && !call.failed(); ++k)
      if (k != i && call.rank(given[k]) == 1) {
        const Dim n = call.dim(given[k], 0);
        if (!n.known()) x = call.add(ExpandLike{place(k), 0}, {x, given[k]});
        else if (n != Dim(1)) x = call.add(Tile{place(k), *n}, {x});
      }
    grids.push_back(x);
  }
  return grids;
}

// Quarter turns from the first of two axes toward the second.
Results rot90(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Size turns = ((integer_or_default(call, "k") % 4) + 4) % 4;
  const Sizes dims = call.attrs.list("dims", Sizes{0, 1});
  if (dims.size() != 2) call.refuse(Fault::Format, "argument 'dims' is not two axes");
  if (call.failed()) return {};
  const Size a = axis_of(call, dims[0], call.rank(x)), b = axis_of(call, dims[1], call.rank(x));
  if (call.failed() || turns == 0) return {x};
  const auto flipped = [&](ValueId v, Size axis) {
    return call.add(Slice{.axis = axis, .start = {}, .stop = {}, .step = -1}, {v});
  };
  if (turns == 2) return {flipped(flipped(x, a), b)};
  Sizes order(static_cast<std::size_t>(call.rank(x)));
  std::iota(order.begin(), order.end(), Size{0});
  std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  return {flipped(call.add(Transpose{order}, {x}), turns == 1 ? a : b)};
}

// The angle of the point (x, y), from -pi to pi: atan(y / x), half a turn further where x is negative. A zero has the side of
// its sign, which 1 / 0 shows.
Results angle_of(FunctionCall& call) {
  const Pair both = promoted_to_fractions(call, call.tensor("input"), call.tensor("other"));
  const ValueId y = both.a, x = both.b;
  if (call.failed()) return {};
  const auto number = [&](double value) { return number_constant(call, "number", value, call.type(y).dtype); };
  const ValueId zero = number(0);
  const auto apply = [&](BinaryFunction f, ValueId a, ValueId b) { return call.add(Binary{f}, {a, b}); };
  const auto is_negative = [&](ValueId v) {
    const ValueId turned = call.add(Unary{Function::Reciprocal}, {v});
    return apply(BinaryFunction::Or, apply(BinaryFunction::Less, v, zero), apply(BinaryFunction::Less, turned, zero));
  };
  const auto is_infinite = [&](ValueId v) {
    const bool is_double = call.type(y).dtype == DType::F64;
    const double most = is_double ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    return apply(BinaryFunction::Greater, call.add(Unary{Function::Abs}, {v}), number(most));
  };
  const auto side = [&](ValueId v) { return call.add(Unary{Function::Sign}, {v}); };
  const ValueId slope =  // infinity by infinity is a diagonal
      call.add(Where{}, {apply(BinaryFunction::And, is_infinite(x), is_infinite(y)),
                         apply(BinaryFunction::Multiply, side(x), side(y)), apply(BinaryFunction::Divide, y, x)});
  const ValueId is_nothing = apply(BinaryFunction::And, apply(BinaryFunction::Equal, x, zero),
                                   apply(BinaryFunction::Equal, y, zero));  // 0 / 0 is not taken
  const ValueId angle = call.add(Unary{Function::Atan}, {call.add(Where{}, {is_nothing, y, slope})});
  const ValueId turn = call.add(Where{}, {is_negative(y), number(-std::numbers::pi), number(std::numbers::pi)});
  return {call.add(Where{}, {is_negative(x), apply(BinaryFunction::Add, angle, turn), angle})};
}

// log(exp(a) + exp(b)), the larger taken out; infinities that are alike have no difference.
Results logaddexp(FunctionCall& call) {
  const auto [a, b] = promoted(call, call.tensor("input"), call.tensor("other"));
  if (!call.failed() && !is_floating(call.type(a).dtype)) call.refuse(Fault::Unsupported, "takes no whole numbers");
  if (call.failed()) return {};
  const auto apply = [&](BinaryFunction f, ValueId x, ValueId y) { return call.add(Binary{f}, {x, y}); };
  const ValueId apart = call.add(Unary{Function::Abs}, {apply(BinaryFunction::Subtract, a, b)});
  const ValueId more =
      call.add(Unary{Function::Log1p}, {call.add(Unary{Function::Exp}, {call.add(Affine{-1, 0}, {apart})})});
  const ValueId most = apply(BinaryFunction::Maximum, a, b);
  return {call.add(Where{}, {apply(BinaryFunction::Equal, a, b), call.add(Affine{1, std::numbers::ln2}, {most}),
                             apply(BinaryFunction::Add, most, more)})};
}

// input + value * tensor1 * tensor2, or tensor1 / tensor2.
template <BinaryFunction together>
Results with_share(FunctionCall& call) {
  const double value = number_or_default(call, "value");
  Pair parts = promoted(call, call.tensor("tensor1"), call.tensor("tensor2"));
  const auto [x, a] = promoted(call, call.tensor("input"), parts.a);
  const ValueId b = promoted(call, x, parts.b).b;
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  ValueId part = widened(call, a);
  if (value != 1)
    part = call.add(Binary{BinaryFunction::Multiply},
                    {part, number_constant(call, "value", value, call.type(part).dtype)});
  part = call.add(Binary{together}, {part, widened(call, b)});
  return {cast_to(call, call.add(Binary{BinaryFunction::Add}, {widened(call, x), part}), dtype)};
}

// sqrt(a^2 + b^2) without squares that are too large or too small for the type; infinite beside anything else.
Results hypot(FunctionCall& call) {
  const Pair both = promoted(call, call.tensor("input"), call.tensor("other"));
  const ValueId a = call.add(Unary{Function::Abs}, {both.a}), b = call.add(Unary{Function::Abs}, {both.b});
  if (call.failed()) return {};
  const auto apply = [&](BinaryFunction f, ValueId x, ValueId y) { return call.add(Binary{f}, {x, y}); };
  const DType dtype = call.type(a).dtype;
  if (!is_floating(dtype)) call.refuse(Fault::Unsupported, "takes no whole numbers");
  const ValueId zero = number_constant(call, "zero", 0, dtype),
                endless = number_constant(call, "endless", std::numeric_limits<double>::infinity(), dtype);
  const ValueId most = apply(BinaryFunction::Maximum, a, b), least = apply(BinaryFunction::Minimum, a, b);
  const ValueId part = call.add(Unary{Function::Square}, {apply(BinaryFunction::Divide, least, most)});
  const ValueId length =
      apply(BinaryFunction::Multiply, most, call.add(Unary{Function::Sqrt}, {call.add(Affine{1, 1}, {part})}));
  const auto is = [&](ValueId x, ValueId number) { return apply(BinaryFunction::Equal, x, number); };
  const ValueId finite = call.add(Where{}, {is(most, zero), zero, length});
  return {call.add(Where{}, {apply(BinaryFunction::Or, is(a, endless), is(b, endless)), endless, finite})};
}

constexpr std::array rows_of_composed{
    CatalogueRow{"aten.movedim aten.moveaxis",
                 "int(input:T source:i destination:i) intlist(input:T source:I destination:I)", movedim},
    CatalogueRow{"aten.tile", "input:T dims:I", tile},
    CatalogueRow{"aten.tensor_split",
                 "sections(input:T sections:i dim:i=0 -> L) indices(input:T indices:I dim:i=0 -> L)", tensor_split},
    CatalogueRow{"aten.unfold aten.unfold_copy", "input:T dimension:i size:i step:i", windows},
    CatalogueRow{"aten.one_hot", "input:T num_classes:i=-1", one_hot},
    CatalogueRow{"aten.meshgrid", "default(tensors:L -> L) indexing(tensors:L * indexing:s -> L)", meshgrid},
    CatalogueRow{"aten.rot90", "input:T k:i=1 dims:I=", rot90},
    CatalogueRow{"torch.atan2 torch.arctan2", "input:T other:T", angle_of},
    CatalogueRow{"torch.logaddexp", "input:T other:T", logaddexp},
    CatalogueRow{"torch.addcmul", "input:T tensor1:T tensor2:T * value:n=1", with_share<BinaryFunction::Multiply>},
    CatalogueRow{"torch.addcdiv", "input:T tensor1:T tensor2:T * value:n=1", with_share<BinaryFunction::Divide>},
    CatalogueRow{"torch.hypot", "input:T other:T", hypot},
};

}  // namespace

std::span<const CatalogueRow> composed_operators() { return rows_of_composed; }

}  // namespace convoy::torch
