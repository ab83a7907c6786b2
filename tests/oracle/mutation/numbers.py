"""Faults in the numbers of one tensor: a single one, two rows or columns exchanged, all rounded; in every operator that holds
weights, however many products hide them."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

HOLDERS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "BatchNormalization", "LayerNormalization", "InstanceNormalization",
           "GroupNormalization", "PRelu", "Gather", "LSTM", "GRU", "RNN", "Add", "Mul")


def held(net, node):
    """The inputs of a node that are weights."""
    found = []
    for i in range(len(node.input)):
        w = net.constant(node, i)
        if w is not None and w.dtype == np.float32 and w.size > 1 and np.any(w):
            found.append(i)
    return found


def one_number(w, choose):
    at = tuple(choose.randrange(n) for n in w.shape)
    out = w.copy()
    size = np.abs(w).mean() or 1
    out[at] += np.float32(size * choose.choice([1, 0.1, 0.01]))
    return out


def exchanged(w, axis, choose):
    if w.ndim <= axis or w.shape[axis] < 2:
        return None
    x, y = choose.sample(range(w.shape[axis]), 2)
    out = w.copy()
    first, second = [slice(None)] * w.ndim, [slice(None)] * w.ndim
    first[axis], second[axis] = x, y
    out[tuple(first)], out[tuple(second)] = w[tuple(second)], w[tuple(first)]
    return out


def rounded(w, choose):
    if choose.random() < 0.5:
        return w.astype(np.float16).astype(np.float32)
    return (w.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)  # bfloat16, toward zero


FAULTS = [
    ("one_number", one_number),
    ("rows", lambda w, choose: exchanged(w, 0, choose)),
    ("columns", lambda w, choose: exchanged(w, w.ndim - 1 if w.ndim < 3 else 1, choose)),
    ("rounded", rounded),
]


def is_same_sum(old, new):
    half = old.shape[-1] // 2
    return np.array_equal(old[..., :half] + old[..., half:], new[..., :half] + new[..., half:])


def written(net, node, fault, choose):
    """The model with the fault in one tensor of the node; None where there is no place for it."""
    inputs = held(net, node)
    choose.shuffle(inputs)
    for i in inputs:
        old = net.constant(node, i)
        new = fault(old, choose)
        if new is not None and node.op_type in ("LSTM", "RNN") and i == 3 and is_same_sum(old, new):
            continue  # two biases that are added, exchanged
        if new is None or np.array_equal(new, old) or not np.all(np.isfinite(new)):
            continue
        if node.op_type == "BatchNormalization" and i == 4 and new.min() <= 0:
            continue
        changed = net.copy()
        changed.set_constant(next(n for n in changed.graph.node if n.name == node.name), i, new)
        return changed
    return None


def wide_models(folder, seed=0):
    """Models whose layers hide one number behind up to 100,000 products, as folders with model.onnx."""
    random = np.random.default_rng(seed)

    def tensor(name, *shape):
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) * np.float32(0.1), name)

    def save(name, nodes, weights, x, y, dtype=onnx.TensorProto.FLOAT):
        for i, node in enumerate(nodes):
            node.name = f"{node.op_type.lower()}_{i}"
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", dtype, x)],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, y)], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (folder / name).mkdir(parents=True)
        onnx.save(model, folder / name / "model.onnx")

    for k, out in ((2000, 5), (20000, 3), (65536, 3), (100000, 2)):
        save(f"dense_{k}", [helper.make_node("Gemm", ["x", "w", "c"], ["h"], transB=1), helper.make_node("Relu", ["h"], ["y"])],
             [tensor("w", out, k), tensor("c", out)], [1, k], [1, out])
    for channels in (1000, 11111):
        save(f"conv_{channels}", [helper.make_node("Conv", ["x", "w", "c"], ["h"], kernel_shape=[3, 3]),
                                  helper.make_node("BatchNormalization", ["h", "g", "b", "m", "v"], ["n"]),
                                  helper.make_node("Relu", ["n"], ["y"])],
             [tensor("w", 3, channels, 3, 3), *(tensor(n, 3) for n in "cgbm"), numpy_helper.from_array(np.float32([.5, 1.25, 2]), "v")],
             [1, channels, 4, 5], [1, 3, 2, 3])
    for rows in (300, 30000):
        save(f"table_{rows}", [helper.make_node("Gather", ["t", "x"], ["e"]), helper.make_node("MatMul", ["e", "w"], ["y"])],
             [tensor("t", rows, 6), tensor("w", 6, 4)], [1, 5], [1, 5, 4], onnx.TensorProto.INT64)
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        more = {"linear_before_reset": 1} if kind == "GRU" else {}
        save(kind.lower(), [helper.make_node(kind, ["x", "w", "r", "c"], ["h"], hidden_size=7, **more),
                            helper.make_node("Squeeze", ["h", "axis"], ["s"]), helper.make_node("MatMul", ["s", "o"], ["y"])],
             [tensor("w", 1, gates * 7, 5), tensor("r", 1, gates * 7, 7), tensor("c", 1, gates * 14), tensor("o", 7, 3),
              numpy_helper.from_array(np.int64([1]), "axis")], [6, 1, 5], [6, 1, 3])
    save("norms", [helper.make_node("Conv", ["x", "w"], ["h"], group=3, kernel_shape=[3, 2]), helper.make_node("PRelu", ["h", "s"], ["p"]),
                   helper.make_node("LayerNormalization", ["p", "g", "b"], ["n"], axis=-1),
                   helper.make_node("InstanceNormalization", ["n", "i", "j"], ["q"]),
                   helper.make_node("ConvTranspose", ["q", "u", "d"], ["y"], strides=[2, 1])],
         [tensor("w", 6, 2, 3, 2), tensor("s", 6, 1, 1), tensor("g", 9), tensor("b", 9), tensor("i", 6), tensor("j", 6), tensor("u", 6, 4, 3, 2), tensor("d", 4)],
         [1, 6, 8, 10], [1, 4, 13, 10])
