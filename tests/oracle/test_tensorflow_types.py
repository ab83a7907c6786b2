"""Element types of TensorFlow's graphs: what a Keras port answers, as a file and as source, has them too."""
import json

import numpy as np
import pytest
from carrying import convoy, import_file, plain_session, port
from test_keras_written import answers, opened
from test_onnx_written import crossings_of

one_hot = lambda tf, x, on, off, dtype: tf.one_hot(x, 3, tf.constant(on, dtype), tf.constant(off, dtype), dtype=dtype)
FACTOR = np.array([[100, -120, 3], [7, 90, -5], [127, 2, 61], [-9, 4, -128]], np.int32)
GRAPHS = {
    "truths_of_places": ("int32", lambda tf, x: one_hot(tf, x, True, False, tf.bool)),
    "any_truth": ("int32", lambda tf, x: tf.reduce_any(one_hot(tf, x, True, False, tf.bool), 1)),
    "all_truths": ("int32", lambda tf, x: tf.reduce_all(one_hot(tf, x, True, False, tf.bool), -1)),
    "count": ("int32", lambda tf, x: tf.reduce_sum(tf.cast(one_hot(tf, x, True, False, tf.bool), tf.int32), 1)),
    "bytes_of_places": ("int32", lambda tf, x: one_hot(tf, x, 2, 1, tf.uint8)),
    "long_of_places": ("int32", lambda tf, x: one_hot(tf, x, 2, 1, tf.int64)),
    "truth_or_true": ("float32", lambda tf, x: tf.where(x > 0, x > 1, True)),
    "other_truth": ("bool", lambda tf, x: tf.math.logical_xor(x, True)),
    "equal_to_true": ("bool", lambda tf, x: tf.equal(x, True)),
    "chosen_bytes": ("bool", lambda tf, x: tf.where(x, tf.cast(1, tf.uint8), tf.cast(3, tf.uint8))),
    "bytes_compared": ("uint8", lambda tf, x: x > 1),
    "bytes_chosen_by_bytes": ("uint8", lambda tf, x: tf.where(x > tf.constant(1, tf.uint8), x, tf.cast(200, tf.uint8))),
    "whole_product": ("int32", lambda tf, x: tf.matmul(x, FACTOR)),
    "product_of_bytes": ("int8", lambda tf, x: tf.matmul(x, FACTOR.astype("int8"), output_type=tf.int32)),
    "product_of_batches": ("int8", lambda tf, x: tf.matmul(x[:, None], FACTOR.astype("int8"), output_type=tf.int32)),
    "padded_with_true": ("bool", lambda tf, x: tf.pad(x, [[0, 0], [1, 2]], constant_values=True)),
}


def given(dtype: str) -> np.ndarray:
    return np.array([[1, 0, 2, 5], [0, 0, 1, -1], [1, 1, 2, 1]]).clip(0 if dtype.startswith("u") else -1).astype(dtype)


def saved(function, dtype: str, folder):
    import tensorflow as tf

    traced = tf.function(lambda x: {"y": function(tf, x)}, autograph=False,
                         input_signature=[tf.TensorSpec((None, 4), getattr(tf, dtype), name="x")])
    module = tf.Module()
    module.traced = traced
    tf.saved_model.save(module, str(folder / "saved"), signatures=traced.get_concrete_function())
    return traced


@pytest.mark.parametrize("form", [".keras", ".py"])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_keras_port_answers_in_the_types_of_the_graph(name, form, tmp_path):
    dtype, function = GRAPHS[name]
    traced, x = saved(function, dtype, tmp_path), given(dtype)
    want, path = traced(x)["y"].numpy(), tmp_path / f"net{form}"
    report = json.loads(convoy("port", tmp_path / "saved", "--to", "keras", "-o", path, "--interface", "source", "--json").stdout)
    model = import_file(path).load() if form == ".py" else opened(path)
    got = answers(model, crossings_of(report), [x])[0]
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["whole_product", "product_of_bytes", "product_of_batches"])
def test_a_product_of_whole_numbers_stays_whole(name, tmp_path):
    dtype, function = GRAPHS[name]
    traced, x = saved(function, dtype, tmp_path), given(dtype)
    want = traced(x)["y"].numpy()
    assert want.dtype == np.int32
    convoy("port", tmp_path / "saved", "-o", tmp_path / "net.onnx")
    for got in (port([tmp_path / "saved"], tmp_path / "net.py")([x])[0], plain_session(tmp_path / "net.onnx").run(None, {"x": x})[0]):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_the_proof_names_the_batch_of_what_has_no_other_size(tmp_path):
    import tensorflow as tf

    traced = tf.function(lambda x: {"y": tf.one_hot(x, 3)}, autograph=False, input_signature=[tf.TensorSpec((None,), tf.int32, name="x")])
    module = tf.Module()
    module.traced = traced
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=traced.get_concrete_function())
    said = convoy("port", tmp_path / "saved", "-o", tmp_path / "net.onnx").stdout
    assert "proof   sizes      batch 2\n" in said
