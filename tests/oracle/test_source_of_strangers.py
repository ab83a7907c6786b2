"""Small things that files of strangers do: what the frameworks answer where they run the file."""
import runpy

import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

PADS = """import torch, torch.nn as nn, torch.nn.functional as F
letters = list("0123456789")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.last = nn.Conv2d(3, 4, 3, 2), nn.Conv2d(7, letters.__len__(), 1)

    def forward(self, x):
        y = F.interpolate(self.down(x), scale_factor=2)
        diffY = torch.tensor([x.size()[2] - y.size()[2]])
        diffX = torch.tensor([x.size()[3] - y.size()[3]])
        y = F.pad(y, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.last(torch.cat([x, y], dim=1))
"""

INITIALISERS = """import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Input((7, 5, 2)),
                             tf.keras.layers.Conv2D(3, 3, kernel_initializer=tf.initializers.glorot_uniform())])
"""

LISTS = """import torch, torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 9)])
        self.a.insert(0, nn.Linear(5, 3))
        self.a.insert(1, nn.ReLU())
        self.a[1] = nn.Tanh()
        self.a.pop(-1)
        self.b = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 2))
        self.b.insert(1, nn.ReLU())
        self.b.insert(-1, nn.Sigmoid())
        self.b[-1] = nn.Linear(6, 7)
        self.c = self.b + nn.Sequential(nn.Linear(7, 8))
        self.d = nn.ModuleList([nn.Linear(8, 3)]) + nn.ModuleList([nn.Linear(3, 2)])

    def forward(self, x):
        for m in self.a:
            x = m(x)
        x = self.c(x)
        for m in self.d:
            x = m(x)
        return x
"""

EARLY = """import torch, torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 2)
        scale = (self.conv.weight.std().detach() / 0.1) ** 0.5
        self.conv.weight.data /= scale
        self.conv.bias.data /= scale
        self.conv.bias[1:3].data.zero_()
        self.scale = scale

    def forward(self, x):
        return self.conv(x)FACTOR
"""

ARRAYS = """import numpy as np, torch, torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a, e = np.arange(12).reshape(3, 4), np.eye(3)
        g = np.stack(np.meshgrid(range(4), range(3), indexing="xy"), axis=0).astype(np.float32)
        h = np.stack(np.meshgrid(np.arange(2), np.linspace(0, 1, 3), [5, 7], indexing="ij"), axis=-1)
        parts = [np.identity(3).flatten(), e.ravel(), a.transpose(), a.T, np.transpose(a.reshape(2, 3, 2), (2, 0, 1)), g, h,
                 np.tile(a, 2), np.tile([1., 2.], (2, 3)), np.tile(g, (2, 1, 1)), np.repeat([1., 2.], 2), a.repeat(3, 0),
                 np.repeat(a, 2, axis=1), a.reshape(-1, 2, order="C"), np.expand_dims(e, 1).squeeze(), np.squeeze(a[None]),
                 np.concatenate([e, e * 2], axis=1), np.concatenate([np.arange(3), [.5]]), np.ravel(e), np.expand_dims(a, -1),
                 np.reshape(range(6), (2, -1)), np.meshgrid(np.arange(3), np.arange(2))[1], np.stack([[1, 2], [3, 4]])]
        self.parts = [torch.from_numpy(np.array(p).astype(np.float32)) for p in parts]

    def forward(self, x):
        return [p * x for p in self.parts]
"""

# By TensorFlow's own words for the order of axes.
ORDERS = """import numpy as np
import tensorflow as tf

K = (np.arange(192).reshape(3, 2, 8, 4) / 100).astype("float32")
D = (np.arange(72).reshape(3, 3, 8, 1) / 100).astype("float32")
B = np.arange(8).astype("float32")

def net(of="FORMAT"):
    x = tf.keras.Input((8, 8, 12) if of == "NCHW" else (8, 12, 8))
    by = lambda h, w: [1, 1, h, w] if of == "NCHW" else [1, h, w, 1]
    calls = [lambda t: tf.nn.depth_to_space(t, block_size=2, data_format=of), lambda t: tf.nn.space_to_depth(t, 2, of),
             lambda t: tf.nn.avg_pool(t, by(2, 3), by(2, 1), "SAME", of), lambda t: tf.nn.avg_pool2d(t, 2, 2, "VALID", of),
             lambda t: tf.nn.max_pool(t, ksize=2, strides=2, padding="VALID", data_format=of),
             lambda t: tf.nn.max_pool2d(t, [2, 3], [1, 2], "SAME", data_format=of),
             lambda t: tf.nn.conv2d(t, K, by(2, 1), "SAME", data_format=of),
             lambda t: tf.nn.depthwise_conv2d(t, D, by(1, 1), "SAME", data_format=of),
             lambda t: tf.nn.bias_add(t, B, data_format=of)]
    return tf.keras.Model(x, [tf.keras.layers.Lambda(call)(x) for call in calls])
"""

