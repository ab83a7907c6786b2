"""The answers convoy is held to come from exactly the pinned frameworks."""
from importlib.metadata import version
from pathlib import Path

import pytest

PINS = [
    line.strip().split("==")
    for line in (Path(__file__).parent / "requirements.txt").read_text().splitlines()
    if "==" in line
]


@pytest.mark.parametrize("name, pinned", PINS, ids=[name for name, _ in PINS])
def test_the_installed_version_is_the_pinned_one(name, pinned):
    assert version(name).split("+")[0] == pinned
