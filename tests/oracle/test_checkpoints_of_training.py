"""Source bound to what training saves: the module's weights among an optimizer's, behind wrappers' names, beside another copy."""
import numpy as np
import pytest
import torch
from carrying import assert_close, convoy, run_natively

NET = """import torch
from pathlib import Path
from torch import nn

torch.set_float32_matmul_precision("high")

class Net(nn.Module):
    def __init__(self, weights=None):
        super().__init__()
        torch.use_deterministic_algorithms(True, warn_only=True)
        if torch.backends.cudnn.is_available():
            torch.backends.cudnn.benchmark = False
        self.conv = nn.utils.weight_norm(nn.Conv1d(3, 4, 2)) if NORMED else nn.Conv1d(3, 4, 2)
        self.norm = nn.BatchNorm1d(4)
        if weights is not None:
            path = Path(weights)
            if not path.exists():
                raise Exception("there is no %s" % path)
            assert path.stat().st_size > 0, path
            self.load_state_dict(torch.load(path)["model"], strict=STRICT)

    def forward(self, x):
        return self.norm(self.conv(x))
"""


def source(tmp_path, strict=True, normed=False):
    text = NET.replace("STRICT", str(strict)).replace("NORMED", str(normed))
    (tmp_path / "net.py").write_text(text)
    names = {}
    exec(compile(text, "net.py", "exec"), names)  # noqa: S102
    torch.use_deterministic_algorithms(False)
    torch.manual_seed(3)
    net = names["Net"]()
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.randn(5, 3, 7)).square().sum().backward()
    optimizer.step()
    return net.eval(), optimizer.state_dict()


def answer(net, tmp_path, target="Net()"):
    x = np.random.default_rng(1).integers(-4, 5, (2, 3, 7)).astype(np.float32)
    with torch.no_grad():
        want = net(torch.from_numpy(x)).numpy()
    got = run_natively([f"{tmp_path / 'net.py'}:{target}"], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [want])


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("wrapper", ["", "module.", "_orig_mod.", "net.module."])
def test_weights_are_found_beside_those_of_the_optimizer(wrapper, normed, tmp_path):
    net, optimizer = source(tmp_path, normed=normed)
    own = {wrapper + name: numbers for name, numbers in net.state_dict().items()}
    torch.save({"epoch": 4, "best": {"loss.weight": torch.ones(3)}, "model_state": own, "optimizer": optimizer}, tmp_path / "w.pt")
    answer(net, tmp_path)


def test_a_file_in_which_a_module_guards_its_own_loading(tmp_path):
    net, optimizer = source(tmp_path, strict=False)
    more = {**net.state_dict(), "similarity.weight": torch.ones(1)}
    torch.save({"model": more, "optimizer": optimizer}, tmp_path / "w.pt")
    answer(net, tmp_path, "Net('any.pt')")
    done = convoy("summary", f"{tmp_path / 'net.py'}:Net('any.pt')", "--weights", tmp_path / "w.pt", "--shape", "2,3,7")
    assert "'similarity.weight', which load_state_dict(strict=False) leaves out" in done.stdout, done.stdout


PLAIN = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 2)

    def forward(self, x):
        return self.conv(x)

