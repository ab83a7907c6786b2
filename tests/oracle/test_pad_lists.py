"""The lines of `convoy pad --solve` and of pasted lists of cells, run in their frameworks and compared with each other."""
import json
import random
import re
import subprocess
from types import SimpleNamespace

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
import torch
from carrying import CONVOY
from keras import layers, ops
from onnx import TensorProto, helper
from torch import nn
from torch.nn import functional as F

LISTS, SOLUTIONS = 60, 60


def asked(*words):
    """The JSON of `convoy pad`, or None where it refuses."""
    done = subprocess.run([CONVOY, "pad", *words, "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 2, 6), done.stderr
    return json.loads(done.stdout) if done.returncode == 0 else None


def lines(answer):
    return {line["framework"]: line["code"] for line in answer["lines"]}


def run(code, x, names):
    """Statements, expressions and layers, one after the other, as a person would paste them."""
    scope = dict(names, x=x)
    for part in re.split(r", then |; ", code):
        if re.match(r"\w+ = ", part):
            exec(part, scope)  # noqa: S102  our own output
        else:
            value = eval(part, scope)  # noqa: S307  our own output
            scope["x"] = value(scope["x"]) if callable(value) else value
    return scope["x"]


# ---- lists ----------------------------------------------------------------------------------------------------

TO_LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
TO_FIRST = {3: (0, 2, 1), 4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}


def drawn_list(seed):
    r = random.Random(seed)
    space = r.choice([1, 2, 2, 3])
    size = [r.randint(5, 8) for _ in range(space)]
    mode = r.choice(["constant", "constant", "reflect", "replicate", "circular"])
    low = -2 if r.random() < 0.5 else 0
    cells = [(r.randint(low, 3), r.randint(low, 3)) for _ in range(space)]
    numbers = tuple(n for pair in reversed(cells) for n in pair)
    value = f", value={r.randint(-3, 3)}" if mode == "constant" and r.random() < 0.5 else ""
    return f"F.pad(x, {numbers}, mode='{mode}'{value})", size


def onnx_answer(code, x):
    """Of a line that is one Pad; None for others."""
    found = re.fullmatch(r"Pad(?: mode=(\w+))?(?: constant_value=(\S+))? pads=\[(.*)\]", code)
    if not found:
        return None
    mode, value, pads = found[1] or "constant", float(found[2] or 0), [int(n) for n in found[3].split(",")]
    node = helper.make_node("Pad", ["x", "pads", "value"], ["y"], mode=mode)
    graph = helper.make_graph(
        [node], "pad", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("pads", TensorProto.INT64, [len(pads)], pads), helper.make_tensor("value", TensorProto.FLOAT, [], [value])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


@pytest.mark.parametrize("seed", range(LISTS))
def test_every_line_of_a_list_adds_the_same_cells(seed):
    call, size = drawn_list(seed)
    x = np.arange(2 * 3 * np.prod(size), dtype=np.float32).reshape(2, 3, *size)
    answer = asked(call, "--size", "x".join(map(str, size)))
    try:
        wanted = run(call, torch.from_numpy(x), dict(F=F, nn=nn)).numpy()
    except RuntimeError:
        assert answer is None, f"{call} on {size} is refused by PyTorch"
        return
    assert answer is not None, f"{call} on {size} is not refused by PyTorch"
    said, rank = lines(answer), len(size) + 2
    last = x.transpose(TO_LAST[rank])
    names = dict(F=F, nn=nn, torch=torch, tf=tf, np=np, ops=ops, **{k: getattr(layers, k) for k in dir(layers) if "Padding" in k or "Cropping" in k})
    got = {
        "PyTorch": run(said["PyTorch"], torch.from_numpy(x), names).numpy(),
        "TensorFlow": np.asarray(run(said["TensorFlow"], tf.constant(last), names)).transpose(TO_FIRST[rank]),
        "Keras": np.asarray(run(said["Keras"], tf.constant(last), names)).transpose(TO_FIRST[rank]),
        "NumPy": run(said["NumPy"], x, names),
        "ONNX": onnx_answer(said["ONNX"], x),
    }
    for framework, y in got.items():
        if y is not None:
            assert y.shape == wanted.shape and (y == wanted).all(), f"{call} on {size}: {framework}: {said[framework]}"


# ---- solutions ------------------------------------------------------------------------------------------------


def drawn_question(seed):
    r = random.Random(seed)
    space = r.choice([1, 1, 2])
    many = lambda low, high: [r.randint(low, high) for _ in range(space)]  # noqa: E731
    transposed = r.random() < 0.4
    kernel, stride, size = many(1, 5), many(1, 3), many(7, 12)
    dilation = many(1, 3) if not transposed and r.random() < 0.4 else [1] * space
    return SimpleNamespace(space=space, transposed=transposed, kernel=kernel, stride=stride, size=size, dilation=dilation)


def torch_scope(w, q):
    def layer(make):
        def build(*arguments, **keywords):
            module = make(w.shape[0 if q.transposed else 1], w.shape[1 if q.transposed else 0], *arguments[2:], **{**keywords, "bias": False})
            module.weight.data = torch.from_numpy(w)
            return module
        return build
    made = {f"{kind}{q.space}d": layer(getattr(nn, f"{kind}{q.space}d")) for kind in ("Conv", "ConvTranspose")}
    return dict(F=F, nn=SimpleNamespace(**made), c=None, f=None)


def keras_scope(w, q):
    def layer(make):
        def build(filters, *arguments, **keywords):
            module = make(w.shape[1 if q.transposed else 0], *arguments, **{**keywords, "use_bias": False})

            def call(x):
                y = module(x)
                module.set_weights([w.transpose(*range(2, w.ndim), 1, 0)])
                y = module(x)
                return y
            return call
        return build
    made = {name: layer(getattr(layers, name)) for name in (f"Conv{q.space}D", f"Conv{q.space}DTranspose")}
    others = {name: getattr(layers, name) for name in (f"ZeroPadding{q.space}D", f"Cropping{q.space}D")}
    return dict(layers=SimpleNamespace(**made, **others), f=None)


@pytest.mark.parametrize("seed", range(SOLUTIONS))
def test_every_line_of_a_solution_gives_the_same_numbers(seed):
    q = drawn_question(seed)
    words = ["--solve", *(["--transpose"] if q.transposed else [])]
    for option, numbers in (("--kernel", q.kernel), ("--stride", q.stride), ("--dilation", q.dilation), ("--in", q.size)):
        words += [option, "x".join(map(str, numbers))]
    answer = asked(*words)
    r = np.random.RandomState(seed)
    x = r.randint(-4, 5, (2, 3, *q.size)).astype(np.float32)
    w = r.randint(-3, 4, ((3, 2, *q.kernel) if q.transposed else (2, 3, *q.kernel))).astype(np.float32)
    rank = q.space + 2
    last, kernel = x.transpose(TO_LAST[rank]), w.transpose(*range(2, rank), 1, 0)
    assert answer["solutions"]
    for solution in answer["solutions"]:
        said = lines(solution)
        wanted = run(said["PyTorch"], torch.from_numpy(x), torch_scope(w, q)).detach().numpy()
        assert list(wanted.shape[2:]) == [axis["out"] for axis in answer["axes"]], (words, said["PyTorch"])
        got = {}
        if "Keras" in said:
            got["Keras"] = np.asarray(run(said["Keras"], tf.constant(last), keras_scope(w, q)))
        if "TensorFlow" in said:
            got["TensorFlow"] = np.asarray(run(said["TensorFlow"], tf.constant(last), dict(tf=tf, w=kernel, n=2, f=2)))
        for framework, y in got.items():
            y = y.transpose(TO_FIRST[rank])
            assert y.shape == wanted.shape and (y == wanted).all(), (words, solution["meaning"], said["PyTorch"], said[framework])
