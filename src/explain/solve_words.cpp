#include "explain/solve_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace convoy::explain {
namespace {

bool any_above_one(const std::vector<Window>& windows, Size Window::* member) {
  return std::ranges::any_of(windows, [&](const Window& w) { return w.*member > 1; });
}
bool strided_and_dilated(const std::vector<Window>& windows) {
  return any_above_one(windows, &Window::stride) && any_above_one(windows, &Window::dilation);
}

bool nothing(const Added& a) { return a.before == 0 && a.after == 0; }

// ", stride=(2, 3)", or nothing where it is 1.
std::string argument(const char* name, const std::vector<Window>& windows, Size Window::* member) {
  if (!any_above_one(windows, member)) return "";
  return fmt::format(", {}={}", name, one_or_each(of_windows(windows, member)));
}

std::string torch_layer(const char* kind, const std::vector<Window>& windows, const std::string& more = "") {
  return fmt::format("nn.{}{}d(c, f, {}{}{}{})", kind, windows.size(),
                     one_or_each(of_windows(windows, &Window::kernel)), argument("stride", windows, &Window::stride),
                     argument("dilation", windows, &Window::dilation), more);
}

std::string keras_layer(const std::string& kind, const std::vector<Window>& windows, const std::string& more = "") {
  return fmt::format("{}(f, {}{}{}{})", kind, one_or_each(of_windows(windows, &Window::kernel)),
                     argument("strides", windows, &Window::stride),
                     argument("dilation_rate", windows, &Window::dilation), more);
}

// "((1, 2), (3, 4))", or "(1, 2)" of one axis, as ZeroPadding and Cropping take it.
std::string keras_pairs(const std::vector<Added>& cells) {
  std::vector<std::string> pairs;
  for (const Added& a : cells) pairs.push_back(fmt::format("({}, {})", a.before, a.after));
  return pairs.size() == 1 ? pairs.front() : fmt::format("({})", fmt::join(pairs, ", "));
}

// [[0, 0], [1, 2], [0, 0]]: batch first, channels last.
std::string tensorflow_pairs(const std::vector<Added>& cells) {
  std::string all = "[[0, 0]";
  for (const Added& a : cells) all += fmt::format(", [{}, {}]", a.before, a.after);
  return all + ", [0, 0]]";
}

std::string begins_then_ends(const std::vector<Added>& cells) {
  Sizes numbers;
  for (const Added& a : cells) numbers.push_back(a.before);
  for (const Added& a : cells) numbers.push_back(a.after);
  return list_of(numbers);
}

std::string interleaved(const std::vector<Added>& cells) {
  Sizes numbers;
  for (const Added& a : cells) numbers.insert(numbers.end(), {a.before, a.after});
  return list_of(numbers);
}

// TensorFlow takes one number or a list; conv3d takes all five.
std::string tensorflow_numbers(const std::vector<Window>& windows, Size Window::* member, bool all_five) {
  const Sizes numbers = of_windows(windows, member);
  if (all_five) return fmt::format("[1, {}, 1]", fmt::join(numbers, ", "));
  return std::ranges::all_of(numbers, [&](Size n) { return n == numbers.front(); }) ? std::to_string(numbers.front())
                                                                                    : list_of(numbers);
}
std::string tensorflow_dilations(const std::vector<Window>& windows, bool all_five) {
  if (!any_above_one(windows, &Window::dilation)) return "";
  return ", dilations=" + tensorflow_numbers(windows, &Window::dilation, all_five);
}

std::string tensorflow_call(const std::vector<Window>& windows, const std::string& x, const std::string& padding) {
  const bool five = windows.size() == 3;
  return fmt::format("tf.nn.conv{}d({}, w, {}, {}{})", windows.size(), x,
                     tensorflow_numbers(windows, &Window::stride, five), padding, tensorflow_dilations(windows, five));
}

std::string onnx_attributes(const std::vector<Window>& windows) {
  std::string all = fmt::format("kernel_shape={}", list_of(of_windows(windows, &Window::kernel)));
  if (any_above_one(windows, &Window::stride))
    all += fmt::format(" strides={}", list_of(of_windows(windows, &Window::stride)));
  if (any_above_one(windows, &Window::dilation))
    all += fmt::format(" dilations={}", list_of(of_windows(windows, &Window::dilation)));
  return all;
}

const char* tflite_operator(const std::vector<Window>& windows) { return windows.size() == 3 ? "CONV_3D" : "CONV_2D"; }
const char* unit_axis(const std::vector<Window>& windows) {
  return windows.size() == 1 ? "1-D: with a unit axis in front" : "";
}

SolveLine keras_line(const std::vector<Window>& windows, const std::vector<Added>& cells, PadsMean mean) {
  const std::string layer = fmt::format("Conv{}D", windows.size());
  const std::string pad = fmt::format("ZeroPadding{}D({})", windows.size(), keras_pairs(cells));
  const bool pads = !std::ranges::all_of(cells, nothing);
  if (strided_and_dilated(windows)) {
    auto unstrided = windows;
    std::string every;
    for (auto& w : unstrided) {
      every += w.stride == 1 ? ", :" : fmt::format(", ::{}", w.stride);
      w.stride = 1;
    }
    return {"Keras", fmt::format("{}{}(x)[:{}]", pads ? pad + ", then " : "", keras_layer(layer, unstrided), every),
            "its layer refuses stride with dilation"};
  }
  if (mean.valid) return {"Keras", keras_layer(layer, windows), ""};
  if (mean.same) return {"Keras", keras_layer(layer, windows, ", padding=\"same\""), ""};
  if (mean.causal && windows.size() == 1) return {"Keras", keras_layer(layer, windows, ", padding=\"causal\""), ""};
  return {"Keras", pad + ", then " + keras_layer(layer, windows), ""};
}

SolveLine tensorflow_line(const std::vector<Window>& windows, const std::vector<Added>& cells, PadsMean mean) {
  const std::string remark = windows.size() == 3 && any_above_one(windows, &Window::dilation)
                                 ? "its plain CPU kernels refuse dilation in 3-D"
                                 : "";
  if (mean.valid) return {"TensorFlow", tensorflow_call(windows, "x", "\"VALID\""), remark};
  if (mean.same) return {"TensorFlow", tensorflow_call(windows, "x", "\"SAME\""), remark};
  if (windows.size() == 2) return {"TensorFlow", tensorflow_call(windows, "x", tensorflow_pairs(cells)), remark};
  return {"TensorFlow", tensorflow_call(windows, "tf.pad(x, " + tensorflow_pairs(cells) + ")", "\"VALID\""), remark};
}

SolveLine torch_line(const std::vector<Window>& windows, const std::vector<Added>& cells, PadsMean mean) {
  if (mean.valid) return {"PyTorch", torch_layer("Conv", windows), ""};
  if (std::ranges::all_of(cells, [](const Added& a) { return a.before == a.after; })) {
    Sizes each;
    for (const Added& a : cells) each.push_back(a.before);
    return {"PyTorch", torch_layer("Conv", windows, ", padding=" + one_or_each(each)), ""};
  }
  const bool word = mean.same && !any_above_one(windows, &Window::stride);
  return {"PyTorch", fmt::format("x = F.pad(x, {}), then {}", torch_pairs(cells), torch_layer("Conv", windows)),
          word ? "or padding=\"same\", as the stride is 1" : ""};
}

// ---- transposed

bool nothing(const Crop& c) { return c.before == 0 && c.after == 0; }

std::vector<Added> cells_of(const std::vector<Crop>& crops) {
  std::vector<Added> cells;
  for (const Crop& c : crops) cells.push_back({c.before, c.after});
  return cells;
}

std::string slice(Size before, Size after) {
  return fmt::format("{}:{}", before > 0 ? fmt::format("{}", before) : "", after > 0 ? fmt::format("-{}", after) : "");
}

bool extends(const std::vector<Crop>& crops) {
  return std::ranges::any_of(crops, [](const Crop& c) { return c.before < 0 || c.after < 0; });
}

constexpr const char* bias_last = "the bias belongs on the added cells too: add it last";

SolveLine torch_crops(const std::vector<Window>& windows, const std::vector<Crop>& crops) {
  Sizes padding, output_padding;
  bool direct = true, cuts_end = true;
  for (std::size_t i = 0; i < crops.size(); ++i) {
    const Size more = crops[i].before - crops[i].after;
    direct = direct && crops[i].before >= 0 && more >= 0 && more < std::max(windows[i].stride, windows[i].dilation);
    cuts_end = cuts_end && crops[i].before >= 0 && more <= 0;
    padding.push_back(crops[i].before);
    output_padding.push_back(more);
  }
  const auto is_zero = [](Size n) { return n == 0; };
  const std::string front = std::ranges::all_of(padding, is_zero) ? "" : ", padding=" + one_or_each(padding);
  if (direct) {
    const std::string end =
        std::ranges::all_of(output_padding, is_zero) ? "" : ", output_padding=" + one_or_each(output_padding);
    return {"PyTorch", torch_layer("ConvTranspose", windows, front + end), ""};
  }
  if (cuts_end) {
    std::string cut;
    for (const Size more : output_padding) cut += ", " + slice(0, -more);
    return {"PyTorch", fmt::format("{}(x)[...{}]", torch_layer("ConvTranspose", windows, front), cut), ""};
  }
  std::vector<Added> negative;
  for (const Crop& c : crops) negative.push_back({-c.before, -c.after});
  return {"PyTorch", fmt::format("F.pad({}(x), {})", torch_layer("ConvTranspose", windows), torch_pairs(negative)),
          extends(crops) ? bias_last : "negative counts cut"};
}

// The Keras spelling whose crops these are on every axis, as arguments; nothing where there is none.
std::optional<std::string> keras_word(const std::vector<Window>& windows, const std::vector<Crop>& crops,
                                      const std::vector<std::optional<Size>>& in) {
  for (const auto spelling : {CropSpelling::KerasSame, CropSpelling::KerasValid})
    for (const bool given : {false, true}) {
      Sizes chosen;
      for (std::size_t i = 0; i < windows.size(); ++i)
        for (Size e = 0; e < (given ? windows[i].stride : 1); ++e) {
          const Size size = in[i].value_or(ample_size(windows[i]));
          const TransposedPadding p{spelling, 0, 0, given ? std::optional(e) : std::nullopt};
          const auto at = place(p, windows[i], size);
          if (!at || at->before != crops[i].before || at->after != crops[i].after) continue;
          chosen.push_back(e);
          break;
        }
      if (chosen.size() != windows.size()) continue;
      std::string words = spelling == CropSpelling::KerasSame ? ", padding=\"same\"" : "";
      if (given) words += ", output_padding=" + one_or_each(chosen);
      return words;
    }
  return std::nullopt;
}

SolveLine keras_crops(const std::vector<Window>& windows, const std::vector<Crop>& crops,
                      const std::vector<std::optional<Size>>& in) {
  const std::string layer = fmt::format("Conv{}DTranspose", windows.size());
  const std::string remark = strided_and_dilated(windows) ? "its layer refuses stride with dilation" : "";
  if (const auto words = keras_word(windows, crops, in)) return {"Keras", keras_layer(layer, windows, *words), remark};
  std::vector<Added> cut(crops.size()), add(crops.size());
  for (std::size_t i = 0; i < crops.size(); ++i) {
    // Keras `valid` already extends a scatter whose kernel is shorter than the stride.
    const auto valid = explicit_crops({CropSpelling::KerasValid, 0, 0, {}}, windows[i]);
    const Size before = crops[i].before, after = crops[i].after - (valid ? valid->after : 0);
    cut[i] = {std::max<Size>(before, 0), std::max<Size>(after, 0)};
    add[i] = {std::max<Size>(-before, 0), std::max<Size>(-after, 0)};
  }
  std::string code = keras_layer(layer, windows);
  if (!std::ranges::all_of(cut, static_cast<bool (*)(const Added&)>(nothing)))
    code += fmt::format(", then Cropping{}D({})", windows.size(), keras_pairs(cut));
  const bool longer = !std::ranges::all_of(add, static_cast<bool (*)(const Added&)>(nothing));
  if (longer) code += fmt::format(", then ZeroPadding{}D({})", windows.size(), keras_pairs(add));
  return {"Keras", code, longer ? bias_last : remark};
}

enum class RawWord { Same, Valid, None };

// TensorFlow's operator takes the length that comes out, and checks it.
RawWord raw_word(const std::vector<Window>& windows, const std::vector<Crop>& crops,
                 const std::vector<std::optional<Size>>& in) {
  bool same = true, valid = true;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Size n = in[i].value_or(ample_size(windows[i]));
    const Crop at = in[i] ? crops[i] : crop_by(crops[i].before, crops[i].after, windows[i], n);
    same = same && crop_to_gradient({Spelling::SameUpper}, windows[i], n, at.out) == at;
    valid = valid && at.before == 0 && at.after <= 0 && -at.after < windows[i].stride;
  }
  return same ? RawWord::Same : valid ? RawWord::Valid : RawWord::None;
}

