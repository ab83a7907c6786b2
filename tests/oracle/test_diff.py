"""What `convoy diff` says of models that people wrote: questions as they are asked, and one network in several packages."""
import json
import subprocess
import sys

import numpy as np
import pytest
from carrying import CONVOY, SHARED, convoy, said

SNIPPETS, MODELS = SHARED / "snippets", SHARED / "models"


def diff(*arguments):
    """(exit code, answer)"""
    done = subprocess.run([str(CONVOY), "diff", *map(str, arguments), "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def same(*arguments):
    code, answer = diff(*arguments)
    return code == 0 and answer["same"]


def causes(answer):
    return {(d["b"], d["cause"]) for d in answer["differences"]}


# ---- questions as people ask them -----------------------------------------------------------------------------------------


def trained(model, seed=0):
    """The Keras model with numbers that nothing in it hides: no zeros and no ones."""
    rng = np.random.default_rng(seed)
    for layer in model.layers:
        numbers = []
        for variable in layer.weights:
            values = rng.standard_normal(variable.shape) * 0.3
            numbers.append(np.abs(values) + 0.5 if "variance" in variable.path or "gamma" in variable.path else values)
        layer.set_weights(numbers)
    return model


@pytest.mark.skipif(not SNIPPETS.is_dir(), reason="no snippets beside the project")
def test_all_three_faults_of_a_block_ported_by_hand_are_named_in_one_run(tmp_path):
    keras = pytest.importorskip("keras")
    torch = pytest.importorskip("torch")
    keras.utils.clear_session()  # the names of layers count from the start of the session
    there = {**vars(keras.layers), "Sequential": keras.Sequential}
    exec((SNIPPETS / "keras_block.py").read_text(), there)  # noqa: S102  the snippet has no imports of its own
    original = trained(there["net"])
    original.save(tmp_path / "block.keras")
    here = {}
    exec((SNIPPETS / "torch_block_ported_by_hand.py").read_text(), here)  # noqa: S102
    net = here["net"].eval()
    with torch.no_grad():
        for index, name in ((0, "conv2d"), (4, "conv2d_1")):
            kernel = next(v for layer in original.layers if layer.name == name for v in layer.weights if "kernel" in v.path)
            net[index].weight.copy_(torch.from_numpy(np.asarray(kernel).transpose(3, 2, 0, 1).copy()))
    torch.export.save(torch.export.export(net, (torch.zeros(1, 3, 32, 32),)), tmp_path / "port.pt2")
    _, answer = diff(tmp_path / "block.keras", tmp_path / "port.pt2")
    expected = json.loads((SNIPPETS / "expected.json").read_text())["torch_block_ported_by_hand"]["faults"]
    wanted = {(layer, fault["cause"]) for fault in expected for layer in fault["layers"]}
    named = {(d["b"], cause) for d in answer["differences"] for cause in [d["cause"], *d["also"]]}
    assert wanted <= named, answer["differences"]
    assert {cause for _, cause in causes(answer)} <= {cause for _, cause in wanted}, causes(answer)


@pytest.mark.skipif(not SNIPPETS.is_dir(), reason="no snippets beside the project")
def test_a_stride_of_two_compared_in_both_frameworks_is_explained(tmp_path):
    keras = pytest.importorskip("keras")
    torch = pytest.importorskip("torch")
    kernel = np.full((3, 3, 3, 8), 0.05, np.float32)
    there = keras.Sequential([keras.Input((10, 10, 3)), keras.layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)])
    there.layers[0].set_weights([kernel])
    there.save(tmp_path / "there.keras")
    here = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False).eval()
    with torch.no_grad():
        here.weight.copy_(torch.from_numpy(kernel).permute(3, 2, 0, 1))
    torch.export.save(torch.export.export(here, (torch.zeros(1, 3, 10, 10),)), tmp_path / "here.pt2")
    _, answer = diff(tmp_path / "there.keras", tmp_path / "here.pt2")
    expected = json.loads((SNIPPETS / "expected.json").read_text())["stride_two_compared"]
    assert answer["first"]["cause"] == expected["cause"]
    assert "F.pad(x, (0, 1, 0, 1))" in answer["first"]["fix"]["torch"]


# ---- one network in several packages ---------------------------------------------------------------------------------------

published = pytest.mark.skipif(not MODELS.is_dir(), reason="no models beside the project")


@published
@pytest.mark.parametrize("net", ["pnet", "rnet"])
def test_mtcnn_from_two_packages_is_the_same(net):
    assert same(MODELS / f"mtcnn/{net}.keras", MODELS / f"mtcnn/{net}.pt2")


