"""Functions of TensorFlow in files of Keras 2, where they stand as layers (TFOpLambda, SlicingOpLambda): what tf_keras answers, and
ports to PyTorch and ONNX that are proved."""
import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

IMAGE = (7, 9, 3)


def cases() -> dict:
    """name -> (function of the inputs, their shapes without the batch and element types)."""
    import tensorflow as tf

    image = [(IMAGE, "float32")]
    two = image * 2
    rows = [((7, 5), "float32"), ((6, 5), "float32")]
    return {
        "product": (lambda x: x * 2.0, image),
        "number_in_front": (lambda x: 1.5 - x * 0.5 + 2.5 / (x * x + 1.0), image),
        "preprocessing": (lambda x: (x - 127.5) / 128.0, image),
        "part": (lambda x: x[:, 1:-1, ::2], image),
        "new_axis": (lambda x: x[:, tf.newaxis, 2], image),
        "backwards": (lambda x: x[:, ::-1], image),
        "two": (lambda x, y: x * y + x - y, two),
        "joined": (lambda x, y: tf.concat([x, y, x], axis=-1), two),
        "stacked": (lambda x, y: tf.stack([x, y], 1), two),
        "activations": (lambda x: tf.nn.relu(x) + tf.nn.relu6(x) - tf.nn.leaky_relu(x, alpha=0.1) + tf.nn.swish(x), image),
        "gelu": (lambda x: tf.nn.gelu(x) + tf.nn.gelu(x, approximate=True), image),
        "means": (lambda x: tf.reduce_mean(x, axis=[1, 2], keepdims=True) + tf.reduce_max(x, 1, keepdims=True), image),
        "deviation": (lambda x: tf.math.reduce_std(x, axis=1) + tf.math.reduce_variance(x, axis=1), image),
        "reshaped": (lambda x: tf.reshape(x, [-1, 63, 3]), image),
        "batch_stays": (lambda x: tf.reshape(x, [tf.shape(x)[0], -1, 3]), image),
        "sizes": (lambda x: tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1] * tf.shape(x)[2], 3]), image),
        "turned": (lambda x: tf.transpose(x, [0, 3, 1, 2]), image),
        "squeezed": (lambda x: tf.squeeze(tf.reduce_sum(x, 1, keepdims=True), axis=1), image),
        "split": (lambda x: tf.split(x, 3, axis=-1), image),
        "split_by_sizes": (lambda x: tf.split(x, [2, 5], axis=1)[1], image),
        "unstacked": (lambda x: tf.unstack(x, axis=-1)[1], image),
        "padded": (lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 1], [0, 0]], mode="REFLECT"), image),
        "resized": (lambda x: tf.image.resize(x, (14, 18)), image),
        "upsampled": (lambda x: tf.image.resize(x, (tf.shape(x)[1] * 2, tf.shape(x)[2] * 3), method="nearest"),
                      [((None, None, 3), "float32")]),
        "depth_to_space": (lambda x: tf.nn.depth_to_space(tf.concat([x] * 4, -1), 2), image),
        "limits": (lambda x, y: tf.clip_by_value(tf.maximum(x, tf.minimum(y, 0.3)), -1.0, 0.5), two),
        "functions": (lambda x: tf.exp(x) + tf.math.log(tf.abs(x) + 1.0) + tf.sqrt(tf.square(x)) + x**2, image),
        "softmax": (lambda x: tf.nn.softmax(x, axis=-1) + tf.nn.log_softmax(x), image),
        "unit_length": (lambda x: tf.math.l2_normalize(x, -1) * tf.norm(x, axis=-1, keepdims=True), image),
        "product_of_matrices": (lambda x, y: tf.matmul(x, y, transpose_b=True), rows),
        "whole_numbers": (lambda x: tf.cast(x, tf.float32) / 255.0, [(IMAGE, "int32")]),
        "bytes": (lambda x: tf.cast(x, tf.float32) * 0.5 + 1.0, [(IMAGE, "uint8")]),
        "long_numbers": (lambda x: x * 3 - x, [(IMAGE, "int64")]),
        "one_hot": (lambda x: tf.one_hot(x, 5), [((7,), "int32")]),
        "largest": (lambda x: tf.argmax(x, axis=-1), image),
        "least": (lambda x: tf.math.argmin(x, axis=1), image),
        "least_of_32_bits": (lambda x: tf.argmin(x, axis=2, output_type=tf.int32), image),
        "counted": (lambda x: tf.math.count_nonzero(x, axis=-1), image),
        "resized_bytes": (lambda x: tf.image.resize(x, (14, 18)), [(IMAGE, "uint8")]),
        "taken_bytes": (lambda x: tf.image.resize(x, (14, 18), method="nearest"), [(IMAGE, "uint8")]),
        "gathered": (lambda x: tf.gather(x, [2, 0], axis=-1), image),
        "chosen": (lambda x, y: tf.where(tf.greater(x, y), x, y * 0.1), two),
        "pools": (lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME") + tf.nn.max_pool2d(x, [2, 3], 2, "SAME"), image),
        "tiled": (lambda x: tf.tile(x, [1, 2, 1, 3]), image),
        "rolled": (lambda x: tf.roll(x, 2, axis=2), image),
        "sums": (lambda x, y: tf.cumsum(x, axis=1) + tf.add_n([x, y, x]), two),
        "a_row": (lambda x: x * tf.constant([1.0, 2.0, 3.0]), image),
        "a_kernel": (lambda x: tf.nn.conv2d(x, np.arange(108, dtype="float32").reshape(3, 3, 3, 4), 2, "SAME"), image),
        "a_row_kernel": (lambda x: tf.nn.conv1d(x, np.arange(60, dtype="float32").reshape(3, 5, 4), 2, "SAME"), [((9, 5), "float32")]),
        "moments": (lambda x: tf.nn.moments(x, [1, 2])[1], image),
        "top": (lambda x: tf.math.top_k(x, 2).values, image),
    }


