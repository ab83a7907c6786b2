"""Cells that walk time, from states of their own: ONNX files, exported programs and Keras models, answered by convoy as by
their own framework, and carried to PyTorch, ONNX and Keras, which answer the same."""
import json

import numpy as np
import pytest
from carrying import assert_close, convoy, import_file, port, run_natively
from test_keras_written import answers, opened
from test_onnx_written import crossings_of, session

TOLERANCE = 2e-5
UNITS, FEATURES, STEPS, BATCH = 4, 3, 5, 2
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def numbers(*shape, seed=0) -> np.ndarray:
    return (np.random.default_rng(seed + len(shape) * 7 + sum(shape)).normal(size=shape) * 0.5).astype(np.float32)


# ---- what is asked of every target


def to_onnx(source, inputs: list, want: list, folder) -> None:
    import onnx

    path = folder / "port.onnx"
    done = convoy("port", source, "-o", path, "--json", "--force")
    onnx.checker.check_model(str(path), full_check=True)
    sides = crossings_of(json.loads(done.stdout))
    for optimized in (False, True):
        feed = {c.name: c.to_port(x) for c, x in zip(sides["inputs"], inputs, strict=True)}
        got = [c.from_port(y) for c, y in zip(sides["outputs"], session(path, optimized).run(None, feed), strict=True)]
        assert_close(got, want, TOLERANCE, "optimized" if optimized else "as written")


def to_keras(source, inputs: list, want: list, folder):
    path = folder / "port.keras"
    done = convoy("port", source, "-o", path, "--json", "--force")
    model = opened(path)
    assert_close(answers(model, crossings_of(json.loads(done.stdout)), inputs), want, TOLERANCE, "keras")
    return model


def everywhere(source, inputs: dict, want: list, folder, without: tuple = ()) -> None:
    assert_close(run_natively([source], inputs, folder), want, TOLERANCE, "natively")
    values = list(inputs.values())
    if "torch" not in without:
        assert_close(port([source], folder / "port.py")(values), want, TOLERANCE, "torch")
    if "onnx" not in without:
        to_onnx(source, values, want, folder)
    if "keras" not in without:
        to_keras(source, values, want, folder)


# ---- ONNX


def onnx_cell(op, folder, directions=1, states="constants", peepholes=False, outputs=("Y", "Y_h"), lengths=None, **attributes):
    """A model of one node; `states`: "constants", "inputs", "half" (h only), "no". Its inputs beside it."""
    from onnx import TensorProto, helper, numpy_helper, save

    gates, shape = GATES[op], (directions, BATCH, UNITS)
    x = numbers(STEPS, BATCH, FEATURES, seed=1)
    arrays = {
        "W": numbers(directions, gates * UNITS, FEATURES, seed=2),
        "R": numbers(directions, gates * UNITS, UNITS, seed=3),
        "B": numbers(directions, 2 * gates * UNITS, seed=4),
    }
    inputs, names = {"X": x}, ["X", "W", "R", "B", "", "", "", ""]
    wanted = [] if states == "no" else ["initial_h", "initial_c"] if op == "LSTM" and states != "half" else ["initial_h"]
    for i, name in enumerate(wanted):
        names[5 + i] = name
        (inputs if states == "inputs" else arrays)[name] = numbers(*shape, seed=5 + i)
    if peepholes:
        names[7], arrays["P"] = "P", numbers(directions, 3 * UNITS, seed=8)
    if lengths:
        names[4], arrays["lengths"] = "lengths", np.array(lengths, np.int32)
    while not names[-1]:
        names.pop()
    results = [name if name in outputs else "" for name in ("Y", "Y_h", "Y_c")[: 3 if op == "LSTM" else 2]]
    while not results[-1]:
        results.pop()
    direction = "bidirectional" if directions == 2 else "forward"
    node = helper.make_node(op, names, results, hidden_size=UNITS, **{"direction": direction, **attributes})
    shapes = {"Y": (STEPS, directions, BATCH, UNITS), "Y_h": shape, "Y_c": shape}
    graph = helper.make_graph(
        [node],
        "cell",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in results if name],
        [numpy_helper.from_array(value, name) for name, value in arrays.items()],
    )
    path = folder / "cell.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path, inputs


