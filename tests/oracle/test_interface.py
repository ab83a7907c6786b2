"""The interface of a port is a contract: models that begin or end with every kind of rearrangement, and those of the corpora,
called in the real target framework with the same arrays, put through nothing but the permutation that the port declares."""
import json
import subprocess
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from carrying import Crossing, assert_close, by_name, cases_in, check_itself, convoy, import_file
from test_keras_written import opened
from test_onnx_written import session

TOLERANCE = 2e-5
TARGETS = {"torch": ".py", "onnx": ".onnx", "keras": ".keras"}


def numbers(*shape, seed=0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def standard(rank: int, target: str) -> list[int]:
    """The one permutation of this rank that brings the channels to where the target has them."""
    return [0, *range(2, rank), 1] if target == "keras" else [0, rank - 1, *range(1, rank - 1)]


def checked(row: dict, target: str, moves: bool | None) -> Crossing:
    """What the port declares: every axis kept, or the standard permutation with the layer that names the channels."""
    rank, permutation = len(row["source_shape"]), row["permutation"]
    kept = list(range(rank))
    if moves is None:
        assert permutation == kept or (rank > 2 and permutation == standard(rank, target)), row
    else:
        assert permutation == (standard(rank, target) if moves else kept), row
    assert bool(row["channels_of"]) == (permutation != kept), row
    assert row["shape"] == [row["source_shape"][axis] for axis in permutation], row
    return Crossing.of(row)


def call_torch(path: Path, feed: list, sides: tuple) -> list:
    import torch

    model = import_file(path).load()
    with torch.inference_mode():
        y = model(*by_name(model, sides[0], [torch.from_numpy(x) for x in feed]))
    y = [y[c.name] for c in sides[1]] if isinstance(y, dict) else y
    return [out.numpy() for out in (y if isinstance(y, (tuple, list)) else [y])]


def call_onnx(path: Path, feed: list, sides: tuple) -> list:
    runtime = session(path, optimized=False)
    names = [x.name for x in runtime.get_inputs()]
    return runtime.run(None, dict(zip(names, feed, strict=True)))


def call_keras(path: Path, feed: list, sides: tuple) -> list:
    import tensorflow

    model, given = opened(path), feed[0] if len(feed) == 1 else feed
    if isinstance(getattr(model, "_inputs_struct", None), dict):
        given = {c.name: x for c, x in zip(sides[0], feed, strict=True)}
    try:
        y = model(given, training=False)
    except tensorflow.errors.InvalidArgumentError:  # a dilated transposed layer of the source runs only when compiled
        model.compile(jit_compile=True)
        y = model.predict(given, verbose=0)
    y = [y[c.name] for c in sides[1]] if isinstance(y, dict) else y
    return [np.asarray(out) for out in (y if isinstance(y, (tuple, list)) else [y])]


CALLS = {"torch": call_torch, "onnx": call_onnx, "keras": call_keras}


def check(source: Path, target: str, inputs: list, want: list, folder: Path, moves=(None, None), options=()) -> None:
    """Ports with proof, and calls the port in its own framework. `moves`: whether inputs and outputs have their channels
    moved (None: either, as the report says)."""
    path = folder / f"port{TARGETS[target]}"
    done = convoy("port", source, "-o", path, "--json", "--force", *options, code=None)
    if done.returncode == 6:
        pytest.skip(done.stderr.strip()[-200:])
    assert done.returncode == 0, f"{source.name} to {target}: {done.returncode}\n{done.stderr}"
    report = json.loads(done.stdout)
    into = [checked(row, target, moves[0]) for row in report["inputs"]]
    out = [checked(row, target, moves[1]) for row in report["outputs"]]
    feed = [np.ascontiguousarray(c.to_port(x)) for c, x in zip(into, inputs, strict=True)]
    got = CALLS[target](path, feed, (into, out))
    assert_close([c.from_port(y) for c, y in zip(out, got, strict=True)], want, TOLERANCE, f"{source.name} to {target}")


# ---- PyTorch (sizes unlike on every axis, as square images hide what is asked here): what stands in front of a convolution and behind it. Each: the input's shape, and the expression.
BEGINNINGS = {  # -> [2, 3, 6, 5], or the same with rows and columns exchanged
    "nothing": ((2, 3, 6, 5), lambda x: x),
    "relu": ((2, 3, 6, 5), lambda x: x.relu()),
    "rows_for_columns": ((2, 3, 5, 6), lambda x: x.transpose(2, 3)),
    "channels_last": ((2, 6, 5, 3), lambda x: x.permute(0, 3, 1, 2)),
    "columns_first": ((2, 5, 6, 3), lambda x: x.permute(0, 3, 2, 1)),
    "channels_for_rows": ((2, 6, 3, 5), lambda x: x.transpose(1, 2)),
    "batch_second": ((3, 2, 6, 5), lambda x: x.transpose(0, 1)),
    "batch_last": ((6, 5, 3, 2), lambda x: x.permute(3, 2, 0, 1)),
    "flat": ((2, 90), lambda x: x.reshape(2, 3, 6, 5)),
    "split_channels": ((2, 18, 5), lambda x: x.reshape(2, 3, 6, 5)),
    "split_last": ((2, 6, 15), lambda x: x.reshape(2, 6, 5, 3).permute(0, 3, 1, 2)),
    "squeezed": ((2, 3, 1, 6, 5), lambda x: x.squeeze(2)),
    "squeezed_and_turned": ((2, 6, 1, 5, 3), lambda x: x.squeeze(2).permute(0, 3, 1, 2)),
    "unsqueezed": ((2, 6, 5), lambda x: x.unsqueeze(1).repeat(1, 3, 1, 1)),
    "gathered": ((2, 4, 6, 5), lambda x: x[:, [3, 0, 2]]),
    "gathered_rows": ((2, 3, 7, 5), lambda x: x[:, :, [6, 0, 2, 1, 5, 3]]),
    "picked": ((2, 3, 6, 5, 4), lambda x: x[..., 2]),
    "flipped": ((2, 3, 6, 5), lambda x: x.flip(3)),
    "turned_and_sliced": ((2, 7, 5, 3), lambda x: x[:, 1:].permute(0, 3, 1, 2)),
    "padded_and_turned": ((2, 5, 4, 3), lambda x: F().pad(x, (0, 0, 1, 0, 0, 1)).permute(0, 3, 1, 2)),
    "turned_sum": ((2, 6, 5, 3), lambda x: (x + x.flip(1)).permute(0, 3, 1, 2)),
}
ENDS = {
    "nothing": lambda y: y,
    "sigmoid": lambda y: y.sigmoid(),
    "rows_for_columns": lambda y: y.transpose(2, 3),
    "channels_last": lambda y: y.permute(0, 2, 3, 1),
    "channels_last_columns_first": lambda y: y.permute(0, 3, 2, 1),
    "channels_for_rows": lambda y: y.transpose(1, 2),
    "batch_second": lambda y: y.transpose(0, 1),
    "batch_last": lambda y: y.permute(3, 1, 2, 0),
    "flat": lambda y: y.flatten(1),
    "channels_flat": lambda y: y.flatten(2),
    "tokens": lambda y: y.flatten(2).transpose(1, 2),
    "merged_last": lambda y: y.permute(0, 2, 3, 1).reshape(y.shape[0], y.shape[2], -1),
    "merged_first": lambda y: y.permute(0, 2, 3, 1).flatten(1, 2),
    "unsqueezed": lambda y: y.unsqueeze(1),
    "unsqueezed_last": lambda y: y.permute(0, 2, 3, 1).unsqueeze(-1),
    "mean": lambda y: y.mean(1),
    "mean_kept": lambda y: y.mean((2, 3), keepdim=True),
    "mean_squeezed": lambda y: y.mean(2, keepdim=True).squeeze(2),
    "largest": lambda y: y.argmax(1),
    "gathered": lambda y: y[:, [1, 0, 3]],
    "turned_and_gathered": lambda y: y.permute(0, 3, 1, 2)[:, [2, 0]],
    "picked": lambda y: y[:, 1],
    "softmax_last": lambda y: y.permute(0, 2, 3, 1).softmax(-1),
    "shuffled": lambda y: y.reshape(y.shape[0], 2, 2, y.shape[2], y.shape[3]).transpose(1, 2).flatten(1, 2),
    "two": lambda y: (y, y.transpose(2, 3)),
    "turned_twice": lambda y: (y.permute(0, 2, 3, 1), y.permute(0, 3, 2, 1)),
}
# Across these, the layers say which axis holds the channels.
SAYS = {"nothing", "relu", "sigmoid", "gathered", "gathered_rows", "flipped", "mean_kept"}
TORCH = [(begin, "nothing") for begin in BEGINNINGS] + [("nothing", end) for end in list(ENDS)[1:]]
TORCH += [("channels_last", end) for end in ("channels_last", "channels_last_columns_first", "tokens", "softmax_last")]
TORCH += [("rows_for_columns", "rows_for_columns"), ("columns_first", "rows_for_columns"), ("batch_second", "batch_second")]


def F():
    from torch.nn import functional

    return functional


def exported(begin: str, end: str, folder: Path):
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, (3, 2), padding=(1, 0))

        def forward(self, x):
            return ENDS[end](self.conv(BEGINNINGS[begin][1](x)))

    torch.manual_seed(1)
    net, shape = Net().eval(), BEGINNINGS[begin][0]
    x = numbers(*shape)
    path = folder / "net.pt2"
    torch.export.save(torch.export.export(net, (torch.from_numpy(x),)), path)
    with torch.inference_mode():
        y = net(torch.from_numpy(x))
    return path, x, [out.numpy() for out in (y if isinstance(y, tuple) else (y,))]


