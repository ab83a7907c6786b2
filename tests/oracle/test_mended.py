"""`convoy diff A B --fix`: the mended B, run by its own framework, gives the numbers that A's framework gave."""
import subprocess

import numpy as np
import pytest
from carrying import CONVOY, cases_in

PAIRS = cases_in("corpus/pairs")
NAMES = [] if PAIRS is None else sorted(p.name for p in PAIRS.iterdir() if not p.name.startswith("equal_")
                                        and (p / "a_output_0.npy").exists() and (p / "b.onnx").exists())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", NAMES)
def test_a_mended_onnx_model_gives_the_originals_numbers(name, tmp_path):
    import onnxruntime

    pair = PAIRS / name
    done = subprocess.run([CONVOY, "diff", pair / "a.keras", pair / "b.onnx", "--fix", "-o", tmp_path, "-q"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "mended" in done.stderr, done.stderr
    assert subprocess.run([CONVOY, "diff", pair / "a.keras", tmp_path / "b.onnx", "-q"]).returncode == 0
    session = onnxruntime.InferenceSession(tmp_path / "b.onnx", providers=["CPUExecutionProvider"])
    image, wanted = np.load(pair / "a_input_0.npy"), np.load(pair / "a_output_0.npy")
    if image.ndim == 4:
        image = image.transpose(0, 3, 1, 2)
    [got] = session.run(None, {session.get_inputs()[0].name: image})
    if wanted.ndim == 4:
        wanted = wanted.transpose(0, 3, 1, 2)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5 * max(1, np.abs(wanted).max()))
