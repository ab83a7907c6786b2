// Means, sums and extremes over axes, running sums, places of extremes. Source: keras/src/ops/numpy.py and math.py of Keras
// 3.15.
#include "formats/keras/catalogue/write.h"
#include "formats/keras/operation.h"
#include "formats/whole_arithmetic.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

// `axis`, or all of them where it is left out.
Sizes reduced_axes(Use& use, ValueId x) {
  Sizes axes = use.list("axis");
  if (!use.option("axis"))
    for (Size i = 0; i < use.call.rank(x); ++i) axes.push_back(i);
  return use.call.axes(axes, use.call.rank(x));
}

// The one axis that has to be given.
Size single_axis(Use& use, ValueId x, const char* what) {
  if (!use.option("axis"))
    use.call.refuse(Fault::Unsupported, std::string(what) + " without an axis, which flattens first");
  return use.call.failed() ? 0 : use.call.axis(use.whole("axis"), use.call.rank(x));
}

// Sums and products of narrow whole numbers are of 32 bits, as numpy widens them.
ValueId widened(Call& call, ValueId x) {
  switch (call.type(x).dtype) {
    case DType::Bool:
    case DType::I8:
    case DType::I16: return call.add(Cast{DType::I32}, {x});
    case DType::U8:
    case DType::U16: return call.add(Cast{DType::U32}, {x});
    default: return x;
  }
}

// Every number is then what it was; a mean is no whole number.
Values over_no_axis(Use& use, ValueId x, bool is_mean) {
  if (use.call.failed()) return {};
  const bool makes_real = is_mean && !is_floating(use.call.type(x).dtype);
  return use.add(makes_real ? Op(Cast{DType::F32}) : Op(Identity{}), {x});
}

template <Reduction reduction>
Values reduce(Use& use) {
  ValueId x = use.operand("x");
  if (!use.call.failed() && (reduction == Reduction::Sum || reduction == Reduction::Product)) x = widened(use.call, x);
  constexpr bool is_extreme = reduction == Reduction::Maximum || reduction == Reduction::Minimum;
  if (const Json* initial = is_extreme ? use.option("initial") : nullptr; initial && !initial->is_null())
    use.call.refuse(Fault::Unsupported, use.called("initial") + " is " + initial->dump() + ", expected null");
  const Sizes axes = reduced_axes(use, x);
  const bool keeps = use.truth("keepdims");
  if (axes.empty()) return over_no_axis(use, x, reduction == Reduction::Mean);
  return use.add(Reduce{reduction, axes, keeps}, {x});
}

// TensorFlow's.
Values mean_of_whole(Use& use) {
  const ValueId x = use.operand("x");
  const Sizes axes = reduced_axes(use, x);
  const bool keeps = use.truth("keepdims");
  return use.call.failed() ? Values{} : Values{convoy::mean_of_whole(use.call, x, axes, keeps)};
}

// Places are of 32 bits, whatever they are places in.
template <bool largest>
Values arg_extreme(Use& use) {
  const ValueId x = use.operand("x");
  const Size axis = single_axis(use, x, "looks for an extreme");
  return use.add(Cast{DType::I32}, use.add(ArgExtreme{largest, axis, use.truth("keepdims"), false}, {x}));
}

Values top_k(Use& use) {
  const ValueId x = use.operand("x");
  if (!use.truth("sorted")) use.call.refuse(Fault::Unsupported, "leaves the largest few without an order");
  const Values both = use.call.add_all(TopK{use.call.rank(x) - 1, use.whole("k"), true}, {x});
  return use.call.failed() ? Values{} : Values{both[0], use.call.add(Cast{DType::I32}, {both[1]})};
}

// As the argument 'dtype' says, where there is one.
ValueId in_type_asked(Use& use, ValueId x) {
  const auto asked = use.element_type("dtype");
  return !asked || use.call.failed() || use.call.type(x).dtype == *asked ? x : use.call.add(Cast{*asked}, {x});
}

template <Reduction reduction>
Values accumulate(Use& use) {
  const ValueId x = without_truths(use, in_type_asked(use, use.operand("x")));
  const Size axis = single_axis(use, x, "sums");
  return use.add(Accumulate{reduction, axis, false, false}, {x});
}

