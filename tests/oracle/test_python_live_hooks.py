"""Hooks, computed weights and PyTorch's own transformers in live modules: read by torch.export, or as source where it refuses."""
import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune


@pytest.fixture(autouse=True)
def convoy(python_module):
    return python_module


@pytest.fixture
def no_export(monkeypatch):
    def refuses(*_, **__):
        raise RuntimeError("not today")

    monkeypatch.setattr(torch.export, "export", refuses)


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def answers(module, given):
    return [one.detach().numpy() for one in torch.utils._pytree.tree_leaves(module(*given)) if isinstance(one, torch.Tensor)]


def agrees(convoy, module, *given):
    """Read with the example, and held against the module at others."""
    model = convoy.load(module, *given)
    for seed, scale in ((1, 1.0), (2, 5.0), (3, 0.1)):
        other = tuple(drawn(*one.shape, seed=seed) * scale if one.is_floating_point() else one.roll(seed, 0) for one in given)
        got = model(*other)
        got = list(got.values()) if isinstance(got, dict) else [got] if isinstance(got, np.ndarray) else list(got)
        wanted = answers(module, other)
        assert len(got) == len(wanted) and all(np.allclose(a, b, atol=1e-4) for a, b in zip(got, wanted))
    return model


def three_lines():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)).eval()


class Watching:
    """What programs hang on their layers."""

    def __init__(self):
        self.seen = []

    def as_array(self, module, inputs, output):
        self.seen.append(output.detach().cpu().numpy())

    def as_number(self, module, inputs, output):
        self.seen.append(float(output.mean()))

    def shape(self, module, inputs):
        self.seen.append(float(inputs[0].sum()))


@pytest.mark.parametrize("name", ["as_array", "as_number", "shape"])
def test_hooks_that_only_watch_are_left_out_and_stay(convoy, name):
    module, watching = three_lines(), Watching()
    hook = getattr(watching, name)
    (module[0].register_forward_pre_hook if name == "shape" else module[0].register_forward_hook)(hook)
    with pytest.warns(convoy.Warning, match=rf"Sequential: it was read without its hooks that only watch \(Watching.{name} of '0'\)"):
        agrees(convoy, module, drawn(3, 6))
    before = len(watching.seen)
    module(drawn(3, 6))
    assert len(watching.seen) == before + 1
    assert convoy.to_onnx(module, drawn(3, 6)) and convoy.to_keras(module, drawn(3, 6)) is not None


def test_hooks_that_change_what_passes_are_read(convoy):
    module = three_lines()
    module[0].register_forward_hook(lambda module, inputs, output: output * 2)
    module[2].register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,))
    agrees(convoy, module, drawn(3, 6))


def test_a_hook_that_changes_in_place_and_notes_is_not_left_out(convoy):
    def doubled(module, inputs, output):
        output.mul_(2)
        float(output.sum())

    module = three_lines()
    module[0].register_forward_hook(doubled)
    with pytest.raises(convoy.Unsupported, match="has a hook, .*doubled"):
        convoy.load(module, drawn(3, 6))


class Recalls(nn.Module):
    """Gives what a hook has kept, as extractors of features do."""

    def __init__(self):
        super().__init__()
        self.lines, self.kept = three_lines(), {}
        self.lines[0].register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.kept["first"] = output

    def forward(self, x):
        return self.lines(x), self.kept["first"]


def test_what_a_hook_keeps_for_forward_is_read_or_refused(convoy, monkeypatch):
    agrees(convoy, Recalls().eval(), drawn(3, 6))

    def refuses(*_, **__):
        raise RuntimeError("not today")

    monkeypatch.setattr(torch.export, "export", refuses)
    module = Recalls().eval()
    module(drawn(3, 6))  # what is kept now is none of the next call's
    with pytest.raises(convoy.Unsupported, match="not today"):
        convoy.load(module, drawn(3, 6))


class Normed(nn.Module):
    def __init__(self, norm):
        super().__init__()
        torch.manual_seed(3)
        self.conv, self.line = norm(nn.Conv1d(3, 4, 3)), norm(nn.Linear(4, 2))

    def forward(self, x):
        return self.line(self.conv(x).mean(-1))


def turned(line):
    return parametrizations.orthogonal(line) if isinstance(line, nn.Linear) else line


class Mirrored(nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).transpose(-1, -2)


def mirrored(line):
    if not isinstance(line, nn.Linear):
        return line
    square = nn.Linear(4, 4)
    parametrize.register_parametrization(square, "weight", Mirrored())
    return square


