"""The numbers that TFLite's reader and writer know (operators, kinds and fields of options, element types, enumerations) against
the ones that TensorFlow generated from schema.fbs, and running sums, whose options were once filed under another operator's."""
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from carrying import convoy, run_natively
from test_tflite_written import runner

schema = pytest.importorskip("tensorflow.lite.python.schema_py_generated")
SOURCE = Path(schema.__file__).read_text()
# Operators whose options have another name than they.
SHARED = {"MAX_POOL_2D": "Pool2D", "AVERAGE_POOL_2D": "Pool2D", "L2_POOL_2D": "Pool2D", "CONV_3D_TRANSPOSE": "Conv3D",
          "L2_NORMALIZATION": "L2Norm", "MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "MEAN": "Reducer",
          "SUM": "Reducer", "REDUCE_MAX": "Reducer", "REDUCE_MIN": "Reducer", "REDUCE_PROD": "Reducer", "REDUCE_ANY": "Reducer",
          "REDUCE_ALL": "Reducer", "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNN"}
WIDTHS = {"Int8": "b", "Bool": "b", "Int32": "i", "Float32": "f", "UOffsetTRelative": "I"}


def lines() -> list[list[str]]:
    program = Path(__file__).parents[2] / "build" / "release" / "schemas"
    out = subprocess.run([program, "tflite"], check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def members(enumeration: str) -> dict[str, int]:
    return {k: v for k, v in vars(getattr(schema, enumeration)).items() if isinstance(v, int)}


def fields(table: str) -> list[tuple[str, str, str]]:
    """Name, width and value of an absent one, by the number of the field; a deprecated field is left empty."""
    body = SOURCE[SOURCE.index(f"\ndef {table}Start("):SOURCE.index(f"\ndef {table}End(")]
    count = int(re.search(r"StartObject\((\d+)\)", body)[1])
    all_fields = [("-", "-", "0")] * count
    for width, number, name, absent in re.findall(
        r"Prepend(\w+)Slot\((\d+), (?:flatbuffers\.number_types\.UOffsetTFlags\.py_type\()?(\w+)\)?, ([-\w.]+)\)", body
    ):
        all_fields[int(number)] = (re.sub(r"([A-Z])", r"_\1", name).lower(), WIDTHS[width], absent)
    return all_fields


OPERATORS = [line for line in lines() if line[0] == "operator"]


@pytest.mark.parametrize("row", OPERATORS, ids=[row[2] for row in OPERATORS])
def test_operator_is_the_schemas(row):
    _, code, name, *options = row
    assert members("BuiltinOperator").get(name) == int(code)
    if not options:
        return
    kind, words = options
    kinds = members("BuiltinOptions")
    by_name = {k.upper(): v for k, v in kinds.items()}
    wanted = (SHARED.get(name, name.replace("_", "")) + "Options").upper()
    assert int(kind) == by_name.get(wanted, 0), f"options are of kind {by_name.get(wanted, 0)}"
    if int(kind) == 0:
        return
    known = fields(next(k for k, v in kinds.items() if v == int(kind)))
    ours = [re.fullmatch(r"(-)|(\w+):(\w)(?:=(\d+))?", word).groups() for word in words.split()]
    assert [o[1] or "-" for o in ours] == [k[0] for k in known]
    assert [o[2] or "-" for o in ours] == [k[1] for k in known]
    assert [float(o[3] or 0) for o in ours] == [float(k[2]) for k in known]


def test_element_types_and_words_are_the_schemas():
    types, seen = members("TensorType"), set()
    for table, number, name, *_ in lines():
        seen.add(table)
        if table == "type":
            assert types[name.upper()] == int(number), name
        elif table not in ("operator", "takes"):  # `takes` is asked of the interpreter: test_tflite_types.py
            assert members(table)[name] == int(number), (table, name)
    assert seen == {"operator", "takes", "type", "Padding", "ActivationFunctionType", "MirrorPadMode"}


FLAGS = [(exclusive, reverse) for exclusive in (False, True) for reverse in (False, True)]


@pytest.mark.parametrize("exclusive, reverse", FLAGS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_running_sum_of_onnx_in_the_interpreter(exclusive, reverse, dtype, tmp_path):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    kind = getattr(onnx.TensorProto, dtype.replace("float32", "float").upper())
    node = onnx.helper.make_node("CumSum", ["x", "axis"], ["y"], exclusive=int(exclusive), reverse=int(reverse))
    sides = [[onnx.helper.make_tensor_value_info(name, kind, [2, 5])] for name in "xy"]
    axis = onnx.numpy_helper.from_array(np.int32(1), "axis")
    graph = onnx.helper.make_graph([node], "running", *sides, [axis])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    x = np.arange(3, 13).reshape(2, 5).astype(dtype)
    want = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    report = json.loads(convoy("port", tmp_path / "model.onnx", "-o", tmp_path / "model.tflite", "--json").stdout)
    for plain in (True, False):
        given = runner(tmp_path / "model.tflite", plain)(**{report["inputs"][0]["name"]: x})
        assert np.array_equal(given[report["outputs"][0]["name"]], want)


@pytest.mark.parametrize("exclusive, reverse", FLAGS)
def test_running_sum_of_tensorflows_converter_is_read(exclusive, reverse, tmp_path):
    import tensorflow as tf

    function = tf.function(lambda x: tf.cumsum(x, 1, exclusive=exclusive, reverse=reverse))
    concrete = function.get_concrete_function(tf.TensorSpec([2, 5], tf.float32, "x"))
    path = tmp_path / "model.tflite"
    path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())
    x = np.arange(3, 13).reshape(2, 5).astype(np.float32)
    [got] = run_natively([path], {"x": x}, tmp_path)
    assert np.array_equal(got, function(x))
