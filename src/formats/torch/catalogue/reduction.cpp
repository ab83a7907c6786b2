// Axes folded into one number each, extremes with their places, what is sorted, and running sums: how PyTorch's are
// read, and how ours are written.
#include "formats/free_reshape.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/families.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

template <Reduction reduction>
Results reduce(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (const auto asked = asked_type(call)) x = cast_to(call, x, *asked);
  const Sizes over = reduced_axes(call, x);
  return {call.add(Reduce{reduction, over, call.attrs.truth("keepdim", false)}, {x})};
}

// The smallest and the largest.
Results extremes(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Json* dim = call.attrs.raw("dim");
  const Sizes over =
      dim && !dim->is_null() ? Sizes{axis_of(call, call.attrs.integer("dim"), call.rank(x))} : reduced_axes(call, x);
  const bool keeps = truth_or_default(call, "keepdim");
  return {call.add(Reduce{Reduction::Minimum, over, keeps}, {x}),
          call.add(Reduce{Reduction::Maximum, over, keeps}, {x})};
}

// Whether any, or all, are not 0.
template <Reduction reduction>
Results truth(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes over = reduced_axes(call, x);
  const bool of_bytes = !call.failed() && call.type(x).dtype == DType::U8;  // whose answer is in bytes as well
  if (!call.failed() && call.type(x).dtype != DType::Bool) x = call.add(Cast{DType::Bool}, {x});
  const ValueId y = call.add(Reduce{reduction, over, call.attrs.truth("keepdim", false)}, {x});
  return {of_bytes ? call.add(Cast{DType::U8}, {y}) : y};
}

// What a sum or product adds up: whole numbers are of 64 bits, so that a sum of truths counts them, unless another type is
// said, into which every number is brought first.
ValueId added_up(FunctionCall& call, ValueId x) {
  if (call.failed()) return x;
  const DType dtype = call.type(x).dtype;
  if (const auto asked = asked_type(call)) return cast_to(call, x, *asked);
  return is_floating(dtype) || dtype == DType::I64 ? x : call.add(Cast{DType::I64}, {x});
}

template <Reduction reduction>
Results total(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes over = reduced_axes(call, x);
  return {call.add(Reduce{reduction, over, truth_or_default(call, "keepdim")}, {added_up(call, x)})};
}

// The mean of the squares of what the mean leaves, divided by n - correction, or 0, instead of n.
ValueId variance_of(FunctionCall& call, ValueId x) {
  const Sizes over = reduced_axes(call, x);
  const bool keeps = call.attrs.truth("keepdim", false);
  double correction = call.attrs.number("correction", 1);
  if (call.attrs.has("unbiased")) correction = call.attrs.truth("unbiased") ? 1 : 0;
  const ValueId mean = call.add(Reduce{Reduction::Mean, over, true}, {x});
  const ValueId centred = call.add(Binary{BinaryFunction::Subtract}, {x, mean});
  ValueId y = call.add(Reduce{Reduction::Mean, over, keeps}, {call.add(Unary{Function::Square}, {centred})});
  if (correction == 0) return y;
  double count = 1;
  ValueId free{};  // how many cells the free axes have
  for (const Size axis : over) {
    const Dim size = call.dim(x, axis);
    if (size.known()) {
      count *= static_cast<double>(*size);
      continue;
    }
    const ValueId length = call.add(Cast{call.type(y).dtype}, {length_along(call, x, axis)});
    free = free ? call.add(Binary{BinaryFunction::Multiply}, {free, length}) : length;
  }
  if (!free) return call.add(Affine{count / std::max(count - correction, 0.0), 0}, {y});
  const ValueId cells = call.add(Affine{count, 0}, {free});
  const ValueId left = call.add(Relu{}, {call.add(Affine{1, -correction}, {cells})});
  const ValueId share = call.add(Binary{BinaryFunction::Divide}, {cells, left});
  return call.add(Binary{BinaryFunction::Multiply}, {y, share});
}
Results variance(FunctionCall& call) { return {variance_of(call, call.tensor("input"))}; }
Results deviation(FunctionCall& call) {
  return {call.add(Unary{Function::Sqrt}, {variance_of(call, call.tensor("input"))})};
}
template <bool root>
Results variance_and_mean(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const ValueId y = variance_of(call, x);
  const ValueId mean =
      call.add(Reduce{Reduction::Mean, reduced_axes(call, x), call.attrs.truth("keepdim", false)}, {x});
  return {root ? call.add(Unary{Function::Sqrt}, {y}) : y, mean};
}

