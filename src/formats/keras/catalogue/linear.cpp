// Products of matrices: Dense, EinsumDense, Embedding and Dot, and those of keras.ops. Source: keras/src/layers/core,
// layers/merging/dot.py and ops/numpy.py of Keras 3.15.
#include "formats/einsum_steps.h"
#include "formats/keras/catalogue/write.h"
#include "formats/keras/operation.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

// Sums of up to this many products of whole numbers of 8 bits are float32 numbers; longer ones are added in float64, which rounds
// them as the cast from int32 would.
constexpr Size most_exact_terms = 1040;

// What comes into a layer that Keras quantized: scaled so that the largest number along the axes that are summed becomes 127 (each
// number by itself where nothing is summed), and rounded. Source: keras/src/quantizers/quantizers.py, abs_max_quantize.
struct ScaledInput {
  ValueId whole, scale;  // the scale keeps the summed axes, of size 1
};

ScaledInput scaled_input(Call& call, ValueId x, const Sizes& summed) {
  const auto function = [&](BinaryFunction f, ValueId a, ValueId b, std::string_view step) {
    return call.add(Binary{f}, {a, b}, step);
  };
  const ValueId size = call.add(Unary{Function::Abs}, {x}, "size");
  const ValueId largest = summed.empty() ? size : call.add(Reduce{Reduction::Maximum, summed, true}, {size}, "largest");
  const ValueId above = function(BinaryFunction::Add, largest, call.scalar("epsilon", 1e-7F), "above");
  const ValueId scale = function(BinaryFunction::Divide, call.scalar("range", 127), above, "scale");
  const ValueId scaled = function(BinaryFunction::Multiply, x, scale, "scaled");
  const ValueId rounded = call.add(Unary{Function::Round}, {scaled}, "rounded");
  return {call.add(Clip{-127, 127}, {rounded}, "whole"), scale};
}

// The exact sums of whole numbers, as float32.
ValueId summed_exactly(Call& call, const Op& product, ValueId whole, ValueId numbers, Dim terms) {
  const bool is_long = !terms.known() || *terms > most_exact_terms;
  if (is_long) {
    whole = call.add(Cast{DType::F64}, {whole}, "wide");
    numbers = call.add(Cast{DType::F64}, {numbers}, "wide_kernel");
  }
  const ValueId sum = call.add(product, {whole, numbers}, "sum");
  return is_long ? call.add(Cast{DType::F32}, {sum}, "single") : sum;
}

// Sums scaled back, the bias and the activation. Source: keras/src/layers/core/dense.py and einsum_dense.py, _int8_call.
Values scaled_back(Call& call, ValueId sum, ValueId scale, ValueId kernel_scale, ValueId bias, std::string_view name) {
  const ValueId both = call.add(Binary{BinaryFunction::Multiply}, {kernel_scale, scale}, "both_scales");
  const std::string_view step = call.step(name);
  const ValueId y = call.add(Binary{BinaryFunction::Divide}, {sum, both}, bias ? "scaled_back" : step);
  return {call.activated(bias ? call.add(Binary{BinaryFunction::Add}, {y, bias}, step) : y)};
}

Values int8_dense(Call& call, ValueId x, Size units, bool bias) {
  const Size last = call.rank(x) - 1;
  const Dim terms = call.dim(x, last);
  const ValueId kernel = call.weight("kernel", {terms, units}, false);
  const ValueId offset = bias ? call.weight("bias", {units}) : ValueId{};
  const ValueId kernel_scale = call.weight("kernel_scale", {units}, false);
  const auto [whole, scale] = scaled_input(call, x, {last});
  const ValueId sum = summed_exactly(call, Linear{LinearOrder::InOut}, whole, kernel, terms);
  return scaled_back(call, sum, scale, kernel_scale, offset, "dense");
}

Values dense(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  const Size units = use.whole("units");
  const bool bias = use.truth("use_bias");
  if (call.failed()) return {};
  if (units < 1 || call.rank(x) < 2) {
    call.refuse(Fault::Format,
                "has " + std::to_string(units) + " units on an input of rank " + std::to_string(call.rank(x)));
    return {};
  }
  if (call.is_int8()) return int8_dense(call, x, units, bias);
  Values inputs{x, call.weight("kernel", {call.dim(x, call.rank(x) - 1), units})};
  if (bias) inputs.push_back(call.weight("bias", {units}));
  return {call.activated(call.add(Linear{LinearOrder::InOut}, inputs, call.step("dense")))};
}