NO_KERAS = ("keras",)
ONNX = {
    "lstm_states": ("LSTM", {}, ()),
    "lstm_inputs": ("LSTM", dict(states="inputs"), ()),
    "lstm_first_state_alone": ("LSTM", dict(states="half", direction="reverse"), ()),
    "lstm_both_ways": ("LSTM", dict(directions=2), ()),
    "lstm_both_ways_inputs": ("LSTM", dict(directions=2, states="inputs", outputs=("Y_h",)), ()),
    "lstm_last_cell": ("LSTM", dict(states="no", outputs=("Y", "Y_c")), ()),
    "lstm_all_results": ("LSTM", dict(directions=2, outputs=("Y", "Y_h", "Y_c")), ()),
    "lstm_peepholes": ("LSTM", dict(states="no", peepholes=True), NO_KERAS),
    "lstm_peepholes_states": ("LSTM", dict(peepholes=True, directions=2, outputs=("Y", "Y_h", "Y_c")), NO_KERAS),
    "lstm_peepholes_inputs": ("LSTM", dict(peepholes=True, states="inputs", outputs=("Y_c",)), NO_KERAS),
    "lstm_hard": ("LSTM", dict(activations=["HardSigmoid", "Relu", "Relu"], activation_alpha=[1 / 6]), ()),
    "lstm_whole_sequences": ("LSTM", dict(lengths=[STEPS] * BATCH), ()),
    "lstm_ended": ("LSTM", dict(lengths=[STEPS - 2, STEPS]), ()),
    "lstm_ended_both_ways": ("LSTM", dict(lengths=[STEPS, 1], directions=2, states="no"), ()),
    "gru_ended_backwards": ("GRU", dict(lengths=[2, STEPS], direction="reverse", linear_before_reset=1, states="inputs"), ()),
    "rnn_ended_early": ("RNN", dict(lengths=[STEPS - 1, 2]), ()),
    "gru_states": ("GRU", dict(linear_before_reset=1), ()),
    "gru_reset_in_front": ("GRU", dict(linear_before_reset=0), ()),
    "gru_reset_in_front_inputs": ("GRU", dict(linear_before_reset=0, states="inputs", directions=2), ()),
    "gru_inputs": ("GRU", dict(linear_before_reset=1, states="inputs", direction="reverse"), ()),
    "rnn_states": ("RNN", {}, ()),
    "rnn_relu_inputs": ("RNN", dict(states="inputs", directions=2, activations=["Relu", "Relu"]), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", ONNX)
def test_onnx(name, tmp_path):
    op, options, without = ONNX[name]
    path, inputs = onnx_cell(op, tmp_path, **options)
    want = session(path, False).run(None, inputs)
    everywhere(path, inputs, want, tmp_path, without)


def lengths_cell(op, folder, way, directions, layout=0):
    """Free sizes; sequences end where `way` says: "data" is an input, else counted of x as exporters write it."""
    from onnx import TensorProto, helper, numpy_helper, save

    gates, time = GATES[op], 1 if layout else 0
    arrays = {"W": numbers(directions, gates * UNITS, FEATURES, seed=2), "R": numbers(directions, gates * UNITS, UNITS, seed=3),
              "B": numbers(directions, 2 * gates * UNITS, seed=4), "half": np.array([2], np.int64)}  # fmt: skip
    size = [helper.make_node("Shape", ["X"], [f"s{i}"], start=i, end=i + 1) for i in (0, 1)]
    steps, batch = (f"s{time}", f"s{1 - time}")
    ones = numpy_helper.from_array(np.array([1], np.int64))
    made = {
        "data": [],
        "expanded": [helper.make_node("Expand", [steps, batch], ["long"])],
        "tiled": [helper.make_node("Tile", [steps, batch], ["long"])],
        "filled": [helper.make_node("ConstantOfShape", [batch], ["ones"], value=ones), helper.make_node("Mul", ["ones", steps], ["long"])],
        "half": [helper.make_node("Div", [steps, "half"], ["short"]), helper.make_node("Expand", ["short", batch], ["long"])],
    }[way]
    cast = [helper.make_node("Cast", ["long"], ["lengths"], to=6)] if made else []
    more = {"layout": 1} if layout else {}
    node = helper.make_node(op, ["X", "W", "R", "B", "lengths"], ["Y", "Y_h"], hidden_size=UNITS,
                            direction="bidirectional" if directions == 2 else "forward", **more)  # fmt: skip
    shape = ["N", "T", FEATURES] if layout else ["T", "N", FEATURES]
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, shape)]
    if not made:
        inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, ["N"]))
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * r) for n, r in (("Y", 4), ("Y_h", 3))]
    graph = helper.make_graph([*(size if made else []), *made, *cast, node], "cell", inputs, outputs,
                              [numpy_helper.from_array(v, n) for n, v in arrays.items()])  # fmt: skip
    path = folder / "cell.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