Results log_sum_exp(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (!call.failed() && !is_floating(call.type(x).dtype)) x = call.add(Cast{DType::F32}, {x});
  return {call.log_sum_exp(x, reduced_axes(call, x), truth_or_default(call, "keepdim"))};
}

// Without an axis: the place in the whole, counted in row-major order.
template <bool largest>
Results place_of_extreme(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const bool keeps = truth_or_default(call, "keepdim");
  if (call.attrs.has("dim")) {
    const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
    return {call.add(ArgExtreme{largest, axis, keeps, false}, {x})};
  }
  if (keeps) call.refuse(Fault::Unsupported, "keeps axes of an extreme of the whole");
  x = call.add(Reshape{{-1}}, {x});
  return {call.add(ArgExtreme{largest, 0, false, false}, {x})};
}

template <bool largest>
Results extreme_with_place(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  const bool keeps = truth_or_default(call, "keepdim");
  const ValueId value = call.add(Reduce{largest ? Reduction::Maximum : Reduction::Minimum, {axis}, keeps}, {x});
  if (call.results < 2) return {value};
  return {value, call.add(ArgExtreme{largest, axis, keeps, false}, {x})};
}

Results top_k(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, integer_or_default(call, "dim"), call.rank(x)), count = call.attrs.integer("k");
  const bool largest = truth_or_default(call, "largest");
  call.attrs.ignore({"sorted"});
  return call.add_all(TopK{axis, count, largest, false}, {x});
}

// All numbers of an axis in order: the largest n of n.
Results sort(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, integer_or_default(call, "dim"), call.rank(x));
  call.attrs.ignore({"stable"});  // on a processor it always is
  const bool descending = truth_or_default(call, "descending");
  const Dim size = call.dim(x, axis);
  if (!size.known()) call.refuse(Fault::Unsupported, "sorts an axis whose size is free");
  if (call.failed()) return {};
  Results both = call.add_all(TopK{axis, *size, descending}, {x});
  if (call.name == "argsort" && both.size() == 2) return {both[1]};
  return both;
}

template <Reduction reduction>
Results accumulate(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  return {call.add(Accumulate{reduction, axis, false, false}, {added_up(call, x)})};
}

// PyTorch adds whole numbers up in 64 bits unless it is told otherwise, and has no sums of more than a byte without a sign.
struct Total {
  std::string before, type, behind;
};
Total total_of(const Call& c) {
  const DType type = c.type().dtype;
  if (is_floating(type) || type == DType::Bool || type == DType::I64) return {};
  if (is_unsigned(type) && type != DType::U8) return {".long()", "", ".to(" + dtype(type) + ")"};
  return {"", ", dtype=" + dtype(type), ""};
}

Status write_reduce(const Reduce& op, Call& c) {
  if (op.axes.empty()) {
    c.result(c.begin(0));
    return {};
  }
  const Expression x = c.begin(0);
  const std::string axes = op.axes.size() == 1 ? std::to_string(op.axes[0]) : tuple(op.axes);
  const char* keeps = op.keeps_axes ? ", keepdim=True" : "";
  const bool adds = op.reduction == Reduction::Sum || op.reduction == Reduction::Product;
  const Total total = adds ? total_of(c) : Total();
  std::string text = postfix(x) + total.before;
  switch (op.reduction) {
    case Reduction::Mean: text += fmt::format(".mean(dim={}{})", axes, keeps); break;
    case Reduction::Sum: text += fmt::format(".sum(dim={}{}{})", axes, keeps, total.type); break;
    case Reduction::Maximum: text += fmt::format(".amax(dim={}{})", axes, keeps); break;
    case Reduction::Minimum: text += fmt::format(".amin(dim={}{})", axes, keeps); break;
    case Reduction::Product:  // one axis at a time, the last first, so that the others keep their places
      for (const Size axis : op.axes | std::views::reverse)
        text += fmt::format(".prod(dim={}{}{})", axis, keeps, total.type);
      break;
  }
  c.result({text + total.behind, Binds::Atom, x.calls + 1, true, {}});
  return {};
}