@pytest.mark.sampled(60)
@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize(("begin", "end"), TORCH, ids=["-".join(row) for row in TORCH])
def test_torch(begin, end, target, tmp_path):
    path, x, want = exported(begin, end, tmp_path)
    moves = (target == "keras" and begin in SAYS, target == "keras" and end in SAYS)
    check(path, target, [x], want, tmp_path, (moves[0], None if len(want) > 1 else moves[1]))


@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize(("begin", "end"), [("nothing", "nothing"), ("channels_last", "tokens")])
def test_the_source_interface_keeps_every_axis(begin, end, target, tmp_path):
    path, x, want = exported(begin, end, tmp_path)
    check(path, target, [x], want, tmp_path, (False, False), ["--interface", "source"])


# ---- ONNX: nodes as they are written, walked by ONNX Runtime.


def onnx_nodes() -> dict:
    """name -> (the input's shape, nodes from x to y, initializers, whether x and y move toward Keras)."""
    from onnx import helper

    def node(op, inputs, outputs, **attributes):
        return helper.make_node(op, inputs, outputs, **attributes)

    kernel, bias = numbers(4, 3, 3, 2, seed=3), numbers(4, seed=4)
    weights = {"w": kernel, "b": bias}
    conv = node("Conv", ["a", "w", "b"], ["c"], pads=[1, 0, 1, 0])

    def around(front, shape, back=None, moves=(False, False), **more):
        nodes = [front or node("Identity", ["x"], ["a"]), conv, back or node("Identity", ["c"], ["y"])]
        return shape, nodes, {**weights, **more}, moves

    def cell(op, gates, outputs, back=(), time_first=True, **attributes):
        directions = 2 if attributes.get("direction") == "bidirectional" else 1
        given = {
            "W": numbers(directions, gates * 4, 3, seed=5),
            "R": numbers(directions, gates * 4, 4, seed=6),
            "B": numbers(directions, gates * 8, seed=7),
        }
        return (5, 2, 3), [node(op, ["x", "W", "R", "B"], outputs, hidden_size=4, **attributes), *back], given, (False, False)

    turned = node("Transpose", ["x"], ["a"], perm=[0, 3, 1, 2])
    return {
        "conv": around(None, (2, 3, 6, 5), moves=(True, True)),
        "rows_for_columns": around(node("Transpose", ["x"], ["a"], perm=[0, 1, 3, 2]), (2, 3, 5, 6), moves=(False, True)),
        "channels_last": around(turned, (2, 6, 5, 3), moves=(False, True)),
        "channels_last_both": around(turned, (2, 6, 5, 3), node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1])),
        "batch_second": around(node("Transpose", ["x"], ["a"], perm=[1, 0, 2, 3]), (3, 2, 6, 5), moves=(False, True)),
        "end_rows_for_columns": around(None, (2, 3, 6, 5), node("Transpose", ["c"], ["y"], perm=[0, 1, 3, 2]), (True, False)),
        "end_reshaped": around(None, (2, 3, 6, 5), node("Reshape", ["c", "s"], ["y"]), (True, False), s=np.array([2, 24, -1])),
        "begin_reshaped": around(node("Reshape", ["x", "s"], ["a"]), (2, 6, 15), None, (False, True), s=np.array([2, 3, 6, 5])),
        "begin_squeezed": around(node("Squeeze", ["x", "s"], ["a"]), (2, 3, 1, 6, 5), None, (False, True), s=np.array([2])),
        "end_unsqueezed": around(None, (2, 3, 6, 5), node("Unsqueeze", ["c", "s"], ["y"]), (True, False), s=np.array([1])),
        "begin_gathered": around(node("Gather", ["x", "s"], ["a"], axis=1), (2, 4, 6, 5), None, (True, True), s=np.array([3, 0, 2])),
        "end_picked": around(None, (2, 3, 6, 5), node("Gather", ["c", "s"], ["y"], axis=3), (True, False), s=np.array(2)),
        "only_transposed": ((2, 3, 6, 5), [node("Transpose", ["x"], ["y"], perm=[0, 2, 3, 1])], {}, (False, False)),
        "lstm": cell("LSTM", 4, ["y"]),
        "lstm_both_ways": cell("LSTM", 4, ["y"], direction="bidirectional"),
        "lstm_last": cell("LSTM", 4, ["", "y"]),
        "gru": cell("GRU", 3, ["y"], linear_before_reset=1),
        "gru_backwards": cell("GRU", 3, ["y"], linear_before_reset=1, direction="reverse"),
        "gru_squeezed": cell("GRU", 3, ["h"], [node("Squeeze", ["h", "one"], ["y"])], linear_before_reset=1) [:2]
        + ({"W": numbers(1, 12, 3, seed=5), "R": numbers(1, 12, 4, seed=6), "B": numbers(1, 24, seed=7), "one": np.array([1])},
           (False, False)),
        "gru_and_state": cell("GRU", 3, ["y", "h"], linear_before_reset=1),
        "rnn_turned": cell("RNN", 1, ["h"], [node("Transpose", ["h"], ["y"], perm=[2, 0, 1, 3])]),
    }  # fmt: skip


