"""How well does `convoy diff` name faults? Writes one known mistake, or two, into ONNX files and asks.

mutate.py CONVOY FOLDER... [--count 1000] [--seed 0] [--pairs SHARE] [--show]

Every FOLDER holds models as folders with `model.onnx` (tests/data/corpus/onnx, the shared corpora). A random model gets a
random mistake at a random node; ONNX Runtime says whether the outputs change at all, and mutations that change nothing are
counted apart. Prints, per cause, how often the layer was found, the cause named, and another one claimed. A cause counts as
named where it stands first or under `also` of the right layer: those give the same numbers.
"""
import argparse
import copy
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def put(node, name, value):
    for i, a in enumerate(node.attribute):
        if a.name == name:
            del node.attribute[i]
            break
    node.attribute.append(helper.make_attribute(name, value))


def weight(model, node, i):
    if len(node.input) <= i:
        return None
    return next((t for t in model.graph.initializer if t.name == node.input[i]), None)


def change(model, node, i, f):
    tensor = weight(model, node, i)
    array = f(numpy_helper.to_array(tensor))
    if array is None:
        return False
    new = numpy_helper.from_array(np.ascontiguousarray(array), f"mutated_{node.input[i]}_{random.randrange(1 << 30)}")
    model.graph.initializer.append(new)
    node.input[i] = new.name
    return True


def kernel(model, node):
    return numpy_helper.to_array(weight(model, node, 1)) if weight(model, node, 1) is not None else None


def explicit(node):
    return attributes(node).get("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID")


def space(node, model):
    k = kernel(model, node)
    return k.ndim - 2 if k is not None else len(attributes(node).get("kernel_shape", []))


def pads(node, model):
    return list(attributes(node).get("pads", [0] * 2 * space(node, model)))


# ---- mistakes: (cause, operators, function that makes it and says whether it could) --------------------------------------


def pad_missing(model, node):
    if not explicit(node) or not any(pads(node, model)):
        return False
    if node.op_type != "Conv" and not any(pads(node, model)[: space(node, model)]):
        return False
    put(node, "pads", [0] * 2 * space(node, model))
    return True


def odd_cell(model, node):
    p, n = pads(node, model), space(node, model)
    if not explicit(node) or p[:n] == p[n:]:
        return False
    put(node, "pads", p[n:] + p[:n])
    return True


def pads_swapped(model, node):
    p = pads(node, model)
    if not explicit(node) or len(p) != 4 or p[0::2] == p[1::2]:
        return False
    put(node, "pads", [p[1], p[0], p[3], p[2]])
    return True


def strides_swapped(model, node):
    s = list(attributes(node).get("strides", [1, 1]))
    if len(s) != 2 or s[0] == s[1]:
        return False
    put(node, "strides", s[::-1])
    return True


def stride(model, node):
    s = list(attributes(node).get("strides", [1] * space(node, model)))
    put(node, "strides", [1 if n > 1 else 2 for n in s])
    return explicit(node)


def dilation(model, node):
    d = list(attributes(node).get("dilations", [1] * space(node, model)))
    if max(d) == 1 or not explicit(node):
        return False
    put(node, "dilations", [1] * len(d))
    return True


def flipped(model, node):
    return change(model, node, 1, lambda w: w[(..., *[slice(None, None, -1)] * (w.ndim - 2))] if max(w.shape[2:], default=1) > 1 else None)


def hw(model, node):
    return change(model, node, 1, lambda w: w.swapaxes(2, 3) if w.ndim == 4 and w.shape[2] == w.shape[3] > 1 else None)


def io(model, node):
    return change(model, node, 1, lambda w: w.swapaxes(0, 1) if w.shape[0] == w.shape[1] > 1 and w.ndim > 2 else None)


def reshaped(model, node):
    return change(model, node, 1, lambda w: np.moveaxis(w, (0, 1), (-1, -2)).reshape(w.shape) if w.ndim > 2 and w.shape[2] > 1 and w.shape[1] > 1 else None)


def depthwise(model, node):
    g = attributes(node).get("group", 1)
    return change(model, node, 1, lambda w: w.reshape(g, -1, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape) if g > 1 and w.shape[1] == 1 and w.shape[0] > g else None)


def bias_missing(model, node):
    if len(node.input) < 3 or not node.input[2]:
        return False
    return change(model, node, 2, np.zeros_like)


def bias_doubled(model, node):
    return weight(model, node, 2) is not None and change(model, node, 2, lambda b: b * 2)


def rounded(model, node):
    return change(model, node, 1, lambda w: w.astype(np.float16).astype(np.float32) if w.dtype == np.float32 else None)


def differ(model, node):
    return change(model, node, 1, lambda w: w + np.float32(0.01) * np.random.default_rng(1).standard_normal(w.shape).astype(np.float32))


def eps(model, node):
    old = attributes(node).get("epsilon", 1e-5)
    put(node, "epsilon", 1e-5 if old > 1e-4 else 1e-3)
    return True


def exchanged(i, j):
    def f(model, node):
        node.input[i], node.input[j] = node.input[j], node.input[i]
        return True
    return f


