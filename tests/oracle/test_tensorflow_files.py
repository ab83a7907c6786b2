"""TensorFlow's own files through convoy: every SavedModel and frozen graph of the corpus at every stored size, run natively and
ported to PyTorch, Keras and ONNX, each answered by the real framework; and models of kinds that the corpus has not, which
TensorFlow makes here: dynamic shapes, TensorFlow 1's branches, dropout and checkpoints."""
import json

import numpy as np
import pytest
from carrying import assert_close, cases_in, convoy, port, run_natively
from test_keras_written import answers, opened, stored
from test_onnx_written import crossings_of, session

CORPUS = cases_in("corpus/tensorflow")
NAMES = sorted(f.parent.name for f in CORPUS.glob("*/case.json")) if CORPUS else []
FORMS = {"saved_model": "saved_model", "frozen": "frozen.pb"}
# A resize to the size of another tensor: the sizes must be known.
NEEDS_SIZES = {"net_unet_dynamic"}
TOLERANCE = {"net_quant_dequant": 0.05}  # a value on the border of two steps, as the corpus says itself
pytestmark = pytest.mark.skipif(not NAMES, reason="no models of TensorFlow")


def shapes(name: str, inputs: list) -> list:
    rows = json.loads((CORPUS / name / "case.json").read_text())["inputs"]
    return [word for row, x in zip(rows, inputs, strict=True) for word in ("--shape", f"{row['name']}={','.join(map(str, x.shape))}")]


def ported(source, target: str, inputs: list, folder, *options) -> list[np.ndarray] | None:
    """What the port answers in its framework; nothing where it is refused."""
    if target == "torch":
        return port([source], folder / "net.py", *options)(inputs)
    path = folder / f"net.{target}"
    report = json.loads(convoy("port", source, "-o", path, "--json", "--force", *options).stdout)
    crossings = crossings_of(report)
    if target == "keras":
        return answers(opened(path), crossings, inputs)
    feed = {c.name: c.to_port(x) for c, x in zip(crossings["inputs"], inputs, strict=True)}
    return [c.from_port(y) for c, y in zip(crossings["outputs"], session(path, True).run(None, feed), strict=True)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_run(name, form, tmp_path):
    names = [row["name"] for row in json.loads((CORPUS / name / "case.json").read_text())["inputs"]]
    for inputs, outputs in stored(CORPUS, name):
        sizes = shapes(name, inputs) if name in NEEDS_SIZES else []
        got = run_natively([CORPUS / name / FORMS[form], *sizes], dict(zip(names, inputs, strict=True)), tmp_path)
        assert_close(got, outputs, TOLERANCE.get(name, 2e-5), name)


@pytest.mark.parametrize("target", ["torch", "keras", "onnx"])
@pytest.mark.parametrize("name", NAMES)
def test_ported(name, target, tmp_path):
    for inputs, outputs in stored(CORPUS, name):
        sizes = shapes(name, inputs) if name in NEEDS_SIZES else []
        got = ported(CORPUS / name / "saved_model", target, inputs, tmp_path, *sizes)
        assert_close(got, outputs, TOLERANCE.get(name, 2e-4), name)


def numbers(*shape):
    return (np.random.default_rng(sum(shape) * 31 + len(shape)).standard_normal(shape) * 0.4).astype("float32")


def made() -> dict:
    """Models by name: a function of one image or sequence, the shape that it declares, and one that it is given."""
    import tensorflow as tf

    w, image, free = numbers, (2, 9, 11, 3), (None, None, None, 3)

    def groups(x):
        g = tf.reshape(x, [tf.shape(x)[0], 4, 6, 2, 4])
        mean, variance = tf.nn.moments(g, [1, 2, 4], keepdims=True)
        return tf.reshape((g - mean) * tf.math.rsqrt(variance + 1e-5), tf.shape(x))

    def twice(x):
        size = tf.shape(x)
        return tf.nn.conv2d_transpose(x, w(3, 2, 4, 3), tf.stack([size[0], size[1] * 2 + 1, size[2] * 2, 4]), 2, "VALID")

    return {
        "dilated_same": (lambda x: tf.nn.conv2d(x, w(3, 3, 3, 4), 1, "SAME", dilations=[2, 3]), free, image),
        "dilated_sequence": (lambda x: tf.nn.convolution(x, w(3, 3, 5), padding="SAME", dilations=[2]), (None, None, 3), (2, 17, 3)),
        "dilated_depthwise": (lambda x: tf.nn.depthwise_conv2d(x, w(3, 3, 3, 2), [1, 1, 1, 1], "SAME", dilations=[2, 2]), free, image),
        "resized_twice": (lambda x: tf.image.resize(x, 2 * tf.shape(x)[1:3]), free, image),
        "resized_softly": (lambda x: tf.image.resize(x, [4, 5], antialias=True), (None, 9, 11, 3), image),
        "transposed": (twice, free, (2, 5, 6, 3)),
        "groups": (groups, (None, 4, 6, 8), (2, 4, 6, 8)),
        "split": (lambda x: tf.concat([tf.nn.conv2d(a, w(3, 2, 2, 3), 1, "SAME") for a in tf.split(x, 2, 3)], 3),
                  (None, None, None, 4), (2, 5, 6, 4)),
        "masks": (lambda x: x[:, 1:-1, ::2, tf.newaxis, ..., :3][:, :, :, 0] - x[:, 1:-1, ::2, -1][..., tf.newaxis],
                  (None, 8, 9, 4), (2, 8, 9, 4)),
        "zero_first": (lambda x: tf.math.xlogy(tf.nn.relu(x), x * x + 0.1) + tf.math.xlog1py(tf.nn.relu(-x), x * x)
                       + tf.math.xdivy(tf.nn.relu(x), x), (None, 5), (2, 5)),
        "quotients": (lambda x: tf.clip_by_value(x, -0.3, 0.4) + tf.math.divide_no_nan(x, tf.nn.relu(x)), (None, 5), (2, 5)),
        "one_hot": (lambda x: tf.one_hot(tf.argmax(x, 1), 8) + tf.roll(x, 3, 1), (None, 8), (2, 8)),
        "third_of_batch": (lambda x: x[2] * 1.5, (None, 6, 5), (4, 6, 5)),
        "frames_of_films": (lambda x: tf.reduce_mean(tf.reshape(tf.nn.conv2d(x, w(3, 2, 3, 4), 1, "SAME"), [-1, 5, 6, 7, 4]), 1),
                            (None, 6, 7, 3), (10, 6, 7, 3)),
        "places": (lambda x: tf.gather_nd(x, [[0, 1], [1, 2]]), (2, 8), (2, 8)),
        "largest": (lambda x: tf.reduce_logsumexp(tf.math.top_k(x, 3).values, 1), (None, 9), (2, 9)),
    }


MADE = ["dilated_same", "dilated_sequence", "dilated_depthwise", "resized_twice", "resized_softly", "transposed", "groups", "split",
        "masks", "zero_first", "quotients", "one_hot", "third_of_batch", "frames_of_films", "places", "largest"]  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_made(name, tmp_path):
    import tensorflow as tf

    function, declared, shape = made()[name]
    x = np.random.default_rng(7).standard_normal(shape).astype("float32")
    traced = tf.function(function, input_signature=[tf.TensorSpec(declared, tf.float32, name="x")])
    module = tf.Module()
    module.traced = traced
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=traced)
    want = [traced(tf.constant(x)).numpy()]
    assert_close(run_natively([tmp_path / "saved"], {"x": x}, tmp_path), want, what=name)
    for target in ("torch", "keras", "onnx"):
        assert_close(ported(tmp_path / "saved", target, [x], tmp_path), want, 2e-4, f"{name} to {target}")


