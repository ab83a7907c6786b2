"""A fixture for tests of ports: `def test_port(convoy_same): convoy_same("net.keras", "net.onnx")`. With --convoy-report DIR each
comparison that fails leaves its page there."""
from __future__ import annotations

import re
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--convoy-report", metavar="DIR", help="keep a page of each comparison of models that fails")


@pytest.fixture
def convoy_same(request):
    """Asserts that two models are the same; the failure names layer, cause and the line to write."""
    import convoy

    def same(a, b, *inputs, **options):
        folder = request.config.getoption("--convoy-report")
        found = convoy.diff(a, b, *inputs, page=bool(folder), **options)
        if found.same:
            return
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            name = re.sub(r"[^\w.-]+", "_", request.node.nodeid)
            (Path(folder) / f"{name}.html").write_text(found.page)
        pytest.fail("the models differ\n" + found.text, pytrace=False)

    return same