@published
@pytest.mark.parametrize("net", ["pnet", "rnet", "onet"])
def test_the_third_form_of_mtcnn_reads_rows_for_columns_and_nothing_else(net):
    _, answer = diff(MODELS / f"mtcnn/{net}.keras", MODELS / f"mtcnn/{net}.onnx")
    assert [d["cause"] for d in answer["differences"]] == ["input_hw_swapped"]


@published
def test_crepe_from_two_packages_is_the_same(tmp_path):
    torch = pytest.importorskip("torch")
    sys.path.insert(0, str(MODELS))
    import nets

    model = nets.Crepe()
    model.load_state_dict(torch.load(MODELS / "crepe_tiny/tiny.pth", weights_only=True))
    torch.export.save(torch.export.export(model.eval(), (torch.zeros(2, 1024),)), tmp_path / "crepe.pt2")
    assert same(MODELS / "crepe_tiny/crepe_tiny.keras", tmp_path / "crepe.pt2")


# MTCNN's pools in the words of both packages: the same at 24 and 26, not at 23 and 25.
POOL_A = """import keras
from keras import layers
net = keras.Sequential([keras.Input(({size}, {size}, 3)), layers.MaxPooling2D(3, strides=2, padding="same")])
"""
POOL_B = """import torch
from torch import nn
net = nn.MaxPool2d(3, stride=2, ceil_mode=True)
x = torch.zeros(1, 3, {size}, {size})
y = net(x)
"""


@pytest.mark.parametrize("size", [23, 24, 25, 26])
def test_ceil_mode_is_same_at_even_sizes_only(tmp_path, size):
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text(POOL_A.format(size=size))
    b.write_text(POOL_B.format(size=size))
    code, answer = diff(f"{a}:net", f"{b}:net", "--shape", f"x=1,3,{size},{size}")
    assert (code == 0) == (size % 2 == 0), answer
    if code:
        assert answer["first"]["size"] == f"{size}x{size}"
        assert answer["first"]["cause"] in ("same_as_symmetric", "ceil_mode", "pad_missing")


STACK = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=5)
        layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, norm_first=True, activation="gelu")
        self.t = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.d = nn.TransformerDecoderLayer(8, 2, 12, batch_first=True)

    def forward(self, x, k, v, pad):
        y, w = self.a(x, k, v, key_padding_mask=pad, average_attn_weights=False)
        z = self.t(y, mask=nn.Transformer.generate_square_subsequent_mask(4), is_causal=True)
        return self.d(z, y), w
"""


@pytest.mark.parametrize("fault", [None, ("self.d(z, y)", "self.d(y, z)"), ("self.d(z, y)", "self.d(z.flip(1), y)"),
                                   "one weight"], ids=["none", "exchanged", "turned", "one weight"])
def test_a_program_that_holds_its_steps_in_front_of_its_batch_is_the_same(fault, tmp_path):
    """An exported program lays attention out otherwise than the code: that is followed through the whole stack, a fault is not."""
    import torch

    (tmp_path / "net.py").write_text(STACK)
    there = {}
    exec(STACK, there)  # noqa: S102  written above
    torch.manual_seed(0)
    net = there["Net"]().eval()
    pad = torch.tensor([[False, False, True], [False, False, False]])
    inputs = (torch.rand(2, 4, 8), torch.rand(2, 3, 6), torch.rand(2, 3, 5), pad)
    torch.export.save(torch.export.export(net, inputs), tmp_path / "net.pt2")
    weights = net.state_dict()
    if fault == "one weight":
        weights["t.layers.1.self_attn.out_proj.weight"][3, 5] += 0.01
    elif fault:
        (tmp_path / "net.py").write_text(STACK.replace(*fault))
    torch.save(weights, tmp_path / "net.pt")
    shapes = ["x=2,4,8", "k=2,3,6", "v=2,3,5", "pad=2,3:bool"]
    code, answer = diff(tmp_path / "net.pt2", f"{tmp_path / 'net.py'}:Net", "--weights-b", tmp_path / "net.pt",
                        *[word for shape in shapes for word in ("--shape", shape)])
    assert code == (1 if fault else 0), answer


def test_an_image_resized_onto_its_own_cells_is_the_same(tmp_path):
    """Keras and ONNX place cells with other roundings: right upon a cell by the one, a rounding beside it by the other."""
    import keras

    image = keras.Input((3, 8, 7))
    keras.Model(image, keras.layers.Resizing(4, 9, data_format="channels_first")(image)).save(tmp_path / "net.keras")
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.onnx", "--interface", "source")
    code, words = said(tmp_path / "net.keras", tmp_path / "port.onnx")
    assert code == 0, words
