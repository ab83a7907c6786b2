"""TensorFlowOpLayer, as files of TensorFlow 2.2 and 2.3 keep a function that was called on a layer's output: each node in tf_keras's
own files, run and ported with the numbers that tf_keras gives."""
import numpy as np
import pytest
from carrying import convoy

tf = pytest.importorskip("tensorflow")
tf_keras = pytest.importorskip("tf_keras")

ROW = np.array([0.5, -1.5, 2.0], np.float32)
CALLS = {
    "add": lambda x: tf.raw_ops.AddV2(x=x, y=1.5),
    "subtracted from": lambda x: tf.raw_ops.Sub(x=1.5, y=x),
    "row": lambda x: x * tf.constant(ROW),
    "divide": lambda x: tf.raw_ops.RealDiv(x=x, y=4.0),
    "power": lambda x: tf.raw_ops.Pow(x=tf.abs(x), y=1.5),
    "maximum": lambda x: tf.maximum(x, 0.25),
    "floormod": lambda x: tf.math.floormod(x, 0.75),
    "floordiv": lambda x: tf.math.floordiv(x, 0.75),
    "squared_difference": lambda x: tf.math.squared_difference(x, 0.5),
    "negative": tf.negative,
    "rsqrt": lambda x: tf.math.rsqrt(tf.square(x) + 1.0),
    "sigmoid": tf.sigmoid,
    "relu6": tf.nn.relu6,
    "softplus": tf.math.softplus,
    "softmax": tf.nn.softmax,
    "mean": lambda x: tf.reduce_mean(x, [1, 2]),
    "mean kept": lambda x: tf.reduce_mean(x, [1], keepdims=True),
    "max": lambda x: tf.reduce_max(x, -1),
    "cast": lambda x: tf.cast(tf.cast(x * 4.0, tf.int32), tf.float32),
    "reshape": lambda x: tf.reshape(x, [-1, 24, 3]),
    "transpose": lambda x: tf.transpose(x, [0, 2, 3, 1]),
    "expand and squeeze": lambda x: tf.squeeze(tf.expand_dims(x, 2), [2]),
    "slice": lambda x: x[:, 1:, ::2, 0],
    "slice behind dots": lambda x: x[..., :-1],
    "pad": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 3], [0, 0]]),
    "pad with a number": lambda x: tf.pad(x, [[0, 0], [1, 0], [0, 0], [0, 0]], constant_values=2.5),
    "mirror": lambda x: tf.pad(x, [[0, 0], [1, 2], [2, 0], [0, 0]], "REFLECT"),
    "symmetric": lambda x: tf.pad(x, [[0, 0], [1, 2], [2, 0], [0, 0]], "SYMMETRIC"),
    "tile": lambda x: tf.tile(x, [1, 2, 1, 3]),
    "concat": lambda x: tf.concat([x, x * 2.0], 3),
    "stack": lambda x: tf.stack([x, tf.nn.relu(x)], 1),
    "bilinear": lambda x: tf.image.resize(x, [7, 9]),
    "nearest": lambda x: tf.image.resize(x, [7, 9], "nearest"),
    "product": lambda x: tf.matmul(x, tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))),
}


def as_layers(call, x):
    """The graph of the call, every node of it as a layer on what comes in; what is constant stands in the layer."""
    from google.protobuf import json_format
    from tf_keras.src.engine.base_layer import TensorFlowOpLayer

    graph = tf.Graph()
    with graph.as_default():
        given = tf.compat.v1.placeholder(tf.float32, x.shape, name="given")
        result = call(given)
        session = tf.compat.v1.Session()
    made = {given.name: x}
    for node in graph.get_operations():
        if node.type in ("Placeholder", "Const"):
            continue
        constants = {i: session.run(one) for i, one in enumerate(node.inputs) if one.name not in made}
        tensors = [made[one.name] for one in node.inputs if one.name in made]
        layer = TensorFlowOpLayer(json_format.MessageToDict(node.node_def), node.name.replace("/", "_"), constants=constants)
        made[node.outputs[0].name] = layer(tensors if len(tensors) > 1 else tensors[0])
    return made[result.name]


@pytest.mark.parametrize("suffix", ["h5", "keras"])
@pytest.mark.parametrize("name", CALLS)
def test_a_node_as_a_layer(name, suffix, tmp_path):
    tf_keras.backend.clear_session()
    x = tf_keras.Input((4, 6, 3))
    y = as_layers(CALLS[name], x)
    model = tf_keras.Model(x, y)
    model.save(tmp_path / f"net.{suffix}")
    fed = np.random.default_rng(5).normal(size=(2, 4, 6, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", fed)
    want = CALLS[name](tf.constant(fed)).numpy()
    convoy("run", tmp_path / f"net.{suffix}", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), want, rtol=1e-5, atol=1e-6)
    convoy("port", tmp_path / f"net.{suffix}", "-o", tmp_path / "net.onnx")


@pytest.mark.parametrize("call,words", [
    (tf.math.lgamma, "TensorFlow's operator 'Lgamma'"),
    (lambda x: tf.compat.v1.image.resize_bilinear(x, [7, 9]), "without half-pixel centres"),
    (lambda x: x[:, None], "with a new axis"),
    (lambda x: tf.broadcast_to(x[:1], [2, 4, 6, 3]), "an axis of size [N] stretched to 2"),
])
def test_what_is_not_carried_is_named(call, words, tmp_path):
    x = tf_keras.Input((4, 6, 3))
    tf_keras.Model(x, as_layers(call, x)).save(tmp_path / "net.h5")
    said = convoy("port", tmp_path / "net.h5", "-o", tmp_path / "net.onnx", code=6).stderr
    assert words in said, said
