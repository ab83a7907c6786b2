"""Images resized as large as another tensor whose size is free, in exported programs: at several sizes as PyTorch does, in every
target that looks cells up at computed places."""
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from carrying import assert_close, convoy, run_natively
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


def test_another_way_is_refused(tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            return F.interpolate(F.max_pool2d(x, 2), size=x.shape[2:], mode="bicubic")

    free = {2: Dim("h", min=6, max=96), 3: Dim("w", min=6, max=96)}
    torch.export.save(torch.export.export(Net(), (torch.randn(2, 3, 12, 17),), dynamic_shapes=(free,)), tmp_path / "m.pt2")
    assert "output_size" in convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.py", code=6).stderr