// "...x,xy->...y" with as many letters as the input has axes.
std::string spelled_out(Call& call, const std::string& equation, Size rank) {
  const auto comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) {
    call.refuse(Fault::Format, "equation '" + equation + "' is not of the form a,b->c");
    return {};
  }
  if (equation.find("...") == std::string::npos) return equation;
  const std::string left = equation.substr(0, comma);
  const Size named = static_cast<Size>(left.size()) - 3;
  std::string letters;
  for (char c = 'A'; c <= 'Z' && static_cast<Size>(letters.size()) < rank - named; ++c)
    if (equation.find(c) == std::string::npos) letters += c;
  if (named < 0 || static_cast<Size>(letters.size()) != rank - named) {
    call.refuse(Fault::Format, "equation '" + equation + "' does not fit an input of rank " + std::to_string(rank));
    return {};
  }
  std::string out = equation;
  for (auto at = out.find("..."); at != std::string::npos; at = out.find("...")) out.replace(at, 3, letters);
  return out;
}

struct DenseLetters {
  std::string in, kernel, out;
  std::string equation() const { return in + "," + kernel + "->" + out; }
};

// Where nothing is summed, every cell is multiplied by a number of its own.
Op dense_product(const DenseLetters& letters) {
  if (letters.out == letters.in && letters.in.ends_with(letters.kernel)) return Binary{BinaryFunction::Multiply};
  return Einsum{letters.equation()};
}

// Whether Keras puts the input's scale beside the output. It turns the axes into the output's order, each summed one, '1', where the
// output has an axis that only the kernel has; a summed axis too many goes again by its number in the input, which another may
// have by then. Source: keras/src/layers/core/einsum_dense.py, _analyze_quantization_info.
bool places_its_scales(const DenseLetters& letters) {
  constexpr auto none = std::string::npos;
  std::string axes, wanted;
  std::vector<std::size_t> own, surplus;
  for (std::size_t i = 0; i < letters.out.size(); ++i) {
    const bool comes_in = letters.in.find(letters.out[i]) != none;
    wanted += comes_in ? letters.out[i] : '1';
    if (comes_in) axes += letters.out[i];
    else own.push_back(i);
  }
  std::size_t used = 0;
  std::size_t place = letters.out.find(letters.kernel.back());
  for (std::size_t i = 0; i < letters.in.size(); ++i) {
    if (letters.out.find(letters.in[i]) != none) continue;
    if (used < own.size()) place = own[used++];
    else surplus.push_back(i);
    axes.insert(place == none ? axes.size() - std::min<std::size_t>(axes.size(), 1) : std::min(place, axes.size()),
                "1");
  }
  for (; used < own.size(); ++used) axes.insert(std::min(own[used], axes.size()), "1");
  for (auto i = surplus.rbegin(); i != surplus.rend(); ++i) {
    if (*i >= axes.size() || axes[*i] != '1') return false;
    axes.erase(*i, 1);
  }
  return axes == wanted;
}

// The scale of the input, which has the input's axes, beside the output's.
ValueId beside_output(Call& call, ValueId scale, const DenseLetters& letters) {
  const auto in = [](const std::string& all, char c) { return all.find(c) != std::string::npos; };
  Sizes summed, turned, added;
  std::string kept, in_order;
  for (std::size_t i = 0; i < letters.in.size(); ++i)
    if (in(letters.out, letters.in[i])) kept += letters.in[i];
    else summed.push_back(static_cast<Size>(i));
  for (std::size_t i = 0; i < letters.out.size(); ++i)
    if (in(letters.in, letters.out[i])) in_order += letters.out[i];
    else added.push_back(static_cast<Size>(i));
  for (const char c : in_order) turned.push_back(static_cast<Size>(kept.find(c)));
  if (kept == in_order && summed == added) return scale;
  if (!summed.empty()) scale = call.add(Squeeze{summed}, {scale}, "kept_scale");
  if (kept != in_order) scale = call.add(Transpose{turned}, {scale}, "turned_scale");
  return added.empty() ? scale : call.add(Unsqueeze{added}, {scale}, "placed_scale");
}

