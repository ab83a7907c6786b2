"""Operators of TFLite that several of ours stand for, from files that TensorFlow's converter writes: run as the interpreter runs them,
and ported to PyTorch, ONNX, Keras and TFLite."""
import numpy as np
import pytest
from carrying import assert_close, convoy, plain_session, port, run_natively

X = ((2, 3, 4), "f4", -6, 7)


def loop_of(tf, x):
    weights = tf.constant(np.random.default_rng(1).random((3, 3)), tf.float32)
    step = lambda i, y: (i + 1, tf.tanh(y @ weights) + x[:, i : i + 1])
    return tf.while_loop(lambda i, y: i < 3, step, [tf.constant(0), x])[1]


# A function of tf and the inputs; their shapes, types and the numbers they are drawn from.
FUNCTIONS = {
    "add_n": (lambda tf, a, b: tf.add_n([a, b, a]), [X, X]),
    "add_n_whole": (lambda tf, a, b: tf.add_n([a, b, a]), [((2, 3), "i4", -9, 9)] * 2),
    "any": (lambda tf, a: tf.reduce_any(a > 1, [1]), [X]),
    "all": (lambda tf, a: tf.reduce_all(a > -2, [0, 2], keepdims=True), [X]),
    "xor": (lambda tf, a, b: tf.bitwise.bitwise_xor(a, b), [((2, 3), "i4", -9, 9)] * 2),
    "one_hot": (lambda tf, a: tf.one_hot(a, 5, 2.0, -1.0, axis=1), [((2, 3), "i4", -1, 7)]),
    "one_hot_of_places": (lambda tf, a: tf.one_hot(tf.argmax(a, -1), 4, dtype=tf.int32), [X]),
    "gather_nd": (lambda tf, a: tf.gather_nd(a, [[[0, 1], [1, 2]], [[1, 0], [0, 0]]]), [X]),
    "gather_nd_computed": (lambda tf, a, i: tf.gather_nd(a, i), [((3, 4, 2), "f4", -6, 7), ((2, 5, 2), "i4", 0, 3)]),
    "gather_nd_of_examples": (lambda tf, a, i: tf.gather_nd(a, i, batch_dims=1), [((3, 4, 2), "f4", -6, 7), ((3, 5, 1), "i4", 0, 4)]),
    "gather_computed": (lambda tf, a, i: tf.gather(a, i, axis=1), [((3, 4, 2), "f4", -6, 7), ((2, 5), "i4", 0, 4)]),
    "gather_of_examples": (lambda tf, a, i: tf.gather(a, i, batch_dims=1, axis=1), [((3, 4, 2), "f4", -6, 7), ((3, 5), "i4", 0, 4)]),
    "scatter_nd": (lambda tf, u: tf.scatter_nd([[1], [3], [1]], u, [5, 4]), [((3, 4), "f4", -6, 7)]),
    "scatter_nd_whole": (lambda tf, u: tf.scatter_nd([[1], [3], [1]], u, [5]), [((3,), "i4", -6, 7)]),
    "update": (lambda tf, a, u: tf.tensor_scatter_nd_update(a, [[1], [0]], u), [((3, 4), "f4", -6, 7), ((2, 4), "f4", -6, 7)]),
    "segments": (lambda tf, a: tf.math.segment_sum(a, tf.constant([0, 0, 1, 2])), [((4, 3), "f4", -6, 7)]),
    "unsorted_segments": (lambda tf, a: tf.math.unsorted_segment_sum(a, tf.constant([2, 0, 2, -1]), 4), [((4, 3), "f4", -6, 7)]),
    "diagonal": (lambda tf, a: tf.raw_ops.MatrixDiag(diagonal=a), [((2, 3), "f4", -6, 7)]),
    "diagonal_set_in_wide": (lambda tf, a, d: tf.raw_ops.MatrixSetDiag(input=a, diagonal=d), [((2, 3, 5), "f4", -6, 7), ((2, 3), "f4", -6, 7)]),
    "diagonal_set_in_tall": (lambda tf, a, d: tf.raw_ops.MatrixSetDiag(input=a, diagonal=d), [((2, 5, 3), "f4", -6, 7), ((2, 3), "f4", -6, 7)]),
    "sequences": (lambda tf, a: tf.reverse_sequence(a, [2, 0, 5], seq_axis=2, batch_axis=1), [((2, 3, 5), "f4", -6, 7)]),
    "sequences_computed": (lambda tf, a, n: tf.reverse_sequence(a, n, seq_axis=1, batch_axis=0), [((3, 5, 2), "f4", -6, 7), ((3,), "i4", 0, 6)]),
    "stretched": (lambda tf, a, b: a + tf.broadcast_to(b, tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(b))), [((None, 4), "f4", -6, 7), ((1, 4), "f4", -6, 7)]),
    "stretched_like": (lambda tf, a, b: tf.broadcast_to(a, tf.shape(b)), [((1, 4), "f4", -6, 7), ((None, 4), "f4", -6, 7)]),
    "range": (lambda tf, a: a + tf.cast(tf.range(tf.shape(a)[1]), tf.float32), [((2, 3), "f4", -6, 7)]),
    "free_range": (lambda tf, a: a + tf.cast(tf.range(tf.shape(a)[1]), tf.float32), [((2, None), "f4", -6, 7)]),
    "rank": (lambda tf, a: a * tf.cast(tf.rank(a), tf.float32), [((2, None), "f4", -6, 7)]),
    "loop": (loop_of, [((2, 3), "f4", -6, 7)]),
}
# Of complex numbers, of which the converter writes one operator that makes some, and others that read them.
COMPLEX = {
    "magnitudes": (lambda tf, x: tf.abs(tf.signal.rfft(x)), [((2, 3, 16), "f4", -6, 7)]),
    "cropped": (lambda tf, x: tf.math.real(tf.signal.rfft(x, [8])), [((2, 3, 13), "f4", -6, 7)]),
    "filled": (lambda tf, x: tf.math.imag(tf.signal.rfft(x, [16])), [((2, 3, 13), "f4", -6, 7)]),
    "plane": (lambda tf, x: tf.abs(tf.signal.rfft2d(x)), [((2, 8, 16), "f4", -6, 7)]),
    "plane_filled": (lambda tf, x: tf.math.imag(tf.signal.rfft2d(x, [8, 4])), [((2, 5, 7), "f4", -6, 7)]),
    "moved": (lambda tf, x: tf.math.imag(tf.reshape(tf.signal.rfft(x), [3, 2, 5]))[:, :, 1:4], [((2, 3, 8), "f4", -6, 7)]),
    "cast": (lambda tf, x: tf.cast(tf.signal.rfft(x), tf.float32) + 1, [((None, 3, 8), "f4", -6, 7)]),
    "spectrogram": (lambda tf, x: tf.abs(tf.signal.stft(x, 8, 3)), [((2, 40), "f4", -6, 7)]),
}
# At a free batch and free sizes, where the converter computes pads and crops of a shape.
DILATED = {
    "same": (lambda tf, x, w: tf.nn.convolution(x, w, padding="SAME", dilations=[2, 3]), (3, 2, 3, 4)),
    "valid": (lambda tf, x, w: tf.nn.relu(tf.nn.convolution(x, w, padding="VALID", dilations=[3, 2])), (3, 2, 3, 4)),
    "depthwise": (lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", dilations=[2, 2]), (3, 3, 3, 2)),
    "sequence": (lambda tf, x, w: tf.nn.convolution(x[:, 0], w, padding="SAME", dilations=[4]), (3, 3, 5)),
}


@pytest.mark.parametrize("name", DILATED)
def test_a_convolution_that_is_dilated_by_blocks_in_the_batch(name, tmp_path):
    function, kernel = DILATED[name]
    weight = np.random.default_rng(2).integers(-3, 4, kernel).astype("f4")
    path = tmp_path / "m.tflite"
    converted(lambda tf, x: function(tf, x, weight), [((None, None, None, 3), "f4")], path)
    summary = convoy("summary", path).stdout
    assert "SHAPE" in kinds(path) and "SPACE_TO_BATCH_ND" in kinds(path)
    assert summary.count("conv") >= 1 and "space_to_batch" not in summary
    for size in ((9, 11), (16, 14), (7, 8)):
        inputs = {"x0": np.random.default_rng(1).integers(-6, 7, (2, *size, 3)).astype("f4")}
        assert_close(run_natively([path], inputs, tmp_path), answers(path, inputs))
    for target in ("torch", "onnx", "keras", "tflite"):
        convoy("port", path, "--to", target, "-o", tmp_path / f"p{EXTENSIONS[target]}")


EXTENSIONS = {"torch": ".py", "onnx": ".onnx", "keras": ".keras", "tflite": ".tflite"}


def kinds(path):
    import tensorflow as tf

    plain = tf.lite.experimental.OpResolverType.BUILTIN_REF
    return [op["op_name"] for op in tf.lite.Interpreter(str(path), experimental_op_resolver_type=plain)._get_ops_details()]


@pytest.mark.parametrize("cuts", ["alike", "more", "other"])
def test_blocks_in_the_batch_are_a_dilation_where_pads_and_crops_grow_alike(cuts, tmp_path):
    weight = np.random.default_rng(4).integers(-3, 4, (2, 2, 3, 4)).astype("f4")

    def apart(tf, x):
        size = tf.shape(x)[1:3]
        rows, columns = (-size[0]) % 2, (-size[1]) % 3
        y = tf.nn.conv2d(tf.space_to_batch(x, [2, 3], tf.stack([[0, rows], [0, columns]])), weight, 1, "VALID")
        crops = {"alike": [[0, rows], [0, columns]], "more": [[0, rows + 1], [0, columns]],
                 "other": [[0, (-size[1]) % 2], [0, (-size[0]) % 3]]}[cuts]  # fmt: skip
        return tf.batch_to_space(y, [2, 3], tf.stack(crops))

    path = tmp_path / "m.tflite"
    converted(apart, [((None, None, None, 3), "f4")], path)
    inputs = {"x0": np.random.default_rng(1).integers(-6, 7, (2, 9, 11, 3)).astype("f4")}
    if cuts != "alike":
        assert "follows from sizes that are not known beforehand" in convoy("port", path, "-o", tmp_path / "p.onnx", code=6).stderr
    at = [] if cuts == "alike" else ["--shape", "2,9,11,3"]
    assert_close(run_natively([path, *at], inputs, tmp_path), answers(path, inputs))


NO_FORM = {("free_range", "keras"), ("xor", "onnx")}


def converted(function, inputs, path):
    import tensorflow as tf

    types = {"f4": tf.float32, "i4": tf.int32}
    signature = [tf.TensorSpec(shape, types[kind], f"x{i}") for i, (shape, kind, *_) in enumerate(inputs)]
    made = tf.function(lambda *x: function(tf, *x), input_signature=signature)
    path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([made.get_concrete_function()], made).convert())