RESIZES = """import tensorflow as tf

def net():
    x = tf.keras.Input((7, 9, 2))
    of_1, outputs = tf.compat.v1.image, []
    for size in ((14, 18), (5, 4), (7, 20), (21, 27), (1, 13)):
        calls = [lambda t, s=size, c=c, f=f: f(t, s, align_corners=c) for c in (False, True)
                 for f in (of_1.resize_bilinear, of_1.resize_nearest_neighbor)]
        calls += [lambda t, s=size: of_1.resize_images(t, s), lambda t, s=size: of_1.resize_images(t, s, 1),
                  lambda t, s=size: of_1.resize(t, s, method=tf.image.ResizeMethod.NEAREST_NEIGHBOR),
                  lambda t, s=size: of_1.resize_bilinear(t, s, half_pixel_centers=True)]
        outputs += [tf.keras.layers.Lambda(call)(x) for call in calls]
    line = tf.keras.layers.Lambda(lambda t: t + tf.reshape(tf.linspace(-1.0, 1.0, 9), (1, 1, 9, 1)))
    return tf.keras.Model(x, [*outputs, line(x), tf.keras.layers.Lambda(lambda t: tf.matmul(tf.eye(5, 7), t[..., 0]))(x)])
"""

SHIFTS = """import torch, torch.nn as nn

class Net(nn.Module):
    def forward(self, x):
        return [x << k for k in AMOUNTS] + [x >> k for k in AMOUNTS] + [
            torch.bitwise_left_shift(x, 2), torch.bitwise_right_shift(x, torch.tensor(3)), x.bitwise_right_shift(1)]
"""

WINDOWS = """import torch, torch.nn as nn

class Net(nn.Module):
    def forward(self, x):
        y = [torch.hamming_window(9, True, 0.6, 0.3), torch.hann_window(5, dtype=torch.float64).float(),
             torch.hamming_window(6, False, 0.4), x.new_tensor([1, 2])]
        for n in (0, 1, 2, 7, 8):
            for p in (True, False):
                y += [torch.hann_window(n, periodic=p), torch.hamming_window(n, p), torch.blackman_window(n, p),
                      torch.bartlett_window(n, p)]
        return torch.cat(y) + x
"""


def made_by(source: str, folder):
    """The class Net of a program, at rest, and the file it stands in."""
    import torch

    (folder / "net.py").write_text(source)
    torch.manual_seed(0)
    return runpy.run_path(str(folder / "net.py"))["Net"]().eval(), folder / "net.py"


def test_the_forward_of_a_module_is_the_one_that_python_finds(tmp_path):
    import torch

    net, file = made_by("import torch.nn as nn\n\nclass Twice(nn.Module):\n    @staticmethod\n"
                        "    def forward(x):\n        return 2 * x\n\nclass Net(nn.Module):\n"
                        "    act = Twice()\n\n    def __init__(self):\n        super().__init__()\n"
                        "        self.forward = self.fused\n\n    def forward(self, x):\n        return x\n\n"
                        "    def fused(self, x):\n        return self.act(x) + 1\n", tmp_path)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    got = run_natively([file], {"x": x}, tmp_path)
    assert_close(got, [net(torch.from_numpy(x)).numpy()])


def test_lists_of_modules_grow_anywhere_and_are_joined(tmp_path):
    import torch

    net, file = made_by(LISTS, tmp_path)
    torch.save(net.state_dict(), tmp_path / "w.pt")
    x = np.random.default_rng(1).normal(size=(2, 5)).astype("float32")
    got = run_natively([file], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [net(torch.from_numpy(x)).detach().numpy()])


