# The native part, python/module.cpp. Names in files are any bytes: text holds lone surrogates where they are no UTF-8.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

version: str

_Shape = list[int | None]

class Asked:
    def __init__(self, budget: int | None, told: Callable[[str, int, int, str], object] | None) -> None: ...

class Reading:
    def __init__(self) -> None: ...
    weights: str
    size: Sequence[int | None]
    shapes: Mapping[str, Sequence[int | None]]
    outputs: Sequence[str]
    import_roots: Sequence[str]
    seed: int | None

class Model:
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def remarks(self) -> list[str]: ...
    @property
    def inputs(self) -> list[tuple[str, str, _Shape]]: ...
    @property
    def outputs(self) -> list[tuple[str, str, _Shape]]: ...
    @property
    def layers(self) -> list[tuple[str, str, _Shape, str, int, int | None]]: ...
    @property
    def parameters(self) -> int: ...
    @property
    def dtypes(self) -> list[str]: ...
    def summary_text(self) -> str: ...
    def summary_json(self) -> str: ...
    def run(self, inputs: Sequence[Any], doubles: bool, threads: int, asked: Asked) -> list[np.ndarray]: ...

def load(path: bytes, reading: Reading, asked: Asked) -> Model: ...
def load_beside(other: Model, path: bytes, reading: Reading, asked: Asked) -> Model: ...
def port(
    path: bytes,
    output: bytes,
    reading: Reading,
    to: str,
    overwrites: bool,
    proves: bool,
    without: Sequence[str],
    opset: int | None,
    source_axes: bool,
    asked: Asked,
) -> tuple[bool, list[tuple[str, int, str]], str, str]: ...
def diff(
    a: Model, b: Model, inputs: Sequence[Any], seed: int, shares_weights: bool, page: bool, asked: Asked
) -> tuple[bool, list[tuple[str, str, str, bool, str, str, str]], str, str, str]: ...
def copy_weights(a: bytes, b: bytes, output: bytes, reading: Reading, asked: Asked) -> tuple[bool, str, str]: ...
def functions_of(framework: str) -> list[tuple[str, list[str]]]: ...
def call(
    framework: str, function: str, arrays: Sequence[tuple[str, Any]], arguments: str, opset: int, results: int
) -> list[np.ndarray]: ...
def pad(
    call: str, size: Sequence[int | None], kernel: Sequence[int], channels: int | None, layout: str
) -> list[
    tuple[
        str,
        str,
        list[tuple[str, int | None, int | None, int | None, int | None, str, bool]],
        list[tuple[str, list[str], bool, str, str]],
        str,
        str,
        str,
    ]
]: ...
def address_of(array: Any) -> int: ...  # where the library sees an array's numbers: without a copy the caller's own
def memory_of(words: str) -> int: ...
