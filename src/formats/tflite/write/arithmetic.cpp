// Arithmetic, products, reductions and norms: what computes numbers of several.
#include "formats/tflite/write/sink.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace convoy::tflite {
namespace {

// ---- two numbers ------------------------------------------------------------------------------------------------------

std::string_view word_of(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::Add: return "ADD";
    case BinaryFunction::Subtract: return "SUB";
    case BinaryFunction::Multiply: return "MUL";
    case BinaryFunction::Divide: return "DIV";
    case BinaryFunction::Maximum: return "MAXIMUM";
    case BinaryFunction::Minimum: return "MINIMUM";
    case BinaryFunction::Power: return "POW";
    case BinaryFunction::Modulo: return "FLOOR_MOD";
    case BinaryFunction::FloorDivide: return "FLOOR_DIV";
    case BinaryFunction::Equal: return "EQUAL";
    case BinaryFunction::NotEqual: return "NOT_EQUAL";
    case BinaryFunction::Less: return "LESS";
    case BinaryFunction::LessOrEqual: return "LESS_EQUAL";
    case BinaryFunction::Greater: return "GREATER";
    case BinaryFunction::GreaterOrEqual: return "GREATER_EQUAL";
    case BinaryFunction::And: return "LOGICAL_AND";
    case BinaryFunction::Or: return "LOGICAL_OR";
    case BinaryFunction::BitXor: return "BITWISE_XOR";
    default: return {};
  }
}

// Operand i with the shape of the result. Fails: an axis that stretches has no known size.
Result<Place> stretched(Sink& sink, std::size_t i) {
  const Shape& to = sink.result_type().shape;
  TensorType type = sink.type(i);
  Place x = sink.input(i);
  const std::size_t missing = to.size() - type.shape.size();
  if (missing > 0) {
    Sizes places(missing, 0);
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) places.push_back(static_cast<Size>(axis));
    type.shape.insert(type.shape.begin(), missing, Dim(1));
    x = sink.step("RESHAPE", {x, sink.sizes(type.shape, x, places)}, type);
  }
  Sizes times(to.size(), 1);
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    if (type.shape[axis] == to[axis]) continue;
    if (!to[axis].known()) return sink.refused("stretching over so many axes to a size that is not known");
    times[axis] = *to[axis];
    type.shape[axis] = to[axis];
  }
  const bool stretches = std::ranges::any_of(times, [](Size n) { return n != 1; });
  return stretches ? sink.step("TILE", {x, sink.numbers(times)}, type) : x;
}

Status write_binary(const Binary& op, Sink& sink) {
  const std::string_view word = word_of(op.function);
  if (word.empty()) return sink.refused("this function of two numbers");
  const DType a = sink.type(0).dtype, b = sink.type(1).dtype;
  const bool logic = op.function == BinaryFunction::And || op.function == BinaryFunction::Or;
  const bool tells = op.function == BinaryFunction::Equal || op.function == BinaryFunction::NotEqual;
  const bool bits = op.function == BinaryFunction::BitXor;
  const bool numbers = bits ? a == DType::I32 : a == DType::F32 || a == DType::I32 || a == DType::I64;
  if (a != b || (logic ? a != DType::Bool : !numbers && !(tells && a == DType::Bool)))
    return sink.refused(std::string(word) + " of " + std::string(name_of(a)) + " and " + std::string(name_of(b)));
  if (a != DType::F32 && (op.function == BinaryFunction::Divide || op.function == BinaryFunction::Power))
    return sink.refused("fractions of whole numbers");
  Options options;
  if (const Size fused = sink.activation()) options.push_back({"fused_activation_function", fused});
  if (op.function == BinaryFunction::Maximum && a == DType::F32)
    for (const std::size_t i : {0U, 1U}) {
      const Tensor* one = sink.constant(i);
      if (!one || one->count() != 1) continue;
      auto x = stretched(sink, 1 - i);  // where the number has more axes
      if (!x) return pass(x);
      return sink.last_at_least(*x, one->doubles().front()), Status();
    }
  sink.last(word, {sink.input(0), sink.input(1)}, std::move(options));
  return {};
}

