"""Mistakes about functions of one number, and about the order of layers."""
import numpy as np

FUNCTIONS = ("Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Selu", "Softplus", "HardSigmoid", "Softsign", "HardSwish", "Gelu", "PRelu")
MONOTONE = ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "Clip", "Elu", "Softplus")


def kind(net, node):
    choices = [op for op in ("Tanh", "Relu", "Sigmoid") if op != node.op_type]
    return net.become(node, choices[len(node.name) % len(choices)])


def missing(net, node):
    return net.remove(node)


def extra(net, node):
    added = net.only_reader(node.output[0])
    if node.op_type == "MatMul" and added is not None and added.op_type == "Add":
        return False  # the layer's bias comes behind it
    if any(r.op_type in ("Relu", "Clip", "Sigmoid") for r in net.readers(node.output[0])):
        return False
    return net.behind(node, ("Relu", "Tanh")[len(node.name) % 2])


def slope(net, node):
    if node.op_type == "PRelu":
        return net.change(node, 1, lambda a: np.full_like(a, 0.25) if not np.allclose(a, 0.25) else np.full_like(a, 0.1))
    return net.put(node, alpha=0.2 if abs(net.get(node, "alpha", 0.01) - 0.01) < 1e-6 else 0.01)


def limit(net, node):
    if node.op_type == "Relu":
        node.op_type = "Clip"
        node.input.extend([net.add_constant(np.array(0, np.float32)), net.add_constant(np.array(6, np.float32))])
        return True
    low, high = net.constant(node, 1), net.constant(node, 2)
    if high is None or low is None or float(low) != 0:
        return False
    return net.become(node, "Relu")


def variant(net, node):
    if node.op_type == "Gelu":
        return net.put(node, approximate="none" if net.get(node, "approximate", b"none") == b"tanh" else "tanh")
    return net.put(node, alpha=0.2 if net.get(node, "alpha", 0.2) < 0.19 else 1 / 6, beta=0.5)


def order(net, node):
    """The function moved in front of the layer that it reads, or the sum that it reads."""
    before = net.maker(node.input[0])
    if before is None or net.only_reader(before.output[0]) is None or len(node.input) > 1:
        return False
    if before.op_type not in ("BatchNormalization", "Add", "AveragePool"):
        return False
    reader = before.name
    at, op, attributes = net.index(before), node.op_type, {a.name: net.get(node, a.name) for a in node.attribute}
    name = before.input[0]
    if any(t.name == name for t in net.graph.initializer) or (before.op_type == "Add" and net.constant(before, 1) is not None):
        return False
    net.remove(node)
    return net.in_front(net.graph.node[at], 0, op, **attributes) and [reader]


def softmax_axis(net, node):
    shape = net.shape(node.input[0])
    axis = net.get(node, "axis", -1) % len(shape)
    choices = [i for i in range(1, len(shape)) if i != axis]
    return bool(choices) and net.put(node, axis=choices[len(node.name) % len(choices)])


MISTAKES = [
    ("activation_kind", FUNCTIONS, kind),
    ("activation_missing", FUNCTIONS + ("Clip", "Softmax"), missing),
    ("activation_extra", ("Conv", "BatchNormalization", "Add", "Gemm", "ConvTranspose", "MatMul"), extra),
    ("activation_slope", ("LeakyRelu", "PRelu", "Elu"), slope),
    ("activation_limit", ("Relu", "Clip"), limit),
    ("activation_variant", ("Gelu", "HardSigmoid"), variant),
    ("order_of_layers", MONOTONE, order),
    ("softmax_axis", ("Softmax", "LogSoftmax"), softmax_axis),
]
