"""Exported programs that compute under torch.autocast, as the file holds them: without one of the casts. Judged by PyTorch."""

import json
import zipfile

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from carrying import convoy, plain_session, run_natively
from torch import nn

UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


class Region(nn.Module):
    def __init__(self, call, dtype, **parts):
        super().__init__()
        self.call, self.dtype = call, dtype
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        with torch.autocast("cpu", dtype=self.dtype):
            return self.call(self, x)


def layers(s, x):
    y = F.relu(s.norm(s.conv(x)))
    y = F.max_pool2d(s.down(y), 2)
    return s.dense(y.mean((2, 3)))


def twice_read(s, x):  # a weight that two layers share, and what comes out of the lower type meets float32
    y = s.dense(s.dense(x.mean((2, 3)).repeat(1, 2)[:, :6]))
    return y + x.mean((2, 3)).repeat(1, 2)


def attention(s, x):
    y = s.norm(x.flatten(2).transpose(1, 2))
    q, k, v = s.qkv(y).chunk(3, -1)
    return s.out(F.scaled_dot_product_attention(q, k, v)) + y


def float32_by_name(s, x):
    y = s.conv(x)
    return F.mse_loss(F.pad(y, (1, 2, 2, 1), mode="reflect"), F.pad(y, (1, 2, 2, 1)) * 0.5, reduction="none").prod(1)


def widest(s, x):
    y = s.conv(x)
    return torch.cat([y, x[:, :2, 2:, 1:]], 1), torch.stack([y, y * 2], 1), torch.cat([y, y], 2)


def products(s, x):
    y = x[:, 0]
    return (torch.einsum("bij,kj->bik", y, s.matrix), torch.einsum("bij,ij->bij", y, s.matrix[:8]),
            torch.tensordot(y, s.matrix, ([2], [1])), y @ s.matrix.T)


def inside(s, x):  # off again, in double and back
    y = s.conv(x)
    with torch.autocast("cpu", enabled=False):
        z = s.conv(x.float()).double().float()
    with torch.no_grad():
        w = s.down(y)
    return y, z, w


def conv():
    return nn.Conv2d(3, 6, (3, 2))


def norm(channels):
    made = nn.BatchNorm2d(channels)
    made.running_mean = torch.arange(channels) / 8
    made.running_var = torch.arange(channels) / 4 + 0.5
    return made


def regions(dtype):
    parts = {
        "layers": (layers, {"conv": conv(), "norm": norm(6), "down": nn.ConvTranspose2d(6, 4, 2, stride=2), "dense": nn.Linear(4, 5)}),
        "twice_read": (twice_read, {"dense": nn.Linear(6, 6)}),
        "attention": (attention, {"norm": nn.LayerNorm(3), "qkv": nn.Linear(3, 12), "out": nn.Linear(4, 3)}),
        "float32_by_name": (float32_by_name, {"conv": conv()}),
        "widest": (widest, {"conv": conv()}),
        "products": (products, {"matrix": nn.Parameter(torch.zeros(9, 9))}),
        "inside": (inside, {"conv": conv(), "down": nn.Conv2d(6, 2, 1, bias=False)}),
        "slopes": (lambda s, x: s.slope(s.conv(x)), {"conv": conv(), "slope": nn.PReLU(6)}),
    }  # fmt: skip
    return {name: Region(call, dtype, **modules).eval() for name, (call, modules) in parts.items()}


def saved(net, path):
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randint(-7, 8, p.shape, generator=generator) / 11)
    x = torch.randn(2, 3, 8, 9, generator=generator)
    program = torch.export.export(net, (x,))
    torch.export.save(program, path)
    return program, x


def answered(program, x):
    with torch.no_grad():
        wanted = program.module()(x)
    return [y.float().numpy() for y in (wanted if isinstance(wanted, tuple) else (wanted,))]


def close(got, wanted, unit):
    for mine, theirs in zip(got, wanted, strict=True):
        mine = np.asarray(mine, np.float32)
        assert mine.shape == theirs.shape
        assert np.abs(mine - theirs).max() <= 4 * unit * np.abs(theirs).max()


@pytest.mark.parametrize("dtype", UNIT, ids=lambda d: str(d)[6:])
@pytest.mark.parametrize("name", regions(torch.bfloat16))
def test_a_region_under_autocast_is_run_and_carried(name, dtype, tmp_path):
    net = regions(dtype)[name]
    program, x = saved(net, tmp_path / "net.pt2")
    x, wanted = x.numpy(), answered(program, x)
    members = zipfile.ZipFile(tmp_path / "net.pt2")
    text = members.read(next(n for n in members.namelist() if n.endswith("model.json"))).decode()
    assert "wrap_with_autocast" in text and "_to_copy" not in text
    close(run_natively([tmp_path / "net.pt2"], {"x": x}, tmp_path), wanted, UNIT[dtype])
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.py")
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.onnx", "--float32")
    session = plain_session(tmp_path / "port.onnx")
    close(session.run(None, {session.get_inputs()[0].name: x}), wanted, 4 * UNIT[dtype])