Shape bias_shape(Call& call, ValueId y, const std::string& out, const std::string& bias_axes) {
  Shape shape;
  for (std::size_t i = out.find_first_of(bias_axes); i < out.size(); ++i)
    shape.push_back(bias_axes.find(out[i]) == std::string::npos ? Dim(1) : call.dim(y, static_cast<Size>(i)));
  return shape;
}

Values int8_einsum_dense(Call& call, ValueId x, const DenseLetters& letters, const Shape& kernel_shape,
                         const std::string& bias_axes) {
  if (!places_its_scales(letters)) {
    call.refuse(Fault::Unsupported, "is quantized and sums more axes of its input in '" + letters.equation() +
                                        "' than Keras has places for their scale in the output; give the equation "
                                        "its summed axes last, as '...abc,bcd->...ad' has them");
    return {};
  }
  const ValueId kernel = call.weight("kernel", kernel_shape, false);
  if (call.failed()) return {};
  // The bias lies before the scale in the file, and its shape is the sum's.
  Shape scale_shape;
  for (const char c : letters.out) {
    const auto at = letters.kernel.find(c);
    scale_shape.push_back(at == std::string::npos ? Dim(1) : call.dim(kernel, static_cast<Size>(at)));
  }
  Sizes summed;
  Dim terms(1);
  const auto count = [&](Dim n) { terms = terms.known() && n.known() ? Dim(*terms * *n) : Dim::unknown(); };
  for (std::size_t i = 0; i < letters.in.size(); ++i)
    if (letters.out.find(letters.in[i]) == std::string::npos) {
      summed.push_back(static_cast<Size>(i));
      count(call.dim(x, static_cast<Size>(i)));
    }
  for (std::size_t i = 0; i < letters.kernel.size(); ++i)
    if (letters.out.find(letters.kernel[i]) == std::string::npos &&
        letters.in.find(letters.kernel[i]) == std::string::npos)
      count(call.dim(kernel, static_cast<Size>(i)));
  const auto [whole, scale] = scaled_input(call, x, summed);
  const ValueId sum = summed_exactly(call, dense_product(letters), whole, kernel, terms);
  if (call.failed()) return {};
  const ValueId bias =
      bias_axes.empty() ? ValueId{} : call.weight("bias", bias_shape(call, sum, letters.out, bias_axes));
  const ValueId kernel_scale = call.weight("kernel_scale", scale_shape, false);
  return scaled_back(call, sum, beside_output(call, scale, letters), kernel_scale, bias, "einsum");
}

Values einsum_dense(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  call.attrs.ignore({"output_shape"});
  std::string equation = use.word("equation");
  std::erase(equation, ' ');
  const std::string bias_axes = use.word("bias_axes");
  if (call.failed()) return {};
  equation = spelled_out(call, equation, call.rank(x));
  if (call.failed()) return {};
  const auto comma = equation.find(','), arrow = equation.find("->");
  const std::string in = equation.substr(0, comma), kernel = equation.substr(comma + 1, arrow - comma - 1),
                    out = equation.substr(arrow + 2);
  Shape expected;
  for (const char c : kernel) {
    const auto at = in.find(c);
    expected.push_back(at == std::string::npos ? Dim::unknown() : call.dim(x, static_cast<Size>(at)));
  }
  // Output sizes that the input does not know stand in output_shape, which has no batch axis.
  if (const Json* argument = use.option("output_shape");
      argument && argument->is_array() && argument->size() + 1 == out.size())
    for (std::size_t i = 0; i < kernel.size(); ++i)
      if (const auto at = out.find(kernel[i]); !expected[i].known() && at != std::string::npos && at > 0)
        if (const Json& size = (*argument)[at - 1]; size.is_number_integer() && size > 0)
          expected[i] = Dim(size.get<Size>());
  const bool bias = !bias_axes.empty();
  if (call.is_int8()) return int8_einsum_dense(call, x, {in, kernel, out}, expected, bias_axes);
  const ValueId k = call.weight("kernel", expected);
  ValueId y = call.add(dense_product({in, kernel, out}), {x, k}, bias ? "einsum" : call.step("einsum"));
  if (bias && !call.failed())
    y = call.add(Binary{BinaryFunction::Add}, {y, call.weight("bias", bias_shape(call, y, out, bias_axes))},
                 call.step("bias"));
  return {call.activated(y)};
}

