"""The element types that src/formats/onnx/write/element_types.cpp says ONNX's operators take, against ONNX's own schemas; and that
what is written for an older operator set is a model of that set, or refused with the set that it needs."""
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.defs
import pytest
from carrying import convoy, import_file, plain_session
from onnx import TensorProto, helper

ROOT = Path(__file__).parents[2]
OLDEST, NEWEST = 11, 22
SPELLED = {"float32": "float", "float64": "double"}
FLOATS = ["float16", "float32", "float64"]
WORDS, SHORTS = ["int32", "int64", "uint32", "uint64"], ["int8", "int16", "uint8", "uint16"]
GROUPS = {
    "floats": FLOATS,
    "words": WORDS,
    "shorts": SHORTS,
    "wholes": WORDS + SHORTS,
    "numbers": FLOATS + WORDS + SHORTS,
    "all": FLOATS + WORDS + SHORTS + ["bool"],
}
TYPES = [*GROUPS["all"], "bfloat16"]


def taken(words):
    """Element type -> the operator set since which it is taken."""
    since = {}
    for word in words:
        name, _, opset = word.partition("@")
        for one in GROUPS.get(name, [name]):
            assert one in TYPES and one not in since, word
            since[one] = int(opset or 1)
    return since


def rows():
    """Operator -> what its inputs and its results take, by place."""
    text = (ROOT / "src/formats/onnx/write/element_types.cpp").read_text()
    found = {}
    for fields in re.findall(r'TypeRow\{((?:\s*"[^"]*",?)+)\}', text):
        joined = re.sub(r'"\s*\n\s*"', "", fields)
        operators, inputs, results, types = re.findall(r'"([^"]*)"', joined)
        words = {m[1]: taken(m[2].split()) for m in re.finditer(r"(\w+): ([^:]*?)(?=\s+\w+:|$)", types)}
        places = [[(w.endswith("..."), words.get(w.rstrip(".")) or taken([w])) for w in side.split()] for side in (inputs, results)]
        for operator in operators.split():
            assert operator not in found, operator
            found[operator] = places
    return found


ROWS = rows()


def schema_of(operator, opset):
    try:
        schema = onnx.defs.get_schema(operator, opset, "")
    except onnx.defs.SchemaError:
        return None
    return None if schema.deprecated else schema


