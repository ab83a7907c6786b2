// Functions of keras.ops by others of them, in the words that programs use themselves; files call them by their classes.
#include "formats/keras/call.h"
#include "formats/keras/source/library.h"

#include "base/words.h"

#include <algorithm>

namespace convoy::keras {

namespace {

// Source: keras/src/ops and keras/src/backend/tensorflow of Keras 3.15. Arguments as the functions have them, which files give
// by place and by name.
constexpr const char* composed_operations_text = R"(
import math
from keras import ops

def places(x, axis):
    rank = len(x.shape)
    if axis is None:
        return list(range(rank))
    return sorted([one % rank for one in (axis if isinstance(axis, (list, tuple)) else [axis])])

def known(x, axis, name):
    if x.shape[axis] is None:
        raise NotImplementedError(f"ops.{name}() along a free axis is not read; give its size with --shape")
    return x.shape[axis]

# The same numbers from the other end, exactly in every type.
def turned(x):
    kind = str(x.dtype)
    if kind.startswith("uint"):
        return 2 ** int(kind[4:]) - 1 - x
    if kind == "bool":
        return ops.logical_not(x)
    return -1 - x if kind.startswith("int") else ops.negative(x)

def real(x):
    return x if "float" in str(x.dtype) else ops.cast(x, "float32")

def truths(x):
    return x if str(x.dtype) == "bool" else ops.not_equal(x, 0)

def counted(truths, axis):  # as whole numbers, of which float32 holds up to 2^24
    return ops.cast(ops.sum(ops.cast(truths, "float32"), axis=axis), "int32")

def cut(x, axis, begin, end):
    return x[(slice(None),) * (axis % len(x.shape)) + (slice(begin, end),)]

def lengths(x):  # with one free size, which reshape() works out
    return [-1 if n is None else n for n in x.shape]

def along(x, vector, axis):  # a vector laid along one axis of x
    sizes = [1] * len(x.shape)
    sizes[axis] = -1
    return ops.reshape(vector, sizes)

def last_two(x, axis1, axis2):
    rank = len(x.shape)
    axis1, axis2 = axis1 % rank, axis2 % rank
    return ops.transpose(x, [i for i in range(rank) if i not in (axis1, axis2)] + [axis1, axis2])

def triangle(x, k, lower):
    rows, columns = known(x, -2, "tril"), known(x, -1, "tril")
    kept = [[1 if (j - i <= k) == lower or j - i == k else 0 for j in range(columns)] for i in range(rows)]
    return ops.logical_and(kept, x) if x.dtype == "bool" else ops.where(kept, x, 0)

def contracted(x1, x2, first, second):
    letters = "abcdefghijklmnopqrstuvwxyz"
    a, b = list(letters[:len(x1.shape)]), list(letters[len(x1.shape):len(x1.shape) + len(x2.shape)])
    for i, j in zip(first, second):
        b[j] = a[i]
    summed = [a[i] for i in first]
    made = [one for one in a + b if one not in summed]
    return ops.einsum("".join(a) + "," + "".join(b) + "->" + "".join(made), x1, x2)

class operations:
    def var(x, axis=None, keepdims=False):
        x = real(x)
        return ops.mean(ops.square(x - ops.mean(x, axis=axis, keepdims=True)), axis=axis, keepdims=keepdims)

    def std(x, axis=None, keepdims=False):
        return ops.sqrt(ops.var(x, axis=axis, keepdims=keepdims))

    def moments(x, axes, keepdims=False, synchronized=False):
        return ops.mean(x, axis=axes, keepdims=keepdims), ops.var(x, axis=axes, keepdims=keepdims)

    def average(x, axis=None, weights=None):
        x = real(x)
        if weights is None:
            return ops.mean(x, axis=axis)
        if len(weights.shape) != len(x.shape):
            weights = along(x, weights, axis)
        return ops.sum(x * weights, axis=axis) / ops.sum(x * 0.0 + weights, axis=axis)