// PyTorch answers with the first of equal numbers; the last of them is the first from behind.
Status write_arg_extreme(const ArgExtreme& op, Call& c) {
  const std::string keeps = op.keeps_axis ? ", keepdim=True" : "", function = op.largest ? "argmax" : "argmin";
  const std::string numbers = c.type().dtype == DType::Bool ? ".int()" : "";  // truths have no extremes
  if (!op.last) {
    apply_method(c, fmt::format("{}.{}(dim={}{})", numbers, function, op.axis, keeps));
    return {};
  }
  const std::string x = c.name(0) + numbers;
  c.result({fmt::format("{0}.shape[{1}] - 1 - {0}.flip({1}).{2}(dim={1}{3})", x, op.axis, function, keeps), Binds::Sum,
            3, false, "of equal numbers the last"});
  return {};
}

bool tells_places(const Call& c) {
  const ValueId places = c.node().outputs.back();
  const auto reads = [places](const Node& node) { return std::ranges::find(node.inputs, places) != node.inputs.end(); };
  return std::ranges::any_of(c.graph().nodes, reads) ||
         std::ranges::find(c.graph().outputs, places) != c.graph().outputs.end();
}

// torch.topk names any of equal numbers, torch.sort can be told to keep their order.
Status write_top_k(const TopK& op, Call& c) {
  const Expression x = c.begin(0);
  if (op.stable && tells_places(c)) {
    const std::string sorted =
        fmt::format("torch.sort({}, dim={}{}, stable=True)", x.text, op.axis, op.largest ? ", descending=True" : "");
    const bool all = c.type().shape[static_cast<std::size_t>(op.axis)] == Dim(op.count);
    c.results(all ? sorted : fmt::format("(part.narrow({}, 0, {}) for part in {})", op.axis, op.count, sorted));
    return {};
  }
  c.results(
      fmt::format("torch.topk({}, {}, dim={}{})", x.text, op.count, op.axis, op.largest ? "" : ", largest=False"));
  return {};
}

Status write_accumulate(const Accumulate& op, Call& c) {
  const std::string function = op.reduction == Reduction::Sum ? "cumsum" : "cumprod";
  const std::string turn = op.backwards ? fmt::format(".flip({})", op.axis) : std::string();
  const auto [before, type, behind] = total_of(c);
  if (!op.exclusive) {
    apply_method(c, fmt::format("{}{}.{}(dim={}{}){}{}", before, turn, function, op.axis, type, turn, behind));
    return {};
  }
  // What lies before: the running numbers moved on by one, behind what nothing adds up to.
  const std::string x = c.name(0), begin = op.reduction == Reduction::Sum ? "zeros_like" : "ones_like";
  const std::string numbers = x + before;
  c.result({fmt::format("torch.cat([torch.{0}({1}{2}.narrow({3}, 0, 1)), {1}{2}.{4}(dim={3}{5}).narrow({3}, 0, "
                        "{1}.shape[{3}] - 1)], dim={3}){2}{6}",
                        begin, numbers, turn, op.axis, function, type, behind),
            Binds::Atom, 4, false, "each number counts from the next one on"});
  return {};
}

constexpr std::string_view over_axes_of_truths =
    "default(input:T) dim(input:T dim:i keepdim:b=False) dims(input:T dim:I?= keepdim:b=False)";
constexpr std::string_view spread_parameters =
    "default(input:T unbiased:b=True) dim(input:T dim:I? unbiased:b=True keepdim:b=False) "
    "correction(input:T dim:I?= * correction:n?= keepdim:b=False)";
