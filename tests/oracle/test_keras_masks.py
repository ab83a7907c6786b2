"""Masks of an Embedding: what counts in a sequence, as Keras computes it, through every layer that looks at a mask, hands it
on or ends it, in files where the mask is an argument of the call (functional) and where it is not (sequential)."""
import importlib.util
import json

import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

STEPS, WORDS = 7, 6
# Padding at the end, none, at the beginning and in the middle.
IDS = np.array([[1, 2, 5, 3, 4, 0, 0], [4, 3, 2, 1, 1, 2, 3], [0, 0, 1, 2, 0, 3, 0]], np.int32)


def chains(layers):
    rnn = layers.LSTM
    return {
        "average": [layers.GlobalAveragePooling1D()],
        "average_kept": [layers.LayerNormalization(), layers.GlobalAveragePooling1D(keepdims=True)],
        "maximum": [layers.GlobalMaxPooling1D()],
        "windows": [layers.AveragePooling1D(2), layers.GlobalAveragePooling1D()],
        "convolution": [layers.Conv1D(3, 2), layers.GlobalAveragePooling1D()],
        "norm": [layers.BatchNormalization(), layers.GlobalAveragePooling1D()],
        "unit_norm": [layers.UnitNormalization(), layers.GlobalAveragePooling1D()],
        "dense": [layers.Dense(3, activation="relu"), layers.GlobalAveragePooling1D()],
        "flat": [layers.Flatten(), layers.Dense(2)],
        "turned": [layers.Permute((2, 1)), layers.GlobalAveragePooling1D()],
        "lstm": [rnn(3)],
        "lstm_states": [rnn(3, return_sequences=True, return_state=True)],
        "lstm_twice": [rnn(3, return_sequences=True), rnn(2), layers.Dense(2)],
        "lstm_back": [rnn(3, go_backwards=True, return_sequences=True)],
        "lstm_zeros": [rnn(3, return_sequences=True, zero_output_for_mask=True)],
        "gru": [layers.GRU(3, return_sequences=True), layers.GlobalAveragePooling1D()],
        "gru_before": [layers.GRU(3, reset_after=False)],
        "simple": [layers.SpatialDropout1D(0.3), layers.SimpleRNN(3)],
        "both_ways": [layers.Bidirectional(layers.GRU(3))],
        "both_ways_all": [layers.Bidirectional(rnn(3, return_sequences=True)), layers.GlobalAveragePooling1D()],
    }


def built(keras, name: str, way: str, steps: int | None = STEPS, masks: bool = True):
    rng = np.random.default_rng(len(name) * 3 + len(way))
    chain = chains(keras.layers)[name]
    ids = keras.Input((steps,), dtype="int32", name="ids")
    first = keras.layers.Embedding(WORDS, 4, mask_zero=masks)
    if way == "sequential":
        model = keras.Sequential([ids, first, *chain])
    else:
        y = first(ids)
        for layer in chain:
            y = layer(y)
        model = keras.Model(ids, y)
    for weight in model.weights:
        low = 0.5 if "variance" in weight.path else -1
        weight.assign(rng.uniform(low, 1.5, size=weight.shape).astype(np.float32))
    return model


def in_tflite(path, ids):
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(str(path))
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], ids.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], ids)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


NAMES = ["average", "average_kept", "maximum", "windows", "convolution", "norm", "unit_norm", "dense", "flat", "turned",
         "lstm", "lstm_states", "lstm_twice", "lstm_back", "lstm_zeros", "gru", "gru_before", "simple", "both_ways",
         "both_ways_all"]  # fmt: skip


@pytest.mark.parametrize("way", ["functional", "sequential"])
@pytest.mark.parametrize("name", NAMES)
def test_a_mask_counts_as_in_keras(name, way, tmp_path):
    import keras

    if name == "lstm_states" and way == "sequential":
        pytest.skip("a Sequential has one output")
    model = built(keras, name, way)
    want = model(IDS)
    want = [np.asarray(y) for y in (want if isinstance(want, (list, tuple)) else [want])]
    model.save(tmp_path / "m.keras")
    np.save(tmp_path / "x.npy", IDS)
    convoy("run", tmp_path / "m.keras", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npz")
    got = np.load(tmp_path / "y.npz")
    assert_close([got[k] for k in got.files], want, 2e-5, "run")
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.onnx")  # with its proof
    if way == "functional" and name in OF_ANY_LENGTH:
        convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.tflite")
        assert_close([in_tflite(tmp_path / "m.tflite", IDS)], want, 2e-5, "tflite")
    import onnxruntime

    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert_close(session.run(None, {session.get_inputs()[0].name: IDS}), want, 2e-5, "onnx")
    if way == "sequential":
        return
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "again.keras")
    convoy("port", tmp_path / "m.keras", "--to", "keras", "-o", tmp_path / "written.py")
    for port in (keras.saving.load_model(tmp_path / "again.keras"), imported(tmp_path / "written.py").load()):
        again = port(IDS)
        assert_close([np.asarray(y) for y in (again if isinstance(again, (list, tuple)) else [again])], want, 2e-5, "keras")


