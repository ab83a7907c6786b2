"""FILL in TFLite files: one number, as many times as known sizes say, or sizes that the model computes from its inputs."""
import numpy as np
import pytest
from carrying import assert_close, convoy, port, run_natively


def converted(function, shapes, path):
    import tensorflow as tf

    signature = [tf.TensorSpec(shape, tf.float32, f"x{i}") for i, shape in enumerate(shapes)]
    made = tf.function(function, input_signature=signature)
    path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([made.get_concrete_function()]).convert())


def answer(path, inputs):
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(str(path), experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_REF)
    names = {details["name"]: details["index"] for details in interpreter.get_input_details()}
    for name, x in inputs.items():
        interpreter.resize_tensor_input(names[name], x.shape)
    interpreter.allocate_tensors()
    for name, x in inputs.items():
        interpreter.set_tensor(names[name], x)
    interpreter.invoke()
    return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]


def beside(tf, x, y):
    """A size of each input, and a known one."""
    return tf.matmul(y, x) + tf.reduce_sum(tf.fill([tf.shape(y)[0], 3, tf.shape(x)[1]], 0.25), 1)


FUNCTIONS = {
    "batch": (lambda tf, x: tf.concat([x, tf.fill([tf.shape(x)[0], 3], 0.5)], 1), [(None, 4)], [(5, 4)]),
    "two": (beside, [(4, None), (None, 4)], [(4, 6), (3, 4)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_follow_the_inputs(name, tmp_path):
    import tensorflow as tf

    function, free, shapes = FUNCTIONS[name]
    path = tmp_path / "m.tflite"
    converted(lambda *x: function(tf, *x), free, path)
    random = np.random.default_rng(0)
    inputs = {f"x{i}": random.standard_normal(shape).astype("f4") for i, shape in enumerate(shapes)}
    want = answer(path, inputs)
    assert_close(run_natively([path], inputs, tmp_path), want)
    assert_close(port([path], tmp_path / "net.py")(list(inputs.values())), want)


@pytest.mark.parametrize("quantised", [False, True])
def test_the_states_that_an_unrolled_lstm_begins_with(quantised, tmp_path):
    import keras
    import tensorflow as tf

    x = keras.Input((5, 3))
    model = keras.Model(x, keras.layers.Dense(2)(keras.layers.LSTM(4, unroll=True)(x)))
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    given = np.random.default_rng(1).standard_normal((1, 5, 3)).astype("f4")
    if quantised:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([given] for _ in range(4))
    path = tmp_path / "m.tflite"
    path.write_bytes(converter.convert())
    name = tf.lite.Interpreter(str(path)).get_input_details()[0]["name"]
    want = answer(path, {name: given})
    assert_close(run_natively([path], {name: given}, tmp_path), want, 1e-7 if quantised else 2e-5)
    if not quantised:
        convoy("port", path, "-o", tmp_path / "m.onnx")
