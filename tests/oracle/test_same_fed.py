"""Layers with several outputs of which one stands for a value of the other model: a cell's state and its memory, queries beside keys.
A Keras model, and the same in PyTorch with its weights; with one fault the two differ."""
import numpy as np
import pytest
from carrying import said

keras = pytest.importorskip("keras")
torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

layers = keras.layers


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def apart(model, port, x):
    with torch.no_grad():
        return np.abs(np.asarray(model(x.numpy())) - port.eval()(x).numpy()).max()


class Coder(nn.Module):
    """What the encoder ends with is what the decoder begins with."""

    def __init__(self, begins, ends):
        super().__init__()
        self.e, self.d = nn.LSTM(4, 6, batch_first=True), nn.LSTM(4, 6, batch_first=True)
        self.begins, self.ends = begins, ends

    def forward(self, x):
        _, (h, c) = self.e(x)
        y = self.d(x, self.begins(h, c))[0]
        return y[:, -1] if self.ends else y


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("begins, is_same", [
    (lambda h, c: (h, c), True), (lambda h, c: (c, h), False), (lambda h, c: (h, h), False), (lambda h, c: (h, 0 * c), False)])
def test_a_decoder_begins_with_both_states_of_the_encoder(begins, is_same, ends, tmp_path):
    keras.utils.set_random_seed(1)
    x = layers.Input((5, 4))
    _, *states = layers.LSTM(6, return_state=True, name="e")(x)
    model = keras.Model(x, layers.LSTM(6, return_sequences=not ends, name="d")(x, initial_state=states))
    port = Coder(begins, ends)
    with torch.no_grad():
        for own, of_keras in ((port.e, model.get_layer("e")), (port.d, model.get_layer("d"))):
            kernel, recurrent, bias = of_keras.get_weights()
            own.weight_ih_l0.copy_(tensor(kernel.T)), own.weight_hh_l0.copy_(tensor(recurrent.T))
            own.bias_ih_l0.copy_(tensor(bias)), own.bias_hh_l0.zero_()
    x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(1))
    assert (apart(model, port, x) < 1e-6) == is_same
    files = tmp_path / "m.keras", tmp_path / "m.pt2"
    model.save(files[0]), torch.export.save(torch.export.export(port.eval(), (x,)), files[1])
    for pair in (files, files[::-1]):
        code, text = said(*pair)
        assert (code == 0) == is_same and "\n  e      e         " in text, text
        assert text.count("DIFFERENT") == (0 if is_same else 1), text


ATTENTION = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.m(x, x, x, attn_mask={})[0]
"""
MASKS = {
    "truths": "torch.ones(6, 6).triu({}).bool()",
    "infinity": 'torch.full((6, 6), float("-inf")).triu({})',
    "a large number": "torch.full((6, 6), -1e9).triu({})",
}


@pytest.mark.parametrize("fault", [None, "key", "mask", "output"])
@pytest.mark.parametrize("mask", MASKS)
def test_masked_attention_is_the_same_in_both(mask, fault, tmp_path):
    keras.utils.set_random_seed(1)
    x = layers.Input((6, 8))
    attention = layers.MultiHeadAttention(2, 4)
    model = keras.Model(x, attention(x, x, use_causal_mask=True))
    for weight in model.weights:
        weight.assign(weight + 0.3 * np.random.randn(*weight.shape))
    source = tmp_path / "port.py"
    source.write_text(ATTENTION.format(MASKS[mask].format(2 if fault == "mask" else 1)))
    scope = {}
    exec(source.read_text(), scope)
    port = scope["Attention"]()
    *projections, output, bias = attention.get_weights()
    with torch.no_grad():
        port.m.in_proj_weight.copy_(tensor(np.concatenate([kernel.reshape(8, 8).T for kernel in projections[::2]])))
        port.m.in_proj_bias.copy_(tensor(np.concatenate([part.reshape(8) for part in projections[1::2]])))
        port.m.out_proj.weight.copy_(tensor(output.reshape(8, 8).T)), port.m.out_proj.bias.copy_(tensor(bias))
        if fault == "key":
            port.m.in_proj_weight[8:16] = port.m.in_proj_weight[8:16].flip(0)
        if fault == "output":
            port.m.out_proj.weight.copy_(port.m.out_proj.weight.T.clone())
    x = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1))
    assert (apart(model, port, x) < 1e-5) == (fault is None)
    model.save(tmp_path / "m.keras"), torch.save(port.state_dict(), tmp_path / "port.pt")
    program, weights = f"{source}:Attention", str(tmp_path / "port.pt")
    for pair in ((tmp_path / "m.keras", program, "--weights-b", weights), (program, tmp_path / "m.keras", "--weights-a", weights)):
        code, text = said(*pair)
        assert (code == 0) == (fault is None), text
        if fault in (None, "output"):
            assert text.count("DIFFERENT") == (0 if fault is None else 1), text
