"""Mistakes about numbers that layers hold: kernels, biases, normalisations."""
import numpy as np

CONV, UP, DENSE = ("Conv",), ("ConvTranspose",), ("Gemm", "MatMul")
LAYERS = CONV + UP + DENSE
BN = ("BatchNormalization",)
NORMS = ("LayerNormalization", "InstanceNormalization", "GroupNormalization")
GAMMA, BETA, MEAN, VARIANCE = 1, 2, 3, 4


def changed(f, i=1):
    return lambda net, node: is_layer(net, node) and net.change(node, i, f)


def flipped(w):
    return w[(..., *[slice(None, None, -1)] * (w.ndim - 2))] if max(w.shape[2:], default=1) > 1 else None


def hw(w):
    return w.swapaxes(2, 3) if w.ndim == 4 and w.shape[2] == w.shape[3] > 1 else None


def io(w):
    return w.swapaxes(0, 1) if w.ndim > 2 and w.shape[0] == w.shape[1] > 1 else None


def reshaped(w):
    return np.moveaxis(w, (0, 1), (-1, -2)).reshape(w.shape) if w.ndim > 2 and w.shape[2] > 1 and w.shape[1] > 1 else None


def rounded(w):
    return w.astype(np.float16).astype(np.float32) if w.dtype == np.float32 and w.size > 1 else None


def noisy(w):
    if w.dtype != np.float32 or w.size < 2:
        return None
    return w + np.float32(0.1) * np.abs(w).mean() * np.random.default_rng(1).standard_normal(w.shape).astype(np.float32)


def rows_interleaved(net, node, depthwise):
    groups, w = net.get(node, "group", 1), net.constant(node, 1)
    if groups < 2 or w is None or (w.shape[1] == 1 and net.shape(node.input[0])[1] == groups) != depthwise:
        return False
    if w.shape[0] // groups < 2:
        return False
    order = np.arange(w.shape[0]).reshape(groups, -1).T.reshape(-1)
    if net.constant(node, 2) is not None and not depthwise:
        net.change(node, 2, lambda b: b[order])
    return net.set_constant(node, 1, w[order])


# ---- biases. A Gemm's and a convolution's is an input; a product's is the sum behind it.


def bias(net, node):
    """The node and the place of the layer's bias, or None."""
    if node.op_type != "MatMul":
        return (node, 2) if net.constant(node, 2) is not None else None
    if net.constant(node, 1) is None:
        return None
    added = net.only_reader(node.output[0])
    if added is None or added.op_type != "Add":
        return None
    i = 1 if added.input[0] == node.output[0] else 0
    constant = net.constant(added, i)
    return (added, i) if constant is not None and constant.ndim < 2 and constant.size == net.shape(node.output[0])[-1] else None


def with_bias(f):
    def make(net, node):
        at = bias(net, node)
        return at is not None and net.change(*at, f)

    return make


def bias_extra(net, node):
    if bias(net, node) is not None or net.constant(node, 1) is None:
        return False
    rng = np.random.default_rng(3)
    if node.op_type == "MatMul":
        shape = net.shape(node.output[0])
        return net.behind(node, "Add", [rng.standard_normal(shape[-1]).astype(np.float32)])
    channels = net.shape(node.output[0])[1]
    return net.set_constant(node, 2, rng.standard_normal(channels).astype(np.float32))


def is_layer(net, node):
    """A product with a matrix from the left, or of more than two axes, is a step that the port wrote out."""
    w = net.constant(node, 1)
    if w is None or node.op_type != "MatMul":
        return w is not None
    return w.ndim == 2 and net.shape(node.input[0])[-1] == w.shape[0] and "axis" not in node.input[1]


def exchanged_layers(net, node):
    w = net.constant(node, 1)
    if w is None or w.size < 4:
        return False
    later = False
    for other in net.graph.node:
        if other.name == node.name:
            later = True
            continue
        theirs = net.constant(other, 1) if later and other.op_type == node.op_type else None
        if theirs is None or theirs.shape != w.shape or np.array_equal(theirs, w) or theirs.dtype != w.dtype:
            continue
        node.input[1], other.input[1] = other.input[1], node.input[1]
        return [other.name]
    return False


def transposed(net, node):
    w = net.constant(node, 1)
    return w is not None and w.ndim == 2 and w.shape[0] == w.shape[1] > 1 and net.set_constant(node, 1, w.T)


# ---- normalisations


def epsilon(net, node):
    old = net.get(node, "epsilon", 1e-5)
    return net.put(node, epsilon=1e-5 if old > 1e-4 else 1e-3)


def decomposed_epsilon(net, node):
    """(x + eps) under a root."""
    added = net.maker(node.input[0])
    if added is None or added.op_type != "Add":
        return False
    for i in (0, 1):
        old = net.constant(added, i)
        if old is not None and old.size == 1 and 0 < float(old.reshape(-1)[0]) < 0.1:
            net.change(added, i, lambda e: np.full_like(e, 1e-5 if e.reshape(-1)[0] > 1e-4 else 1e-3))
            return [added.name]
    return False


def exchanged(i, j):
    def make(net, node):
        a, b = net.constant(node, i), net.constant(node, j)
        if a is None or b is None or np.array_equal(a, b) or (VARIANCE in (i, j) and min(a.min(), b.min()) <= 0):
            return False
        node.input[i], node.input[j] = node.input[j], node.input[i]
        return True

    return make