@pytest.mark.parametrize("name", regions(torch.bfloat16))
def test_its_casts_are_those_that_decompositions_name(name, tmp_path):
    """What is written out and what is not are one model, but for how a product and its bias are rounded."""
    program, x = saved(regions(torch.bfloat16)[name], tmp_path / "net.pt2")
    torch.export.save(program.run_decompositions(), tmp_path / "named.pt2")
    x = x.numpy()
    mine = run_natively([tmp_path / "net.pt2"], {"x": x}, tmp_path)
    for a, b in zip(mine, run_natively([tmp_path / "named.pt2"], {"x": x}, tmp_path), strict=True):
        assert np.abs(np.asarray(a, np.float32) - np.asarray(b, np.float32)).max() <= 2 * UNIT[torch.bfloat16] * np.abs(b).max()


def test_layers_whose_parts_are_cast_are_refused_with_what_to_do(tmp_path):
    saved(Region(lambda s, x: s.cell(x[:, 0])[0], torch.bfloat16, cell=nn.LSTM(9, 4, batch_first=True)).eval(), tmp_path / "net.pt2")
    assert "run_decompositions()" in convoy("summary", tmp_path / "net.pt2", code=6).stderr


def on_cuda(path, types):
    """The file as a machine with such a device writes it: `types` are those that autocast gives there."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    name = next(n for n in members if n.endswith("model.json"))
    program = json.loads(members[name])
    codes = {torch.float16: 6, torch.float32: 7}

    def change(graph):
        for value, meta in graph["tensor_values"].items():
            meta["device"]["type"] = "cuda"
            if value in types:
                meta["dtype"] = codes[types[value]]
        for node in graph["nodes"]:
            for given in node["inputs"]:
                if given["arg"].get("as_string") == "cpu":
                    given["arg"]["as_string"] = "cuda"
                if "as_graph" in given["arg"]:
                    change(given["arg"]["as_graph"]["graph"])

    change(program["graph_module"]["graph"])
    members[name] = json.dumps(program).encode()
    with zipfile.ZipFile(path, "w") as new:
        for one, data in members.items():
            new.writestr(one, data)


CUDA = {
    "softmax": lambda x, w: torch.softmax(F.linear(x, w), -1),
    "norm": lambda x, w: F.layer_norm(F.linear(x, w), (8,)),
    "sum": lambda x, w: F.linear(x, w).sum(1),
    "asked": lambda x, w: torch.cumsum(F.linear(x, w), 1, dtype=torch.float16),
    "square": lambda x, w: F.linear(x, w).square(),
    "power": lambda x, w: F.linear(x, w).abs().pow(1.5),
    "stays": lambda x, w: torch.cat([F.linear(x, w), F.linear(x, w)], 1),
    "resized": lambda x, w: F.interpolate(F.linear(x, w), scale_factor=2, mode="nearest"),
    "widest": lambda x, w: torch.addcmul(x, F.linear(x, w), x),
    "entropy": lambda x, w: F.cross_entropy(F.linear(x, w), torch.softmax(x, 1), reduction="none"),
}  # fmt: skip


@pytest.mark.parametrize("name", CUDA)
def test_a_region_of_another_device_has_that_device_s_casts(name, tmp_path):
    from torch._subclasses import FakeTensorMode

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(8, 8, generator=torch.Generator().manual_seed(1)))

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.float16):
                return CUDA[name](x, self.w)

    x = torch.randn(2, 3, 8)
    program = torch.export.export(Net().eval(), (x,))
    torch.export.save(program, tmp_path / "net.pt2")
    types = {}

    class Types(torch.fx.Interpreter):
        def run_node(self, node):
            made = super().run_node(node)
            if isinstance(made, torch.Tensor) and made.is_floating_point():
                types[node.name] = made.dtype
            return made

    region = next(m for n, m in program.graph_module.named_children() if n.startswith("submod"))
    order = [n.name for n in region.graph.nodes if n.op == "placeholder"]
    with FakeTensorMode():
        given = [torch.empty(n.meta["val"].shape, device="cuda") for n in region.graph.nodes if n.op == "placeholder"]
        assert len(order) == 2
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.float16)
        try:
            result = Types(region).run(*given)
        finally:
            torch.set_autocast_enabled("cuda", False)
    whole = next(n for n in program.graph.nodes if n.op == "output").args[0][0]
    types[whole.name] = result[0].dtype
    on_cuda(tmp_path / "net.pt2", types)
    convoy("summary", tmp_path / "net.pt2")  # every type is compared with what the file says
    np.save(tmp_path / "x.npy", x.numpy())
    convoy("run", tmp_path / "net.pt2", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npz")