def test_a_list_is_repeated_as_often_as_an_array_says(tmp_path):
    net, file = made_by("""import numpy as np, torch, torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        repeat = np.full((3,), 1)
        repeat[1:-1] *= 2
        widths = sum([[a] * r for (a, r) in zip([4, 5, 6], repeat)], []) + [7] * torch.tensor(2)
        self.steps = nn.Sequential(*[nn.Linear(a, b) for a, b in zip([3] + widths, widths)])

    def forward(self, x):
        return self.steps(x)
""", tmp_path)
    import torch

    torch.save(net.state_dict(), tmp_path / "w.pt")
    x = np.random.default_rng(1).normal(size=(2, 3)).astype("float32")
    got = run_natively([file], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [net(torch.from_numpy(x)).detach().numpy()])


def test_arrays_of_known_numbers_take_other_shapes_as_in_numpy(tmp_path):
    import torch

    net, file = made_by(ARRAYS, tmp_path)
    x = np.full((1,), 2, "float32")
    got = run_natively([file], {"x": x}, tmp_path)
    for mine, theirs in zip(got, net(torch.from_numpy(x)), strict=True):
        np.testing.assert_array_equal(mine, theirs.numpy())


def test_parts_are_written_at_places_and_lists_together(tmp_path):
    import torch

    net, file = made_by("import torch, torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                        "        self.q = nn.Parameter(torch.randn(3, 2) / 100)\n\n    def forward(self, x):\n"
                        "        at, o, p = torch.argmax(self.q, 0), torch.zeros(3, 2), torch.zeros(4, 3, 5)\n"
                        "        for j in range(2):\n            o[at[j], j] = 1\n        p[[0, 2], -1] = 2.\n"
                        "        p[1, [0, 1], :] = torch.arange(5.)\n        p[-3, at, torch.tensor([0, 4])] = x[0, :2]\n"
                        "        return x @ o, p\n", tmp_path)
    torch.save(net.state_dict(), tmp_path / "w.pt")
    x = np.random.default_rng(1).normal(size=(4, 3)).astype("float32")
    got = run_natively([file], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [y.numpy() for y in net(torch.from_numpy(x))])


@pytest.mark.parametrize("order", ["NHWC", "NCHW"])
def test_tensorflows_words_for_the_order_of_axes(tmp_path, order):
    (tmp_path / "net.py").write_text(ORDERS.replace("FORMAT", order))
    x = np.random.default_rng(1).normal(size=(2, 8, 12, 8)).astype("float32")
    # A CPU has no channels first: the same images with them last.
    want = runpy.run_path(str(tmp_path / "net.py"))["net"]("NHWC")(x)
    turned = x if order == "NHWC" else x.transpose(0, 3, 1, 2)
    got = run_natively([f"{tmp_path / 'net.py'}:net"], {"x": turned}, tmp_path)
    assert_close(got, [y.numpy() if order == "NHWC" else y.numpy().transpose(0, 3, 1, 2) for y in want])


def test_resizes_of_tensorflow_1_lie_where_it_lays_them(tmp_path):
    (tmp_path / "net.py").write_text(RESIZES)
    x = np.random.default_rng(1).normal(size=(2, 7, 9, 2)).astype("float32")
    want = runpy.run_path(str(tmp_path / "net.py"))["net"]()(x)
    assert_close(run_natively([f"{tmp_path / 'net.py'}:net"], {"x": x}, tmp_path), [y.numpy() for y in want])


OLD_PATHS = {
    "normalization": "keras.layers.normalization.BatchNormalization()(x)",
    "pooling": "keras.layers.pooling.MaxPooling2D(2)(x)",
    "advanced activations": "keras.layers.advanced_activations.LeakyReLU()(x)",
    "recurrent": "keras.layers.recurrent.LSTM(3)(keras.layers.core.Reshape((12, 6))(x))",
    "wrappers": "keras.layers.wrappers.TimeDistributed(keras.layers.Dense(2))(x)",
    "merge": "keras.layers.merge.add([x, x])",
    "a function": "keras.layers.merge([x, x], mode='sum')",
    "topology": "keras.engine.topology.Layer()(x)",
    "convolutional": "keras.layers.convolutional.Conv2D(2, 3, data_format=keras.utils.conv_utils.normalize_data_format(None))(x)",
    "preprocessing": "keras.layers.experimental.preprocessing.Rescaling(.5)(tf.keras.layers.Layer()(x))",
    "constraints": "keras.layers.Dense(2, kernel_constraint=max_norm(2.))(x)",
}