ONNX = ("conv rows_for_columns channels_last channels_last_both batch_second end_rows_for_columns end_reshaped begin_reshaped "
        "begin_squeezed end_unsqueezed begin_gathered end_picked only_transposed lstm lstm_both_ways lstm_last gru "
        "gru_backwards gru_squeezed gru_and_state rnn_turned").split()  # fmt: skip


@pytest.mark.sampled(40)
@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize("name", ONNX)
def test_onnx(name, target, tmp_path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    shape, nodes, initializers, moves = onnx_nodes()[name]
    made = {out for node in nodes for out in node.output}
    outputs = [helper.make_tensor_value_info(y, TensorProto.FLOAT, None) for y in ("y", "h") if y in made
               and not any(y in node.input for node in nodes)]  # fmt: skip
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], outputs,
                              [numpy_helper.from_array(value, key) for key, value in initializers.items()])  # fmt: skip
    path = tmp_path / "net.onnx"
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    onnx.save(model, path)
    x = numbers(*shape)
    want = session(path, optimized=False).run(None, {"x": x})
    check(path, target, [x], want, tmp_path, tuple(target == "keras" and side for side in moves))


# ---- Keras: channels last, and first where a layer says so.


def keras_models() -> dict:
    """name -> (the input's shape without its batch, layers from x to y, whether x and y move toward channels first)."""
    from keras import layers, ops

    def conv(**more):
        return layers.Conv2D(4, (3, 2), **more)

    return {
        "conv": ((6, 5, 3), lambda x: conv()(x), (True, True)),
        "norm": ((6, 5, 3), lambda x: layers.BatchNormalization()(x), (True, True)),
        "rows_for_columns": ((5, 6, 3), lambda x: conv()(layers.Permute((2, 1, 3))(x)), (False, True)),
        "end_rows_for_columns": ((6, 5, 3), lambda x: layers.Permute((2, 1, 3))(conv()(x)), (True, False)),
        "from_channels_first": ((3, 6, 5), lambda x: conv()(layers.Permute((2, 3, 1))(x)), (False, True)),
        "to_channels_first": ((6, 5, 3), lambda x: layers.Permute((3, 1, 2))(conv()(x)), (True, False)),
        "both": ((3, 6, 5), lambda x: layers.Permute((3, 1, 2))(conv()(layers.Permute((2, 3, 1))(x))), (False, False)),
        "reshaped": ((90,), lambda x: conv()(layers.Reshape((6, 5, 3))(x)), (False, True)),
        "end_reshaped": ((6, 5, 3), lambda x: layers.Reshape((4, -1))(conv()(x)), (True, False)),
        "tokens": ((6, 5, 3), lambda x: layers.LayerNormalization()(layers.Reshape((-1, 4))(conv()(x))), (True, False)),
        "flat": ((6, 5, 3), lambda x: layers.Flatten()(conv()(x)), (True, False)),
        "mean": ((6, 5, 3), lambda x: ops.mean(conv()(x), axis=1), (True, False)),
        "gathered": ((6, 5, 4), lambda x: conv()(ops.take(x, [3, 0, 2], axis=3)), (True, True)),
        "turned": ((5, 6, 3), lambda x: conv()(ops.transpose(x, (0, 2, 1, 3))), (False, True)),
        "unsqueezed": ((6, 5), lambda x: conv()(ops.expand_dims(x, -1)), (False, True)),
        "squeezed": ((6, 5, 3), lambda x: ops.squeeze(layers.Conv2D(1, 3)(x), -1), (True, False)),
        "series": ((7, 3), lambda x: layers.Conv1D(4, 3)(x), (True, True)),
        "sequence": ((7, 3), lambda x: layers.LSTM(4, return_sequences=True)(x), (False, False)),
        "sequence_and_series": ((7, 3), lambda x: layers.Concatenate()([layers.Conv1D(4, 3, padding="same")(x),
                                                                        layers.GRU(4, return_sequences=True)(x)]), (False, None)),
        "dense": ((6, 5, 3), lambda x: layers.Dense(4)(x), (False, False)),
        "dense_behind": ((6, 5, 3), lambda x: layers.Dense(2)(conv()(x)), (True, True)),
        "two_layouts": ((6, 5, 3), lambda x: layers.Concatenate()([layers.Flatten()(conv()(x)),
                                                                   layers.Flatten()(layers.Permute((3, 1, 2))(x))]), (True, False)),
        "volume": ((4, 6, 5, 3), lambda x: layers.MaxPooling3D((1, 2, 1))(x), (True, True)),
        "first": ((3, 6, 5), lambda x: layers.UpSampling2D(2, data_format="channels_first")(x), (False, False)),
    }  # fmt: skip


