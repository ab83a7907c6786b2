"""MTCNN as three packages publish it: one set of weights, byte for byte, whatever the file; and the twin that works on
transposed images is told by its kernels and by `convoy diff`."""
import json

import numpy as np
import pytest
from carrying import SHARED, convoy

MODELS = SHARED / "models" / "mtcnn"
NETS = ("pnet", "rnet", "onet")
pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="no models beside the project")


def listed(file, folder) -> dict[str, np.ndarray]:
    """The tensors of a file, as `convoy weights` takes them out."""
    convoy("weights", file, "-o", folder / "weights.npz", "--force")
    with np.load(folder / "weights.npz") as tensors:
        return {name: tensors[name] for name in tensors.files}


def ported(net, folder) -> dict[str, np.ndarray]:
    """The weights of the Keras model once it is a PyTorch module."""
    from safetensors.numpy import load_file

    convoy("port", MODELS / f"{net}.keras", "--to", "torch", "-o", folder / f"{net}.py", "--no-proof")
    return load_file(folder / f"{net}.safetensors")


def as_flattened(weight, of):
    """A dense layer behind a flatten of [W, H, C], as facenet-pytorch has it, for one behind [C, H, W]."""
    channels = of.shape[1] // 9  # three by three cells are left in front of it
    return weight.reshape(-1, 3, 3, channels).transpose(0, 3, 2, 1).reshape(of.shape)


def by_bytes(tensors) -> list:
    return sorted((tuple(n for n in t.shape if n > 1), np.ascontiguousarray(t).tobytes()) for t in tensors)


@pytest.mark.parametrize("net", NETS)
def test_keras_and_torch_publish_the_same_weights(net, tmp_path):
    keras, torch = ported(net, tmp_path), listed(MODELS / f"{net}.pt", tmp_path)
    if "dense.weight" in keras:
        flattened = next(name for name, t in torch.items() if t.shape == keras["dense.weight"].shape)
        torch[flattened] = as_flattened(torch[flattened], keras["dense.weight"])
    assert by_bytes(keras.values()) == by_bytes(torch.values())


@pytest.mark.parametrize("net", NETS[:2])
def test_the_exported_program_holds_what_the_state_dict_holds(net, tmp_path):
    assert by_bytes(listed(MODELS / f"{net}.pt2", tmp_path).values()) == by_bytes(listed(MODELS / f"{net}.pt", tmp_path).values())


@pytest.mark.parametrize("net", NETS)
def test_the_twin_has_rows_for_columns(net, tmp_path):
    torch, twin = listed(MODELS / f"{net}.pt", tmp_path), listed(MODELS / f"{net}.onnx", tmp_path)
    kernels, turned = ([t for t in tensors.values() if t.ndim == 4 and t.shape[-1] > 1] for tensors in (torch, twin))
    assert kernels and by_bytes(kernels) != by_bytes(turned)
    assert by_bytes(kernels) == by_bytes(t.swapaxes(2, 3) for t in turned)


@pytest.mark.parametrize("net", NETS)
def test_diff_says_so(net):
    told = json.loads(convoy("diff", MODELS / f"{net}.keras", MODELS / f"{net}.onnx", "--json", code=1).stdout)
    assert [d["cause"] for d in told["differences"]] == ["input_hw_swapped"]