def not_loaded(model, node):
    return change(model, node, 3, np.zeros_like) and change(model, node, 4, np.ones_like)


def deviation(model, node):
    return change(model, node, 4, np.sqrt)


def kind(op):
    def f(model, node):
        if node.op_type == op:
            return False
        del node.attribute[:]
        del node.input[1:]
        node.op_type = op
        return True
    return f


def slope(model, node):
    put(node, "alpha", 0.2 if abs(attributes(node).get("alpha", 0.01) - 0.01) < 1e-6 else 0.01)
    return True


def missing(model, node):
    del node.attribute[:]
    del node.input[1:]
    node.op_type = "Identity"
    return True


def extra(model, node):
    out = node.output[0]
    node.output[0] = out + "_before"
    at = list(model.graph.node).index(node)
    model.graph.node.insert(at + 1, helper.make_node("Relu", [out + "_before"], [out], name=f"extra_{at}"))
    return True


def softmax_axis(model, node):
    axis = attributes(node).get("axis", -1)
    put(node, "axis", 1 if axis in (-1, 2, 3) else 2)
    return True


def concat(model, node):
    if len(node.input) != 2 or node.input[0] == node.input[1]:
        return False
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


def divisor(model, node):
    if not any(pads(node, model)) and explicit(node):
        return False
    put(node, "count_include_pad", 1 - attributes(node).get("count_include_pad", 0))
    return True


def pool_kind(model, node):
    if len(node.output) > 1:
        return False
    for name in ("count_include_pad", "storage_order", "dilations"):
        for i, a in enumerate(node.attribute):
            if a.name == name:
                del node.attribute[i]
                break
    node.op_type = "MaxPool" if node.op_type == "AveragePool" else "AveragePool"
    return True


def ceil(model, node):
    put(node, "ceil_mode", 1 - attributes(node).get("ceil_mode", 0))
    return explicit(node)


def mode(model, node):
    old = attributes(node).get("mode", b"constant")
    put(node, "mode", "edge" if old != b"edge" else "reflect")
    return True


def shifted(model, node):
    p, n = pads(node, model), space(node, model)
    if not explicit(node) or "output_shape" in attributes(node) or p[:n] == p[n:]:
        return False
    put(node, "pads", p[n:] + p[:n])
    return True


def shuffle(model, node):
    put(node, "mode", "DCR" if attributes(node).get("mode", b"DCR") == b"CRD" else "CRD")
    return True


def transposed(model, node):
    w = kernel(model, node)
    return w is not None and w.ndim == 2 and w.shape[0] == w.shape[1] and change(model, node, 1, lambda x: x.T)


def corners(model, node):
    old = attributes(node).get("coordinate_transformation_mode", b"half_pixel")
    if attributes(node).get("mode", b"nearest") == b"nearest":
        return False
    put(node, "coordinate_transformation_mode", "half_pixel" if old == b"align_corners" else "align_corners")
    return True


ACTIVATIONS = ("Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Selu", "Softplus", "HardSigmoid", "Softsign", "HardSwish")
MISTAKES = [
    ("pad_missing", ("Conv", "AveragePool"), pad_missing),
    ("odd_cell_on_the_other_side", ("Conv", "MaxPool", "AveragePool"), odd_cell),
    ("pads_hw_swapped", ("Conv", "MaxPool", "AveragePool"), pads_swapped),
    ("strides_swapped", ("Conv", "MaxPool", "AveragePool"), strides_swapped),
    ("stride", ("Conv",), stride),
    ("dilation", ("Conv",), dilation),
    ("kernel_flipped", ("Conv", "ConvTranspose"), flipped),
    ("kernel_hw_swapped", ("Conv", "ConvTranspose"), hw),
    ("channels_swapped", ("Conv", "ConvTranspose"), io),
    ("kernel_not_transposed", ("Conv",), reshaped),
    ("depthwise_order", ("Conv",), depthwise),
    ("bias_missing", ("Conv", "ConvTranspose", "Gemm"), bias_missing),
    ("bias_doubled", ("Conv", "ConvTranspose", "Gemm"), bias_doubled),
    ("weights_rounded", ("Conv", "ConvTranspose", "Gemm"), rounded),
    ("weights_differ", ("Conv", "ConvTranspose", "Gemm"), differ),
    ("bn_eps", ("BatchNormalization",), eps),
    ("norm_eps", ("LayerNormalization", "InstanceNormalization", "GroupNormalization"), eps),
    ("bn_gamma_beta_swapped", ("BatchNormalization",), exchanged(1, 2)),
    ("statistics_not_loaded", ("BatchNormalization",), not_loaded),
    ("bn_variance_is_deviation", ("BatchNormalization",), deviation),
    ("activation_kind", ACTIVATIONS, kind("Tanh")),
    ("activation_missing", ACTIVATIONS, missing),
    ("activation_slope", ("LeakyRelu",), slope),
    ("activation_extra", ("Conv", "BatchNormalization", "Add", "Gemm"), extra),
    ("softmax_axis", ("Softmax",), softmax_axis),
    ("concat_order", ("Concat",), concat),
    ("pool_divisor", ("AveragePool",), divisor),
    ("pool_kind", ("AveragePool", "MaxPool"), pool_kind),
    ("ceil_mode", ("MaxPool", "AveragePool"), ceil),
    ("pad_mode", ("Pad",), mode),
    ("transposed_shifted", ("ConvTranspose",), shifted),
    ("depth_to_space_order", ("DepthToSpace",), shuffle),
    ("dense_transposed", ("Gemm", "MatMul"), transposed),
    ("align_corners", ("Resize",), corners),
]