KERAS = ("conv norm rows_for_columns end_rows_for_columns from_channels_first to_channels_first both reshaped end_reshaped tokens "
         "flat mean gathered turned unsqueezed squeezed series sequence sequence_and_series dense dense_behind two_layouts "
         "volume first").split()  # fmt: skip


@pytest.mark.sampled(40)
@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize("name", KERAS)
def test_keras(name, target, tmp_path):
    import keras

    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    shape, build, moves = keras_models()[name]
    inputs = keras.Input(shape)
    model = keras.Model(inputs, build(inputs))
    path = tmp_path / "net.keras"
    model.save(path)
    x = numbers(2, *shape)
    want = [np.asarray(model(x, training=False))]
    if target == "keras":
        moves = (name == "first", name == "first")  # channels first is another layout there
    check(path, target, [x], want, tmp_path, moves)


# ---- dictionaries: names and their order, and that a port is called as its source is


def called_by_name(path: Path, target: str, feed: dict) -> dict:
    if target == "onnx":
        runtime = session(path, optimized=False)
        return dict(zip([y.name for y in runtime.get_outputs()], runtime.run(None, feed), strict=True))
    if target == "keras":
        y = opened(path)(feed, training=False)
    else:
        import torch

        with torch.inference_mode():
            y = import_file(path).load()({name: torch.from_numpy(x) for name, x in feed.items()})
    assert isinstance(y, dict), type(y)
    return {name: np.asarray(out) for name, out in y.items()}


