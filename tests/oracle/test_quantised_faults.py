"""Mistakes of quantisation (mutation/steps.py) in models of ONNX Runtime's quantiser: `convoy diff` names each, and says what each layer
of a quantised model loses beside the model that it was made of."""
import json

import onnx
import pytest
from carrying import convoy
from mutation import steps
from mutation.net import Net
from quantised_models import quantised_model


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quantised")
    return [(quantised_model(name, kind, channels, folder / f"{name}_{kind}"), folder)
            for name, kind, channels in (("chain", "u8", True), ("residual", "s8", True))]


def named_nodes(net, operators):
    return [node.name for node in net.graph.node if node.op_type in operators]


@pytest.mark.parametrize("which", range(len(steps.MISTAKES)))
def test_a_mistake_of_quantisation_is_named(models, which, tmp_path):
    cause, operators, make = steps.MISTAKES[which]
    asked, missed = 0, []
    for source, _ in models:
        for name in named_nodes(Net(onnx.load(source)), operators):
            net = Net(onnx.load(source))
            before = net.run(net.feed(0))
            node = next(n for n in net.graph.node if n.name == name)
            if not make(net, node) or (net.run(net.feed(0))[0] == before[0]).all():
                continue
            onnx.save(net.model, tmp_path / "b.onnx")
            found = json.loads(convoy("diff", source, tmp_path / "b.onnx", "--json", code=1).stdout)["differences"]
            asked += 1
            if cause not in [found[0]["cause"], *found[0]["also"]]:
                missed.append((source.parent.name, name, [(d["a"], d["cause"]) for d in found]))
            if asked == 4:
                break
    assert asked > 0
    assert not missed, missed


def test_the_layers_of_a_quantised_twin_say_what_they_lose(models):
    for source, _ in models:
        found = json.loads(convoy("diff", source.parent / "float.onnx", source, "--json", code=1).stdout)
        assert not found["differences"]
        losses = [one["decibels"] for one in found["losses"]]
        assert len(losses) > 2 and losses == sorted(losses) and losses[0] > 0
