"""Ray as an engine of batches: a task for each model, which declares its memory and is tried again when its worker is lost.

Ray's own retries are off: it repeats what was ended for its memory without end, and with the same demand.
"""
from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any, Callable, NamedTuple

from . import _remote
from .errors import NotInstalled

_LEAST, _TIMES = 512 << 20, 10  # bytes that a task declares: so many, and so many times the model's file
_WAITING = 4  # tasks beside those that run, for each processor: a scheduler that knows 100,000 of them is slow


class _Task(NamedTuple):
    """A model and its port's file, how often it was tried before, and the bytes that its task declares."""

    job: tuple[str, str]
    tries: int
    memory: int


class Engine:
    """Called as `batch.Engine` says: ports models side by side and keeps an entry for each."""

    def __init__(self, port_one: Callable, lost: Callable, retries: int, memory: int | None) -> None:
        self._port_one, self._lost, self._retries, self._memory = port_one, lost, retries, memory

    def __call__(self, jobs: list, to: str, force: bool, options: dict, keep: Callable) -> None:
        ray = _started()
        nodes = [node for node in ray.nodes() if node["Alive"]]
        most = int(max(node["Resources"].get("memory", 0) for node in nodes))
        side_by_side = int(sum(node["Resources"].get("CPU", 0) for node in nodes)) + 1
        task = ray.remote(max_retries=0, num_cpus=1)(self._port_one)
        running: dict[Any, _Task] = {}
        waiting = [_Task(job, 0, min(self._memory or _declared(job[0]), most)) for job in reversed(jobs)]
        try:
            while waiting or running:
                while waiting and len(running) < side_by_side * _WAITING:
                    one = waiting.pop()
                    running[task.options(memory=one.memory).remote(*map(_anywhere, one.job), to, force or one.tries > 0, options)] = one
                for future in ray.wait(list(running))[0]:
                    one = running.pop(future)
                    try:
                        file, output = one.job
                        entry = ray.get(future)
                        keep(dataclasses.replace(entry, file=file, output=output if entry.output else ""))
                    except ray.exceptions.RayError as error:
                        waiting += self._again(ray, error, one, most, keep)
        finally:  # an interrupt leaves nothing running
            for future in running:
                ray.cancel(future, force=True)

    def _again(self, ray: Any, error: Exception, one: _Task, most: int, keep: Callable) -> list[_Task]:
        """What is tried again for a task that was lost; nothing where that was its last time, which the ledger says."""
        for_memory = isinstance(error, ray.exceptions.OutOfMemoryError)
        if one.tries < self._retries and not (for_memory and one.memory >= most):
            return [_Task(one.job, one.tries + 1, min(one.memory * 2, most) if for_memory else one.memory)]
        times = f"{one.tries + 1} times" if one.tries else "once"
        why = f"ended for its memory, the last time with {one.memory >> 20} MiB declared" if for_memory else _sentence(error)
        keep(self._lost(one.job, f"{one.job[0]}: tried {times}: {why}"))
        return []


def _sentence(error: Exception) -> str:
    """Ray's own words, without the page that follows them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"the worker was lost ({type(error).__name__}: {lines[0][:200] if lines else 'no message'})"


def _anywhere(place: str) -> str:
    """The same file for a worker, which stands in another folder."""
    return place if _remote.is_url(place) else os.path.abspath(place)


def _declared(file: str) -> int:
    return _LEAST + _TIMES * (_remote.size(file) if _remote.is_url(file) else _size(Path(file)))


def _size(path: Path) -> int:
    """Of a file, or of all that lies in a folder; 0 where there is none, which its task will say."""
    try:
        return sum(one.stat().st_size for one in path.rglob("*") if one.is_file()) if path.is_dir() else path.stat().st_size
    except OSError:
        return 0


def _started() -> Any:
    """Ray, which the caller started, or which is started as its environment says: on the cluster of RAY_ADDRESS, or here."""
    try:
        import ray
    except ImportError as error:
        raise NotInstalled("on_ray needs Ray, which is not installed: pip install ray", name="ray") from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="WARNING")
    return ray
