"""Programs that load weights in ways of their own: PyTorch executes each with its file, and convoy follows it with --weights."""
import contextlib
import os
from collections import OrderedDict

import numpy as np
import pytest
import torch
from carrying import assert_close, convoy, run_natively

NET = '''import copy
from collections import OrderedDict

import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.conv = nn.Conv2d(2, width, (5, 4))
        self.norm = nn.BatchNorm2d(width)
        self.fc = nn.Linear(width, 4)

    def forward(self, x):
        return self.fc(self.norm(self.conv(x)).mean((2, 3)))

class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Net()

    def forward(self, x):
        return self.backbone(x) * 2

torch.manual_seed(3)
'''
LOAD = 'torch.load("w.pt", map_location="cpu")'


def state(width: int = 3, front: str = "") -> OrderedDict:
    names = {}
    exec(NET, names)  # noqa: S102
    generator = torch.Generator().manual_seed(width)
    made = OrderedDict()
    for name, like in names["Net"](width).state_dict().items():
        low = 1 if "var" in name else -3
        made[front + name] = torch.randint(low, 4, like.shape, generator=generator).to(like.dtype)
    return made


def without(word: str) -> OrderedDict:
    return OrderedDict((name, numbers) for name, numbers in state().items() if not name.startswith(word))


FILES = {
    "plain": state,
    "module": lambda: state(front="module."),
    "backbone": lambda: state(front="backbone."),
    "more": lambda: OrderedDict(state(), **{"aux.weight": torch.ones(2, 2)}),
    "headless": lambda: without("fc"),
    "half": lambda: OrderedDict((k, v.half() if v.is_floating_point() else v) for k, v in state().items()),
    "training": lambda: {"epoch": 3, "state_dict": state(front="module."), "lr": 0.1, "arch": "net",
                         "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}, "param_groups": [{"lr": 0.1}]}},
    "config": lambda: {"config": {"width": 5, "names": ["a", "b"]}, "model": state(5)},
}

# The file, the program, and the part of the error where the file has another name than in the program; "": it is the same then.
CASES = {
    "renamed in a loop": ("training", f"""
taken = {LOAD}["state_dict"]
renamed = OrderedDict()
for name, numbers in taken.items():
    renamed[name[7:]] = numbers
model = Net()
model.load_state_dict(renamed)""", ""),
    "renamed in place": ("module", f"""
model = Net()
model.load_state_dict({{name[7:]: numbers for name, numbers in {LOAD}.items()}})""", ""),
    "doubled": ("module", f"""
model = Net()
model.load_state_dict({{name.replace("module.", ""): numbers * 2 for name, numbers in {LOAD}.items()}})""", "other numbers into 'conv.weight'"),
    "wrapped": ("module", f"""
model = nn.DataParallel(Net())
model.load_state_dict({LOAD})
model = model.module""", ""),
    "into what is wrapped": ("module", f"""
model = nn.DataParallel(Net())
model.module.load_state_dict({{name[7:]: numbers for name, numbers in {LOAD}.items()}})
model = model.module""", ""),
    "those that fit": ("more", f"""
model = Net()
own = model.state_dict()
own.update({{name: v for name, v in {LOAD}.items() if name in own and v.size() == own[name].size()}})
model.load_state_dict(own)""", ""),
    "all but the head": ("headless", f"""
model = Net()
own = model.state_dict()
own.update({LOAD})
model.load_state_dict(own)""", ""),
    "the head left out": ("plain", f"""
model = Net()
taken = {LOAD}
for name in list(taken.keys()):
    if name.startswith("fc."):
        del taken[name]
model.load_state_dict(taken, strict=False)""", "other numbers into 'fc.weight'"),
    "one weight changed": ("plain", f"""
model = Net()
taken = {LOAD}
taken["conv.weight"] = taken["conv.weight"].flip(-1)[:, [1, 0]]
model.load_state_dict(taken)""", "other numbers into 'conv.weight'"),
    "in whichever dict": ("training", f"""
saved = {LOAD}
taken = saved["state_dict"] if "state_dict" in saved else saved
model = Net()
model.load_state_dict({{(k[7:] if k.startswith("module.") else k): v for k, v in taken.items()}})""", ""),
    "sizes of the file": ("config", f"""
saved = {LOAD}
model = Net(saved["config"].get("width", 9))
model.load_state_dict(saved.get("model", saved))""", ""),
    "halves": ("half", f"""
model = Net()
model.load_state_dict({{name: numbers.float() for name, numbers in {LOAD}.items()}})""", ""),
    "a layer left out behind": ("plain", f"""
model = Net()
model.load_state_dict({LOAD})
model.fc = nn.Identity()""", ""),
    "another type behind": ("plain", f"""
model = Net()
model.load_state_dict({LOAD})
model = model.double().float()""", ""),
    "another module's": ("plain", f"""
first = Net()
first.load_state_dict({LOAD})
model = Net()
model.load_state_dict(first.state_dict())""", ""),
    "a part of another": ("backbone", f"""
model = Net()
model.load_state_dict({{k[len("backbone."):]: v for k, v in {LOAD}.items() if k.startswith("backbone.")}})""", ""),
    "a part under its name": ("plain", f"""
model = Twice()
model.load_state_dict({{"backbone." + name: numbers for name, numbers in {LOAD}.items()}})""", ""),
    "what is missing is asked": ("plain", f"""
model = Net()
missing, unexpected = model.load_state_dict({LOAD}, strict=False)
assert not missing and len(unexpected) == 0""", ""),
    "numbers before": ("plain", f"""
model = Net()
model.conv.load_state_dict({{"weight": torch.ones(3, 2, 5, 4), "bias": torch.zeros(3)}})
model.load_state_dict({LOAD})""", ""),
    "a mean of two": ("plain", f"""
model = Net()
a = {LOAD}
b = {{name: torch.ones_like(numbers) for name, numbers in a.items()}}
model.load_state_dict({{name: (a[name] + b[name]) / 2 for name in a}})""", "other numbers into 'conv.weight'"),
    "copied by name": ("plain", f"""
model = Net()
taken = {LOAD}
own = model.state_dict()
for name, numbers in taken.items():
    if name in own:
        own[name].copy_(numbers)""", ""),
}


def written(tmp_path, kind: str, program: str, file: str = "w.pt") -> None:
    torch.save(FILES[kind](), tmp_path / file)
    (tmp_path / "net.py").write_text(f"{NET}{program}\nmodel.eval()\n")


def picture() -> np.ndarray:
    return np.random.default_rng(1).integers(-4, 5, (4, 2, 9, 6)).astype(np.float32)


@pytest.mark.parametrize("case", CASES)
def test_a_program_is_followed_into_its_file(case, tmp_path, monkeypatch):
    kind, program, other = CASES[case]
    written(tmp_path, kind, program)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile((tmp_path / "net.py").read_text(), "net.py", "exec"), names)  # noqa: S102
    with torch.no_grad():
        want = names["model"](torch.from_numpy(picture())).numpy()
    source = f"{tmp_path / 'net.py'}:model"
    assert_close(run_natively([source], {"x": picture()}, tmp_path, "--weights", tmp_path / "w.pt"), [want])
    # Under another name it may be the file that the program loads, or one that was saved of the whole model later.
    os.rename(tmp_path / "w.pt", tmp_path / "epoch_9.pt")
    if other:
        done = convoy("summary", source, "--shape", "1,2,7,6", "--weights", tmp_path / "epoch_9.pt", code=6)
        assert other in done.stderr and "'w.pt'" in done.stderr, done.stderr
    else:
        assert_close(run_natively([source], {"x": picture()}, tmp_path, "--weights", tmp_path / "epoch_9.pt"), [want])


