"""Every default of the frameworks' functions, as the frameworks themselves state it: what is left out of a call answers as what is
written out."""
import functools
import inspect
import re

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
import torch

X = np.random.default_rng(3)


def some(*shape):
    return X.uniform(-1, 1, shape).astype("float32")


def rank_of(name, usual=2):
    return next((int(digit) for digit in name if digit in "123"), usual)


def stated(signature):
    return {name: one.default for name, one in signature.parameters.items()}


def of_torch(name):
    """Name and default of each parameter; of what is written in C++, from the schema of its operator."""
    function = getattr(torch.nn.functional, name, None) or getattr(torch, name, None)
    try:
        return stated(inspect.signature(function))
    except (TypeError, ValueError):
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        return {"input" if one.name == "self" else one.name: one.default_value if one.has_default_value() else inspect.Parameter.empty
                for one in (schemas[0].arguments if schemas else ())} or {"input": inspect.Parameter.empty}  # fmt: skip


def torch_call(name):
    n, kernel = (6,) * rank_of(name), (3,) * rank_of(name)
    known = {"input": some(2, 4, *n), "weight": some(4, 4, *kernel), "kernel_size": 2, "output_size": 2, "norm_type": 2.0, "pad": (1, 1), "upscale_factor": 2,
             "downscale_factor": 2, "num_groups": 2, "normalized_shape": (6,), "running_mean": some(4), "running_var": abs(some(4)) + 0.5, "size": 3,
             "target": some(2, 4, *n), "x1": some(2, 4), "x2": some(2, 4), "dim": 1, "threshold": 0.1, "value": 0.3, "groups": 2, "grid": some(2, 5, 5, 2)}  # fmt: skip
    special = {"prelu": {"weight": some(4)}, "linear": {"weight": some(5, 6)}, "pdist": {"input": some(5, 4)}, "interpolate": {"scale_factor": 2},
               "upsample": {"scale_factor": 2}, "fold": {"input": some(2, 16, 9), "output_size": (6, 6), "stride": 2}}  # fmt: skip
    defaults = of_torch(name)
    required = {one: known[one] for one, default in defaults.items() if default is inspect.Parameter.empty and one in known} | special.get(name, {})
    if "max_pool" in name:
        required = {"input": known["input"], **({"output_size": 2} if "adaptive" in name else {"kernel_size": 2})}
    if "max_unpool" in name:
        places = np.arange(kernel[0] ** len(kernel)).reshape(1, 1, *kernel).repeat(2, 0).repeat(4, 1)
        required = {"input": some(2, 4, *kernel), "indices": places, "kernel_size": 2}
    return required, defaults


LAYERS = {re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\dD)(?=[A-Z])", "_", name.replace("ReLU", "Relu").replace("ELU", "Elu")).lower(): name
          for name in dir(keras.layers) if name[0].isupper()}  # fmt: skip


def keras_call(name):
    rank = rank_of(name)
    n, kernel, one = (6,) * rank, (3,) * rank, (1,) * rank
    required = {"x": some(2, *n, 4)}
    if name.startswith("separable"):
        required |= {"depthwise_kernel": some(*kernel, 4, 1), "pointwise_kernel": some(*one, 4, 5), "bias": some(5)}
    elif "conv" in name:
        ends, bias = ((4, 1), 4) if "depthwise" in name else ((5, 4) if "transpose" in name else (4, 5), 5)
        required |= {"kernel": some(*kernel, *ends), "bias": some(bias)}
    scaled = {"gamma": some(4), "beta": some(4)}
    required |= {"dense": {"kernel": some(4, 5)}, "batch_normalization": {"moving_mean": some(4), "moving_variance": abs(some(4)) + 0.5, **scaled},
                 "layer_normalization": scaled, "group_normalization": {"groups": 2, **scaled}, "prelu": {"alpha": some(6, 6, 4)},
                 "activation": {"activation": "relu"}, "reshape": {"target_shape": (36, 4)}, "permute": {"dims": (2, 1, 3)},
                 "repeat_vector": {"x": some(2, 4), "n": 3}, "resizing": {"height": 5, "width": 4}, "rescaling": {"scale": 0.5},
                 "center_crop": {"height": 4, "width": 3}}.get(name, {})  # fmt: skip
    if "adaptive" in name:
        required["output_size"] = 2
    return required, stated(inspect.signature(getattr(keras.layers, LAYERS[name])))


def tf_call(name):
    rank = 2 if "compat.v1" in name else rank_of(name)
    x, n = some(2, *(6,) * rank, 4), (8,) * rank
    defaults = stated(inspect.signature(functools.reduce(getattr, name.split("."), tf)))
    known = dict.fromkeys(("input", "features", "x", "value", "logits", "images", "tensor"), x) | {
        "filters": some(*(3,) * rank, *((5, 4) if "transpose" in name else (4, 5))), "filter": some(3, 3, 4, 1), "depthwise_filter": some(3, 3, 4, 1),
        "pointwise_filter": some(1, 1, 4, 5), "stride": 1, "strides": [1] * 4 if re.search("depthwise|separable", name) else 1, "padding": "VALID", "ksize": 2,
        "window_shape": [2, 2], "pooling_type": "MAX", "rate": 2, "size": [5, 4], "paddings": [[0, 0], [1, 1], [1, 1], [0, 0]], "block_size": 2,
        "block_shape": [2, 2], "crops": [[0, 0]] * 2, "scale": some(4), "offset": some(4), "mean": some(4), "variance": abs(some(4)) + 0.5, "bias": some(4),
        "variance_epsilon": 1e-3, "output_shape": [2, *n, 5]}  # fmt: skip
    special = {"compat.v1.nn.fused_batch_norm": {"mean": known["mean"], "variance": known["variance"], "is_training": False},
               "compat.v1.space_to_batch": {"block_size": 2}, "compat.v1.batch_to_space": {"block_size": 2}}.get(name, {})  # fmt: skip
    if "space_to_batch" in name:
        special["paddings"] = [[0, 0]] * 2
    if "batch_to_space" in name:
        special["input"] = some(8, 3, 3, 2)
    if "transpose" in name:
        special |= {"output_shape": [2, 10, 10, 5]} if "atrous" in name else {"padding": "SAME", "output_shape": [2, *(6,) * rank, 5]}
    if "raw_ops" in name:
        special = {"input_sizes": [2, 6, 6, 4], "filter": some(3, 3, 4, 5), "out_backprop": some(2, 4, 4, 5), "strides": [1] * 4}
    return {one: known[one] for one, default in defaults.items() if default is inspect.Parameter.empty and one in known} | special, defaults


