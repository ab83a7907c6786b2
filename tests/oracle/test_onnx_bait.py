"""Where other converters and runtimes were found wrong about ONNX: each row is a model of one operator, carried to ONNX by
convoy, and held in ONNX Runtime, unoptimized and as users run it, to a definition written out here."""
import numpy as np
import pytest
from carrying import assert_close, convoy, port
from test_onnx_written import session

SIZES = ((8, 13), (7, 10))  # unlike, one odd and one even on each axis


def built(path, node, weights=None, space=("h", "w"), channels=3, before=None, opset=17):
    """A model of one node, behind another one where given; `space` names the sizes or gives them."""
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [before, node] if before else [node]
    graph = helper.make_graph(
        nodes, "bait",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, channels, *space])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * (2 + len(space)))],
        [numpy_helper.from_array(w, name) for name, w in (weights or {}).items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)


def answers(tmp_path, x, *options):
    written = tmp_path / f"written{len(list(tmp_path.iterdir()))}.onnx"
    convoy("port", tmp_path / "source.onnx", "-o", written, *options)  # with proof
    return [session(written, optimized).run(None, {"x": x})[0] for optimized in (False, True)]


def same(n, k, s, upper, d=1):
    """Before, after: as many windows as ceil(n / s)."""
    total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
    return (total // 2, total - total // 2) if upper else (total - total // 2, total // 2)


def numbers(*shape):
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def windows(x, kernel, strides, pads, fill, reduce, ceil=False):
    """reduce(cells, inside) over every window of the last two axes; `fill` where there is nothing, `inside` says where x is."""
    (top, bottom), (left, right) = pads
    outs = []
    for n, k, s, (before, after) in zip(x.shape[2:], kernel, strides, pads):
        span = n + before + after - k
        out = (-(-span // s) if ceil else span // s) + 1
        if ceil and (out - 1) * s >= n + before:
            out -= 1  # a window may not begin in the padding behind
        outs.append(out)
    far = [(o - 1) * s + k for o, s, k in zip(outs, strides, kernel)]
    more = [max(f - (n + a + b), 0) for f, n, (a, b) in zip(far, x.shape[2:], pads)]
    wide = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    kind = np.pad(np.full(x.shape[2:], 2), ((top, bottom), (left, right)), constant_values=1)  # 2 x, 1 padding, 0 overhang
    wide = np.pad(wide, ((0, 0), (0, 0), (0, more[0]), (0, more[1])), constant_values=fill)
    kind = np.pad(kind, ((0, more[0]), (0, more[1])))
    y = np.empty((*x.shape[:2], *outs), np.float32)
    for i in range(outs[0]):
        for j in range(outs[1]):
            at = np.s_[i * strides[0]:i * strides[0] + kernel[0], j * strides[1]:j * strides[1] + kernel[1]]
            y[:, :, i, j] = reduce(wide[(slice(None), slice(None), *at)], kind[at])
    return y


def largest(cells, _):
    return cells.max(axis=(2, 3))


def mean_of(counted):
    return lambda cells, kind: cells.sum(axis=(2, 3)) / np.count_nonzero(kind >= counted)


@pytest.mark.parametrize("free", [True, False], ids=["free", "fixed"])
@pytest.mark.parametrize("word", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("kernel", "strides"), [((3, 4), (2, 3)), ((4, 3), (2, 2)), ((2, 5), (1, 3))])
def test_conv_same(word, free, kernel, strides, tmp_path):
    import torch
    from onnx import helper

    w = numbers(4, 3, *kernel)
    for size in SIZES:
        built(tmp_path / "source.onnx", helper.make_node("Conv", ["x", "w"], ["y"], auto_pad=word, strides=strides),
              {"w": w}, ("h", "w") if free else size)
        x = numbers(2, 3, *size)
        (t, b), (left, right) = (same(n, k, s, word == "SAME_UPPER") for n, k, s in zip(size, kernel, strides))
        padded = torch.nn.functional.pad(torch.from_numpy(x), (left, right, t, b))
        want = torch.nn.functional.conv2d(padded, torch.from_numpy(w), stride=strides).numpy()
        for got in answers(tmp_path, x):
            assert_close([got], [want], what=f"{word} {kernel} {strides} {size}")


@pytest.mark.parametrize("free", [True, False], ids=["free", "fixed"])
@pytest.mark.parametrize("word", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("kernel", "strides"), [((3, 4), (2, 3)), ((5, 3), (2, 2)), ((4, 4), (1, 2))])
def test_conv_transpose_same(word, free, kernel, strides, tmp_path):
    import torch
    from onnx import helper

    w = numbers(3, 4, *kernel)
    for size in SIZES:
        built(tmp_path / "source.onnx",
              helper.make_node("ConvTranspose", ["x", "w"], ["y"], auto_pad=word, strides=strides), {"w": w},
              ("h", "w") if free else size)
        x = numbers(2, 3, *size)
        want = torch.nn.functional.conv_transpose2d(torch.from_numpy(x), torch.from_numpy(w), stride=strides).numpy()
        for axis, (n, k, s) in enumerate(zip(size, kernel, strides)):
            before = (k - s) // 2 if word == "SAME_UPPER" else k - s - (k - s) // 2  # opset 11 and later
            want = want[(slice(None),) * (axis + 2) + (slice(before, before + n * s),)]
        for got in answers(tmp_path, x):
            assert_close([got], [want], what=f"{word} {kernel} {strides} {size}")


@pytest.mark.parametrize("free", [True, False], ids=["free", "fixed"])
@pytest.mark.parametrize("word", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("kernel", "strides"), [((3, 2), (2, 2)), ((2, 4), (1, 3))])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool_same(op, word, free, kernel, strides, tmp_path):
    from onnx import helper

    for size in SIZES:
        built(tmp_path / "source.onnx",
              helper.make_node(op, ["x"], ["y"], auto_pad=word, kernel_shape=kernel, strides=strides), None,
              ("h", "w") if free else size)
        x = numbers(2, 3, *size) - 3  # below zero: padding of zeros would win
        pads = [same(n, k, s, word == "SAME_UPPER") for n, k, s in zip(size, kernel, strides)]
        maximum = op == "MaxPool"
        want = windows(x, kernel, strides, pads, -np.inf if maximum else 0, largest if maximum else mean_of(2))
        # A pool has no word for the larger half in front that every runtime knows: the size has to be told.
        told = ["--size", f"{size[0]}x{size[1]}"] if free and word == "SAME_LOWER" else []
        for got in answers(tmp_path, x, *told):
            assert_close([got], [want], what=f"{op} {word} {kernel} {strides} {size}")


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool_same_lower_of_free_sizes_in_torch(op, tmp_path):
    from onnx import helper

    kernel, strides = (2, 4), (3, 2)
    built(tmp_path / "source.onnx",
          helper.make_node(op, ["x"], ["y"], auto_pad="SAME_LOWER", kernel_shape=kernel, strides=strides), None, ("h", "w"))
    ported = port([tmp_path / "source.onnx"], tmp_path / "net.py")
    maximum = op == "MaxPool"
    for size in SIZES:
        x = numbers(2, 3, *size) - 3
        pads = [same(n, k, s, False) for n, k, s in zip(size, kernel, strides)]
        want = windows(x, kernel, strides, pads, -np.inf if maximum else 0, largest if maximum else mean_of(2))
        assert_close(ported([x]), [want], what=f"{op} {size}")


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize(("kernel", "strides", "pads"), [
    ((3, 5), (4, 4), ((1, 1), (2, 1))), ((5, 4), (3, 5), ((0, 2), (1, 0))), ((3, 3), (2, 2), ((1, 0), (0, 1)))])
def test_average_with_an_overhang(counted, kernel, strides, pads, tmp_path):
    """The divisor counts padding where asked, and never the cells beyond it that ceil_mode reaches."""
    from onnx import helper

    flat = [pads[0][0], pads[1][0], pads[0][1], pads[1][1]]
    for size in ((8, 13), (9, 10)):
        node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=kernel, strides=strides, pads=flat,
                                ceil_mode=1, count_include_pad=counted)
        built(tmp_path / "source.onnx", node, None, size, opset=19)
        x = numbers(2, 3, *size)
        want = windows(x, kernel, strides, pads, 0, mean_of(1 if counted else 2), ceil=True)
        for got in answers(tmp_path, x, "--opset", "19"):
            assert_close([got], [want], what=f"{kernel} {strides} {pads} {size}")


@pytest.mark.parametrize("free", [True, False], ids=["free", "fixed"])
def test_a_pad_of_zeros_before_a_maximum_stays_zero(free, tmp_path):
    """A runtime that takes the pad into the pool turns its zeros into minus infinity."""
    from onnx import helper

    for size in SIZES:
        pad = helper.make_node("Pad", ["x", "pads"], ["p"], mode="constant")
        pool = helper.make_node("MaxPool", ["p"], ["y"], kernel_shape=[3, 2], strides=[2, 2])
        built(tmp_path / "source.onnx", pool, {"pads": np.array([0, 0, 1, 1, 0, 0, 2, 0], np.int64)},
              ("h", "w") if free else size, before=pad)
        x = numbers(2, 3, *size) - 3
        want = windows(x, (3, 2), (2, 2), ((1, 2), (1, 0)), 0, largest)
        for got in answers(tmp_path, x):
            assert_close([got], [want], what=str(size))


@pytest.mark.parametrize(("kernel", "strides", "groups"), [((2, 1), (3, 2), 1), ((1, 2), (2, 3), 3)])
def test_transposed_with_a_kernel_shorter_than_its_stride(kernel, strides, groups, tmp_path):
    import torch
    from onnx import helper

    w = numbers(3, 2, *kernel)
    for size in SIZES:
        node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=strides, group=groups, output_padding=[1, 1])
        built(tmp_path / "source.onnx", node, {"w": w})
        x = numbers(2, 3, *size)
        want = torch.nn.functional.conv_transpose2d(torch.from_numpy(x), torch.from_numpy(w), stride=strides,
                                                    groups=groups, output_padding=1).numpy()
        for got in answers(tmp_path, x):
            assert_close([got], [want], what=str(size))


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("divisor", [5, None])
def test_the_divisor_of_a_torch_average(divisor, counted, tmp_path):
    """Exporters drop divisor_override; here it comes from PyTorch's own export."""
    import torch

    pool = torch.nn.AvgPool2d((3, 2), (2, 3), (1, 0), ceil_mode=True, count_include_pad=counted, divisor_override=divisor)
    x = torch.from_numpy(numbers(2, 3, 8, 13))
    torch.export.save(torch.export.export(pool, (x,)), tmp_path / "pool.pt2")
    convoy("port", tmp_path / "pool.pt2", "-o", tmp_path / "pool.onnx")
    for optimized in (False, True):
        runtime = session(tmp_path / "pool.onnx", optimized)
        got = runtime.run(None, {runtime.get_inputs()[0].name: x.numpy()})
        assert_close(got, [pool(x).numpy()])
