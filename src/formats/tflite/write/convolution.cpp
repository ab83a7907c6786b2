// Convolutions and transposed ones: over one axis as over two of which the first has one cell.
#include "formats/tflite/write/sink.h"

#include "ops/agreement.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::tflite {
namespace {

constexpr Size same = 0, valid = 1;

Shape with_unit_axis(Shape shape) {
  shape.insert(shape.begin() + 1, Dim(1));
  return shape;
}

Place put_in_axis(Sink& sink, Place x) {
  const TensorType type = sink.type_of(x);
  return sink.step("EXPAND_DIMS", {x, sink.whole(1)}, {type.dtype, with_unit_axis(type.shape)});
}

// [1] in front of a kernel's or a bias's axes.
Sizes with_one(Sizes shape) {
  shape.insert(shape.begin(), 1);
  return shape;
}

std::vector<Window> in_two_axes(std::vector<Window> windows) {
  if (windows.size() == 1) windows.insert(windows.begin(), Window{});
  return windows;
}

void say_strides(Options& options, const std::vector<Window>& windows) {
  const char* strides[] = {"stride_d", "stride_h", "stride_w"};
  for (std::size_t i = 0; i < windows.size(); ++i)
    options.push_back({strides[3 - windows.size() + i], windows[i].stride});
}
void say_dilations(Options& options, const std::vector<Window>& windows) {
  const char* dilations[] = {"dilation_d_factor", "dilation_h_factor", "dilation_w_factor"};
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (windows[i].dilation != 1) options.push_back({dilations[3 - windows.size() + i], windows[i].dilation});
}

// SAME where every axis says so. Where it pads nothing VALID says it too, and runs right in every delegate.
std::optional<Size> padding_word(Axes axes, const std::vector<Padding>& paddings, const std::vector<Window>& windows,
                                 const Shape& shape) {
  const auto all = [&](Spelling spelling) {
    return std::ranges::all_of(paddings, [&](const Padding& p) { return p.spelling == spelling; });
  };
  if (all(Spelling::Valid)) return valid;
  if (!all(Spelling::SameUpper)) return std::nullopt;
  bool pads = false;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Dim n = at(shape, axes.spatial(static_cast<Size>(i)));
    const Padding nothing{Spelling::Valid};
    pads = pads ||
           !(n.known() ? same_at(paddings[i], nothing, windows[i], *n) : same_always(paddings[i], nothing, windows[i]));
  }
  return pads ? same : valid;
}

// XNNPACK begins inside the input where SAME leaves cells between the last window and the end, as it may where the stride
// is longer than the window: there a convolution says SAME by other words.
bool leaves_cells(const Padding& padding, Window window, Dim n) {
  if (window.reach() >= window.stride) return false;
  if (!n.known()) return true;
  const auto at = place(padding, window, *n);
  return at && read_past(*at, window, *n) < 0;
}
bool leaves_cells(const std::vector<Padding>& paddings, const std::vector<Window>& windows, Axes axes,
                  const Shape& shape) {
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (leaves_cells(paddings[i], windows[i], at(shape, axes.spatial(static_cast<Size>(i))))) return true;
  return false;
}

// Windows of one cell read every stride-th cell: those alone are handed on, and the stride is one.
Place taken_by_stride(Sink& sink, Place x, Axes axes, std::vector<Window>& windows) {
  TensorType type = sink.type_of(x);
  const auto rank = type.shape.size();
  const Size all = (Size{1} << rank) - 1;
  Sizes steps(rank, 1);
  for (Size i = 0; i < axes.space; ++i) {
    Window& window = windows[static_cast<std::size_t>(i)];
    if (window.reach() != 1 || window.stride == 1) continue;
    const auto axis = static_cast<std::size_t>(axes.spatial(i));
    steps[axis] = window.stride;
    Dim& size = type.shape[axis];
    const auto at = size.known() ? place({Spelling::SameUpper}, window, *size) : std::nullopt;
    if (at) size = Dim(at->out);
    window = Window{};
  }
  const Place edge = sink.numbers(Sizes(rank, 0));
  return sink.step("STRIDED_SLICE", {x, edge, edge, sink.numbers(steps)}, type,
                   {{"begin_mask", all}, {"end_mask", all}});
}