Status write_where(const Where&, Sink& sink) {
  if (sink.type(0).dtype != DType::Bool || sink.type(1).dtype != sink.type(2).dtype)
    return sink.refused("a choice between unlike types");
  sink.last("SELECT_V2", {sink.input(0), sink.input(1), sink.input(2)});
  return {};
}

Status write_affine(const Affine& op, Sink& sink) {
  if (sink.type().dtype != DType::F32)
    return sink.refused("an affine function of " + std::string(name_of(sink.type().dtype)));
  const Place x = sink.input();
  if (op.offset == 0) return sink.last("MUL", {x, sink.number(op.scale)}), Status();
  sink.last("ADD", {op.scale == 1 ? x : sink.like("MUL", {x, sink.number(op.scale)}), sink.number(op.offset)});
  return {};
}

Status write_dropout(const Dropout&, Sink& sink) { return sink.pass_on(), Status(); }
Status write_identity(const Identity&, Sink& sink) { return sink.pass_on(), Status(); }
Status write_cast(const Cast& op, Sink& sink) {
  if (op.to == sink.type().dtype) return sink.pass_on(), Status();
  sink.last("CAST", {sink.input()},
            {{"in_data_type", sink.code_of(sink.type().dtype)}, {"out_data_type", sink.code_of(op.to)}});
  return {};
}

constexpr std::array elementwise_writers{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                                         writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(elementwise_writers));

// ---- products ---------------------------------------------------------------------------------------------------------

Status write_linear(const Linear& op, Sink& sink) {
  if (sink.type().dtype != DType::F32) return sink.refused("a product of " + std::string(name_of(sink.type().dtype)));
  const Tensor* kernel = sink.constant(1);
  if (!kernel) return sink.refused("a kernel that the model computes");
  if (op.order != LinearOrder::InOut) return sink.broken("a matrix in another order");
  Options options;
  if (const Size fused = sink.activation()) options.push_back({"fused_activation_function", fused});
  int version = sink.has(2) ? 1 : 6;
  if (sink.rank() != 2) {
    options.push_back({"keep_num_dims", Size{1}});
    version = std::max(version, 5);
  }
  sink.last("FULLY_CONNECTED", {sink.input(), sink.stored(1, kernel->permuted(Sizes{1, 0})), sink.input(2)},
            std::move(options), version);
  return {};
}

Status write_matmul(const MatMul&, Sink& sink) {
  if (sink.type(0).dtype != DType::F32 || sink.type(1).dtype != DType::F32)
    return sink.refused("a product of " + std::string(name_of(sink.type().dtype)));
  if (sink.rank(0) < 2 || sink.rank(1) < 2) return sink.refused("a product with a vector");
  sink.last("BATCH_MATMUL", {sink.input(0), sink.input(1)});
  return {};
}

Status write_embedding(const Embedding&, Sink& sink) {
  sink.last("GATHER", {sink.input(1), sink.places(0)}, {{"axis", Size{0}}});
  return {};
}

// Letters by what becomes of them: in all three, in one side and the product, and in both sides alone.
struct LetterGroups {
  std::string shared, left, right, summed;
};
bool has_letter(const std::string& text, char letter) { return text.find(letter) != std::string::npos; }
LetterGroups grouped(const EinsumLetters& letters) {
  LetterGroups all;
  for (const char l : letters.a)
    (!has_letter(letters.b, l) ? all.left : has_letter(letters.out, l) ? all.shared : all.summed) += l;
  for (const char l : letters.b)
    if (!has_letter(letters.a, l)) all.right += l;
  return all;
}

// Axes one behind another that become one; of a single letter, and of letters that are kept apart, each stays.
struct Part {
  std::string letters;
  bool joined = false;
};

// x, whose axes lie as `from` says, as the letters of the parts one behind another, each part that is joined as one axis.
Place in_parts(Sink& sink, Place x, const std::string& from, const std::vector<Part>& parts) {
  TensorType type = sink.type_of(x);
  const Shape before = type.shape;
  Sizes order, places;
  Shape joined;
  bool joins = false;
  for (const Part& part : parts) {
    Dim whole(1);
    for (const char l : part.letters) {
      const auto axis = static_cast<Size>(from.find(l));
      if (!part.joined) {
        joined.push_back(at(before, axis));
        places.push_back(std::ssize(order));
      } else {
        whole = Dim(*whole * *at(before, axis));
      }
      type.shape[order.size()] = at(before, axis);
      order.push_back(axis);
    }
    if (part.joined) joined.push_back(whole), places.push_back(0);
    joins = joins || part.joined;
  }
  if (!std::ranges::is_sorted(order)) x = sink.step("TRANSPOSE", {x, sink.numbers(order)}, type);
  return joins ? sink.step("RESHAPE", {x, sink.sizes(joined, x, places)}, {DType::F32, joined}) : x;
}

