"""Many models on engines that exist: any concurrent.futures executor runs them, or Ray; a ledger keeps what became of each.

    with concurrent.futures.ProcessPoolExecutor(8) as pool:
        table = convoy.batch.port(paths, to="torch", out="ports", executor=pool)
    table = convoy.batch.on_ray(["s3://zoo/models"], to="onnx", out="s3://zoo/ports", ledger="ledger.jsonl")
"""
from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import json
import os
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any, Callable, Iterable, Iterator

from . import _live, _model, _ray, _remote
from ._arguments import _memory, _whole, shown
from .errors import Error, FileError, NotProven, UsageError

_EXTENSIONS = {"torch": ".py", "keras": ".keras", "onnx": ".onnx", "tflite": ".tflite"}
_MODELS = {".keras", ".h5", ".hdf5", ".onnx", ".pt2", ".pt", ".pb", ".tflite"}


@dataclass(frozen=True)
class Entry:
    """What became of one model, a line of the ledger.

    `verdict` is "proved", "written" (with proof=False), "differs" (not proven; nothing was written), "refused", "broken" or "failed" (the worker was lost, or its memory ran
    out); `reason` says why in one sentence. `seconds` is the time it took, `memory` the most bytes that its process held until then.
    """

    file: str
    sha256: str
    verdict: str
    reason: str
    seconds: float
    memory: int
    output: str


def _files(path: str | os.PathLike) -> Iterator[str]:
    """The models below a folder, or a URL that is one; another path stands for itself."""
    if _remote.is_url(path):
        files = _remote.below(str(path))
        folders = {one.rpartition("/")[0] for one in files if one.endswith("/saved_model.pb")}
        if files == [path] or str(path).rstrip("/") in folders:
            yield str(path)
            return
        for one in sorted(folders | {file for file in files if not any(file.startswith(f"{folder}/") for folder in folders)}):
            if one in folders or Path(one).suffix.lower() in _MODELS:
                yield one
        return
    path = Path(path)
    if not path.is_dir() or _is_saved_model(path):
        yield str(path)
        return
    for file in sorted(path.rglob("*")):
        inside = any(_is_saved_model(parent) for parent in file.parents if parent != path and path in parent.parents)
        if not inside and (_is_saved_model(file) or file.suffix.lower() in _MODELS and file.is_file()):
            yield str(file)


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
        with _at_hand(file) as path:
            sha256 = _sha256(path)
            _port_to(path, output, to, force, options)
        verdict = "written" if options.get("proof") is False else "proved"
    except NotProven as error:
        verdict, reason = "differs", str(error)
    except MemoryError:
        verdict, reason = "failed", f"{file}: the memory of its process ran out"
    except Error as error:
        verdict, reason = "broken" if type(error).__name__ == "BrokenFile" else "refused", str(error)
    except OSError as error:
        verdict, reason = "broken", f"{file}: {error.strerror or error}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Entry(file, sha256, verdict, reason, round(time.monotonic() - begun, 3), memory, output if verdict in ("proved", "written") else "")


@contextlib.contextmanager
def _at_hand(file: str) -> Iterator[Path]:
    """The model as a file of this machine."""
    if not _remote.is_url(file):
        yield Path(file)
        return
    with _live.temporary_folder() as folder:
        yield _remote.fetched(file, folder)


