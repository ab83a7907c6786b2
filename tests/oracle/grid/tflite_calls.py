"""TFLite's operators in random settings: converted by TensorFlow, run by the builtin kernels.

The attributes are those of the one operator in the file, its inputs are that operator's own tensors.
"""
import warnings

import numpy as np
import tensorflow as tf
from drawing import Data, extent, first_line
from tensorflow.lite.python import schema_py_generated as schema

warnings.simplefilter("ignore")
FRAMEWORK = f"tensorflow lite {tf.__version__} (builtin kernels)"
PADDING = {0: "SAME", 1: "VALID"}
FUSED = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6", 4: "TANH", 5: "SIGN_BIT"}
WEIGHT = {"CONV_2D": "OHWI", "DEPTHWISE_CONV_2D": "1HWC", "TRANSPOSE_CONV": "OHWI", "CONV_3D": "DHWIO", "CONV_3D_TRANSPOSE": "DHWOI"}
ELEMENTS = {0: np.float32, 2: np.int32, 4: np.int64}
NAMES = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}


def snake(name):
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def operators(content):
    """Of every operator in the file: its name, its options, and its constant inputs (None where the input is not one)."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(content, 0))
    graph = model.subgraphs[0]
    for operator in graph.operators:
        code = model.operatorCodes[operator.opcodeIndex]
        options = {}
        for key, value in vars(operator.builtinOptions).items() if operator.builtinOptions else ():
            if key in ("padding", "fusedActivationFunction"):
                value = (PADDING if key == "padding" else FUSED)[value]
            if isinstance(value, (int, bool, str)) and not key.startswith("quantized"):
                options[snake(key)] = value
        constants = []
        for index in operator.inputs:
            data = model.buffers[graph.tensors[index].buffer].data if index >= 0 else None
            if data is None or not len(data):
                constants.append(None if index >= 0 else "absent")
            else:
                tensor = graph.tensors[index]
                shape = [] if tensor.shape is None else list(tensor.shape)
                constants.append(np.frombuffer(bytes(data), ELEMENTS[tensor.type]).reshape(shape))
        yield NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)], options, constants


def interpreted(content, x, resolver):
    interpreter = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def evaluate(call):
    """Fills in what only the converter knows: attributes, inputs and their layouts."""
    given = {k: v for k, (v, _) in call["inputs"].items()}
    x = given["x"]
    body = eval("lambda x: " + call["call"], {"tf": tf, **{k: v for k, v in given.items() if k != "x"}})
    try:
        function = tf.function(body, input_signature=[tf.TensorSpec(x.shape)], autograph=False)
        content = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()]).convert()
    except Exception as error:
        return {"error": first_line(error), "unconverted": True}
    found = list(operators(content))
    if len(found) != 1:
        return {"error": f"the converter writes {len(found)} operators", "unconverted": True}
    name, call["attrs"], constants = found[0]
    layouts = {"w": WEIGHT.get(name, "S"), "b": "O"}
    call["inputs"] = {key: call["inputs"]["x"] if value is None else (value, layouts.get(key, "S"))
                      for key, value in zip(call["names"], constants) if not isinstance(value, str)}
    call["operator"] = name
    kinds = tf.lite.experimental.OpResolverType
    try:
        output = interpreted(content, x, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        if name == "CONV_3D_TRANSPOSE":  # the optimised kernel is known to be wrong
            output = interpreted(content, x, kinds.BUILTIN_REF)
        return {"output": output}
    except Exception as error:  # every refusal is an answer
        return {"error": first_line(error)}


def image(s, data, channels, distinct=False):
    return (data.distinct if distinct else data.integers)([1, *s["n"], channels]), "NHWC" if len(s["n"]) == 2 else "NDHWC"


def called(s, text, op, inputs, names=("x",)):
    return {"call": text, "op": op, "rank": len(s["n"]), "attrs": {}, "inputs": inputs, "names": names,
            "layout": "NHWC" if len(s["n"]) == 2 else "NDHWC", "layouts": {}}


def draw_conv(d):
    kernel, dilations = d.per_axis(2, 1, 5), d.per_axis(2, 1, 3) if d.chance(0.35) else [1, 1]
    depthwise = d.chance(0.45)
    strides = [1, 1] if max(dilations) > 1 else [d.between(1, 3)] * 2 if depthwise else d.per_axis(2, 1, 3)
    return {"n": d.sizes(extent(kernel, dilations), 0, 4), "depthwise": depthwise, "channels": d.between(1, 3),
            "out": d.between(1, 4), "kernel": kernel, "strides": strides, "padding": d.pick("SAME", "SAME", "VALID"),
            "dilations": dilations}


def make_conv(s):
    data, out = Data(s), s["out"] * (s["channels"] if s["depthwise"] else 1)
    inputs = {"x": image(s, data, s["channels"]),
              "w": (data.integers([*s["kernel"], s["channels"], s["out"]], -4, 4), "HWIO"), "b": (data.integers([out]), "O")}
    strides = [1, *s["strides"], 1] if s["depthwise"] else s["strides"]
    name = "depthwise_conv2d" if s["depthwise"] else "conv2d"
    text = f"tf.nn.bias_add(tf.nn.{name}(x, w, {strides}, {s['padding']!r}, dilations={s['dilations']}), b)"
    return called(s, text, "depthwise_conv" if s["depthwise"] else "conv", inputs, ("x", "w", "b"))


def draw_transposed(d):
    rank = d.pick(2, 2, 3)
    kernel, strides = d.per_axis(rank, 1, 5 if rank == 2 else 3), d.per_axis(rank, 1, 3)
    n, padding = d.per_axis(rank, 2, 5), d.pick("SAME", "SAME", "VALID")
    size = [d.between((m - 1) * s + 1, m * s) if padding == "SAME" else (m - 1) * s + k + d.between(0, s - 1)
            for m, s, k in zip(n, strides, kernel)]
    return {"n": n, "channels": d.between(1, 2), "out": d.between(1, 3), "kernel": kernel, "strides": strides,
            "padding": padding, "size": size}


def make_transposed(s):
    data, rank = Data(s), len(s["n"])
    inputs = {"x": image(s, data, s["channels"]),
              "w": (data.integers([*s["kernel"], s["out"], s["channels"]], -4, 4), "HWOI")}
    for m, t, k, o in zip(s["n"], s["strides"], s["kernel"], s["size"]):
        low = (m - 1) * t + (1 if s["padding"] == "SAME" else k)
        if not low <= o <= (m * t if s["padding"] == "SAME" else low + t - 1):
            raise ValueError("TFLite does not check the size of a transposed convolution")
    text = f"tf.nn.conv{rank}d_transpose(x, w, {[1, *s['size'], s['out']]}, {s['strides']}, {s['padding']!r})"
    return called(s, text, "conv_transpose", inputs, ("output_shape", "w", "x", "b"))


def draw_conv_3d(d):
    kernel = d.per_axis(3, 1, 3)
    return {"n": d.sizes(kernel, 0, 3), "channels": d.between(1, 2), "out": d.between(1, 3), "kernel": kernel,
            "strides": d.per_axis(3, 1, 3), "padding": d.pick("SAME", "VALID")}


def make_conv_3d(s):
    data = Data(s)
    inputs = {"x": image(s, data, s["channels"]),
              "w": (data.integers([*s["kernel"], s["channels"], s["out"]], -4, 4), "DHWIO")}
    return called(s, f"tf.nn.conv3d(x, w, {[1, *s['strides'], 1]}, {s['padding']!r})", "conv", inputs, ("x", "w", "b"))


def draw_pool(d):
    kernel = d.per_axis(2, 1, 5)
    return {"pool": d.pick("max", "avg"), "n": d.sizes(kernel, 0, 5), "kernel": kernel, "strides": d.per_axis(2, 1, 4),
            "padding": d.pick("SAME", "SAME", "VALID")}


def make_pool(s):
    return called(s, f"tf.nn.{s['pool']}_pool2d(x, {s['kernel']}, {s['strides']}, {s['padding']!r})", s["pool"] + "_pool",
                  {"x": image(s, Data(s), 2, s["pool"] == "max")})


def draw_pad(d):
    mode = d.pick("CONSTANT", "CONSTANT", "REFLECT", "SYMMETRIC")
    return {"n": d.per_axis(2, 3, 6), "mode": mode, "before": [d.between(0, 2), d.between(0, 2)],
            "after": [d.between(0, 2), d.between(0, 2)], "value": d.pick(0, 0, 5) if mode == "CONSTANT" else 0}


def make_pad(s):
    pairs = [[0, 0], *([b, e] for b, e in zip(s["before"], s["after"])), [0, 0]]
    return called(s, f"tf.pad(x, {pairs}, {s['mode']!r}, {s['value']}.0)", "pad", {"x": image(s, Data(s), 2)},
                  ("x", "paddings", "value"))


def draw_resize(d):
    corners = d.chance(0.35)
    return {"n": d.per_axis(2, 1, 7), "size": d.per_axis(2, 1, 8), "method": d.pick("bilinear", "nearest_neighbor"),
            "corners": corners, "half": not corners and d.chance(0.6)}


def make_resize(s):
    text = (f"tf.compat.v1.image.resize_{s['method']}(x, {s['size']}, align_corners={s['corners']}, "
            f"half_pixel_centers={s['half']})")
    return called(s, text, "resize", {"x": image(s, Data(s), 2)}, ("x", "size"))


def draw_blocks(d):
    return {"to_space": d.chance(0.5), "block": d.pick(2, 3), "channels": d.between(1, 3), "n": [d.between(1, 3), d.between(1, 4)]}


def make_blocks(s):
    b = s["block"]
    sized = s if s["to_space"] else s | {"n": [m * b for m in s["n"]]}
    name = "depth_to_space" if s["to_space"] else "space_to_depth"
    return called(s, f"tf.nn.{name}(x, {b})", name, {"x": image(sized, Data(s), s["channels"] * (b * b if s["to_space"] else 1), True)})


# kind: how often, draw, make
KINDS = {"conv": (6, draw_conv, make_conv), "conv_transpose": (3, draw_transposed, make_transposed),
         "conv_3d": (1, draw_conv_3d, make_conv_3d), "pool": (4, draw_pool, make_pool), "pad": (2, draw_pad, make_pad),
         "resize": (3, draw_resize, make_resize), "blocks": (1, draw_blocks, make_blocks)}
# What is tried first when a disagreement is made smaller.
SIMPLEST = {"conv": {"padding": "VALID"}, "conv_transpose": {"padding": "VALID"}, "conv_3d": {"padding": "VALID"},
            "pool": {"padding": "VALID"}, "pad": {"value": 0}, "resize": {"corners": False, "half": False}}
