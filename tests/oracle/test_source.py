"""Python source as input: the corpus' modules with their state_dict answer as PyTorch did, what convoy writes is read back
and answers the same, snippets are what they are, and hostile programs end with a refusal."""
import json
import subprocess
import time

import numpy as np
import pytest
from carrying import CONVOY, assert_close, cases_in, check_itself, convoy, port, run_natively

TORCH = cases_in("corpus/torch")
KERAS = cases_in("corpus/keras")
SNIPPETS = cases_in("snippets")
TOLERANCE = 2e-5


def modules() -> list[str]:
    return [] if TORCH is None else sorted(f.parent.name for f in TORCH.glob("*/module.py"))


def stored(name: str):
    """Each stored set of a case: its inputs by name and its outputs."""
    case = json.loads((TORCH / name / "case.json").read_text())
    for row in case["sets"]:
        inputs = {x["name"]: np.load(TORCH / name / f"input{row}_{i}.npy") for i, x in enumerate(case["inputs"])}
        yield inputs, [np.load(TORCH / name / f"output{row}_{i}.npy") for i in range(len(case["outputs"]))]


def shapes(inputs: dict[str, np.ndarray]) -> list[str]:
    return [word for name, x in inputs.items() for word in ("--shape", f"{name}={','.join(map(str, x.shape))}")]


@pytest.mark.skipif(TORCH is None, reason="no corpus beside the project")
@pytest.mark.parametrize("name", modules())
def test_a_module_with_its_weights_answers_as_pytorch_did(name, tmp_path):
    folder = TORCH / name
    weights = json.loads((folder / "case.json").read_text())["files"].get("state_dict")
    source = [folder / "module.py", *(["--weights", folder / weights] if weights else [])]
    for inputs, want in stored(name):
        assert_close(run_natively([*source, *shapes(inputs)], inputs, tmp_path), want, TOLERANCE, name)


@pytest.mark.skipif(TORCH is None, reason="no corpus beside the project")
@pytest.mark.sampled(20)
@pytest.mark.parametrize("name", modules())
def test_a_written_module_is_read_back(name, tmp_path):
    program = TORCH / name / "model.pt2"
    ported = tmp_path / "ported.py"
    if not program.exists() or convoy("port", program, "-o", ported, code=None).returncode:
        pytest.skip("is not ported from its exported program")
    for inputs, want in stored(name):
        done = convoy("summary", ported, *shapes(inputs), "--weights", ported.with_suffix(".safetensors"), code=None)
        if done.returncode == 6:
            pytest.skip(done.stderr.strip())
        names = [row["name"] for row in json.loads(convoy("summary", program, "--json").stdout)["inputs"]]
        renamed = dict(zip(names, inputs.values())) if len(names) == len(inputs) else inputs
        answers = run_natively([ported, "--weights", ported.with_suffix(".safetensors")], renamed, tmp_path)
        assert_close(answers, want, TOLERANCE, name)
        break


def facts(*arguments) -> dict:
    return json.loads(convoy("summary", *arguments, "--json").stdout)


snippets = pytest.mark.skipif(SNIPPETS is None, reason="no snippets beside the project")


@snippets
@pytest.mark.parametrize("name", ["keras_block", "keras_old_spelling"])
def test_keras_layers_have_the_shapes_and_counts_of_keras(name):
    want = json.loads((SNIPPETS / "expected.json").read_text())[name]
    text = convoy("summary", SNIPPETS / f"{name}.py").stdout
    assert f"{want['parameters']:,} parameters ({want['trainable']:,} trainable" in text
    for _, shape, count in want["layers"]:
        assert f"[N, {', '.join(map(str, shape[1:]))}]" in text
        assert not count or f"{count:,}" in text


