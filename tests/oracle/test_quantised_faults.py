"""Mistakes of quantisation (mutation/steps.py) in models of ONNX Runtime's quantiser: `convoy diff` names each, and says what each layer
of a quantised model loses beside the model that it was made of."""
import json

import numpy as np
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


@pytest.mark.parametrize("scale", [0.01005, 0.0101])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_scale_of_one_channel_of_weights_is_a_number_of_the_model(scale, seed, tmp_path):
    """It moves few answers by a step: the rest lie between the same two halves."""
    draw = np.random.default_rng(1)
    weight, bias = draw.integers(-128, 128, (8, 4, 3, 3)).astype("int8"), draw.integers(-3000, 3000, 8).astype("int32")

    def net(path, scales):
        held = {"sx": np.float32(0.04), "zx": np.uint8(120), "w": weight, "ws": np.float32(scales),
                "wz": np.zeros(8, "int8"), "b": bias, "bs": np.float32(0.0004), "sy": np.float32(0.3), "zy": np.uint8(77)}
        quantize, widen = ("QuantizeLinear", "DequantizeLinear")
        nodes = [onnx.helper.make_node(quantize, ["x", "sx", "zx"], ["q"]),
                 onnx.helper.make_node(widen, ["q", "sx", "zx"], ["d"]),
                 onnx.helper.make_node(widen, ["w", "ws", "wz"], ["wf"], axis=0),
                 onnx.helper.make_node(widen, ["b", "bs"], ["bf"]),
                 onnx.helper.make_node("Conv", ["d", "wf", "bf"], ["c"], pads=[1] * 4),
                 onnx.helper.make_node(quantize, ["c", "sy", "zy"], ["yq"]),
                 onnx.helper.make_node(widen, ["yq", "sy", "zy"], ["y"])]
        x, y = (onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", [1, 4, 6, 6]), ("y", None)))
        graph = onnx.helper.make_graph(nodes, "g", [x], [y], [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in held.items()])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), path)

    net(tmp_path / "a.onnx", [0.01] * 8)
    net(tmp_path / "b.onnx", [0.01] * 7 + [scale])
    found = json.loads(convoy("diff", tmp_path / "a.onnx", tmp_path / "b.onnx", "--seed", seed, "--json", code=1).stdout)
    assert [one["a"] for one in found["differences"]] == ["c"]
    convoy("diff", tmp_path / "a.onnx", tmp_path / "a.onnx", "--seed", seed)
