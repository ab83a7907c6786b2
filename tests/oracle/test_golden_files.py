"""The golden calls of TensorFlow and TFLite through the readers of their files: each call as a graph or model of its own, written by
TensorFlow, and its numbers as they are stored."""
import json

import numpy as np
import pytest
from carrying import cases_in
from test_tflite_quantized import Tensor, written

GOLDEN = cases_in("golden")
FAMILIES = ["convolution", "conv_transpose", "pooling", "padding", "rearranging", "resize"]
ROWS = 40  # of a test
pytestmark = pytest.mark.skipif(GOLDEN is None, reason="no golden numbers")


def rows_of(file: str) -> list:
    path = GOLDEN and GOLDEN / file
    return [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []


def parts(files: list[str]) -> list[tuple[str, int]]:
    return [(file, start) for file in files for start in range(0, len(rows_of(file)), ROWS)]


def array(said: dict) -> np.ndarray:
    return np.array([float(one) for one in said["data"]], said.get("dtype", "float32")).reshape(said["shape"])


def graph_of(row: dict, path) -> bool:
    """The call as a frozen graph that TensorFlow wrote; false where TensorFlow builds none."""
    import tensorflow as tf

    given = {name: array(said) for name, said in row["inputs"].items()}
    with tf.Graph().as_default() as graph:
        known = {name: tf.constant(value) for name, value in given.items() if name != "x"}
        x = tf.compat.v1.placeholder(given["x"].dtype, given["x"].shape, "x")
        try:
            y = eval(row["call"], {"tf": tf, "x": x, **known})
        except (ValueError, TypeError, tf.errors.OpError):
            return False
        for number, one in enumerate(y if isinstance(y, (list, tuple)) else [y]):
            tf.identity(one, f"y{number}")
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return True


def assert_golden(row: dict, got: np.ndarray) -> None:
    want = array(row["output"])
    assert got.shape == want.shape, f"{row['id']}: {row['call']}"
    exact = row["op"] not in ("avg_pool", "resize")
    scale = max(np.abs(want[np.isfinite(want)]).max(initial=0), 1e-3)
    np.testing.assert_allclose(got, want, rtol=0, atol=0 if exact else 2e-5 * scale, err_msg=f"{row['id']}: {row['call']}")


@pytest.mark.parametrize("file, start", parts([f"tensorflow_{family}.jsonl" for family in FAMILIES]))
def test_calls_of_tensorflow(file, start, python_module, tmp_path):
    answered = 0
    for row in rows_of(file)[start : start + ROWS]:
        path = tmp_path / "call.pb"
        if not graph_of(row, path):
            assert "error" in row or 0 in row["output"]["shape"], row["call"]  # no graph gives nothing
            continue
        try:
            got = python_module.load(path)(array(row["inputs"]["x"]))
        except python_module.Error as refused:
            # What only XLA answers is carried or refused by a sentence; what nothing answers is refused.
            assert "error" in row or row.get("run") == "xla" or isinstance(refused, python_module.Unsupported), f"{row['call']}: {refused}"
            print(f"{row['id']}: {refused}")
            continue
        assert "error" not in row, f"{row['call']} is answered, and TensorFlow says {row['error']}"
        assert_golden(row, got[0] if isinstance(got, tuple) else got)
        answered += 1
    assert answered, "none was answered"


KINDS = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "TRANSPOSE_CONV": "TransposeConvOptions", "CONV_3D": "Conv3DOptions",
         "CONV_3D_TRANSPOSE": "Conv3DOptions", "AVERAGE_POOL_2D": "Pool2DOptions", "MAX_POOL_2D": "Pool2DOptions", "PAD": "PadOptions", "PADV2": "PadV2Options",
         "MIRROR_PAD": "MirrorPadOptions", "RESIZE_BILINEAR": "ResizeBilinearOptions", "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
         "DEPTH_TO_SPACE": "DepthToSpaceOptions", "SPACE_TO_DEPTH": "SpaceToDepthOptions"}  # fmt: skip
NUMBERS = {"padding": {"SAME": 0, "VALID": 1}, "fused_activation_function": {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}}


def options_of(op: str, attrs: dict) -> dict:
    """The operator's own attributes, by the names of the schema's Python."""
    options = {"kind": KINDS[op]}
    for name, value in attrs.items():
        head, *rest = name.split("_")
        options[head + "".join(word.capitalize() for word in rest)] = NUMBERS[name][value] if isinstance(value, str) else value
    return options


def model_of(row: dict, path) -> None:
    op = row["id"].split("/")[1]
    inputs = []
    for name, said in row["inputs"].items():
        value = array(said)
        inputs.append(Tensor(str(value.dtype), value.shape, numbers=None if name == "x" else value))
    written(path, op, options_of(op, row["attrs"]), inputs, [Tensor("float32", tuple(row["output"]["shape"]))])


@pytest.mark.parametrize("file, start", parts(["tflite.jsonl"]))
def test_calls_of_tflite(file, start, python_module, tmp_path):
    for row in rows_of(file)[start : start + ROWS]:
        assert "error" not in row
        model_of(row, tmp_path / "call.tflite")
        assert_golden(row, python_module.load(tmp_path / "call.tflite")(array(row["inputs"]["x"])))