// As a column, which is looked up as the table is.
ValueId row_scale(Call& call, Size words) {
  if (const auto known = call.bound("embeddings_scale")) return *known;
  const Tensor scale = call.take("embeddings_scale", {words});
  return call.failed() ? ValueId{} : call.make_constant("embeddings_scale", scale.reshaped({words, 1}));
}

Values embedding(Use& use) {
  Call& call = use.call;
  ValueId x = call.x();
  // The common list passes over these two, which Keras 1 wrote on every layer.
  const Size words = use.whole("input_dim"), width = use.whole("output_dim");
  const bool masks = use.truth("mask_zero");
  call.attrs.ignore({"dropout"});
  const ValueId table = call.weight("embeddings", {words, width}, !call.is_int8());
  if (call.failed()) return {};
  if (const DType type = call.type(x).dtype; type == DType::F32 || type == DType::F64)
    x = call.add(Cast{DType::I32}, {x}, "numbers");
  ValueId y;
  if (call.is_int8()) {
    // A row of whole numbers, divided by the row's scale. Source: keras/src/layers/core/embedding.py, _int8_call.
    const ValueId scale = row_scale(call, words);
    const ValueId row = call.add(Embedding{}, {x, table}, "whole"), by = call.add(Embedding{}, {x, scale}, "row_scale");
    y = call.add(Binary{BinaryFunction::Divide}, {row, by});
  } else {
    y = call.add(Embedding{}, {x, table});
  }
  if (masks && y) call.builder().masks.emplace(y.index, Mask{x, {}});
  return {y};
}

// Letters for the axes of a and b: the batch and the summed axis are shared.
std::string batch_dot(Size rank_a, Size rank_b, Size axis_a, Size axis_b) {
  std::string a, b, out = "a";
  char next = 'b';
  for (Size i = 0; i < rank_a; ++i) a += i == 0 ? 'a' : i == axis_a ? 'z' : next++;
  for (Size i = 0; i < rank_b; ++i) b += i == 0 ? 'a' : i == axis_b ? 'z' : next++;
  for (const char c : a.substr(1) + b.substr(1))
    if (c != 'z') out += c;
  return a + "," + b + "->" + out;
}

Values dot(Use& use) {
  Call& call = use.call;
  const Json* argument = use.option("axes");
  const bool normalizes = use.truth("normalize");
  if (call.inputs.size() != 2 || !argument) {
    call.refuse(Fault::Format, "needs two inputs and the attribute 'axes'");
    return {};
  }
  const Sizes both = call.attrs.sizes_of(argument, "axes", 2);
  ValueId a = call.inputs[0], b = call.inputs[1];
  const Size rank_a = call.rank(a), rank_b = call.rank(b);
  if (call.failed()) return {};
  const Size axis_a = call.axis(both[0], rank_a), axis_b = call.axis(both[1], rank_b);
  if (call.failed()) return {};
  if (axis_a == 0 || axis_b == 0 || rank_a > 8 || rank_b > 8) {
    call.refuse(Fault::Unsupported, "sums over the batch axis");
    return {};
  }
  if (normalizes) {
    constexpr double epsilon = 1e-7;  // backend.epsilon(), which ops.normalize takes where none is said
    a = call.add(LengthNorm{{axis_a}, 2, epsilon}, {a}, "normalized_0");
    b = call.add(LengthNorm{{axis_b}, 2, epsilon}, {b}, "normalized_1");
  }
  const Einsum sum{batch_dot(rank_a, rank_b, axis_a, axis_b)};
  const bool vectors = rank_a == 2 && rank_b == 2;
  const ValueId y = call.add(sum, {a, b}, vectors ? "dot" : "");
  return {vectors ? call.add(Unsqueeze{{1}}, {y}) : y};
}

