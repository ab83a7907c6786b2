// Layers of Keras that are others put together, and functions of keras.backend by those of keras.ops, in the words that
// programs use themselves. What they hold lies in weights files where Keras keeps it: by the attributes that lead there.
#include "formats/keras/source/library.h"

#include <algorithm>
#include <array>

namespace convoy::keras {

namespace {

// Sources: keras/src/layers/attention/multi_head_attention.py, attention.py, additive_attention.py and
// keras/src/layers/rnn/conv_lstm.py of Keras 3.15; tf_keras/src/backend.py of Keras 2.
constexpr const char* text = R"(
import math
from keras import layers, ops, activations

def masked(scores, mask, causal):  # scores over [..., queries, keys], those that nobody sees far below the others
    if mask is not None:
        mask = ops.cast(mask, "bool")
        for _ in range(len(scores.shape) - len(mask.shape)):
            mask = ops.expand_dims(mask, -3)
        scores = ops.where(mask, scores, -1e9)
    if causal:
        queries, keys = scores.shape[-2:]
        if queries is None or keys is None:
            raise NotImplementedError("a causal mask over a free number of steps is not read; give it with --shape")
        scores = ops.where(ops.tril(ops.ones((queries, keys), dtype="bool")), scores, -1e9)
    return scores

class MultiHeadAttention(layers.Layer):
    def __init__(self, num_heads, key_dim, value_dim=None, dropout=0.0, use_bias=True, output_shape=None,
                 attention_axes=None, name=None, **kwargs):
        super().__init__(name=name)
        if attention_axes is not None:
            raise NotImplementedError("MultiHeadAttention(attention_axes=...) is not read")
        self.heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim or key_dim
        self.use_bias, self.wanted = use_bias, output_shape

    def dense(self, equation, output_shape, bias_axes):
        return layers.EinsumDense(equation, output_shape, bias_axes=bias_axes if self.use_bias else None)

    def prepare(self, query):
        if hasattr(self, "query_dense"):
            return
        self.query_dense = self.dense("abc,cde->abde", [None, self.heads, self.key_dim], "de")
        self.key_dense = self.dense("abc,cde->abde", [None, self.heads, self.key_dim], "de")
        self.value_dense = self.dense("abc,cde->abde", [None, self.heads, self.value_dim], "de")
        wanted = query.shape[-1] if self.wanted is None else self.wanted
        last = wanted[-1] if isinstance(wanted, (list, tuple)) else wanted
        self.output_dense = self.dense("abcd,cde->abe", [None, last], "e")

    def call(self, query, value, key=None, attention_mask=None, return_attention_scores=False, use_causal_mask=False):
        self.prepare(query)
        q = self.query_dense(query)
        k = self.key_dense(value if key is None else key)
        v = self.value_dense(value)
        scores = ops.matmul(ops.transpose(q * (1.0 / math.sqrt(float(self.key_dim))), (0, 2, 1, 3)),
                            ops.transpose(k, (0, 2, 3, 1)))
        weights = ops.softmax(masked(scores, attention_mask, use_causal_mask), axis=-1)
        summed = ops.transpose(ops.matmul(weights, ops.transpose(v, (0, 2, 1, 3))), (0, 2, 1, 3))
        made = self.output_dense(summed)
        return (made, weights) if return_attention_scores else made

class Attention(layers.Layer):
    def __init__(self, use_scale=False, score_mode="dot", dropout=0.0, seed=None, name=None, **kwargs):
        super().__init__(name=name)
        if score_mode != "dot":
            raise NotImplementedError("Attention(score_mode='concat') is not read")
        self.use_scale = use_scale

    def build(self, input_shape):
        if self.use_scale:
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones")

    def scores(self, query, key):
        made = ops.matmul(query, ops.transpose(key, (0, 2, 1)))
        return made * self.scale if self.use_scale else made

    def call(self, inputs, mask=None, return_attention_scores=False, use_causal_mask=False):
        query, value = inputs[0], inputs[1]
        scores = self.scores(query, inputs[2] if len(inputs) > 2 else value)
        seen = None
        if mask is not None and mask[1] is not None:
            seen = ops.expand_dims(ops.cast(mask[1], "bool"), -2)
        weights = ops.softmax(masked(scores, seen, use_causal_mask), axis=-1)
        made = ops.matmul(weights, value)
        if mask is not None and mask[0] is not None:
            made = made * ops.expand_dims(ops.cast(mask[0], "float32"), -1)
        return (made, weights) if return_attention_scores else made

class AdditiveAttention(Attention):
    def __init__(self, use_scale=True, dropout=0.0, name=None, **kwargs):
        super().__init__(use_scale=use_scale, name=name)