// The cells that no word of TFLite's says, put in front: what is left is VALID.
Place padded(Sink& sink, Place x, Axes axes, const std::vector<Padding>& paddings, const std::vector<Window>& windows,
             bool& known) {
  TensorType type = sink.type_of(x);
  Sizes pairs(2 * type.shape.size(), 0);
  for (Size i = 0; i < axes.space; ++i) {
    const auto axis = static_cast<std::size_t>(axes.spatial(i)), k = static_cast<std::size_t>(i);
    const auto added = pads_in_front(paddings[k], windows[k], type.shape[axis].size());
    if (!added) return known = false, x;
    pairs[2 * axis] = added->before, pairs[2 * axis + 1] = added->after;
    if (type.shape[axis].known()) type.shape[axis] = Dim(*type.shape[axis] + added->before + added->after);
  }
  const Place cells = sink.numbers(pairs);
  return sink.step("PAD", {x, sink.stored_shape(cells, {static_cast<Size>(type.shape.size()), 2})}, type);
}

// The word for a convolution's padding, behind what has to be done to its input before.
Result<Size> worded(Sink& sink, Place& x, const Conv& conv, std::vector<Window>& windows) {
  auto word = padding_word(conv.axes, conv.paddings, windows, sink.type_of(x).shape);
  const auto skips = [&] { return leaves_cells(conv.paddings, windows, conv.axes, sink.type_of(x).shape); };
  if (word && (*word == valid || !skips())) return *word;
  bool known = true;
  const Place more = padded(sink, x, conv.axes, conv.paddings, windows, known);
  if (known) return x = more, valid;
  if (!word) return sink.refused("a padding that changes with a free size");
  x = taken_by_stride(sink, x, conv.axes, windows);
  if (!skips()) return same;
  return fail(Fault::Unsupported,
              "SAME of a stride longer than the kernel, at a free size, is read otherwise by TFLite's default "
              "interpreter; give the size with --size");
}

// The kernels want one, zeros where the layer has none.
Place bias_of(Sink& sink, const Sizes& kernel, bool depthwise) {
  if (sink.has(2)) return sink.input(2);
  const Size channels = depthwise ? kernel[kernel.size() - 2] * kernel.back() : kernel.back();
  return sink.constant("bias", Tensor::of({channels}, std::vector<float>(static_cast<std::size_t>(channels), 0.0F)));
}

Status write_conv(const Conv& conv, Sink& sink) {
  const Size space = conv.axes.space;
  if (space < 1 || space > 3) return sink.refused("a convolution over " + std::to_string(space) + " spatial axes");
  if (conv.axes.order != Order::ChannelsLast) return sink.broken("a convolution with channels first");
  const Tensor* kernel = sink.constant(1);
  if (!kernel) return sink.refused("a kernel that the model computes");
  if (sink.type().dtype != DType::F32)
    return sink.refused("a convolution of " + std::string(name_of(sink.type().dtype)));
  const bool depthwise = conv.kernel_order == KernelOrder::SpaceInMultiplier;
  if (!depthwise && conv.kernel_order != KernelOrder::SpaceInOut) return sink.broken("a kernel in another order");
  if (space == 3 && (depthwise || conv.groups != 1)) return sink.refused("a convolution in groups over three axes");
  Place x = sink.input();
  std::vector<Window> windows = conv.windows;
  const auto word = worded(sink, x, conv, windows);
  if (!word) return std::unexpected(word.error());
  if (space == 1) x = put_in_axis(sink, x);
  windows = in_two_axes(std::move(windows));
  Options options{{"padding", *word}};
  say_strides(options, windows);
  say_dilations(options, windows);
  if (const Size fused = sink.activation()) options.push_back({"fused_activation_function", fused});
  Sizes shape = kernel->shape();
  Tensor stored = space == 1 ? kernel->reshaped(with_one(shape)) : *kernel;
  shape = stored.shape();
  int version = 1;
  const char* op = "CONV_2D";
  if (space == 3) {
    op = "CONV_3D";
  } else if (depthwise) {
    op = "DEPTHWISE_CONV_2D";
    options.push_back({"depth_multiplier", shape[3]});
    stored = stored.reshaped({1, shape[0], shape[1], shape[2] * shape[3]});
    if (windows[0].dilation != 1 || windows[1].dilation != 1) version = 2;
  } else {
    stored = stored.permuted(Sizes{3, 0, 1, 2});
    if (conv.groups != 1) version = 6;
  }
  const std::vector<Place> inputs{x, sink.stored(1, std::move(stored)), bias_of(sink, kernel->shape(), depthwise)};
  if (space != 1) return sink.last(op, inputs, std::move(options), version), Status();
  const TensorType made{DType::F32, with_unit_axis(sink.result_type().shape)};
  const Place y = sink.step(op, inputs, made, std::move(options), version);
  sink.last("SQUEEZE", {y}, {{"squeeze_dims", Sizes{1}}});
  return {};
}

