"""A file of ONNX Runtime's quantiser, and mistakes of one scale, zero point or bias in it."""
import numpy as np
import onnx
from onnx import numpy_helper

from .tflite_file import at_one

PRODUCTS = ("QLinearConv", "QLinearMatMul", "QGemm")


class File:
    def __init__(self, file):
        self.model = onnx.load(file)
        self.graph = self.model.graph
        self.held = {t.name: t for t in self.graph.initializer}

    def numbers(self, name):
        return numpy_helper.to_array(self.held[name])

    def hold(self, name, numbers):
        old = self.numbers(name)
        self.held[name].CopyFrom(numpy_helper.from_array(np.asarray(numbers).astype(old.dtype).reshape(old.shape), name))

    def weights(self):
        """Scale and zero point of each kernel."""
        found = [n.input[1:3] for n in self.graph.node if n.op_type == "DequantizeLinear" and n.input[0] in self.held and
                 self.held[n.input[0]].data_type != onnx.TensorProto.INT32]
        return found + [n.input[4:6] for n in self.graph.node if n.op_type in PRODUCTS]

    def biases(self):
        return [name for name in self.held if self.held[name].data_type == onnx.TensorProto.INT32 and self.numbers(name).size > 1 and
                not name.endswith("zero_point")]

    def activations(self):
        return [n.input[1:3] for n in self.graph.node if n.op_type == "QuantizeLinear"]

    def save(self, file):
        onnx.save(self.model, file)


def scale_of_weights(file, choose):
    (scale, _), by = choose.choice(file.weights()), choose.choice([2, 1.1, 0.5])
    file.hold(scale, file.numbers(scale) * np.float32(by))
    return scale, "quant_scale"


def scale_of_one_channel(file, choose):
    many = [scale for scale, _ in file.weights() if file.numbers(scale).size > 1]
    if not many:
        return None
    scale, by = choose.choice(many), choose.choice([2, 1.1, 0.5])
    file.hold(scale, at_one(file.numbers(scale), choose.randrange(file.numbers(scale).size), lambda s: s * np.float32(by)))
    return scale, "quant_scale"


def zero_of_weights(file, choose):
    zero = choose.choice(file.weights())[1]
    numbers = file.numbers(zero).astype(int)
    file.hold(zero, numbers + (3 if numbers.max() < 120 else -3))
    return zero, "quant_zero_point"


def numbers_of_bias(file, choose):
    bias, by = choose.choice(file.biases()), choose.choice([2, 3])
    file.hold(bias, file.numbers(bias) * by)
    return bias, "quant_scale"


def zero_of_activation(file, choose):
    zero = choose.choice(file.activations())[1]
    number = int(file.numbers(zero))
    file.hold(zero, number + (9 if number < 118 else -9))
    return zero, "quant_zero_point"


def scale_of_activation(file, choose):
    scale = choose.choice(file.activations())[0]
    file.hold(scale, file.numbers(scale) * np.float32(1.3))
    return scale, "quant_scale"


OF_WEIGHTS = [scale_of_weights, scale_of_one_channel, zero_of_weights, numbers_of_bias]
OF_ACTIVATIONS = [zero_of_activation, scale_of_activation]