@snippets
@pytest.mark.parametrize("name", ["same_from_input_size", "same_from_kernel_size", "same_from_dilated_kernel"])
def test_padding_that_a_program_computes_comes_out_as_pytorch_computes_it(name):
    for row in json.loads((SNIPPETS / "expected.json").read_text())[name]:
        words = {k: f"({', '.join(map(str, row['args'][k]))})" for k in ("kernel", "stride", "dilation")}
        given = f"2,3,{words['kernel']},stride={words['stride']},dilation={words['dilation']},bias=False"
        shape = ",".join(map(str, [2, 2, *row["size"]]))
        text = convoy("summary", SNIPPETS / f"{name}.py", "--args", given, "--shape", shape).stdout
        assert f"outputs output {row['output']}" in text, (given, text)


@snippets
def test_same_by_the_size_of_the_input_stays_same_where_the_size_is_free(tmp_path):
    torch = pytest.importorskip("torch")
    scope: dict = {}
    exec((SNIPPETS / "same_from_input_size.py").read_text(), scope)
    for i, row in enumerate(json.loads((SNIPPETS / "expected.json").read_text())["same_from_input_size"]):
        words = {k: f"({', '.join(map(str, row['args'][k]))})" for k in ("kernel", "stride", "dilation")}
        given = f"2,3,{words['kernel']},stride={words['stride']},dilation={words['dilation']},bias=False"
        source = [SNIPPETS / "same_from_input_size.py", "--args", given, "--shape", "image=?,2,?,?"]
        ported = port(source, tmp_path / f"free_{i}.py")
        net = scope["SamePadConv"](2, 3, **{f"{k}_size" if k == "kernel" else k: tuple(row["args"][k]) for k in words}, bias=False)
        net.weight.data = next(ported.model.parameters()).detach().clone()
        for more in (0, 1, 2):
            x = torch.randn(2, 2, *(n + more for n in row["size"]))
            with torch.no_grad():
                assert_close(ported([x.numpy()]), [net(x).numpy()], TOLERANCE, f"{given} at {list(x.shape)}")


def test_pads_that_only_look_like_same_are_laid_as_they_are_said(tmp_path):
    torch = pytest.importorskip("torch")
    text = ("import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
            "class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n        self.conv = nn.Conv2d(2, 3, 3, stride=2)\n"
            "    def forward(self, x):\n        n = x.size(2)\n        over = (n + 1) % 2\n"
            "        return self.conv(F.pad(x, (0, 0, over, 1)))\n")
    (tmp_path / "net.py").write_text(text)
    ported = port([tmp_path / "net.py", "--shape", "x=1,2,?,9"], tmp_path / "free.py")
    scope: dict = {}
    exec(text, scope)  # noqa: S102  written above
    net = scope["Net"]()
    net.load_state_dict({"conv.weight": dict(ported.model.named_parameters())["conv.weight"],
                         "conv.bias": dict(ported.model.named_parameters())["conv.bias"]})
    for n in (5, 8, 9, 12):
        x = torch.randn(1, 2, n, 9)
        with torch.no_grad():
            assert_close(ported([x.numpy()]), [net(x).numpy()], TOLERANCE, f"at {n}")
    assert "outputs output [1, 3, 4, 4]" in convoy("summary", tmp_path / "net.py", "--shape", "x=1,2,8,9").stdout


@snippets
def test_blocks_survive_a_port(tmp_path):
    torch = pytest.importorskip("torch")
    source = SNIPPETS / "torch_resnet_loop.py"
    ported = port([source, "--shape", "x=2,3,33,40"], tmp_path / "ported.py")
    text = (tmp_path / "ported.py").read_text()
    assert text.count("nn.Conv2d(") <= 6 and "nn.Sequential(" in text, text
    scope: dict = {}
    exec(source.read_text(), scope)
    torch.manual_seed(0)
    net = scope["Net"]().eval()
    x = torch.randn(2, 3, 33, 40)
    with torch.no_grad():
        assert_close(ported([x.numpy()]), [net(x).numpy()], TOLERANCE, "blocks")
    check_itself(tmp_path / "ported.py")


