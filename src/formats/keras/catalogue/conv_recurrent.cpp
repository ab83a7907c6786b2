// ConvLSTM1D to ConvLSTM3D, a step at a time: no other framework has such a cell. Source: keras/src/layers/rnn/conv_lstm.py and
// rnn.py of Keras 3.15.
#include "formats/keras/catalogue/old_kernels.h"
#include "formats/keras/catalogue/recurrent.h"
#include "formats/keras/catalogue/windows.h"

#include <array>
#include <string>

namespace convoy::keras {
namespace {

struct ConvCell {
  Axes axes;
  Size filters = 0;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  Kernel kernel, recurrent;
  ValueId bias;  // none: the layer has no bias
};

Shape shape_of_gates(const Sizes& kernel, Dim in, Size filters) {
  Shape shape(kernel.begin(), kernel.end());
  shape.insert(shape.end(), {in, Dim(4 * filters)});
  return shape;
}

ConvCell cell_of(Use& use, ValueId x) {
  Call& call = use.call;
  ConvCell cell{{call.order(), use.space()}, use.whole("filters"), {}, {}, {}, {}, {}};
  const Sizes kernel = use.sizes("kernel_size", static_cast<std::size_t>(use.space()));
  cell.windows = windows_of(use, kernel);
  expect_no_strided_dilation(use, cell.windows);
  cell.paddings.assign(cell.windows.size(), Padding{padding_of(use)});
  if (!call.failed() && (cell.filters < 1 || cell.filters > (1 << 22)))
    call.refuse(Fault::Format, "attribute 'filters' is " + std::to_string(cell.filters));
  if (!call.expect_rank(x, cell.axes.rank() + 1)) return cell;
  const Dim channels = call.dim(x, cell.axes.channel() + 1);
  call.enter(cell_group(call.layer));
  const auto order = KernelOrder::SpaceInOut;
  cell.kernel = kernel_value(call, "kernel", shape_of_gates(kernel, channels, cell.filters), order, kernel.size());
  cell.recurrent =
      kernel_value(call, "recurrent_kernel", shape_of_gates(kernel, cell.filters, cell.filters), order, kernel.size());
  if (use.truth("use_bias")) cell.bias = call.weight("bias", {4 * cell.filters});
  call.leave();
  return cell;
}

// The activation of this attribute; one that is not said is the default, and null is none.
ValueId gated(Use& use, std::string_view key, ValueId y, const std::string& step) {
  Call& call = use.call;
  if (call.failed()) return {};
  const Json* said = call.layer.config && call.layer.config->is_object() && call.layer.config->contains(key)
                         ? &(*call.layer.config)[std::string(key)]
                         : nullptr;
  if (said && said->is_object()) return call.activated(y, key);
  if (said && said->is_null()) return y;
  return activate(call, y, use.word(key), step);
}

// Keras has both of one step: what is given, and the state behind it.
struct State {
  ValueId hidden, cell;
};

// i, f, c, o = x * kernel + bias + hidden * recurrent kernel; cell = f cell + i act(c); hidden = o act(cell). No state: zeros.
State stepped(Use& use, const ConvCell& of, ValueId x, State before, const std::string& step, bool is_result) {
  Call& call = use.call;
  const auto named = [&](const char* word) { return step + "/" + word; };
  Values inputs{x, of.kernel.value};
  if (of.bias) inputs.push_back(of.bias);
  ValueId sum = call.add(Conv{of.axes, of.kernel.order, of.windows, of.paddings, 1}, inputs, named("input"));
  if (before.hidden) {
    const std::vector<Padding> same(of.windows.size(), Padding{Spelling::SameUpper});
    std::vector<Window> windows = of.windows;
    for (Window& window : windows) window.stride = window.dilation = 1;
    const ValueId part = call.add(Conv{of.axes, of.recurrent.order, windows, same, 1},
                                  {before.hidden, of.recurrent.value}, named("state"));
    sum = call.add(Binary{BinaryFunction::Add}, {sum, part}, named("sum"));
  }
  const auto gate = [&](Size which, const char* word) {
    const Size first = which * of.filters;
    return call.add(Slice{of.axes.channel(), first, first + of.filters, 1}, {sum}, named(word));
  };
  const auto product = [&](ValueId a, ValueId b, const std::string& name) {
    return call.add(Binary{BinaryFunction::Multiply}, {a, b}, name);
  };
  const auto opened = [&](Size which, const char* word) {
    return gated(use, "recurrent_activation", gate(which, word), named(word) + "_gate");
  };
  const ValueId input = opened(0, "i"), made = gated(use, "activation", gate(2, "c"), named("c_made"));
  ValueId cell = product(input, made, named("added"));
  if (before.cell)
    cell = call.add(Binary{BinaryFunction::Add}, {product(opened(1, "f"), before.cell, named("kept")), cell},
                    named("cell"));
  const ValueId output = opened(3, "o"), shown = gated(use, "activation", cell, named("shown"));
  return {product(output, shown, is_result ? std::string() : named("output")), cell};
}

Values conv_lstm(Use& use) {
  Call& call = use.call;
  const ValueId x = sequence_of(call);
  const Values given = states_given(call);
  call.attrs.ignore({"unit_forget_bias", "dropout", "recurrent_dropout", "unroll", "implementation", "seed",
                     "recurrent_initializer", "zero_output_for_mask"});  // masks are refused
  const bool backwards = use.truth("go_backwards"), sequence = use.truth("return_sequences"),
             states = use.truth("return_state");
  expect_usual_walk(use);
  if (!given.empty() && given.size() != 2)
    call.refuse(Fault::Format, "begins with " + std::to_string(given.size()) + " states, it has 2");
  const ConvCell cell = cell_of(use, x);
  if (call.failed()) return {};
  const auto steps = steps_to_walk(call, x, "sequence", "--shape");
  if (!steps) return {};
  State state;
  if (!given.empty()) state = {given[0], given[1]};
  Values outputs;
  for (Size i = 0; i < *steps && !call.failed(); ++i) {
    const Size at = backwards ? *steps - 1 - i : i;
    const std::string step = "step_" + std::to_string(at);
    const ValueId cut = call.add(Slice{1, at, at + 1, 1}, {x}, step + "/cut");
    state = stepped(use, cell, call.add(Squeeze{{1}}, {cut}, step + "/x"), state, step, !sequence && i + 1 == *steps);
    if (sequence) outputs.push_back(call.add(Unsqueeze{{1}}, {state.hidden}, step + "/y"));
  }
  if (call.failed()) return {};
  Values all{sequence ? call.add(Concat{1}, outputs) : state.hidden};
  if (states) all.insert(all.end(), {state.hidden, state.cell});
  return all;
}

constexpr std::array rows_of_conv_recurrent{CatalogueRow{
    "layers.ConvLSTM1D layers.ConvLSTM2D layers.ConvLSTM3D",
    "filters kernel_size strides=1 padding=valid data_format= dilation_rate=1 activation=tanh "
    "recurrent_activation=sigmoid "
    "use_bias=True kernel_initializer= recurrent_initializer= bias_initializer= unit_forget_bias= kernel_regularizer= "
    "recurrent_regularizer= bias_regularizer= activity_regularizer= kernel_constraint= recurrent_constraint= "
    "bias_constraint= dropout= recurrent_dropout= seed= return_sequences=False return_state=False go_backwards=False "
    "stateful=False unroll= time_major=False implementation= zero_output_for_mask=",
    conv_lstm}};

}  // namespace

std::span<const CatalogueRow> conv_recurrent_operators() { return rows_of_conv_recurrent; }

}  // namespace convoy::keras