@pytest.mark.parametrize("name", sorted(OLD_PATHS))
def test_old_paths_of_keras_are_followed_by_attributes(tmp_path, name):
    (tmp_path / "net.py").write_text(
        "import keras\nimport tensorflow as tf\nfrom tensorflow.python.keras.api._v2.keras.constraints import max_norm\n"
        f"x = keras.layers.Input((4, 9, 2))\nnet = keras.models.Model(x, {OLD_PATHS[name]})\n")
    convoy("port", tmp_path / "net.py", "-o", tmp_path / "net.onnx")


def test_a_refusal_is_the_same_by_an_expression(tmp_path):
    (tmp_path / "net.py").write_text("import keras\n\ndef net():\n    return [keras.layers.Unheard()]\n")
    for target in ("net", "net()[0]", "net().model"):
        refused = convoy("summary", f"{tmp_path / 'net.py'}:{target}", code=6)
        assert f"net.py: {target}: net.py:4:26: " in refused.stderr
    assert "there is no 'missing'" in convoy("summary", f"{tmp_path / 'net.py'}:missing()", code=2).stderr


@pytest.mark.parametrize("imports", ["import mypk.models", "import mypk.models as q", "import mypk.models.parts"])
def test_a_package_holds_the_modules_that_were_imported_of_it(tmp_path, imports):
    models = tmp_path / "mypk" / "models"
    models.mkdir(parents=True)
    (tmp_path / "mypk" / "__init__.py").write_text("")
    (models / "__init__.py").write_text("from .parts import f\n")
    (models / "parts.py").write_text("import torch.nn as nn\n\ndef f():\n    return nn.Linear(3, 2)\n")
    called = "q.f()" if " as " in imports else "mypk.models.parts.f()"
    (tmp_path / "net.py").write_text(f"{imports}\nnet = {called}\n")
    assert "Linear" in convoy("summary", tmp_path / "net.py", "--shape", "1,3").stdout


def test_recurrent_weights_are_laid_side_by_side(tmp_path):
    import torch

    net, file = made_by("import torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                        "        self.a, self.b, self.c = nn.LSTM(5, 4, 2), nn.GRU(4, 3), nn.RNN(3, 2)\n\n"
                        "    def forward(self, x):\n        for one in (self.a, self.b, self.c):\n"
                        "            one.flatten_parameters()\n            x, _ = one(x)\n        return x\n", tmp_path)
    torch.save(net.state_dict(), tmp_path / "w.pt")
    x = np.random.default_rng(1).normal(size=(3, 2, 5)).astype("float32")
    got = run_natively([file], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [net(torch.from_numpy(x)).detach().numpy()])


def test_levels_by_their_numbers_and_widths_by_fans(tmp_path):
    import torch

    net, file = made_by("""import math, torch, torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(3):
            setattr(self, "level_%d" % i, nn.Conv2d(2 + i, 3 + i, (2, 3)))
        fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(self.level_1.weight)
        self.scale, self.last = 1 / math.sqrt(fan_in), nn.Linear(fan_in, fan_out)

    def forward(self, x):
        for i in range(3):
            x = self.__getattr__("level_%d" % i)(x)
        return self.last(self.scale * x.flatten(2))
""", tmp_path)
    torch.save(net.state_dict(), tmp_path / "w.pt")
    x = np.random.default_rng(1).normal(size=(2, 2, 5, 15)).astype("float32")
    got = run_natively([file], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [net(torch.from_numpy(x)).detach().numpy()])