// Products of matrices, the letters that both sides share in front, several summed ones or several of one side as one.
Status write_in_matrices(const EinsumLetters& letters, const LetterGroups& groups, Sink& sink) {
  const auto& [shared, left, right, summed] = groups;
  const Part apart{shared}, rows{left, left.size() > 1 && !shared.empty()}, columns{right, right.size() > 1},
      inner{summed, summed.size() > 1};
  const Place a = in_parts(sink, sink.input(0), letters.a, {apart, rows, inner});
  const Place b = in_parts(sink, sink.input(1), letters.b, {apart, inner, columns});
  const std::string made = shared + left + right;
  TensorType type = sink.result_type();
  Sizes order, places;
  for (std::size_t i = 0; i < made.size(); ++i)
    type.shape[i] = at(sink.result_type().shape, static_cast<Size>(letters.out.find(made[i])));
  for (const char l : letters.out) order.push_back(static_cast<Size>(made.find(l)));
  const bool turned = made != letters.out;
  if (!rows.joined && !columns.joined) {
    if (!turned) return sink.last("BATCH_MATMUL", {a, b}), Status();
    sink.last("TRANSPOSE", {sink.step("BATCH_MATMUL", {a, b}, type), sink.numbers(order)});
    return {};
  }
  Shape flat = sink.type_of(a).shape;
  flat.back() = sink.type_of(b).shape.back();
  const Place product = sink.step("BATCH_MATMUL", {a, b}, {DType::F32, flat});
  for (std::size_t i = 0; i < made.size(); ++i)  // of joined axes every size is known
    places.push_back(i < shared.size() + left.size() && !(rows.joined && i >= shared.size()) ? static_cast<Size>(i)
                                                                                             : std::ssize(flat) - 1);
  if (!turned) return sink.last("RESHAPE", {product, sink.sizes(type.shape, product, places)}), Status();
  const Place parted = sink.step("RESHAPE", {product, sink.sizes(type.shape, product, places)}, type);
  sink.last("TRANSPOSE", {parted, sink.numbers(order)});
  return {};
}

// Products of numbers that stretch over one another, summed: where a side has no letters of its own, or nothing is summed.
Status write_in_numbers(const EinsumLetters& letters, const LetterGroups& groups, Sink& sink) {
  const std::string kept = groups.shared + groups.left + groups.right, all = kept + groups.summed;
  TensorType type{DType::F32, Shape(all.size())};
  const auto laid = [&](std::size_t i, const std::string& own) {
    std::string order;
    for (const char l : all)
      if (has_letter(own, l)) order += l;
    Place x = in_parts(sink, sink.input(i), own, {{order}});
    Shape shape = sink.type_of(x).shape;
    for (std::size_t axis = 0; axis < all.size(); ++axis) {
      if (has_letter(own, all[axis])) {
        type.shape[axis] = shape[axis];
        continue;
      }
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), Dim(1));
      x = sink.step("EXPAND_DIMS", {x, sink.whole(static_cast<Size>(axis))}, {DType::F32, shape});
    }
    return x;
  };
  const Place a = laid(0, letters.a), b = laid(1, letters.b);
  Sizes summed(groups.summed.size()), order;
  std::iota(summed.begin(), summed.end(), std::ssize(kept));
  for (const char l : letters.out) order.push_back(static_cast<Size>(kept.find(l)));
  const bool turned = kept != letters.out;
  if (summed.empty() && !turned) return sink.last("MUL", {a, b}), Status();
  Place made = sink.step("MUL", {a, b}, type);
  if (!summed.empty() && !turned) return sink.last("SUM", {made, sink.numbers(summed)}), Status();
  type.shape.resize(kept.size());
  if (!summed.empty()) made = sink.step("SUM", {made, sink.numbers(summed)}, type);
  sink.last("TRANSPOSE", {made, sink.numbers(order)});
  return {};
}