    def roll(x, shift, axis=None):
        if axis is None:
            raise NotImplementedError("ops.roll() without an axis is not read")
        several = isinstance(axis, (list, tuple))
        for by, one in zip(shift if isinstance(shift, (list, tuple)) else [shift] * len(axis), axis) if several else [(shift, axis)]:
            size = known(x, one, "roll")
            if by % size:
                x = ops.concatenate([cut(x, one, size - by % size, None), cut(x, one, None, size - by % size)], axis=one)
        return x

    def rot90(array, k=1, axes=(0, 1)):
        first, second = axes
        if k % 4 == 1:
            return ops.swapaxes(ops.flip(array, axis=second), first, second)
        if k % 4 == 2:
            return ops.flip(ops.flip(array, axis=first), axis=second)
        if k % 4 == 3:
            return ops.flip(ops.swapaxes(array, first, second), axis=second)
        return array

    def sort(x, axis=-1):
        if axis is None:
            raise NotImplementedError("ops.sort() without an axis is not read")
        last = ops.swapaxes(x, axis, -1)
        return ops.swapaxes(turned(ops.top_k(turned(last), known(x, axis, "sort"))[0]), axis, -1)

    def argsort(x, axis=-1):
        if axis is None:
            raise NotImplementedError("ops.argsort() without an axis is not read")
        last = ops.swapaxes(x, axis, -1)
        return ops.swapaxes(ops.top_k(turned(last), known(x, axis, "argsort"))[1], axis, -1)

    def quantile(x, q, axis=None, method="linear", keepdims=False):
        x = real(x)
        if not isinstance(q, (int, float)):
            raise NotImplementedError("ops.quantile() by other than one number is not read")
        wanted = places(x, axis)
        kept = [i for i in range(len(x.shape)) if i not in wanted]
        count = math.prod([known(x, i, "quantile") for i in wanted])
        flat = ops.reshape(ops.transpose(x, kept + wanted), [lengths(x)[i] for i in kept] + [count])
        exact = (count - 1) * q
        low, high = math.floor(exact), math.ceil(exact)
        if method != "linear":
            raise NotImplementedError(f"ops.quantile(method={method!r}), which Keras forgets in its models, is not read")
        rest = high - exact
        ordered = ops.sort(flat)
        made = ordered[..., low] if low == high else ordered[..., low] * rest + ordered[..., high] * (1.0 - rest)
        for one in wanted if keepdims else []:
            made = ops.expand_dims(made, one)
        return made

    def median(x, axis=None, keepdims=False):
        return ops.quantile(x, 0.5, axis=axis, keepdims=keepdims)

    def diff(a, n=1, axis=-1):
        for _ in range(n):
            a = cut(a, axis, 1, None) - cut(a, axis, None, -1)
        return a

    def logsumexp(x, axis=None, keepdims=False):
        most = ops.max(x, axis=axis, keepdims=True)
        most = ops.where(ops.less(ops.abs(most), math.inf), most, 0.0)
        made = ops.log(ops.sum(ops.exp(x - most), axis=axis, keepdims=True)) + most
        return made if keepdims else ops.squeeze(made, axis=tuple(places(x, axis)))

    def norm(x, ord=None, axis=None, keepdims=False):
        x = real(x)
        count = len(places(x, axis))
        if ord is None or ord == "fro" and count == 2 or ord == 2 and count == 1:
            return ops.sqrt(ops.sum(ops.square(x), axis=axis, keepdims=keepdims))
        if count != 1 or not isinstance(ord, (int, float)):
            raise NotImplementedError(f"ops.norm(ord={ord!r}) over {count} axes is not read")
        if ord == 0:
            return ops.sum(ops.cast(ops.not_equal(x, 0), "float32"), axis=axis, keepdims=keepdims)
        x = ops.abs(x)
        if abs(ord) == math.inf:
            return (ops.max if ord > 0 else ops.min)(x, axis=axis, keepdims=keepdims)
        if ord == 1:
            return ops.sum(x, axis=axis, keepdims=keepdims)
        return ops.power(ops.sum(ops.power(x, float(ord)), axis=axis, keepdims=keepdims), 1.0 / ord)

