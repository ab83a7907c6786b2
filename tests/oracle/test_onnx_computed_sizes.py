"""Numbers that a model computes of its free sizes and counts, cuts, pads, repeats and reshapes by: what ONNX Runtime answers at sizes
that the port was not proved at, among them none, one, odd ones, and those below a window."""
import os

import numpy as np
import onnx
import pytest
import torch
from carrying import convoy, import_file, plain_session
from onnx import helper as make
from onnx import numpy_helper

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


class Model:
    """x: float32 [2, T, 3], or what `shape` says; sizes are lists of one number, as exporters write them."""

    def __init__(self, shape=("N", "T", 3)):
        self.shape, self.nodes, self.tensors, self.count = shape, [], [], 0

    def constant(self, value, dtype=np.int64):
        self.count += 1
        self.tensors.append(numpy_helper.from_array(np.array(value, dtype), f"c{self.count}"))
        return f"c{self.count}"

    def __call__(self, op, *inputs, **attributes):
        self.count += 1
        named = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(make.make_node(op, named, [f"t{self.count}"], **attributes))
        return f"t{self.count}"

    def size(self, axis, of="x"):
        return self("Shape", of, start=axis, end=axis + 1)

    def scalar(self, number):
        return self("Squeeze", number)

    def counted(self, limit, start=0, step=1):
        start, limit, step = [n if not isinstance(n, str) else self.scalar(n) for n in (start, limit, step)]
        return self("Range", start, limit, step)

    def cut(self, x, start, end, axis=1, step=1):
        lists = [n if isinstance(n, str) else [n] for n in (start, end)]
        return self("Slice", x, *lists, [axis], [step])

    def padded(self, x, before, after, axis=1, **more):
        rank, value = len(self.shape), more.pop("value", None)
        parts = [before if isinstance(before, str) else self.constant([before]), after if isinstance(after, str) else self.constant([after])]
        rest = rank - axis - 1
        pads = self("Concat", self.constant([0] * axis), parts[0], self.constant([0] * (rest + axis)), parts[1], self.constant([0] * rest), axis=0)
        return self("Pad", x, pads, *([] if value is None else [self.constant(value, np.float32)]), **more)

    def save(self, path, result):
        self.nodes.append(make.make_node("Identity", [result], ["y"]))
        info = make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, self.shape)
        out = make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
        graph = make.make_graph(self.nodes, "g", [info], [out], self.tensors)
        onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=9), path)


def halves(m):  # a resampler: a mask of as many as are kept
    length = m("Div", m("Sub", m("Add", m.size(1), [2]), [1]), [2])
    places = m("Cast", m.counted(length), to=1)
    return m("Add", m.cut("x", 0, length), m("Unsqueeze", places, [1]))


def odd_fraction(m):
    length = m("Div", m("Add", m("Mul", m.size(1), [160]), [440]), [441])
    return m("Cast", m.counted(length), to=1)


def three_in_two(m):
    length = m("Div", m("Add", m("Mul", m.size(1), [3]), [1]), [2])
    return m("Cast", m.counted(length, 5, 2), to=1)


def filled_up(m):
    return m.padded("x", 0, m("Sub", [12], m.size(1)))


def filled_up_in_front(m):
    return m.padded("x", m("Sub", [12], m.size(1)), 1, value=-0.5)


def to_a_multiple(**more):
    def model(m):
        length = m.size(1)
        whole = m("Mul", m("Div", m("Add", length, [3]), [4]), [4])
        return m.padded("x", 2, m("Sub", whole, length), **more)
    return model


def at_least(m):
    return m("Relu", m.padded("x", 0, m("Max", m("Sub", [5], m.size(1)), [0]), value=2.5))


def whole_frames(m):
    length = m.size(1)
    rest = m("Mod", m("Sub", length, [4]), [3])
    return m.cut("x", 2, m("Sub", length, rest))


def swapped_halves(m):
    half = m("Div", m.size(1), [2])
    return m("Concat", m.cut("x", half, 2**63 - 1), m.cut("x", 0, half), axis=1)


def every_other_behind_the_half(m):
    return m.cut("x", m("Div", m.size(1), [2]), 2**31 - 1, step=2)


def but_two(m):
    return m.cut("x", 1, m("Sub", m.size(1), [2]))


def backwards(m):
    last = m("Sub", m.size(1), [1])
    return m("Gather", "x", m("Range", m.scalar(last), -1, -1), axis=1)


def at_most_four(m):
    return m.cut("x", 0, m("Min", m.size(1), [4]))


def counted_at_least_four(m):
    return m("Cast", m.counted(m("Max", m.size(1), [4])), to=1)