Status write_einsum(const Einsum& op, Sink& sink) {
  const auto letters = letters_of(op);
  if (!letters) return std::unexpected(letters.error());
  const LetterGroups groups = grouped(*letters);
  const auto& [shared, left, right, summed] = groups;
  const bool all_there = shared.size() + left.size() + right.size() == letters->out.size();
  const auto are_known = [&](const std::string& some, std::size_t input, const std::string& of) {
    return some.size() == 1 || std::ranges::all_of(some, [&](char l) {
             return at(sink.type(input).shape, static_cast<Size>(of.find(l))).known();
           });
  };
  const bool can_join = are_known(right, 1, letters->b) && are_known(summed, 0, letters->a) &&
                        are_known(summed, 1, letters->b) && (shared.empty() || are_known(left, 0, letters->a));
  if (!all_there || sink.type().dtype != DType::F32) return sink.refused("the product '" + op.equation + "'");
  const bool in_matrices = !summed.empty() && !right.empty() && !left.empty();
  if (!in_matrices) return write_in_numbers(*letters, groups, sink);
  if (!can_join) return sink.refused("the product '" + op.equation + "'");
  return write_in_matrices(*letters, groups, sink);
}

constexpr std::array linear_writers{writes<write_linear>(), writes<write_matmul>(), writes<write_einsum>(),
                                    writes<write_embedding>()};
static_assert(decides<LinearFamily>(linear_writers));

// ---- reductions -------------------------------------------------------------------------------------------------------

std::string_view word_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::Mean: return "MEAN";
    case Reduction::Sum: return "SUM";
    case Reduction::Maximum: return "REDUCE_MAX";
    case Reduction::Minimum: return "REDUCE_MIN";
    case Reduction::Product: return "REDUCE_PROD";
  }
  return {};
}

Status write_reduce(const Reduce& op, Sink& sink) {
  const bool of_truths = sink.type().dtype == DType::Bool;
  const bool is_any = op.reduction == Reduction::Maximum;
  if (of_truths && (is_any || op.reduction == Reduction::Minimum) && !op.axes.empty()) {
    Options kept;
    if (op.keeps_axes) kept.push_back({"keep_dims", Size{1}});
    return sink.last(is_any ? "REDUCE_ANY" : "REDUCE_ALL", {sink.input(), sink.numbers(op.axes)}, std::move(kept)),
           Status();
  }
  const DType type = sink.type().dtype;
  const bool is_whole = type == DType::I64 && op.reduction != Reduction::Mean;
  if (type != DType::F32 && !is_whole) return sink.refused("a fold of " + std::string(name_of(type)));
  if (op.axes.empty()) return sink.pass_on(), Status();
  Options options;
  if (op.keeps_axes) options.push_back({"keep_dims", Size{1}});
  sink.last(word_of(op.reduction), {sink.input(), sink.numbers(op.axes)}, std::move(options));
  return {};
}

Status write_arg_extreme(const ArgExtreme& op, Sink& sink) {
  if (op.last) return sink.refused("the last of equal extremes");
  const char* word = op.largest ? "ARG_MAX" : "ARG_MIN";
  const Options options{{"output_type", Size{4}}};
  if (!op.keeps_axis) return sink.last(word, {sink.input(), sink.whole(op.axis)}, options), Status();
  TensorType type = sink.result_type();
  type.shape.erase(type.shape.begin() + op.axis);
  sink.last("EXPAND_DIMS", {sink.step(word, {sink.input(), sink.whole(op.axis)}, type, options), sink.whole(op.axis)});
  return {};
}

Status write_accumulate(const Accumulate& op, Sink& sink) {
  if (op.reduction != Reduction::Sum) return sink.refused("a running product");
  sink.last("CUMSUM", {sink.input(), sink.whole(op.axis)},
            {{"exclusive", Size{op.exclusive}}, {"reverse", Size{op.backwards}}});
  return {};
}

