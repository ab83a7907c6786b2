"""Mistakes about places: flattening, reshapes, concatenations, blocks, resizing, walks along time, the model's input."""
import numpy as np

RESIZE, CELLS = ("Resize",), ("LSTM", "GRU")


def flatten_order(net, node):
    shape = net.shape(node.input[0])
    out = net.shape(node.output[0])
    if len(shape) != 4 or len(out) != 2 or shape[1] == 1 or shape[2] * shape[3] == 1:
        return False
    reader = net.only_reader(node.output[0])
    while reader is not None and reader.op_type in ("Dropout", "Identity"):
        reader = net.only_reader(reader.output[0])
    also = [node.name if reader is None else reader.name]
    return net.in_front(node, 0, "Transpose", perm=[0, 2, 3, 1]) and also


def reshape_layout(net, node):
    shape, out = net.shape(node.input[0]), net.shape(node.output[0])
    if not 3 <= len(shape) <= 4 or len(out) < 3 or sum(n > 1 for n in shape[1:]) < 2 or "/" in node.name:
        return False
    if net.maker(node.input[0]) is not None and net.maker(node.input[0]).op_type == "Transpose":
        return False
    return net.in_front(node, 0, "Transpose", perm=[0, *range(2, len(shape)), 1])


def concat_order(net, node):
    if len(node.input) < 2 or len(set(node.input)) < 2 or any(net.constant(node, i) is not None for i in range(len(node.input))):
        return False
    if len(node.input) > 2:
        node.input[0], node.input[1] = node.input[1], node.input[0]
        return node.input[0] != node.input[1]
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


def concat_axis(net, node):
    shapes = [net.shape(name) for name in node.input]
    if None in shapes or len(set(shapes)) != 1 or len(shapes[0]) < 3:
        return False
    axis = net.get(node, "axis") % len(shapes[0])
    return net.put(node, axis=len(shapes[0]) - 1 if axis != len(shapes[0]) - 1 else 1)


def blocks(net, node):
    before = net.maker(node.input[0])  # a writer without the word for it takes the order into that layer's kernel
    also = [before.name] if before is not None else True
    return net.put(node, mode="DCR" if net.get(node, "mode", b"DCR") == b"CRD" else "CRD") and also


def blocks_written_out(net, node):
    """Reshape, Transpose, Reshape: the channel's two parts in another order."""
    after = net.only_reader(node.output[0])
    before = net.maker(node.input[0])
    perm, x = net.get(node, "perm"), net.shape(node.input[0])
    if not perm or len(perm) != 6 or before is None or after is None or before.op_type != "Reshape" or after.op_type != "Reshape":
        return False
    if list(perm) != [0, 1, 4, 2, 5, 3] or x[2] != x[3]:
        return False
    sizes = list(x)
    sizes[0] = 0
    c, b = x[1], x[2]
    net.set_constant(before, 1, np.array([0, b, b, c, x[4], x[5]], np.int64))
    return net.put(node, perm=[0, 3, 4, 1, 5, 2])


# ---- resizing


def resize(mode=None, coordinates=None, rounding=None, cubic=None):
    def make(net, node):
        old = net.get(node, "mode", b"nearest").decode()
        if net.get(node, "antialias", 0) or net.constant(node, 1) is not None and net.constant(node, 1).size:
            return False
        if mode:
            if old == "cubic":
                return False
            new = "linear" if old == "nearest" else "nearest"
            net.put(node, mode=new, coordinate_transformation_mode="half_pixel" if new == "linear" else "asymmetric",
                    nearest_mode=None if new == "linear" else "floor", cubic_coeff_a=None)
            return True
        if coordinates:
            now = net.get(node, "coordinate_transformation_mode", b"half_pixel").decode()
            if old == "nearest":
                return False
            corners = now == "align_corners"
            if coordinates == "corners":
                return net.put(node, coordinate_transformation_mode="half_pixel" if corners else "align_corners")
            return not corners and net.put(node, coordinate_transformation_mode="asymmetric" if now != "asymmetric" else "half_pixel")
        if rounding:
            if old != "nearest":
                return False
            half = net.get(node, "coordinate_transformation_mode", b"half_pixel") == b"half_pixel"
            return net.put(node, coordinate_transformation_mode="asymmetric" if half else "half_pixel",
                           nearest_mode="floor" if half else "round_prefer_ceil")
        if cubic and old == "cubic":
            return net.put(node, cubic_coeff_a=-0.5 if net.get(node, "cubic_coeff_a", -0.75) < -0.6 else -0.75)
        return False

    return make