def check_by_name(source: Path, target: str, inputs: dict, want: dict, folder: Path, suffix: str = "") -> None:
    path = folder / f"port{suffix or TARGETS[target]}"
    report = json.loads(convoy("port", source, "--to", target, "-o", path, "--json", "--force").stdout)
    into = {row["name"]: Crossing.of(row) for row in report["inputs"]}
    out = {row["name"]: Crossing.of(row) for row in report["outputs"]}
    assert set(into) == set(inputs)
    assert list(out) == list(want), "names in their order"
    feed = {name: np.ascontiguousarray(into[name].to_port(x)) for name, x in inputs.items()}
    if suffix == ".py" and target == "keras":
        y = import_file(path).load()(feed, training=False)
        got = {name: np.asarray(one) for name, one in y.items()}
    else:
        got = called_by_name(path, target, feed)
    assert set(got) == set(want)
    for name, y in want.items():
        assert_close([out[name].from_port(got[name])], [y], TOLERANCE, name)
    if path.suffix == ".py":
        check_itself(path)


@pytest.mark.parametrize("target, suffix", [("torch", ""), ("onnx", ""), ("keras", ""), ("keras", ".h5"), ("keras", ".py")])
@pytest.mark.parametrize("nested", [False, True])
def test_keras_dictionaries(nested, target, suffix, tmp_path):
    import keras
    from keras import layers

    keras.backend.clear_session()
    keras.utils.set_random_seed(4)
    zebra, apple = keras.Input((6, 5, 3), name="zebra"), keras.Input((4,), name="apple")

    def inside(first, second):
        wide = layers.Conv2D(2, 3)(first)
        return {"other": layers.Dense(3, name="b_layer")(second), "main": layers.Conv2D(4, 2, name="a_layer")(wide)}

    if nested:
        z, a = keras.Input((6, 5, 3), name="zebra"), keras.Input((4,), name="apple")
        inner = keras.Model({"zebra": z, "apple": a}, inside(z, a), name="inner")
        outputs = dict(reversed(inner({"zebra": zebra, "apple": apple}).items()))
    else:
        outputs = inside(zebra, apple)
    model = keras.Model({"zebra": zebra, "apple": apple}, outputs)
    path = tmp_path / "net.keras"
    model.save(path)
    inputs = {"zebra": numbers(2, 6, 5, 3), "apple": numbers(2, 4)}
    got = model(inputs, training=False)
    check_by_name(path, target, inputs, {name: np.asarray(got[name]) for name in sorted(got)}, tmp_path, suffix)