@pytest.mark.parametrize("op, way, directions", [
    ("LSTM", "data", 2), ("GRU", "data", 1), ("RNN", "data", 2), ("LSTM", "expanded", 2), ("GRU", "tiled", 1),
    ("LSTM", "filled", 1), ("GRU", "half", 2)])  # fmt: skip
def test_sequences_end_where_computed_lengths_say(op, way, directions, tmp_path):
    """At every size and length, none included, as ONNX Runtime answers."""
    import keras
    import torch

    path = lengths_cell(op, tmp_path, way, directions)
    for target in ("p.py", "p.onnx", "p.keras"):
        convoy("port", path, "-o", tmp_path / target, "--interface", "source")
    if way in ("expanded", "tiled", "filled"):  # nothing of the lengths is left
        assert "arange" not in (tmp_path / "p.py").read_text() and "where" not in (tmp_path / "p.py").read_text()
    want_of, ported = session(path, False), session(tmp_path / "p.onnx", False)
    net, in_keras = import_file(tmp_path / "p.py").load(), keras.saving.load_model(tmp_path / "p.keras")
    for steps, lengths in [(5, [5, 3, 1]), (1, [1, 1]), (7, [0, 7, 4, 6]), (4, [2])]:
        x = numbers(steps, len(lengths), FEATURES, seed=steps)
        feed = {"X": x} if way != "data" else {"X": x, "lengths": np.array(lengths, np.int32)}
        want = want_of.run(None, feed)
        given = list(feed.values())
        assert_close(ported.run(None, dict(zip([i.name for i in ported.get_inputs()], given))), want, TOLERANCE, "onnx")
        with torch.no_grad():
            assert_close([y.numpy() for y in net(*map(torch.from_numpy, given))], want, TOLERANCE, "torch")
        assert_close([np.asarray(y) for y in in_keras(given if len(given) > 1 else given[0])], want, TOLERANCE, "keras")


def test_peepholes_are_refused_for_keras_by_name(tmp_path):
    path, _ = onnx_cell("LSTM", tmp_path, peepholes=True)
    said = convoy("port", path, "-o", tmp_path / "port.keras", code=6).stderr
    assert "an LSTM with peepholes has no form in Keras" in said
    assert not (tmp_path / "port.keras").exists()


