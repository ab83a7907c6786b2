"""Many models on engines that exist: any concurrent.futures executor runs them, a ledger keeps what became of each.

    with concurrent.futures.ProcessPoolExecutor(8) as pool:
        table = convoy.batch.port(paths, to="torch", out="ports", executor=pool)
"""
from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

from . import _model
from .errors import Error, NotProven, UsageError

_EXTENSIONS = {"torch": ".py", "keras": ".keras", "onnx": ".onnx", "tflite": ".tflite"}
_MODELS = {".keras", ".h5", ".hdf5", ".onnx", ".pt2", ".pt", ".pb", ".tflite"}


@dataclass(frozen=True)
class Entry:
    """What became of one model, a line of the ledger.

    `verdict` is "proved", "written" (with proof=False), "differs" (not proven; nothing was written), "refused", "broken" or "failed" (the worker was lost); `reason`
    says why in one sentence. `seconds` is the time it took, `memory` the most bytes that its process held until then.
    """

    file: str
    sha256: str
    verdict: str
    reason: str
    seconds: float
    memory: int
    output: str


def _files(paths: Iterable[str | os.PathLike]) -> Iterator[Path]:
    for path in map(Path, [paths] if isinstance(paths, (str, os.PathLike)) else paths):
        if path.is_dir() and not _is_saved_model(path):
            for one in sorted(path.rglob("*")):
                inside = any(_is_saved_model(parent) for parent in one.parents if parent != path and path in parent.parents)
                if not inside and (_is_saved_model(one) or one.suffix.lower() in _MODELS and one.is_file()):
                    yield one
        else:
            yield path


def _is_saved_model(folder: Path) -> bool:
    """A SavedModel is a folder."""
    return (folder / "saved_model.pb").is_file()


def _sha256(path: Path) -> str:
    sha = hashlib.sha256()
    for one in sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]:
        with one.open("rb") as file:
            while block := file.read(1 << 20):
                sha.update(block)
    return sha.hexdigest()


def _port_one(file: str, output: str, to: str, force: bool, options: dict) -> Entry:
    """Runs in a worker. Whatever happens to the model is an entry, not an exception."""
    begun, sha256, reason = time.monotonic(), "", ""
    try:
        sha256 = _sha256(Path(file))
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        _model.port(file, output, to=to, force=force, **{"progress": False, **options})
        verdict = "written" if options.get("proof") is False else "proved"
    except NotProven as error:
        verdict, reason = "differs", str(error)
    except Error as error:
        verdict, reason = "broken" if type(error).__name__ == "BrokenFile" else "refused", str(error)
    except OSError as error:
        verdict, reason = "broken", f"{file}: {error.strerror or error}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Entry(file, sha256, verdict, reason, round(time.monotonic() - begun, 3), memory, output if verdict in ("proved", "written") else "")


Job = tuple[str, str]  # a model, and the file of its port
Keep = Callable[[Entry], None]
# Ports models side by side and keeps an entry for each.
Engine = Callable[[list[Job], str, bool, dict, Keep], None]


def read_ledger(path: str | os.PathLike) -> list[Entry]:
    """The entries of a ledger. A line that was cut off by a kill is left out."""
    entries = []
    path = Path(path)
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                entries.append(Entry(**json.loads(line)))
            except (ValueError, TypeError):
                continue
    return entries


def port(paths: Iterable[str | os.PathLike], to: str, out: str | os.PathLike, executor: concurrent.futures.Executor | None = None, *,
         ledger: str | os.PathLike | None = None, resume: bool = False, shard: tuple[int, int] = (0, 1), force: bool = False,
         **options: Any) -> list[Entry]:
    """Ports many models, each proved; one that fails leaves the others alone.

    Parameters
    ----------
    paths
        Files, and folders that are searched for models.
    to
        "torch", "keras", "onnx" or "tflite".
    out
        The folder for the ports. A model below a given folder keeps its place there.
    executor
        What runs them: threads or processes, of this machine or of a cluster; None: one after another. A worker process that is lost
        is asked once more by itself, and then stands in the ledger as "failed".
    ledger
        A file that gains one line of JSON for each model, at once when it is done (default: ledger.jsonl in `out`).
    resume
        Leave out what the ledger says is proved, where file and port are as they were.
    shard
        (i, n): every n-th model, beginning with the i-th, for n jobs side by side; give each a ledger of its own.
    options
        As for `convoy.port`.

    Returns
    -------
    list of Entry
        In the order of the models.
    """
    return _ported(_on_executor(executor), paths, to, out, ledger, resume, shard, force, options)


