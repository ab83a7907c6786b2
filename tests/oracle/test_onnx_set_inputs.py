"""An input of an ONNX model that --set gives a value: a constant from then on, as ONNX Runtime answers when it is given."""
import numpy as np
import onnx
import pytest
from carrying import convoy, import_file, plain_session, run_natively
from onnx import TensorProto
from onnx import helper as make

RANDOM = np.random.default_rng(11)


def two_rates(path):
    """Another convolution at 16000 than elsewhere, and a gain that has a default."""
    def branch(name, size):
        node = make.make_node("Conv", ["x", f"w{size}"], [name], kernel_shape=[size], pads=[size // 2, size // 2])
        return make.make_graph([node], name, [], [make.make_tensor_value_info(name, TensorProto.FLOAT, None)])

    nodes = [
        make.make_node("Equal", ["sr", "rate"], ["is_high"]),
        make.make_node("If", ["is_high"], ["y"], then_branch=branch("high", 5), else_branch=branch("low", 3)),
        make.make_node("Mul", ["y", "gain"], ["z"]),
    ]
    weights = [make.make_tensor("rate", TensorProto.INT64, [], [16000]), make.make_tensor("gain", TensorProto.FLOAT, [1], [2])]
    for size in (3, 5):
        numbers = RANDOM.integers(-3, 4, 4 * 2 * size)
        weights.append(make.make_tensor(f"w{size}", TensorProto.FLOAT, [4, 2, size], numbers))
    inputs = [make.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2, 9]),
              make.make_tensor_value_info("sr", TensorProto.INT64, []),
              make.make_tensor_value_info("gain", TensorProto.FLOAT, [1])]  # fmt: skip
    graph = make.make_graph(nodes, "g", inputs, [make.make_tensor_value_info("z", TensorProto.FLOAT, ["N", 4, 9])], weights)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), path)


@pytest.mark.parametrize("rate", [16000, 8000])
def test_the_branch_that_the_value_chooses_is_carried(rate, tmp_path):
    two_rates(tmp_path / "m.onnx")
    x = RANDOM.integers(-5, 6, (3, 2, 9)).astype(np.float32)
    (want,) = plain_session(tmp_path / "m.onnx").run(None, {"x": x, "sr": np.array(rate)})
    done = convoy("port", tmp_path / "m.onnx", "--set", f"sr={rate}", "-o", tmp_path / "port.py")
    assert f"input 'sr' is {rate}, as --set says" in done.stdout
    import torch

    assert np.array_equal(import_file(tmp_path / "port.py").load()(torch.from_numpy(x)).detach().numpy(), want)
    convoy("diff", tmp_path / "m.onnx", tmp_path / "port.py", "--set", f"sr={rate}")
    (got,) = run_natively([tmp_path / "m.onnx", "--set", f"sr={rate}"], {"x": x}, tmp_path)
    assert np.array_equal(got, want)
    convoy("port", tmp_path / "m.onnx", "--set", f"sr={rate}", "--to", "onnx", "-o", tmp_path / "port.onnx")
    session = plain_session(tmp_path / "port.onnx")
    assert [i.name for i in session.get_inputs()] == ["x"]
    assert np.array_equal(session.run(None, {"x": x})[0], want)


def test_a_default_gives_way_and_one_number_fills_the_declared_shape(tmp_path):
    two_rates(tmp_path / "m.onnx")
    x = RANDOM.integers(-5, 6, (1, 2, 9)).astype(np.float32)
    given = {"x": x, "sr": np.array(8000), "gain": np.float32([-3])}
    (want,) = plain_session(tmp_path / "m.onnx").run(None, given)
    (got,) = run_natively([tmp_path / "m.onnx", "--set", "sr=8000", "--set", "gain=-3.0"], {"x": x}, tmp_path)
    assert np.array_equal(got, want)


@pytest.mark.parametrize(("said", "why"), [
    ("rs=8000", "has no input 'rs'; did you mean 'sr'?"),
    ("sr=8000.5", "is no whole number"),
    ("sr=9223372036854775808", "is no whole number"),
    ("sr=[8000, 16000]", "has the shape [2]"),
    ("gain=[1, [2]]", "is no number and no list of numbers"),
    ("gain=(1, 2)", "has the shape [2]"),
    ("gain=", "is no number and no list of numbers"),
    ("gain", "is not NAME=VALUE"),
])  # fmt: skip
def test_what_is_no_value_of_the_input_is_refused(said, why, tmp_path):
    two_rates(tmp_path / "m.onnx")
    assert why in convoy("summary", tmp_path / "m.onnx", "--set", said, code=2).stderr