@pytest.mark.parametrize("target, suffix", [("torch", ""), ("onnx", ""), ("keras", ""), ("keras", ".py")])
def test_a_dictionary_with_a_key_that_nothing_reads(target, suffix, tmp_path):
    import keras
    from keras import layers

    keras.backend.clear_session()
    first, idle, last = (keras.Input((4,), name=name) for name in ("first", "idle", "last"))
    model = keras.Model({"first": first, "idle": idle, "last": last}, {"y": layers.Dense(3)(last), "z": layers.Dense(2)(first)})
    model.save(tmp_path / "net.keras")
    inputs = {name: numbers(2, 4) for name in ("first", "idle", "last")}
    got = model(inputs, training=False)
    check_by_name(tmp_path / "net.keras", target, inputs, {name: np.asarray(y) for name, y in got.items()}, tmp_path, suffix)


@pytest.mark.parametrize("kind", [dict, OrderedDict])
@pytest.mark.parametrize("target, suffix", [("torch", ""), ("onnx", ""), ("keras", ""), ("keras", ".py")])
def test_torch_dictionaries(target, suffix, kind, tmp_path):
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.line = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 2)

        def forward(self, batch):
            return kind({"main": self.conv(batch["zebra"]), "also": self.line(batch["apple"])})

    torch.manual_seed(2)
    net, inputs = Net().eval(), {"zebra": numbers(2, 3, 6, 5), "apple": numbers(2, 4)}
    tensors = {name: torch.from_numpy(x) for name, x in inputs.items()}
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net, (tensors,)), path)
    with torch.inference_mode():
        want = {name: y.numpy() for name, y in net(tensors).items()}
    check_by_name(path, target, inputs, want, tmp_path, suffix)


