"""Mistakes about windows: pads, strides, dilations, pools, transposed convolutions."""
import numpy as np

CONV = ("Conv",)
POOLS = ("MaxPool", "AveragePool")
WINDOWS = CONV + POOLS
UP = ("ConvTranspose",)
BORDERS = ("reflect", "edge", "wrap")


def kernel(net, node):
    shape = net.get(node, "kernel_shape")
    return list(shape) if shape else list(net.constant(node, 1).shape[2:])


def numbers(net, node, name, default):
    return list(net.get(node, name, [default] * len(kernel(net, node))))


def dilated(net, node):
    return [d * (k - 1) + 1 for k, d in zip(kernel(net, node), numbers(net, node, "dilations", 1))]


def pads(net, node):
    """Before and after of every axis, at one size; None where the file leaves them to rules that do not fit."""
    n = len(kernel(net, node))
    auto = net.get(node, "auto_pad", b"NOTSET")
    if auto == b"VALID":
        return [0] * n, [0] * n
    if auto == b"NOTSET":
        p = list(net.get(node, "pads", [0] * 2 * n))
        return p[:n], p[n:]
    shape, before, after = net.shape(node.input[0]), [], []
    for size, reach, stride in zip(shape[2:], dilated(net, node), numbers(net, node, "strides", 1)):
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        small, large = total // 2, total - total // 2
        before.append(large if auto == b"SAME_LOWER" else small)
        after.append(small if auto == b"SAME_LOWER" else large)
    return before, after


def is_rule(net, node):
    """Whether the pads follow the size: numbers in their place would be another mistake at another size."""
    return net.get(node, "auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID") and not net.fixed()


def set_pads(net, node, before, after, of_rule=False):
    if is_rule(net, node) and not of_rule:
        return False
    old = pads(net, node)
    if (list(before), list(after)) == (list(old[0]), list(old[1])) or min([*before, *after]) < 0:
        return False
    if node.op_type != "Conv" and any(b >= k for b, k in zip([*before, *after], dilated(net, node) * 2)):
        return False
    return net.put(node, auto_pad=None, pads=[*before, *after])