@snippets
def test_a_block_made_in_a_loop_has_the_numbers_of_pytorch(tmp_path):
    want = json.loads((SNIPPETS / "expected.json").read_text())["torch_resnet_loop"]
    text = convoy("summary", SNIPPETS / "torch_resnet_loop.py", "--shape", "2,3,33,40").stdout
    assert f"({want['parameters']:,} trainable" in text and f"outputs output {want['output']}" in text


def test_initial_weights_are_those_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    source = "from torch import nn\nnet = nn.Sequential(nn.Conv2d(3, 4, (2, 5), bias=True), nn.ReLU(), nn.Conv2d(4, 2, 3, groups=2))\n"
    (tmp_path / "net.py").write_text(source)
    x = np.random.RandomState(3).randn(2, 3, 9, 11).astype(np.float32)
    torch.manual_seed(0)
    scope: dict = {}
    exec(source, scope)
    with torch.no_grad():
        want = scope["net"].eval()(torch.from_numpy(x)).numpy()
    assert_close(run_natively([tmp_path / "net.py"], {"x": x}, tmp_path), [want], 1e-5, "initial weights")


HOSTILE = {
    "deep brackets": "x = " + "(" * 5000 + "1" + ")" * 5000,
    "deep blocks": "".join("    " * i + "if 1:\n" for i in range(400)),
    "a long sum": "x = " + "+".join(["1"] * 100000),
    "a giant number": "x = " + "9" * 900000,
    "an endless loop": "while True:\n    pass\n",
    "an endless range": "for i in range(10**18):\n    x = i\n",
    "a large list": "x = [0] * 10**12\n",
    "a doubled text": 'x = "a"\nfor i in range(60):\n    x = x + x\n',
    "a tower of lists": "x = []\nwhile True:\n    x = [x, x]\n",
    "a large tensor": "import torch\nx = torch.zeros(10**6, 10**6)\n",
    "a large layer": "from torch import nn\nm = nn.Linear(10**7, 10**7)\n",
    "a function of itself": "def f(n):\n    return f(n + 1)\nf(0)\n",
    "classes of classes": "class A0: pass\n" + "".join(f"class A{i}(A{i - 1}): pass\n" for i in range(1, 3000)),
    "__import__": '__import__("os").system("true")\n',
    "eval": 'eval("1")\n',
    "open": 'open("/etc/passwd")\n',
    "attributes of attributes": "x = ().__class__.__bases__[0].__subclasses__()\n",
    "globals of a function": "f = lambda: 0\nx = f.__globals__\n",
    "getattr": 'class A: pass\nx = getattr(A(), "__dict__")\n',
    "a module of the system": 'import os\nos.system("true")\n',
    "a file above": "from ....etc import passwd\n",
    "a wide format": 'x = f"{1:999999999}"\n',
    "a power": "x = 10**10**10\n",
    "a module of itself": "from torch import nn\nm = nn.Sequential()\nm.append(m)\n",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_program_is_refused_at_once(name, tmp_path):
    (tmp_path / "hostile.py").write_text(HOSTILE[name])
    command = ["bash", "-c", f"ulimit -v 1048576; exec {CONVOY} summary hostile.py"]
    start = time.monotonic()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode in (2, 5, 6), (done.returncode, done.stderr)
    assert len(done.stderr) < 2000
    assert time.monotonic() - start < 10  # under 1 s on an idle machine


# ---- functions of TensorFlow and NumPy on arrays


@snippets
def test_the_two_calls_of_a_comparison_are_told_apart(tmp_path):
    want = json.loads((SNIPPETS / "expected.json").read_text())["stride_two_compared"]
    source = SNIPPETS / "stride_two_compared.py"
    assert "outputs output [1, 5, 5, 8]" in convoy("summary", f"{source}:there").stdout
    assert "outputs output [1, 8, 5, 5]" in convoy("summary", f"{source}:here").stdout
    done = convoy("diff", f"{source}:there", f"{source}:here", "--json", code=None)
    assert want["cause"] in done.stdout and done.returncode == 1, done.stdout + done.stderr
    assert "(0, 1, 0, 1)" in convoy("diff", f"{source}:there", f"{source}:here", code=None).stdout


@snippets
@pytest.mark.parametrize("row", range(7))
def test_a_transposed_convolution_written_by_hand_is_what_pytorch_computes(row, tmp_path):
    torch = pytest.importorskip("torch")
    case = json.loads((SNIPPETS / "expected.json").read_text())["transposed_ported_by_hand"][row]
    random = np.random.RandomState(row)
    x = random.randint(-4, 5, (2, 3, case["length"])).astype(np.float32)
    w = random.randint(-3, 4, (3, 2, case["kernel"])).astype(np.float32)
    given = f"stride={case['stride']},padding={case['padding']},output_padding={case['output_padding']}"
    source = [f"{SNIPPETS / 'transposed_ported_by_hand.py'}:transposed", "--args", given, *shapes({"x": x, "w": w})]
    want = torch.nn.functional.conv_transpose1d(torch.tensor(x), torch.tensor(w), stride=case["stride"], padding=case["padding"],
                                                output_padding=case["output_padding"])
    got = run_natively(source, {"x": x, "w": w}, tmp_path)
    assert list(got[0].shape) == case["output"]
    assert_close(got, [want.numpy()], 0, given)


def test_two_sources_are_compared_and_standard_input_is_ported(tmp_path):
    (tmp_path / "a.py").write_text("from keras import Sequential, layers\nnet = Sequential([layers.Input((9, 8, 3)), "
                                   "layers.Conv2D(4, 3, strides=2, padding='same'), layers.ReLU()])\n")
    text = ("import torch.nn as nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)\n    def forward(self, x):\n"
            "        return self.conv(x).relu()\n")
    (tmp_path / "b.py").write_text(text)
    said = convoy("diff", tmp_path / "a.py", f"{tmp_path / 'b.py'}:Net", code=None)
    assert said.returncode == 1 and "SAME" in said.stdout.upper(), said.stdout + said.stderr
    done = subprocess.run([CONVOY, "port", "-", "--to", "torch", "-o", "port.py", "--no-proof"], capture_output=True,
                          input=(tmp_path / "a.py").read_text(), text=True, cwd=tmp_path)
    assert done.returncode == 0 and "nn.Conv2d(3, 4" in (tmp_path / "port.py").read_text(), done.stderr


# Batch norm begins as the identity, under which positive numbers stay positive and pads of zeros hide.
@pytest.mark.parametrize(("body", "in_order"), [("self.norm(self.conv(x).relu())", True), ("self.norm(self.conv(x)).relu()", False)])
@pytest.mark.parametrize("zeros", [True, False])
def test_a_pool_is_compared_as_trained_numbers_would_show_it(body, in_order, zeros, tmp_path):
    (tmp_path / "a.py").write_text(
        "from keras import Sequential, layers\nnet = Sequential([layers.Input((9, 12, 3)), layers.Conv2D(4, 3), layers.ReLU(), "
        "layers.BatchNormalization(), layers.MaxPooling2D(3, strides=2, padding='same')])\n")
    pool = "F.pad(x, (0, 1, 1, 1))" if zeros else "F.pad(x, (0, 1, 1, 1), value=float('-inf'))"
    (tmp_path / "b.py").write_text(
        "import torch.nn as nn\nimport torch.nn.functional as F\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.conv = nn.Conv2d(3, 4, 3)\n        self.norm = nn.BatchNorm2d(4, eps=1e-3)\n"
        f"    def forward(self, x):\n        x = {body}\n        return F.max_pool2d({pool}, 3, 2)\n")
    done = convoy("diff", tmp_path / "a.py", f"{tmp_path / 'b.py'}:Net", code=None)
    right = in_order and not zeros
    assert done.returncode == (0 if right else 1), done.stdout + done.stderr
    if in_order and zeros:
        assert "pool_pad_value" in done.stdout


def test_a_file_that_another_of_its_package_imports_is_read_once(tmp_path):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("KNOWN = {}\nfrom . import small\n")
    (tmp_path / "nets" / "small.py").write_text(
        "import torch.nn as nn\nfrom . import KNOWN\n\ndef register(f):\n    if f.__name__ in KNOWN:\n"
        "        raise ValueError(f.__name__)\n    KNOWN[f.__name__] = f\n    return f\n\n@register\ndef small():\n"
        "    return nn.Conv2d(3, 4, (3, 5))\n")
    said = convoy("summary", f"{tmp_path / 'nets' / 'small.py'}:small", "--shape", "x=1,3,8,9").stdout
    assert "184 parameters" in said


def test_imports_are_found_below_another_root(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "net").mkdir()
    (tmp_path / "shared" / "blocks.py").write_text("from torch import nn\nfrom sizes import WIDTH\n"
                                                  "def block(i):\n    return nn.Conv2d(i, WIDTH, 3)\n")
    (tmp_path / "shared" / "sizes.py").write_text("WIDTH = 7\n")
    (tmp_path / "net" / "net.py").write_text("from torch import nn\nfrom blocks import block\nnet = nn.Sequential(block(3))\n")
    source = tmp_path / "net" / "net.py"
    assert "'blocks.block' is not read" in convoy("summary", source, code=6).stderr
    assert "196 parameters" in convoy("summary", source, "--allow-root", tmp_path / "shared").stdout


def test_a_module_above_the_own_folder_is_asked_for_by_the_folder_to_allow(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "blocks.py").write_text("from torch import nn\ndef block(n): return nn.Conv2d(n, 2 * n, 3)\n")
    (tmp_path / "net").mkdir()
    source = tmp_path / "net" / "net.py"
    for line in ("from shared.blocks import block", "from shared.blocks import *", "import shared.blocks as b; block = b.block"):
        source.write_text(f"from torch import nn\n{line}\nnet = nn.Sequential(block(3))\n")
        assert f"give --allow-root {tmp_path}" in convoy("summary", source, code=6).stderr
        assert "168 parameters" in convoy("summary", source, "--allow-root", tmp_path).stdout


@pytest.mark.parametrize("line", ["import models.blocks\nblock = models.blocks.block", "import models.blocks as b\nblock = b.block",
                                  "from models import blocks\nblock = blocks.block", "from models.deep import inner\nblock = inner.block",
                                  "import models.deep.inner\nblock = models.deep.inner.block",
                                  "from models.blocks import block\nimport models.blocks\nblock = models.blocks.block"])
def test_a_folder_without_an_init_is_a_package(line, tmp_path):
    (tmp_path / "models" / "deep").mkdir(parents=True)
    (tmp_path / "models" / "blocks.py").write_text("from torch import nn\ndef block(n): return nn.Conv2d(n, 2 * n, 3)\n")
    (tmp_path / "models" / "deep" / "inner.py").write_text("from models.blocks import block\n")
    text = f"from torch import nn\n{line}\nnet = nn.Sequential(block(3))\n"
    for place in (tmp_path / "models" / "net.py", tmp_path / "net.py"):  # beside its modules, and above them
        place.write_text(text)
        assert "168 parameters" in convoy("summary", place).stdout


@pytest.mark.parametrize("seed", [0, 3, 2**32 + 9, -7, 2**64 - 1])
def test_a_port_of_source_without_weights_starts_as_pytorch_does(seed, tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "net.py").write_text("from torch import nn\nnet = nn.Sequential(nn.Conv2d(3, 4, (3, 5)), nn.ReLU(), nn.Conv2d(4, 2, 1))\n")
    ported = port([tmp_path / "net.py", "--shape", "1,3,9,8", "--seed", str(seed)], tmp_path / "out.py")
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, (3, 5)), torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 1))
    x = torch.randn(1, 3, 9, 8)
    with torch.no_grad():
        assert_close(ported([x.numpy()]), [net(x).numpy()], TOLERANCE, str(seed))


