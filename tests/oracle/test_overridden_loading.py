"""Modules that change a file's numbers while they load them, and convolutions whose padding is told anew: PyTorch executes each."""
import numpy as np
import pytest
import torch
from carrying import assert_close, convoy, run_natively

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F

"""
BUILT = "    def __init__(self):\n        super().__init__()\n"
CONV = BUILT + "        self.conv = nn.Conv2d(3, 4, (3, 5))\n"
CALLED = "    def forward(self, x):\n        return self.conv(x)\n"

# The program, and what convoy says where it does not follow; "": it does.
LOADING = {
    "halved": (f"""class Net(nn.Module):
{CONV}    def _load_from_state_dict(self, state_dict, prefix, *others):
        state_dict[prefix + 'conv.weight'] = state_dict[prefix + 'conv.weight'] * 0.5
        super()._load_from_state_dict(state_dict, prefix, *others)
{CALLED}""", ""),
    "in a part": (f"""class Turned(nn.Conv2d):
    def _load_from_state_dict(self, state_dict, prefix, *others):
        state_dict[prefix + 'weight'] = state_dict[prefix + 'weight'].flip(-1)
        super()._load_from_state_dict(state_dict, prefix, *others)
class Net(nn.Module):
{BUILT}        self.conv = nn.Sequential(nn.Conv2d(3, 4, (3, 5)), Turned(4, 2, 2))
{CALLED}""", ""),
    "a count left out": (f"""class Frozen(nn.BatchNorm2d):
    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        key = prefix + 'num_batches_tracked'
        if key in state_dict:
            del state_dict[key]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
class Net(nn.Module):
{BUILT}        self.conv = nn.Sequential(nn.Conv2d(3, 4, (3, 5)), Frozen(4))
{CALLED}""", ""),
    "doubled": (f"""class Net(nn.Module):
{CONV}    def load_state_dict(self, state_dict, strict=True):
        return super().load_state_dict({{name: numbers * 2 for name, numbers in state_dict.items()}}, strict)
{CALLED}""", ""),
    "copied one by one": (f"""class Net(nn.Module):
{CONV}    def load_state_dict(self, state_dict, strict=True):
        own = self.state_dict()
        for name, numbers in state_dict.items():
            if name in own:
                own[name].copy_(numbers)
            elif strict:
                raise KeyError(name)
{CALLED}""", ""),
    "a hook": (f"""class Net(nn.Module):
{CONV}        self._register_load_state_dict_pre_hook(self.turn)
    def turn(self, state_dict, prefix, *others):
        state_dict[prefix + 'conv.weight'] = state_dict[prefix + 'conv.weight'].flip(0)
{CALLED}""", ""),
    "a hook with its module": (f"""class Net(nn.Module):
{CONV}        self.conv.register_load_state_dict_pre_hook(turn)
{CALLED}
def turn(module, state_dict, prefix, *others):
    state_dict[prefix + 'bias'] = state_dict[prefix + 'bias'] + module.out_channels
""", ""),
    "a hook that is taken off": (f"""class Net(nn.Module):
{CONV}        hook = self._register_load_state_dict_pre_hook(lambda state_dict, *others: state_dict.clear())
        hook.remove()
{CALLED}""", ""),
    "a hook behind": (f"""class Net(nn.Module):
{CONV}        self.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
{CALLED}""", ""),
    "a hook behind that fills": (f"""class Net(nn.Module):
{CONV}        self.register_load_state_dict_post_hook(fill)
{CALLED}
def fill(module, keys):
    module.conv.bias.data.fill_(2.0)
""", "changes 'conv.bias' by fill_ behind load_state_dict()"),
    "a hook that nobody registered": (f"""class Net(nn.Module):
{CONV}        self._load_state_dict_pre_hooks[0] = lambda *others: None
{CALLED}""", "_load_state_dict_pre_hooks"),
    "hooks in a dict of its own": (f"""class Net(nn.Module):
{CONV}        self._load_state_dict_pre_hooks = {{0: lambda *others: None}}
{CALLED}""", "a program's own _load_state_dict_pre_hooks"),
    "without nn.Module": (f"""class Net(nn.Module):
{CONV}    def _load_from_state_dict(self, state_dict, prefix, *others):
        self.conv.bias.data.copy_(state_dict[prefix + 'conv.bias'] * 3)
{CALLED}""", "Net._load_from_state_dict() does not call that of nn.Module"),
}


@pytest.mark.parametrize("name", list(LOADING))
def test_modules_that_load_in_their_own_way(name, tmp_path):
    text, refused = LOADING[name]
    names = {}
    exec(HEAD + text, names)  # noqa: S102
    torch.manual_seed(2)
    net = names["Net"]().eval()
    torch.save({key: value * 3 + 1 if value.is_floating_point() else value for key, value in net.state_dict().items()}, tmp_path / "w.pt")
    net.load_state_dict(torch.load(tmp_path / "w.pt"))
    x = np.random.default_rng(0).normal(size=(2, 3, 9, 8)).astype(np.float32)
    (tmp_path / "net.py").write_text(HEAD + text)
    source = [f"{tmp_path / 'net.py'}:Net", "--weights", tmp_path / "w.pt"]
    if refused:
        assert refused in convoy("summary", *source, code=6).stderr
        return
    with torch.no_grad():
        want = net(torch.from_numpy(x)).numpy()
    assert_close(run_natively(source, {"x": x}, tmp_path), [want], what=name)


PADDING = {
    "told anew": "self.conv = nn.Conv2d(3, 4, (3, 5), padding=1, padding_mode='reflect')\n        self.conv.padding = (2, 2)",
    "its pads told anew": "self.conv = nn.Conv2d(3, 4, (3, 5), padding=(1, 2), padding_mode='circular')\n"
                          "        self.conv._reversed_padding_repeated_twice = (2, 1, 0, 0)",
    "dilation told anew": "self.conv = nn.Conv2d(3, 4, (3, 4), padding='same', padding_mode='reflect')\n        self.conv.dilation = (2, 1)",
    "mode told anew": "self.conv = nn.Conv2d(3, 4, (3, 5), padding=(1, 2))\n        self.conv.padding_mode = 'replicate'",
    "mode taken off": "self.conv = nn.Conv2d(3, 4, (3, 5), padding=(1, 2), padding_mode='reflect')\n        self.conv.padding_mode = 'zeros'",
    "a forward of its own": "self.conv = Own(3, 4, (3, 5), padding=(1, 2), padding_mode='replicate')",
}
OWN = """class Own(nn.Conv2d):
    def forward(self, x):
        return self._conv_forward(x, self.weight * 2, self.bias) - F.conv2d(
            F.pad(x, self._reversed_padding_repeated_twice, mode=self.padding_mode), self.weight, stride=self.stride)
"""


@pytest.mark.parametrize("name", list(PADDING))
def test_padding_of_a_mode_is_computed_when_the_layer_is_made(name, tmp_path):
    text = f"{HEAD}{OWN}class Net(nn.Module):\n{BUILT}        {PADDING[name]}\n{CALLED}"
    names = {}
    exec(text, names)  # noqa: S102
    net = names["Net"]().eval()
    torch.save(net.state_dict(), tmp_path / "w.pt")
    x = np.random.default_rng(0).normal(size=(2, 3, 9, 8)).astype(np.float32)
    (tmp_path / "net.py").write_text(text)
    with torch.no_grad():
        want = net(torch.from_numpy(x)).numpy()
    assert_close(run_natively([f"{tmp_path / 'net.py'}:Net", "--weights", tmp_path / "w.pt"], {"x": x}, tmp_path), [want], what=name)