@pytest.mark.parametrize("bits,narrow", [(8, False), (4, True)])
def test_steps_of_each_channel_are_those_of_tensorflow(bits, narrow, tmp_path):
    import tensorflow as tf

    least, most = np.array([-0.7, -3, -0.0, -0.01, 0.2], "f4"), np.array([1.3, 0.4, 0.0, 0.02, 1.7], "f4")
    steps = lambda x: tf.quantization.fake_quant_with_min_max_vars_per_channel(x, least, most, bits, narrow)
    traced = tf.function(steps, input_signature=[tf.TensorSpec((None, 50, 5), tf.float32, name="x")])
    module = tf.Module()
    module.traced = traced
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=traced)
    x = np.random.default_rng(1).standard_normal((3, 50, 5)).astype("float32")
    x[0, 0, 2] = np.nan
    want = traced(tf.constant(x)).numpy()
    assert not want[..., 2].any()
    np.testing.assert_allclose(run_natively([tmp_path / "saved"], {"x": x}, tmp_path)[0], want, atol=3e-7)
    for target in ("torch", "keras", "onnx"):
        np.testing.assert_allclose(ported(tmp_path / "saved", target, [x], tmp_path)[0], want, atol=3e-7)


def test_a_slope_in_float64_is_the_float32_of_the_attribute(tmp_path):
    import tensorflow as tf

    x = np.array([[-1.0, 2, -3], [5, -7, -0.5]])
    for slope in (0.2, 0.3):  # the first is the default, which a SavedModel leaves out
        traced = tf.function(lambda x, slope=slope: tf.nn.leaky_relu(x, slope), input_signature=[tf.TensorSpec((None, 3), tf.float64, name="x")])
        module = tf.Module()
        module.traced = traced
        tf.saved_model.save(module, str(tmp_path / f"{slope}"), signatures=traced)
        np.testing.assert_array_equal(run_natively([tmp_path / f"{slope}"], {"x": x}, tmp_path)[0], traced(tf.constant(x)).numpy())


