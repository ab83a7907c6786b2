"""quantised_zoo.py CONVOY [--only WORD] [--list]: 120 models of every element type that tools make, run and carried, judged by the frameworks.

ONNX Runtime's static (QDQ, QLinear) and dynamic quantisers, TFLite's converter (int8, dynamic range, float16), PyTorch's `half()` and
`to(bfloat16)` as exported programs, Keras's `quantize("int8")` and policies of 16 bits. Each is carried to every target that can say it. Counts, by
tool and target: equal (integers and answers to the bit; halves within one rounding of the largest number; numbers that are rounded to
steps may be a step off at one place in fifty, or at one), off, and what was refused, with the words.
"""
import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime
import torch

sys.path.insert(0, str(Path(__file__).parent))
from carrying import import_file  # noqa: E402
from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static  # noqa: E402
from quantised_models import KINDS, NETS, SHAPE, Numbers, float_model, quantised_model  # noqa: E402

X = np.random.default_rng(3).standard_normal(SHAPE).astype("f4")


def with_onnx(path, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    one = session.get_inputs()[0]
    return session.run(None, {one.name: x.astype(np.float16) if "float16" in one.type else x})[0]


def with_tflite(path, x, reference=False):
    import tensorflow as tf

    kind = tf.lite.experimental.OpResolverType.BUILTIN_REF
    made = tf.lite.Interpreter(model_path=str(path), **({"experimental_op_resolver_type": kind} if reference else {}))
    one = made.get_input_details()[0]
    if tuple(one["shape"]) != x.shape:
        made.resize_tensor_input(one["index"], x.shape)
    made.allocate_tensors()
    made.set_tensor(one["index"], x.astype(one["dtype"]))
    made.invoke()
    return made.get_tensor(made.get_output_details()[0]["index"])


def with_torch(path, x):
    module = import_file(path).load()
    reals = {p.dtype for p in module.state_dict().values() if p.is_floating_point()}
    halves = reals & {torch.float16, torch.bfloat16}
    with torch.no_grad():
        return module(torch.from_numpy(x).to(halves.pop() if halves else torch.float32)).float().numpy()


def with_keras(path, x):
    import keras

    made = keras.models.load_model(path)(x)
    return np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(made, "float32")))


RUNTIMES = {".onnx": with_onnx, ".tflite": with_tflite, ".py": with_torch, ".keras": with_keras}


# ---- models: (tool, name, make(folder) -> (file, input, answer, unit roundoff or None where numbers are rounded to steps))

def onnx_case(kind, name, per_channel):
    def make(folder):
        if kind in KINDS:
            file = quantised_model(name, kind, per_channel, folder)
        else:
            file, (_, source) = folder / "model.onnx", float_model(name, folder)
            if kind == "dynamic":
                quantize_dynamic(source, file, weight_type=QuantType.QUInt8, per_channel=per_channel)
            else:
                quantize_static(source, file, Numbers(), quant_format=QuantFormat.QOperator, per_channel=per_channel,
                                activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)
        return file, X, with_onnx(file, X), None
    return "ORT " + kind, f"{name}{' by channel' if per_channel else ''}", make


def torch_case(dtype, name):
    def make(folder):
        net, _ = float_model(name, folder)
        net, x = net.to(dtype), torch.from_numpy(X).to(dtype)
        torch.export.save(torch.export.export(net, (x,)), folder / "model.pt2")
        with torch.no_grad():
            return folder / "model.pt2", X, net(x).float().numpy(), 2.0 ** (-11 if dtype == torch.float16 else -8)
    return f"torch {str(dtype)[6:]}", name, make


def keras_net(name, dtype=None):
    import keras
    from keras import layers

    keras.utils.set_random_seed(4)
    kind = {"dtype": dtype} if dtype else {}
    x = inputs = keras.Input((13, 18, 3), batch_size=2)
    if name == "dense":
        x = layers.Dense(16, activation="relu", **kind)(x)
        x = layers.Dense(7, **kind)(x)
    elif name == "flat":
        x = layers.Conv2D(6, 3, strides=2, activation="relu", **kind)(x)
        x = layers.Dense(9, **kind)(layers.Flatten(**kind)(x))
    elif name == "separable":
        x = layers.DepthwiseConv2D(3, padding="same", **kind)(layers.Conv2D(6, 3, activation="relu", **kind)(x))
        x = layers.GlobalAveragePooling2D(**kind)(layers.ReLU(6.0, **kind)(x))
    elif name == "normed":
        x = layers.BatchNormalization(**kind)(layers.Conv2D(8, 3, padding="same", strides=2, **kind)(x))
        x = layers.MaxPooling2D(2, **kind)(layers.Activation("relu", **kind)(x))
    elif name == "joined":
        a, b = layers.Conv2D(4, 1, **kind)(x), layers.Conv2D(4, 5, padding="same", **kind)(x)
        x = layers.Dense(5, activation="softmax", **kind)(layers.Concatenate(**kind)([layers.Add(**kind)([a, b]), a]))
    else:
        x = layers.UpSampling2D(2, **kind)(layers.Conv2D(5, 3, activation="relu", **kind)(x))
        x = layers.Conv2D(3, 3, padding="same", **kind)(x)
    return keras.Model(inputs, x)


