"""Nodes of TensorFlow's graphs that put numbers at places: run and ported as the graph answers."""
import json
import subprocess

import numpy as np
import pytest
from carrying import CONVOY, assert_close, convoy, port, run_natively
from test_keras_written import answers, opened
from test_onnx_written import crossings_of

FUNCTIONS = {
    "gather_nd": (lambda tf, a, i: tf.gather_nd(a, i), [((3, 4, 2), "f4"), ((2, 5, 2), "i4")]),
    "scatter_nd": (lambda tf, u: tf.scatter_nd([[1], [3], [1]], u, [5, 4]), [((3, 4), "f4")]),
    "scatter_nd_at_computed": (lambda tf, u, i: tf.scatter_nd(i, u, [6, 5]), [((3, 5), "f4"), ((3, 1), "i4")]),
    "update": (lambda tf, a, u: tf.tensor_scatter_nd_update(a, [[1], [0]], u), [((3, 4), "f4"), ((2, 4), "f4")]),
    "add": (lambda tf, a, u: tf.tensor_scatter_nd_add(a, [[1], [0], [1]], u), [((3, 4), "f4"), ((3, 4), "f4")]),
    "sub": (lambda tf, a, u: tf.tensor_scatter_nd_sub(a, [[1], [0], [1]], u), [((3, 4), "f4"), ((3, 4), "f4")]),
    "max": (lambda tf, a, u: tf.tensor_scatter_nd_max(a, [[1], [0]], u), [((3, 4), "f4"), ((2, 4), "f4")]),
    "sequences": (lambda tf, a: tf.reverse_sequence(a, [2, 0, 5], seq_axis=1, batch_axis=0), [((3, 5, 2), "f4")]),
    "segments": (lambda tf, a: tf.math.segment_sum(a, tf.constant([0, 0, 1, 2])), [((4, 3), "f4")]),
    "unsorted_segments": (lambda tf, a: tf.math.unsorted_segment_sum(a, tf.constant([2, 0, 2, -1]), 4), [((4, 3), "f4")]),
    "diagonal": (lambda tf, a: tf.linalg.diag(a), [((2, 3), "f4")]),
    "diagonal_set": (lambda tf, a, d: tf.linalg.set_diag(a, d), [((2, 3, 5), "f4"), ((2, 3), "f4")]),
    "diagonal_part": (lambda tf, a: tf.linalg.diag_part(a), [((2, 5, 3), "f4")]),
    "band": (lambda tf, a: tf.linalg.band_part(a, 1, 0), [((2, 3, 5), "f4")]),
    "band_above": (lambda tf, a: tf.linalg.band_part(a, -1, 2), [((2, 3, 5), "f4")]),
    "sizes_of_a_pool_as_tensors": (
        lambda tf, a: tf.raw_ops.MaxPoolV2(input=a, ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="SAME"),
        [((2, 5, 6, 3), "f4")]),
    "one_hot": (lambda tf, a: tf.one_hot(a, 5, axis=1), [((2, 3), "i4")]),
    "sums_from_the_end": (lambda tf, a: tf.cumsum(a, 1, exclusive=True, reverse=True), [((None, None, 3), "f4")]),
    "products_of_what_lies_before": (lambda tf, a: tf.math.cumprod(a + 1, 1, exclusive=True), [((None, 4, 3), "f4")]),
    "rows_of_examples": (lambda tf, a, i: tf.gather(a, i, batch_dims=1), [((None, 4, 2), "f4"), ((None, 5), "i4")]),
    "row_of_each": (lambda tf, a, i: tf.gather(a, i, batch_dims=1, axis=1), [((None, 4, 2), "f4"), ((None,), "i4")]),
    "numbers_of_examples": (lambda tf, a, i: tf.gather(a, i, batch_dims=-1), [((None, 4), "f4"), ((None, 5), "i4")]),
    "grids_of_examples": (lambda tf, a, i: tf.gather(a, i, batch_dims=1), [((3, 4, 2), "f4"), ((3, 2, 5), "i4")]),
    "rows_further_behind": (lambda tf, a, i: tf.gather(a, i, batch_dims=1, axis=2), [((None, 3, 4, 2), "f4"), ((None, 5), "i4")]),
}