@pytest.fixture(scope="module")
def first_version(tmp_path_factory):
    """A model of TensorFlow 1 that is still being trained: a branch for training, dropout, an optimizer, a saver."""
    import tensorflow as tf

    folder, v1 = tmp_path_factory.mktemp("first"), tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as run:
        v1.disable_control_flow_v2()
        x, wanted = v1.placeholder(tf.float32, [None, 8, 9, 3], "x"), v1.placeholder(tf.float32, [None, 5], "wanted")
        training, keep = v1.placeholder_with_default(False, []), v1.placeholder_with_default(1.0, [])
        held = {n: v1.get_variable(n, initializer=numbers(*s)) for n, s in
                {"conv/kernel": (3, 3, 3, 4), "conv/bias": (4,), "norm/scale": (4,), "norm/offset": (4,), "fc": (80, 5)}.items()}
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, held["conv/kernel"], 2, "SAME"), held["conv/bias"]))
        mean, variance = v1.get_variable("norm/mean", initializer=numbers(4)), v1.get_variable("norm/variance", initializer=numbers(4) ** 2 + 0.5)
        scale, offset = held["norm/scale"], held["norm/offset"]
        h = v1.cond(training, lambda: v1.nn.fused_batch_norm(h, scale, offset, is_training=True)[0],
                    lambda: v1.nn.fused_batch_norm(h, scale, offset, mean, variance, is_training=False)[0])
        h = v1.nn.dropout(tf.reshape(h, [-1, 80]), keep)
        y = tf.nn.softmax(tf.matmul(h, held["fc"]), name="share")
        v1.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(y - wanted)))
        run.run(v1.global_variables_initializer())
        given = np.random.default_rng(5).standard_normal((2, 8, 9, 3)).astype("float32")
        answer = run.run(y, {x: given})
        v1.train.Saver().save(run, str(folder / "model.ckpt"))
        v1.saved_model.simple_save(run, str(folder / "saved"), {"x": x}, {"share": y})
        frozen = v1.graph_util.convert_variables_to_constants(run, v1.get_default_graph().as_graph_def(), ["share"])
        (folder / "frozen.pb").write_bytes(frozen.SerializeToString())
    return folder, given, answer


def test_a_graph_that_trains_as_well_names_its_answers(first_version):
    said = convoy("summary", first_version[0] / "model.ckpt.meta", code=2).stderr
    assert "choose them with --outputs, such as 'share'" in said and said.count("'share'") == 1 and "gradients" not in said


def test_an_array_of_tensors_is_followed_through_a_loop(tmp_path):
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as run:
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [None, 5, 4], "x")
        steps = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(x, [1, 0, 2]))

        def turn(i, state, kept):
            state = tf.tanh(steps.read(i) @ tf.constant(numbers(4, 4)) + state)
            return i + 1, state, kept.write(4 - i, state * tf.cast(kept.size(), tf.float32))

        loop = (tf.constant(0), tf.zeros_like(x[:, 0]), tf.TensorArray(tf.float32, 5, clear_after_read=False))
        _, state, kept = v1.while_loop(lambda i, *_: i < 5, turn, loop)
        y = tf.concat([kept.gather([3, 0, 1]), state[tf.newaxis], kept.stack()], 0, "y")
        given = np.random.default_rng(2).standard_normal((3, 5, 4)).astype("float32")
        answer = run.run(y, {x: given})
        (tmp_path / "m.pb").write_bytes(v1.get_default_graph().as_graph_def().SerializeToString())
        assert any(node.op == "TensorArrayV3" for node in v1.get_default_graph().as_graph_def().node)
        v1.enable_control_flow_v2()
    assert_close(run_natively([tmp_path / "m.pb"], {"x": given}, tmp_path), [answer])
    for target in ("torch", "keras", "onnx"):
        assert_close(ported(tmp_path / "m.pb", target, [given], tmp_path), [answer], 2e-5)


def test_a_checkpoint_beside_a_graph_that_does_not_train_needs_no_outputs(tmp_path):
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as run:
        x = v1.placeholder(tf.float32, [None, 5, 3], "x")
        kernel = v1.get_variable("kernel", [3, 4], initializer=v1.constant_initializer(numbers(3, 4)), use_resource=False)
        rate = v1.placeholder_with_default(1.0, [], "rate")
        y = tf.nn.elu(tf.tensordot(x, kernel, 1) * rate, "y")
        run.run(v1.global_variables_initializer())
        given = np.random.default_rng(2).standard_normal((2, 5, 3)).astype("float32")
        answer = run.run(y, {x: given})
        v1.train.Saver().save(run, str(tmp_path / "model.ckpt"))
    assert_close(run_natively([tmp_path / "model.ckpt.meta"], {"x": given}, tmp_path), [answer])


@pytest.mark.parametrize("file", ["saved", "frozen.pb", "model.ckpt.meta"])
def test_a_model_of_tensorflow_1_is_cut_at_its_answer(first_version, file, tmp_path):
    folder, x, want = first_version
    cut = ["--outputs", "share"] if file.endswith(".meta") else []
    assert_close(run_natively([folder / file, *cut], {"x": x}, tmp_path), [want], what=file)
    assert_close(ported(folder / file, "torch", [x], tmp_path, *cut), [want], 2e-4, file)


def test_a_checkpoint_has_its_weights_by_name(first_version):
    rows = json.loads(convoy("weights", first_version[0] / "model.ckpt.index", "--json").stdout)["tensors"]
    named = {row["name"]: row["shape"] for row in rows}
    assert named["conv/kernel"] == [3, 3, 3, 4] and named["fc"] == [80, 5]