def answers(path, inputs, kind="BUILTIN_REF"):
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(str(path), experimental_op_resolver_type=getattr(tf.lite.experimental.OpResolverType, kind))
    for details in interpreter.get_input_details():
        interpreter.resize_tensor_input(details["index"], inputs[details["name"]].shape)
    interpreter.allocate_tensors()
    for details in interpreter.get_input_details():
        interpreter.set_tensor(details["index"], inputs[details["name"]])
    interpreter.invoke()
    return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]


def draw(inputs, seed=3):
    random = np.random.default_rng(seed)
    of = lambda shape, kind, least, most: random.integers(least, most, [n or 3 for n in shape]).astype(kind)
    return {f"x{i}": of(*one) for i, one in enumerate(inputs)}


def check_everywhere(path, inputs, folder, without=(), kind="BUILTIN_REF"):
    want = answers(path, inputs, kind)
    assert_close(run_natively([path], inputs, folder), want)
    given = list(inputs.values())
    assert_close(port([path], folder / "net.py")(given), want)
    if "onnx" not in without:
        convoy("port", path, "-o", folder / "m.onnx")
        session = plain_session(folder / "m.onnx")
        assert_close(session.run(None, dict(zip([i.name for i in session.get_inputs()], given, strict=True))), want)
    if "keras" not in without:
        import keras

        convoy("port", path, "-o", folder / "m.keras")
        made = keras.models.load_model(folder / "m.keras")(given if len(given) > 1 else given[0])
        assert_close([np.asarray(made)], want)
    convoy("port", path, "-o", folder / "again.tflite")
    for resolver in ("BUILTIN_REF", "AUTO"):
        assert_close(answers(folder / "again.tflite", inputs, resolver), want)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_are_two_real_ones(name, tmp_path):
    function, inputs = COMPLEX[name]
    path = tmp_path / "m.tflite"
    converted(function, inputs, path)
    check_everywhere(path, draw(inputs), tmp_path, kind="BUILTIN_WITHOUT_DEFAULT_DELEGATES")


