"""Images resized as large as another tensor whose size is free, in exported programs: at several sizes as PyTorch does, in every
target that looks cells up at computed places."""
import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from carrying import assert_close, convoy, import_file, plain_session, run_natively
from onnx import helper as make
from torch.export import Dim

BACK = {
    "bilinear": lambda x: F.interpolate(F.max_pool2d(x, 2), size=x.shape[2:], mode="bilinear"),
    "bilinear_corners": lambda x: F.interpolate(F.avg_pool2d(x, 3, 2), size=x.shape[2:], mode="bilinear", align_corners=True),
    "nearest": lambda x: F.interpolate(F.max_pool2d(x, 3, 2), size=x.shape[2:]),
    "one_known": lambda x: F.interpolate(F.max_pool2d(x, 2), size=(x.shape[2], 9), mode="bilinear"),
    "smaller": lambda x: F.interpolate(torch.cat([x, x], 2), size=x.shape[2:], mode="bilinear"),
}


@pytest.mark.parametrize("name", BACK)
def test_a_free_size_of_another_tensor(name, tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = torch.nn.Conv2d(3, 2, 3, padding=1)

        def forward(self, x):
            return self.convolution(x) + BACK[name](x[:, :2]) if name != "one_known" else self.convolution(BACK[name](x))

    net = Net().eval()
    height, width = Dim("h", min=6, max=96), Dim("w", min=6, max=96)
    free = {0: Dim("n"), 2: height, 3: width}
    torch.export.save(torch.export.export(net, (torch.randn(2, 3, 12, 17),), dynamic_shapes=(free,)), tmp_path / "m.pt2")
    random = np.random.default_rng(3)
    for shape in [(2, 3, 12, 17), (1, 3, 9, 30), (3, 3, 41, 8)]:
        x = random.normal(size=shape).astype("float32")
        want = net(torch.from_numpy(x)).detach().numpy()
        got = run_natively([tmp_path / "m.pt2"], {"x": x}, tmp_path)
        assert_close(got, [want], 2e-5)
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.py")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.onnx")
    import onnxruntime

    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert_close([session.run(None, {session.get_inputs()[0].name: x})[0]], [want], 2e-5)


