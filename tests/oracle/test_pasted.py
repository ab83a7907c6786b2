"""Code as people paste it into questions: read as it stands, bound to the weights that the framework saved, and equal."""
import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

TOLERANCE = 2e-5

# name: (shape of the input, text). The last name that is bound is the model; `Net` and `build` are called without arguments.
TORCH = {
    "lstm_head": ((2, 7, 5), """
class Net(nn.Module):
    def __init__(self, n_in=5, hidden=6, classes=3):
        super(Net, self).__init__()
        self.lstm = nn.LSTM(n_in, hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.fc = nn.Linear(hidden * 2, classes)

    def forward(self, x):
        h0 = torch.zeros(4, x.size(0), 6)
        c0 = torch.zeros(4, x.size(0), 6)
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1, :])
"""),
    "gru_last_state": ((3, 4, 5), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        y, h = self.rnn(x)
        return self.out(h[-1]), y.mean(dim=0)
"""),
    "rnn_relu": ((2, 6, 3), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(3, 4, nonlinearity='relu', batch_first=True, bias=False)

    def forward(self, x):
        return self.rnn(x)[0].permute(0, 2, 1)
"""),
    "module_dict": ((2, 3, 8, 9), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({'mask': nn.Conv2d(8, 1, 1), 'edge': nn.Conv2d(8, 2, 3, padding=1)})
        self.acts = nn.ModuleDict([['lrelu', nn.LeakyReLU(0.1)], ['prelu', nn.PReLU()]])
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding='same'), nn.BatchNorm2d(8))

    def forward(self, x, act='prelu'):
        x = self.acts[act](self.body(x))
        return {k: head(x) for k, head in self.heads.items()}
"""),
    "same_conv": ((1, 3, 13, 10), """
import math

class Conv2dSame(torch.nn.Conv2d):
    def calc_same_pad(self, i: int, k: int, s: int, d: int) -> int:
        return max((math.ceil(i / s) - 1) * s + (k - 1) * d + 1 - i, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ih, iw = x.size()[-2:]
        pad_h = self.calc_same_pad(i=ih, k=self.kernel_size[0], s=self.stride[0], d=self.dilation[0])
        pad_w = self.calc_same_pad(i=iw, k=self.kernel_size[1], s=self.stride[1], d=self.dilation[1])
        if pad_h > 0 or pad_w > 0:
            x = F.pad(x, [pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2])
        return F.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

net = nn.Sequential(Conv2dSame(3, 4, (3, 5), stride=2), nn.ReLU6(), Conv2dSame(4, 6, 3, stride=(1, 3), groups=2))
"""),
    "upsampling": ((1, 4, 5, 6), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.conv = nn.Conv2d(4, 3, 3, 1, 1)

    def forward(self, x):
        y = F.interpolate(x, size=(x.shape[2] * 3, x.shape[3] * 2), mode='nearest')
        z = F.interpolate(self.up(x), size=y.size()[2:], mode='bilinear', align_corners=False)
        return self.conv(torch.cat([y, z][:1], 1) + z)
"""),
    "weight_norm": ((2, 3, 9), """
from torch.nn.utils import weight_norm
from torch.nn.utils.parametrizations import weight_norm as new_weight_norm

class Chomp1d(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
    def forward(self, x):
        return x[:, :, :-self.size].contiguous()

def block(i, o, k, d):
    pad = (k - 1) * d
    return nn.Sequential(weight_norm(nn.Conv1d(i, o, k, padding=pad, dilation=d)), Chomp1d(pad), nn.ReLU(), nn.Dropout(0.2))

class Net(nn.Module):
    def __init__(self, channels=(4, 6)):
        super().__init__()
        layers = []
        for i, c in enumerate(channels):
            layers += [block(3 if i == 0 else channels[i - 1], c, 3, 2 ** i)]
        self.network = nn.Sequential(*layers)
        self.last = new_weight_norm(nn.Linear(6, 2))

    def forward(self, x):
        return self.last(self.network(x)[..., -1])
"""),
    "console": ((2, 3, 6, 6), """
>>> import torch
>>> from torch import nn
>>> m = nn.Sequential(
...     nn.Conv2d(3, 4, kernel_size=3, stride=2, padding=1, bias=False),
...     nn.InstanceNorm2d(4),
... )
>>> m(torch.randn(2, 3, 6, 6)).shape
torch.Size([2, 4, 3, 3])
"""),
    "notebook": ((2, 1, 28, 28), """
!pip install torch torchvision
%matplotlib inline
import torch
import torch.nn as nn
import torch.nn.functional as F
try:
    from torchvision import transforms
except ImportError:
    transforms = None

class LeNet(nn.Module):
    def __init__(self):
        super(LeNet, self).__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def num_flat_features(self, x):
        size = x.size()[1:]
        num_features = 1
        for s in size:
            num_features *= s
        return num_features

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, self.num_flat_features(x))
        x = F.dropout(F.relu(self.fc1(x)), training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)

net = LeNet()
print net
"""),
    "depthwise_trick": ((2, 6, 7, 8), """
class SeparableConv(nn.Module):
    def __init__(self, nin, nout, kernels_per_layer=2):
        super().__init__()
        self.depthwise = nn.Conv2d(nin, nin * kernels_per_layer, kernel_size=3, padding=1, groups=nin)
        self.pointwise = nn.Conv2d(nin * kernels_per_layer, nout, kernel_size=1)
        self.register_buffer('scale', torch.full((1, nout, 1, 1), 0.5))

    def forward(self, x):
        b, c, h, w = x.shape
        y = self.pointwise(self.depthwise(x)) * self.scale
        y = y.view(b, 2, -1, h, w).transpose(1, 2).contiguous().view(b, -1, h, w)  # shuffle
        return y.flatten(2).permute(0, 2, 1)

model = SeparableConv(6, 4)
"""),
}