    def any(x, axis=None, keepdims=False):
        return ops.greater(ops.max(ops.cast(truths(x), "float32"), axis=axis, keepdims=keepdims), 0.5)

    def all(x, axis=None, keepdims=False):
        return ops.greater(ops.min(ops.cast(truths(x), "float32"), axis=axis, keepdims=keepdims), 0.5)

    def count_nonzero(x, axis=None):
        return counted(truths(x), axis)

    def isnan(x):
        return ops.not_equal(x, x)

    def isinf(x):
        if "float" not in x.dtype:
            return ops.not_equal(x, x)
        return ops.equal(ops.abs(x), math.inf)

    def isfinite(x):
        if "float" not in x.dtype:
            return ops.equal(x, x)
        return ops.less(ops.abs(x), math.inf)

    def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
        x = ops.where(ops.not_equal(x, x), nan, x)
        x = ops.where(ops.equal(x, math.inf), 3.4028234663852886e38 if posinf is None else posinf, x)
        return ops.where(ops.equal(x, -math.inf), -3.4028234663852886e38 if neginf is None else neginf, x)

    def exp2(x):
        return ops.power(2.0, real(x))

    def hypot(x1, x2):
        x1, x2 = ops.abs(x1), ops.abs(x2)
        most = ops.maximum(x1, x2)
        ratio = ops.minimum(x1, x2) / ops.where(ops.equal(most, 0), 1.0, most)
        return most * ops.sqrt(1.0 + ops.square(ratio))

    def arctan2(x1, x2):
        met = real(x1 + x2).dtype
        x1, x2 = ops.cast(x1, met), ops.cast(x2, met)
        below = ops.logical_or(ops.less(x1, 0), ops.less(ops.reciprocal(x1), 0))  # as -0.0 is
        behind = ops.logical_or(ops.less(x2, 0), ops.less(ops.reciprocal(x2), 0))
        flat = ops.arctan(x1 / ops.where(ops.equal(x2, 0), 1.0, x2))
        turn = flat * 0.0 + math.pi  # in the type of the operands
        half = ops.where(below, -turn, turn)
        made = ops.where(behind, flat + half, flat)
        is_upright = ops.logical_and(ops.equal(x2, 0), ops.greater(ops.abs(x1), 0))  # which a NaN is not
        return ops.where(is_upright, half * 0.5, made)

    def full_like(x, fill_value, dtype=None):
        return ops.broadcast_to(number(fill_value, dtype or x.dtype), ops.shape(x))

    def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
        made = ops.cast(ops.equal(ops.expand_dims(x, -1), list(range(num_classes))), dtype or "float32")
        return made if axis in (-1, len(x.shape)) else ops.moveaxis(made, -1, axis)

    def digitize(x, bins):
        under = ops.less(ops.expand_dims(x, -1), bins)
        return counted(ops.logical_not(under), -1)

    def tensordot(x1, x2, axes=2):
        a, b = len(x1.shape), len(x2.shape)
        if isinstance(axes, int):
            return contracted(x1, x2, list(range(a - axes, a)), list(range(axes)))
        first, second = [[one] if isinstance(one, int) else one for one in axes]
        return contracted(x1, x2, [i % a for i in first], [i % b for i in second])

    def dot(x1, x2):
        if len(x1.shape) == 0 or len(x2.shape) == 0:
            return x1 * x2
        return contracted(x1, x2, [len(x1.shape) - 1], [max(len(x2.shape) - 2, 0)])

    def inner(x1, x2):
        if len(x1.shape) == 0 or len(x2.shape) == 0:
            return x1 * x2
        return contracted(x1, x2, [len(x1.shape) - 1], [len(x2.shape) - 1])

    def outer(x1, x2):
        return ops.reshape(x1, (-1, 1)) * ops.reshape(x2, (1, -1))