NORMS = {
    "weight_norm": nn.utils.weight_norm, "spectral_norm": nn.utils.spectral_norm, "parametrized weight_norm": parametrizations.weight_norm,
    "parametrized spectral_norm": parametrizations.spectral_norm, "orthogonal": turned, "of its own": mirrored,
    "pruned": lambda line: prune.l1_unstructured(line, "weight", 0.4),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*weight_norm", "ignore::FutureWarning")
@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("way", ["export", "source"])
def test_weights_that_are_computed(convoy, request, name, way):
    if way == "source":
        request.getfixturevalue("no_export")
    module = Normed(NORMS[name])
    for _ in range(3):
        module.train()(drawn(4, 3, 9))  # power iterations move what is kept
    module.eval()
    before, kinds = copy.deepcopy(module.state_dict()), [type(one) for one in module.modules()]
    if way == "source" or name == "orthogonal":
        with pytest.warns(convoy.Warning, match="it was read with the weights that they give now"):
            agrees(convoy, module, drawn(4, 3, 9))
    else:
        agrees(convoy, module, drawn(4, 3, 9))
    assert all(torch.equal(one, before[key]) for key, one in module.state_dict().items()) and [type(one) for one in module.modules()] == kinds
    assert np.allclose(convoy.to_torch(module, drawn(4, 3, 9))(drawn(2, 3, 9, seed=4)).detach(), module(drawn(2, 3, 9, seed=4)).detach(), atol=1e-4)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.both = nn.Transformer(8, 2, 2, 1, 12, batch_first=True)

    def forward(self, a, b):
        return self.both(a, b, tgt_mask=nn.Transformer.generate_square_subsequent_mask(b.shape[1]))


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.table, self.head = nn.Embedding(11, 8), nn.Linear(8, 3)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2)

    def forward(self, words):
        return self.head(self.encoder(self.table(words), src_key_padding_mask=words == 0).mean(1))


def encoder_layer(**named):
    return nn.TransformerEncoderLayer(8, 2, 12, **named)


TRANSFORMERS = {
    "encoder layer": (encoder_layer, (5, 3, 8)), "batch first": (lambda: encoder_layer(batch_first=True), (3, 5, 8)),
    "norm first": (lambda: encoder_layer(norm_first=True, activation="gelu", layer_norm_eps=0.1, bias=False), (5, 3, 8)),
    "encoder": (lambda: nn.TransformerEncoder(encoder_layer(batch_first=True), 2, norm=nn.LayerNorm(8)), (3, 5, 8)),
    "decoder": (lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12, batch_first=True), 2), (3, 5, 8), (3, 7, 8)),
    "transformer": (lambda: nn.Transformer(8, 2, 2, 1, 12, batch_first=True), (3, 5, 8), (3, 4, 8)), "masked": (Masked, (3, 5, 8), (3, 4, 8)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("way", ["export", "source"])
def test_pytorch_s_own_transformers(convoy, request, name, way):
    if way == "source":
        request.getfixturevalue("no_export")
    made, *shapes = TRANSFORMERS[name]
    torch.manual_seed(3)
    agrees(convoy, made().eval(), *(drawn(*shape) for shape in shapes))


def test_what_is_padded_is_said_where_inference_drops_it(convoy):
    module, words = Padded().eval(), torch.tensor([[1, 2, 3, 0, 0], [4, 5, 6, 7, 0], [9, 0, 0, 0, 0]])
    with pytest.warns(convoy.Warning, match="answers otherwise where no gradients are asked for .*enable_nested_tensor=False"):
        model = convoy.load(module, words)
    assert np.allclose(model(words), module(words).detach(), atol=1e-5) and model.inputs[0].shape == (None, 5)


class Decides(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


def test_a_decision_by_numbers_says_what_to_write_instead(convoy):
    with pytest.raises(convoy.Unsupported, match=r"it decides by numbers of tensors, which come only when it runs\); as source .*"
                                                 r"a decision by the numbers of a tensor, which come only when the model runs: torch.where\(condition, a, b\)"):
        convoy.load(Decides().eval(), drawn(3, 6))


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterList([drawn(6, seed=1), drawn(6, seed=2)])
        self.named = nn.ParameterDict({"a": nn.Parameter(drawn(6, seed=3)), "b": nn.Parameter(drawn(6, seed=4))})

    def forward(self, x):
        for scale in self.scales:
            x = x * scale
        return x + self.named["a"] * self.named["b"]


def test_a_module_read_as_source_is_called_as_its_class(convoy, no_export):
    module = Listed().eval()
    agrees(convoy, module, drawn(3, 6))
    assert convoy.to_keras(module, drawn(3, 6)).name == "Listed"