@pytest.mark.parametrize("number", [9007199254740993, -(2**63)])
def test_whole_numbers_keep_all_their_digits(number, tmp_path):
    graph = make.make_graph(
        [make.make_node("Add", ["x", "more"], ["y"])], "g",
        [make.make_tensor_value_info("x", TensorProto.INT64, [2]), make.make_tensor_value_info("more", TensorProto.INT64, [1])],
        [make.make_tensor_value_info("y", TensorProto.INT64, [2])],
    )  # fmt: skip
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    x = np.array([0, 1])
    (want,) = plain_session(tmp_path / "m.onnx").run(None, {"x": x, "more": np.array([number])})
    convoy("port", tmp_path / "m.onnx", "--set", f"more={number}", "--to", "onnx", "-o", tmp_path / "port.onnx")
    assert np.array_equal(plain_session(tmp_path / "port.onnx").run(None, {"x": x})[0], want)


def test_of_two_models_one_has_to_ask_for_what_is_set(tmp_path):
    two_rates(tmp_path / "m.onnx")
    convoy("port", tmp_path / "m.onnx", "--set", "sr=8000", "-o", tmp_path / "port.py")
    done = convoy("diff", tmp_path / "m.onnx", tmp_path / "port.py", "--set", "sr=8000", "--set", "width=3", code=2)
    assert "--set width: no model asks for such a name" in done.stderr


def test_without_a_value_both_branches_are_carried(tmp_path):
    two_rates(tmp_path / "m.onnx")
    convoy("port", tmp_path / "m.onnx", "--to", "onnx", "-o", tmp_path / "port.onnx")
    x = RANDOM.integers(-5, 6, (3, 2, 9)).astype(np.float32)
    for rate in (16000, 8000):
        given = {"x": x, "sr": np.array(rate)}
        want, got = (plain_session(tmp_path / name).run(None, given)[0] for name in ("m.onnx", "port.onnx"))
        assert np.array_equal(got, want)


def test_loops_whose_bodies_call_their_values_alike_are_proved(tmp_path):
    """As converters write the two directions of a recurrent layer."""
    def loop(source, result, factor):
        body = make.make_graph(
            [make.make_node("Gather", [source, "i"], ["step"], axis=1),
             make.make_node("Mul", ["carried_in", factor], ["faded"]),
             make.make_node("Add", ["faded", "step"], ["carried_out"]),
             make.make_node("Identity", ["going"], ["goes_on"])],
            "body",
            [make.make_tensor_value_info("i", TensorProto.INT64, []), make.make_tensor_value_info("going", TensorProto.BOOL, []),
             make.make_tensor_value_info("carried_in", TensorProto.FLOAT, None)],
            [make.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
             make.make_tensor_value_info("carried_out", TensorProto.FLOAT, None)],
        )  # fmt: skip
        return make.make_node("Loop", ["count", "", "begin"], [result], body=body)

    nodes = [make.make_node("Neg", ["x"], ["negative"]), loop("x", "a", "half"), loop("negative", "b", "two"),
             make.make_node("Concat", ["a", "b"], ["y"], axis=1)]  # fmt: skip
    weights = [make.make_tensor("count", TensorProto.INT64, [], [4]), make.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
               make.make_tensor("two", TensorProto.FLOAT, [], [2]), make.make_tensor("begin", TensorProto.FLOAT, [1, 3], [0, 1, 0])]  # fmt: skip
    graph = make.make_graph(nodes, "g", [make.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 3])],
                            [make.make_tensor_value_info("y", TensorProto.FLOAT, [2, 6])], weights)  # fmt: skip
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    x = RANDOM.integers(-5, 6, (2, 4, 3)).astype(np.float32)
    (want,) = plain_session(tmp_path / "m.onnx").run(None, {"x": x})
    for target in ("onnx", "keras", "torch"):
        port = tmp_path / {"onnx": "port.onnx", "keras": "port.keras", "torch": "port.py"}[target]
        convoy("port", tmp_path / "m.onnx", "--to", target, "-o", port)
    assert np.array_equal(plain_session(tmp_path / "port.onnx").run(None, {"x": x})[0], want)