@pytest.fixture(scope="module")
def known() -> dict:
    return cases()


NAMES = [
    "product", "number_in_front", "preprocessing", "part", "new_axis", "backwards", "two", "joined", "stacked", "activations", "gelu",
    "means", "deviation", "reshaped", "batch_stays", "sizes", "turned", "squeezed", "split", "split_by_sizes", "unstacked", "padded",
    "resized", "upsampled", "depth_to_space", "limits", "functions", "softmax", "unit_length", "product_of_matrices", "whole_numbers",
    "bytes", "long_numbers", "one_hot", "largest", "least", "least_of_32_bits", "counted", "resized_bytes", "taken_bytes", "gathered", "chosen", "pools", "tiled", "rolled", "sums", "a_row", "a_kernel", "a_row_kernel",
    "moments", "top"]


def made(function, inputs):
    """The model, with layers around the function where these take what it reads."""
    import tf_keras

    tensors = [tf_keras.Input(shape, dtype=dtype) for shape, dtype in inputs]
    return tf_keras.Model(tensors if len(tensors) > 1 else tensors[0], function(*tensors))


def numbers(inputs, batch):
    random = np.random.default_rng(7)
    return [random.integers(0, 4, (batch, *(n or 5 for n in shape))).astype(dtype) if "int" in dtype else
            random.integers(-40, 40, (batch, *(n or 5 for n in shape))).astype(dtype) / 8 for shape, dtype in inputs]


def test_every_case_is_asked(known):
    assert sorted(NAMES) == sorted(known)


@pytest.mark.parametrize("name", NAMES)
def test_functions_as_layers(name, known, tmp_path):
    function, inputs = known[name]
    model = made(function, inputs)
    files = [tmp_path / "m.h5", tmp_path / "m.keras"]
    for file in files:
        model.save(file)
    for batch in (2, 3):
        given = numbers(inputs, batch)
        wanted = model(given if len(given) > 1 else given[0])
        wanted = [np.asarray(one) for one in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
        for file in files:
            got = run_natively([file], dict(zip([one.name for one in model.inputs], given)), tmp_path)
            assert len(got) == len(wanted)
            for mine, theirs in zip(got, wanted):
                assert mine.dtype == theirs.dtype
                assert_close(mine, theirs)
    for target in ("torch", "onnx"):
        convoy("port", files[0], "--to", target, "-o", tmp_path / ("m.py" if target == "torch" else "m.onnx"), "-f")


REFUSED = {
    "an axis of size [N] stretched to 2": lambda x, tf: tf.broadcast_to(x[:, :1], [2, *IMAGE]),
    "'size' holds a size that is free": lambda x, tf: tf.image.resize(x, (tf.shape(x)[1] + 1, 4)),
}


@pytest.mark.parametrize("word", REFUSED)
def test_what_is_not_read_is_said(word, tmp_path):
    import tensorflow as tf

    shape = (None, None, 3) if "free" in word else IMAGE
    made(lambda x: REFUSED[word](x, tf), [(shape, "float32")]).save(tmp_path / "m.h5")
    assert word in convoy("port", tmp_path / "m.h5", "-o", tmp_path / "m.py", code=6).stderr
