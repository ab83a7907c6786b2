// The pages, row by row.
#include "explain/about.h"

#include "base/nearest.h"
#include "explain/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace convoy::explain {
namespace {

constexpr Padding valid{}, same{Spelling::SameUpper}, same_lower{Spelling::SameLower}, causal{Spelling::Causal};
constexpr Padding on_each_side(Size n, Leftover leftover = Leftover::Drop) {
  return {Spelling::Explicit, n, n, leftover};
}
constexpr Padding before_after(Size before, Size after) { return {Spelling::Explicit, before, after}; }
constexpr TransposedPadding keras_same{CropSpelling::KerasSame}, keras_valid{CropSpelling::KerasValid};

Numbers negative(Numbers x) {
  for (double& n : x) n = -n;
  return x;
}

// Collects rows; the first failure of an example sticks.
class Page {
 public:
  explicit Page(std::string framework) { page_.framework = std::move(framework); }

  Page& row(std::string words, std::string meaning) {
    page_.rows.push_back({std::move(words), std::move(meaning), {}});
    return *this;
  }
  Page& shows(const Result<Numbers>& numbers, std::string of = "") {
    if (!numbers) failed_ = failed_ ? failed_ : std::optional(numbers.error());
    else page_.rows.back().shown.push_back({std::move(of), text_of(*numbers)});
    return *this;
  }
  // x in brackets between the cells that were added to it.
  Page& borders(PadMode mode, std::string of = "") {
    const auto all = padded(four, {1, 1}, mode);
    if (!all) return shows(all);
    page_.rows.back().shown.push_back(
        {std::move(of), fmt::format("{} [{}] {}", text_of({all->front()}), text_of(four), text_of({all->back()}))});
    return *this;
  }
  Page& note(std::string text) {
    page_.notes.push_back(std::move(text));
    return *this;
  }
  Result<AboutPage> done() {
    if (failed_) return std::unexpected(*failed_);
    return std::move(page_);
  }

