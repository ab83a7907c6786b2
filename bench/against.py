"""Measures convoy against ONNX Runtime on every model of a folder, both loaded and taking turns; prints a table in Markdown.

    python bench/against.py FOLDER [--names a,b] [--threads N] [--rounds N] [--convoy COMMAND]    a Python that has onnxruntime

Beside MODEL.onnx lie MODEL.x.npy, an input, and MODEL.ref.npy, the output in float64; `bench/networks.py` makes such. Times are of the
processor per call, the median over all turns, so that other work on the machine tells less; in brackets the least time that a
call took on the clock; both in milliseconds. The share is theirs by ours. Errors are parts of the largest output.
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


def serve_onnxruntime(model: str, inputs: str, threads: int) -> None:
    """Answers the lines that `convoy bench --serve` answers."""
    import onnxruntime

    def say(**what) -> None:
        print(json.dumps(what), flush=True)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {session.get_inputs()[0].name: np.load(inputs)}
    loaded = time.perf_counter()
    y = session.run(None, feeds)[0]
    say(ready=1, load_ms=(loaded - begin) * 1e3, first_ms=(time.perf_counter() - loaded) * 1e3)
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "run":
            times = []
            for _ in range(int(rest[0])):
                start = time.perf_counter()
                y = session.run(None, feeds)[0]
                times.append((time.perf_counter() - start) * 1e3)
            say(ms=times)
        elif word == "out":
            np.save(rest[0], y)
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
    engines = [
        Engine([sys.executable, __file__, "--serve", str(model), x, threads]),
        Engine([options.convoy, "bench", "--serve", str(model), "--input", x, "-j", threads]),
    ]
    reference = np.load(model.with_suffix(".ref.npy"))
    errors = [engine.error(reference) for engine in engines]
    slice_ms = 250
    counts = [max(2, int(slice_ms / min(engine.ask("run 3")["ms"])) + 1) for engine in engines]
    for turn in range(options.rounds):
        for i in (0, 1) if turn % 2 else (1, 0):
            engines[i].take_turn(counts[i])
    medians, least = [statistics.median(e.spent) for e in engines], [min(e.times) for e in engines]
    memory = [engine.ask("rss")["hwm_mb"] for engine in engines]
    first = [engine.info["load_ms"] + engine.info["first_ms"] for engine in engines]
    for engine in engines:
        engine.end()
    share = medians[0] / medians[1]
    row = [model.stem, f"{medians[0]:.3g} ({least[0]:.3g})", f"{medians[1]:.3g} ({least[1]:.3g})",
           f"{share:.2f} ({least[0] / least[1]:.2f})", f"{errors[0]:.1e}, {errors[1]:.1e}", f"{first[0]:.0f}, {first[1]:.0f}",
           f"{memory[0]:.0f}, {memory[1]:.0f}"]
    return "| " + " | ".join(row) + " |", share


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        return serve_onnxruntime(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--convoy", default=str(Path(__file__).parent.parent / "build/release/convoy"))
    options = parser.parse_args()
    names = options.names.split(",") if options.names else sorted(f.stem for f in options.folder.glob("*.onnx"))
    print("| network | ONNX Runtime, ms | convoy, ms | share | error, theirs and ours | first result | memory |")
    print("|---|---|---|---|---|---|---|")
    shares = []
    for name in names:
        row, share = measured(options.folder / f"{name}.onnx", options)
        print(row, flush=True)
        shares.append(share)
    print(f"\nThe geometric mean of the shares is {statistics.geometric_mean(shares):.2f}.")


if __name__ == "__main__":
    main()