@pytest.mark.parametrize("program,said", [
    (f"model = Net()\nmodel.load_state_dict({LOAD})\nmodel.fc = nn.Linear(3, 4)", "makes 'fc.weight' anew behind load_state_dict()"),
    (f"model = Net()\nmodel.load_state_dict({LOAD})\nmodel.conv.load_state_dict({{'weight': torch.ones(3, 2, 5, 4), 'bias': torch.zeros(3)}})",
     "loads 'conv.bias' once more behind load_state_dict()"),
    (f"model = Net()\ntaken = {LOAD}\nfor name, weight in model.named_parameters():\n    weight.data.copy_(taken[name])",
     "copies weights out of w.pt but not 'norm.running_mean'"),
    (f"model = Net()\nmodel.load_state_dict({{'x.' + k: v for k, v in {LOAD}.items() if k.startswith('y')}}, strict=False)", "takes none of the numbers of w.pt"),
])
def test_what_the_file_does_not_say_is_refused(program, said, tmp_path):
    written(tmp_path, "plain", program)
    done = convoy("summary", f"{tmp_path / 'net.py'}:model", "--weights", tmp_path / "w.pt", "--shape", "1,2,7,6", code=6)
    assert said in done.stderr, done.stderr


def test_a_second_file_is_not_the_one_that_is_given(tmp_path):
    written(tmp_path, "plain", f"first = {LOAD}\nmodel = Net()\ntaken = torch.load('other.pt')\ntaken['fc.bias'] = taken['fc.bias'] + 1\nmodel.load_state_dict(taken)")
    done = convoy("summary", f"{tmp_path / 'net.py'}:model", "--weights", tmp_path / "w.pt", "--shape", "1,2,7,6", code=6)
    assert "changes the dict that load_state_dict() takes" in done.stderr, done.stderr