def half_by_fractions(m):
    half = m("Floor", m("Mul", m("Cast", m.size(1), to=1), m.constant([0.5], np.float32)))
    return m.cut("x", 0, m("Cast", half, to=7))


def two_more(m):
    return m("Expand", m.constant([[0.5, 1.5, 2.5]], np.float32), m("Concat", m("Add", m.size(1), [2]), [3], axis=0))


def as_often_as_half(m):
    return m("Tile", "x", m("Concat", [1], m("Div", m.size(1), [2]), [1], axis=0))


def anchors(m):  # the centres of all cells, and how far they lie apart
    small = m("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2])
    columns, rows = [m("Range", m.constant(0, np.float32), m.scalar(m("Cast", m.size(a, small), to=1)), m.constant(1, np.float32))
                     for a in (3, 2)]
    half = m.constant(0.5, np.float32)
    columns, rows = m("Add", columns, half), m("Add", rows, half)
    shape = m("Concat", m.size(0, rows), m.size(0, columns), axis=0)
    grid = [m("Unsqueeze", m("Expand", m("Reshape", one, to), shape), [-1]) for one, to in ((columns, [1, -1]), (rows, [-1, 1]))]
    centres = m("Reshape", m("Concat", *grid, axis=-1), [-1, 2])
    cells = m("Mul", m.size(2, small), m.size(3, small))
    strides = m("ConstantOfShape", m("Concat", cells, [1], axis=0))
    flat = m("Reshape", small, m("Concat", m.size(0), [3, -1], axis=0))
    both = m("Concat", centres, m("Add", strides, m.constant(8, np.float32)), axis=1)
    return m("MatMul", flat, both)


def turned_sizes(m):
    return m("Reshape", "x", m("Concat", m.size(1), [-1, 3], axis=0))


def windows(m):
    h, w = (m("Div", m.size(a), [2]) for a in (2, 3))
    to = m("Concat", m.size(0), [3], h, [2], w, [2], axis=0)
    return m("Transpose", m("Reshape", "x", to), perm=[0, 2, 4, 3, 5, 1])


def rest_of_a_product(m):
    return m("Reshape", "x", m("Concat", m.size(0), [-1], m("Mul", m.size(2), m.size(3)), axis=0))


def resized(m):
    return m("Resize", "x", "", "", m("Concat", m.size(0), [3], m("Add", m("Div", m.size(2), [2]), [1]), m.size(3), axis=0),
             mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def but_three(m):  # of two cells the first: two less three is the last but one
    return m.cut("x", 0, m("Sub", m.size(1), [3]))


def the_least_of_two(m):
    return m("Cast", m.counted(m("Min", m.size(2), m.size(3))), to=1)


def the_greatest_of_two(m):
    return m("Cast", m.counted(m("Max", m.size(2), m.size(3)), 2), to=1)


def cut_to_the_least(m):
    least = m("Min", m.size(2), m.size(3))
    square = m.cut(m.cut("x", 0, least, axis=2), 0, least, axis=3)
    return m("Add", square, m("Transpose", square, perm=[0, 1, 3, 2]))


def one_more_than_the_other(m):
    return m("Cast", m.counted(m("Sub", m("Mul", m.size(2), [3]), m.size(3))), to=1)


def as_often_as_the_least(m):
    least = m("Min", m.size(2), m.size(3))
    return m("Tile", m("ReduceMean", "x", [2, 3], keepdims=1), m("Concat", [1, 1], least, m("Add", least, [1]), axis=0))


def cut_and_repeated(m):
    return m.padded("x", 0, m("Sub", [12], m.size(1)), mode="edge")


def cut_or_mirrored(m):  # at both sides of one size
    missing = m("Sub", m.constant([9]), m.size(1))
    before = m("Div", missing, [2])
    return m.padded("x", before, m("Sub", missing, before), mode="reflect")


def in_the_middle(m):
    middle = m.scalar(m("Div", m("Sub", m.size(1), [1]), [2]))
    return m("Gather", "x", middle, axis=1)


def with_its_length(m):  # sizes as numbers of the model
    length = m("Cast", m.size(1), to=1)
    half, third = (m("Div", length, m.constant([n], np.float32)) for n in (2, 3))
    return m("Div", m("Add", m("Mul", "x", half), third), m("Sqrt", length))


def thirds(m):
    third = m("Div", m("Cast", m.size(1), to=1), m.constant([3], np.float32))
    up, down = (m("Cast", m(way, third), to=7) for way in ("Ceil", "Floor"))
    return m("Concat", m.cut("x", 0, up), m.cut("x", 0, down), axis=1)


def lengths_in_a_list(m):
    return m("Cast", m("Expand", m("Sub", m.size(1), [1]), m("Concat", m.size(0), [2], axis=0)), to=1)


def ones_times_length(m):
    ones = m("ConstantOfShape", m.size(1), value=numpy_helper.from_array(np.array([2], np.int64)))
    return m("Cast", m("Mul", ones, m.size(1)), to=1)


def put_at_half(m):
    x, half = m("Transpose", "x", perm=[1, 0, 2]), m("Div", m.size(1), [2])
    return m("ScatterND", x, m("Unsqueeze", m.counted(half), [1]), m.cut(m("Neg", x), 0, half, axis=0))


def put_at_the_last(m):
    x, last = m("Transpose", "x", perm=[1, 0, 2]), m("Reshape", m("Sub", m.size(1), [1]), [1, 1])
    return m("ScatterND", x, last, m.cut(m("Neg", x), 0, 1, axis=0), reduction="add")


def put_elements(m):
    half = m("Expand", m("Div", m.size(1), [2]), m("Concat", m.size(0), [1, 3], axis=0))
    return m("ScatterElements", "x", half, m("Neg", m("ReduceSum", "x", [1])), axis=1)


def put_into_few_columns(**more):  # the other columns stay as they are
    def build(m):
        places = m("Add", m("Expand", [[[1], [0]]], m("Concat", m.size(0), [2, 1], axis=0)), m("Mul", m("Cast", m.cut("x", 0, 1), to=7), [0]))
        return m("ScatterElements", "x", m.cut(places, 0, 1, axis=2), m("Neg", m.cut(m.cut("x", 2, 4), 1, 2, axis=2)), axis=1, **more)
    return build


def largest(m):
    m.nodes.append(make.make_node("TopK", [m("Mul", "x", "x"), m("Min", m.size(1), [3])], ["values", "places"], axis=1))
    return m("Add", "values", m("Cast", "places", to=1))


def smallest(m):
    m.nodes.append(make.make_node("TopK", [m("Mul", "x", "x"), m("Min", m("Div", m.size(1), [2]), [4])], ["values", "unused"], axis=1, largest=0))
    return "values"


LENGTHS = [(2, t) for t in (0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 18)]
IMAGES = [(1, 2, 3), (2, 5, 4), (3, 8, 6), (1, 7, 9)]
EVEN = [(1, 2, 4), (2, 4, 6), (3, 8, 2)]
IMAGE = ("N", 3, "H", "W")
# Name: the model, its input, the sizes that ONNX Runtime is asked at.
CASES = {
    "halves": (halves, None, LENGTHS),
    "an odd fraction": (odd_fraction, None, LENGTHS),
    "three in two, by twos from five": (three_in_two, None, LENGTHS),
    "filled up to 12": (filled_up, None, LENGTHS),
    "filled up in front": (filled_up_in_front, None, LENGTHS),
    "to a multiple of 4": (to_a_multiple(value=1.5), None, LENGTHS),
    "to a multiple of 4, by the last": (to_a_multiple(mode="edge"), None, LENGTHS[1:]),
    "to a multiple of 4, mirrored": (to_a_multiple(mode="reflect"), None, LENGTHS[3:]),
    "at least 5": (at_least, None, LENGTHS),
    "whole frames": (whole_frames, None, LENGTHS),
    "halves that change places": (swapped_halves, None, LENGTHS),
    "every other behind the half": (every_other_behind_the_half, None, LENGTHS),
    "all but two": (but_two, None, LENGTHS),
    "backwards": (backwards, None, LENGTHS),
    "at most four": (at_most_four, None, LENGTHS),
    "at least four numbers": (counted_at_least_four, None, LENGTHS),
    "half, by fractions": (half_by_fractions, None, LENGTHS),
    "two more": (two_more, None, LENGTHS),
    "as often as half": (as_often_as_half, None, LENGTHS[1:]),
    "sizes that change places": (turned_sizes, None, LENGTHS[1:]),
    "anchors": (anchors, IMAGE, IMAGES),
    "windows": (windows, IMAGE, EVEN),
    "the rest of a product": (rest_of_a_product, IMAGE, IMAGES),
    "resized": (resized, IMAGE, IMAGES),
    "all but three": (but_three, None, LENGTHS),
    "the least of two": (the_least_of_two, IMAGE, IMAGES),
    "the greatest of two": (the_greatest_of_two, IMAGE, IMAGES),
    "cut to the least": (cut_to_the_least, IMAGE, IMAGES),
    "three times one less the other": (one_more_than_the_other, IMAGE, [*IMAGES, (1, 1, 4)]),
    "as often as the least": (as_often_as_the_least, IMAGE, IMAGES),
    "cut off or repeated": (cut_and_repeated, None, LENGTHS[1:]),
    "cut off or mirrored": (cut_or_mirrored, None, [(2, t) for t in (5, 6, 7, 8, 9, 10, 11, 14)]),
    "the one in the middle": (in_the_middle, None, LENGTHS[1:]),
    "with its length": (with_its_length, None, LENGTHS[1:]),
    "thirds": (thirds, None, LENGTHS[1:]),
    "lengths in a list": (lengths_in_a_list, None, LENGTHS[1:]),
    "ones times the length": (ones_times_length, None, LENGTHS),
    "put at half": (put_at_half, None, LENGTHS[2:]),
    "put at the last": (put_at_the_last, None, LENGTHS[1:]),
    "put elements": (put_elements, None, LENGTHS[1:]),
    "put into few columns": (put_into_few_columns(), ("N", 4, 3), [(1,), (2,), (5,)]),
    "added to few columns": (put_into_few_columns(reduction="add"), ("N", 4, 3), [(1,), (2,), (5,)]),
    "the greatest in few columns": (put_into_few_columns(reduction="max"), ("N", 4, 3), [(1,), (2,), (5,)]),
    "the largest three": (largest, None, LENGTHS[1:]),
    "the smallest four": (smallest, None, LENGTHS[2:]),
}


SORTED = ("the largest three", "the smallest four")
NOT_IN_TFLITE = ("put elements", "put into few columns")  # lookups number by number along free axes


def drawn(shape, sizes):
    said = dict(zip("NTHW" if "T" in shape else "NHW", sizes))
    real = [said.get(s, s) for s in shape]
    return (np.arange(int(np.prod(real)), dtype=np.float32) - 7).reshape(real)


def equal(got, want, where):
    np.testing.assert_array_equal(np.asarray(got), want, err_msg=where)


def by_keras(path):
    import keras

    net = keras.models.load_model(path)
    last = len(net.input_shape) == 4 and net.input_shape[-1] == 3  # images lie as Keras has them
    return lambda x: net(x.transpose(0, 2, 3, 1) if last else x)


def by_tflite(path):
    import tensorflow as tf

    def answer(x):
        lite = tf.lite.Interpreter(str(path), experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_REF)
        into = lite.get_input_details()[0]
        x = x.transpose(0, 2, 3, 1) if x.ndim == 4 and into["shape"][-1] == 3 else x
        lite.resize_tensor_input(into["index"], x.shape)
        lite.allocate_tensors()
        lite.set_tensor(into["index"], np.ascontiguousarray(x))
        lite.invoke()
        return lite.get_tensor(lite.get_output_details()[0]["index"])
    return answer


@pytest.mark.parametrize("name", CASES)
def test_computed_sizes(name, tmp_path):
    build, shape, sizes = CASES[name]
    model = Model(shape or ("N", "T", 3))
    path = tmp_path / "m.onnx"
    model.save(path, build(model))
    session = plain_session(path)
    for target in ("py", "onnx", "keras", "tflite"):
        convoy("port", path, "-o", tmp_path / f"p.{target}", code=6 if target == "tflite" and name in NOT_IN_TFLITE else 0)
    net, ported = import_file(tmp_path / "p.py").load(), plain_session(tmp_path / "p.onnx")
    keras, lite = by_keras(tmp_path / "p.keras"), by_tflite(tmp_path / "p.tflite")
    in_lite = name not in NOT_IN_TFLITE
    if name not in SORTED:  # which the reader of source refuses along a free axis
        assert convoy("diff", path, tmp_path / "p.py", code=None).returncode == 0
    for at in sizes:
        x = drawn(model.shape, at)
        want = session.run(None, {"x": x})[0]
        with torch.no_grad():
            equal(net(torch.from_numpy(x.copy())), want, f"PyTorch at {at}")
        equal(ported.run(None, {"x": x})[0], want, f"ONNX at {at}")
        equal(keras(x), want, f"Keras at {at}")
        if x.size == 0 or want.size == 0 or not in_lite:
            continue  # TFLite answers whatever lay in memory
        try:
            got = lite(x)
        except (RuntimeError, ValueError) as error:  # a list of no cells on the way: no answer, and no wrong one
            assert "size" in str(error), error
            continue
        equal(got, want, f"TFLite at {at}")


def left_of_a_half(m):
    return m("Reshape", "x", m("Concat", m("Div", m.size(1), [2]), [-1, 3], axis=0))


REFUSED = {
    "what is left of a half": (left_of_a_half, None, "computed from sizes that are not known"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, tmp_path):
    build, shape, words = REFUSED[name]
    model = Model(shape or ("N", "T", 3))
    model.save(tmp_path / "m.onnx", build(model))
    said = convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "p.py", code=6).stderr
    assert words in said