// The input gradient of a forward convolution that gives as many cells as there are: VALID and SAME are tried,
// at the size that is known or at several.
Status write_transposed(const ConvTranspose& conv, Sink& sink) {
  const Size space = conv.axes.space;
  if (space < 1 || space > 3)
    return sink.refused("a transposed convolution over " + std::to_string(space) + " spatial axes");
  if (conv.axes.order != Order::ChannelsLast || conv.kernel_order != KernelOrder::SpaceOutIn)
    return sink.broken("a transposed convolution in another order");
  const Tensor* kernel = sink.constant(1);
  if (!kernel) return sink.refused("a kernel that the model computes");
  if (conv.groups != 1) return sink.refused("a transposed convolution in groups");
  std::optional<Size> word;
  std::vector<TransposedPadding> crops;
  for (std::size_t i = 0; i < conv.windows.size(); ++i) {
    if (conv.windows[i].dilation != 1) return sink.refused("a transposed convolution with dilation");
    const auto crop = explicit_crops(conv.paddings[i], conv.windows[i]);
    if (!crop) return sink.broken("crops of a transposed convolution");
    crops.push_back(*crop);
  }
  for (const Size tried : {valid, same}) {
    bool fits = true;
    for (std::size_t i = 0; i < conv.windows.size(); ++i) {
      const Dim n = at(sink.type().shape, conv.axes.spatial(static_cast<Size>(i)));
      const Padding padding{tried == same ? Spelling::SameUpper : Spelling::Valid};
      for (const Size in : n.known() ? Sizes{*n} : Sizes{1, 2, 5, 64}) {
        const Crop wanted = crop_by(crops[i].before, crops[i].after, conv.windows[i], in);
        const auto found = crop_to_gradient(padding, conv.windows[i], in, wanted.out);
        fits = fits && found && found->before == wanted.before;
      }
    }
    if (fits && !word) word = tried;
  }
  if (!word) return sink.refused("a transposed convolution with these crops");
  Place x = sink.input();
  Shape wanted = sink.result_type().shape;
  const TensorType result = sink.result_type();
  if (space == 1) x = put_in_axis(sink, x), wanted = with_unit_axis(wanted);
  const auto windows = in_two_axes(conv.windows);
  // Free sizes are the input's, stride times over, and so many cells more.
  std::vector<Size> from;
  Sizes times(wanted.size(), 1), more(wanted.size(), 0);
  for (std::size_t i = 0; i < wanted.size(); ++i) from.push_back(static_cast<Size>(i));
  for (std::size_t i = 0; i < windows.size(); ++i) {
    times[i + 1] = windows[i].stride;
    const std::size_t own = i + conv.windows.size() - windows.size();
    if (own < crops.size())
      more[i + 1] = crop_by(crops[own].before, crops[own].after, windows[i], 1).out - times[i + 1];
  }
  const Place shape = sink.sizes(wanted, x, from, times, more);
  Options options{{"padding", *word}};
  say_strides(options, windows);
  Tensor stored = space == 1 ? kernel->reshaped(with_one(kernel->shape())) : *kernel;
  if (space < 3) stored = stored.permuted(Sizes{2, 0, 1, 3});
  std::vector<Place> inputs{shape, sink.stored(1, std::move(stored)), x};
  if (sink.has(2)) inputs.push_back(sink.input(2));
  const char* op = space == 3 ? "CONV_3D_TRANSPOSE" : "TRANSPOSE_CONV";
  const int version = space < 3 && sink.has(2) ? 3 : 1;
  if (space != 1) return sink.last(op, std::move(inputs), std::move(options), version), Status();
  const Place y = sink.step(op, std::move(inputs), {DType::F32, wanted}, std::move(options), version);
  sink.last("SQUEEZE", {y}, {{"squeeze_dims", Sizes{1}}});
  return {};
}

constexpr std::array convolution_writers{writes<write_conv>(), writes<write_transposed>()};
static_assert(decides<Convolution>(convolution_writers));

// ---- pools ------------------------------------------------------------------------------------------------------------