def test_skip_connections_of_large_images(tmp_path):
    """The sizes of the export begin where those end that lengths were tried at."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.down = torch.nn.ModuleList(torch.nn.Conv2d(3 if i == 0 else 4, 4, 3, padding=1) for i in range(5))
            self.up = torch.nn.ModuleList(torch.nn.Conv2d(8, 4, 3, padding=1) for _ in range(5))

        def forward(self, x):
            skipped = []
            for layer in self.down:
                x = F.relu(layer(x))
                skipped.append(x)
                x = F.max_pool2d(x, 2)
            for layer in self.up:
                skip = skipped.pop()
                x = F.interpolate(x, scale_factor=2)
                missing = skip.shape[3] - x.shape[3], skip.shape[2] - x.shape[2]
                x = F.pad(x, [part for n in missing for part in (n // 2, n - n // 2)])
                x = F.relu(layer(torch.cat([x, skip], 1)))
            return x

    net = Net().eval()
    free = {0: Dim("n", min=1), 2: Dim("h", min=128, max=2000), 3: Dim("w", min=300, max=2000)}
    torch.export.save(torch.export.export(net, (torch.randn(2, 3, 133, 401),), dynamic_shapes=(free,)), tmp_path / "m.pt2")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.onnx")
    session = plain_session(tmp_path / "m.onnx")
    for shape in [(2, 3, 128, 300), (1, 3, 131, 347), (1, 3, 159, 333)]:
        x = np.random.default_rng(3).normal(size=shape).astype("float32")
        want = net(torch.from_numpy(x)).detach().numpy()
        assert_close(run_natively([tmp_path / "m.pt2"], {"x": x}, tmp_path), [want], 2e-5)
        assert_close(session.run(None, {session.get_inputs()[0].name: x}), [want], 2e-5)


def test_another_way_is_refused(tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            return F.interpolate(F.max_pool2d(x, 2), size=x.shape[2:], mode="bicubic")

    free = {2: Dim("h", min=6, max=96), 3: Dim("w", min=6, max=96)}
    torch.export.save(torch.export.export(Net(), (torch.randn(2, 3, 12, 17),), dynamic_shapes=(free,)), tmp_path / "m.pt2")
    assert "size that is free" in convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.py", code=6).stderr


# As ONNX says them, with how they are said there and whether ONNX Runtime and we agree in every bit.
ONNX_WAYS = {
    "bilinear": ({"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, False),
    "half_pixel": ({"mode": "linear", "coordinate_transformation_mode": "half_pixel"}, False),
    "corners": ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, False),
    "linear_asymmetric": ({"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, False),
    "nearest": ({"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, True),
}


@pytest.mark.parametrize("name", ONNX_WAYS)
def test_as_large_as_another_value_in_onnx(name, tmp_path):
    """Every pair of lengths: a last bit of a coordinate chooses another cell."""
    attributes, exact = ONNX_WAYS[name]
    nodes = [make.make_node("Shape", ["x"], ["front"], start=0, end=2), make.make_node("Shape", ["like"], ["behind"], start=2),
             make.make_node("Concat", ["front", "behind"], ["to"], axis=0), make.make_node("Resize", ["x", "", "", "to"], ["y"], **attributes)]  # fmt: skip
    floats = lambda label, shape: make.make_tensor_value_info(label, onnx.TensorProto.FLOAT, shape)
    graph = make.make_graph(nodes, "g", [floats("x", ["N", 2, "H", "W"]), floats("like", ["M", 1, "P", "Q"])], [floats("y", [None] * 4)])
    path = tmp_path / "m.onnx"
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), path)
    for port in ("p.py", "p.onnx"):
        convoy("port", path, "-o", tmp_path / port, "--interface", "source")
    right, again, net = plain_session(path), plain_session(tmp_path / "p.onnx"), import_file(tmp_path / "p.py").load()
    random = np.random.default_rng(5)
    for length in range(1, 40):
        for wanted in range(1, 40):
            x = random.integers(-9, 10, (1, 2, length, wanted)).astype("float32")
            like = np.zeros((1, 1, wanted, length), "float32")
            want = right.run(None, {"x": x, "like": like})[0]
            for got in (again.run(None, dict(zip((i.name for i in again.get_inputs()), (x, like))))[0], net(torch.from_numpy(x), torch.from_numpy(like)).numpy()):
                if exact:
                    np.testing.assert_array_equal(got, want, str((length, wanted)))
                else:
                    np.testing.assert_allclose(got, want, atol=2e-5, err_msg=str((length, wanted)))


def test_a_network_that_was_exported_with_free_sizes(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.wide, self.deep = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Conv2d(4, 4, 3, padding=1, stride=2)

        def forward(self, x):
            wide = self.wide(x)
            return wide + F.interpolate(self.deep(wide), size=wide.shape[2:], mode="bilinear")

    net, path = Net().eval(), tmp_path / "m.onnx"
    torch.onnx.export(net, (torch.randn(2, 3, 12, 17),), str(path), input_names=["x"], dynamo=False, opset_version=17, dynamic_axes={"x": {0: "n", 2: "h", 3: "w"}})
    import keras

    convoy("port", path, "-o", tmp_path / "p.keras", "--interface", "source")
    ported = keras.saving.load_model(tmp_path / "p.keras")
    for shape in [(2, 3, 12, 17), (1, 3, 9, 30), (3, 3, 41, 8), (1, 3, 1, 1)]:
        x = torch.randn(shape)
        assert_close([np.asarray(ported(x.numpy()))], [net(x).detach().numpy()], 2e-5)