def _ported(engine: Engine, paths: Iterable[str | os.PathLike], to: str, out: str | os.PathLike, ledger: str | os.PathLike | None,
            resume: bool, shard: tuple[int, int], force: bool, options: dict) -> list[Entry]:
    if to not in _EXTENSIONS:
        raise UsageError(f"to={to!r}: write one of {', '.join(map(repr, _EXTENSIONS))}")
    index, count = shard
    if not 0 <= index < count:
        raise UsageError(f"shard={shard!r}: write (i, n) with 0 <= i < n")
    out = Path(out)
    jobs = _jobs(paths, out, to)[index::count]
    out.mkdir(parents=True, exist_ok=True)
    ledger = Path(ledger) if ledger is not None else out / "ledger.jsonl"
    done = {entry.file: entry for entry in read_ledger(ledger)} if resume else {}
    entries: dict[str, Entry] = {}
    with ledger.open("a", encoding="utf-8") as lines:
        if lines.tell() and not ledger.read_bytes().endswith(b"\n"):
            lines.write("\n")  # behind a line that a kill cut off

        def keep(entry: Entry) -> None:
            entries[entry.file] = entry
            lines.write(json.dumps(asdict(entry)) + "\n")
            lines.flush()

        waiting = []
        for file, output in jobs:
            before = done.get(file)
            if before and _stands(before, file, output, options.get("proof") is not False):
                entries[file] = before
            else:
                waiting.append((file, output))
        replaces = force or resume
        engine(waiting, to, replaces, options, keep)
    return [entries[file] for file, _ in jobs]


def _stands(entry: Entry, file: str, output: str, proves: bool) -> bool:
    """Whether file and port are as the ledger says, and that is all that is asked for."""
    if entry.output != output or not (entry.verdict == "proved" or entry.verdict == "written" and not proves):
        return False
    return Path(output).exists() and Path(file).exists() and _sha256(Path(file)) == entry.sha256


def _jobs(paths: Iterable[str | os.PathLike], out: Path, to: str) -> list[Job]:
    """Each model with the file of its port; no two ports are one file."""
    jobs: list[Job] = []
    taken: dict[str, str] = {}
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else list(paths):
        folder = Path(path) if Path(path).is_dir() and not _is_saved_model(Path(path)) else None
        for file in _files([path]):
            place = (file.relative_to(folder) if folder else Path(file.name)).with_suffix(_EXTENSIONS[to])
            if to == "torch":  # a module's name is an identifier
                place = place.with_name("".join(c if c.isalnum() else "_" for c in place.stem) + ".py")
            name = str(out / place)
            number = 2
            while taken.setdefault(name, str(file)) != str(file):
                name = str((out / place).with_name(f"{place.stem}_{number}{place.suffix}"))
                number += 1
            if (str(file), name) not in jobs:
                jobs.append((str(file), name))
    return jobs


def _on_executor(executor: concurrent.futures.Executor | None) -> Engine:
    def run(jobs: list[Job], to: str, force: bool, options: dict, keep: Keep) -> None:
        if executor is None:
            for job in jobs:
                keep(_port_one(*job, to, force, options))
            return
        for job in list(_run(jobs, executor, to, force, options, keep)):  # whoever took its process down is found by asking each alone
            with concurrent.futures.ProcessPoolExecutor(1) as alone:
                again = list(_run([job], alone, to, True, options, keep))
            if again:
                keep(_lost(job))

    return run


def _lost(job: Job, why: str = "the process that ported it was lost twice") -> Entry:
    return Entry(job[0], "", "failed", why, 0.0, 0, "")


def _run(jobs: list[Job], executor: concurrent.futures.Executor, to: str, force: bool, options: dict, keep: Keep) -> Iterator[Job]:
    """Keeps an entry for each job that ends; those whose worker was lost come back."""
    futures = {}
    for job in jobs:
        try:
            futures[executor.submit(_port_one, *job, to, force, options)] = job
        except concurrent.futures.BrokenExecutor:
            yield job
    for future in concurrent.futures.as_completed(futures):
        try:
            keep(future.result())
        except (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError):
            yield futures[future]