// Places are whole numbers of 32 bits there.
Status write_top_k(const TopK& op, Sink& sink) {
  if (sink.type().dtype != DType::F32)
    return sink.refused("the largest few of " + std::string(name_of(sink.type().dtype)));
  if (op.axis != sink.rank() - 1 || !op.largest) return sink.broken("the largest few along another axis");
  const std::vector<Place> inputs{sink.input(), sink.whole(op.count)};
  const TensorType places{DType::I32, sink.result_type(0).shape};
  const Place made = sink.last_but(1, places, "TOPK_V2", inputs);
  sink.give(1, "CAST", {made},
            {{"in_data_type", sink.code_of(DType::I32)}, {"out_data_type", sink.code_of(DType::I64)}});
  return {};
}

constexpr std::array reduction_writers{writes<write_reduce>(), writes<write_arg_extreme>(), writes<write_top_k>(),
                                       writes<write_accumulate>()};
static_assert(decides<ReductionFamily>(reduction_writers));

// ---- norms ------------------------------------------------------------------------------------------------------------

// Numbers of one axis as they broadcast against a tensor.
Sizes along(Size axis, Size rank, Size count) {
  Sizes shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = count;
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

// x * scale + offset, both computed in float64 from the four vectors.
Status write_batch_norm(const BatchNorm& op, Sink& sink) {
  const Tensor *mean = sink.constant(3), *variance = sink.constant(4);
  if (!mean || !variance || (sink.has(1) && !sink.constant(1)) || (sink.has(2) && !sink.constant(2)))
    return sink.refused("a normalisation with numbers that the model computes");
  const auto means = mean->doubles(), variances = variance->doubles();
  std::vector<float> scale, offset;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double gamma = sink.has(1) ? sink.constant(1)->doubles()[i] : 1,
                 beta = sink.has(2) ? sink.constant(2)->doubles()[i] : 0;
    const double by = gamma / std::sqrt(variances[i] + op.epsilon);
    scale.push_back(static_cast<float>(by));
    offset.push_back(static_cast<float>(beta - means[i] * by));
  }
  const Sizes shape = along(op.axis, sink.rank(), static_cast<Size>(means.size()));
  const Place scaled = sink.like("MUL", {sink.input(), sink.constant("scale", Tensor::of(shape, std::move(scale)))});
  sink.last("ADD", {scaled, sink.constant("offset", Tensor::of(shape, std::move(offset)))});
  return {};
}

TensorType folded(TensorType type, const Sizes& axes) {
  for (const Size axis : axes) at(type.shape, axis) = Dim(1);
  return type;
}

Place fold(Sink& sink, std::string_view word, Place x, const Sizes& axes) {
  return sink.step(word, {x, sink.numbers(axes)}, folded(sink.type_of(x), axes), {{"keep_dims", Size{1}}});
}

// Parameters shaped by the axes, as they broadcast against the input.
Place parameter(Sink& sink, std::size_t i, const Sizes& axes) {
  Sizes shape(static_cast<std::size_t>(sink.rank()), 1);
  const Sizes own = sink.constant(i)->shape();
  for (std::size_t k = 0; k < axes.size() && k < own.size(); ++k) shape[static_cast<std::size_t>(axes[k])] = own[k];
  return sink.stored(i, sink.constant(i)->reshaped(shape));
}

Status scaled_and_moved(Sink& sink, Place y, const Sizes& axes) {
  const bool moves = sink.has(2);
  if ((sink.has(1) && !sink.constant(1)) || (moves && !sink.constant(2)))
    return sink.refused("a normalisation with numbers that the model computes");
  if (sink.has(1) && !moves) return sink.last("MUL", {y, parameter(sink, 1, axes)}), Status();
  if (sink.has(1)) y = sink.like("MUL", {y, parameter(sink, 1, axes)});
  sink.last("ADD", {y, moves ? parameter(sink, 2, axes) : sink.number(0)});
  return {};
}

Status write_layer_norm(const LayerNorm& op, Sink& sink) {
  const Place x = sink.input();
  const Place mean = fold(sink, "MEAN", x, op.axes), centred = sink.like("SUB", {x, mean});
  const Place variance = fold(sink, "MEAN", sink.like("SQUARE", {centred}), op.axes);
  const Place by = sink.like("RSQRT", {sink.like("ADD", {variance, sink.number(op.epsilon)})});
  return scaled_and_moved(sink, sink.like("MUL", {op.keras_rms_scaling ? x : centred, by}), op.axes);
}