constexpr std::string_view spread_and_mean =
    "default(input:T unbiased:b=True -> TT) dim(input:T dim:I? unbiased:b=True keepdim:b=False -> TT) "
    "correction(input:T dim:I?= * correction:n?= keepdim:b=False -> TT)";
constexpr std::array rows_of_reductions{
    CatalogueRow{"torch.mean", "default(input:T * dtype:t?=) dim(input:T dim:I? keepdim:b=False * dtype:t?=)",
                 reduce<Reduction::Mean>},
    CatalogueRow{"torch.sum", "dim_IntList(input:T dim:I? keepdim:b=False * dtype:t?=) default(input:T * dtype:t?=)",
                 total<Reduction::Sum>},
    CatalogueRow{"torch.prod", "default(input:T * dtype:t?=) dim_int(input:T dim:i keepdim:b=False * dtype:t?=)",
                 total<Reduction::Product>},
    CatalogueRow{"torch.amax", "input:T dim:I= keepdim:b=False", reduce<Reduction::Maximum>},
    CatalogueRow{"torch.amin", "input:T dim:I= keepdim:b=False", reduce<Reduction::Minimum>},
    CatalogueRow{"torch.aminmax", "input:T * dim:i?= keepdim:b=False -> TT", extremes},
    CatalogueRow{"aten.max", "default(input:T)", reduce<Reduction::Maximum>},
    CatalogueRow{"aten.min", "default(input:T)", reduce<Reduction::Minimum>},
    CatalogueRow{"aten.max", "dim(input:T dim:i keepdim:b=False -> TT)", extreme_with_place<true>},
    CatalogueRow{"aten.min", "dim(input:T dim:i keepdim:b=False -> TT)", extreme_with_place<false>},
    CatalogueRow{"torch.any", over_axes_of_truths, truth<Reduction::Maximum>},
    CatalogueRow{"torch.all", over_axes_of_truths, truth<Reduction::Minimum>},
    CatalogueRow{"torch.argmax", "input:T dim:i?= keepdim:b=False", place_of_extreme<true>},
    CatalogueRow{"torch.argmin", "input:T dim:i?= keepdim:b=False", place_of_extreme<false>},
    CatalogueRow{"torch.topk", "input:T k:i dim:i=-1 largest:b=True sorted:b=True -> TT", top_k},
    CatalogueRow{"torch.sort",
                 "default(input:T dim:i=-1 descending:b=False -> TT) "
                 "stable(input:T * stable:b? dim:i=-1 descending:b=False -> TT)",
                 sort},
    CatalogueRow{"aten.argsort",
                 "default(input:T dim:i=-1 descending:b=False) "
                 "stable(input:T * stable:b dim:i=-1 descending:b=False)",
                 sort},
    CatalogueRow{"torch.cumsum", "input:T dim:i * dtype:t?=", accumulate<Reduction::Sum>},
    CatalogueRow{"torch.cumprod", "input:T dim:i * dtype:t?=", accumulate<Reduction::Product>},
    CatalogueRow{"torch.logsumexp aten.special_logsumexp", "input:T dim:I keepdim:b=False", log_sum_exp},
    CatalogueRow{"torch.var", spread_parameters, variance},
    CatalogueRow{"torch.std", spread_parameters, deviation},
    CatalogueRow{"torch.var_mean", spread_and_mean, variance_and_mean<false>},
    CatalogueRow{"torch.std_mean", spread_and_mean, variance_and_mean<true>},
};

constexpr std::array reduction_table{writes<write_reduce>(), writes<write_arg_extreme>(), writes<write_top_k>(),
                                     writes<write_accumulate>()};
static_assert(decides<ReductionFamily>(reduction_table), "every reduction needs one row: writes<> or lacks<>");

}  // namespace

std::span<const CatalogueRow> reduction_operators() { return rows_of_reductions; }
std::span<const Row> reduction_rows() { return reduction_table; }

}  // namespace convoy::torch
