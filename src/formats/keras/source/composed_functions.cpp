// Functions of keras.backend and of tf.nn by those of keras.ops, in the words that programs use themselves.
#include "formats/keras/source/library.h"

namespace convoy::keras {

namespace {

// Sources: tf_keras/src/backend.py of Keras 2; the documentation of tf.nn of TensorFlow 2.
constexpr const char* composed_functions_text = R"(
import math
from keras import layers, ops

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
        return ops.stop_gradient(x)

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

    def argmax(x, axis=-1):
        return tf.argmax(x, axis)

    def argmin(x, axis=-1):
        return tf.argmin(x, axis)

# "NCHW" in the words of Keras.
def order(data_format):
    if data_format in (None, "NHWC", "NWC", "NDHWC"):
        return "channels_last"
    if data_format in ("NCHW", "NCW", "NCDHW"):
        return "channels_first"
    raise NotImplementedError(f"data_format {data_format!r} is not read")

# What the function makes of images whose channels come last.
def channels_last(function, x, data_format):
    if order(data_format) == "channels_last":
        return function(x)
    return ops.transpose(function(ops.transpose(x, (0, 2, 3, 1))), (0, 3, 1, 2))

# Those of the axes of space: numbers stand for all of them, for them alone, or for batch and channels as well.
def space(numbers, data_format, rank=2):
    if isinstance(numbers, int) or numbers is None:
        return numbers
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) != rank + 2:
        return tuple(numbers)
    first = order(data_format) == "channels_first"
    if numbers[0] != 1 or numbers[1 if first else -1] != 1:
        raise NotImplementedError("windows over the batch or the channels are not read")
    return tuple(numbers)[2:] if first else tuple(numbers)[1:-1]

def float32(x):
    if x == 0:
        return 0.0
    unit = 2.0 ** (math.floor(math.log2(abs(x))) - 23)
    return round(x / unit) * unit

# Where the cells of a resized axis lie among its own, in the float32 of TensorFlow 1.
def places(cells, size, align_corners):
    if not isinstance(cells, int) or not isinstance(size, int):
        raise NotImplementedError("a resize of TensorFlow 1 of or to a free size is not read; give it with --shape")
    scale = float32((cells - 1) / (size - 1) if align_corners and size > 1 else cells / size)
    return [float32(i * scale) for i in range(size)]

def pooled(kind, rank, x, ksize, strides, padding, data_format):
    if not isinstance(padding, str):
        raise NotImplementedError(f"tf.nn.{kind}_pool() with a list of pads is not read")
    names = {"max": (layers.MaxPooling1D, layers.MaxPooling2D, layers.MaxPooling3D),
             "avg": (layers.AveragePooling1D, layers.AveragePooling2D, layers.AveragePooling3D)}
    made = names[kind][rank - 1](space(ksize, data_format, rank), space(strides, data_format, rank), padding.lower(),
                                 order(data_format))
    return made(x)

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
        if order(data_format) == "channels_first":
            rank = len(value.shape)
            last = ops.transpose(value, (0,) + tuple(range(2, rank)) + (1,))
            return ops.transpose(last + bias, (0, rank - 1) + tuple(range(1, rank - 1)))
        return value + bias

    def truediv(x, y, name=None):
        return x / y

    def floordiv(x, y, name=None):
        for one in (x, y):
            if not isinstance(one, (int, float)) and "int" in str(one.dtype):
                raise NotImplementedError("tf.math.floordiv() of whole numbers is not read")
        return ops.floor(x / y)

    def floor_div(x, y, name=None):
        return tf.floordiv(x, y)

    def floormod(x, y, name=None):
        return ops.mod(x, y)

    def mod(x, y, name=None):
        return ops.mod(x, y)

    def broadcast_to(input, shape, name=None):
        return ops.broadcast_to(input, shape)

    def zeros(shape, dtype="float32", name=None):
        return ops.zeros(shape, dtype)