def onnx_call(name):
    try:
        schema = onnx.defs.get_schema(name, 22)
    except onnx.defs.SchemaError:  # newer
        schema = onnx.defs.get_schema(name)
    defaults = {one: onnx.helper.get_attribute_value(told.default_value) for one, told in schema.attributes.items() if told.default_value.type}
    x, axes = some(2, 4, 6, 6), {"axes": np.array([0])}
    special = {"Conv": {"W": some(4, 4, 3, 3)}, "ConvTranspose": {"W": some(4, 4, 3, 3)}, "BatchNormalization": {"scale": some(4), "B": some(4), "input_mean": some(4), "input_var": abs(some(4))},
               "InstanceNormalization": {"scale": some(4), "B": some(4)}, "LayerNormalization": {"Scale": some(6)}, "RMSNormalization": {"scale": some(6)},
               "GroupNormalization": {"scale": some(4), "bias": some(4), "num_groups": 2}, "LRN": {"size": 3}, "DepthToSpace": {"blocksize": 2},
               "SpaceToDepth": {"blocksize": 2}, "Pad": {"pads": np.array([0] * 6 + [1, 1])}, "Resize": {"scales": np.array([1, 1, 2, 2], "float32")},
               "Gemm": {"A": some(3, 4), "B": some(4, 2), "C": some(2)}, "GridSample": {"grid": some(2, 5, 5, 2)}, "Reshape": {"shape": np.array([2, -1])},
               "Unsqueeze": axes, "Concat": {"axis": 1}, "Cast": {"to": 7}, "TopK": {"K": np.array([2])}, "CumSum": {"axis": np.array(1)}, "CumProd": {"axis": np.array(1)},
               "GatherND": {"indices": np.array([[0, 1]])}, "ScatterND": {"indices": np.array([[0]]), "updates": some(1, 4, 6, 6)}, "OneHot": {"indices": np.array([1, 0]), "depth": np.array(3), "values": some(2)},
               "LSTM": {"X": some(5, 2, 4), "W": some(1, 12, 4), "R": some(1, 12, 3), "hidden_size": 3}, "GRU": {"X": some(5, 2, 4), "W": some(1, 9, 4), "R": some(1, 9, 3), "hidden_size": 3},
               "RNN": {"X": some(5, 2, 4), "W": some(1, 3, 4), "R": some(1, 3, 3), "hidden_size": 3}, "AffineGrid": {"theta": some(2, 2, 3), "size": np.array([2, 3, 4, 5])},
               "Col2Im": {"input": some(1, 8, 9), "image_shape": np.array([4, 4]), "block_shape": np.array([2, 2])}, "ReverseSequence": {"sequence_lens": np.array([1, 2, 3, 2])},
               "HannWindow": {"size": np.array(10)}, "HammingWindow": {"size": np.array(10)}, "BlackmanWindow": {"size": np.array(10)},
               "NegativeLogLikelihoodLoss": {"input": some(3, 4), "target": np.array([0, 3, 1])}, "SoftmaxCrossEntropyLoss": {"scores": some(3, 4), "labels": np.array([0, 3, 1])}}  # fmt: skip
    if name == "RNN":
        del defaults["activations"]  # those of two directions
    required = dict(special.get(name, {}), **({"kernel_shape": [2, 2]} if name in ("MaxPool", "AveragePool", "LpPool") else {}))
    for one in schema.inputs[: schema.min_input]:
        value = x > 0 if name in ("And", "Or", "Xor", "Not") else x
        required.setdefault(one.name, [value, value] if one.option == onnx.defs.OpSchema.FormalParameterOption.Variadic else value)
    return required, {one: words(value) for one, value in defaults.items()}


def words(value):
    return [words(one) for one in value] if isinstance(value, list) else value.decode() if isinstance(value, bytes) else value


def same(a, b):
    return len(a) == len(b) and all(x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(a, b))


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("framework, call, least", [("torch", torch_call, 95), ("keras", keras_call, 130), ("tf", tf_call, 55), ("onnx", onnx_call, 140)])
def test_what_is_left_out_is_what_the_framework_says(python_module, framework, call, least):
    convoy, others, uncalled, compared = python_module, [], [], 0
    for name, _ in convoy._convoy.functions_of(framework):
        if framework == "torch" and name[0].isupper():
            continue  # layers, which are no functions
        required, defaults = call(name)
        function = functools.reduce(getattr, name.split("."), getattr(convoy, framework))
        try:
            usual = as_tuple(function(**required))
        except convoy.Error as error:
            uncalled.append(f"{name}: {error}")
            continue
        for one, default in defaults.items():
            if one in required or default is None or default is inspect.Parameter.empty or isinstance(default, tf.DType):
                continue
            compared += 1
            if not same(usual, as_tuple(function(**required, **{one: default}))):
                others.append(f"{name}({one}={default!r})")
    assert not others
    assert compared >= least, f"{compared} were compared; not called: {uncalled}"
