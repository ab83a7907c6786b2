"""Mistakes of quantisation, written into QuantizeLinear, DequantizeLinear and the whole numbers of weights."""
import numpy as np


def steps_of(net, node):
    """The scale and zero point of a rounding with one scale; None: it has none or several."""
    if len(node.input) < 3:
        return None
    scale, zero = net.constant(node, 1), net.constant(node, 2)
    if scale is None or zero is None or scale.size != 1 or zero.dtype not in (np.uint8, np.int8):
        return None
    return scale, zero


def undone_by(net, node):
    """The DequantizeLinear nodes behind a rounding; None: something else reads the whole numbers."""
    readers = net.readers(node.output[0])
    return readers if readers and all(r.op_type == "DequantizeLinear" for r in readers) and not net.is_output(node.output[0]) else None


def both(net, node, scale=None, zero=None):
    """Another scale or zero point, of the rounding and of what undoes it."""
    back = undone_by(net, node)
    if back is None:
        return False
    for one in [node, *back]:
        if scale is not None:
            net.set_constant(one, 1, np.asarray(scale, np.float32).reshape(net.constant(one, 1).shape))
        if zero is not None:
            net.set_constant(one, 2, np.asarray(zero).astype(net.constant(one, 2).dtype).reshape(net.constant(one, 2).shape))
    return [one.name for one in back]


def of_another(net, node, what):
    own = steps_of(net, node)
    for other in net.graph.node:
        steps = steps_of(net, other) if other.op_type == "QuantizeLinear" and other.name != node.name else None
        if own is None or steps is None or steps[1].dtype != own[1].dtype or steps[what] == own[what]:
            continue
        if what == 0 and abs(steps[0] / own[0] - 1) < 0.05:
            continue
        return both(net, node, *(steps if what == 0 else (None, steps[1])))
    return False


def symmetric(net, node):
    own = steps_of(net, node)
    if own is None:
        return False
    (scale, zero), low = own, -128 if own[1].dtype == np.int8 else 0
    middle = low + 128
    if abs(int(zero) - middle) < 4:
        return False
    return both(net, node, scale * max(int(zero) - low, low + 255 - int(zero)) / 127, middle)


def saturates(net, node):
    own = steps_of(net, node)
    return own is not None and both(net, node, own[0] * 0.4)


def zero_point(net, node):
    own = steps_of(net, node)
    return own is not None and both(net, node, None, int(own[1]) + (5 if int(own[1]) < 100 else -5))


def zero_of_widening(net, node):
    own = steps_of(net, node)
    return own is not None and net.set_constant(node, 2, np.asarray(int(own[1]) + (6 if int(own[1]) < 100 else -6)).astype(own[1].dtype))


def missing(net, node):
    back = undone_by(net, node)
    if steps_of(net, node) is None or back is None or any(net.is_output(one.output[0]) for one in back):
        return False
    for one in back:
        for reader in net.readers(one.output[0]):
            for i, name in enumerate(reader.input):
                if name == one.output[0]:
                    reader.input[i] = node.input[0]
    return [one.name for one in back] + [r.name for one in back for r in net.readers(node.input[0])]


def weights_of(net, node):
    """Whole numbers, scales and the axis of weights; None: it widens something else, or has one scale."""
    whole, scale = net.constant(node, 0), net.constant(node, 1)
    if whole is None or scale is None or whole.dtype not in (np.int8, np.uint8) or whole.ndim < 2:
        return None
    axis = net.get(node, "axis", 1)
    return whole, scale, axis % whole.ndim


def layers_behind(net, node):
    return [r.name for r in net.readers(node.output[0])]


def per_tensor(net, node):
    found = weights_of(net, node)
    if found is None or found[1].size < 2 or found[0].dtype != np.int8:
        return False
    whole, scale, axis = found
    shape = [1] * whole.ndim
    shape[axis] = -1
    real = whole.astype(np.float32) * scale.reshape(shape)
    step = np.abs(real).max() / 127
    net.set_constant(node, 0, np.round(real / step).astype(np.int8))
    net.set_constant(node, 1, np.full_like(scale, step))
    return layers_behind(net, node)


def twice(net, node):
    found = weights_of(net, node)
    if found is None:
        return False
    whole = found[0]
    low, high = np.iinfo(whole.dtype).min, np.iinfo(whole.dtype).max
    moved = whole.astype(int) + np.random.default_rng(3).integers(0, 2, whole.shape)
    net.set_constant(node, 0, np.clip(moved, low, high).astype(whole.dtype))
    return layers_behind(net, node)


MISTAKES = [
    ("quant_steps_of_another", ["QuantizeLinear"], lambda net, node: of_another(net, node, 0)),
    ("quant_steps_of_another", ["QuantizeLinear"], lambda net, node: of_another(net, node, 1)),
    ("quant_symmetric", ["QuantizeLinear"], symmetric),
    ("quant_saturates", ["QuantizeLinear"], saturates),
    ("quant_zero_point", ["QuantizeLinear"], zero_point),
    ("quant_zero_point", ["DequantizeLinear"], zero_of_widening),
    ("quant_missing", ["QuantizeLinear"], missing),
    ("quant_per_tensor", ["DequantizeLinear"], per_tensor),
    ("weights_rounded_twice", ["DequantizeLinear"], twice),
]