    def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
        if axis is not None:
            axisa = axisb = axisc = axis
        x1, x2 = ops.moveaxis(x1, axisa, -1), ops.moveaxis(x2, axisb, -1)
        if x1.shape[-1] != 3 or x2.shape[-1] != 3:
            raise NotImplementedError("ops.cross() of other than three numbers is not read")
        turned = [cut(x1, -1, i, i + 1) * cut(x2, -1, j, j + 1) - cut(x1, -1, j, j + 1) * cut(x2, -1, i, i + 1)
                  for i, j in [(1, 2), (2, 0), (0, 1)]]
        return ops.moveaxis(ops.concatenate(turned, axis=-1), -1, axisc)

    def diagonal(x, offset=0, axis1=0, axis2=1):
        x = last_two(x, axis1, axis2)
        rows, columns = known(x, -2, "diagonal"), known(x, -1, "diagonal")
        cells = [i * columns + i + offset for i in range(rows) if 0 <= i + offset < columns]
        return ops.take(ops.reshape(x, lengths(x)[:-2] + [rows * columns]), cells, axis=-1)

    def trace(x, offset=0, axis1=0, axis2=1):
        return ops.sum(ops.diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1)

    def tril(x, k=0):
        return triangle(x, k, True)

    def triu(x, k=0):
        return triangle(x, k, False)

    def unstack(x, num=None, axis=0):
        return [ops.squeeze(one, axis=axis) for one in ops.split(x, known(x, axis, "unstack"), axis=axis)]

    def slice(inputs, start_indices, shape):
        for axis, (begin, size) in enumerate(zip(start_indices, shape)):
            if begin != 0 or size != inputs.shape[axis]:
                inputs = cut(inputs, axis, begin, None if size == -1 else begin + size)
        return inputs

    def full(shape, fill_value, dtype=None):
        return ops.broadcast_to(number(fill_value, dtype), shape)

    def zeros(shape, dtype="float32"):
        return ops.full(shape, 0, dtype or "float32")

    def ones(shape, dtype="float32"):
        return ops.full(shape, 1, dtype or "float32")

    def arange(start, stop=None, step=1, dtype=None):
        start, stop = (0, start) if stop is None else (start, stop)
        if step != 1:
            raise NotImplementedError("ops.arange() up to a free size in steps other than 1 is not read; give the size with --shape")
        counted = ops.cumsum(ops.ones((stop - start,), "int32"), axis=0) + (start - 1)
        return counted if dtype is None else ops.cast(counted, dtype)

    def batch_norm(x, mean, variance, offset=None, scale=None, axis=-1, epsilon=1e-3):
        made = (x - along(x, mean, axis)) / ops.sqrt(along(x, variance, axis) + epsilon)
        made = made if scale is None else made * along(x, scale, axis)
        return made if offset is None else made + along(x, offset, axis)

    def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
        return ops.batch_norm(x, mean, variance, offset, scale, axis, epsilon)

    def layer_norm(x, gamma=None, beta=None, axis=-1, epsilon=None, rms_scaling=False):
        epsilon = 1e-7 if epsilon is None else epsilon
        if "float" not in str(x.dtype):  # computed in float32, and the fractions cut off
            return ops.cast(ops.layer_norm(real(x), gamma, beta, axis, epsilon, rms_scaling), x.dtype)
        if axis not in (-1, [-1], (-1,)) and (gamma is not None or beta is not None):
            raise NotImplementedError("ops.layer_normalization() along other axes than the last is not read")
        if rms_scaling:
            made = x / ops.sqrt(ops.var(x, axis=axis, keepdims=True) + epsilon)
            return made if gamma is None else made * gamma
        made = (x - ops.mean(x, axis=axis, keepdims=True)) / ops.sqrt(ops.var(x, axis=axis, keepdims=True) + epsilon)
        made = made if gamma is None else made * gamma
        return made if beta is None else made + beta

    def layer_normalization(x, gamma=None, beta=None, axis=-1, epsilon=None):
        return ops.layer_norm(x, gamma, beta, axis, epsilon)