HOOKED = """import torch, torch.nn as nn
from torch.nn.utils.spectral_norm import spectral_norm

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 4), spectral_norm(nn.Linear(4, 5)), nn.ReLU()
        self.seen = []
        self.a.register_forward_hook(self.keep)
        self.a.register_forward_hook(lambda module, given, made: 2 * made)
        self.a.register_forward_hook(lambda module, given, made: None)
        gone = self.a.register_forward_hook(lambda module, given, made: made - 7)
        gone.remove()
        again = self.a.register_forward_hook(lambda module, given, made: made + 1)
        gone.remove()
        self.a.register_forward_hook(lambda module, given, made: made + given[0].sum())
        self.b.register_forward_pre_hook(lambda module, given: given[0] + 1)
        self.c.register_forward_pre_hook(lambda module, given: (given[0] - 0.5,))
        self.b.register_full_backward_hook(lambda module, *given: given[0])
        self.c.register_backward_hook(self.keep).remove()

    def keep(self, module, given, made):
        self.seen.append(made)

    def forward(self, x):
        y = self.c(self.b(self.a(x)))
        y.register_hook(print) if y.requires_grad else None
        return y, self.seen.pop()
"""


def test_hooks_of_the_forward_are_called_and_those_of_the_gradient_are_not(tmp_path):
    import torch

    net, file = made_by(HOOKED, tmp_path)
    torch.save(net.state_dict(), tmp_path / "w.pt")
    x = np.random.default_rng(1).normal(size=(2, 3)).astype("float32")
    got = run_natively([file], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [y.detach().numpy() for y in net(torch.from_numpy(x))])


@pytest.mark.parametrize("size", ["tf.shape(x)[1:3] // 2", "tf.shape(x)[1:3] * 2", "2 * tf.shape(x)[1:3]", "tf.shape(x)[1:3] + [1, 3]",
                                  "tf.shape(x)[1:3] + tf.shape(x)[2:4]", "tf.shape(x)[-3:-1] - 2", "K.shape(x)[1:3] * 2", "ops.shape(x)[1:2] + (5,)"])
def test_the_shape_of_tensorflow_is_a_tensor_that_of_keras_a_tuple(size, tmp_path):
    import keras

    (tmp_path / "net.py").write_text("import tensorflow as tf\nfrom tensorflow.keras import backend as K\nfrom keras import ops, layers, Model\n"
                                     "def net():\n    x = i = layers.Input((9, 7, 2))\n"
                                     f"    y = layers.Lambda(lambda x: tf.image.resize(x, {size}, method='nearest'))(x)\n"
                                     "    return Model(i, layers.Conv2D(3, 2)(y))\n")
    net = runpy.run_path(str(tmp_path / "net.py"))["net"]()
    net.save_weights(tmp_path / "w.weights.h5")
    x = np.random.default_rng(1).normal(size=(2, 9, 7, 2)).astype("float32")
    got = run_natively([f"{tmp_path}/net.py:net"], {"x": x}, tmp_path, "--weights", tmp_path / "w.weights.h5")
    assert_close(got, [np.asarray(net(x))])
    keras.backend.clear_session()


def test_weights_that_are_scaled_while_a_module_is_built_come_from_the_file(tmp_path):
    import torch

    net, file = made_by(EARLY.replace("FACTOR", ""), tmp_path)
    torch.save(net.state_dict(), tmp_path / "w.pt")
    x = np.random.default_rng(1).normal(size=(2, 3, 7)).astype("float32")
    np.save(tmp_path / "x.npy", x)
    got = run_natively([file], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [net(torch.from_numpy(x)).detach().numpy()])
    # Without a file their first numbers count, and what was computed from those is not in the file.
    refused = convoy("run", file, "--input", tmp_path / "x.npy", code=6)
    assert "computes with weights while the module is built" in refused.stderr
    _, file = made_by(EARLY.replace("FACTOR", " * self.scale"), tmp_path)
    refused = convoy("run", file, "--weights", tmp_path / "w.pt", "--input", tmp_path / "x.npy", code=6)
    assert "computed from weights while the module was built" in refused.stderr


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "bool"])
def test_bits_are_shifted_as_in_pytorch(tmp_path, dtype):
    import torch

    net, file = made_by(SHIFTS.replace("AMOUNTS", "(0, 1, 6, 7, 8, 15, 31, 32, 62, 63, 64, -1)"), tmp_path)
    x = np.array([[-128, -5, -1, 0], [1, 7, 100, 127]]).astype(dtype)
    got = run_natively([file], {"x": x}, tmp_path)
    for mine, theirs in zip(got, net(torch.from_numpy(x)), strict=True):
        assert mine.dtype == theirs.numpy().dtype
        np.testing.assert_array_equal(mine, theirs.numpy())
    np.save(tmp_path / "x.npy", x)
    for amounts in ("(1.5,)", "(torch.tensor(2.0),)", "(torch.tensor(True),)" if dtype == "bool" else "(2.0,)"):
        net, file = made_by(SHIFTS.replace("AMOUNTS", amounts), tmp_path)
        with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
            net(torch.from_numpy(x))
        assert "no whole number" in convoy("run", file, "--input", tmp_path / "x.npy", code=5).stderr


