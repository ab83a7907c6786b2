#include "diagnose/advised.h"

#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

namespace convoy::diagnose {

namespace {

Fix line_of(const Relu& relu) {
  const std::string slope = number_in_code(relu.negative_slope), edge = number_in_code(relu.threshold);
  const std::string most = relu.max_value ? number_in_code(*relu.max_value) : std::string();
  std::string keras;
  const auto add = [&](const std::string& argument) { keras += (keras.empty() ? "" : ", ") + argument; };
  if (relu.max_value) add("max_value=" + most);
  if (relu.negative_slope != 0) add("negative_slope=" + slope);
  if (relu.threshold != 0) add("threshold=" + edge);
  const bool is_leaky = relu.negative_slope != 0 && !relu.max_value && relu.threshold == 0;
  const std::string in_keras = is_leaky ? "LeakyReLU(negative_slope=" + slope + ")" : "ReLU(" + keras + ")";
  if (relu.threshold != 0)
    return {fmt::format("torch.where(x {} {}, x{}, {} * (x - {}))", relu.strict ? ">" : ">=", edge,
                        most.empty() ? "" : ".clamp(max=" + most + ")", slope, edge),
            in_keras};
  if (relu.negative_slope != 0)
    return {fmt::format("F.leaky_relu(x, {}){}", slope, most.empty() ? "" : ".clamp(max=" + most + ")"), in_keras};
  if (relu.max_value == 6.0) return {"F.relu6(x)", in_keras};
  return {relu.max_value ? "torch.clamp(x, 0, " + most + ")" : "F.relu(x)", in_keras};
}

Fix line_of(const HardSigmoid& op) {
  const std::string formula = fmt::format("clip({} * x + {}, 0, 1)", number_in_code(op.alpha), number_in_code(op.beta));
  if (std::abs(op.alpha - 1.0 / 6) < 1e-6 && op.beta == 0.5)
    return {"F.hardsigmoid(x)", "keras.activations.hard_sigmoid(x)"};
  return {"torch." + formula, "ops." + formula};
}

Fix line_of(const Clip& clip) {
  const auto bound = [](const std::optional<double>& value) {
    return value ? number_in_code(*value) : std::string("None");
  };
  const std::string keras = clip.least && clip.most
                                ? fmt::format("ops.clip(x, {}, {})", bound(clip.least), bound(clip.most))
                            : clip.least ? "ops.maximum(x, " + bound(clip.least) + ")"
                            : clip.most  ? "ops.minimum(x, " + bound(clip.most) + ")"
                                         : std::string();
  return {fmt::format("torch.clamp(x, {}, {})", bound(clip.least), bound(clip.most)), keras};
}

Fix line_of(const Softplus& op) {
  if (op.beta == 1) return {"F.softplus(x)", "keras.activations.softplus(x)"};
  const std::string beta = number_in_code(op.beta);
  return {"F.softplus(x, beta=" + beta + ")", fmt::format("keras.activations.softplus({0} * x) / {0}", beta)};
}

Fix line_of(const Shrink& op) {
  const std::string which = op.soft ? "soft" : "hard", lambda = number_in_code(op.lambda);
  return {fmt::format("F.{}shrink(x, {})", which, lambda),
          fmt::format("keras.activations.{}_shrink(x, threshold={})", which, lambda)};
}

struct Spoken {
  Function function;
  std::string_view torch, keras;
};
constexpr std::array spoken{
    Spoken{Function::Gelu, "F.gelu(x)", "keras.activations.gelu(x, approximate=False)"},
    Spoken{Function::GeluTanh, "F.gelu(x, approximate='tanh')", "keras.activations.gelu(x, approximate=True)"},
    Spoken{Function::Sigmoid, "torch.sigmoid(x)", "keras.activations.sigmoid(x)"},
    Spoken{Function::Tanh, "torch.tanh(x)", "keras.activations.tanh(x)"},
    Spoken{Function::Silu, "F.silu(x)", "keras.activations.silu(x)"},
    Spoken{Function::Selu, "F.selu(x)", "keras.activations.selu(x)"},
    Spoken{Function::HardSwish, "F.hardswish(x)", "keras.activations.hard_silu(x)"},
    Spoken{Function::Softsign, "F.softsign(x)", "keras.activations.softsign(x)"},
    Spoken{Function::Mish, "F.mish(x)", "keras.activations.mish(x)"},
    Spoken{Function::LogSigmoid, "F.logsigmoid(x)", "keras.activations.log_sigmoid(x)"},
    Spoken{Function::TanhShrink, "F.tanhshrink(x)", "keras.activations.tanh_shrink(x)"},
    Spoken{Function::SparsePlus, "torch.where(x <= -1, 0 * x, torch.where(x < 1, (x + 1) ** 2 / 4, x))",
           "keras.activations.sparse_plus(x)"},
    Spoken{Function::SparseSigmoid, "torch.clip(0.5 * x + 0.5, 0, 1)", "keras.activations.sparse_sigmoid(x)"},
    Spoken{Function::Exp, "torch.exp(x)", "ops.exp(x)"},
    Spoken{Function::Log, "torch.log(x)", "ops.log(x)"},
    Spoken{Function::Sqrt, "torch.sqrt(x)", "ops.sqrt(x)"},
    Spoken{Function::Rsqrt, "torch.rsqrt(x)", "ops.rsqrt(x)"},
    Spoken{Function::Square, "torch.square(x)", "ops.square(x)"},
    Spoken{Function::Abs, "torch.abs(x)", "ops.abs(x)"},
    Spoken{Function::Negate, "-x", "-x"},
    Spoken{Function::Sign, "torch.sign(x)", "ops.sign(x)"},
    Spoken{Function::Floor, "torch.floor(x)", "ops.floor(x)"},
    Spoken{Function::Ceil, "torch.ceil(x)", "ops.ceil(x)"},
    Spoken{Function::Round, "torch.round(x)", "ops.round(x)"},
    Spoken{Function::Reciprocal, "torch.reciprocal(x)", "ops.reciprocal(x)"},
    Spoken{Function::Sin, "torch.sin(x)", "ops.sin(x)"},
    Spoken{Function::Cos, "torch.cos(x)", "ops.cos(x)"},
    Spoken{Function::Erf, "torch.erf(x)", "ops.erf(x)"},
};

Fix line_of(const Unary& op) {
  const auto at = std::ranges::find(spoken, op.function, &Spoken::function);
  return at == spoken.end() ? Fix{} : Fix{std::string(at->torch), std::string(at->keras)};
}

// ---- pads

// F.pad's pairs, the last axis first, up to the last that is padded.
std::string pairs_in_torch(const Pad& pad) {
  std::size_t first = 0;
  while (first + 1 < pad.before.size() && pad.before[first] == 0 && pad.after[first] == 0) ++first;
  const std::size_t rank = pad.before.size();
  // Modes other than a constant want all spatial axes.
  if (pad.mode != PadMode::Constant && first >= 2) first = 2;
  std::string text;
  for (std::size_t i = rank; i-- > first;)
    text += fmt::format("{}{}, {}", text.empty() ? "" : ", ", pad.before[i], pad.after[i]);
  return "(" + text + ")";
}

bool pads_space_alone(const Pad& pad) {
  for (std::size_t i = 0; i < std::min<std::size_t>(2, pad.before.size()); ++i)
    if (pad.before[i] != 0 || pad.after[i] != 0) return false;
  return pad.before.size() > 2;
}

std::string pad_in_torch(const Pad& pad) {
  const std::string pairs = pairs_in_torch(pad);
  if (pad.mode == PadMode::Constant)
    return fmt::format("x = F.pad(x, {}{})", pairs, pad.value == 0 ? "" : ", value=" + number_in_code(pad.value));
  if (!pads_space_alone(pad)) return {};
  switch (pad.mode) {
    case PadMode::Reflect: return fmt::format("x = F.pad(x, {}, mode='reflect')", pairs);
    case PadMode::Edge: return fmt::format("x = F.pad(x, {}, mode='replicate')", pairs);
    case PadMode::Wrap: return fmt::format("x = F.pad(x, {}, mode='circular')", pairs);
    default: break;
  }
  // No mode repeats the cells at the edge in reverse; one cell is the same as the edge itself.
  std::string lines;
  const auto axis = [&](std::size_t i) { return static_cast<Size>(i) - static_cast<Size>(pad.before.size()); };
  for (std::size_t i = 2; i < pad.before.size(); ++i) {
    if (pad.before[i] == 0 && pad.after[i] == 0) continue;
    std::string parts = "x";
    if (pad.before[i] > 0) parts = fmt::format("x.narrow({0}, 0, {1}).flip({0}), {2}", axis(i), pad.before[i], parts);
    if (pad.after[i] > 0)
      parts += fmt::format(", x.narrow({0}, x.shape[{0}] - {1}, {1}).flip({0})", axis(i), pad.after[i]);
    lines += fmt::format("{}x = torch.cat([{}], {})", lines.empty() ? "" : "; ", parts, axis(i));
  }
  return lines;
}

std::string pad_in_keras(const Pad& pad) {
  if (pad.before.size() < 2) return {};
  Sizes before(pad.before.begin() + 2, pad.before.end()), after(pad.after.begin() + 2, pad.after.end());
  std::string pairs = fmt::format("[{}, {}]", pad.before[0], pad.after[0]);
  for (std::size_t i = 0; i < before.size(); ++i) pairs += fmt::format(", [{}, {}]", before[i], after[i]);
  pairs += fmt::format(", [{}, {}]", pad.before[1], pad.after[1]);
  switch (pad.mode) {
    case PadMode::Constant:
      return fmt::format("x = ops.pad(x, [{}]{})", pairs,
                         pad.value == 0 ? "" : ", constant_values=" + number_in_code(pad.value));
    case PadMode::Reflect: return fmt::format("x = ops.pad(x, [{}], mode='reflect')", pairs);
    case PadMode::Symmetric: return fmt::format("x = ops.pad(x, [{}], mode='symmetric')", pairs);
    default: break;
  }
  if (!pads_space_alone(pad)) return {};
  // Keras has no mode for the edge or the other end: cells beside each other.
  const explain::FrontPad front{pad.mode, 0, before, after};
  std::string lines;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto parts = explain::with_border(front, i, "ops.repeat");
    if (parts.size() < 2) continue;
    std::string all;
    for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
    lines += fmt::format("{}x = ops.concatenate([{}], axis={})", lines.empty() ? "" : "; ", all, i + 1);
  }
  return lines;
}

}  // namespace