# Every kind of layer that draws, and every initialiser of torch.nn.init that is followed.
DRAWN = """
from torch import nn
import torch
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(6, 4, 3, groups=2)
        self.b = nn.ConvTranspose1d(4, 6, 2, bias=False)
        self.c = nn.GRU(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.attend = nn.MultiheadAttention(10, 2, batch_first=True)
        self.encode = nn.TransformerEncoderLayer(10, 5, 12, batch_first=True)
        self.d = nn.Linear(10, 7)
        self.scale = nn.Parameter(0.1 * torch.randn(1, 1, 7) + torch.rand(7))
        self.e = nn.Sequential(nn.Linear(7, 33), nn.LayerNorm(33), nn.PReLU(), nn.Linear(33, 3))
        self.apply(self.start)
        nn.init.orthogonal_(self.d.weight, gain=nn.init.calculate_gain('tanh'))
        self.e[3].weight.data.normal_(0, 0.3)
        self.e[3].bias.data.uniform_(-0.1, 0.1)
        torch.nn.init.trunc_normal_(self.scale, std=.5, a=-.6)
    def start(self, m):
        if isinstance(m, nn.Conv1d):
            nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
            nn.init.constant_(m.bias, 0.25)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_normal_(m.weight)
    def forward(self, x):
        y = self.b(self.a(x)).transpose(1, 2)
        y = self.c(y)[0]
        y = self.encode(self.attend(y, y, y)[0])
        return self.e(self.d(y) * self.scale)
net = Net()
"""