def _port_to(path: Path, output: str, to: str, force: bool, options: dict) -> None:
    options = {"progress": False, **options}
    if not _remote.is_url(output):
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        _model.port(path, output, to=to, force=force, **options)
        return
    if not force and _remote.exists(output):
        raise FileError("exists; give force=True to replace it", output)
    place, _, name = output.rpartition("/")
    with _live.temporary_folder() as folder:
        _model.port(path, Path(folder) / name, to=to, **options)
        _remote.sent(Path(folder), place)


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
        Files, and folders that are searched for models; URLs ("s3://zoo/models"), where fsspec is installed.
    to
        "torch", "keras", "onnx" or "tflite".
    out
        The folder for the ports, or a URL. A model below a given folder keeps its place there.
    executor
        What runs them: threads or processes, of this machine or of a cluster; None: one after another. A worker process that is lost
        is asked once more by itself, and then stands in the ledger as "failed".
    ledger
        A file that gains one line of JSON for each model, at once when it is done (default: ledger.jsonl in `out`, where that is no URL).
    resume
        Leave out what the ledger says is proved, where file and port are as they were.
    shard
        (i, n): every n-th model, beginning with the i-th, for n jobs side by side; give each a ledger of its own.
    force
        Replace files that exist.
    options
        As for `convoy.port`.

    Returns
    -------
    list of Entry
        In the order of the models.

    Raises
    ------
    UsageError
        A path, an option or a target that there is not; what fails for one model stands in its `Entry`.
    """
    return _ported(_on_executor(executor), paths, to, out, ledger, resume, shard, force, options)


def on_ray(paths: Iterable[str | os.PathLike], to: str, out: str | os.PathLike, *, ledger: str | os.PathLike | None = None,
           resume: bool = False, shard: tuple[int, int] = (0, 1), force: bool = False, retries: int = 2,
           memory: int | str | None = None, **options: Any) -> list[Entry]:
    """Ports many models as tasks of Ray, one model each, on the cluster that `ray.init` was called for, or else on this machine.

    Every worker reads the models and writes the ports itself: they lie on a file system that all share, or behind URLs. The ledger
    is written here alone, one line for each model whatever was lost or tried again on the way.

    Parameters
    ----------
    paths, to, out, ledger, resume, shard, force, options
        As for `port`.
    retries
        How often a model is tried again whose worker was lost. One that was ended for its memory is given twice as much then.
    memory
        What a task declares, in bytes or as "8G"; None: 512 MiB and ten times the model's file. Never more than the largest node has.

    Returns
    -------
    list of Entry
        In the order of the models.

    Raises
    ------
    UsageError
        Ray is not installed, or an argument makes no sense.
    """
    engine = _ray.Engine(_port_one, _lost, _whole(retries, "retries", 0, 1000), None if memory is None else _memory(memory))
    return _ported(engine, paths, to, out, ledger, resume, shard, force, options)


def _ported(engine: Engine, paths: Iterable[str | os.PathLike], to: str, out: str | os.PathLike, ledger: str | os.PathLike | None,
            resume: bool, shard: tuple[int, int], force: bool, options: dict) -> list[Entry]:
    if to not in _EXTENSIONS:
        raise UsageError(f"to={shown(to)}: write one of {', '.join(map(repr, _EXTENSIONS))}")
    index, count = shard
    if not 0 <= index < count:
        raise UsageError(f"shard={shown(shard)}: write (i, n) with 0 <= i < n")
    ledger = _ledger_at(ledger, out)
    done = {entry.file: entry for entry in read_ledger(ledger)} if resume else {}
    jobs = _jobs(paths, os.fspath(out), to, done)[index::count]
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
    if not (_remote.exists(output) if _remote.is_url(output) else Path(output).exists()):
        return False
    try:
        with _at_hand(file) as path:
            return _sha256(path) == entry.sha256
    except OSError:
        return False


def _ledger_at(ledger: str | os.PathLike | None, out: str | os.PathLike) -> Path:
    """The ledger's file, in a folder that is there. It grows by lines, which what lies behind a URL does not."""
    if ledger is None and _remote.is_url(out):
        raise UsageError(f"out={shown(out)} is a URL: give ledger= a file of this machine")
    if _remote.is_url(ledger):
        raise UsageError(f"ledger={shown(ledger)} is a URL: give a file of this machine")
    path = Path(out) / "ledger.jsonl" if ledger is None else Path(ledger)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _jobs(paths: Iterable[str | os.PathLike], out: str, to: str, done: dict[str, Entry]) -> list[Job]:
    """Each model with the file of its port; no two ports are one file, and a model that is done keeps its own."""
    jobs: list[Job] = []
    here = _joined(out, PurePath("_"))[:-1]
    kept = {entry.file: entry.output for entry in done.values()
            if entry.output.startswith(here) and entry.output.endswith(_EXTENSIONS[to])}
    taken = {output: file for file, output in kept.items()}
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else list(paths):
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(f"{shown(path)} is no path: give files, folders or URLs; convoy.port carries one model of any kind")
        for file in _files(path):
            place = _below(file, os.fspath(path)).with_suffix(_EXTENSIONS[to])
            if to == "torch":  # a module's name is an identifier
                place = place.with_name("".join(c if c.isalnum() else "_" for c in place.stem) + ".py")
            name = kept.get(file, _joined(out, place))
            number = 2
            while taken.setdefault(name, file) != file:
                name = _joined(out, place.with_name(f"{place.stem}_{number}{place.suffix}"))
                number += 1
            if (file, name) not in jobs:
                jobs.append((file, name))
    return jobs


def _below(file: str, given: str) -> PurePath:
    """Where a model's port stands in the folder of ports: as the model stands in the folder that was given."""
    if _remote.is_url(given):
        folder = given.rstrip("/") + "/"
        return PurePath(file[len(folder):] if file.startswith(folder) else file.rstrip("/").rpartition("/")[2])
    folder_given = Path(given).is_dir() and not _is_saved_model(Path(given))
    return PurePath(file).relative_to(Path(given)) if folder_given else PurePath(PurePath(file).name)


def _joined(out: str, place: PurePath) -> str:
    return f"{out.rstrip('/')}/{place.as_posix()}" if _remote.is_url(out) else str(Path(out) / place)


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