    def ones(shape, dtype="float32", name=None):
        return ops.ones(shape, dtype)

    def fill(dims, value, name=None):
        return ops.full(dims, value)

    def range(start, limit=None, delta=1, dtype=None, name="range"):
        return ops.arange(start, limit, delta, dtype)

    def add_n(inputs, name=None):
        total = inputs[0]
        for one in inputs[1:]:
            total = total + one
        return total

    def squared_difference(x, y, name=None):
        return ops.square(x - y)

    # Gives fractions as they are, where keras.ops rounds them to the type of the images.
    def resize(images, size, method="bilinear", preserve_aspect_ratio=False, antialias=False, name=None):
        if preserve_aspect_ratio:
            raise NotImplementedError("tf.image.resize(preserve_aspect_ratio=True) is not read")
        if method != "nearest" and "float" not in str(images.dtype):
            images = ops.cast(images, "float32")
        return ops.image.resize(images, size, interpolation=method, antialias=antialias)

    class ResizeMethod:
        BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
        LANCZOS3, LANCZOS5, GAUSSIAN, MITCHELLCUBIC = "lanczos3", "lanczos5", "gaussian", "mitchellcubic"

    # TensorFlow 1: the first cells lie upon each other, not their outer borders, unless it is told so.
    def resize_images(images, size, method="bilinear", align_corners=False, preserve_aspect_ratio=False, name=None):
        if preserve_aspect_ratio or len(images.shape) != 4:
            raise NotImplementedError("tf.image.resize_images() of a single image or by its aspect ratio is not read")
        if list(images.shape)[1:3] == list(size):
            return images
        if method in ("nearest", 1):
            return tf.resize_nearest_neighbor(images, size, align_corners)
        if method not in ("bilinear", 0):
            raise NotImplementedError(f"tf.image.resize_images() by method {method!r} is not read")
        return tf.resize_bilinear(images, size, align_corners)

    def resize_nearest_neighbor(images, size, align_corners=False, name=None, half_pixel_centers=False):
        if half_pixel_centers:
            raise NotImplementedError("tf.image.resize_nearest_neighbor(half_pixel_centers=True) is not read")
        for axis in (1, 2):
            cells = images.shape[axis]
            at = places(cells, size[axis - 1], align_corners)
            images = ops.take(images, [min(math.floor(p + 0.5 if align_corners else p), cells - 1) for p in at], axis=axis)
        return images

    def resize_bilinear(images, size, align_corners=False, name=None, half_pixel_centers=False):
        if half_pixel_centers:
            if align_corners:
                raise NotImplementedError("half_pixel_centers with align_corners is not read")
            return tf.resize(images, size)
        images = ops.cast(images, "float32")
        for axis in (2, 1):
            cells = images.shape[axis]
            at = places(cells, size[axis - 1], align_corners)
            if at == list(range(cells)):
                continue
            first = ops.take(images, [min(math.floor(p), cells - 1) for p in at], axis=axis)
            second = ops.take(images, [min(math.ceil(p), cells - 1) for p in at], axis=axis)
            parts = [p - math.floor(p) for p in at]
            parts = [[p] for p in parts] if axis == 2 else [[[p]] for p in parts]
            images = first + (second - first) * ops.convert_to_tensor(parts, "float32")
        return images

    def linspace(start, stop, num, name=None, axis=0):
        if not isinstance(start, float) or not isinstance(stop, float) or not isinstance(num, int):
            raise NotImplementedError("tf.linspace() of other than known fractions is not read")
        step = (stop - start) / (num - 1) if num > 1 else 0.0
        return ops.convert_to_tensor([start + step * i for i in range(num - 1)] + [stop if num > 1 else start], "float32")