    def sparsemax(x, axis=-1):
        x = ops.swapaxes(x, axis, -1)
        count = known(x, -1, "sparsemax")
        ordered = ops.top_k(x, count)[0]
        sums = ops.cumsum(ordered, axis=-1)
        seen = ops.greater(ordered - ops.divide(sums - 1.0, [float(i + 1) for i in range(count)]), 0.0)
        chosen = ops.sum(ops.where(seen, sums, 0.0), axis=-1, keepdims=True)
        threshold = (chosen - 1.0) / ops.sum(ops.cast(seen, "float32"), axis=-1, keepdims=True)
        return ops.swapaxes(ops.maximum(x - threshold, 0.0), axis, -1)

    def dot_product_attention(query, key, value, bias=None, mask=None, scale=None, is_causal=False, flash_attention=None,
                              attn_logits_soft_cap=None):
        heads, shared = query.shape[2], key.shape[2]
        if heads != shared:
            key, value = ops.repeat(key, heads // shared, axis=2), ops.repeat(value, heads // shared, axis=2)
        scores = ops.matmul(ops.transpose(query, (0, 2, 1, 3)), ops.transpose(key, (0, 2, 3, 1)))
        scores = scores * (1.0 / math.sqrt(float(query.shape[-1])) if scale is None else scale)
        if attn_logits_soft_cap is not None:
            scores = ops.tanh(scores / attn_logits_soft_cap) * attn_logits_soft_cap
        scores = scores if bias is None else scores + bias
        lowest = -0.7 * 3.4028234663852886e38
        if mask is not None:
            scores = ops.where(mask, scores, lowest)
        if is_causal:
            steps = range(known(key, 1, "dot_product_attention"))
            order = [[1 if j <= i else 0 for j in steps] for i in range(known(query, 1, "dot_product_attention"))]
            scores = ops.where(order, scores, lowest)
        made = ops.matmul(ops.softmax(scores, axis=-1), ops.transpose(value, (0, 2, 1, 3)))
        return ops.transpose(made, (0, 2, 1, 3))

    def extract_patches(images, size, strides=None, dilation_rate=1, padding="valid", data_format="channels_last"):
        first = data_format == "channels_first"
        spread = lambda n: (n, n) if isinstance(n, int) else tuple(n)
        size, rate = spread(size), spread(dilation_rate)
        strides = size if strides is None else spread(strides)
        if len(images.shape) != 4 or len(size) != 2:
            raise NotImplementedError("ops.image.extract_patches() of other than batches of images is not read")
        x = ops.transpose(images, (0, 2, 3, 1)) if first else images
        lengths = [known(x, axis, "image.extract_patches") for axis in (1, 2)]
        if padding == "same" and (strides != size or rate != (1, 1) or any([n % m for n, m in zip(lengths, size)])):
            channels = x.shape[-1]
            count = size[0] * size[1] * channels  # each cell of a window by a kernel of its own, as Keras does
            cells = [[1.0 if i == k else 0.0 for k in range(count)] for i in range(count)]
            kernel = [[cells[(i * size[1] + j) * channels:(i * size[1] + j + 1) * channels] for j in range(size[1])]
                      for i in range(size[0])]
            made = ops.conv(x, kernel, strides=strides, padding="same", dilation_rate=rate, data_format="channels_last")
            return ops.transpose(made, (0, 3, 1, 2)) if first else made
        counts = [(n - (m - 1) * apart - 1) // step + 1 for n, m, apart, step in zip(lengths, size, rate, strides)]
        if strides == size and rate == (1, 1) and size[0] == size[1]:
            x = ops.nn.space_to_depth(x[:, :counts[0] * size[0], :counts[1] * size[1]], size[0])
        else:
            ends = [(n - 1) * stride + 1 for n, stride in zip(counts, strides)]
            x = ops.concatenate([x[:, i * rate[0]:i * rate[0] + ends[0]:strides[0], j * rate[1]:j * rate[1] + ends[1]:strides[1]]
                                 for i in range(size[0]) for j in range(size[1])], axis=-1)
        return ops.transpose(x, (0, 3, 1, 2)) if first else x

    def pad_images(images, top_padding=None, left_padding=None, bottom_padding=None, right_padding=None, target_height=None,
                   target_width=None, data_format="channels_last"):
        at = len(images.shape) - (3 if data_format != "channels_first" else 2)
        pads = [[0, 0] for _ in images.shape]
        for axis, before, after, wanted in [(at, top_padding, bottom_padding, target_height),
                                            (at + 1, left_padding, right_padding, target_width)]:
            if before is None:
                before = wanted - after - known(images, axis, "image.pad_images")
            if after is None:
                after = wanted - before - known(images, axis, "image.pad_images")
            pads[axis] = [before, after]
        return ops.pad(images, pads)

    def crop_images(images, top_cropping=None, left_cropping=None, bottom_cropping=None, right_cropping=None,
                    target_height=None, target_width=None, data_format="channels_last"):
        at = len(images.shape) - (3 if data_format != "channels_first" else 2)
        for axis, before, after, wanted in [(at, top_cropping, bottom_cropping, target_height),
                                            (at + 1, left_cropping, right_cropping, target_width)]:
            size = known(images, axis, "image.crop_images")
            before = size - after - wanted if before is None else before
            images = cut(images, axis, before, size - after if wanted is None else before + wanted)
        return images

    def rgb_to_grayscale(images, data_format="channels_last"):
        first = data_format == "channels_first"
        axis = -3 if first else -1
        if images.shape[axis] == 1:
            return images
        weights = [[[0.2989]], [[0.587]], [[0.114]]] if first else [0.2989, 0.587, 0.114]
        gray = ops.sum(ops.multiply(real(images), weights), axis=axis, keepdims=True)
        return gray if "float" in str(images.dtype) else ops.cast(gray, images.dtype)

    def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
        return x if dtype is None else ops.cast(x, dtype)

    def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
        return ops.less_equal(ops.abs(x1 - x2), ops.abs(x2) * rtol + atol)

    def ptp(x, axis=None, keepdims=False):
        return ops.max(x, axis=axis, keepdims=keepdims) - ops.min(x, axis=axis, keepdims=keepdims)
)";

// "HSVToRGB" and "hsv_to_rgb" alike.
std::string letters_of(std::string_view name) {
  std::string made;
  for (const char c : name)
    if (c != '_') made += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return made;
}

}  // namespace

// number(value, dtype): as a tensor without axes; float32 where nothing else is said of a fraction.
Made SourceLibrary::single_number(Interpreter& in, const Arguments& given) {
  const Value value = given.placed.at(0), word = given.placed.at(1);
  if (value.as<SourceTensor>()) return word.is_none() ? Made(value) : operate(in, "Cast", Arguments{{value, word}, {}});
  auto json = json_of(in, value);
  if (!json) return pass(json);
  DType dtype = value.is_real() ? DType::F32 : value.is_truth() ? DType::Bool : DType::I32;
  if (const auto* text = word.as<python::Text>()) {
    const auto known = input_dtype(text->text);
    if (!known) return std::unexpected(known.error());
    dtype = *known;
  }
  auto made = constant(in, *json, dtype);
  return made ? Made(Value::of(*made)) : pass(made);
}

Result<std::optional<Value>> SourceLibrary::composed_operation(Interpreter& in, const std::string& name) {
  if (!operations_) {
    auto made = in.run({"keras", composed_operations_text, ""});
    if (!made) return pass(made);
    operations_ = *made;
    operations_->names.set("number", in.native("number", [this](Interpreter& with, Arguments& given) {
      return single_number(with, given);
    }));
  }
  const Value* group = operations_->names.find("operations");
  const auto* all = group ? group->as<python::Class>() : nullptr;
  if (!all) return fail(Fault::Internal, "the functions of keras.ops are not there");
  for (const auto& [word, function] : all->attributes.all())
    if (letters_of(word) == letters_of(name)) return function;
  return std::nullopt;
}

}  // namespace convoy::keras