def is_same(net, node, i):
    shape, strides, reach = net.shape(node.input[0]), numbers(net, node, "strides", 1), dilated(net, node)
    before, after = pads(net, node)
    total = max((-(-shape[2 + i] // strides[i]) - 1) * strides[i] + reach[i] - shape[2 + i], 0)
    return before[i] + after[i] == total and before[i] <= after[i] <= before[i] + 1


def same_as_symmetric(net, node):
    before, after = pads(net, node)
    half = [r // 2 for r in dilated(net, node)]
    changed = [i for i in range(len(before)) if before[i] != after[i] and is_same(net, node, i)]
    for i in changed:
        before[i] = after[i] = half[i]
    return bool(changed) and set_pads(net, node, before, after, of_rule=True)


def symmetric_as_same(net, node):
    before, after = pads(net, node)
    if before != after or not any(before) or max(numbers(net, node, "dilations", 1)) > 1:
        return False
    if any(b not in (0, r // 2) for b, r in zip(before, dilated(net, node))) or net.get(node, "ceil_mode", 0):
        return False
    return net.put(node, pads=None, auto_pad="SAME_UPPER")


def odd_cell(net, node):
    before, after = pads(net, node)
    if any(b == 0 and a > 1 for b, a in zip(before, after)) or any(b > 1 and a == 0 for b, a in zip(before, after)):
        return False  # causal
    return set_pads(net, node, after, before)


def pad_missing(net, node):
    before, after = pads(net, node)
    if node.op_type != "Conv" and not any(before):
        return False
    return set_pads(net, node, [0] * len(before), [0] * len(after), of_rule=True)


def pad_where_none(net, node):
    before, after = pads(net, node)
    half = [r // 2 for r in dilated(net, node)]
    return not any(before + after) and not net.get(node, "ceil_mode", 0) and set_pads(net, node, half, half)


def pad_amount(net, node):
    before, after = pads(net, node)
    return any(before) and set_pads(net, node, [b + 1 for b in before], after)


def pads_swapped(net, node):
    before, after = pads(net, node)
    return len(before) == 2 and set_pads(net, node, before[::-1], after[::-1])


def pad_ignores_dilation(net, node):
    before, after = pads(net, node)
    k, d = kernel(net, node), numbers(net, node, "dilations", 1)
    if max(d) == 1 or not any(before) or any(b == 0 and a == 0 for b, a in zip(before, after)):
        return False
    return set_pads(net, node, [(n - 1) // 2 for n in k], [n - 1 - (n - 1) // 2 for n in k])


def is_causal(net, node):
    before, after = pads(net, node)
    return len(before) == 1 and after == [0] and before[0] == dilated(net, node)[0] - 1 > 0


def causal_as_symmetric(net, node):
    total = pads(net, node)[0][0]
    return is_causal(net, node) and set_pads(net, node, [total // 2], [total - total // 2])


def causal_other_side(net, node):
    return is_causal(net, node) and set_pads(net, node, [0], pads(net, node)[0])


def border(net, node):
    before, after = pads(net, node)
    if node.op_type != "Conv" or not any(before + after) or is_rule(net, node):
        return False
    sizes = net.shape(node.input[0])[2:]
    if any(max(b, a) >= s for b, a, s in zip(before, after, sizes)):
        return False
    net.put(node, auto_pad=None, pads=[0] * 2 * len(before))
    mode = BORDERS[net.made % 2]
    return net.in_front(node, 0, "Pad", [np.array([0, 0, *before, 0, 0, *after], np.int64)], mode=mode)


def other_border(net, node):
    old = net.get(node, "mode", b"constant").decode()
    amounts = net.constant(node, 1)
    if amounts is None or len(node.input) > 3 and node.input[3] or min(amounts) < 0:
        return False
    n = len(amounts) // 2
    if any(max(amounts[i], amounts[n + i]) >= size for i, size in enumerate(net.shape(node.input[0]))):
        return False
    del node.input[2:]
    choices = [m for m in ("constant", *BORDERS) if m != old]
    return net.put(node, mode=choices[int(sum(amounts)) % len(choices)])


def pad_changed(f):
    def make(net, node):
        old = net.constant(node, 1)
        if old is None or len(node.input) > 3 and node.input[3]:
            return False
        if min(old) < 0:
            return False  # a crop
        n = len(old) // 2
        new = f(list(old[:n]), list(old[n:]))
        if new is None or [*new[0], *new[1]] == list(old):
            return False
        return net.set_constant(node, 1, np.array([*new[0], *new[1]], np.int64))

    return make


def zeros_in_max(net, node):
    before, after = pads(net, node)
    if not any(before + after) or len(node.output) > 1 or is_rule(net, node):
        return False
    net.put(node, auto_pad=None, pads=[0] * 2 * len(before))
    return net.in_front(node, 0, "Pad", [np.array([0, 0, *before, 0, 0, *after], np.int64)])


def divisor(net, node):
    before, after = pads(net, node)
    return bool(any(before + after) or net.get(node, "ceil_mode", 0)) and net.put(
        node, count_include_pad=1 - net.get(node, "count_include_pad", 0))


def pool_kind(net, node):
    if len(node.output) > 1 or max(numbers(net, node, "dilations", 1)) > 1:
        return False
    net.put(node, count_include_pad=None, storage_order=None, dilations=None)
    node.op_type = "MaxPool" if node.op_type == "AveragePool" else "AveragePool"
    return True


def ceil_mode(net, node):
    if net.get(node, "auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return False
    return net.put(node, ceil_mode=1 - net.get(node, "ceil_mode", 0))


def strides_swapped(net, node):
    s = numbers(net, node, "strides", 1)
    return len(s) == 2 and s[0] != s[1] and net.put(node, strides=s[::-1])


def stride(net, node):
    s = numbers(net, node, "strides", 1)
    if node.op_type != "Conv" and max(s) == 1:
        return False
    return net.put(node, strides=[1 if max(s) > 1 else 2] * len(s))


def dilation(net, node):
    d = numbers(net, node, "dilations", 1)
    explicit = net.get(node, "auto_pad", b"NOTSET") in (b"NOTSET", b"VALID")
    return max(d) > 1 and explicit and net.put(node, dilations=[1] * len(d))


# ---- transposed convolutions


def explicit_crops(net, node):
    if net.get(node, "auto_pad", b"NOTSET") != b"NOTSET" or net.get(node, "output_shape"):
        return None
    n = len(kernel(net, node))
    p = list(net.get(node, "pads", [0] * 2 * n))
    return p[:n], p[n:]


def shifted(net, node):
    crops = explicit_crops(net, node)
    if crops is None or crops[0] == crops[1] or net.get(node, "output_padding") and max(net.get(node, "output_padding")):
        return False
    return net.put(node, pads=[*crops[1], *crops[0]])


def output_size(net, node):
    crops = explicit_crops(net, node)
    if crops is None:
        return False
    grow = all(a > 0 for a in crops[1])
    return net.put(node, pads=[*crops[0], *(a - 1 if grow else a + 1 for a in crops[1])])


def tail_bias(net, node):
    extra = net.get(node, "output_padding")
    if not extra or net.constant(node, 2) is None:
        return False
    # Cells of the tail that no tap of the kernel reaches.
    reach, strides = dilated(net, node), numbers(net, node, "strides", 1)
    net.put(node, output_padding=None)
    if not any(e > 0 for e in extra) or not all(r <= s for r, s in zip(reach, strides)):
        return False
    return net.behind(node, "Pad", [np.array([0, 0, *[0] * len(extra), 0, 0, *extra], np.int64)])


MISTAKES = [
    ("same_as_symmetric", WINDOWS, same_as_symmetric),
    ("same_as_symmetric", WINDOWS, symmetric_as_same),
    ("odd_cell_on_the_other_side", WINDOWS, odd_cell),
    ("odd_cell_on_the_other_side", ("Pad",), pad_changed(lambda b, a: (a, b))),
    ("pad_missing", WINDOWS, pad_missing),
    ("pad_missing", ("Pad",), pad_changed(lambda b, a: ([0] * len(b), [0] * len(a)))),
    ("pad_where_none", WINDOWS, pad_where_none),
    ("pad_amount", WINDOWS, pad_amount),
    ("pads_hw_swapped", WINDOWS, pads_swapped),
    ("pads_hw_swapped", ("Pad",), pad_changed(lambda b, a: ([*b[:2], b[3], b[2]], [*a[:2], a[3], a[2]]) if len(b) == 4 else None)),
    ("pad_ignores_dilation", CONV, pad_ignores_dilation),
    ("causal_as_symmetric", CONV, causal_as_symmetric),
    ("causal_other_side", CONV, causal_other_side),
    ("pad_mode", CONV, border),
    ("pad_mode", ("Pad",), other_border),
    ("pool_pad_value", ("MaxPool",), zeros_in_max),
    ("pool_divisor", ("AveragePool",), divisor),
    ("pool_kind", POOLS, pool_kind),
    ("ceil_mode", POOLS, ceil_mode),
    ("strides_swapped", WINDOWS, strides_swapped),
    ("stride", WINDOWS, stride),
    ("dilation", CONV, dilation),
    ("transposed_shifted", UP, shifted),
    ("transposed_output_size", UP, output_size),
    ("transposed_tail_bias", UP, tail_bias),
]