# Beside these: text that PyTorch's side does not run, because its imports find nothing there either.
UNRUN = {
    "trained_below": ((2, 1, 28, 28), """
import cv2, pandas as pd
from ..utils import weird
from tqdm import tqdm
import torch.optim as optim
from torchvision import datasets, transforms
from torch.utils.data import DataLoader, Dataset

class Digits(Dataset):
    def __init__(self, frame: pd.DataFrame, transform: weird.Thing = None):
        self.frame = pd.read_csv(frame)
    def __len__(self):
        return len(self.frame)
""", """
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.fc = nn.Linear(1440, 10)
    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        return F.log_softmax(self.fc(x.view(-1, 1440)), dim=1)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Net().to(device)
""", """
loader = DataLoader(datasets.MNIST('../data', train=True, download=True), batch_size=64, shuffle=True)
optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
criterion = nn.CrossEntropyLoss()

def train(epoch):
    model.train()
    for index, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()

for epoch in tqdm(range(1, 11)):
    train(epoch)
torch.save(model.state_dict(), 'digits.pt')
"""),
    "settings": ((1, 3, 12, 10), """
from dataclasses import dataclass, field
from enum import Enum
from contextlib import nullcontext
import fancy_logging
""", """
class Kind(Enum):
    PLAIN = "plain"
    NORMED = "normed"
    DEFAULT = NORMED

@dataclass
class Settings:
    width: int
    depth: int = 2
    kind: Kind = Kind.DEFAULT
    sizes: list = field(default_factory=lambda: [3, 5])

def layers_of(s):
    for i in range(s.depth):
        yield nn.Conv2d(3 if i == 0 else s.width, s.width, s.sizes[i], padding='same')
        if s.kind is Kind.NORMED:
            yield nn.BatchNorm2d(s.width)
        yield nn.ReLU()

class Net(nn.Module):
    def __init__(self, s=Settings(width=6)):
        super().__init__()
        self.body = nn.Sequential(*layers_of(s))
    def forward(self, x):
        with nullcontext():
            return self.body(x)
""", """
fancy_logging.info(f"{Settings(3)=}")
"""),
}