# No step of one sequence counts.
LONGER = np.array([[3, 0, 2, 5, 3, 0, 4, 1, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 1, 2, 0, 3, 0, 1, 2]], np.int32)
OF_ANY_LENGTH = ["average", "dense", "lstm", "lstm_twice", "lstm_back", "lstm_zeros", "gru", "gru_before", "simple",
                 "both_ways", "both_ways_all"]  # fmt: skip


@pytest.mark.parametrize("name", OF_ANY_LENGTH)
def test_a_mask_counts_in_sequences_of_every_length(name, tmp_path):
    import keras
    import onnxruntime
    import torch

    model = built(keras, name, "functional", None)
    model.save(tmp_path / "m.keras")
    for target in ("m.onnx", "m.py", "again.keras"):
        words = ["--to", "torch"] if target == "m.py" else []
        convoy("port", tmp_path / "m.keras", "-o", tmp_path / target, *words)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    net, again = imported(tmp_path / "m.py").load(), keras.saving.load_model(tmp_path / "again.keras")
    for ids in (IDS, LONGER, LONGER[:2, :1]):
        if name == "average" or name == "dense" or name == "both_ways_all" or name == "gru":
            ids = ids[[0, 2]] if len(ids) > 2 else ids[:1]  # an average of nothing is no number
        want = np.asarray(model(ids))
        assert_close(session.run(None, {session.get_inputs()[0].name: ids}), [want], 2e-5, "onnx")
        with torch.no_grad():
            assert_close([net(torch.from_numpy(ids)).numpy()], [want], 2e-5, "torch")
        assert_close([np.asarray(again(ids))], [want], 2e-5, "keras")


@pytest.mark.parametrize("name", ["lstm", "lstm_twice", "lstm_back", "lstm_zeros", "gru", "gru_before", "simple", "both_ways", "average",
                                  "average_kept", "dense"])
def test_diff_names_a_mask_that_is_lost(name, tmp_path):
    import keras

    model, other = built(keras, name, "functional"), built(keras, name, "functional", masks=False)
    other.set_weights(model.get_weights())
    model.save(tmp_path / "m.keras")
    other.save(tmp_path / "other.keras")
    convoy("port", tmp_path / "m.keras", "--to", "torch", "-o", tmp_path / "m.py")
    convoy("diff", tmp_path / "m.keras", f"{tmp_path / 'm.py'}:M", "--weights-b", tmp_path / "m.safetensors", "--shape", f"2,{STEPS}:int32")
    done = json.loads(convoy("diff", tmp_path / "m.keras", tmp_path / "other.keras", "--json", code=1).stdout)
    assert {row["cause"] for row in done["differences"]} == {"mask_missing"}, done["differences"]
    assert done["outputs_largest"] > 1e-3, "the whole shows it, too"


def imported(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_layer_called_on_inputs_of_unlike_sizes_keeps_its_calls_apart(tmp_path):
    """A file lists the calls of a layer; values are named in the order in which they are read."""
    import keras

    x, u = keras.Input((6, 5, 3), name="x"), keras.Input((4, 7, 3), name="u")
    convolution, norm = keras.layers.Conv2D(3, 3, padding="same"), keras.layers.BatchNormalization()
    a = norm(convolution(x))
    model = keras.Model([x, u], [norm(convolution(a)), a, convolution(u)])
    model.save(tmp_path / "m.keras")
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "again.keras")
    rng = np.random.default_rng(5)
    images = [rng.normal(size=(2, 6, 5, 3)).astype(np.float32), rng.normal(size=(2, 4, 7, 3)).astype(np.float32)]
    again = keras.saving.load_model(tmp_path / "again.keras")
    assert_close([np.asarray(y) for y in again(images)], [np.asarray(y) for y in model(images)], 2e-5, "keras")