std::string slices(const std::vector<Crop>& crops) {
  std::string all = "[:";
  for (const Crop& c : crops) all += ", " + slice(c.before, c.after);
  return all + "]";
}

SolveLine tensorflow_crops(const std::vector<Window>& windows, const std::vector<Crop>& crops,
                           const std::vector<std::optional<Size>>& in) {
  const RawWord word = raw_word(windows, crops, in);
  std::string shape = "[n", free;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (in[i]) {
      shape += fmt::format(", {}", word == RawWord::None ? full_length(windows[i], *in[i]) : crops[i].out);
      continue;
    }
    const std::string axis = windows.size() == 1 ? "" : std::to_string(i);
    shape += ", out" + axis;
    const Crop& cut = crops[i];
    const Size longer =
        word == RawWord::None ? full_length(windows[i], 1) : crop_by(cut.before, cut.after, windows[i], 1).out;
    free +=
        fmt::format("{}out{} = (n{} - 1) * {} + {}", free.empty() ? "" : ", ", axis, axis, windows[i].stride, longer);
  }
  const std::string call = fmt::format("tf.nn.conv{}d_transpose(x, w, {}, f], {}, \"{}\"{})", windows.size(), shape,
                                       tensorflow_numbers(windows, &Window::stride, false),
                                       word == RawWord::Same ? "SAME" : "VALID", tensorflow_dilations(windows, false));
  const std::string remark =
      any_above_one(windows, &Window::dilation) ? "its plain CPU kernels refuse dilation here" : free;
  if (word != RawWord::None) return {"TensorFlow", call, remark};
  if (!extends(crops)) return {"TensorFlow", call + slices(crops), remark};
  std::vector<Crop> cut = crops;
  std::vector<Added> add;
  for (Crop& c : cut) {
    add.push_back({std::max<Size>(-c.before, 0), std::max<Size>(-c.after, 0)});
    c.before = std::max<Size>(c.before, 0);
    c.after = std::max<Size>(c.after, 0);
  }
  const bool cuts = !std::ranges::all_of(cut, static_cast<bool (*)(const Crop&)>(nothing));
  return {"TensorFlow", fmt::format("tf.pad({}{}, {})", call, cuts ? slices(cut) : "", tensorflow_pairs(add)),
          bias_last};
}