def test_outputs_within_outputs_are_said_to_be_one_tuple(tmp_path):
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            return {"first": x * 2, "rest": (x + 1, x - 1)}

    torch.export.save(torch.export.export(Net(), (torch.from_numpy(numbers(2, 3)),)), tmp_path / "net.pt2")
    said = convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.py").stdout
    assert "outputs within outputs" in said and "mul, add, sub" in said, said
    x = torch.from_numpy(numbers(2, 3))
    assert_close([y.numpy() for y in import_file(tmp_path / "port.py").load()(x)], [(x * 2).numpy(), (x + 1).numpy(), (x - 1).numpy()], TOLERANCE, "torch")


# ---- the corpora: what their own frameworks answered


def corpus() -> list:
    rows = []
    for folder, file in (("keras", "model.keras"), ("torch", "model.pt2"), ("onnx", "model.onnx")):
        root = cases_in(f"corpus/{folder}")
        for model in sorted(root.glob(f"*/{file}")) if root else []:
            rows += [pytest.param(model, target, id=f"{folder}/{model.parent.name}-{target}") for target in TARGETS]
    return rows


@pytest.mark.sampled(60)
@pytest.mark.parametrize(("model", "target"), corpus())
def test_corpus(model, target, tmp_path):
    case = json.loads((model.parent / "case.json").read_text())
    row = case["sets"][0]
    inputs, want = ([np.load(model.parent / f"{side}{row}_{i}.npy") for i in range(len(case[f"{side}s"]))] for side in ("input", "output"))
    done = convoy("summary", model, code=None)
    if done.returncode:
        pytest.skip(done.stderr.strip()[-200:])
    try:
        check(model, target, inputs, want, tmp_path)
    except subprocess.TimeoutExpired:
        pytest.skip("takes longer than ten minutes")