REFUSED = {
    "clip": (dict(clip=2.0), "attribute 'clip'"),
    "input_forget": (dict(input_forget=1), "attribute 'input_forget' couples two gates"),
    "lengths": (dict(lengths=[STEPS, STEPS - 1], outputs=("Y", "Y_c")), "output 'Y_c' is the memory behind the last step of each sequence"),
    "activations": (dict(activations=["Sigmoid", "ThresholdedRelu", "Tanh"]), "attribute 'activations' names 'ThresholdedRelu'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_carried_is_refused_by_name(name, tmp_path):
    options, words = REFUSED[name]
    path, _ = onnx_cell("LSTM", tmp_path, **options)
    assert words in convoy("port", path, "-o", tmp_path / "port.py", code=6).stderr


def test_onnx_keeps_states_through_a_second_round(tmp_path):
    """What is written is read again as the same, and written as the same bytes."""
    path, _ = onnx_cell("LSTM", tmp_path, directions=2, peepholes=True, outputs=("Y", "Y_h", "Y_c"))
    once, twice = tmp_path / "once.onnx", tmp_path / "twice.onnx"
    convoy("port", path, "-o", once)
    convoy("port", once, "-o", twice)
    assert once.read_bytes() == twice.read_bytes()


# ---- PyTorch


def torch_cases() -> dict:
    import torch
    from torch import nn

    class Learned(nn.Module):
        """States that are trained with the cell."""

        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(FEATURES, UNITS, num_layers=2, batch_first=True)
            self.h = nn.Parameter(torch.randn(2, BATCH, UNITS))
            self.c = nn.Parameter(torch.randn(2, BATCH, UNITS))

        def forward(self, x):
            return self.rnn(x, (self.h, self.c))[0]

    class Handed(nn.Module):
        """States among the inputs, and among the outputs."""

        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(FEATURES, UNITS, bidirectional=True)

        def forward(self, x, h, c):
            y, (h, c) = self.rnn(x, (h, c))
            return y, h * 2, c + 1

    class Zeros(nn.Module):
        """Zeros of the batch's size, as many tutorials write them."""

        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(FEATURES, UNITS, 2, batch_first=True)
            self.out = nn.Linear(UNITS, 3)

        def forward(self, x):
            h0 = torch.zeros(2, x.size(0), UNITS)
            c0 = torch.zeros(2, x.size(0), UNITS)
            y, _ = self.lstm(x, (h0, c0))
            return self.out(y[:, -1, :])

    class Chained(nn.Module):
        """The states of one cell begin another."""

        def __init__(self):
            super().__init__()
            self.encoder = nn.LSTM(FEATURES, UNITS, batch_first=True)
            self.decoder = nn.LSTM(2, UNITS, batch_first=True)

        def forward(self, x, y):
            _, states = self.encoder(x)
            return self.decoder(y, states)[0]

    class Gru(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, UNITS)
            self.rnn = nn.GRU(FEATURES, UNITS, batch_first=True)
            self.out = nn.RNN(UNITS, 2, nonlinearity="relu", batch_first=True)
            self.register_buffer("begin", torch.randn(1, BATCH, 2))

        def forward(self, x, z):
            y, h = self.rnn(x, torch.tanh(self.first(z)).unsqueeze(0))
            return self.out(y, self.begin)[0], h

    series, states = numbers(BATCH, STEPS, FEATURES, seed=1), numbers(2, BATCH, UNITS, seed=2)
    return {
        "learned": (Learned, [series], False),
        "handed": (Handed, [numbers(STEPS, BATCH, FEATURES, seed=1), states, states[::-1].copy()], False),
        "zeros": (Zeros, [series], True),
        "chained": (Chained, [series, numbers(BATCH, 3, 2, seed=3)], False),
        "gru": (Gru, [series, numbers(BATCH, 3, seed=4)], False),
    }


TORCH = ["learned", "handed", "zeros", "chained", "gru"]


@pytest.mark.parametrize("form", ["pt2", "script"])
@pytest.mark.parametrize("name", TORCH)
def test_torch(name, form, tmp_path):
    import torch

    torch.manual_seed(3)
    made, inputs, free = torch_cases()[name]
    model, given = made().eval(), [torch.from_numpy(x) for x in inputs]
    with torch.inference_mode():
        answer = model(*given)
    want = [y.numpy() for y in (answer if isinstance(answer, tuple) else (answer,))]
    if form == "pt2":
        batch = torch.export.Dim("batch", min=1, max=64)
        sizes = tuple({0: batch} for _ in inputs) if free else None
        path, options = tmp_path / "net.pt2", []
        torch.export.save(torch.export.export(model, tuple(given), dynamic_shapes=sizes), path)
    else:
        path = tmp_path / "net.pt"
        torch.jit.save(torch.jit.trace(model, tuple(given), check_trace=False), str(path))
        pytest.skip("sizes of TorchScript are asked for on the command line") if len(inputs) > 1 else None
        options = ["--shape", "x=" + ",".join(map(str, inputs[0].shape))]
    if options:
        want_here = run_natively([path], {"x": inputs[0]}, tmp_path, *options)
        assert_close(want_here, want, TOLERANCE, "natively")
        assert_close(port([path], tmp_path / "port.py", *options)(inputs), want, TOLERANCE, "torch")
        return
    names = "x h c".split() if name == "handed" else "x y".split() if name == "chained" else "x z".split()
    everywhere(path, dict(zip(names, inputs)), want, tmp_path)


# ---- Keras


def keras_cases(keras) -> dict:
    L, ops = keras.layers, keras.ops
    made = {}

    def case(name, *shapes):
        def keep(build):
            def model():
                batch = BATCH if name == "constants" else None
                inputs = [keras.Input(batch_shape=(batch, *s), name=f"in_{i}") for i, s in enumerate(shapes)]
                return keras.Model(inputs if len(inputs) > 1 else inputs[0], build(*inputs))

            made[name] = model

        return keep

    series = (STEPS, FEATURES)

    @case("states", series, (UNITS,), (UNITS,))
    def _(x, h, c):
        return L.LSTM(UNITS, return_sequences=True)(x, initial_state=[h, c])

    @case("encoded", series, (6,))
    def _(x, z):
        return L.GRU(UNITS, reset_after=False)(x, initial_state=L.Dense(UNITS, activation="tanh")(z))

    @case("constants", series)
    def _(x):
        h, c = numbers(BATCH, UNITS, seed=1), numbers(BATCH, UNITS, seed=2)
        y = L.LSTM(UNITS, return_sequences=True)(x, initial_state=[h, c])
        return L.SimpleRNN(UNITS, go_backwards=True)(y, initial_state=h)

    @case("sequence_to_sequence", series, (3, 2))
    def _(x, y):
        _, h, c = L.LSTM(UNITS, return_state=True)(x)
        z, last, cell = L.LSTM(UNITS, return_sequences=True, return_state=True)(y, initial_state=[h, c])
        return [L.Dense(2)(z), last, ops.tanh(cell)]

    @case("gru_state", series)
    def _(x):
        y, h = L.GRU(UNITS, return_sequences=True, return_state=True)(x)
        return [y, L.Dense(2)(h)]

    for kind in ("LSTM", "GRU", "SimpleRNN"):
        for merge in ("concat", "sum", "mul"):
            for sequences in (True, False):

                @case(f"both_{kind}_{merge}_{'all' if sequences else 'last'}", series)
                def _(x, kind=kind, merge=merge, sequences=sequences):
                    cell = getattr(L, kind)(UNITS, return_sequences=sequences, bias_initializer="normal")
                    return L.Bidirectional(cell, merge_mode=merge)(x)

    @case("both_stacked", series)
    def _(x):
        x = L.Bidirectional(L.LSTM(UNITS, return_sequences=True, use_bias=False))(x)
        x = L.Bidirectional(L.GRU(3, reset_after=False, recurrent_activation="hard_sigmoid"), merge_mode="ave")(x)
        return L.Dense(2)(x)

    return made


BOTH = [f"both_{kind}_{merge}_{end}" for kind in ("LSTM", "GRU", "SimpleRNN") for merge in ("concat", "sum", "mul")
        for end in ("all", "last")]  # fmt: skip
KERAS = ["states", "encoded", "constants", "sequence_to_sequence", "gru_state", *BOTH, "both_stacked"]


@pytest.mark.parametrize("name", KERAS)
def test_keras(name, tmp_path):
    import keras

    keras.utils.set_random_seed(2)
    model = keras_cases(keras)[name]()
    path = tmp_path / "net.keras"
    model.save(path)
    inputs = {x.name: numbers(*(n or BATCH for n in x.shape), seed=i) for i, x in enumerate(model.inputs)}
    feed = list(inputs.values())
    answer = model(feed if len(feed) > 1 else feed[0], training=False)
    want = [np.asarray(y) for y in (answer if isinstance(answer, list) else [answer])]
    everywhere(path, inputs, want, tmp_path, ("keras",))
    again = to_keras(path, feed, want, tmp_path)
    pairs = [layer for layer in again.layers if type(layer).__name__ == "Bidirectional"]
    assert len(pairs) == (2 if name == "both_stacked" else name.startswith("both_"))
    convoy("port", path, "--to", "keras", "-o", tmp_path / "net.py")
    text_of_port = [tmp_path / "net.py", "--weights", tmp_path / "net.weights.h5"]
    text = (tmp_path / "net.py").read_text()
    assert text.count("layers.Bidirectional(") == len(pairs)
    assert_close(run_natively(text_of_port, inputs, tmp_path), want, TOLERANCE, "source")


@pytest.mark.parametrize("cell", ["LSTM", "GRU"])
def test_a_bidirectional_module_is_a_bidirectional_layer(cell, tmp_path):
    import torch
    from torch import nn

    torch.manual_seed(5)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = getattr(nn, cell)(FEATURES, UNITS, num_layers=2, batch_first=True, bidirectional=True)
            self.out = nn.Linear(2 * UNITS, 3)

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    x = numbers(BATCH, STEPS, FEATURES, seed=1)
    model = Net().eval()
    torch.export.save(torch.export.export(model, (torch.from_numpy(x),)), tmp_path / "net.pt2")
    with torch.inference_mode():
        want = [model(torch.from_numpy(x)).numpy()]
    again = to_keras(tmp_path / "net.pt2", [x], want, tmp_path)
    kinds = [type(layer).__name__ for layer in again.layers]
    assert kinds.count("Bidirectional") == 2 and "GetItem" not in kinds and "Concatenate" not in kinds, kinds