KERAS_NETS = ["dense", "flat", "separable", "normed", "joined", "upward"]
X_LAST = np.ascontiguousarray(np.moveaxis(X, 1, 3))


def keras_case(kind, name):
    def make(folder):
        net = keras_net(name, None if kind == "int8" else kind)
        if kind == "int8":
            net.quantize("int8")
        net.save(folder / "model.keras")
        roundoff = {"int8": None, "float16": 2.0**-11, "mixed_float16": 2.0**-11}.get(kind, 2.0**-8)
        return folder / "model.keras", X_LAST, with_keras(folder / "model.keras", X_LAST), roundoff
    return "Keras " + kind, name, make


def tflite_case(kind, name):
    def make(folder):
        import tensorflow as tf

        net = keras_net(name)
        net.export(str(folder / "saved"), verbose=False)
        made = tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved"))
        made.optimizations = [tf.lite.Optimize.DEFAULT]
        if kind == "float16":
            made.target_spec.supported_types = [tf.float16]
        if kind == "int8":
            random = np.random.default_rng(1)
            made.representative_dataset = lambda: ([random.standard_normal(X_LAST.shape).astype("f4")] for _ in range(4))
            made.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        (folder / "model.tflite").write_bytes(made.convert())
        reference = kind != "float16" and name != "upward"  # whose TILE the reference kernels lack
        return folder / "model.tflite", X_LAST, with_tflite(folder / "model.tflite", X_LAST, reference), None
    return "TFLite " + kind, name, make


def cases():
    all_of = [onnx_case(kind, name, channels) for name in NETS for kind in (*KINDS, "qlinear", "dynamic") for channels in (False, True)]
    all_of += [torch_case(dtype, name) for name in NETS for dtype in (torch.float16, torch.bfloat16)]
    all_of += [keras_case(kind, name) for name in KERAS_NETS for kind in ("int8", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16")]
    return all_of + [tflite_case(kind, name) for name in KERAS_NETS for kind in ("int8", "dynamic", "float16")]


# ---- judging

def is_equal(got, wanted, roundoff):
    if got.shape != wanted.shape:
        return False
    off = np.abs(got.astype("f8") - wanted.astype("f8"))
    largest = np.abs(wanted).max()
    if roundoff is not None:
        return bool(off.max() <= 2 * roundoff * largest)
    return bool(np.sum(off > 1e-5 * largest) <= max(0.02 * off.size, 1))


def targets_of(tool, file):
    keeps = ["--quantized", "keep"]
    if file.suffix == ".tflite":
        words = keeps if "float16" not in tool else []
        fake = ["--quantized", "fake"] if words else []
        return [(".onnx", words), (".tflite", words), (".py", fake), (".keras", fake)]
    if tool.startswith("ORT") and "dynamic" not in tool and "qlinear" not in tool:
        return [(".onnx", keeps), (".tflite", keeps), (".tflite", ["--quantized", "fake"]), (".py", []), (".keras", [])]
    return [(".onnx", ["--opset", "22"] if "bfloat16" in tool else []), (".tflite", []), (".py", []), (".keras", [])]


def judged(binary, case, folder):
    """[(target, verdict, words)]"""
    tool, _, make = case
    file, x, wanted, roundoff = make(folder)
    said = []
    np.save(folder / "x.npy", x)
    ran = subprocess.run([binary, "run", file, "--input", folder / "x.npy", "-o", folder / "y.npy"], capture_output=True, text=True)
    if ran.returncode:
        said.append(("run", "refused", ran.stderr.strip()))
    else:
        got = np.load(folder / "y.npy")
        said.append(("run", "equal" if is_equal(got, wanted, roundoff) else "off", ""))
    for extension, words in targets_of(tool, file):
        port = folder / f"port{extension}"
        made = subprocess.run([binary, "port", file, "-o", port, "--interface", "source", "-f", *words], capture_output=True, text=True)
        name = " ".join([extension, *words[1:]]) if "--quantized" in words else extension
        if made.returncode:
            said.append((name, "refused", made.stderr.strip()))
            continue
        try:
            got = RUNTIMES[extension](port, x)
            said.append((name, "equal" if is_equal(got, wanted, roundoff) else "off", ""))
        except Exception as error:
            said.append((name, "failed", str(error)))
    return said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("convoy")
    parser.add_argument("--only", default="", help="tools and models with this word")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    counts, models = {}, 0
    for case in cases():
        if options.only not in f"{case[0]} {case[1]}":
            continue
        if options.list:
            print(case[0], case[1])
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = judged(options.convoy, case, Path(folder))
            except Exception as error:
                print("not made:", case[0], case[1], str(error)[:200], flush=True)
                continue
        models += 1
        for target, verdict, words in said:
            counts.setdefault((case[0], target), Counter())[verdict] += 1
            if verdict != "equal":
                print(f"{verdict}: {case[0]} {case[1]} -> {target}: {words.splitlines()[-1][:240] if words else ''}", flush=True)
    for (tool, target), verdicts in sorted(counts.items()):
        print(f"{tool:<22}{target:<16}" + ", ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items())))
    together = sum((Counter(v) for v in counts.values()), Counter())
    print(f"{models} models, " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(together.items())))


if __name__ == "__main__":
    main()