    def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32", name=None):
        if batch_shape is not None:
            raise NotImplementedError("tf.eye(batch_shape=...) is not read")
        columns = num_rows if num_columns is None else num_columns
        return ops.cast(ops.convert_to_tensor([[1.0 if i == k else 0.0 for k in range(columns)] for i in range(num_rows)],
                                              "float32"), dtype)

    # Places and counts are of 64 bits, those of keras.ops of 32.
    def argmax(input, axis=None, output_type="int64", name=None, dimension=None):
        axis = dimension if axis is None else axis
        return ops.cast(ops.argmax(input, axis=0 if axis is None else axis), output_type)

    def argmin(input, axis=None, output_type="int64", name=None, dimension=None):
        axis = dimension if axis is None else axis
        return ops.cast(ops.argmin(input, axis=0 if axis is None else axis), output_type)

    def count_nonzero(input, axis=None, keepdims=None, dtype="int64", name=None):
        counts = ops.cast(ops.not_equal(input, 0), "float32")
        return ops.cast(ops.sum(counts, axis=axis, keepdims=bool(keepdims)), dtype)

    def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
        return K.std(input_tensor, axis, keepdims)

    def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
        return K.var(input_tensor, axis, keepdims)

    def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
        if ord not in ("euclidean", 2) or isinstance(axis, (list, tuple)) and ord == 2:
            raise NotImplementedError("tf.norm() of another order than the Euclidean one is not read")
        return ops.sqrt(ops.sum(ops.square(tensor), axis=axis, keepdims=bool(keepdims or keep_dims)))

    def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
        if batch_dims != 0:
            raise NotImplementedError("tf.gather(batch_dims=...) is not read")
        return ops.take(params, indices, axis=0 if axis is None else axis)

    def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
        if axis not in (None, -1):
            raise NotImplementedError("tf.one_hot() along another axis than the last is not read")
        made = ops.cast(ops.equal(ops.expand_dims(indices, -1), list(range(depth))), "float32")
        low = 0.0 if off_value is None else off_value
        high = 1.0 if on_value is None else on_value
        made = made if low == 0 and high == 1 else made * (high - low) + low
        return made if dtype is None else ops.cast(made, dtype)

    def reverse(tensor, axis, name=None):
        return K.reverse(tensor, axis)

    def roll(input, shift, axis, name=None):
        for by, along in zip(shift, axis) if isinstance(axis, (list, tuple)) else [(shift, axis)]:
            size = input.shape[along]
            if size is None:
                raise NotImplementedError("tf.roll() along a free axis is not read; give its size with --shape")
            if by % size:
                first, last = ops.split(input, [size - by % size], axis=along)
                input = ops.concatenate([last, first], axis=along)
        return input

    def unstack(value, num=None, axis=0, name=None):
        if isinstance(value, (list, tuple)):
            return value
        if value.shape[axis] is None:
            raise NotImplementedError("tf.unstack() along a free axis is not read; give its size with --shape")
        return [ops.squeeze(part, axis=axis) for part in ops.split(value, value.shape[axis], axis=axis)]

    def transpose(a, perm=None, conjugate=False, name=None):
        return ops.transpose(a, perm)

    def conv2d(input, filters=None, strides=1, padding="VALID", data_format="NHWC", dilations=None, name=None, filter=None,
               use_cudnn_on_gpu=True):
        filters = filter if filters is None else filters
        if not isinstance(padding, str):
            raise NotImplementedError("tf.nn.conv2d() with a list of pads is not read here")
        return ops.conv(input, filters, strides=space(strides, data_format), padding=padding.lower(),
                        data_format=order(data_format), dilation_rate=space(dilations, data_format) or 1)

    def max_pool(input, ksize, strides, padding, data_format=None, name=None):
        return pooled("max", len(input.shape) - 2, input, ksize, strides, padding, data_format)

    def avg_pool(input, ksize, strides, padding, data_format=None, name=None):
        return pooled("avg", len(input.shape) - 2, input, ksize, strides, padding, data_format)

