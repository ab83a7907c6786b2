"""The environment of the oracles, and how much of them runs: a seeded sample, or all of it with FULL=1."""
import gc
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
sys.path.insert(0, str(Path(__file__).parent))

from carrying import CONVOY, FULL, ROOT  # noqa: E402  after the environment

SAMPLE = 12  # tests of each parametrised function that is marked `sampled`
SEED = int(os.environ.get("SEED", "0"))


def pytest_configure(config):
    config.addinivalue_line("markers", "sampled(count): a seeded sample of the cases runs unless FULL=1")
    config.addinivalue_line("markers", "long: runs only with FULL=1")


def pytest_collection_modifyitems(config, items):
    if FULL or any("::" in argument for argument in config.args):
        return
    kept, dropped, groups, counts = [], [], {}, {}
    for item in items:
        if item.get_closest_marker("long"):
            dropped.append(item)
        elif item.get_closest_marker("sampled"):
            groups.setdefault(item.originalname, []).append(item)
            counts[item.originalname] = next(iter(item.get_closest_marker("sampled").args), SAMPLE)
        else:
            kept.append(item)
    for name, group in groups.items():
        random.Random(f"{SEED} {name}").shuffle(group)
        kept += group[: counts[name]]
        dropped += group[counts[name] :]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        order = {id(item): n for n, item in enumerate(items)}
        items[:] = sorted(kept, key=lambda item: order[id(item)])


def pytest_collection_finish():
    """The frameworks are half a million objects that stay: `clear_session` would look through them each time."""
    gc.collect()
    gc.freeze()


def pytest_report_header():
    return f"{'everything (FULL=1)' if FULL else f'a sample, SEED={SEED}'}"


@pytest.fixture(scope="session", autouse=True)
def command_is_built():
    assert CONVOY.exists(), "build/release/convoy is not built: make build"


@pytest.fixture(scope="session")
def python_module(tmp_path_factory):
    """The module of the wheel that `make wheel` left, in a folder of its own."""
    wheels = list((ROOT / "build" / "wheel").glob("convoy-*.whl"))
    assert len(wheels) == 1, f"build/wheel holds {len(wheels)} wheels: run make wheel first"
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", folder, wheels[0]], check=True)
    sys.path.insert(0, str(folder))
    import convoy

    yield convoy
    sys.path.remove(str(folder))