 private:
  AboutPage page_;
  std::optional<Error> failed_;
};

Result<Numbers> conv(Padding padding, Size stride = 1, Size dilation = 1) {
  return convolved(four, kernel_of_three, padding, stride, dilation);
}
Result<Numbers> conv_of_two(Padding padding) { return convolved(four, kernel_of_two, padding); }
Result<Numbers> scatter(TransposedPadding padding) { return transposed(three, kernel_of_three, padding, 2); }

Result<AboutPage> torch_page() {
  Page page("PyTorch");
  page.row("padding=1", "one zero on each side, always symmetric")
      .shows(conv(on_each_side(1)))
      .shows(conv(on_each_side(1), 2), "stride 2");
  page.row("padding='same'", "stride 1 only; an odd cell goes to the end").shows(conv_of_two(same), "w = 1 2");
  page.row("F.pad(x, (0, 1))", "unequal sides; pairs from the LAST axis backwards")
      .shows(conv(before_after(0, 1), 2), "stride 2, as Keras same");
  page.row("padding_mode='reflect'", "pads first, then convolves").borders(PadMode::Reflect);
  page.row("  'replicate'", "").borders(PadMode::Edge);
  page.row("  'circular'", "").borders(PadMode::Wrap);
  page.row("conv_transpose1d, stride 2", "all of the scatter").shows(scatter(crops(0, 0)));
  page.row("  padding=1", "CUTS one cell on each side").shows(scatter(crops(1, 1)));
  page.row("  output_padding=1", "then moves the end by one, never the front").shows(scatter(crops(1, 0)));
  page.row("max_pool1d(-x, 3, 2, 1)", "padding is -inf, never 0").shows(maximum(negative(four), 3, on_each_side(1), 2));
  page.row("avg_pool1d(x, 3, 2, 1)", "zeros are counted ...").shows(average(four, 3, on_each_side(1), 2, true));
  page.row("  count_include_pad=False", "... unless told otherwise").shows(average(four, 3, on_each_side(1), 2, false));
  page.row("max_pool1d(x, 3, 2)", "the last cells are left over ...").shows(maximum(four, 3, on_each_side(0), 2));
  page.row("  ceil_mode=True", "... or get one more, partial window")
      .shows(maximum(four, 3, on_each_side(0, Leftover::CeilInside), 2));
  page.note("A pool's padding is at most half its kernel. output_padding is smaller than the stride or the dilation.");
  page.note("There is no 'same' with a stride: pad first, by amounts that depend on the size (convoy pad --solve).");
  return page.done();
}

Result<AboutPage> keras_page() {
  Page page("Keras");
  page.row("padding=\"valid\"", "the default: nothing is added").shows(conv(valid)).shows(conv(valid, 2), "strides=2");
  page.row("padding=\"same\"", "ceil(n / strides) outputs; an odd cell goes to the end")
      .shows(conv(same))
      .shows(conv(same, 2), "strides=2");
  page.row("  kernel 2", "").shows(conv_of_two(same), "w = 1 2");
  page.row("  dilation_rate=2", "the pads grow with it").shows(conv(same, 1, 2));
  page.row("padding=\"causal\"", "Conv1D only: everything in front")
      .shows(conv(causal))
      .shows(conv(causal, 2), "strides=2");
  page.row("ZeroPadding1D(1), then \"valid\"", "numbers are a layer of their own; this is PyTorch's padding=1")
      .shows(conv(on_each_side(1)))
      .shows(conv(on_each_side(1), 2), "strides=2");
  page.row("Conv1DTranspose, strides=2", "\"valid\": all of the scatter").shows(scatter(keras_valid));
  page.row("  padding=\"same\"", "n * strides long; an odd cell is cut at the end").shows(scatter(keras_same));
  page.row("  \"same\", output_padding=0", "shorter by what strides would add")
      .shows(scatter({CropSpelling::KerasSame, 0, 0, 0}));
  page.row("  kernel 2, strides=3", "\"valid\" too is never shorter than n * strides")
      .shows(transposed(three, kernel_of_two, keras_valid, 3), "w = 1 2");
  page.row("MaxPooling1D(3, 2, \"same\")(-x)", "padding is -inf, never 0").shows(maximum(negative(four), 3, same, 2));
  page.row("AveragePooling1D(3, 2, \"same\")", "padding is left out of the mean")
      .shows(average(four, 3, same, 2, false));
  page.note("same at strides=2 pads (0, 1) where the size is even and (1, 1) where it is odd (kernel 3).");
  page.note("Conv layers refuse strides with dilation_rate. Kernels are [k..., in, out] whatever data_format says.");
  return page.done();
}

Result<AboutPage> tensorflow_page() {
  Page page("TensorFlow");
  page.row("\"VALID\"", "nothing is added").shows(conv(valid)).shows(conv(valid, 2), "stride 2");
  page.row("\"SAME\"", "ceil(n / stride) outputs; an odd cell goes to the end")
      .shows(conv(same))
      .shows(conv(same, 2), "stride 2");
  page.row("  dilations=2", "the pads grow with it").shows(conv(same, 1, 2));
  page.row("[[0, 0], [1, 1], [0, 0]]", "a list: conv2d and depthwise_conv2d only, batch and channels too; else tf.pad")
      .shows(conv(on_each_side(1), 2), "stride 2");
  page.row("tf.pad(x, ...)", "pairs in the order of the axes").borders(PadMode::Constant);
  page.row("  \"REFLECT\"", "mirrored, the border cell once").borders(PadMode::Reflect);
  page.row("  \"SYMMETRIC\"", "mirrored, the border cell twice").borders(PadMode::Symmetric);
  page.row("conv1d_transpose, stride 2", "the output size is yours; what is cut depends on it");
  page.row("  [1, 7, 1], \"VALID\"", "all of the scatter").shows(scatter(crops(0, 0)));
  page.row("  [1, 6, 1], \"SAME\"", "one cell too many: cut at the end").shows(scatter(keras_same));
  page.row("  [1, 5, 1], \"SAME\"", "two too many: one at each side").shows(scatter(crops(1, 1)));
  page.row("  [1, 8, 1], \"VALID\"", "longer than the scatter: zeros behind").shows(scatter(crops(0, -1)));
  page.row("max_pool1d(-x, 3, 2, \"SAME\")", "padding is -inf, never 0").shows(maximum(negative(four), 3, same, 2));
  page.row("avg_pool1d(x, 3, 2, \"SAME\")", "padding is left out of the mean").shows(average(four, 3, same, 2, false));
  page.note(
      "Negative counts are refused: slice. Edge and wrap are no modes: tf.gather (convoy pad 'F.pad(...)' writes it).");
  page.note("depthwise_conv2d with stride and dilation together is not a dilated convolution; do not use it.");
  return page.done();
}

Result<AboutPage> onnx_page() {
  Page page("ONNX");
  page.row("Conv pads=[1, 1]", "all begins, then all ends")
      .shows(conv(on_each_side(1)))
      .shows(conv(on_each_side(1), 2), "strides=[2]");
  page.row("  pads=[0, 1]", "sides may differ").shows(conv(before_after(0, 1), 2), "strides=[2]");
  page.row("  auto_pad=SAME_UPPER", "TensorFlow's rule: an odd cell goes to the end")
      .shows(conv(same, 2), "strides=[2]");
  page.row("  auto_pad=SAME_LOWER", "an odd cell goes in front").shows(conv(same_lower, 2), "strides=[2]");
  page.row("ConvTranspose strides=[2]", "all of the scatter").shows(scatter(crops(0, 0)));
  page.row("  pads=[1, 1]", "CUTS cells, like PyTorch's padding").shows(scatter(crops(1, 1)));
  page.row("  pads=[1, 1] output_padding=[1]", "gives back at the end").shows(scatter(crops(1, 0)));
  page.row("  pads=[0, 1]", "TensorFlow's SAME").shows(scatter(crops(0, 1)));
  const auto upper = onnx_same_crops({3, 2, 1}, 0, false), lower = onnx_same_crops({3, 2, 1}, 0, true);
  page.row("  auto_pad=SAME_UPPER", "the odd cell is cut at the end").shows(scatter(crops(upper.before, upper.after)));
  page.row("  auto_pad=SAME_LOWER", "the odd cell is cut in front").shows(scatter(crops(lower.before, lower.after)));
  const auto six = onnx_crop_to(6, {3, 2, 1}, 3, 0, true);
  page.row("  output_shape=[6]", "the larger half is cut in FRONT")
      .shows(scatter(six ? crops(six->before, six->after) : crops(0, 0)));
  page.row("MaxPool pads=[1, 1] of -x", "padding is -inf, never 0")
      .shows(maximum(negative(four), 3, on_each_side(1), 2));
  page.row("AveragePool pads=[1, 1]", "padding is left out of the mean ...")
      .shows(average(four, 3, on_each_side(1), 2, false));
  page.row("  count_include_pad=1", "... unless told otherwise").shows(average(four, 3, on_each_side(1), 2, true));
  page.row("  ceil_mode=1, no pads", "one more, partial window")
      .shows(average(four, 3, on_each_side(0, Leftover::CeilInside), 2, false));
  page.row("Pad mode=reflect", "begins, then ends, for every axis; negative counts cut").borders(PadMode::Reflect);
  page.row("  mode=edge", "").borders(PadMode::Edge);
  page.row("  mode=wrap", "operator set 19").borders(PadMode::Wrap);
  page.note("Write explicit pads: runtimes differ on auto_pad with dilation (refused), in pools and in ConvTranspose.");
  return page.done();
}

Result<AboutPage> tflite_page() {
  Page page("TFLite");
  page.row("CONV_2D VALID", "nothing is added").shows(conv(valid)).shows(conv(valid, 2), "stride 2");
  page.row("  SAME", "ceil(n / stride) outputs; an odd cell goes to the end")
      .shows(conv(same))
      .shows(conv(same, 2), "stride 2");
  page.row("PAD, then VALID", "operators hold no numbers; pairs for every axis, channels last")
      .shows(conv(on_each_side(1), 2), "stride 2");
  page.row("MIRROR_PAD REFLECT", "mirrored, the border cell once").borders(PadMode::Reflect);
  page.row("  SYMMETRIC", "mirrored, the border cell twice").borders(PadMode::Symmetric);
  page.row("TRANSPOSE_CONV, stride 2", "the output size is an input; nobody checks it");
  page.row("  VALID, 7", "all of the scatter").shows(scatter(crops(0, 0)));
  page.row("  SAME, 6", "one cell too many: cut at the end").shows(scatter(keras_same));
  page.row("MAX_POOL_2D SAME of -x", "padding is -inf, never 0").shows(maximum(negative(four), 3, same, 2));
  page.row("AVERAGE_POOL_2D SAME", "padding is left out of the mean").shows(average(four, 3, same, 2, false));
  page.note("One axis travels as two: a unit axis in front. VALID is the safer word wherever SAME adds nothing.");
  page.note("No groups and no dilation in TRANSPOSE_CONV, no dilation in pools.");
  return page.done();
}

Result<AboutPage> coreml_page() {
  Page page("Core ML");
  page.row("pad_type=custom pad=[1, 1]", "before and after, axis by axis (ONNX: all begins first)")
      .shows(conv(on_each_side(1)))
      .shows(conv(on_each_side(1), 2), "strides=[2]");
  page.row("  pad=[0, 1]", "sides may differ").shows(conv(before_after(0, 1), 2), "strides=[2]");
  page.row("pad_type=valid", "nothing is added").shows(conv(valid)).shows(conv(valid, 2), "strides=[2]");
  page.row("pad_type=same", "its text and its code disagree on the odd cell: write custom");
  page.row("conv_transpose, strides=[2]", "valid: all of the scatter").shows(scatter(crops(0, 0)));
  page.row("  custom pad=[1, 1]", "CUTS cells").shows(scatter(crops(1, 1)));
  page.row("  custom pad=[0, 1]", "TensorFlow's SAME").shows(scatter(crops(0, 1)));
  page.row("max_pool custom pad=[1, 1] of -x", "padding is -inf, never 0")
      .shows(maximum(negative(four), 3, on_each_side(1), 2));
  page.row("avg_pool custom pad=[1, 1]", "zeros are counted ...").shows(average(four, 3, on_each_side(1), 2, true));
  page.row("  exclude_padding_from_average", "... unless told otherwise")
      .shows(average(four, 3, on_each_side(1), 2, false));
  page.row("pad mode=reflect", "the last axes, in their order").borders(PadMode::Reflect);
  page.row("  mode=replicate", "").borders(PadMode::Edge);
  page.note(
      "Negative pads do not exist: slice. output_shape of conv_transpose differs between compute units: do not write "
      "it.");
  return page.done();
}

struct Known {
  std::string_view name;
  Result<AboutPage> (*page)();
};
constexpr std::array pages{Known{"torch", torch_page},           Known{"keras", keras_page},
                           Known{"tensorflow", tensorflow_page}, Known{"onnx", onnx_page},
                           Known{"tflite", tflite_page},         Known{"coreml", coreml_page}};

}  // namespace

std::string about_names() {
  std::string all;
  for (const auto& known : pages)
    all += fmt::format("{}{}", all.empty() ? "" : &known == &pages.back() ? " or " : ", ", known.name);
  return all;
}

Result<AboutPage> about(std::string_view framework) {
  const auto found = std::ranges::find(pages, framework, &Known::name);
  std::vector<std::string> all;
  for (const Known& page : pages) all.emplace_back(page.name);
  if (found == pages.end())
    return fail(Fault::Usage, fmt::format("--about '{}': there are pages about {}{}", framework, about_names(),
                                          did_you_mean(framework, all)));
  return found->page();
}

}  // namespace convoy::explain