def outputs(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    random_numbers = np.random.default_rng(0)
    feed = {}
    for one in session.get_inputs():
        shape = [n if isinstance(n, int) else (2 if i == 0 else 8 + i) for i, n in enumerate(one.shape)]
        if one.type != "tensor(float)":
            raise ValueError("not a picture")
        feed[one.name] = random_numbers.standard_normal(shape).astype(np.float32) * 3
    return session.run(None, feed)


def differs(a, b):
    return any(x.shape != y.shape or not np.allclose(x, y, 1e-4, 1e-5, equal_nan=True) for x, y in zip(a, b))


def mutate(model, count):
    changed = copy.deepcopy(model)
    made = []
    for node in changed.graph.node:  # names by which the answer is judged
        node.name = node.name or f"node_{node.output[0]}"
    for _ in range(60):
        cause, kinds, make = random.choice(MISTAKES)
        taken = [name for name, _ in made]
        nodes = [n for n in changed.graph.node if n.op_type in kinds and n.name not in taken and not n.name.startswith("extra_")]
        if not nodes:
            continue
        node = random.choice(nodes)
        before = copy.deepcopy(changed)
        name = node.name
        try:
            done = make(changed, node)
            onnx.checker.check_model(changed)
        except Exception:
            done = False
        if not done:
            changed = before
            continue
        made.append((name, cause))
        if len(made) == count:
            return changed, made
    return None, made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("convoy")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", type=float, default=0.2)
    parser.add_argument("--across", action="store_true", help="compare with model.keras or model.pt2 where there is one")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    random.seed(options.seed)
    files = sorted(f for folder in options.folders for f in Path(folder).glob("*/model.onnx"))
    counts, silent, refused, wrong_claims = Counter(), 0, 0, 0
    per_cause = {}
    with tempfile.TemporaryDirectory() as folder:
        a, b = Path(folder) / "a.onnx", Path(folder) / "b.onnx"
        for _ in range(options.count * 20):
            if counts["asked"] >= options.count:
                break
            file = random.choice(files)
            try:
                model = onnx.load(file)
                for node in model.graph.node:
                    node.name = node.name or f"node_{node.output[0]}"
                changed, made = mutate(model, 2 if random.random() < options.pairs else 1)
                if changed is None:
                    continue
                if not differs(outputs(model), outputs(changed)):
                    silent += 1
                    continue
            except Exception:
                continue
            onnx.save(model, a)
            onnx.save(changed, b)
            other = next((f for f in (file.parent / "model.keras", file.parent / "model.pt2") if f.exists()), None)
            original = other if options.across and other else a
            done = subprocess.run([options.convoy, "diff", str(original), str(b), "--json"], capture_output=True, text=True, timeout=120)
            if done.returncode not in (0, 1):
                refused += 1
                if done.returncode == 70 or options.show:
                    print("refused", file.parent.name, made, done.stderr.strip()[:160])
                continue
            found = json.loads(done.stdout)["differences"]
            counts["asked"] += 1
            order = [n.name for n in model.graph.node]
            made.sort(key=lambda m: order.index(m[0]))
            # The names of b are those of the nodes that were changed, whatever a is.
            layer = bool(found) and found[0]["b"] == made[0][0]
            cause = layer and any(made[0][1] in [d["cause"], *d["also"]] for d in found if d["b"] == made[0][0])
            everything = cause and all(any(m[1] in [d["cause"], *d["also"]] for d in found if d["b"] == m[0]) for m in made)
            claimed = bool(found) and found[0]["cause"] != "unknown" and not cause
            counts["layer"] += layer
            counts["cause"] += cause
            counts["all"] += everything
            wrong_claims += claimed
            row = per_cause.setdefault(made[0][1], Counter())
            row["asked"] += 1
            row["layer"] += layer
            row["cause"] += cause
            row["claimed"] += claimed
            if options.show and not everything:
                print(file.parent.name, made, "->", [(d["a"], d["b"], d["cause"], d["also"]) for d in found])
    print(f"{'first mistake':<28} asked  layer  cause  another claimed")
    for cause, row in sorted(per_cause.items()):
        print(f"{cause:<28} {row['asked']:>5}  {row['layer']:>5}  {row['cause']:>5}  {row['claimed']:>5}")
    n = max(counts["asked"], 1)
    print(f"{counts['asked']} asked: layer {counts['layer'] / n:.1%}, cause {counts['cause'] / n:.1%}, all of them {counts['all'] / n:.1%}, "
          f"another cause claimed {wrong_claims / n:.1%}; {silent} change nothing, {refused} refused")
    return 0 if counts["asked"] else 1


if __name__ == "__main__":
    sys.exit(main())