Status write_rms_norm(const RmsNorm& op, Sink& sink) {
  const Place x = sink.input();
  const Place squares = fold(sink, "MEAN", sink.like("SQUARE", {x}), op.axes);
  const Place by = sink.like("RSQRT", {sink.like("ADD", {squares, sink.number(op.epsilon)})});
  return scaled_and_moved(sink, sink.like("MUL", {x, by}), op.axes);
}

Status write_unit_norm(const UnitNorm& op, Sink& sink) {
  const Place x = sink.input();
  const Place squares = fold(sink, "SUM", sink.like("SQUARE", {x}), op.axes);
  sink.last("MUL", {x, sink.like("RSQRT", {sink.at_least(squares, op.epsilon)})});
  return {};
}

Status write_length_norm(const LengthNorm& op, Sink& sink) {
  if (op.p != 2) return sink.refused("a norm of another power than 2");
  const Place x = sink.input();
  // The bound of the kernel's own; it takes 4 axes at most.
  if (op.epsilon == 1e-6 && sink.rank() <= 4 && op.axes == Sizes{sink.rank() - 1})
    return sink.last("L2_NORMALIZATION", {x}), Status();
  const Place length = sink.like("SQRT", {fold(sink, "SUM", sink.like("SQUARE", {x}), op.axes)});
  sink.last("DIV", {x, sink.at_least(length, op.epsilon)});
  return {};
}

// The channels of a group beside each other: [N, cells, groups, channels of one].
Status write_group_norm(const GroupNorm& op, Sink& sink) {
  const Size rank = sink.rank();
  if (op.axis != rank - 1 || rank < 2) return sink.refused("a normalisation by groups of this axis");
  if (sink.dim(rank - 1) == Dim(op.groups)) {  // each channel by itself
    Sizes axes(static_cast<std::size_t>(rank - 2));
    std::iota(axes.begin(), axes.end(), Size{1});
    const Place x = sink.input(), centred = sink.like("SUB", {x, fold(sink, "MEAN", x, axes)});
    const Place variance = fold(sink, "MEAN", sink.like("SQUARE", {centred}), axes);
    const Place by = sink.like("RSQRT", {sink.like("ADD", {variance, sink.number(op.epsilon)})});
    return scaled_and_moved(sink, sink.like("MUL", {centred, by}), {op.axis});
  }
  Size cells = 1;
  for (Size i = 1; i < rank - 1; ++i) {
    if (!sink.dim(i).known()) return sink.refused("a normalisation by groups over sizes that are not known beforehand");
    cells *= *sink.dim(i);
  }
  const Dim channels = sink.dim(rank - 1);
  if (!channels.known()) return sink.refused("a normalisation by groups of channels that are not known beforehand");
  const Shape parted{sink.dim(0), Dim(cells), Dim(op.groups), Dim(*channels / op.groups)};
  const Place x = sink.input();
  const Place y = sink.step("RESHAPE", {x, sink.sizes(parted, x, {})}, {DType::F32, parted});
  const Place centred = sink.like("SUB", {y, fold(sink, "MEAN", y, {1, 3})});
  const Place variance = fold(sink, "MEAN", sink.like("SQUARE", {centred}), {1, 3});
  const Place by = sink.like("RSQRT", {sink.like("ADD", {variance, sink.number(op.epsilon)})});
  const Place normal = sink.like("MUL", {centred, by});
  const Place whole = sink.step("RESHAPE", {normal, sink.sizes(sink.type().shape, x, {})}, sink.type());
  return scaled_and_moved(sink, whole, {op.axis});
}

constexpr std::array normalization_writers{writes<write_batch_norm>(),
                                           writes<write_layer_norm>(),
                                           writes<write_group_norm>(),
                                           writes<write_rms_norm>(),
                                           writes<write_unit_norm>(),
                                           writes<write_length_norm>(),
                                           lacks<LocalResponseNorm, Sink>("a pass spells local response out")};
static_assert(decides<Normalization>(normalization_writers));

}  // namespace

std::span<const Row> elementwise_rows() { return elementwise_writers; }
std::span<const Row> linear_rows() { return linear_writers; }
std::span<const Row> reduction_rows() { return reduction_writers; }
std::span<const Row> normalization_rows() { return normalization_writers; }

}  // namespace convoy::tflite
