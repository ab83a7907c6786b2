"""Every ONNX model of the corpora, carried to PyTorch with proof and held, in real PyTorch, to what ONNX Runtime answered."""
import json

import numpy as np
import onnx
import pytest
from carrying import FULL, assert_close, cases_in, check_itself, convoy, port

CORPUS, KERAS = cases_in("corpus/onnx"), cases_in("corpus/keras")
# Why a model may not be carried; anything else must be.
REFUSED = {
    "conv_same_upper_dilated": "runtimes refuse 'same' with dilations",
    "if_constant": "its branch reads a weight that the file does not have",
    "if_dynamic": "its branch reads a weight that the file does not have",
}
# Of what Keras's models become by tf2onnx, at free sizes.
MAY_BE_REFUSED = {
    "bidirectional_sum", "conv2d_same_dilation2", "convt2d_same_k4_s2", "lstm_backwards",
    "net_mini_pix2pix", "net_mini_srgan", "net_mini_unet_k2", "op_image_resize", "upsampling_nearest",
}

pytestmark = pytest.mark.skipif(CORPUS is None, reason="no corpus: neither beside the project nor in tests/data")


def folders(corpus, sampled=1):
    return sorted(p.parent for p in corpus.glob("*/model.onnx"))[::sampled] if corpus else []


def letters(case, folder):
    return [s for s in case["sets"] if (folder / f"input{s}_0.npy").exists()]


def carried(folder, tmp_path, shape=()):
    case = json.loads((folder / "case.json").read_text())
    ported = port([folder / "model.onnx", *shape], tmp_path / f"{folder.name}.py")
    held = onnx.load(folder / "model.onnx", load_external_data=False).graph.initializer
    tolerance = 2e-3 if any(t.data_type == onnx.TensorProto.FLOAT16 for t in held) else 2e-5
    for letter in letters(case, folder):
        inputs = [np.load(folder / f"input{letter}_{i}.npy") for i in range(len(case["inputs"]))]
        want = [np.load(folder / f"output{letter}_{i}.npy") for i in range(len(case["outputs"]))]
        if shape and letter != case["sets"][0]:
            continue
        assert_close(ported(inputs), want, tolerance, f"{folder.name}, set '{letter}'")
    assert "agrees" in check_itself(ported.path)


@pytest.mark.parametrize("folder", folders(CORPUS), ids=lambda p: p.name)
def test_onnx_corpus_in_pytorch(folder, tmp_path):
    if folder.name in REFUSED:
        assert convoy("port", folder / "model.onnx", "-o", tmp_path / "net.py", code=None).returncode in (5, 6)
        return
    case = json.loads((folder / "case.json").read_text())
    lacks = [row for row in case["inputs"] if row["shape"] is None]
    sizes = [x for row in lacks for x in ("--shape", ",".join(map(str, np.load(folder / "input_0.npy").shape)))]
    carried(folder, tmp_path, sizes)


@pytest.mark.parametrize("folder", folders(KERAS, 1 if FULL else 4), ids=lambda p: p.name)
def test_keras_corpus_by_way_of_onnx(folder, tmp_path):
    if folder.name in MAY_BE_REFUSED:
        done = convoy("port", folder / "model.onnx", "-o", tmp_path / "net.py", code=None)
        if done.returncode == 6:
            pytest.skip(done.stderr.strip())
        (tmp_path / "net.py").unlink(missing_ok=True)
    carried(folder, tmp_path)