def test_a_mask_is_no_ones_where_the_states_are_given(tmp_path):
    """Keras 3 hands a mask on where a layer is called with one tensor."""
    import keras

    ids = keras.Input((STEPS,), dtype="int32")
    x = keras.layers.Embedding(WORDS, 4, mask_zero=True)(ids)
    state = keras.layers.Dense(3)(keras.layers.GlobalMaxPooling1D()(x))
    model = keras.Model(ids, keras.layers.LSTM(3, return_sequences=True)(x, initial_state=[state, state]))
    model.save(tmp_path / "m.keras")
    np.save(tmp_path / "x.npy", IDS)
    convoy("run", tmp_path / "m.keras", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert_close([np.load(tmp_path / "y.npy")], [np.asarray(model(IDS))], 2e-5, "run")


def test_what_is_not_carried_under_a_mask_is_refused_by_name(tmp_path):
    import keras

    ids = keras.Input((STEPS,), dtype="int32")
    x = keras.layers.Embedding(WORDS, 4, mask_zero=True)(ids)
    keras.Model(ids, keras.layers.TimeDistributed(keras.layers.Softmax())(x)).save(tmp_path / "m.keras")
    assert "TimeDistributed" in convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.onnx", code=6).stderr


# Layers of one tensor and of several, in both libraries where they have them, behind inputs of which some are masked.
ALONE = {
    "rms": ("RMSNormalization",), "group": ("GroupNormalization", 2), "unit": ("UnitNormalization",),
    "layer": ("LayerNormalization",), "batch": ("BatchNormalization",), "given": ("Normalization", -1, 0.5, 2.0),
    "einsum": ("EinsumDense", "abc,cd->abd", (None, 4)), "identity": ("Identity",), "rescaled": ("Rescaling", 2.0, 1.0),
    "activation": ("Activation", "tanh"), "threshold": ("ThresholdedReLU", 0.5), "elu": ("ELU",), "relu": ("ReLU",),
    "leaky": ("LeakyReLU",), "noise": ("GaussianNoise", 0.1), "dropped": ("AlphaDropout", 0.1), "padded": ("ZeroPadding1D", 1),
    "cut": ("Cropping1D", 1), "larger": ("UpSampling1D", 2), "pooled": ("MaxPooling1D", 1), "turned": ("Permute", (1, 2)),
    "by steps": ("DepthwiseConv1D", 3), "shaped": ("Reshape", (5, 4)), "spectral": ("SpectralNormalization", "Dense"),
}  # fmt: skip
SEVERAL = ["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Concatenate along the steps",
           "Attention", "AdditiveAttention"]  # fmt: skip
ENDS = {"average": ("GlobalAveragePooling1D",), "nothing": ("Activation", "linear")}
# tf_keras cannot call these under a mask: shapes that do not fit, and a layer of other rules.
FAILING = {("tf_keras", "group"), ("tf_keras", "spectral")}


def behind_masks(library, name: str, masked: tuple[bool, ...], end: str):
    """A model of inputs [5, 4] through `name`, or None where the library has no such layer."""
    import keras
    import tf_keras

    layers = (keras if library == "keras" else tf_keras).layers
    inputs = [layers.Input((5, 4), name=letter) for letter in "abc"[: len(masked)]]
    each = [layers.Masking(0.0)(x) if is_masked else layers.Activation("linear")(x) for x, is_masked in zip(inputs, masked)]
    if name in ALONE:
        kind, *arguments = ALONE[name]
        if not hasattr(layers, kind) or (library, name) in FAILING:
            return None
        arguments = [layers.Dense(4) if one == "Dense" else one for one in arguments]
        y = getattr(layers, kind)(*arguments)(each[0])
    elif name.endswith("along the steps"):
        y = layers.Concatenate(axis=1)(each)
    else:
        y = getattr(layers, name)()(each)
    kind, *arguments = ENDS[end]
    outputs = getattr(layers, kind)(*arguments)(y)
    return (keras if library == "keras" else tf_keras).Model(inputs if len(inputs) > 1 else inputs[0], outputs)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", [*ALONE, *SEVERAL])
@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_masks_through_every_layer(library, name, end, tmp_path):
    two = [(True, True), (True, False), (False, True)]
    three = [(True, True, True), (True, False, True), (False, False, True)]
    several = two if name in ("Subtract", "AdditiveAttention") else two + three
    rng = np.random.default_rng(len(name) + len(end))
    given = [rng.integers(-3, 4, (3, 5, 4)).astype(np.float32) for _ in range(3)]
    for x in given:
        x[rng.random((3, 5)) < 0.4] = 0
    for masked in [(True,)] if name in ALONE else several:
        if library == "tf_keras" and name.endswith("along the steps") and not all(masked):
            continue  # its masks do not fit side by side
        model = behind_masks(library, name, masked, end)
        if model is None:
            return
        file = tmp_path / ("m.keras" if library == "keras" else "m.h5")
        model.save(file)
        inputs = given[: len(masked)]
        want = np.asarray(model(inputs if len(inputs) > 1 else inputs[0]))
        (got,) = run_natively([file], dict(zip("abc", inputs)), tmp_path)
        assert_close(got, want)
        if all(masked):
            convoy("port", file, "-o", tmp_path / "m.py", "-f")


def test_masks_along_the_steps_and_in_models_inside_models(tmp_path):
    import keras
    import onnxruntime

    layers = keras.layers
    ids, more = keras.Input((None,), dtype="int32", name="ids"), keras.Input((None, 4), name="more")
    x = layers.Embedding(WORDS, 4, mask_zero=True)(ids)
    inner = keras.Input((None, 4))
    inside = keras.Model(inner, layers.LSTM(3)(inner), name="inside")
    model = keras.Model([ids, more], [layers.GRU(3)(layers.Concatenate(axis=1)([x, more])), inside(x)])
    model.save(tmp_path / "m.keras")
    for target in ("m.onnx", "again.keras"):
        convoy("port", tmp_path / "m.keras", "-o", tmp_path / target)
    feeds = [IDS, np.random.default_rng(3).normal(size=(3, 5, 4)).astype(np.float32)]
    want = [np.asarray(y) for y in model(feeds)]
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert_close(session.run(None, dict(zip([one.name for one in session.get_inputs()], feeds, strict=True))), want, 2e-5, "onnx")
    again = keras.saving.load_model(tmp_path / "again.keras")
    assert_close([np.asarray(y) for y in again(feeds)], want, 2e-5, "keras")


OWN = """import keras
from keras import layers, ops


class ByInstance(layers.Layer):
    def __init__(self, **more):
        super().__init__(**more)
        self.supports_masking = True

    def call(self, x):
        return x * 2.0


class ByClass(layers.Layer):
    supports_masking = True

    def call(self, x):
        return x * 2.0


class Hands(layers.Layer):
    def call(self, x):
        return x * 2.0

    def compute_mask(self, x, mask=None):
        return mask


class Ends(ByClass):
    def compute_mask(self, x, mask=None):
        return None


class Plain(layers.Layer):
    def call(self, x):
        return x * 2.0


class Walks(layers.Layer):
    def __init__(self, **more):
        super().__init__(**more)
        self.walk = layers.LSTM(4, return_sequences=True)

    def call(self, x):
        return self.walk(x)


class Reads(layers.Layer):
    def call(self, x, mask=None):
        return x if mask is None else x * ops.cast(mask, "float32")[:, :, None]


def made(layer):
    ids = keras.Input((None,), dtype="int32")
    return keras.Model(ids, layers.LSTM(5)(layer(layers.Embedding(6, 4, mask_zero=True)(ids))))


by_instance, by_class, hands, ends, plain, walks, reads = (
    made(layer()) for layer in (ByInstance, ByClass, Hands, Ends, Plain, Walks, Reads))
activation, dense = made(layers.Activation(lambda t: ops.relu(t))), made(layers.Dense(4, activation=lambda t: ops.relu(t)))
"""
OWN_LAYERS = ["by_instance", "by_class", "hands", "ends", "plain", "walks", "activation", "dense"]


@pytest.mark.parametrize("name", OWN_LAYERS)
def test_a_mask_goes_through_a_layer_of_the_programs_own_as_in_keras(name, tmp_path):
    import onnxruntime

    (tmp_path / "own.py").write_text(OWN)
    model = getattr(imported(tmp_path / "own.py"), name)
    model.save_weights(tmp_path / "own.weights.h5")
    convoy("port", f"{tmp_path / 'own.py'}:{name}", "--weights", tmp_path / "own.weights.h5", "-o", tmp_path / "own.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "own.onnx", providers=["CPUExecutionProvider"])
    got = session.run(None, {session.get_inputs()[0].name: IDS})
    assert_close(got, [np.asarray(model(IDS))], 2e-5, "onnx")


def test_a_layer_of_the_programs_own_that_reads_the_mask_is_refused(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    assert "takes the mask" in convoy("port", f"{tmp_path / 'own.py'}:reads", "-o", tmp_path / "own.onnx", code=6).stderr
