// Dense, EinsumDense, Embedding and Dot.
#include "formats/keras/call.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

Values dense(Call& call) {
  const ValueId x = call.x();
  const Size units = call.attrs.integer_of(call.attrs.raw({"units", "output_dim"}), "units");
  const bool bias = call.attrs.has("bias") ? call.attrs.truth("bias") : call.attrs.truth("use_bias", true);
  if (call.failed()) return {};
  if (units < 1 || call.rank(x) < 2) {
    call.refuse(Fault::Format,
                "has " + std::to_string(units) + " units on an input of rank " + std::to_string(call.rank(x)));
    return {};
  }
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

Values einsum_dense(Call& call) {
  const ValueId x = call.x();
  call.attrs.ignore({"output_shape"});
  std::string equation = call.attrs.word("equation");
  std::erase(equation, ' ');
  const std::string bias_axes = call.attrs.word("bias_axes", "");
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
  if (const Json* argument = call.attrs.raw("output_shape");
      argument && argument->is_array() && argument->size() + 1 == out.size())
    for (std::size_t i = 0; i < kernel.size(); ++i)
      if (const auto at = out.find(kernel[i]); !expected[i].known() && at != std::string::npos && at > 0)
        if (const Json& size = (*argument)[at - 1]; size.is_number_integer() && size > 0)
          expected[i] = Dim(size.get<Size>());
  const ValueId k = call.weight("kernel", expected);
  const bool bias = !bias_axes.empty();
  // Nothing is summed: every cell is multiplied by a number of its own.
  const bool product = out == in && in.ends_with(kernel);
  ValueId y = call.add(product ? Op(Binary{BinaryFunction::Multiply}) : Op(Einsum{equation}), {x, k},
                       bias ? "einsum" : call.step("einsum"));
  if (bias && !call.failed()) {
    const auto first = out.find_first_of(bias_axes);
    Shape shape;
    for (std::size_t i = first; i < out.size(); ++i)
      shape.push_back(bias_axes.find(out[i]) == std::string::npos ? Dim(1) : call.dim(y, static_cast<Size>(i)));
    y = call.add(Binary{BinaryFunction::Add}, {y, call.weight("bias", shape)}, call.step("bias"));
  }
  return {call.activated(y)};
}

Values embedding(Call& call) {
  ValueId x = call.x();
  // The common list passes over these two, which Keras 1 wrote on every layer.
  const Size words = call.attrs.integer("input_dim"), width = call.attrs.integer("output_dim");
  const bool masks = call.attrs.truth("mask_zero", false);
  call.attrs.ignore({"dropout"});
  const ValueId table = call.weight("embeddings", {words, width});
  if (call.failed()) return {};
  if (const DType type = call.type(x).dtype; type == DType::F32 || type == DType::F64)
    x = call.add(Cast{DType::I32}, {x}, "numbers");
  const ValueId y = call.add(Embedding{}, {x, table});
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

Values dot(Call& call) {
  const Json* argument = call.attrs.raw({"axes", "dot_axes"});
  const bool normalizes = call.attrs.truth("normalize", false);
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
    a = call.add(UnitNorm{{axis_a}, 1e-12}, {a}, "normalized_0");
    b = call.add(UnitNorm{{axis_b}, 1e-12}, {b}, "normalized_1");
  }
  const Einsum sum{batch_dot(rank_a, rank_b, axis_a, axis_b)};
  const bool vectors = rank_a == 2 && rank_b == 2;
  const ValueId y = call.add(sum, {a, b}, vectors ? "dot" : "");
  return {vectors ? call.add(Unsqueeze{{1}}, {y}) : y};
}

constexpr std::array linear_table{LayerRow{"Dense", dense}, LayerRow{"EinsumDense", einsum_dense},
                                  LayerRow{"Embedding", embedding}, LayerRow{"Dot", dot}};

}  // namespace

std::span<const LayerRow> linear_rows() { return linear_table; }

}  // namespace convoy::keras
