"""Carries the models of tests/data/semantics to the other frameworks and asks these what the port answers at the edges:
that must be what the model's own framework answered, or the port refuses by name.

    PYTHON tests/oracle/semantics/ports.py [--every N] [--to torch|keras|onnx] [--show] [WORD ...]

carries every Nth row whose name holds the words and ends with a count.
"""
import base64
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", KERAS_BACKEND="tensorflow")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import numpy as np  # noqa: E402  after the environment
from carrying import Crossing, convoy, import_file  # noqa: E402

KEPT = Path(__file__).resolve().parents[2] / "data" / "semantics"
ENDS = {"torch": "net.py", "keras": "net.keras", "onnx": "net.onnx"}


def array_of(written):
    special = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
    data = [special.get(v, v) if isinstance(v, str) else v for v in written["data"]]
    return np.array(data, dtype=written["dtype"]).reshape(written["shape"])


def rows():
    """Every row that its framework answered."""
    for file in sorted(KEPT.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            if "error" not in row:
                yield row


def family(row):
    """The framework that answered; TensorFlow's rows are Keras code that calls its functions."""
    return next(name for name in ("torch", "keras", "onnx", "tensorflow") if row["framework"].startswith(name))


def source_of(row, folder):
    """The row's model as a file, and what the command must be told of it."""
    kind = family(row)
    path = folder / {"keras": "source.keras", "onnx": "source.onnx"}.get(kind, "source.py")
    if kind == "keras":
        import keras

        keras.models.model_from_json(row["model"]).save(path)
        return [path]
    path.write_bytes(base64.b64decode(row["model"]) if kind == "onnx" else row["model"].encode())
    if kind != "torch":
        return [path]
    # An axis without numbers is a free one: no model is asked for at that size alone.
    shapes = [f"{name}={','.join(str(size or '?') for size in x['shape'])}" for name, x in zip("xyz", row["inputs"])]
    return [path, *[word for shape in shapes for word in ("--shape", shape)]]


def answers_of(path, target, inputs):
    """What the real framework answers, the inputs being as the port takes them."""
    if target == "onnx":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})
    if target == "keras":
        import keras

        keras.backend.clear_session()
        model = keras.models.load_model(path)
        fed = [keras.ops.convert_to_tensor(x) for x in inputs]
        out = model(fed if len(fed) > 1 else fed[0])
        out = list(out.values()) if isinstance(out, dict) else list(out) if isinstance(out, (tuple, list)) else [out]
        return [keras.ops.convert_to_numpy(y) for y in out]
    import torch

    model = import_file(path).load()
    with torch.inference_mode():
        out = model(*[torch.from_numpy(np.array(x)) for x in inputs])
    return [y.numpy() for y in (out if isinstance(out, (tuple, list)) else [out])]


def difference(got, want):
    """What differs beyond rounding; NaN and the infinities are numbers like others."""
    if got.shape != want.shape:
        return f"shape {got.shape}, wanted {want.shape}"
    g, w = got.astype(np.float64).reshape(-1), want.astype(np.float64).reshape(-1)
    with np.errstate(invalid="ignore"):
        same = (g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= 1e-5 * np.abs(w) + 1e-6)
    at = np.flatnonzero(~same)
    return f"number {at[0]} is {g[at[0]]}, wanted {w[at[0]]} ({len(at)} of {len(g)})" if len(at) else None


def judge(row, target, folder):
    """("passed" | "refused" | "failed", why)"""
    path = folder / ENDS[target]
    command = ["port", *source_of(row, folder), "--to", target, "-o", path, "--json", "--force", "--no-proof"]
    done = convoy(*command, code=None)
    if done.returncode == 6:
        return "refused", done.stderr.strip().splitlines()[0]
    if done.returncode:
        return "failed", f"exit code {done.returncode}: {done.stderr.strip()[:200]}"
    report = json.loads(done.stdout)
    sides = {side: [Crossing.of(one) for one in report[side]] for side in ("inputs", "outputs")}
    inputs = [array_of(x) for x in row["inputs"]]
    try:
        fed = [c.to_port(x) if x.size else x for c, x in zip(sides["inputs"], inputs, strict=True)]
        got = [c.from_port(y) for c, y in zip(sides["outputs"], answers_of(path, target, fed), strict=True)]
    except Exception as error:
        return "failed", f"{type(error).__name__}: {str(error).strip()[:200]}"
    for one, want in zip(got, row["outputs"], strict=True):
        if wrong := difference(one, array_of(want)):
            return "failed", wrong
    return "passed", ""


def main(arguments):
    every, targets, shows, words = 1, list(ENDS), False, []
    while arguments:
        word = arguments.pop(0)
        if word == "--every":
            every = int(arguments.pop(0))
        elif word == "--to":
            targets = [arguments.pop(0)]
        elif word == "--show":
            shows = True
        else:
            words.append(word)
    counts = Counter()
    chosen = [row for row in rows() if all(w in row["id"] for w in words)][::every]
    with tempfile.TemporaryDirectory() as folder:
        for row in chosen:
            for target in targets:
                if target == family(row) and len(targets) > 1:
                    continue
                verdict, why = judge(row, target, Path(folder))
                counts[verdict] += 1
                if verdict == "failed" or (shows and verdict == "refused"):
                    print(f"{verdict} {row['id']} -> {target}: {why}", flush=True)
    print(", ".join(f"{counts[v]} {v}" for v in ("passed", "refused", "failed")))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