// Whole numbers are multiplied as fractions; those of 8 bits as what they are, and added up in 32.
// Whole numbers stay whole.
ValueId product(Call& call, ValueId a, ValueId b) {
  const DType left = call.type(a).dtype, right = call.type(b).dtype, dtype = meeting(left, right);
  if (is_floating(dtype)) return call.add(MatMul{}, {a, b});
  if (left == DType::I8 && right == DType::I8)
    return call.add(MatMul{}, {call.add(Cast{DType::I32}, {a}), call.add(Cast{DType::I32}, {b})});
  a = call.add(Cast{DType::F32}, {a});
  b = call.add(Cast{DType::F32}, {b});
  return call.add(Cast{dtype}, {call.add(MatMul{}, {a, b})});
}

// A vector in front is a row, one behind a column, whose axes go again.
Values matmul(Use& use) {
  Call& call = use.call;
  ValueId a = use.operand("x1"), b = use.operand("x2");
  if (call.failed()) return {};
  const bool is_row = call.rank(a) == 1, is_column = call.rank(b) == 1;
  if (call.rank(a) == 0 || call.rank(b) == 0) call.refuse(Fault::Format, "multiplies a single number as a matrix");
  if (is_row) a = call.add(Unsqueeze{{0}}, {a}, "row");
  if (is_column) b = call.add(Unsqueeze{{1}}, {b}, "column");
  if (call.failed()) return {};
  const ValueId y = product(call, a, b);
  if (!is_row && !is_column) return {y};
  Sizes axes;
  if (is_row) axes.push_back(call.rank(y) - 2);
  if (is_column) axes.push_back(call.rank(y) - 1);
  return use.add(Squeeze{axes}, {y});
}

Values einsum(Use& use) {
  Call& call = use.call;
  use.asked.emplace_back("subscripts");
  const Json* said = option(call, "subscripts", nowhere);
  if (!said || !said->is_string()) call.refuse(Fault::Format, "argument 'subscripts' is no word");
  if (call.failed()) return {};
  const auto equation = said->get<std::string>();
  const auto all = parameters_of(use.row);
  Values values;
  std::vector<Shape> shapes;
  const std::size_t count = call.call ? call.call->args.size() : 0;
  for (std::size_t i = 0; i < count && !call.failed(); ++i) {
    values.push_back(operand(call, "operand", i));
    if (i < all.size()) use.asked.push_back(all[i].name);
    if (!call.failed()) shapes.push_back(call.type(values.back()).shape);
  }
  if (call.failed()) return {};
  auto steps = einsum_steps(equation, shapes);
  if (!steps) call.refuse(steps.error().fault, steps.error().what);
  for (std::size_t i = 0; steps && i < steps->size() && !call.failed(); ++i) {
    Values of;
    for (const std::size_t one : (*steps)[i].of) of.push_back(values[one]);
    const bool last = i + 1 == steps->size();
    values.push_back(last ? use.add((*steps)[i].op, of).front()
                          : call.add((*steps)[i].op, of, "step_" + std::to_string(i)));
  }
  return {values.back()};
}

constexpr std::array rows_of_products{
    CatalogueRow{"layers.Dense",
                 "units|output_dim activation= use_bias|bias=True kernel_initializer= bias_initializer= "
                 "kernel_regularizer= bias_regularizer= activity_regularizer= kernel_constraint= bias_constraint=",
                 dense},
    CatalogueRow{"layers.EinsumDense", "equation output_shape activation= bias_axes=", einsum_dense},
    CatalogueRow{"layers.Embedding",
                 "input_dim output_dim embeddings_initializer= embeddings_regularizer= embeddings_constraint= "
                 "mask_zero=False",
                 embedding},
    CatalogueRow{"layers.Dot", "axes|dot_axes normalize=False", dot},
    CatalogueRow{"numpy.Matmul", "x1 x2", matmul},
    CatalogueRow{"numpy.Einsum", "x1 x2= x3= x4= x5= x6= subscripts=", einsum},
};

}  // namespace

std::span<const CatalogueRow> product_operators() { return rows_of_products; }