@pytest.mark.parametrize("form", ["source", "trace", "exported"])
def test_windows_are_pytorchs(tmp_path, form):
    import torch

    net, file = made_by(WINDOWS, tmp_path)
    x = np.zeros((1, 1), "float32")
    if form == "trace":
        torch.jit.trace(net, torch.from_numpy(x)).save(file := tmp_path / "net.pt")
    if form == "exported":
        torch.export.save(torch.export.export(net, (torch.from_numpy(x),)), file := tmp_path / "net.pt2")
    got = run_natively([file], {"x": x}, tmp_path)
    np.testing.assert_allclose(got[0], net(torch.from_numpy(x)).numpy(), rtol=0, atol=1.2e-7)


def test_several_inputs_without_names_are_told_apart_by_nobody(tmp_path):
    (tmp_path / "net.py").write_text("import torch.nn as nn\n\nclass Net(nn.Module):\n"
                                     "    def forward(self, x, y):\n        return x + y\n")
    np.save(tmp_path / "x.npy", np.zeros((2, 3), "float32"))
    refused = convoy("run", tmp_path / "net.py", "--input", tmp_path / "x.npy", "--input", tmp_path / "x.npy", code=2)
    assert "several times without a name" in refused.stderr


def test_pads_and_lengths_as_tensors_of_one_number(tmp_path):
    import torch

    (tmp_path / "net.py").write_text(PADS)
    torch.manual_seed(0)
    net = runpy.run_path(str(tmp_path / "net.py"))["Net"]().eval()
    x = np.random.default_rng(1).normal(size=(2, 3, 11, 13)).astype("float32")
    got = run_natively([tmp_path / "net.py"], {"x": x}, tmp_path, "--seed", "0", "--shape", "x=2,3,11,13")
    assert_close(got, [net(torch.from_numpy(x)).detach().numpy()])


def test_initialisers_by_tensorflows_name(tmp_path):
    (tmp_path / "net.py").write_text(INITIALISERS)
    x = np.random.default_rng(1).normal(size=(2, 7, 5, 2)).astype("float32")
    got = run_natively([tmp_path / "net.py"], {"x": x}, tmp_path, "--seed", "3")
    assert got[0].shape == (2, 5, 3, 3)


def test_running_numbers_that_are_rounding_alone_are_refused(tmp_path):
    """Constant images leave nothing behind a normalisation but what rounding made of them, which the next one magnifies."""
    import torch

    text = """import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.norm = nn.Conv2d(channels, channels, 1), nn.BatchNorm2d(channels)
        self.second, self.last = nn.Conv2d(channels, channels, 1), nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.last(self.second(torch.relu(self.norm(self.first(x))))))

class Net(nn.Module):
    def __init__(self, dummy):
        super().__init__()
        self.stem, self.body = nn.Conv2d(3, 4, 3), nn.Sequential(*[Block(4) for _ in range(8)])
        with torch.no_grad():
            size = self.body(self.stem(dummy((1, 3, 9, 8)))).view(-1).shape[0]
        self.head = nn.Linear(size, 2)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).flatten(1))
"""
    (tmp_path / "net.py").write_text(text)
    x = np.random.default_rng(3).normal(size=(2, 3, 9, 8)).astype("float32")
    np.save(tmp_path / "x.npy", x)
    run = ["--shape", "2,3,9,8", "--seed", "1", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy"]
    done = convoy("run", f"{tmp_path}/net.py:Net(torch.zeros)", *run, code=6)
    assert "rounding alone" in done.stderr
    convoy("run", f"{tmp_path}/net.py:Net(torch.rand)", *run)
    torch.manual_seed(1)
    net = runpy.run_path(str(tmp_path / "net.py"))["Net"](torch.rand).eval()
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), net(torch.from_numpy(x)).detach(), rtol=1e-4, atol=1e-5)