    def build(self, input_shape):
        if self.use_scale:
            self.scale = self.add_weight(name="scale", shape=(input_shape[0][-1],), initializer="glorot_uniform")

    def scores(self, query, key):
        made = ops.tanh(ops.expand_dims(query, 2) + ops.expand_dims(key, 1))
        return ops.sum(made * self.scale if self.use_scale else made, axis=-1)

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

class K:
    def reverse(x, axes):
        for axis in axes if isinstance(axes, (list, tuple)) else [axes]:
            x = ops.flip(x, axis=axis)
        return x

    def l2_normalize(x, axis=None):
        total = ops.sum(ops.square(x), axis=axis, keepdims=True)
        return x / ops.sqrt(ops.maximum(total, 1e-12))

    def std(x, axis=None, keepdims=False):
        return ops.sqrt(K.var(x, axis, keepdims))

    def var(x, axis=None, keepdims=False):
        mean = ops.mean(x, axis=axis, keepdims=True)
        return ops.mean(ops.square(x - mean), axis=axis, keepdims=keepdims)

    def clip(x, min_value, max_value):
        return ops.clip(x, min_value, max_value)

    def flatten(x):
        return ops.reshape(x, (-1,))

    def batch_flatten(x):
        return ops.reshape(x, (-1, math.prod(x.shape[1:])))

    def permute_dimensions(x, pattern):
        return ops.transpose(x, pattern)

    def expand_dims(x, axis=-1):
        return ops.expand_dims(x, axis)

    def concatenate(tensors, axis=-1):
        return ops.concatenate(tensors, axis=axis)

    def stack(x, axis=0):
        return ops.stack(x, axis=axis)

    def repeat_elements(x, rep, axis):
        return ops.repeat(x, rep, axis=axis)

    def repeat(x, n):
        return ops.stack([x] * n, axis=1)

    def tile(x, n):
        return ops.tile(x, n)

    def cast(x, dtype):
        return x if isinstance(x, (int, float)) else ops.cast(x, dtype)

    def cast_to_floatx(x):
        return x

    def relu(x, alpha=0.0, max_value=None, threshold=0.0):
        return layers.ReLU(max_value=max_value, negative_slope=alpha, threshold=threshold)(x)

    def elu(x, alpha=1.0):
        return layers.ELU(alpha)(x)

    def hard_sigmoid(x):
        return ops.clip(0.2 * x + 0.5, 0.0, 1.0)

    def softmax(x, axis=-1):
        return ops.softmax(x, axis=axis)

    def pow(x, a):
        return x ** a

    def sum(x, axis=None, keepdims=False):
        return ops.sum(x, axis=axis, keepdims=keepdims)

    def mean(x, axis=None, keepdims=False):
        return ops.mean(x, axis=axis, keepdims=keepdims)

    def max(x, axis=None, keepdims=False):
        return ops.max(x, axis=axis, keepdims=keepdims)

    def min(x, axis=None, keepdims=False):
        return ops.min(x, axis=axis, keepdims=keepdims)

    def prod(x, axis=None, keepdims=False):
        return ops.prod(x, axis=axis, keepdims=keepdims)

    def dot(x, y):
        if len(y.shape) > 2:
            raise NotImplementedError("K.dot() with a second tensor of more than two axes is not read")
        return ops.matmul(x, y)

    def batch_dot(x, y, axes=None):
        a, b = len(x.shape), len(y.shape)
        if isinstance(axes, int):
            axes = (axes, axes)
        first, second = axes if axes is not None else (a - 1, b - 2 if b > 2 else b - 1)
        first, second = first % a, second % b
        if a == 2 and b == 2:
            return ops.sum(x * y, axis=1, keepdims=True)
        if a != 3 or b != 3:
            raise NotImplementedError("K.batch_dot() of tensors with other than three axes is not read")
        x = x if first == 2 else ops.transpose(x, (0, 2, 1))
        y = y if second == 1 else ops.transpose(y, (0, 2, 1))
        return ops.matmul(x, y)

    def zeros_like(x):
        return x * 0.0

    def ones_like(x):
        return x * 0.0 + 1.0

    def identity(x):
        return x

    def stop_gradient(x):
        return x

    def in_train_phase(x, alt, training=None):
        return alt() if callable(alt) else alt