SolveLine onnx_crops(const std::vector<Window>& windows, const std::vector<Crop>& crops) {
  std::vector<Added> pads;
  Sizes longer;
  bool direct = true;
  for (std::size_t i = 0; i < crops.size(); ++i) {
    direct = direct && crops[i].before >= 0 && -crops[i].after < windows[i].stride;
    pads.push_back({crops[i].before, std::max<Size>(crops[i].after, 0)});
    longer.push_back(std::max<Size>(-crops[i].after, 0));
  }
  const std::string node = "ConvTranspose  " + onnx_attributes(windows);
  if (!direct) return {"ONNX", node + ", then Slice and Pad", bias_last};
  const bool more = std::ranges::any_of(longer, [](Size n) { return n > 0; });
  return {"ONNX",
          fmt::format("{} pads={}{}", node, begins_then_ends(pads), more ? " output_padding=" + list_of(longer) : ""),
          ""};
}

SolveLine tflite_crops(const std::vector<Window>& windows, const std::vector<Crop>& crops,
                       const std::vector<std::optional<Size>>& in) {
  const std::string name = windows.size() == 3 ? "CONV_3D_TRANSPOSE" : "TRANSPOSE_CONV";
  if (any_above_one(windows, &Window::dilation))
    return {"TFLite", name + " with zeros written into the kernel, as it has no dilation", unit_axis(windows)};
  const RawWord word = raw_word(windows, crops, in);
  if (word != RawWord::None)
    return {"TFLite", name + (word == RawWord::Same ? " SAME" : " VALID") + ", output_shape as TensorFlow's",
            unit_axis(windows)};
  return {"TFLite", name + " VALID, then STRIDED_SLICE" + (extends(crops) ? " and PAD" : ""),
          extends(crops) ? bias_last : unit_axis(windows)};
}