def test_complex_numbers_that_nobody_makes_real_are_refused(tmp_path):
    path = tmp_path / "m.tflite"
    converted(lambda tf, x: tf.signal.rfft(x), [((2, 8), "f4")], path)
    assert "is of complex numbers" in convoy("port", path, "-o", tmp_path / "m.onnx", code=6).stderr
    converted(lambda tf, x: tf.abs(tf.signal.rfft(x) * tf.complex(0.0, 1.0)), [((2, 8), "f4")], path)
    assert "complex numbers" in convoy("port", path, "-o", tmp_path / "m.onnx", code=6).stderr


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operators_are_run_and_ported(name, tmp_path):
    function, inputs = FUNCTIONS[name]
    path = tmp_path / "m.tflite"
    converted(function, inputs, path)
    check_everywhere(path, draw(inputs), tmp_path, {to for of, to in NO_FORM if of == name},
                     "AUTO" if name == "segments" else "BUILTIN_REF")  # which has no reference kernel


@pytest.mark.parametrize("name", ["lstm", "two", "gru", "rnn", "convlstm"])
def test_cells_that_the_converter_writes_as_one_operator_or_a_loop(name, tmp_path):
    import keras

    layers, shape = keras.layers, (3, 6, 5, 2) if name == "convlstm" else (5, 3)
    keras.utils.set_random_seed(1)
    x = keras.Input(shape, batch_size=1)
    layer = {"lstm": lambda: layers.LSTM(4, return_sequences=True), "two": lambda: layers.Bidirectional(layers.LSTM(4)),
             "gru": lambda: layers.GRU(4), "rnn": lambda: layers.SimpleRNN(4), "convlstm": lambda: layers.ConvLSTM2D(3, 3)}[name]()
    model = keras.Model(x, layer(x))
    inputs = [((1, *shape), "f4", -6, 7)]
    converted(lambda tf, a: model(a), inputs, tmp_path / "m.tflite")
    check_everywhere(tmp_path / "m.tflite", draw(inputs), tmp_path)