def allowed(schema, parameter):
    names = next((set(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == parameter.type_str), None)
    return names or {parameter.type_str}


def test_there_are_rows():
    assert len(ROWS) > 140


@pytest.mark.parametrize("operator", sorted(ROWS))
def test_a_row_says_what_the_schemas_of_all_operator_sets_allow(operator):
    assert schema_of(operator, NEWEST), "no operator that is written"
    for opset in range(OLDEST, NEWEST + 1):
        schema = schema_of(operator, opset)
        if not schema:
            continue
        for side, parameters, places in zip(("input", "result"), (schema.inputs, schema.outputs), ROWS[operator]):
            assert side == "result" or len(parameters) <= len(places), opset
            for place, (parameter, (several, since)) in enumerate(zip(parameters, places)):
                assert several == (parameter.option == onnx.defs.OpSchema.FormalParameterOption.Variadic), (side, place)
                for name in TYPES:
                    if operator == "Erf" and name not in [*FLOATS, "bfloat16"]:
                        continue  # of whole numbers until 12, of none since
                    wanted = f"tensor({SPELLED.get(name, name)})" in allowed(schema, parameter)
                    assert (since.get(name, 99) <= opset) == wanted, (opset, side, place, name)


def test_every_operator_that_is_written_has_a_row():
    """Those that no row tells of hold text, sequences or graphs, or are read alone."""
    untold = {s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""} - set(ROWS)
    said = "".join(p.read_text() for folder in ("catalogue", "write") for p in (ROOT / "src/formats/onnx" / folder).glob("*.cpp"))
    writes = r"\b(?:step|gives|last|named|steps_of|step_with|gives_with|last_with|last_of_many)\((?:[^;]*?)\"(\w+)\""
    assert untold.isdisjoint(re.findall(writes, said))


ONE = "Abs Ceil Exp Identity Neg Not Relu Sigmoid Sign Softmax ArgMax LeakyRelu Transpose Flatten BitwiseNot IsNaN Clip MaxPool CumSum Pad"
TWO = "Add Sub Mul Div Max Min Pow Mod Equal Less GreaterOrEqual And BitwiseAnd MatMul PRelu Concat BitShift Where"
REDUCED = "ReduceMax ReduceMin ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2"
EXTRA = {
    "MaxPool": {"kernel_shape": [2, 2]},
    "Concat": {"axis": 1},
    "Transpose": {"perm": [0, 1, 3, 2]},
    "BitShift": {"direction": "RIGHT"},
    "Mod": {"fmod": 1},
}


def model_of(operator, name, path):
    """One node of the newest operator set that says it, with inputs of the type; None: no set allows that."""
    kind = getattr(TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(name, name.upper()))
    inputs = {"x": (kind, ["N", 2, 4, 4])}
    constants = []
    if operator in TWO.split():
        inputs["y"] = (kind, ["N", 2, 4, 4])
    if operator == "Where":
        inputs = {"c": (TensorProto.BOOL, ["N", 2, 4, 4]), **inputs}
    if operator == "Clip":
        constants = [helper.make_tensor("low", kind, [], [1]), helper.make_tensor("high", kind, [], [3])]
    if operator == "CumSum":
        constants = [helper.make_tensor("axis", TensorProto.INT64, [], [1])]
    if operator == "Pad":
        constants = [helper.make_tensor("pads", TensorProto.INT64, [8], [0, 0, 1, 1, 0, 0, 1, 1])]
    if operator.startswith("Reduce"):
        constants = [helper.make_tensor("axes", TensorProto.INT64, [1], [2])]
    node = helper.make_node(operator, [*inputs, *(c.name for c in constants)], ["z"], "node", **EXTRA.get(operator, {}))
    values = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
    bare = helper.make_graph([node], "g", values, [onnx.ValueInfoProto(name="z")], constants)
    inferred = onnx.ModelProto(ir_version=10, opset_import=[helper.make_opsetid("", NEWEST)], graph=bare)
    try:
        inferred = onnx.shape_inference.infer_shapes(inferred, check_type=True, strict_mode=True)
        onnx.checker.check_model(inferred, full_check=True)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        return False
    onnx.save(inferred, path)
    return True


@pytest.mark.parametrize("operator", [*ONE.split(), *TWO.split(), *REDUCED.split()])
def test_a_model_is_of_the_operator_set_that_it_names_or_refused(operator, tmp_path):
    source, port = tmp_path / "source.onnx", tmp_path / "port.onnx"
    for name in TYPES:
        if not model_of(operator, name, source):
            continue
        for opset in 11, 12, 13, 17:
            done = convoy("port", source, "-o", port, "-f", "--opset", opset, code=None)
            if done.returncode == 0:
                onnx.checker.check_model(onnx.load(port), full_check=True)
                continue
            assert done.returncode == 6, (name, opset, done.stderr)
            needed = re.search(rf"needs operator set (\d+), this is {opset}: add --opset \1", done.stderr)
            if needed:
                assert int(needed[1]) > opset, (name, done.stderr)


@pytest.mark.parametrize("operator,name,opset,needed", [("Max", "int64", 11, 12), ("Relu", "int32", 13, 14), ("Add", "uint8", 13, 14),
                                                        ("MaxPool", "int8", 11, 12), ("ReduceMax", "int8", 11, 12)])  # fmt: skip
def test_the_refusal_names_operator_type_and_operator_set(operator, name, opset, needed, tmp_path):
    assert model_of(operator, name, tmp_path / "m.onnx")
    done = convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "p.onnx", "--opset", opset, code=6)
    assert f"{operator} of {name} needs operator set {needed}, this is {opset}: add --opset {needed}" in done.stderr
    convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "p.onnx", "--opset", needed)
    onnx.checker.check_model(onnx.load(tmp_path / "p.onnx"), full_check=True)


# ONNX's operators for these take no bfloat16, Celu float32 alone: they are computed in float32, and rounded once.
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("call", [
    "torch.einsum('abc,adc->abd', x, x)", "x.topk(3, 1)[0]", "x.sort(1)[0]", "F.celu(x, 0.7)", "F.hardshrink(x, 0.3)",
    "F.softshrink(x, 0.3)",
])
def test_what_onnx_has_no_operator_of_16_bits_for(call, dtype, tmp_path):
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nimport torch.nn.functional as F\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        f"        x = x.to(torch.{dtype})\n        return ({call}).float()\n"
    )
    net = import_file(file).Net()
    x = np.random.default_rng(2).standard_normal((2, 5, 3)).astype("float32")
    wanted = net(torch.from_numpy(x)).numpy()
    convoy("port", f"{file}:Net", "--shape", "2,5,3", "-o", tmp_path / "port.onnx", "--opset", 22)
    session = plain_session(tmp_path / "port.onnx")
    answer, = session.run(None, {session.get_inputs()[0].name: x})
    room = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    np.testing.assert_allclose(answer, wanted, rtol=room, atol=room)
