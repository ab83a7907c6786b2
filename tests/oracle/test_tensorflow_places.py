"""Nodes of TensorFlow's graphs that put numbers at places: run and ported as the graph answers."""
import numpy as np
import pytest
from carrying import assert_close, port, run_natively

FUNCTIONS = {
    "gather_nd": (lambda tf, a, i: tf.gather_nd(a, i), [((3, 4, 2), "f4"), ((2, 5, 2), "i4")]),
    "scatter_nd": (lambda tf, u: tf.scatter_nd([[1], [3], [1]], u, [5, 4]), [((3, 4), "f4")]),
    "update": (lambda tf, a, u: tf.tensor_scatter_nd_update(a, [[1], [0]], u), [((3, 4), "f4"), ((2, 4), "f4")]),
    "add": (lambda tf, a, u: tf.tensor_scatter_nd_add(a, [[1], [0], [1]], u), [((3, 4), "f4"), ((3, 4), "f4")]),
    "max": (lambda tf, a, u: tf.tensor_scatter_nd_max(a, [[1], [0]], u), [((3, 4), "f4"), ((2, 4), "f4")]),
    "sequences": (lambda tf, a: tf.reverse_sequence(a, [2, 0, 5], seq_axis=1, batch_axis=0), [((3, 5, 2), "f4")]),
    "segments": (lambda tf, a: tf.math.segment_sum(a, tf.constant([0, 0, 1, 2])), [((4, 3), "f4")]),
    "unsorted_segments": (lambda tf, a: tf.math.unsorted_segment_sum(a, tf.constant([2, 0, 2, -1]), 4), [((4, 3), "f4")]),
    "diagonal": (lambda tf, a: tf.linalg.diag(a), [((2, 3), "f4")]),
    "diagonal_set": (lambda tf, a, d: tf.linalg.set_diag(a, d), [((2, 3, 5), "f4"), ((2, 3), "f4")]),
    "diagonal_part": (lambda tf, a: tf.linalg.diag_part(a), [((2, 5, 3), "f4")]),
    "one_hot": (lambda tf, a: tf.one_hot(a, 5, axis=1), [((2, 3), "i4")]),
}


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
    given = [random.integers(0, 3, shape).astype(kind) for shape, kind in inputs]
    want = [made(*given)["y"].numpy()]
    assert_close(run_natively([tmp_path / "saved"], {f"x{i}": x for i, x in enumerate(given)}, tmp_path), want)
    assert_close(port([tmp_path / "saved"], tmp_path / "net.py")(given), want)