constexpr std::array rows_of_reductions{
    CatalogueRow{"numpy.Mean code.reduce_mean", "x axis= keepdims=False", reduce<Reduction::Mean>},
    CatalogueRow{"core.ReduceMean", "x axis= keepdims=False", mean_of_whole},
    CatalogueRow{"numpy.Sum code.reduce_sum", "x axis= keepdims=False", reduce<Reduction::Sum>},
    CatalogueRow{"numpy.Max numpy.Amax code.reduce_max code.amax",
                 "x axis= keepdims=False initial=", reduce<Reduction::Maximum>},
    CatalogueRow{"numpy.Min numpy.Amin code.reduce_min code.amin",
                 "x axis= keepdims=False initial=", reduce<Reduction::Minimum>},
    CatalogueRow{"numpy.Prod", "x axis= keepdims=False dtype=", reduce<Reduction::Product>},
    CatalogueRow{"numpy.Argmax", "x axis= keepdims=False", arg_extreme<true>},
    CatalogueRow{"numpy.Argmin", "x axis= keepdims=False", arg_extreme<false>},
    CatalogueRow{"math.TopK", "x k sorted=True", top_k},
    CatalogueRow{"numpy.Cumsum", "x axis= dtype=", accumulate<Reduction::Sum>},
    CatalogueRow{"numpy.Cumprod", "x axis= dtype=", accumulate<Reduction::Product>},
};

}  // namespace

std::span<const CatalogueRow> reduction_operators() { return rows_of_reductions; }

namespace writing {
namespace {

std::string name_of_function(Reduction reduction) {
  switch (reduction) {
    case Reduction::Mean: return "numpy.Mean";
    case Reduction::Sum: return "numpy.Sum";
    case Reduction::Maximum: return "numpy.Max";
    case Reduction::Minimum: return "numpy.Min";
    case Reduction::Product: return "numpy.Prod";
  }
  std::unreachable();
}

Status write_reduce(const Reduce& op, Sink& sink) {
  const bool pool = op.reduction == Reduction::Mean || op.reduction == Reduction::Maximum;
  if (pool && over_space(op.axes, sink.rank())) {
    const char* stem = op.reduction == Reduction::Mean ? "layers.GlobalAveragePooling" : "layers.GlobalMaxPooling";
    return write_as(sink, class_of(stem, sink.rank() - 2), {{"keepdims", op.keeps_axes}});
  }
  return write_as(sink, name_of_function(op.reduction), {{"axis", one_or_list(op.axes)}, {"keepdims", op.keeps_axes}});
}

// Keras gives places as numbers of 32 bits. Whether the graph makes such of them by itself.
bool is_read_as_32_bits(const Sink& sink, std::size_t result) {
  const ValueId places = sink.node().outputs[result];
  const auto among = [&](const std::vector<ValueId>& all) { return std::ranges::find(all, places) != all.end(); };
  return !among(sink.graph().outputs) && std::ranges::all_of(sink.graph().nodes, [&](const Node& reader) {
    return !among(reader.inputs) || reader.op == Op(Cast{DType::I32});
  });
}

LayerConfig as_64_bits(Sink& sink, Argument places) {
  LayerConfig cast = sink.operation("core", "Cast");
  cast.args = {std::move(places)};
  cast.arguments["dtype"] = std::string(convoy::name_of(DType::I64));
  return cast;
}

Status write_arg_extreme(const ArgExtreme& op, Sink& sink) {
  if (op.last) return sink.refused("the last place of an extreme");
  LayerConfig found =
      layer_as(sink, op.largest ? "numpy.Argmax" : "numpy.Argmin", {{"axis", op.axis}, {"keepdims", op.keeps_axis}});
  const TensorType places{DType::I32, sink.result_type().shape};
  if (is_read_as_32_bits(sink, 0)) return sink.last(std::move(found), {{places}, {0}});
  return sink.last(as_64_bits(sink, sink.step(std::move(found), "place", places)));
}

Status write_top_k(const TopK& op, Sink& sink) {
  if (!op.largest || op.axis != sink.rank() - 1)
    return sink.refused("the largest few along another axis than the last, or the smallest few");
  const TensorTypes gives{sink.result_type(0), {DType::I32, sink.result_type(0).shape}};
  if (auto s = sink.last(layer_as(sink, "math.TopK", {{"k", op.count}}), {gives, {0, 1}}); !s) return s;
  if (sink.is_read(1) && !is_read_as_32_bits(sink, 1)) sink.give_instead(1, "places", as_64_bits(sink, sink.given(1)));
  return {};
}

Status write_accumulate(const Accumulate& op, Sink& sink) {
  if (op.exclusive || op.backwards) return sink.refused("a running sum from the end, or without the number itself");
  return write_as(sink, op.reduction == Reduction::Sum ? "numpy.Cumsum" : "numpy.Cumprod", {{"axis", op.axis}});
}

constexpr std::array reduction_table{writes<write_reduce>(), writes<write_arg_extreme>(), writes<write_top_k>(),
                                     writes<write_accumulate>()};
static_assert(decides<ReductionFamily>(reduction_table));

}  // namespace

bool over_space(const Sizes& axes, Size rank) {
  if (rank < 3 || rank > 5 || static_cast<Size>(axes.size()) != rank - 2) return false;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<Size>(i) + 1) return false;
  return true;
}

std::span<const Row> reduction_rows() { return reduction_table; }

}  // namespace writing
}  // namespace convoy::keras