std::string number_in_code(double value) {
  if (std::isinf(value)) return value > 0 ? "float('inf')" : "float('-inf')";
  // The shortest text that a float32 reads back.
  return fmt::format("{}", static_cast<float>(value));
}

Fix line_of_function(const Op& op) {
  return std::visit(
      []<class O>(const O& o) -> Fix {
        if constexpr (std::is_same_v<O, Relu> || std::is_same_v<O, HardSigmoid> || std::is_same_v<O, Clip> ||
                      std::is_same_v<O, Softplus> || std::is_same_v<O, Shrink> || std::is_same_v<O, Unary>)
          return line_of(o);
        else if constexpr (std::is_same_v<O, Elu>)
          return {fmt::format("F.elu(x, {})", number_in_code(o.alpha)),
                  fmt::format("ELU(alpha={})", number_in_code(o.alpha))};
        else if constexpr (std::is_same_v<O, Celu>)
          return {fmt::format("F.celu(x, {})", number_in_code(o.alpha)),
                  fmt::format("keras.activations.celu(x, alpha={})", number_in_code(o.alpha))};
        else if constexpr (std::is_same_v<O, Threshold>)
          return {fmt::format("F.threshold(x, {}, {})", number_in_code(o.threshold), number_in_code(o.value)),
                  fmt::format("keras.activations.threshold(x, {}, {})", number_in_code(o.threshold),
                              number_in_code(o.value))};
        else if constexpr (std::is_same_v<O, Squareplus>)
          return {fmt::format("(x + torch.sqrt(x * x + {})) / 2", number_in_code(o.b)),
                  fmt::format("keras.activations.squareplus(x, b={})", number_in_code(o.b))};
        else return {};
      },
      op);
}

Fix line_of_pad(const Pad& pad) { return {pad_in_torch(pad), pad_in_keras(pad)}; }

Fix line_of_merge(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::Add: return {"a + b", "Add()([a, b])"};
    case BinaryFunction::Subtract: return {"a - b", "Subtract()([a, b])"};
    case BinaryFunction::Multiply: return {"a * b", "Multiply()([a, b])"};
    case BinaryFunction::Divide: return {"a / b", "ops.divide(a, b)"};
    case BinaryFunction::Maximum: return {"torch.maximum(a, b)", "Maximum()([a, b])"};
    case BinaryFunction::Minimum: return {"torch.minimum(a, b)", "Minimum()([a, b])"};
    case BinaryFunction::Power: return {"a ** b", "ops.power(a, b)"};
    default: return {};
  }
}

}  // namespace convoy::diagnose