CARRIED_TO_TFLITE = ["scatter_nd_at_computed"]
CARRIED_TO_KERAS = list(FUNCTIONS)[list(FUNCTIONS).index("sums_from_the_end"):]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nodes_are_run_and_ported(name, tmp_path):
    import tensorflow as tf

    function, inputs = FUNCTIONS[name]
    types = {"f4": tf.float32, "i4": tf.int32}
    made = tf.function(lambda *x: {"y": function(tf, *x)},
                       input_signature=[tf.TensorSpec(shape, types[kind], f"x{i}") for i, (shape, kind) in enumerate(inputs)])
    module = tf.Module()
    module.call = made
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=made.get_concrete_function())
    random = np.random.default_rng(3)
    given = [random.integers(0, 3, [n or 3 for n in shape]).astype(kind) for shape, kind in inputs]
    want = [made(*given)["y"].numpy()]
    assert_close(run_natively([tmp_path / "saved"], {f"x{i}": x for i, x in enumerate(given)}, tmp_path), want)
    assert_close(port([tmp_path / "saved"], tmp_path / "net.py")(given), want)
    if name in CARRIED_TO_KERAS:
        report = json.loads(convoy("port", tmp_path / "saved", "-o", tmp_path / "net.keras", "--json").stdout)
        assert_close(answers(opened(tmp_path / "net.keras"), crossings_of(report), given), want)
    if name in CARRIED_TO_TFLITE:
        convoy("port", tmp_path / "saved", "-o", tmp_path / "net.tflite")
        run = tf.lite.Interpreter(str(tmp_path / "net.tflite")).get_signature_runner()
        assert_close([run(**{f"x{i}": x for i, x in enumerate(given)})["y"]], want)


# Arguments that the graph computes from its input, each a sound file.
COMPUTED = {
    "perm": lambda tf, x, n: tf.transpose(x, n([0, 2, 1])),
    "paddings": lambda tf, x, n: tf.pad(x, n([[0, 0], [1, 2], [0, 1]])),
    "multiples": lambda tf, x, n: tf.tile(x, n([1, 2, 1])),
    "axis": lambda tf, x, n: tf.reduce_sum(x, n([1, 2])),
    "dimension": lambda tf, x, n: tf.argmax(x, n(2)),
    "shift": lambda tf, x, n: tf.roll(x, n(1), 2),
    "begin": lambda tf, x, n: tf.slice(x, n([0, 1, 0]), [2, 2, 3]),
    "k": lambda tf, x, n: tf.math.top_k(x, n(2))[0],
    "num_lower": lambda tf, x, n: tf.linalg.band_part(x, n(1), 0),
    "ksize": lambda tf, x, n: tf.raw_ops.MaxPoolV2(input=x[:, :, None], ksize=n([1, 1, 2, 1]), strides=[1, 1, 1, 1],
                                                   padding="SAME"),
}


@pytest.mark.parametrize("argument", COMPUTED)
def test_an_argument_that_the_model_computes_is_not_supported(argument, tmp_path):
    import tensorflow as tf

    def function(x):
        return COMPUTED[argument](tf, x, lambda numbers: tf.constant(numbers) + tf.cast(tf.reduce_sum(x) * 0, tf.int32))

    module = tf.Module()
    module.call = tf.function(function, input_signature=[tf.TensorSpec([2, 5, 3])])
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.call.get_concrete_function())
    done = subprocess.run([CONVOY, "port", tmp_path / "saved", "-o", tmp_path / "net.onnx", "--to", "onnx"],
                          capture_output=True, text=True)
    assert (done.returncode, f"'{argument}' is known only when the model runs" in done.stderr) == (6, True), done.stderr


BY_SIZES = {
    "counted": lambda tf, x: tf.cast(tf.range(tf.shape(x)[1] // 2 + 1), tf.float32),
    "filled_up": lambda tf, x: tf.pad(x, [[0, 0], [1, 3 - tf.shape(x)[1] % 4], [0, 0]], constant_values=2.0),
    "repeated": lambda tf, x: tf.tile(x, [1, tf.shape(x)[1] // 2 + 1, 1]),
}


@pytest.mark.parametrize("name", BY_SIZES)
def test_numbers_of_free_sizes(name, tmp_path):
    import tensorflow as tf
    import torch
    from carrying import import_file

    made = tf.function(lambda x: {"y": BY_SIZES[name](tf, x)}, input_signature=[tf.TensorSpec([None, None, 3], tf.float32, "x")])
    module = tf.Module()
    module.call = made
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=made.get_concrete_function())
    convoy("port", tmp_path / "saved", "-o", tmp_path / "p.py")
    net = import_file(tmp_path / "p.py").load()
    for n, t in [(1, 1), (2, 2), (3, 4), (1, 7), (2, 11)]:
        x = np.arange(n * t * 3, dtype=np.float32).reshape(n, t, 3)
        with torch.no_grad():
            np.testing.assert_array_equal(net(torch.from_numpy(x)).numpy(), made(x)["y"].numpy())