    def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
        return pooled("max", 1, input, ksize, strides, padding, data_format)

    def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
        return pooled("avg", 1, input, ksize, strides, padding, data_format)

    def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
        return pooled("max", 2, input, ksize, strides, padding, data_format)

    def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
        return pooled("avg", 3, input, ksize, strides, padding, data_format)

    def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
        return pooled("max", 3, input, ksize, strides, padding, data_format)

    def depth_to_space(input, block_size, data_format="NHWC", name=None):
        return channels_last(lambda x: ops.depth_to_space(x, block_size), input, data_format)

    def space_to_depth(input, block_size, data_format="NHWC", name=None):
        return channels_last(lambda x: ops.space_to_depth(x, block_size), input, data_format)

    def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
        return pooled("avg", 2, input, ksize, strides, padding, data_format)

    def depthwise_conv2d(input, filter, strides, padding, data_format=None, dilations=None, name=None):
        if not isinstance(padding, str):
            raise NotImplementedError("tf.nn.depthwise_conv2d() with a list of pads is not read here")
        return ops.depthwise_conv(input, filter, strides=space(strides, data_format), padding=padding.lower(),
                                  data_format=order(data_format), dilation_rate=space(dilations, data_format) or 1)

    def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, data_format=None, dilations=None,
                         name=None):
        made = tf.depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
        return tf.conv2d(made, pointwise_filter, 1, "VALID", data_format)

    def atrous_conv2d(value, filters, rate, padding, name=None):
        return tf.conv2d(value, filters, 1, padding, dilations=rate)

    def conv1d(input, filters, stride=1, padding="VALID", data_format="NWC", dilations=None, name=None,
               use_cudnn_on_gpu=True):
        return ops.conv(input, filters, strides=space(stride, data_format, 1), padding=padding.lower(),
                        data_format=order(data_format), dilation_rate=space(dilations, data_format, 1) or 1)

    def conv2d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NHWC", dilations=None,
                         name=None):
        if data_format != "NHWC" or not isinstance(padding, str):
            raise NotImplementedError("tf.nn.conv2d_transpose() with a list of pads or with channels first is not read here")
        made = ops.conv_transpose(input, filters, strides=space(strides, data_format), padding=padding.lower(),
                                  data_format="channels_last", dilation_rate=space(dilations, data_format) or 1)
        for wanted, is_made in zip(list(output_shape)[1:3], made.shape[1:3]):
            if isinstance(wanted, int) and is_made is not None and wanted != is_made:
                raise NotImplementedError(f"tf.nn.conv2d_transpose() with output_shape {wanted} where the usual is {is_made}")
        return made

    def xw_plus_b(x, weights, biases, name=None):
        return ops.matmul(x, weights) + biases

    def relu_layer(x, weights, biases, name=None):
        return ops.relu(ops.matmul(x, weights) + biases)

    def dropout(x, rate=None, keep_prob=None, noise_shape=None, seed=None, name=None):
        return x

    def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
        return K.batch_normalization(x, mean, variance, offset, scale, -1, variance_epsilon)

    def identity(input, name=None):
        return input

    def stop_gradient(input, name=None):
        return ops.stop_gradient(input)
)";

}  // namespace

// "K.reverse", "tf.moments"; nothing: there is none of this name.
Result<std::optional<Value>> SourceLibrary::composed_function(Interpreter& in, const std::string& name) {
  if (!functions_) {
    auto made = in.run({"keras", composed_functions_text, ""});
    if (!made) return pass(made);
    functions_ = *made;
  }
  const auto dot = name.find('.');
  const Value* group = functions_->names.find(name.substr(0, dot));
  const auto* all = group ? group->as<python::Class>() : nullptr;
  const Value* function = all ? all->attributes.find(name.substr(dot + 1)) : nullptr;
  return function ? std::optional(*function) : std::nullopt;
}

}  // namespace convoy::keras