namespace writing {
namespace {

Status write_dense(Sink& sink) {
  LayerConfig config =
      layer_as(sink, "layers.Dense", {{"units", sink.constant(1)->shape()[1]}, {"use_bias", sink.has(2)}});
  if (auto ok = sink.weigh(config, 1, "kernel"); !ok) return ok;
  if (sink.has(2))
    if (auto ok = sink.weigh(config, 2, "bias"); !ok) return ok;
  return sink.last(std::move(config));
}

Status write_linear(const Linear& linear, Sink& sink) {
  if (linear.order != LinearOrder::InOut) return sink.broken("a matrix in another framework's order");
  if (sink.rank() < 2) return sink.refused("a product of a vector without a batch");
  if (!sink.constant(1)) return sink.refused("a kernel that the model computes");
  if (!sink.dim(sink.rank() - 1).known()) return sink.refused("a product along an axis whose size is free");
  return write_dense(sink);
}

Status write_matmul(const MatMul&, Sink& sink) {
  const Tensor* b = sink.constant(1);
  const bool weight = b && b->rank() == 2 && sink.graph()[sink.node().inputs[1]].trainable;
  if (weight && sink.rank() >= 2 && sink.dim(sink.rank() - 1).known()) return write_dense(sink);
  LayerConfig config = sink.operation("numpy", "Matmul");
  sink.operand(config, 0, 0, "x1");
  sink.operand(config, 1, 1, "x2");
  return sink.last(std::move(config));
}

// EinsumDense counts its first axis as the batch and takes the output's other sizes.
bool is_dense(const EinsumLetters& letters, const Sink& sink) {
  if (letters.a.empty() || letters.out.empty() || letters.a[0] != letters.out[0]) return false;
  if (letters.b.find(letters.a[0]) != std::string::npos || !sink.constant(1)) return false;
  if (!sink.graph()[sink.node().inputs[1]].trainable) return false;
  for (const char c : letters.b) {
    const bool in = letters.a.find(c) != std::string::npos, out = letters.out.find(c) != std::string::npos;
    if (!in && !out) return false;
  }
  return true;
}

// Keras reads capital letters as sizes: small ones that the equation does not have in their place.
std::string in_small_letters(std::string equation) {
  for (const char capital : std::string(equation)) {
    if (capital < 'A' || capital > 'Z') continue;
    char small = 'a';
    while (small < 'z' && equation.contains(small)) ++small;
    if (!equation.contains(small)) std::ranges::replace(equation, capital, small);
  }
  return equation;
}

Status write_einsum(const Einsum& einsum, Sink& sink) {
  const auto letters = letters_of(einsum);
  if (!letters) return std::unexpected(letters.error());
  const std::string equation = in_small_letters(einsum.equation);
  if (is_dense(*letters, sink)) {
    LayerConfig config = sink.layer("EinsumDense");
    config.arguments["equation"] = equation;
    Json shape = Json::array();
    for (std::size_t i = 1; i < letters->out.size(); ++i) {
      const Dim n = sink.result_type().shape[i];
      shape.push_back(n.known() ? Json(*n) : Json());
    }
    config.arguments["output_shape"] = std::move(shape);
    if (auto ok = sink.weigh(config, 1, "kernel"); !ok) return ok;
    return sink.last(std::move(config));
  }
  LayerConfig config = sink.operation("numpy", "Einsum");
  config.arguments["subscripts"] = equation;
  sink.operand(config, 0, 0, "x1");
  sink.operand(config, 1, 1, "x2");
  return sink.last(std::move(config));
}

Status write_embedding(const Embedding&, Sink& sink) {
  const Tensor* table = sink.constant(1);
  if (!table) return sink.refused("a table that the model computes");
  if (sink.constant(0)) return sink.refused("a lookup of numbers that are known beforehand");
  LayerConfig config =
      layer_as(sink, "layers.Embedding", {{"input_dim", table->shape()[0]}, {"output_dim", table->shape()[1]}});
  if (auto ok = sink.weigh(config, 1, "embeddings"); !ok) return ok;
  return sink.last(std::move(config));
}

constexpr std::array linear_table{writes<write_linear>(), writes<write_matmul>(), writes<write_einsum>(),
                                  writes<write_embedding>()};
static_assert(decides<LinearFamily>(linear_table));

}  // namespace

std::span<const Row> linear_rows() { return linear_table; }

}  // namespace writing
}  // namespace convoy::keras
