#include "graph/text_fields.h"

#include <array>
#include <cstdint>

namespace convoy::text {

namespace {

// static storage for a list of words
template <std::size_t n>
std::span<const std::string_view> all(const std::array<std::string_view, n>& list) {
  return list;
}

}  // namespace

std::span<const std::string_view> words(Order) {
  static constexpr std::array<std::string_view, 2> list{"channels_first", "channels_last"};
  return all(list);
}
std::span<const std::string_view> words(KernelOrder) {
  static constexpr std::array<std::string_view, 5> list{"out_in_space", "space_in_out", "in_out_space", "space_out_in",
                                                        "space_in_multiplier"};
  return all(list);
}
std::span<const std::string_view> words(LinearOrder) {
  static constexpr std::array<std::string_view, 2> list{"in_out", "out_in"};
  return all(list);
}
std::span<const std::string_view> words(PadMode) {
  static constexpr std::array<std::string_view, 5> list{"constant", "reflect", "symmetric", "edge", "wrap"};
  return all(list);
}
std::span<const std::string_view> words(Extreme) {
  static constexpr std::array<std::string_view, 2> list{"average", "maximum"};
  return all(list);
}
std::span<const std::string_view> words(Positions) {
  static constexpr std::array<std::string_view, 6> list{"none",           "plane",   "tensor",
                                                        "tensor_columns", "example", "example_in_batch"};
  static_assert(static_cast<std::size_t>(Positions::ExampleInBatch) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(PowerRule) {
  static constexpr std::array<std::string_view, 2> list{"norm", "signed"};
  return all(list);
}
std::span<const std::string_view> words(Cutting) {
  static constexpr std::array<std::string_view, 2> list{"first", "last"};
  return all(list);
}
std::span<const std::string_view> words(Function) {
  static constexpr std::array<std::string_view, 42> list{
      "sigmoid",     "tanh",           "softplus", "softsign",    "exp",        "log",
      "sqrt",        "rsqrt",          "square",   "abs",         "negate",     "sign",
      "floor",       "ceil",           "round",    "reciprocal",  "silu",       "gelu",
      "gelu_tanh",   "selu",           "mish",     "log_sigmoid", "hard_swish", "tanh_shrink",
      "sparse_plus", "sparse_sigmoid", "sin",      "cos",         "erf",        "tan",
      "asin",        "acos",           "atan",     "sinh",        "cosh",       "asinh",
      "acosh",       "atanh",          "expm1",    "log1p",       "truncate",   "not"};
  static_assert(static_cast<std::size_t>(Function::Not) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(BinaryFunction) {
  static constexpr std::array<std::string_view, 23> list{
      "add",       "subtract", "multiply",      "divide",       "maximum",          "minimum",
      "power",     "modulo",   "remainder",     "floor_divide", "truncate_divide",  "equal",
      "not_equal", "less",     "less_or_equal", "greater",      "greater_or_equal", "and",
      "or",        "xor",      "bit_and",       "bit_or",       "bit_xor"};
  static_assert(static_cast<std::size_t>(BinaryFunction::BitXor) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(Noise) {
  static constexpr std::array<std::string_view, 7> list{
      "dropout",        "spatial_dropout", "alpha_dropout",        "gaussian_dropout",
      "gaussian_noise", "augmentation",    "feature_alpha_dropout"};
  static_assert(static_cast<std::size_t>(Noise::FeatureAlphaDropout) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(CellFunction) {
  static constexpr std::array<std::string_view, 10> list{
      "tanh", "sigmoid", "relu", "linear", "hard_sigmoid_6", "hard_sigmoid_5", "softsign", "elu", "selu", "softplus"};
  static_assert(static_cast<std::size_t>(CellFunction::Softplus) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(GateOrder) {
  static constexpr std::array<std::string_view, 2> list{"keras", "torch"};
  return all(list);
}
std::span<const std::string_view> words(StepOrder) {
  static constexpr std::array<std::string_view, 3> list{"keras", "torch_time_first", "torch_batch_first"};
  static_assert(static_cast<std::size_t>(StepOrder::TorchBatchFirst) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(Reduction) {
  static constexpr std::array<std::string_view, 5> list{"mean", "sum", "maximum", "minimum", "product"};
  static_assert(static_cast<std::size_t>(Reduction::Product) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(Interpolation) {
  static constexpr std::array<std::string_view, 8> list{"nearest",  "linear",   "cubic",    "area",
                                                        "lanczos3", "lanczos5", "gaussian", "mitchell"};
  static_assert(static_cast<std::size_t>(Interpolation::Mitchell) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(Coordinates) {
  static constexpr std::array<std::string_view, 8> list{"half_pixel",         "asymmetric",           "align_corners",
                                                        "pytorch_half_pixel", "half_pixel_symmetric", "half_pixel_cell",
                                                        "corner_steps",       "crop_and_resize"};
  static_assert(static_cast<std::size_t>(Coordinates::CropAndResize) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(Rounding) {
  static constexpr std::array<std::string_view, 5> list{"floor", "round_half_up", "round_half_down", "ceil",
                                                        "ceil_to_shrink"};
  static_assert(static_cast<std::size_t>(Rounding::CeilToShrink) + 1 == list.size());
  return all(list);
}
std::span<const std::string_view> words(Arithmetic) {
  static constexpr std::array<std::string_view, 2> list{"multiplied", "divided"};
  return all(list);
}
std::span<const std::string_view> words(FixedLengths) {
  static constexpr std::array<std::string_view, 3> list{"none", "equal", "equal_and_double"};
  return all(list);
}
std::span<const std::string_view> words(DType) {
  static constexpr std::array<std::string_view, 13> list{"float16", "bfloat16", "float32", "float64", "int8",
                                                         "int16",   "int32",    "int64",   "uint8",   "uint16",
                                                         "uint32",  "uint64",   "bool"};
  static_assert(static_cast<std::size_t>(DType::Bool) + 1 == list.size());
  return all(list);
}

std::string print(Size value) { return std::to_string(value); }
std::string print(bool value) { return value ? "true" : "false"; }
std::string print(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}
std::string print(const std::string& value) { return text::quoted(value); }  // not std::quoted
std::string print(Axes value) { return print(value.order) + "/" + print(value.space); }
std::string print(Window value) {
  return print(value.kernel) + (value.stride == 1 ? "" : "/" + print(value.stride)) +
         (value.dilation == 1 ? "" : "@" + print(value.dilation));
}
std::string print(Padding value) {
  std::string text;
  switch (value.spelling) {
    case Spelling::Explicit: text = print(value.before) + ":" + print(value.after); break;
    case Spelling::Valid: text = "valid"; break;
    case Spelling::SameUpper: text = "same"; break;
    case Spelling::SameLower: text = "same_lower"; break;
    case Spelling::Causal: text = "causal"; break;
  }
  switch (value.leftover) {
    case Leftover::Drop: break;
    case Leftover::Ceil: text += ":ceil"; break;
    case Leftover::CeilInside: text += ":ceil_inside"; break;
  }
  return text;
}
std::string print(TransposedPadding value) {
  std::string text;
  switch (value.spelling) {
    case CropSpelling::Explicit: text = print(value.before) + ":" + print(value.after); break;
    case CropSpelling::KerasSame: text = "keras_same"; break;
    case CropSpelling::KerasValid: text = "keras_valid"; break;
  }
  return value.output_padding ? text + "+" + print(*value.output_padding) : text;
}

bool parse(std::string_view text, Size& value) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}
bool parse(std::string_view text, bool& value) {
  value = text == "true";
  return value || text == "false";
}
bool parse(std::string_view text, double& value) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}
bool parse(std::string_view text, std::string& value) {
  value = text;
  return true;
}
bool parse(std::string_view text, Axes& value) {
  const auto slash = text.find('/');
  return slash != std::string_view::npos && parse(text.substr(0, slash), value.order) &&
         parse(text.substr(slash + 1), value.space) && value.space >= 0 && value.space <= 64;
}
bool parse(std::string_view text, Window& value) {
  value = {};
  const auto at = text.find('@');
  if (at != std::string_view::npos && !parse(text.substr(at + 1), value.dilation)) return false;
  text = text.substr(0, at);
  const auto slash = text.find('/');
  if (slash != std::string_view::npos && !parse(text.substr(slash + 1), value.stride)) return false;
  return parse(text.substr(0, slash), value.kernel);
}

namespace {

// "before:after"
bool parse_pair(std::string_view text, Size& before, Size& after) {
  const auto colon = text.find(':');
  return colon != std::string_view::npos && parse(text.substr(0, colon), before) &&
         parse(text.substr(colon + 1), after);
}

}  // namespace

bool parse(std::string_view text, Padding& value) {
  value = {};
  if (text.ends_with(":ceil")) value.leftover = Leftover::Ceil, text.remove_suffix(5);
  else if (text.ends_with(":ceil_inside")) value.leftover = Leftover::CeilInside, text.remove_suffix(12);
  if (text == "valid") value.spelling = Spelling::Valid;
  else if (text == "same") value.spelling = Spelling::SameUpper;
  else if (text == "same_lower") value.spelling = Spelling::SameLower;
  else if (text == "causal") value.spelling = Spelling::Causal;
  else return value.spelling = Spelling::Explicit, parse_pair(text, value.before, value.after);
  return true;
}
bool parse(std::string_view text, TransposedPadding& value) {
  value = {};
  const auto plus = text.find('+');
  if (plus != std::string_view::npos) {
    Size extra = 0;
    if (!parse(text.substr(plus + 1), extra)) return false;
    value.output_padding = extra;
    text = text.substr(0, plus);
  }
  if (text == "keras_same") value.spelling = CropSpelling::KerasSame;
  else if (text == "keras_valid") value.spelling = CropSpelling::KerasValid;
  else return parse_pair(text, value.before, value.after);
  return true;
}

std::string quoted(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += '\\', result += c;
    else if (c == '\n') result += "\\n";
    else if (code < 0x20 || code == 0x7F) (result += "\\u00") += {digits[code >> 4], digits[code & 15]};
    else result += c;
  }
  return result + "\"";
}

std::string name(std::string_view text) {
  bool bare = !text.empty() && text != "_" && text[0] != ':' && text[0] != '-';
  for (const std::string_view word : {"graph", "input", "const", "output", "frozen"}) bare = bare && text != word;
  for (const char c : text) bare = bare && is_name_letter(c);
  return bare ? std::string(text) : quoted(text);
}

}  // namespace convoy::text
