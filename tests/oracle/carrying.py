"""Runs convoy as a user does, imports the modules it writes into real PyTorch, and compares numbers."""
import contextlib
import importlib.util
import io
import json
import os
import runpy
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
CONVOY = ROOT / "build" / "release" / "convoy"
FULL = os.environ.get("FULL", "") not in ("", "0")
SHARED = Path(os.environ.get("CONVOY_SHARED", ROOT.parent / "shared"))

# Largest difference allowed, of the largest value wanted: the two frameworks sum in different orders.
TOLERANCE = 2e-5


def cases_in(name: str) -> Path | None:
    """The folder of test data beside the project, else the copy of it in tests/data, else nothing."""
    return next((p for p in (SHARED / name, ROOT / "tests" / "data" / name) if p.is_dir()), None)


def convoy(*arguments, code: int | None = 0) -> subprocess.CompletedProcess:
    command = [str(CONVOY), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    if code is not None:
        assert done.returncode == code, f"{' '.join(command)}\nexit code {done.returncode}, not {code}\n{done.stderr}"
    return done


def said(*files) -> tuple[int, str]:
    """What `convoy diff` ends with and says: 0 the same, 1 different."""
    done = convoy("diff", *files, code=None)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


def run_natively(source: list, inputs: dict[str, np.ndarray], folder: Path, *options) -> list[np.ndarray]:
    """What `convoy run` answers, one array per output in the model's order."""
    arguments = []
    for name, value in inputs.items():
        file = folder / f"in_{len(arguments)}.npy"
        np.save(file, value)
        arguments += ["--input", file if len(inputs) == 1 else f"{name}={file}"]
    answers = [folder / "y.npy", folder / "y.npz"]
    for file in answers:
        file.unlink(missing_ok=True)
    done = convoy("run", *source, *arguments, "-o", answers[0], *options, code=None)
    if done.returncode == 2:  # several outputs go into an .npz
        done = convoy("run", *source, *arguments, "-o", answers[1], *options, code=None)
    assert done.returncode == 0, f"convoy run {' '.join(map(str, source))}\n{done.stderr}"
    if answers[0].exists():
        return [np.load(answers[0])]
    with np.load(answers[1]) as several:
        return [several[name] for name in several.files]


def plain_session(path, threads: int = 0):
    """ONNX Runtime as it is asked: without its optimizer, which rounds and pads in ways of its own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@dataclass
class Crossing:
    """How one input or output of the source lies in the port: reshaped to `split`, permuted, reshaped to `shape`."""

    name: str
    shape: list
    permutation: list
    split: list

    @staticmethod
    def of(row: dict) -> "Crossing":
        return Crossing(row["name"], row.get("shape") or [], row.get("permutation") or [], row.get("split") or [])

    def to_port(self, x: np.ndarray) -> np.ndarray:
        y = x.reshape(self.split) if self.split else x
        y = y.transpose(self.permutation) if self.permutation else y
        return np.ascontiguousarray(y.reshape([len(x), *self.shape[1:]]) if self.split else y)

    def from_port(self, y: np.ndarray) -> np.ndarray:
        return y.transpose(np.argsort(self.permutation)) if self.permutation else y


def by_name(model, crossings: list, given: list) -> list:
    """What forward() of a port is called with: tensors, or one dictionary of them."""
    takes = model.forward.__annotations__
    return [{c.name: x for c, x in zip(crossings, given, strict=True)}] if "inputs" in takes else given


@dataclass
class Port:
    """A module that convoy wrote, imported."""

    path: Path
    module: object
    model: object
    inputs: list[Crossing]
    outputs: list[Crossing]

    def __call__(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The source's inputs in the source's layout; its outputs, again in the source's layout."""
        import torch

        with torch.inference_mode():
            given = [torch.from_numpy(crossing.to_port(x)) for crossing, x in zip(self.inputs, inputs)]
            y = self.model(*by_name(self.model, self.inputs, given))
        several = [y[c.name] for c in self.outputs] if isinstance(y, dict) else list(y) if isinstance(y, (tuple, list)) else [y]
        return [crossing.from_port(out.numpy()) for crossing, out in zip(self.outputs, several, strict=True)]


def import_file(path: Path):
    spec = importlib.util.spec_from_file_location(f"ported_{abs(hash(path))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def port(source: list, path: Path, *options) -> Port:
    """Ports to PyTorch with proof, imports the module and loads its weights."""
    report = json.loads(convoy("port", *source, "--to", "torch", "-o", path, "--json", "--force", *options).stdout)
    module = import_file(path)
    return Port(path, module, module.load(), *([Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs")))


def check_itself(path: Path) -> str:
    """Runs the module as `python MODULE.py` does, in this process and from another directory; its words."""
    words = io.StringIO()
    here = Path.cwd()
    os.chdir("/")
    try:
        with contextlib.redirect_stdout(words):
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        assert not end.code, f"{path.name} says {end.code}: {words.getvalue()}"
    finally:
        os.chdir(here)
    return words.getvalue()


def assert_close(got: list[np.ndarray], want: list[np.ndarray], tolerance: float = TOLERANCE, what: str = "") -> None:
    assert len(got) == len(want), f"{what}: {len(got)} outputs, not {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        assert g.shape == w.shape, f"{what}: output {i} has shape {list(g.shape)}, not {list(w.shape)}"
        g, w = g.astype(np.float64), w.astype(np.float64)
        assert np.array_equal(np.isnan(g), np.isnan(w)), f"{what}: output {i} has NaN in other places"
        worst = np.nanmax(np.abs(g - w), initial=0)
        scale = max(np.nanmax(np.abs(w), initial=0), 1e-3)
        assert worst <= tolerance * scale, f"{what}: output {i} is off by {worst:.3g}, the largest value being {scale:.3g}"
