"""Does `convoy diff` say of Keras source and PyTorch source, both without weights, what the second one does otherwise?

source_pairs.py CONVOY   writes each pair below and asks in text and JSON. Prints one line per broken promise and the
count; exit code 1 when there is one. `tests/oracle/test_diff_sources.py` shows with both frameworks that the pairs are
programs, and which of them answer alike.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

KERAS = "import keras\nfrom keras import layers\n"
TORCH = "import torch\nfrom torch import nn\n"
IMAGE, PAIR, STEPS, ROW = (15, 14, 3), (15, 14, 4), (20, 5), (12,)
SAME = ""  # no difference


def keras_program(layers, shape):
    if isinstance(layers, str):
        return KERAS + f"x = keras.Input({shape})\n{layers}\nmodel = keras.Model(x, y)\n"
    rows = [f"layers.Input({shape})", *(f"layers.{layer}" for layer in layers)]
    return KERAS + "model = keras.Sequential([" + ", ".join(rows) + "])\n"


def torch_program(layers):
    if isinstance(layers, dict):
        made = "\n".join(f"        self.{name} = nn.{layer}" for name, layer in layers.items() if name != "forward")
        return (TORCH + f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}\n"
                f"    def forward(self, x):\n        return {layers['forward']}\n")
    return TORCH + "model = nn.Sequential(" + ", ".join(f"nn.{layer}" for layer in layers) + ")\n"


def then(*layers):
    """What stands in front of and behind the layers, in Keras and in PyTorch, for eight channels between."""
    return ["Conv2D(8, 3)", *layers, "Conv2D(5, 3)"]


def then_torch(*layers):
    return ["Conv2d(3, 8, 3)", *layers, "Conv2d(8, 5, 3)"]


# name, cause (or several, by commas: any), layer of a, shape of Keras's input, Keras, PyTorch
PAIRS = [
    # windows
    ("no padding", "pad_missing", "conv2d", IMAGE,
     ["Conv2D(8, 3, padding='same')", "ReLU()", "Conv2D(5, 3, padding='same')"],
     ["Conv2d(3, 8, 3)", "ReLU()", "Conv2d(8, 5, 3, padding=1)"]),
    ("SAME with a stride as padding=1", "same_as_symmetric", "conv2d", IMAGE,
     ["Conv2D(8, 3, strides=2, padding='same')", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 8, 3, stride=2, padding=1)", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("a stride forgotten", "stride", "conv2d", IMAGE, ["Conv2D(8, 3, strides=2)", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 8, 3)", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("a dilation forgotten", "dilation", "conv2d", IMAGE, ["Conv2D(8, 3, dilation_rate=2)", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 8, 3)", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("padding that forgets the dilation", "pad_ignores_dilation", "conv2d", IMAGE,
     ["Conv2D(8, 3, dilation_rate=2, padding='same')", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 8, 3, dilation=2, padding=1)", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("strides of the axes exchanged", "strides_swapped", "conv2d", IMAGE,
     ["Conv2D(8, (3, 5), strides=(2, 1))", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 8, (3, 5), stride=(1, 2))", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("height and width of a kernel exchanged", "kernel_hw_swapped", "conv2d", IMAGE,
     ["Conv2D(8, (3, 5))", "ReLU()", "Conv2D(5, 3)"], ["Conv2d(3, 8, (5, 3))", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("causal as symmetric", "causal_as_symmetric", "conv1d", STEPS,
     ["Conv1D(8, 3, padding='causal', dilation_rate=4)", "ReLU()", "Conv1D(6, 3)"],
     ["Conv1d(5, 8, 3, padding=4, dilation=4)", "ReLU()", "Conv1d(8, 6, 3)"]),
    ("a border that is not zero", "pad_mode", "conv2d", IMAGE,
     ["Conv2D(8, 3, padding='same')", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 8, 3, padding=1, padding_mode='replicate')", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("F.pad's order of axes", "pads_hw_swapped", "conv2d", IMAGE,
     ["ZeroPadding2D(((1, 2), (0, 3)))", "Conv2D(8, 3)", "ReLU()", "Conv2D(5, 3)"],
     ["ZeroPad2d((1, 2, 0, 3))", "Conv2d(3, 8, 3)", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("output_padding forgotten", "transposed_output_size", "conv2d_transpose", IMAGE,
     ["Conv2DTranspose(8, 3, strides=2, padding='same')", "ReLU()", "Conv2D(5, 3)"],
     ["ConvTranspose2d(3, 8, 3, stride=2, padding=1)", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("a transposed convolution cut at the other end", "transposed_shifted", "conv2d_transpose", IMAGE,
     ["Conv2DTranspose(8, 3, strides=2, padding='same')", "ReLU()", "Conv2D(5, 3)"],
     ["ConvTranspose2d(3, 8, 3, stride=2, padding=1, output_padding=1)", "ReLU()", "Conv2d(8, 5, 3)"]),
    # shapes of weights
    ("groups forgotten", "groups", "conv2d", PAIR, ["Conv2D(8, 3, groups=2)", "ReLU()", "Conv2D(6, 3)"],
     ["Conv2d(4, 8, 3)", "ReLU()", "Conv2d(8, 6, 3)"]),
    ("groups where there are none", "groups", "conv2d", PAIR, ["Conv2D(8, 3)", "ReLU()", "Conv2D(6, 3)"],
     ["Conv2d(4, 8, 3, groups=2)", "ReLU()", "Conv2d(8, 6, 3)"]),
    ("another number of groups in the middle", "groups", "conv2d_1", PAIR,
     ["Conv2D(8, 3)", "ReLU()", "Conv2D(12, 3, groups=4)", "ReLU()", "Conv2D(5, 1)"],
     ["Conv2d(4, 8, 3)", "ReLU()", "Conv2d(8, 12, 3, groups=2)", "ReLU()", "Conv2d(12, 5, 1)"]),
    ("a depthwise convolution as a full one", "groups", "depthwise_conv2d", PAIR,
     ["DepthwiseConv2D(3)", "ReLU()", "Conv2D(6, 3)"], ["Conv2d(4, 4, 3)", "ReLU()", "Conv2d(4, 6, 3)"]),
    ("a multiplier forgotten", "channels", "depthwise_conv2d", PAIR,
     ["DepthwiseConv2D(3, depth_multiplier=2)", "ReLU()", "Conv2D(6, 3)"],
     ["Conv2d(4, 4, 3, groups=4)", "ReLU()", "Conv2d(4, 6, 3)"]),
    ("another kernel size", "kernel_size", "conv2d", IMAGE, ["Conv2D(8, 5)", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 8, 3)", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("another number of filters", "channels", "conv2d", IMAGE, ["Conv2D(8, 3)", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 6, 3)", "ReLU()", "Conv2d(6, 5, 3)"]),
    ("another number of units", "channels", "dense", ROW, ["Dense(16)", "ReLU()", "Dense(5)"],
     ["Linear(12, 8)", "ReLU()", "Linear(8, 5)"]),
    ("a bias forgotten", "bias_missing", "conv2d", IMAGE, ["Conv2D(8, 3)", "ReLU()", "Conv2D(5, 3)"],
     ["Conv2d(3, 8, 3, bias=False)", "ReLU()", "Conv2d(8, 5, 3)"]),
    ("a bias where there is none", "bias_extra", "conv2d", IMAGE,
     ["Conv2D(8, 3, use_bias=False)", "ReLU()", "Conv2D(5, 3)"], ["Conv2d(3, 8, 3)", "ReLU()", "Conv2d(8, 5, 3)"]),
    # pools
    ("an average that counts its padding", "pool_divisor", "average_pooling2d", (15, 15, 3),
     then("AveragePooling2D(3, 2, padding='same')"), then_torch("AvgPool2d(3, 2, padding=1)")),
    ("the last window of a pool dropped", "ceil_mode", "max_pooling2d", IMAGE, then("MaxPooling2D(2, padding='same')"),
     then_torch("MaxPool2d(2)")),
    ("a pool that pads", "pad_where_none", "max_pooling2d", IMAGE, then("MaxPooling2D(3, 2)"),
     then_torch("MaxPool2d(3, 2, padding=1)")),
    ("an average for a maximum", "pool_kind", "max_pooling2d", IMAGE, then("MaxPooling2D(3, 2)"),
     then_torch("AvgPool2d(3, 2)")),
    # norms
    ("PyTorch's epsilon", "bn_eps", "batch_normalization", IMAGE, then("BatchNormalization()"),
     then_torch("BatchNorm2d(8)")),
    ("a norm over rows", "bn_axis", "batch_normalization", IMAGE, then("BatchNormalization(axis=1)"),
     then_torch("BatchNorm2d(8, eps=1e-3)")),
    ("a norm over rows, of as many rows as channels", "bn_axis", "batch_normalization", (10, 10, 3),
     then("BatchNormalization(axis=1)"), then_torch("BatchNorm2d(8, eps=1e-3)")),
    ("PyTorch's epsilon of a layer norm", "norm_eps", "layer_normalization", ROW,
     ["Dense(8)", "LayerNormalization()", "Dense(5)"], ["Linear(12, 8)", "LayerNorm(8)", "Linear(8, 5)"]),
    ("other groups of a norm", "norm_groups", "group_normalization", IMAGE, then("GroupNormalization(4)"),
     then_torch("GroupNorm(2, 8, eps=1e-3)")),
    ("momentum and dropout", SAME, "", IMAGE, then("BatchNormalization(momentum=0.9)", "ReLU()", "Dropout(0.3)"),
     then_torch("BatchNorm2d(8, eps=1e-3, momentum=0.3)", "ReLU()")),
    # functions
    ("PyTorch's slope", "activation_slope", "leaky_re_lu", IMAGE, then("LeakyReLU(negative_slope=0.3)"),
     then_torch("LeakyReLU()")),
    ("GELU by tanh", "activation_variant", "conv2d", IMAGE, ["Conv2D(8, 3, activation='gelu')", "Conv2D(5, 3)"],
     then_torch("GELU(approximate='tanh')")),
    ("ReLU for ReLU6", "activation_limit", "conv2d", IMAGE, ["Conv2D(8, 3, activation='relu6')", "Conv2D(5, 3)"],
     then_torch("ReLU()")),
    ("sigmoid for tanh", "activation_kind", "dense", ROW, ["Dense(8, activation='tanh')", "Dense(5)"],
     ["Linear(12, 8)", "Sigmoid()", "Linear(8, 5)"]),
    ("an activation forgotten", "activation_missing", "conv2d", IMAGE,
     ["Conv2D(8, 3, activation='relu')", "Conv2D(5, 3)"], then_torch()),
    ("an activation too many", "activation_extra", "conv2d", IMAGE, then(), then_torch("ReLU()")),
    ("softmax left to the loss", "activation_missing", "dense_1", ROW,
     ["Dense(8, activation='relu')", "Dense(5, activation='softmax')"], ["Linear(12, 8)", "ReLU()", "Linear(8, 5)"]),
    ("softmax over rows", "softmax_axis", "softmax", IMAGE, ["Conv2D(8, 3)", "Softmax()"],
     ["Conv2d(3, 8, 3)", "Softmax(dim=2)"]),
    # layers
    ("a norm forgotten", "layer_missing", "batch_normalization", IMAGE, then("BatchNormalization()", "ReLU()"),
     then_torch("ReLU()")),
    ("a norm too many", "layer_extra", "conv2d", IMAGE, then("ReLU()"), then_torch("BatchNorm2d(8)", "ReLU()")),
    ("a pool forgotten", "layer_missing", "max_pooling2d", IMAGE, then("ReLU()", "MaxPooling2D(2)"),
     then_torch("ReLU()")),
    ("norm and activation exchanged", "order_of_layers", "batch_normalization", IMAGE,
     then("BatchNormalization()", "ReLU()"), then_torch("ReLU()", "BatchNorm2d(8, eps=1e-3)")),
    ("norm and maximum exchanged", "order_of_layers", "batch_normalization,max_pooling2d", IMAGE,
     then("MaxPooling2D(2)", "BatchNormalization()"), then_torch("BatchNorm2d(8, eps=1e-3)", "MaxPool2d(2)")),
    ("average and activation exchanged", "order_of_layers", "re_lu,average_pooling2d", IMAGE,
     then("AveragePooling2D(2)", "ReLU()"), then_torch("ReLU()", "AvgPool2d(2)")),
    ("a scale in front forgotten", "preprocessing", "rescaling", IMAGE, ["Rescaling(1/255.)", "Conv2D(8, 3)", "ReLU()"],
     ["Conv2d(3, 8, 3)", "ReLU()"]),
    # features of what is flattened
    ("rows, columns, channels and channels, rows, columns", "flatten_order", "dense", IMAGE,
     ["Conv2D(8, 3)", "ReLU()", "Flatten()", "Dense(10)", "Softmax()"],
     ["Conv2d(3, 8, 3)", "ReLU()", "Flatten()", "Linear(1248, 10)", "Softmax(dim=1)"]),
    ("steps and channels", "flatten_order", "dense", STEPS, ["Conv1D(8, 3)", "ReLU()", "Flatten()", "Dense(10)"],
     ["Conv1d(5, 8, 3)", "ReLU()", "Flatten()", "Linear(144, 10)"]),
    ("flattened by view", "flatten_order", "dense", IMAGE, ["Conv2D(8, 3)", "Flatten()", "Dense(10)"],
     {"c": "Conv2d(3, 8, 3)", "d": "Linear(1248, 10)", "forward": "self.d(self.c(x).view(x.size(0), -1))"}),
    ("flattened in Keras's order", SAME, "", IMAGE, ["Conv2D(8, 3)", "Flatten()", "Dense(10)"],
     {"c": "Conv2d(3, 8, 3)", "d": "Linear(1248, 10)", "forward": "self.d(self.c(x).permute(0, 2, 3, 1).flatten(1))"}),
    ("flattened in PyTorch's order", SAME, "", IMAGE, ["Conv2D(8, 3)", "Permute((3, 1, 2))", "Flatten()", "Dense(10)"],
     ["Conv2d(3, 8, 3)", "Flatten()", "Linear(1248, 10)"]),
    ("averaged and flattened", SAME, "", IMAGE, ["Conv2D(8, 3)", "GlobalAveragePooling2D()", "Dense(4)"],
     ["Conv2d(3, 8, 3)", "AdaptiveAvgPool2d(1)", "Flatten()", "Linear(8, 4)"]),
    # resizing
    ("corners aligned", "align_corners", "up_sampling2d", IMAGE, then("UpSampling2D(2, interpolation='bilinear')"),
     then_torch("Upsample(scale_factor=2, mode='bilinear', align_corners=True)")),
    ("bilinear for nearest", "resize_mode", "up_sampling2d", IMAGE, then("UpSampling2D(2)"),
     then_torch("Upsample(scale_factor=2, mode='bilinear')")),
    ("another factor", "resize_size", "up_sampling2d", IMAGE, then("UpSampling2D(2)"),
     then_torch("Upsample(scale_factor=3)")),
    # branches
    ("branches in another order", "concat_order", "concatenate", IMAGE,
     "a = layers.Conv2D(4, 3)(x)\nb = layers.Conv2D(6, 3)(x)\ny = layers.Conv2D(5, 3)(layers.Concatenate()([a, b]))",
     {"a": "Conv2d(3, 4, 3)", "b": "Conv2d(3, 6, 3)", "c": "Conv2d(10, 5, 3)",
      "forward": "self.c(torch.cat([self.b(x), self.a(x)], 1))"}),
    ("a skip forgotten", "layer_missing", "add", (15, 14, 8),
     "a = layers.Conv2D(8, 3, padding='same')(x)\ny = layers.Conv2D(5, 3)(layers.Add()([a, x]))",
     {"a": "Conv2d(8, 8, 3, padding=1)", "c": "Conv2d(8, 5, 3)", "forward": "self.c(self.a(x))"}),
    ("a product for a sum", "merge_kind", "add", (15, 14, 8),
     "a = layers.Conv2D(8, 3, padding='same')(x)\ny = layers.Conv2D(5, 3)(layers.Add()([a, x]))",
     {"a": "Conv2d(8, 8, 3, padding=1)", "c": "Conv2d(8, 5, 3)", "forward": "self.c(self.a(x) * x)"}),
    # cells
    ("an LSTM", SAME, "", (9, 5), ["LSTM(7)", "Dense(3)"],
     {"g": "LSTM(5, 7, batch_first=True)", "d": "Linear(7, 3)", "forward": "self.d(self.g(x)[0][:, -1])"}),
    ("the first step for the last", "sequence_end", "lstm", (9, 5), ["LSTM(7)", "Dense(3)"],
     {"g": "LSTM(5, 7, batch_first=True)", "d": "Linear(7, 3)", "forward": "self.d(self.g(x)[0][:, 0])"}),
    ("batch_first forgotten", "sequence_axis", "lstm", (9, 5), ["LSTM(7, return_sequences=True)", "Dense(3)"],
     {"g": "LSTM(5, 7)", "d": "Linear(7, 3)", "forward": "self.d(self.g(x)[0])"}),
    ("batch_first forgotten, and the last of a batch taken", "sequence_axis", "lstm", (9, 5), ["LSTM(7)", "Dense(3)"],
     {"g": "LSTM(5, 7)", "d": "Linear(7, 3)", "forward": "self.d(self.g(x)[0][:, -1])"}),
    ("the other reset gate", "reset_after", "gru", (9, 5), ["GRU(7, reset_after=False)", "Dense(3)"],
     {"g": "GRU(5, 7, batch_first=True)", "d": "Linear(7, 3)", "forward": "self.d(self.g(x)[0][:, -1])"}),
    ("a GRU for an LSTM", "cell_kind", "lstm", (9, 5), ["LSTM(7)", "Dense(3)"],
     {"g": "GRU(5, 7, batch_first=True)", "d": "Linear(7, 3)", "forward": "self.d(self.g(x)[0][:, -1])"}),
]


def shape_for_torch(shape):
    return (2, *shape) if len(shape) < 3 and shape != STEPS else (2, shape[-1], *shape[:-1])


def written(row, folder):
    _, _, _, shape, keras, torch = row
    a, b = folder / "a.py", folder / "b.py"
    a.write_text(keras_program(keras, shape))
    b.write_text(torch_program(torch))
    return a, b


def complaint(convoy, row, folder):
    name, causes, layers, shape, *_ = row
    a, b = written(row, folder)
    ask = [convoy, "diff", str(a), str(b), "--json"]
    done = subprocess.run(ask, capture_output=True, text=True)
    if done.returncode == 2:  # PyTorch's source does not say the sizes
        sizes = ",".join(map(str, shape_for_torch(shape)))
        done = subprocess.run([*ask, "--shape", f"x={sizes}"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return f"exit code {done.returncode}: {done.stderr.strip()}"
    said = json.loads(done.stdout)["differences"]
    if not causes:
        return None if not said else f"the same, but {[(d['a'], d['cause']) for d in said]}"
    if [d["cause"] for d in said] != [causes] or said[0]["a"] not in layers.split(","):
        return f"{[(d['a'], d['cause'], d['also']) for d in said]}, expected {causes} in {layers}"
    if not said[0]["ratio_after_fix"] <= said[0]["limit"] < said[0]["ratio"]:
        return f"r {said[0]['ratio']} falls to {said[0]['ratio_after_fix']}, limit {said[0]['limit']}"
    if not said[0]["fix"]["torch"] or not said[0]["fix"]["keras"]:
        return "no line to write"
    return None


def main(convoy):
    broken = []
    with tempfile.TemporaryDirectory() as folder:
        for row in PAIRS:
            if trouble := complaint(convoy, row, Path(folder)):
                broken.append(f"{row[0]}: {trouble}")
    print("\n".join([*broken, f"{len(PAIRS) - len(broken)} right, {len(broken)} wrong"]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