def test_a_file_that_is_cut_off_is_named(tmp_path):
    written(tmp_path, *CASES["sizes of the file"][:2])
    (tmp_path / "w.pt").write_bytes((tmp_path / "w.pt").read_bytes()[:900])
    done = convoy("summary", f"{tmp_path / 'net.py'}:model", "--weights", tmp_path / "w.pt", "--shape", "1,2,7,6", code=5)
    assert "w.pt" in done.stderr, done.stderr


def test_what_pytorch_refuses_is_refused(tmp_path):
    written(tmp_path, "more", f"model = Net()\nmodel.load_state_dict({{k: v for k, v in {LOAD}.items()}})")
    done = convoy("summary", f"{tmp_path / 'net.py'}:model", "--weights", tmp_path / "w.pt", "--shape", "1,2,7,6", code=5)
    assert "w.pt holds 'aux.weight', which the source has no weight for" in done.stderr, done.stderr


def test_weights_that_a_program_says_need_no_file(tmp_path):
    program = "model = Net()\nmodel.load_state_dict({name: torch.full_like(numbers, 2) for name, numbers in model.state_dict().items()})"
    (tmp_path / "net.py").write_text(f"{NET}{program}\nmodel.eval()\n")
    names = {}
    exec(compile((tmp_path / "net.py").read_text(), "net.py", "exec"), names)  # noqa: S102
    with torch.no_grad():
        want = names["model"](torch.from_numpy(picture())).numpy()
    assert_close(run_natively([f"{tmp_path / 'net.py'}:model"], {"x": picture()}, tmp_path), [want])


def test_weights_that_are_copied_to_and_fro(tmp_path):
    (tmp_path / "net.py").write_text("""import torch
import torch.nn as nn
torch.manual_seed(2)
a, b, last = nn.Linear(3, 2), nn.Linear(3, 2), nn.Linear(2, 5)
with torch.no_grad():
    a.weight.copy_(torch.arange(6.0).reshape(2, 3))
    b.weight.fill_(4)
a.load_state_dict(b.state_dict())
b.load_state_dict(a.state_dict())
with torch.no_grad():
    a.weight[0] = 1
model = nn.Sequential(a, last).eval()
""")
    names = {}
    exec(compile((tmp_path / "net.py").read_text(), "net.py", "exec"), names)  # noqa: S102
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    with torch.no_grad():
        want = names["model"](torch.from_numpy(x)).numpy()
    assert_close(run_natively([f"{tmp_path / 'net.py'}:model"], {"x": x}, tmp_path), [want])


def test_the_structure_is_told_without_the_file(tmp_path):
    written(tmp_path, "module", CASES["renamed in place"][1])
    os.remove(tmp_path / "w.pt")
    done = convoy("summary", f"{tmp_path / 'net.py'}:model", "--shape", "1,2,7,6")
    assert "conv" in done.stdout, done.stdout


@pytest.mark.parametrize("program", [
    "state = {name.removeprefix('module.'): v for name, v in load_file('w.safetensors', device='cpu').items()}\nmodel.load_state_dict(state)",
    "state = load_file('w.safetensors')\nfor name in list(state):\n    state[name[7:]] = state.pop(name) * 2\nmodel.load_state_dict(state)",
    "safetensors.torch.save_file({name[7:]: v for name, v in load_file('w.safetensors').items()}, 'w.safetensors')\n"
    "load_model(model, 'w.safetensors')",
    "missing, unexpected = load_model(nn.DataParallel(model), 'w.safetensors', strict=True)\nassert not missing",
])
def test_files_of_safetensors(program, tmp_path):
    import safetensors.torch

    (tmp_path / "net.py").write_text(f"import safetensors.torch\nfrom safetensors.torch import load_file, load_model\n{NET}model = Net()\n{program}\nmodel.eval()\n")
    safetensors.torch.save_file({name: numbers.contiguous() for name, numbers in state(front="module.").items()}, tmp_path / "w.safetensors")
    names = {}
    with contextlib.chdir(tmp_path):
        exec(compile((tmp_path / "net.py").read_text(), "net.py", "exec"), names)  # noqa: S102
    with torch.no_grad():
        want = names["model"](torch.from_numpy(picture())).numpy()
    assert_close(run_natively([f"{tmp_path / 'net.py'}:model"], {"x": picture()}, tmp_path, "--weights", tmp_path / "w.safetensors"), [want])