KERAS = {
    "old_names": ((30, 41, 3), """
model = Sequential()
model.add(Convolution2D(8, 3, 3, border_mode='same', input_shape=(30, 41, 3)))
model.add(BatchNormalization())
model.add(Activation('relu'))
model.add(MaxPooling2D(pool_size=(2, 3)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(output_dim=5, activation='softmax'))
"""),
    "same_by_place": ((13, 10, 3), """
from tensorflow.keras.models import Sequential
from tensorflow.keras.layers import Conv2D, MaxPooling2D, Flatten, Dense
model = Sequential([
    Conv2D(32, (3, 3), padding='same', activation='relu', input_shape=(13, 10, 3)),
    Conv2D(16, 3, 2, 'same'),
    MaxPooling2D(3, 2, 'same'),
    Flatten(), Dense(4)])
model.compile(optimizer='adam', loss='mse')
model.summary()
"""),
    "functional_residual": ((16, 12, 3), """
import tensorflow as tf
from tensorflow.keras import layers

def residual_block(x, filters, stride=1):
    shortcut = x
    if stride != 1 or x.shape[-1] != filters:
        shortcut = layers.Conv2D(filters, 1, strides=stride, use_bias=False)(x)
        shortcut = layers.BatchNormalization()(shortcut)
    x = layers.Conv2D(filters, 3, strides=stride, padding='same', use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(filters, 3, padding='same', use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(layers.add([x, shortcut]))

inputs = tf.keras.Input(shape=(16, 12, 3))
x = layers.Conv2D(8, 3, padding='same')(inputs)
for filters, stride in [(8, 1), (16, 2), (16, 1)]:
    x = residual_block(x, filters, stride)
x = layers.GlobalAveragePooling2D()(x)
model = tf.keras.Model(inputs=inputs, outputs=layers.Dense(5)(x))
"""),
    "time_distributed": ((4, 9, 8, 2), """
import keras
model = keras.Sequential()
model.add(keras.layers.TimeDistributed(keras.layers.Conv2D(3, (2, 3), padding='same'), input_shape=(4, 9, 8, 2)))
model.add(keras.layers.TimeDistributed(keras.layers.Flatten()))
model.add(keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True)))
model.add(keras.layers.LSTM(4))
model.add(keras.layers.Dense(3, activation='softmax'))
"""),
    "lambda_free_ops": ((12, 6), """
from keras import layers, ops, Model, Input
inp = Input((12, 6))
a = layers.Conv1D(4, 3, padding='causal', dilation_rate=2)(inp)
b = layers.Conv1D(4, 5, padding='same')(inp)
x = a * 0.5 + b
x = ops.concatenate([x, ops.mean(x, axis=-1, keepdims=True)], axis=-1)
x = layers.GRU(3, return_sequences=False)(x[:, ::2])
model = Model(inp, x)
"""),
    "joined_along_the_first_axis": ((6, 5), """
from keras import layers, ops, Model, Input
inp = Input((6, 5))
x = ops.transpose(layers.Dense(4)(inp), axes=(1, 0, 2))
x = ops.transpose(ops.concatenate([x, ops.tanh(x)]), axes=(1, 0, 2))
model = Model(inp, layers.concatenate([x, ops.sin(x)]))
"""),
    "sub_models": ((10, 8, 3), """
from keras.models import Sequential, Model
from keras.layers import *

def encoder():
    m = Sequential(name='encoder')
    m.add(Conv2D(4, 3, strides=2, padding='same', input_shape=(10, 8, 3)))
    m.add(LeakyReLU(0.2))
    m.add(Conv2D(6, 3, strides=2, padding='same'))
    return m

def decoder():
    return Sequential([Input((3, 2, 6)), Conv2DTranspose(5, 4, strides=2, padding='same'), UpSampling2D((2, 2)),
                       Conv2D(1, 3, padding='same', activation='sigmoid')], name='decoder')

enc, dec = encoder(), decoder()
x = Input((10, 8, 3))
model = Model(x, dec(enc(x)))
"""),
}


@pytest.mark.parametrize("name", sorted(TORCH))
def test_pasted_pytorch(name, tmp_path):
    torch = pytest.importorskip("torch")
    shape, text = TORCH[name]
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    exec(plain(text), scope)
    torch.manual_seed(3)
    bound = [v for v in scope.values() if isinstance(v, torch.nn.Module)]
    net = (bound[-1] if bound else scope["Net"]()).eval()
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    x = torch.randn(*shape)
    with torch.no_grad():
        y = net(x)
    y = list(y.values()) if isinstance(y, dict) else list(y) if isinstance(y, tuple) else [y]
    (tmp_path / "pasted.py").write_text(text)
    got = run_natively([tmp_path / "pasted.py", "--weights", tmp_path / "weights.pt"], {"x": x.numpy()}, tmp_path)
    assert_close(got, [t.numpy() for t in y], TOLERANCE, name)


@pytest.mark.parametrize("name", sorted(UNRUN))
def test_what_cannot_be_imported_is_missed_only_where_it_is_used(name, tmp_path):
    torch = pytest.importorskip("torch")
    shape, before, text, after = UNRUN[name]
    if name == "settings":
        before = before.replace("import fancy_logging\n", "")
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "__name__": "snippet"}
    exec(before if name == "settings" else "", scope)
    exec(text, scope)
    torch.manual_seed(3)
    net = scope["Net"]().eval()
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    x = torch.randn(*shape)
    with torch.no_grad():
        y = net(x)
    (tmp_path / "pasted.py").write_text(UNRUN[name][1] + "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
                                        + text + after)
    got = run_natively([tmp_path / "pasted.py", "--weights", tmp_path / "weights.pt"], {"x": x.numpy()}, tmp_path)
    assert_close(got, [y.numpy()], TOLERANCE, name)


