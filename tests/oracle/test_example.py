"""What `make demo` shows, held to account: the example network's port, read and run as its user would."""
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from carrying import ROOT, assert_close, check_itself, convoy, port, run_natively

DIGITS = ROOT / "examples" / "digits.keras"


@pytest.fixture(scope="module")
def ported(tmp_path_factory):
    return port([DIGITS], tmp_path_factory.mktemp("digits") / "digits.py")


@pytest.fixture(scope="module")
def wanted():
    """What Keras itself says of the held-back digits."""
    import keras

    x = np.load(ROOT / "examples" / "digits_held_back.npy")
    return x, np.asarray(keras.models.load_model(DIGITS)(x, training=False))


def test_port_and_runtime_say_what_keras_says(ported, wanted, tmp_path):
    x, want = wanted
    assert_close(ported([x]), [want])
    assert_close(run_natively([DIGITS], {"image": x}, tmp_path), [want])


def test_the_held_back_digits_are_read(ported, wanted):
    labels = np.load(ROOT / "examples" / "digits_held_back_labels.npy")
    assert (wanted[1].argmax(1) == labels).sum() >= 9


def test_the_module_checks_itself_as_a_program_in_any_directory(ported, tmp_path):
    bare = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH",)}
    done = subprocess.run([sys.executable, ported.path], cwd=tmp_path, env=bare, capture_output=True, text=True)
    assert done.returncode == 0 and "agrees" in done.stdout, done.stdout + done.stderr
    assert not list(tmp_path.iterdir())


def test_weights_of_another_port_are_refused(ported, tmp_path):
    """The module carries the checksum of its weights: a mixed set must not load."""
    for file in ported.path.parent.glob("digits*"):
        if file.is_file():
            shutil.copy(file, tmp_path)
    weights = tmp_path / "digits.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-3] ^= 1
    weights.write_bytes(changed)
    with pytest.raises(BaseException) as refusal:
        check_itself(tmp_path / "digits.py")
    assert "digits.safetensors" in str(refusal.value) or "SHA-256" in str(refusal.value)


def test_weights_as_a_pt_file(wanted, tmp_path):
    import torch

    as_pt = port([DIGITS], tmp_path / "digits.py", "--weights-format", "pt")
    state = torch.load(tmp_path / "digits.pt", weights_only=True)
    assert list(state) == list(as_pt.model.state_dict())
    assert_close(as_pt([wanted[0]]), [wanted[1]])


def test_the_port_can_be_trained(ported):
    import torch

    model = ported.module.load().train()
    assert all(p.requires_grad for p in model.parameters())
    kinds = {type(m).__name__ for m in model.modules()}
    assert {"BatchNorm2d", "Dropout"} <= kinds
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert all(m.eps == 1e-3 and abs(m.momentum - 0.01) < 1e-9 for m in norms)


def test_nothing_is_replaced_without_force(ported):
    before = ported.path.read_bytes()
    done = convoy("port", DIGITS, "--to", "torch", "-o", ported.path, code=4)
    assert "digits" in done.stderr and ported.path.read_bytes() == before


def test_the_same_command_gives_the_same_bytes(ported, tmp_path):
    again = port([DIGITS], tmp_path / "digits.py")
    for file in ported.path.parent.glob("digits*"):
        if file.is_file():
            assert file.read_bytes() == (again.path.parent / file.name).read_bytes(), file.name