@pytest.mark.parametrize("function, words", [
    (lambda tf, x: tf.unique(x)[0], "UNIQUE"),
    (lambda tf, x: tf.where(x > 0), "WHERE"),
    (lambda tf, x: tf.while_loop(lambda y: tf.reduce_sum(y) < 100, lambda y: y * 2 + 1, [x])[0], "how often it goes round"),
    (lambda tf, x: tf.cond(tf.reduce_sum(x) > 0, lambda: x[:2], lambda: x), "its condition is computed"),
])
def test_what_the_numbers_decide_is_refused_by_name(function, words, tmp_path):
    converted(function, [((4,), "f4", 1, 3)], tmp_path / "m.tflite")
    assert words in convoy("port", tmp_path / "m.tflite", "-o", tmp_path / "m.onnx", code=6).stderr


def test_variables_hold_what_the_file_begins_with(tmp_path):
    import tensorflow as tf

    class Scaled(tf.Module):
        def __init__(self):
            super().__init__()
            self.scale = tf.Variable([2.0, 3.0, -1.0])

        @tf.function(input_signature=[tf.TensorSpec((2, 3), tf.float32, "x0")])
        def __call__(self, x):
            return {"y": x * self.scale}

    module = Scaled()
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.__call__.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path / "saved"))
    converter.experimental_enable_resource_variables = True
    converter._experimental_variable_quantization = False
    (tmp_path / "m.tflite").write_bytes(converter.convert())
    x = draw([((2, 3), "f4", -6, 7)])["x0"]
    assert_close(run_natively([tmp_path / "m.tflite"], {"x0": x}, tmp_path), [x * np.float32([2, 3, -1])])