SolveLine coreml_crops(const std::vector<Crop>& crops) {
  if (!extends(crops)) return {"Core ML", "conv_transpose pad_type=custom pad=" + interleaved(cells_of(crops)), ""};
  return {"Core ML", "conv_transpose pad_type=valid, then slice and pad", bias_last};
}

}  // namespace

std::string one_or_each(const Sizes& numbers) {
  if (std::ranges::all_of(numbers, [&](Size n) { return n == numbers.front(); }))
    return fmt::format("{}", numbers.front());
  return fmt::format("({})", fmt::join(numbers, ", "));
}

std::string list_of(const Sizes& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

Sizes of_windows(const std::vector<Window>& windows, Size Window::* member) {
  Sizes numbers;
  for (const Window& w : windows) numbers.push_back(w.*member);
  return numbers;
}

std::string torch_pairs(const std::vector<Added>& cells) {
  Sizes numbers;
  for (auto a = cells.rbegin(); a != cells.rend(); ++a) numbers.insert(numbers.end(), {a->before, a->after});
  return fmt::format("({})", fmt::join(numbers, ", "));
}

std::vector<SolveLine> lines_of_pads(const std::vector<Window>& windows, const std::vector<Added>& cells,
                                     PadsMean mean) {
  const bool dilated = any_above_one(windows, &Window::dilation);
  std::string onnx_remark;
  if (mean.same || mean.same_lower)
    onnx_remark = dilated ? "ONNX Runtime refuses auto_pad with dilation"
                          : (mean.same ? "auto_pad=SAME_UPPER says the same" : "auto_pad=SAME_LOWER says the same");
  if (mean.valid) onnx_remark.clear();
  std::string tflite = tflite_operator(windows);
  if (mean.valid) tflite += " VALID";
  else if (mean.same) tflite += " SAME";
  else tflite = "PAD, then " + tflite + " VALID";
  return {torch_line(windows, cells, mean),
          keras_line(windows, cells, mean),
          tensorflow_line(windows, cells, mean),
          {"ONNX", fmt::format("Conv  {} pads={}", onnx_attributes(windows), begins_then_ends(cells)), onnx_remark},
          {"TFLite", tflite, unit_axis(windows)},
          {"Core ML", "conv  pad_type=custom pad=" + interleaved(cells), ""}};
}

std::vector<SolveLine> lines_of_same(const std::vector<Window>& windows) {
  const std::vector<Added> none(windows.size());
  auto lines = lines_of_pads(windows, none, {.same = true});
  std::string pads;
  for (std::size_t i = windows.size(); i-- > 0;)
    pads += fmt::format("{}t{} // 2, t{} - t{} // 2", pads.empty() ? "" : ", ", i, i, i);
  lines[0] = {"PyTorch", fmt::format("x = F.pad(x, ({})), then {}", pads, torch_layer("Conv", windows)),
              "computed from the size, as below"};
  if (strided_and_dilated(windows)) lines[1] = {"Keras", "no word: its layer refuses stride with dilation", ""};
  lines[3] = any_above_one(windows, &Window::dilation)
                 ? SolveLine{"ONNX", "Pad with computed pads, then Conv  " + onnx_attributes(windows),
                             "ONNX Runtime refuses auto_pad with dilation"}
                 : SolveLine{"ONNX", "Conv  " + onnx_attributes(windows) + " auto_pad=SAME_UPPER", ""};
  lines[5] = {"Core ML", "pad with computed counts, then conv pad_type=valid", ""};
  return lines;
}

std::vector<SolveLine> lines_of_crops(const std::vector<Window>& windows, const std::vector<std::optional<Size>>& in,
                                      const std::vector<Crop>& crops) {
  return {torch_crops(windows, crops), keras_crops(windows, crops, in),  tensorflow_crops(windows, crops, in),
          onnx_crops(windows, crops),  tflite_crops(windows, crops, in), coreml_crops(crops)};
}

}  // namespace convoy::explain