@pytest.mark.parametrize("seed", [1, 2**40 + 5, -2])
def test_everything_that_pytorch_draws_is_drawn_in_its_order(seed, tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(DRAWN)
    x = np.random.RandomState(3).randn(2, 6, 11).astype(np.float32)
    torch.manual_seed(seed)
    scope: dict = {}
    exec(DRAWN, scope)
    with torch.no_grad():
        want = scope["net"].eval()(torch.from_numpy(x)).numpy()
    got = run_natively([tmp_path / "net.py", "--seed", str(seed)], {"x": x}, tmp_path)
    assert_close(got, [want], 1e-5, f"seed {seed}")


KERAS_DRAWN = """
import keras
from keras import layers as L
x = inputs = L.Input((12, 13, 3))
x = L.Conv2D(4, (2, 3), activation='relu')(x)
x = L.Dropout(0.3)(x)
x = L.SeparableConv2D(6, 3, depth_multiplier=2)(x)
x = L.DepthwiseConv2D(2, depthwise_initializer=keras.initializers.HeUniform())(x)
x = L.BatchNormalization(gamma_initializer='zeros', beta_initializer='ones')(x)
x = L.Conv2DTranspose(5, 3, kernel_initializer='lecun_normal', bias_initializer=keras.initializers.Constant(0.2))(x)
x = L.TimeDistributed(L.Dense(4, kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.3)))(x)
x = L.Reshape((10, -1))(x)
x = L.MultiHeadAttention(2, 3, dropout=0.2, kernel_initializer='he_uniform', output_shape=5)(x, x)
x = L.Bidirectional(L.LSTM(3, return_sequences=True))(x)
x = L.SimpleRNN(4, return_sequences=True)(x)
shared = keras.initializers.VarianceScaling(scale=2.0, mode='fan_out', distribution='uniform')
x = L.Dense(4, kernel_initializer=shared)(x) + L.Dense(4, kernel_initializer=shared, use_bias=False)(x)
x = L.GRU(5, recurrent_initializer='glorot_normal')(x)
net = keras.Model(inputs, L.Dense(2, 'softmax', kernel_initializer='orthogonal')(x))
"""


@pytest.mark.parametrize("seed", [0, 4294967295, 12])
def test_everything_that_keras_draws_is_drawn_in_its_order(seed, tmp_path):
    keras = pytest.importorskip("keras")
    (tmp_path / "net.py").write_text(KERAS_DRAWN)
    keras.utils.set_random_seed(seed)
    scope: dict = {}
    exec(KERAS_DRAWN, scope)
    x = np.random.RandomState(3).rand(2, 12, 13, 3).astype(np.float32)
    got = run_natively([tmp_path / "net.py", "--seed", str(seed)], {"x": x}, tmp_path)
    assert_close(got, [keras.ops.convert_to_numpy(scope["net"](x))], 1e-5, f"seed {seed}")


def test_a_seed_where_nothing_is_drawn_or_that_is_none_is_refused(tmp_path):
    (tmp_path / "net.py").write_text("from torch import nn\nnet = nn.Linear(3, 2)\n")
    (tmp_path / "keras.py").write_text("from keras import Sequential, layers\nnet = Sequential([layers.Input((3,)), layers.Dense(2)])\n")
    np.save(tmp_path / "x.npy", np.zeros((1, 3), np.float32))
    run = ["run", tmp_path / "net.py", "--input", tmp_path / "x.npy", "--seed"]
    assert "gives them" in convoy(*run, "1", "--weights", tmp_path / "w.pt", code=2).stderr
    assert "'18446744073709551616' is no seed" in convoy(*run, str(2**64), code=2).stderr
    assert "'1.5' is no seed" in convoy(*run, "1.5", code=2).stderr
    convoy(*run, str(-(2**63)))
    keras = ["run", tmp_path / "keras.py", "--input", tmp_path / "x.npy", "--seed"]
    assert "0 to 4294967295" in convoy(*keras, "-1", code=2).stderr


def test_what_was_read_over_is_told(tmp_path):
    (tmp_path / "train.py").write_text("from torch import nn\nnet = nn.Linear(3, 2)\nfor e in range(10):\n    strange(e)\n")
    words = "train.py:3 was read over: for e in range(10):"
    assert f"note    {words}" in convoy("summary", tmp_path / "train.py").stdout
    assert words in facts(tmp_path / "train.py")["remarks"]
    assert f"note    {words}" in convoy("port", tmp_path / "train.py", "--to", "torch", "-o", tmp_path / "out.py").stdout
    assert "remarks" not in convoy("run", tmp_path / "train.py", "--input", np_file(tmp_path)).stdout


def np_file(folder):
    np.save(folder / "x.npy", np.zeros((1, 3), np.float32))
    return folder / "x.npy"


def test_a_keras_kernel_is_drawn_as_glorot_says(tmp_path):
    (tmp_path / "net.py").write_text("from keras import Sequential, layers\nnet = Sequential([layers.Input((40,)), layers.Dense(50)])\n")
    kernels = []
    for i, seed in enumerate((1, 1, 2)):
        convoy("port", tmp_path / "net.py", "--to", "torch", "--seed", str(seed), "-o", tmp_path / f"net{i}.py")
        convoy("weights", tmp_path / f"net{i}.safetensors", "-o", tmp_path / f"net{i}.npz")
        arrays = np.load(tmp_path / f"net{i}.npz")
        kernels.append(next(arrays[k] for k in arrays if arrays[k].ndim == 2))
        assert all((arrays[k] == 0).all() for k in arrays if arrays[k].ndim == 1)
    limit = np.sqrt(6 / 90)
    assert (kernels[0] == kernels[1]).all()
    for kernel in kernels:
        assert np.abs(kernel).max() <= limit and np.abs(kernel).max() > 0.98 * limit
        assert abs(kernel.var() / (limit**2 / 3) - 1) < 0.1 and abs(kernel.mean()) < 0.02


@pytest.mark.parametrize("shapes", [("x=2,5", "y=2,7"), ("x=2,6", "y=3,7")])
def test_a_shape_that_a_program_does_not_take_is_a_usage_error(shapes, tmp_path):
    (tmp_path / "net.py").write_text("from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                                     "        self.dense = nn.Linear(6, 7)\n\n    def forward(self, x, y):\n        return self.dense(x) + y\n")
    given = [word for shape in shapes for word in ("--shape", shape)]
    said = convoy("summary", tmp_path / "net.py", *given, code=2).stderr
    assert f"--shape {shapes[0]} --shape {shapes[1]} does not fit" in said, said