def plain(text: str) -> str:
    """What Python itself can run of it."""
    lines = [line for line in text.splitlines() if not line.startswith(("!", "%", "print "))]
    if any(line.startswith(">>> ") for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    return "\n".join(lines)


@pytest.mark.parametrize("name", sorted(KERAS))
def test_pasted_keras(name, tmp_path):
    keras = pytest.importorskip("keras")
    shape, text = KERAS[name]
    keras.backend.clear_session()
    keras.utils.set_random_seed(2)
    scope = {word: getattr(keras.layers, word) for word in dir(keras.layers) if word[0].isupper()}
    scope |= {"Sequential": keras.Sequential}
    now = text.replace("Convolution2D(8, 3, 3, border_mode='same'", "Conv2D(8, (3, 3), padding='same'")
    exec(now.replace("output_dim=", "units=").replace("tensorflow.keras", "keras").replace("tf.keras", "keras")
         .replace("import tensorflow as tf", "import keras"), scope)
    model = scope["model"]
    random = np.random.RandomState(1)
    for weight in model.weights:
        low = 0.5 if "variance" in weight.path or "gamma" in weight.path else -0.5
        weight.assign(random.uniform(low, low + 1, weight.shape))
    model.save_weights(tmp_path / "net.weights.h5")
    x = random.uniform(-1, 1, (2, *shape)).astype(np.float32)
    want = keras.ops.convert_to_numpy(model(x, training=False))
    (tmp_path / "pasted.py").write_text(text)
    source = [f"{tmp_path / 'pasted.py'}:model", "--weights", tmp_path / "net.weights.h5"]
    assert_close(run_natively(source, {"x": x}, tmp_path), [want], TOLERANCE, name)


# What may not be read over: it might be the model that is meant, or change it.
MISSED = {
    "a base": ("pasted.py:7:", "from torch import nn\nfrom mylib import Base\nclass A(nn.Module):\n    def __init__(self):\n"
               "        super().__init__()\n        self.l = nn.Linear(3, 4)\nclass Net(Base):\n    pass\n"),
    "a layer": ("pasted.py:4:", "from torch import nn\nfrom mylib import Weird\nnet = nn.Sequential(nn.Linear(3, 4))\n"
                "net.append(Weird(4))\n"),
    "a loop": ("pasted.py:5:", "from torch import nn\nfrom mylib import Weird\nnet = nn.Sequential(nn.Linear(3, 4))\n"
               "for n in (1, 2):\n    net.add_module(str(n), Weird(n))\n"),
    "a function": ("pasted.py:5:", "from torch import nn\nimport mylib\nnet = nn.Sequential(nn.Linear(3, 4))\n"
                   "def patch(m):\n    m[0] = mylib.Weird()\npatch(net)\n"),
    "a wrapper": ("pasted.py:4:", "from torch import nn\nimport mylib\nnet = nn.Sequential(nn.Linear(3, 4))\n"
                  "net = mylib.wrap(net)\n"),
    "a whole module": ("pasted.py:3:", "from torch import nn\nfrom mylib import *\nnet = nn.Sequential(Linear(3, 4))\n"),
    "loaded weights": ("--weights", "import torch\nfrom torch import nn\nnet = nn.Linear(3, 4)\n"
                       "net.load_state_dict(torch.load('net.pt'))\n"),
}


@pytest.mark.parametrize("name", sorted(MISSED))
def test_what_might_change_the_model_is_not_read_over(name, tmp_path):
    words, text = MISSED[name]
    (tmp_path / "pasted.py").write_text(text)
    if name == "loaded weights":
        np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
        said = convoy("run", tmp_path / "pasted.py", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", code=None)
        assert words in said.stderr
        return
    done = convoy("summary", tmp_path / "pasted.py", "--shape", "2,3", code=6)
    assert words in done.stderr and ("mylib" in done.stderr), done.stderr


def test_an_import_that_is_used_is_refused_at_its_use(tmp_path):
    (tmp_path / "pasted.py").write_text("import cv2\nfrom torch import nn\n\ndef build(n=3):\n    size = cv2.imread('a.png').shape\n"
                                        "    return nn.Linear(n, size[0])\n")
    said = convoy("summary", tmp_path / "pasted.py:build", code=6).stderr
    assert "pasted.py:5:16:" in said and "'cv2' is not read" in said and "cv2.imread" in said and "known are torch" in said


REFUSED = {
    "attention": ("MultiheadAttention", "import torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self):\n"
                  "        super().__init__()\n        self.a = nn.MultiheadAttention(8, 2)\n"),
    "spectral": ("spectral_norm", "from torch import nn\nfrom torch.nn.utils import spectral_norm\nnet = spectral_norm(nn.Conv2d(1, 2, 3))\n"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_read_is_refused_at_its_place(name, tmp_path):
    words, text = REFUSED[name]
    (tmp_path / "pasted.py").write_text(text)
    done = convoy("summary", tmp_path / "pasted.py", "--shape", "1,2,3", code=6)
    assert words in done.stderr and "pasted.py:" in done.stderr
