// Layers of Keras that are others put together, in the words that programs use themselves. What they hold lies in weights files where Keras keeps it: by the attributes that lead there.
#include "formats/keras/source/library.h"

#include <algorithm>
#include <array>

namespace convoy::keras {

namespace {

// Sources: keras/src/layers/rnn/conv_lstm.py of Keras 3.15; keras/engine/topology.py of Keras 1 for Merge.
constexpr const char* composed_layers = R"(
import math
from keras import layers, ops, activations
from keras.layers import merge

def conv_lstm(rank):
    spread = lambda n: (n,) * rank if isinstance(n, int) else tuple(n)

    class ConvLSTMCell(layers.Layer):
        def __init__(self, filters, kernel_size, strides, padding, dilation_rate, activation, recurrent_activation,
                     use_bias):
            super().__init__()
            self.filters, self.size, self.use_bias = filters, spread(kernel_size), use_bias
            self.strides, self.padding, self.rate = spread(strides), padding.lower(), spread(dilation_rate)
            self.activation, self.recurrent_activation = activations.get(activation), activations.get(recurrent_activation)

        def prepare(self, channels):
            if hasattr(self, "kernel"):
                return
            self.kernel = self.add_weight(name="kernel", shape=self.size + (channels, self.filters * 4))
            self.recurrent_kernel = self.add_weight(name="recurrent_kernel", initializer="orthogonal",
                                                    shape=self.size + (self.filters, self.filters * 4))
            if self.use_bias:
                self.bias = self.add_weight(name="bias", shape=(self.filters * 4,), initializer="zeros")

        def call(self, x, state=None):
            self.prepare(x.shape[-1])
            z = ops.conv(x, self.kernel, strides=self.strides, padding=self.padding, dilation_rate=self.rate,
                         data_format="channels_last")
            if self.use_bias:
                z = z + self.bias
            if state is not None:
                z = z + ops.conv(state[0], self.recurrent_kernel, strides=1, padding="same", data_format="channels_last")
            i, f, c, o = [z[..., n * self.filters:(n + 1) * self.filters] for n in range(4)]
            gate = lambda t: layers.Activation(self.recurrent_activation)(t)
            cell = gate(i) * layers.Activation(self.activation)(c)
            if state is not None:
                cell = gate(f) * state[1] + cell
            return gate(o) * layers.Activation(self.activation)(cell), cell

    class ConvLSTM(layers.Layer):
        def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1,
                     activation="tanh", recurrent_activation="sigmoid", use_bias=True, return_sequences=False,
                     return_state=False, go_backwards=False, name=None, input_shape=None, **kwargs):
            super().__init__(name=name)
            if data_format == "channels_first":
                raise NotImplementedError("a convolutional LSTM with channels first is not read")
            self.return_sequences, self.return_state, self.backwards = return_sequences, return_state, go_backwards
            self.cell = ConvLSTMCell(filters, kernel_size, strides, padding, dilation_rate, activation,
                                     recurrent_activation, use_bias)

        def call(self, x):
            if x.shape[1] is None:
                raise NotImplementedError("a convolutional LSTM over a free number of steps is not read; give it with --shape")
            state, given = None, []
            steps = range(x.shape[1])
            for t in reversed(steps) if self.backwards else steps:
                state = self.cell(x[:, t], state)
                given.append(state[0])
            made = ops.stack(given, axis=1) if self.return_sequences else given[-1]
            return [made, state[0], state[1]] if self.return_state else made

    return ConvLSTM

class ConvLSTM1D(conv_lstm(1)):
    pass

class ConvLSTM2D(conv_lstm(2)):
    pass

class ConvLSTM3D(conv_lstm(3)):
    pass

class Merge(layers.Layer):  # of Keras 1: a layer with a word for what it does, in front of it the models that it joins
    def __init__(self, layers=None, mode="sum", concat_axis=-1, dot_axes=-1, output_shape=None, output_mask=None,
                 arguments=None, node_indices=None, tensor_indices=None, name=None, **kwargs):
        super().__init__(name=name)
        self.branches = list(layers or [])
        self.mode, self.concat_axis, self.dot_axes, self.arguments = mode, concat_axis, dot_axes, arguments

    def call(self, inputs):
        if self.branches:
            inputs = [branch(x) for branch, x in zip(self.branches, inputs)]
        return merge(inputs, mode=self.mode, concat_axis=self.concat_axis, dot_axes=self.dot_axes,
                     arguments=self.arguments or {})
)";

}  // namespace

Result<std::optional<Value>> SourceLibrary::composed(Interpreter& in, const std::string& name) {
  constexpr std::array<std::string_view, 4> classes{"Merge", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"};
  if (name.find('.') != std::string::npos) return composed_function(in, name);
  if (std::ranges::find(classes, name) == classes.end()) return std::nullopt;
  if (!composed_) {
    auto made = in.run({"keras", composed_layers, ""});
    if (!made) return pass(made);
    composed_ = *made;
  }
  const Value* found = composed_->names.find(name);
  if (!found) return fail(Fault::Internal, "a layer that is put together is not there: " + name);
  return *found;
}

}  // namespace convoy::keras
