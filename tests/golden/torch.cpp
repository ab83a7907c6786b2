// PyTorch's functional calls: convolutions with every padding word, transposed ones, pools and pads.
#include "golden/calls.h"

#include <algorithm>

namespace convoy::golden {
namespace {

struct Mode {
  std::string_view word;
  PadMode mode;
};
constexpr Mode modes[] = {{"zeros", PadMode::Constant},
                          {"constant", PadMode::Constant},
                          {"reflect", PadMode::Reflect},
                          {"replicate", PadMode::Edge},
                          {"circular", PadMode::Wrap}};

PadMode mode_of(const Json& attrs, const char* name) {
  const std::string word = attrs.value(name, std::string("zeros"));
  for (const Mode& m : modes)
    if (m.word == word) return m.mode;
  return PadMode::Constant;
}

// F.pad's list: before and after of the last axis first.
Result<Pad> pad_of(const Json& list, Size rank) {
  Pad pad{Sizes(static_cast<std::size_t>(rank), 0), Sizes(static_cast<std::size_t>(rank), 0), PadMode::Constant, 0};
  if (!list.is_array() || list.size() % 2 != 0 || list.size() > static_cast<std::size_t>(2 * rank))
    return fail(Fault::Format, "pad list of another length");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t axis = static_cast<std::size_t>(rank) - 1 - i / 2;
    (i % 2 == 0 ? pad.before : pad.after)[axis] = list[i].get<Size>();
  }
  return pad;
}

struct Geometry {
  std::size_t space;
  Sizes kernel, stride, dilation, padding;
  bool same = false;
  Window window(std::size_t i) const { return {kernel[i], stride[i], dilation[i]}; }
};

Result<Geometry> geometry_of(const Case& c, const Sizes& kernel) {
  Geometry g{kernel.size(), kernel, {}, {}, {}, false};
  auto stride = numbers(c.attrs, "stride", g.space, 1);
  auto dilation = numbers(c.attrs, "dilation", g.space, 1);
  if (!stride) return pass(stride);
  if (!dilation) return pass(dilation);
  g.stride = *stride;
  g.dilation = *dilation;
  const std::string word =
      c.attrs.contains("padding") && c.attrs["padding"].is_string() ? c.attrs["padding"].get<std::string>() : "";
  g.same = word == "same";
  auto padding = word.empty() ? numbers(c.attrs, "padding", g.space, 0) : Result<Sizes>(Sizes(g.space, 0));
  if (!padding) return pass(padding);
  g.padding = *padding;
  if (g.same && std::ranges::any_of(g.stride, [](Size s) { return s != 1; }))
    return fail(Fault::Unsupported, "PyTorch has no 'same' with a stride");
  if (std::ranges::any_of(g.padding, [](Size p) { return p < 0; })) return fail(Fault::Format, "negative padding");
  return g;
}

Sizes spatial_of(const Tensor& kernel) { return {kernel.shape().begin() + 2, kernel.shape().end()}; }

Result<Answer> convolution(const Case& c) {
  Calls calls(c);
  const Array* w = c.input("w");
  if (!w) return fail(Fault::Format, "no weights");
  auto g = geometry_of(c, spatial_of(w->tensor));
  if (!g) return pass(g);
  const Size rank = static_cast<Size>(g->space) + 2;
  Conv conv{{Order::ChannelsFirst, static_cast<Size>(g->space)},
            KernelOrder::OutInSpace,
            {},
            {},
            c.attrs.value("groups", Size{1})};
  Pad front{Sizes(static_cast<std::size_t>(rank), 0), Sizes(static_cast<std::size_t>(rank), 0),
            mode_of(c.attrs, "padding_mode"), 0};
  for (std::size_t i = 0; i < g->space; ++i) {
    const Window window = g->window(i);
    conv.windows.push_back(window);
    const Size total = window.reach() - 1;
    front.before[i + 2] = g->same ? total / 2 : g->padding[i];
    front.after[i + 2] = g->same ? total - total / 2 : g->padding[i];
    if (front.mode != PadMode::Constant) conv.paddings.push_back({Spelling::Valid});
    else if (g->same) conv.paddings.push_back({Spelling::SameUpper});
    else conv.paddings.push_back({Spelling::Explicit, g->padding[i], g->padding[i]});
  }
  if (c.attrs.contains("pad")) {  // F.pad in front of the call
    auto pad = pad_of(c.attrs["pad"], rank);
    if (!pad) return pass(pad);
    if (auto added = calls.add(*pad); !added) return pass(added);
  }
  if (front.mode != PadMode::Constant)
    if (auto added = calls.add(front); !added) return pass(added);
  const ValueId kernel = calls.weight("w"), bias = calls.weight("b");
  if (auto added = calls.add(conv, kernel, bias); !added) return pass(added);
  return std::move(calls).run();
}

Result<Answer> transposed(const Case& c) {
  Calls calls(c);
  const Array* w = c.input("w");
  if (!w) return fail(Fault::Format, "no weights");
  auto g = geometry_of(c, spatial_of(w->tensor));
  if (!g) return pass(g);
  auto extra = numbers(c.attrs, "output_padding", g->space, 0);
  auto wanted = numbers(c.attrs, "output_size", g->space, -1);
  if (!extra) return pass(extra);
  if (!wanted) return pass(wanted);
  ConvTranspose conv{{Order::ChannelsFirst, static_cast<Size>(g->space)},
                     KernelOrder::InOutSpace,
                     {},
                     {},
                     c.attrs.value("groups", Size{1})};
  for (std::size_t i = 0; i < g->space; ++i) {
    const Window window = g->window(i);
    const Size least = full_length(window, *calls.shape()[i + 2]) - 2 * g->padding[i];
    if ((*wanted)[i] >= 0) {
      (*extra)[i] = (*wanted)[i] - least;
      if ((*extra)[i] < 0 || (*extra)[i] >= window.stride)
        return fail(Fault::Format, "no output of this size belongs to the input");
    }
    if ((*extra)[i] < 0 || (*extra)[i] >= std::max(window.stride, window.dilation))
      return fail(Fault::Format, "output_padding is not below stride or dilation");
    conv.windows.push_back(window);
    conv.paddings.push_back({CropSpelling::Explicit, g->padding[i], g->padding[i] - (*extra)[i], {}});
  }
  const ValueId kernel = calls.weight("w"), bias = calls.weight("b");
  if (auto added = calls.add(conv, kernel, bias); !added) return pass(added);
  return std::move(calls).run();
}

Result<Answer> padded(const Case& c) {
  Calls calls(c);
  const Size rank = static_cast<Size>(calls.shape().size());
  auto pad = pad_of(c.attrs.at("pad"), rank);
  if (!pad) return pass(pad);
  pad->mode = mode_of(c.attrs, "mode");
  if (pad->mode != PadMode::Constant && c.attrs["pad"].size() != static_cast<std::size_t>(2 * (rank - 2)))
    return fail(Fault::Format, "this mode pads all spatial axes or none");
  if (c.attrs.contains("value") && c.attrs["value"].is_number()) pad->value = c.attrs["value"].get<double>();
  if (auto added = calls.add(*pad); !added) return pass(added);
  return std::move(calls).run();
}

Result<Answer> pooled(const Case& c) {
  Calls calls(c);
  const std::size_t space = calls.shape().size() - 2;
  auto kernel = numbers(c.attrs, "kernel_size", space, 1);
  if (!kernel) return pass(kernel);
  auto g = geometry_of(c, *kernel);
  if (!g) return pass(g);
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  const Leftover leftover = flag(c.attrs, "ceil_mode", false) ? Leftover::CeilInside : Leftover::Drop;
  for (std::size_t i = 0; i < space; ++i) {
    if (c.op == "avg_pool" && space == 3 && *calls.shape()[i + 2] < g->kernel[i])
      return fail(Fault::Format, "a 3-D average needs an input as large as its window, whatever the padding");
    if (g->padding[i] > g->kernel[i] / 2) return fail(Fault::Format, "padding is more than half of the window");
    windows.push_back(g->window(i));
    paddings.push_back({Spelling::Explicit, g->padding[i], g->padding[i], leftover});
  }
  const Axes axes{Order::ChannelsFirst, static_cast<Size>(space)};
  Op op = MaxPool{axes, windows, paddings};
  if (c.op == "avg_pool") {
    AveragePool average{axes, windows, paddings, flag(c.attrs, "count_include_pad", true), {}};
    if (c.attrs.contains("divisor_override") && c.attrs["divisor_override"].is_number_integer())
      average.divisor = c.attrs["divisor_override"].get<Size>();
    op = average;
  }
  if (auto added = calls.add(op); !added) return pass(added);
  return std::move(calls).run();
}

Result<Answer> adaptive(const Case& c) {
  Calls calls(c);
  const std::size_t space = calls.shape().size() - 2;
  auto out = numbers(c.attrs, "output_size", space, 1);
  if (!out) return pass(out);
  const Extreme kind = c.op == "adaptive_max_pool" ? Extreme::Maximum : Extreme::Average;
  if (auto added = calls.add(AdaptivePool{{Order::ChannelsFirst, static_cast<Size>(space)}, kind, *out}); !added)
    return pass(added);
  return std::move(calls).run();
}

}  // namespace

Result<Answer> answer_torch(const Case& c) {
  if (!c.input("x")) return fail(Fault::Format, "input 'x' is missing");
  if (c.op == "conv") return convolution(c);
  if (c.op == "conv_transpose") return transposed(c);
  if (c.op == "pad") return padded(c);
  if (c.op == "max_pool" || c.op == "avg_pool") return pooled(c);
  if (c.op == "adaptive_max_pool" || c.op == "adaptive_avg_pool") return adaptive(c);
  return not_mapped("PyTorch's " + c.op);
}

}  // namespace convoy::golden
