# The native part, python/module.cpp. Names in files are any bytes: text holds lone surrogates where they are no UTF-8.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

version: str

_Shape = list[int | None]
_Attribute = bool | int | float | str | tuple[int, ...]

class Asked:
    def __init__(self, budget: int | None, told: Callable[[str, int, int, str], object] | None) -> None: ...

class ReadOptions:
    def __init__(self) -> None: ...
    weights: bytes
    size: Sequence[int | None]
    shapes: Mapping[str, Sequence[int | None]]
    types: Mapping[str, str]
    outputs: Sequence[str]
    dequantizes: bool
    import_roots: Sequence[bytes]
    seed: int | None
    signature: str
    names: Sequence[str]

class RunSettings:
    def __init__(self) -> None: ...
    doubles: bool
    threads: int
    plain: bool
    direct: bool

class PortSettings:
    def __init__(self) -> None: ...
    to: str
    overwrites: bool
    proves: bool
    without: Sequence[str]
    source_axes: bool
    weights_format: str
    opset: int | None
    optimizes: bool
    external_data: bool
    rounds_to_halves: bool
    def set_reals(self, name: str) -> bool: ...  # False: no such type
    def set_quantized(self, word: str) -> bool: ...  # False: none of "keep", "fake" and "float"
    seed: int
    threads: int

class PadSettings:
    def __init__(self) -> None: ...
    size: Sequence[int | None]
    kernel: Sequence[int]
    channels: int | None
    layout: str

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
    def layers(self) -> list[tuple[str, str, list[_Shape], dict[str, _Attribute], _Shape, str, int, int | None]]: ...
    @property
    def parameters(self) -> int: ...
    @property
    def result_names(self) -> list[str]: ...
    @property
    def dtypes(self) -> list[str]: ...
    def summary_text(self) -> str: ...
    def summary_json(self) -> str: ...
    def outputs_at(self, layers: Sequence[str]) -> Model: ...
    def probing_inputs(self) -> list[np.ndarray]: ...
    def fingerprint(self) -> str: ...
    def run(self, inputs: Sequence[Any], settings: RunSettings, asked: Asked) -> list[np.ndarray]: ...

def load(path: bytes, reading: ReadOptions, asked: Asked) -> Model: ...
def load_beside(other: Model, path: bytes, reading: ReadOptions, asked: Asked) -> Model: ...
def load_pair(a: bytes, b: bytes, reading_a: ReadOptions, reading_b: ReadOptions, asked: Asked) -> tuple[Model, Model]: ...
def port(
    path: bytes, output: bytes, settings: PortSettings, reading: ReadOptions, asked: Asked
) -> tuple[bool, list[tuple[str, int, str]], str, str]: ...
def diff(
    a: Model, b: Model, inputs: Sequence[Any], seed: int, threads: int, page: bool, asked: Asked
) -> tuple[bool, list[tuple[str, str, str, bool, str, str, str]], str, str, str]: ...
def mend(
    a: Model, b: Model, folder: bytes, inputs: Sequence[Any], seed: int, threads: int, overwrites: bool, asked: Asked
) -> tuple[bool, list[tuple[str, int, str]], str, str]: ...
def diff_calls(a: str, b: str, settings: PadSettings) -> tuple[bool, list[str], str, str]: ...
def copy_weights(
    a: bytes, b: bytes, output: bytes, reading_a: ReadOptions, reading_b: ReadOptions, seed: int, threads: int, asked: Asked
) -> tuple[bool, str, str]: ...
def weights(path: bytes, asked: Asked) -> list[tuple[str, np.ndarray]]: ...
def functions_of(framework: str) -> list[tuple[str, list[str]]]: ...
def call(
    framework: str, function: str, arrays: Sequence[tuple[str, Any]], arguments: str, opset: int, results: int
) -> list[np.ndarray]: ...
def pad(
    call: str, settings: PadSettings
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