// Windows over three axes, over the last two first, in which all cells of the first lie one behind another, then over that one,
// in which all of the others lie side by side.
Status write_pool_in_two_steps(const char* op, const std::vector<Window>& windows, const std::vector<Padding>& paddings,
                               Sink& sink) {
  const Shape in = sink.type().shape, out = sink.result_type().shape;
  for (std::size_t i = 1; i < in.size(); ++i)
    if (!in[i].known()) return sink.refused("a pool over three axes whose sizes are not known beforehand");
  const DType dtype = sink.type().dtype;
  const auto step = [&](Place x, const std::vector<Window>& two, const std::vector<Padding>& said,
                        Shape made) -> Result<Place> {
    const auto word = padding_word({Order::ChannelsLast, 2}, said, two, sink.type_of(x).shape);
    if (!word) return sink.broken("a padding of a pool");
    Options options{{"padding", *word}, {"filter_height", two[0].kernel}, {"filter_width", two[1].kernel}};
    say_strides(options, two);
    return sink.step(op, {x}, {dtype, std::move(made)}, std::move(options));
  };
  const auto shaped = [&](Place x, Shape to) {
    const Place sizes = sink.sizes(to, x, {});
    return sink.step("RESHAPE", {x, sizes}, {dtype, std::move(to)});
  };
  const Dim planes = in[0].known() ? Dim(*in[0] * *in[1]) : Dim::unknown(), cells = Dim(*out[2] * *out[3]);
  auto y = step(shaped(sink.input(), {planes, in[2], in[3], in[4]}), {windows[1], windows[2]},
                {paddings[1], paddings[2]}, {planes, out[2], out[3], in[4]});
  if (y)
    y = step(shaped(*y, {in[0], in[1], cells, in[4]}), {windows[0], Window{}}, {paddings[0], paddings[0]},
             {in[0], out[1], cells, in[4]});
  if (!y) return pass(y);
  sink.last("RESHAPE", {*y, sink.sizes(out, *y, {})});
  return {};
}

Status write_pool(const char* op, Axes axes, const std::vector<Window>& said, const std::vector<Padding>& paddings,
                  Sink& sink) {
  if (axes.space < 1 || axes.space > 3)
    return sink.refused("a pool over " + std::to_string(axes.space) + " spatial axes");
  if (axes.order != Order::ChannelsLast) return sink.broken("a pool with channels first");
  const auto windows = in_two_axes(said);
  for (const Window& w : windows)
    if (w.dilation != 1) return sink.refused("a pool with dilation");
  if (axes.space == 3) return write_pool_in_two_steps(op, windows, paddings, sink);
  const auto word = padding_word(axes, paddings, said, sink.type().shape);
  if (!word) return sink.broken("a padding of a pool");
  Place x = sink.input();
  if (axes.space == 1) x = put_in_axis(sink, x);
  Options options{{"padding", *word}, {"filter_height", windows[0].kernel}, {"filter_width", windows[1].kernel}};
  say_strides(options, windows);
  if (const Size fused = sink.activation()) options.push_back({"fused_activation_function", fused});
  if (axes.space == 2) return sink.last(op, {x}, std::move(options)), Status();
  const TensorType made{sink.result_type().dtype, with_unit_axis(sink.result_type().shape)};
  sink.last("SQUEEZE", {sink.step(op, {x}, made, std::move(options))}, {{"squeeze_dims", Sizes{1}}});
  return {};
}

Status write_max_pool(const MaxPool& pool, Sink& sink) {
  if (pool.positions != Positions::None && sink.is_read(1))
    return sink.refused("a pool that tells where its maxima lie");
  return write_pool("MAX_POOL_2D", pool.axes, pool.windows, pool.paddings, sink);
}

Status write_average_pool(const AveragePool& pool, Sink& sink) {
  if (pool.divisor) return sink.broken("a divisor of an average");
  if (pool.counts_padding)
    for (const Padding& p : pool.paddings)
      if (p.spelling != Spelling::Valid) return sink.broken("an average that counts padding");
  return write_pool("AVERAGE_POOL_2D", pool.axes, pool.windows, pool.paddings, sink);
}

Status write_adaptive(const AdaptivePool& pool, Sink& sink) {
  if (pool.positions != Positions::None && sink.is_read(1))
    return sink.refused("a pool that tells where its maxima lie");
  if (std::ranges::count(pool.out, Size{1}) != pool.axes.space)
    return sink.refused("an adaptive pool to more than one cell");
  Sizes axes;
  for (Size i = 0; i < pool.axes.space; ++i) axes.push_back(pool.axes.spatial(i));
  sink.last(pool.kind == Extreme::Maximum ? "REDUCE_MAX" : "MEAN", {sink.input(), sink.numbers(axes)},
            {{"keep_dims", Size{1}}});
  return {};
}

constexpr std::array pooling_writers{writes<write_max_pool>(), writes<write_average_pool>(),
                                     lacks<LpPool, Sink>("TFLite has no pool of powers"), writes<write_adaptive>(),
                                     lacks<MaxUnpool, Sink>("TFLite has nothing that puts numbers at told positions")};
static_assert(decides<Pooling>(pooling_writers));

}  // namespace

std::span<const Row> convolution_rows() { return convolution_writers; }
std::span<const Row> pooling_rows() { return pooling_writers; }

}  // namespace convoy::tflite