# ---- cells


def gate_order(net, node):
    gates = 4 if node.op_type == "LSTM" else 3
    order = [1, 0, *range(2, gates)]

    def turned(w):
        parts = np.split(w, w.shape[1] // (w.shape[1] // gates), axis=1)
        return np.concatenate([parts[i] for i in order], axis=1)

    def turned_bias(b):
        both = np.split(b, 2, axis=1)
        return np.concatenate([turned(h) for h in both], axis=1)

    done = net.change(node, 1, turned) and net.change(node, 2, turned)
    if len(node.input) > 3 and node.input[3]:
        done = done and net.change(node, 3, turned_bias)
    return done


def sequence_end(net, node):
    """The first step in place of the last."""
    if len(node.output) < 2 or not node.output[1] or node.output[0]:
        return False
    name, at = node.output[1], net.index(node)
    whole, first = f"{name}_all", f"{name}_first"
    node.output[0], node.output[1] = whole, ""
    net.insert(at + 1, "Gather", [whole, net.add_constant(np.array(0, np.int64))], [first], axis=0)
    net.insert(at + 2, "Identity", [first], [name])
    return net.get(node, "direction", b"forward") == b"forward"


def reset_after(net, node):
    return net.put(node, linear_before_reset=1 - net.get(node, "linear_before_reset", 0))


# ---- the model's input


def first_of_input(net, node, i=0):
    return len(node.input) > i and any(one.name == node.input[i] for one in net.graph.input) and net.only_reader(node.input[i])


def channel_order(net, node):
    shape = net.shape(node.input[0])
    if not first_of_input(net, node) or shape is None or len(shape) < 3 or not 2 <= shape[1] <= 4:
        return False
    return net.in_front(node, 0, "Gather", [np.arange(shape[1])[::-1].astype(np.int64)], axis=1)


def preprocessing(net, node):
    shape = net.shape(node.input[0])
    if not first_of_input(net, node) or shape is None or len(shape) != 4:
        return False
    net.in_front(node, 0, "Mul", [np.array(1 / 127.5, np.float32)])
    return net.in_front(net.graph.node[net.index(node)], 0, "Add", [np.array(-1, np.float32)])


def rescaled(net, node):
    scale = net.constant(node, 1)
    if not first_of_input(net, node) or scale is None or scale.size != 1 or float(scale.reshape(-1)[0]) > 0.1:
        return False
    return net.set_constant(node, 1, np.ones_like(scale))


def turned(net, node):
    shape = net.shape(node.input[0])
    if not first_of_input(net, node) or shape is None or len(shape) != 4 or len(net.graph.input) != 1 or net.get(node, "group", 1) < 0:
        return False
    if any(len(net.shape(o.name)) == 4 and max(net.shape(o.name)[2:]) > 1 for o in net.graph.output):
        return False
    dims = net.graph.input[0].type.tensor_type.shape.dim
    height = dims[2].SerializeToString()
    dims[2].ParseFromString(dims[3].SerializeToString())
    dims[3].ParseFromString(height)
    return net.in_front(node, 0, "Transpose", perm=[0, 1, 3, 2])


FIRST = ("Conv", "MaxPool", "AveragePool", "BatchNormalization", "ConvTranspose", "Mul", "Pad")
MISTAKES = [
    ("flatten_order", ("Flatten", "Reshape"), flatten_order),
    ("reshape_layout", ("Reshape",), reshape_layout),
    ("concat_order", ("Concat",), concat_order),
    ("concat_axis", ("Concat",), concat_axis),
    ("depth_to_space_order", ("DepthToSpace",), blocks),
    ("depth_to_space_order", ("Transpose",), blocks_written_out),
    ("resize_mode", RESIZE, resize(mode=True)),
    ("align_corners", RESIZE, resize(coordinates="corners")),
    ("resize_coordinates", RESIZE, resize(coordinates="other")),
    ("resize_rounding", RESIZE, resize(rounding=True)),
    ("resize_cubic", RESIZE, resize(cubic=True)),
    ("gate_order", CELLS, gate_order),
    ("sequence_end", CELLS, sequence_end),
    ("reset_after", ("GRU",), reset_after),
    ("channel_order", FIRST, channel_order),
    ("preprocessing", FIRST, preprocessing),
    ("preprocessing", ("Mul",), rescaled),
    ("input_hw_swapped", ("Conv",), turned),
]