torch.manual_seed(5)
net = WRAPPED
net.load_state_dict(torch.load("w.pt"), strict=False)
net.eval()
"""


@pytest.mark.parametrize("wrapped,lacks", [("Net()", None), ("Net()", "conv.bias"), ("nn.DataParallel(Net())", None)])
def test_names_that_pytorch_does_not_find_are_left_alone(wrapped, lacks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = {"conv.weight": torch.randn(4, 3, 2), "conv.bias": torch.randn(4)}
    word = "module." if "Data" in wrapped else ""
    torch.save({word + name: numbers for name, numbers in own.items() if name != lacks}, tmp_path / "w.pt")
    text = PLAIN.replace("WRAPPED", wrapped)
    (tmp_path / "net.py").write_text(text)
    names = {}
    exec(compile(text, "net.py", "exec"), names)  # noqa: S102
    x = np.random.default_rng(1).integers(-4, 5, (2, 3, 7)).astype(np.float32)
    with torch.no_grad():
        want = names["net"](torch.from_numpy(x)).numpy()
    got = run_natively([f"{tmp_path / 'net.py'}:net"], {"x": x}, tmp_path, "--weights", tmp_path / "w.pt")
    assert_close(got, [want])
    said = convoy("summary", f"{tmp_path / 'net.py'}:net", "--weights", tmp_path / "w.pt", "--shape", "2,3,7").stdout
    assert ("leaves as the program fills it" in said) == (lacks is not None), said


def test_a_file_of_which_no_weight_is_loaded_is_refused(tmp_path):
    torch.save({"module.conv.weight": torch.randn(4, 3, 2), "module.conv.bias": torch.randn(4)}, tmp_path / "w.pt")
    (tmp_path / "net.py").write_text(PLAIN.replace("WRAPPED", "Net()"))
    done = convoy("summary", f"{tmp_path / 'net.py'}:net", "--weights", tmp_path / "w.pt", "--shape", "2,3,7", code=6)
    assert "takes no weight of w.pt, for their names stand behind 'module'" in done.stderr, done.stderr


def test_what_is_left_over_is_refused_where_the_program_says_nothing(tmp_path):
    net, _ = source(tmp_path)
    torch.save({"model": {**net.state_dict(), "similarity.weight": torch.ones(1)}}, tmp_path / "w.pt")
    done = convoy("summary", f"{tmp_path / 'net.py'}:Net('any.pt')", "--weights", tmp_path / "w.pt", "--shape", "2,3,7", code=5)
    assert "'similarity.weight', which the source has no weight for" in done.stderr, done.stderr


def test_two_copies_are_told_apart_by_nobody(tmp_path):
    net, _ = source(tmp_path)
    torch.save({"model": net.state_dict(), "ema": {k: v + 1 for k, v in net.state_dict().items()}}, tmp_path / "w.pt")
    done = convoy("summary", f"{tmp_path / 'net.py'}:Net()", "--weights", tmp_path / "w.pt", "--shape", "2,3,7", code=6)
    assert "'ema' as in 'model'" in done.stderr, done.stderr


def test_the_program_says_which_of_two_copies_is_meant(tmp_path):
    net, _ = source(tmp_path)
    average = {name: numbers + 1 for name, numbers in net.state_dict().items()}
    torch.save({"ema": {"net": average}, "model": net.state_dict()}, tmp_path / "w.pt")
    answer(net, tmp_path, "Net('any.pt')")  # which loads ["model"]
    text = (tmp_path / "net.py").read_text().replace('["model"]', '["ema"]["net"]')
    (tmp_path / "net.py").write_text(text)
    net.load_state_dict(average)
    answer(net, tmp_path, "Net('any.pt')")
    # Of parameters alone, the other dict's running numbers are not taken.
    own = dict(net.named_parameters())
    torch.save({"ema": {"net": {name: own[name].detach() for name in own}}, "model": net.state_dict()}, tmp_path / "w.pt")
    done = convoy("summary", f"{tmp_path / 'net.py'}:Net('any.pt')", "--weights", tmp_path / "w.pt", "--shape", "2,3,7", code=5)
    assert "holds no 'norm.running_mean'" in done.stderr, done.stderr


def test_another_default_type_is_refused(tmp_path):
    (tmp_path / "net.py").write_text("import torch\ntorch.set_default_dtype(torch.float64)\nnet = torch.nn.Linear(3, 2)\n")
    done = convoy("summary", tmp_path / "net.py", "--shape", "2,3", code=6)
    assert ".to(torch.float64)" in done.stderr, done.stderr
    (tmp_path / "net.py").write_text("import torch\ntorch.set_default_dtype(torch.float32)\nnet = torch.nn.Linear(3, 2)\n")
    convoy("summary", tmp_path / "net.py", "--shape", "2,3")


@pytest.mark.parametrize("condition", ["path is None", "path is not None", "path == 'a'", "not path", "path and True", "path > 1"])
def test_a_branch_that_hangs_on_what_lies_outside_is_refused(condition, tmp_path):
    (tmp_path / "net.py").write_text(f"""import torch
path = torch.load("a.pt")
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 2, bias=True if {condition} else False)
    def forward(self, x):
        return self.a(x)
""")
    done = convoy("summary", tmp_path / "net.py", "--shape", "2,3", code=6)
    assert "is not read, and the model depends on it" in done.stderr, done.stderr


CHANGED = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 2)

    def forward(self, x):
        return self.conv(x)

def made():
    net = Net()
    BEFORE
    taken = torch.load("w.pt")
    net.load_state_dict(taken, strict=STRICT)
    BEHIND
    return net.eval()
"""


@pytest.mark.parametrize("where,line,said", [
    ("BEHIND", "net.conv.weight.data.mul_(3)", "changes 'conv.weight' by mul_() behind load_state_dict()"),
    ("BEHIND", "net.conv.weight.data *= 3", "changes 'conv.weight' by"),
    ("BEHIND", "net.conv.bias.data = net.conv.bias.data * 2", "changes 'conv.bias' by new numbers behind"),
    ("BEHIND", "nn.init.constant_(net.conv.bias, 5.0)", "changes 'conv.bias' by nn.init.constant_ behind"),
    ("BEHIND", "net.conv.bias.data.zero_()", "changes 'conv.bias' by fill_ behind"),
    ("BEHIND", "net.conv.weight.data.clamp_(-0.1, 0.1)", "changes 'conv.weight' by clamp_() behind"),
    ("BEHIND", "nn.init.dirac_(net.conv.weight)", "changes 'conv.weight' by nn.init.dirac_ behind"),
    ("BEHIND", "net.conv.reset_parameters()", "by reset_parameters() behind"),
    ("BEFORE", "net.conv.bias.data = torch.ones(4) * 4", "holds no 'conv.bias', which the program changes by new numbers"),
    ("BEFORE", "nn.init.constant_(net.conv.bias, 5.0)", None),
])
def test_what_a_program_does_to_weights_around_its_load_is_not_overlooked(where, line, said, tmp_path):
    text = CHANGED.replace("STRICT", str(where == "BEHIND")).replace(where, line)
    for other in ("BEFORE", "BEHIND"):
        text = text.replace(other, "pass")
    (tmp_path / "net.py").write_text(text)
    numbers = {"conv.weight": torch.randn(4, 3, 2)} | ({} if where == "BEFORE" else {"conv.bias": torch.randn(4)})
    torch.save(numbers, tmp_path / "w.pt")
    done = convoy("summary", f"{tmp_path / 'net.py'}:made", "--weights", tmp_path / "w.pt", "--shape", "2,3,7", code=6 if said else 0)
    assert (said or "leaves as the program fills it") in (done.stderr if said else done.stdout), done.stderr
