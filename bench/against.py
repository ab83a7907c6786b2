"""Measures convoy against other engines on every model of a folder, all loaded and taking turns; prints a table in Markdown.

    python bench/against.py FOLDER [--names a,b] [--threads N] [--rounds N] [--convoy COMMAND] [--rivals onnxruntime,openvino,litert]

Wants a Python that has the rivals. Beside MODEL.onnx lie MODEL.x.npy, an input, and MODEL.ref.npy, the output in float64;
`bench/networks.py` makes such. LiteRT reads MODEL.tflite and is left out where there is none. Times are of the processor per call,
the median over all turns, so that other work on the machine tells less; in brackets the least time that a call took on the clock;
both in milliseconds. The share is that of the best rival by ours. Errors are parts of the largest output.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def status(key: str) -> float:
    return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith(key))


def open_onnxruntime(model: Path, x: np.ndarray, threads: int):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feeds = {session.get_inputs()[0].name: x}
    return lambda: session.run(None, feeds)[0]


def open_openvino(model: Path, x: np.ndarray, threads: int):
    import openvino

    options = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
               "INFERENCE_NUM_THREADS": str(threads)}
    request = openvino.Core().compile_model(str(model), "CPU", options).create_infer_request()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))

    def run() -> np.ndarray:
        request.infer()
        return request.get_output_tensor(0).data

    return run


def open_litert(model: Path, x: np.ndarray, threads: int):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(model.with_suffix(".tflite")), num_threads=threads)
    interpreter.allocate_tensors()
    given, made = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    interpreter.set_tensor(given, np.ascontiguousarray(np.moveaxis(x, 1, -1)))

    def run() -> np.ndarray:
        interpreter.invoke()
        return interpreter.get_tensor(made)

    return run


RIVALS = {"onnxruntime": ("ONNX Runtime", open_onnxruntime), "openvino": ("OpenVINO", open_openvino),
          "litert": ("LiteRT", open_litert)}


def serve(rival: str, model: Path, threads: int) -> None:
    """Answers the lines that `convoy bench --serve` answers."""
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print

    def say(**what) -> None:
        print(json.dumps(what), file=pipe, flush=True)

    begin = time.perf_counter()
    x = np.load(model.with_suffix(".x.npy"))
    run = RIVALS[rival][1](model, x, threads)
    loaded = time.perf_counter()
    y = run()
    say(ready=1, load_ms=(loaded - begin) * 1e3, first_ms=(time.perf_counter() - loaded) * 1e3)
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "run":
            times = []
            for _ in range(int(rest[0])):
                start = time.perf_counter()
                y = run()
                times.append((time.perf_counter() - start) * 1e3)
            say(ms=times)
        elif word == "out":
            y = np.array(y)
            np.save(rest[0], np.moveaxis(y, -1, 1) if rival == "litert" and y.ndim > 2 else y)
            say(ok=1)
        elif word == "rss":
            say(hwm_mb=status("VmHWM"))
        else:
            return


class Engine:
    """A process that has loaded a model and waits for its turn."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.info, self.times, self.spent = self.read(), [], []

    def read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(self.process.args)} ended")
        return json.loads(line)

    def ask(self, question: str) -> dict:
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.read()

    def processor_ms(self) -> float:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6

    def take_turn(self, calls: int) -> None:
        before = self.processor_ms()
        self.times += self.ask(f"run {calls}")["ms"]
        self.spent.append((self.processor_ms() - before) / calls)

    def error(self, reference: np.ndarray) -> float:
        with tempfile.TemporaryDirectory() as folder:
            self.ask(f"out {folder}/y.npy")
            y = np.load(f"{folder}/y.npy").astype(np.float64).reshape(reference.shape)
        return float(abs(y - reference).max() / abs(reference).max())

    def end(self) -> None:
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        self.process.wait()


def measured(model: Path, options: argparse.Namespace) -> tuple[str, float]:
    x, threads = str(model.with_suffix(".x.npy")), str(options.threads)
    rivals = [r for r in options.rivals if r != "litert" or model.with_suffix(".tflite").exists()]
    engines = [Engine([sys.executable, __file__, "--serve", rival, str(model), threads]) for rival in rivals]
    engines.append(Engine([options.convoy, "bench", "--serve", str(model), "--input", x, "-j", threads]))
    reference = np.load(model.with_suffix(".ref.npy"))
    errors = [engine.error(reference) for engine in engines]
    slice_ms = 250
    counts = [max(2, int(slice_ms / min(engine.ask("run 3")["ms"])) + 1) for engine in engines]
    for turn in range(options.rounds):
        order = list(range(len(engines)))
        for i in order[turn % len(order):] + order[:turn % len(order)]:
            engines[i].take_turn(counts[i])
    medians, least = [statistics.median(e.spent) for e in engines], [min(e.times) for e in engines]
    memory = [engine.ask("rss")["hwm_mb"] for engine in engines]
    first = [engine.info["load_ms"] + engine.info["first_ms"] for engine in engines]
    for engine in engines:
        engine.end()
    share = min(medians[:-1]) / medians[-1]
    times = {r: f"{m:.3g} ({t:.3g})" for r, m, t in zip([*rivals, "convoy"], medians, least)}
    row = [model.stem, *(times.get(r, "-") for r in [*options.rivals, "convoy"]),
           f"{share:.2f} ({min(least[:-1]) / least[-1]:.2f})", ", ".join(f"{e:.1e}" for e in errors),
           ", ".join(f"{f:.0f}" for f in first), ", ".join(f"{m:.0f}" for m in memory)]
    return "| " + " | ".join(row) + " |", share


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rivals", type=lambda names: names.split(","), default=["onnxruntime"])
    parser.add_argument("--convoy", default=str(Path(__file__).parent.parent / "build/release/convoy"))
    options = parser.parse_args()
    names = options.names.split(",") if options.names else sorted(f.stem for f in options.folder.glob("*.onnx"))
    titles = ["network", *(f"{RIVALS[r][0]}, ms" for r in options.rivals), "convoy, ms", "share", "errors, ours last",
              "first result, ms", "memory, MB"]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    shares = []
    for name in names:
        row, share = measured(options.folder / f"{name}.onnx", options)
        print(row, flush=True)
        shares.append(share)
    print(f"\nThe geometric mean of the shares is {statistics.geometric_mean(shares):.2f}.")


if __name__ == "__main__":
    main()