def axis(net, node):
    """Statistics over an axis that happens to be as long."""
    shape = net.shape(node.input[0])
    for other in range(2, len(shape)):
        if shape[other] != shape[1] or not net.fixed():
            continue
        perm = list(range(len(shape)))
        perm[1], perm[other] = perm[other], 1
        net.in_front(node, 0, "Transpose", perm=perm)
        return net.behind(net.graph.node[net.index(node)], "Transpose", perm=perm)
    return False


def batch_statistics(net, node):
    shape = net.shape(node.input[0])
    gamma, beta = net.constant(node, GAMMA), net.constant(node, BETA)
    if len(shape) < 2 or gamma is None or beta is None:
        return False
    over, each = [i for i in range(len(shape)) if i != 1], (-1, *[1] * (len(shape) - 2))
    at, name, x, y = net.index(node), node.name, node.input[0], node.output[0]
    eps = np.array(net.get(node, "epsilon", 1e-5), np.float32)
    v = [f"{y}_batch_{i}" for i in range(8)]
    axes = net.add_constant(np.array(over, np.int64))
    steps = [("ReduceMean", [x, axes], {"keepdims": 1}), ("Sub", [x, v[0]], {}), ("Mul", [v[1], v[1]], {}),
             ("ReduceMean", [v[2], axes], {"keepdims": 1}), ("Add", [v[3], net.add_constant(eps)], {}), ("Sqrt", [v[4]], {}),
             ("Div", [v[1], v[5]], {}), ("Mul", [v[6], net.add_constant(gamma.reshape(each))], {}),
             ("Add", [v[7], net.add_constant(beta.reshape(each))], {})]
    del net.graph.node[at]
    for i, (op, inputs, attributes) in enumerate(steps):
        net.insert(at + i, op, inputs, [v[i] if i < 8 else y], **attributes)
    net.graph.node[at + 8].name = name
    return True


def not_loaded(net, node):
    return net.change(node, MEAN, np.zeros_like) and net.change(node, VARIANCE, np.ones_like)


def initial(net, node):
    """Scale 1 and offset 0."""
    if net.constant(node, GAMMA) is None or net.constant(node, BETA) is None:
        return False
    return net.change(node, GAMMA, np.ones_like) and net.change(node, BETA, np.zeros_like)


def norm_groups(net, node):
    """GroupNormalization by another number of groups."""
    groups, channels = net.get(node, "num_groups", 1), net.shape(node.input[0])[1]
    others = [g for g in range(1, channels + 1) if channels % g == 0 and g != groups]
    return bool(others) and net.put(node, num_groups=others[0])


def norm_axes(net, node):
    """The mean and the mean of squares over other axes: every mean of the norm's chain."""
    means, scope = [], node.name.split("/")[0]
    for other in net.graph.node:
        if other.op_type == "ReduceMean" and other.name.split("/")[0] == scope and net.constant(other, 1) is not None:
            means.append(other)
    if len(means) != 2 or not any(n.op_type == "Sqrt" and n.name.split("/")[0] == scope for n in net.graph.node):
        return False
    shape, axes = net.shape(means[0].input[0]), net.constant(means[0], 1)
    if len(shape) < 3 or not all(net.get(m, "keepdims", 1) for m in means) or len(axes) != 1:
        return False
    other = np.array([1 if axes[0] % len(shape) != 1 else len(shape) - 1], np.int64)
    return all(net.set_constant(m, 1, other) for m in means)


MISTAKES = [
    ("kernel_flipped", CONV + UP, changed(flipped)),
    ("kernel_hw_swapped", CONV + UP, changed(hw)),
    ("kernel_not_transposed", CONV, changed(reshaped)),
    ("channels_swapped", CONV + UP, changed(io)),
    ("depthwise_order", CONV, lambda net, node: rows_interleaved(net, node, True)),
    ("group_order", CONV, lambda net, node: rows_interleaved(net, node, False)),
    ("bias_missing", LAYERS, with_bias(np.zeros_like)),
    ("bias_doubled", LAYERS, with_bias(lambda b: b * 2)),
    ("bias_extra", LAYERS, bias_extra),
    ("weights_rounded", LAYERS, changed(rounded)),
    ("weights_differ", LAYERS, changed(noisy)),
    ("weights_exchanged", LAYERS, exchanged_layers),
    ("dense_transposed", DENSE, transposed),
    ("bn_eps", BN, epsilon),
    ("bn_axis", BN, axis),
    ("bn_mean_var_swapped", BN, exchanged(MEAN, VARIANCE)),
    ("bn_gamma_beta_swapped", BN, exchanged(GAMMA, BETA)),
    ("bn_batch_statistics", BN, batch_statistics),
    ("bn_variance_is_deviation", BN, changed(np.sqrt, VARIANCE)),
    ("statistics_not_loaded", BN, not_loaded),
    ("weights_not_loaded", BN + NORMS, initial),
    ("norm_eps", NORMS, epsilon),
    ("norm_eps", ("Sqrt",), decomposed_epsilon),
    ("norm_groups", ("GroupNormalization",), norm_groups),
    ("norm_axes", ("Sqrt",), norm_axes),
]
