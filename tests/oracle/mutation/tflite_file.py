"""A quantised TFLite file as the objects of its schema, and mistakes of its scales, zero points and axes."""
import numpy as np


class Flat:
    """A TFLite file as the objects of its schema."""

    def __init__(self, file):
        from tensorflow.lite.python import schema_py_generated as schema

        self.schema, self.model = schema, schema.ModelT.InitFromPackedBuf(bytearray(file.read_bytes()), 0)
        self.graph = self.model.subgraphs[0]
        self.tensors, self.operators = self.graph.tensors, self.graph.operators

    def activations(self):
        """Those of int8 that an operator other than QUANTIZE makes, and the output's is not."""
        held = [t for op in self.operators for t in op.outputs if self.tensors[t].type == self.schema.TensorType.INT8]
        return [self.tensors[t] for t in held if t not in self.graph.outputs]

    def weights(self):
        return [t for t in self.tensors if t.type == self.schema.TensorType.INT8 and t.quantization is not None and
                self.model.buffers[t.buffer].data is not None and t.shape is not None and len(t.shape) > 1]

    def biases(self):
        return [t for t in self.tensors if t.type == self.schema.TensorType.INT32 and t.quantization is not None and
                t.quantization.scale is not None and self.model.buffers[t.buffer].data is not None]

    def numbers(self, tensor, dtype="i1"):
        return np.frombuffer(bytes(self.model.buffers[tensor.buffer].data), dtype).reshape(tensor.shape)

    def hold(self, tensor, numbers, dtype="i1"):
        self.model.buffers[tensor.buffer].data = np.frombuffer(numbers.astype(dtype).tobytes(), "u1")

    def save(self, file):
        import flatbuffers

        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        file.write_bytes(builder.Output())


def free_steps(flat):
    """Kernels of tanh have steps of their own, and a reshape those of its input, whatever the file says."""
    return [t for t in flat.activations() if b"Tanh" not in t.name and b"Reshape" not in t.name]


def at_one(numbers, channel, change):
    return np.where(np.arange(numbers.size) == channel, change(numbers), numbers)


def scale_of_weights(flat, choose):
    one, by = choose.choice(flat.weights()), choose.choice([2, 1.1, 0.5])
    one.quantization.scale = (np.array(one.quantization.scale, "f4") * np.float32(by)).astype("f4")
    return one.name.decode(), "quant_scale"


def scale_of_one_channel(flat, choose):
    many = [t for t in flat.weights() if len(t.quantization.scale) > 1]
    if not many:
        return None
    one, by = choose.choice(many), choose.choice([2, 1.1, 0.5])
    scales = np.array(one.quantization.scale, "f4")
    one.quantization.scale = at_one(scales, choose.randrange(scales.size), lambda s: s * np.float32(by)).astype("f4")
    return one.name.decode(), "quant_scale"


def axis_of_weights(flat, choose):
    """The scales along another axis of as many places."""
    fits = [(t, i) for t in flat.weights() if len(t.quantization.scale) > 1 for i, n in enumerate(t.shape)
            if n == len(t.quantization.scale) and i != t.quantization.quantizedDimension]
    if not fits:
        return None
    one, axis = choose.choice(fits)
    numbers, scales = flat.numbers(one).astype("f8"), np.array(one.quantization.scale)
    own = one.quantization.quantizedDimension
    along = [scales.reshape([-1 if i == a else 1 for i in range(numbers.ndim)]) for a in (axis, own)]
    flat.hold(one, np.clip(np.round(numbers * along[0] / along[1]), -127, 127))
    return one.name.decode(), "weights_differ"


def numbers_of_bias(flat, choose):
    told = [t for t in flat.biases() if flat.numbers(t, "i4").any()]
    if not told:
        return None
    one, by = choose.choice(told), choose.choice([2, 3])
    flat.hold(one, flat.numbers(one, "i4") * by, "i4")
    return one.name.decode(), "quant_scale"


def zero_of_activation(flat, choose):
    one = choose.choice(free_steps(flat))
    zero = np.array(one.quantization.zeroPoint)
    one.quantization.zeroPoint = zero + np.where(zero < 0, 6, -6)
    return one.name.decode(), "quant_zero_point"


def scale_of_activation(flat, choose):
    one = choose.choice(free_steps(flat))
    one.quantization.scale = (np.array(one.quantization.scale, "f4") * np.float32(1.3)).astype("f4")
    return one.name.decode(), "quant_scale"


OF_WEIGHTS = [scale_of_weights, scale_of_one_channel, axis_of_weights, numbers_of_bias]  # told beside the float model as well
OF_ACTIVATIONS = [zero_of_activation, scale_of_activation]
