"""An exported PyTorch program that rounds to steps, and mistakes of its scales and zero points."""
import numpy as np
import torch


class Program:
    def __init__(self, file):
        self.made = torch.export.load(file)

    def calls(self, word):
        return [n for n in self.made.graph.nodes if n.op == "call_function" and word in str(n.target)]

    def pairs(self):
        """Roundings of one scale, and what widens behind each."""
        return [[n, *(u for u in n.users if "dequantize_per_tensor" in str(u.target))] for n in self.calls(".quantize_per_tensor.")]

    def scales(self):
        """Of weights with one for each channel: where the program holds them, by name."""
        held = self.made.graph_signature
        names = {**held.inputs_to_buffers, **held.inputs_to_parameters, **held.inputs_to_lifted_tensor_constants}
        return [names[n.args[1].name] for n in self.calls("dequantize_per_channel") if n.args[1].name in names]

    def change(self, name, f):
        for where in (self.made.state_dict, self.made.constants):
            if name in where:
                where[name].data = f(where[name].detach())

    def save(self, file):
        torch.export.save(self.made, file)


def with_argument(nodes, i, f):
    for node in nodes:
        node.args = (*node.args[:i], f(node.args[i]), *node.args[i + 1:])


def scale_of_weights(program, choose):
    name, by = choose.choice(program.scales()), choose.choice([2, 1.1, 0.5])
    program.change(name, lambda s: s * by)
    return name, "quant_scale"


def scale_of_one_channel(program, choose):
    name, by = choose.choice(program.scales()), choose.choice([2, 1.1, 0.5])
    program.change(name, lambda s: torch.from_numpy(np.where(np.arange(s.numel()) == 1, s.numpy() * np.float32(by), s.numpy())))
    return name, "quant_scale"


def zero_of_activation(program, choose):
    pair, by = choose.choice(program.pairs()), choose.choice([-6, 6])
    with_argument(pair, 2, lambda z: max(-128, min(127, z + by)))
    return pair[0].name, "quant_zero_point"


def scale_of_activation(program, choose):
    pair = choose.choice(program.pairs())
    with_argument(pair, 1, lambda s: s * 1.3)
    return pair[0].name, "quant_scale"


OF_WEIGHTS = [scale_of_weights, scale_of_one_channel]
OF_ACTIVATIONS = [zero_of_activation, scale_of_activation]