    def in_test_phase(x, alt, training=None):
        return x() if callable(x) else x

    def bias_add(x, bias, data_format=None):
        if data_format == "channels_first":
            raise NotImplementedError("K.bias_add() with channels first is not read")
        return x + bias

    def conv1d(x, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
        return ops.conv(x, kernel, strides=strides, padding=padding, data_format=data_format, dilation_rate=dilation_rate)

    def conv2d(x, kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)):
        return ops.conv(x, kernel, strides=strides, padding=padding, data_format=data_format, dilation_rate=dilation_rate)

    def pool2d(x, pool_size, strides=(1, 1), padding="valid", data_format=None, pool_mode="max"):
        pool = layers.MaxPooling2D if pool_mode == "max" else layers.AveragePooling2D
        return pool(pool_size, strides, padding, data_format)(x)

    def spatial_2d_padding(x, padding=((1, 1), (1, 1)), data_format=None):
        return layers.ZeroPadding2D(padding, data_format)(x)

    def temporal_padding(x, padding=(1, 1)):
        return layers.ZeroPadding1D(padding)(x)

    def resize_images(x, height_factor, width_factor, data_format=None, interpolation="nearest"):
        return layers.UpSampling2D((height_factor, width_factor), data_format, interpolation)(x)

    def batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=1e-3):
        made = (x - mean) / ops.sqrt(var + epsilon)
        made = made if gamma is None else made * gamma
        return made if beta is None else made + beta

    def ndim(x):
        return len(x.shape)

def pair(numbers):
    return numbers if isinstance(numbers, int) or numbers is None else tuple(numbers)[1:3] if len(numbers) == 4 else numbers

class tf:
    def l2_normalize(x, axis=None, epsilon=1e-12, name=None):
        return x / ops.sqrt(ops.maximum(ops.sum(ops.square(x), axis=axis, keepdims=True), epsilon))

    def split(value, num_or_size_splits, axis=0, num=None, name=None):
        if isinstance(num_or_size_splits, (list, tuple)):  # how much each takes, not where it begins
            ends = [sum(num_or_size_splits[:i + 1]) for i in range(len(num_or_size_splits) - 1)]
            return ops.split(value, ends, axis=axis)
        return ops.split(value, num_or_size_splits, axis=axis)

    def moments(x, axes, shift=None, keepdims=False, name=None):
        return ops.mean(x, axis=axes, keepdims=keepdims), K.var(x, axes, keepdims)

    def bias_add(value, bias, data_format=None, name=None):
        return K.bias_add(value, bias, "channels_first" if data_format in ("NCHW", "NCW") else None)

    def conv2d(input, filters, strides=1, padding="VALID", data_format="NHWC", dilations=None, name=None):
        if not isinstance(padding, str) or data_format != "NHWC":
            raise NotImplementedError("tf.nn.conv2d() with a list of pads or with channels first is not read here")
        return ops.conv(input, filters, strides=pair(strides), padding=padding.lower(),
                        data_format="channels_last", dilation_rate=pair(dilations) or 1)

    def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
        return layers.MaxPooling2D(pair(ksize), pair(strides), padding.lower())(input)

    def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
        return layers.AveragePooling2D(pair(ksize), pair(strides), padding.lower())(input)

    def identity(input, name=None):
        return input

    def stop_gradient(input, name=None):
        return input
)";

}  // namespace

Result<std::optional<Value>> SourceLibrary::composed(Interpreter& in, const std::string& name) {
  constexpr std::array<std::string_view, 6> classes{"MultiHeadAttention", "Attention",  "AdditiveAttention",
                                                    "ConvLSTM1D",         "ConvLSTM2D", "ConvLSTM3D"};
  const auto dot = name.find('.');  // K.reverse, tf.moments
  const bool is_function = dot != std::string::npos;
  if (!is_function && std::ranges::find(classes, name) == classes.end()) return std::nullopt;
  if (!composed_) {
    auto made = in.run({"keras", text, ""});
    if (!made) return pass(made);
    composed_ = *made;
  }
  const Value* found = composed_->names.find(name.substr(0, dot));
  if (!found) return fail(Fault::Internal, "a layer that is put together is not there: " + name);
  if (!is_function) return *found;
  const auto* all = found->as<python::Class>();
  const Value* function = all ? all->attributes.find(name.substr(dot + 1)) : nullptr;
  return function ? std::optional(*function) : std::nullopt;
}

}  // namespace convoy::keras
