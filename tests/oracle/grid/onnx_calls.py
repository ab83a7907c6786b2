"""ONNX nodes in random settings: one node per model, what ONNX Runtime answers."""
import numpy as np
import onnx
import onnxruntime
from drawing import FIRST, Data, extent, first_line

onnxruntime.set_default_logger_severity(4)
FRAMEWORK = f"onnxruntime {onnxruntime.__version__}"
KERNEL = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
TRANSPOSED = {1: "IOW", 2: "IOHW", 3: "IODHW"}
OPTIONS = onnxruntime.SessionOptions()
OPTIONS.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
OPTIONS.intra_op_num_threads = 1


def evaluate(call):
    helper, opset = onnx.helper, call["attrs"]["opset"]
    try:
        node = eval(call["call"], {"onnx": onnx})
        values = {k: v for k, (v, _) in call["inputs"].items()}
        kinds = {k: helper.np_dtype_to_tensor_dtype(v.dtype) for k, v in values.items()}
        results = [helper.make_tensor_value_info(name, onnx.TensorProto.INT64 if name == "indices" else onnx.TensorProto.FLOAT, None)
                   for name in node.output]
        graph = helper.make_graph([node], "one", [helper.make_tensor_value_info(k, kinds[k], values[k].shape) for k in call["graph_inputs"]],
                                  results, [onnx.numpy_helper.from_array(v, k) for k, v in values.items() if k not in call["graph_inputs"]])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 22 else 10)
        session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, ["CPUExecutionProvider"])
        return dict(zip(("output", "indices"), session.run(None, {k: values[k] for k in call["graph_inputs"]})))
    except Exception as error:  # every refusal is an answer
        return {"error": first_line(error)}


def called(name, op, opset, attributes, inputs, layout, order=None, graph_inputs=("x",), indices=False):
    said = "".join(f", {k}={v!r}" for k, v in attributes.items())
    outputs = ["y", "indices"] if indices else ["y"]
    return {"call": f"onnx.helper.make_node({name!r}, {order or list(inputs)!r}, {outputs!r}{said})", "op": op,
            "rank": len(layout) - 2, "attrs": {"opset": opset, **attributes}, "inputs": inputs, "layout": layout,
            "layouts": {}, "graph_inputs": graph_inputs}


def draw_conv(d):
    rank = d.pick(1, 2, 2, 3)
    kernel = d.per_axis(rank, 1, (6, 4, 3)[rank - 1])
    dilations = d.per_axis(rank, 1, 3) if d.chance(0.4) else [1] * rank
    mode = d.pick("pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    pads = [d.between(0, 3) for _ in range(2 * rank)] if mode == "pads" or d.chance(0.05) else None
    setting = {"n": d.sizes([e if mode in ("pads", "VALID") else max(2, e // 2) for e in extent(kernel, dilations)],
                            -1 if d.chance(0.1) else 0, (7, 5, 3)[rank - 1]),
               "opset": d.pick(8, 11, 17, 22), "groups": d.pick(1, 1, 2, 3), "inner": d.pick(1, 2), "outer": d.pick(1, 2),
               "kernel": kernel, "says_kernel": d.chance(0.6), "strides": d.per_axis(rank, 1, (4, 4, 3)[rank - 1]),
               "dilations": dilations, "auto_pad": None if mode == "pads" else mode, "pads": pads}
    return d.mischief(setting, "strides", "dilations", "pads")


def windowed(s, kernel_key=True):
    attributes = {"kernel_shape": s["kernel"]} if kernel_key else {}
    attributes["strides"] = s["strides"]
    if max(s["dilations"]) != 1 or min(s["dilations"]) != 1:
        attributes["dilations"] = s["dilations"]
    if s["auto_pad"]:
        attributes["auto_pad"] = s["auto_pad"]
    if s["pads"] is not None:
        attributes["pads"] = s["pads"]
    if s.get("groups", 1) > 1:
        attributes["group"] = s["groups"]
    return attributes


def make_conv(s):
    rank, data, channels, out = len(s["n"]), Data(s), s["groups"] * s["inner"], s["groups"] * s["outer"]
    inputs = {"x": (data.integers([1, channels, *s["n"]]), FIRST[rank]),
              "w": (data.integers([out, s["inner"], *s["kernel"]], -4, 4), KERNEL[rank]), "b": (data.integers([out]), "O")}
    return called("Conv", "conv", s["opset"], windowed(s, s["says_kernel"]), inputs, FIRST[rank])


def draw_transposed(d):
    rank = d.pick(1, 2, 2, 3)
    kernel, strides = d.per_axis(rank, 1, (6, 5, 3)[rank - 1]), d.per_axis(rank, 1, (4, 4, 3)[rank - 1])
    dilations = d.per_axis(rank, 1, 3) if d.chance(0.3) else [1] * rank
    n, reach = d.per_axis(rank, 2, (6, 5, 3)[rank - 1]), extent(kernel, dilations)
    mode = d.pick("pads", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    pads = [d.between(0, 2) for _ in range(2 * rank)] if mode == "pads" else None
    extra = [d.between(0, max(s, g) - 1) for s, g in zip(strides, dilations)] if d.chance(0.5) else None
    size = None
    if mode != "pads" and d.chance(0.6):
        size = [(m - 1) * s + e + d.between(-min(3, e - 1), s - 1) for m, s, e in zip(n, strides, reach)]
    setting = {"n": n, "opset": d.pick(8, 11, 17, 22), "groups": d.pick(1, 1, 2, 3), "inner": d.pick(1, 2),
               "outer": d.pick(1, 2), "kernel": kernel, "strides": strides, "dilations": dilations,
               "auto_pad": None if mode == "pads" else mode, "pads": pads, "extra": extra, "size": size}
    return d.mischief(setting, "strides", "dilations", "pads", "extra")


def make_transposed(s):
    rank, data, channels, out = len(s["n"]), Data(s), s["groups"] * s["inner"], s["groups"] * s["outer"]
    attributes = windowed(s, False)
    if s["extra"] is not None:
        attributes["output_padding"] = s["extra"]
    if s["size"] is not None:
        attributes["output_shape"] = s["size"]
    inputs = {"x": (data.integers([1, channels, *s["n"]]), FIRST[rank]),
              "w": (data.integers([channels, s["outer"], *s["kernel"]], -4, 4), TRANSPOSED[rank]),
              "b": (data.integers([out], 10, 99), "O")}
    return called("ConvTranspose", "conv_transpose", s["opset"], attributes, inputs, FIRST[rank])


def draw_pool(d):
    rank, name = d.pick(1, 2, 2, 3), d.pick("MaxPool", "AveragePool", "MaxPool", "AveragePool", "LpPool")
    if name == "LpPool":
        rank = d.pick(1, 2)
    kernel = d.per_axis(rank, 1, (5, 4, 3)[rank - 1])
    opset = d.pick(8, 10, 11, 17, 19, 22) if name != "LpPool" else d.pick(11, 18, 22)
    dilated = opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[name]
    dilations = d.per_axis(rank, 1, 3) if dilated and d.chance(0.35) else [1] * rank
    mode = d.pick("pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID")
    setting = {"name": name, "n": d.sizes(extent(kernel, dilations), -1 if d.chance(0.1) else 0, (7, 5, 3)[rank - 1]),
               "opset": opset, "kernel": kernel, "strides": d.per_axis(rank, 1, (4, 4, 3)[rank - 1]), "dilations": dilations,
               "auto_pad": None if mode == "pads" else mode,
               "pads": [d.between(0, kernel[i % rank] - 1) for i in range(2 * rank)] if mode == "pads" else None,
               "ceil": opset >= (18 if name == "LpPool" else 10) and d.chance(0.5), "include": name == "AveragePool" and d.chance(0.5),
               "indices": name == "MaxPool" and d.chance(0.5), "order": d.pick(0, 0, 1), "p": d.pick(1, 2, 3)}
    return d.mischief(setting, "strides", "dilations", "pads", share=0.02)


def make_pool(s):
    rank, data, name = len(s["n"]), Data(s), s["name"]
    attributes = windowed(s)
    if s["ceil"]:
        attributes["ceil_mode"] = 1
    if s["include"]:
        attributes["count_include_pad"] = 1
    if name == "LpPool":
        attributes["p"] = s["p"]
    if s["indices"] and s["order"]:
        attributes["storage_order"] = 1
    values = (data.distinct if name == "MaxPool" else data.integers)([2 if s["indices"] and rank == 1 else 1, 2, *s["n"]])
    op = {"MaxPool": "max_pool", "AveragePool": "avg_pool", "LpPool": "lp_pool"}[name]
    return called(name, op, s["opset"], attributes, {"x": (values, FIRST[rank])}, FIRST[rank], indices=s["indices"])


def draw_global(d):
    return {"name": d.pick("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), "n": d.per_axis(d.pick(1, 2, 3), 1, 6),
            "p": d.pick(1, 2, 3)}


def make_global(s):
    op = {"GlobalAveragePool": "global_avg_pool", "GlobalMaxPool": "global_max_pool", "GlobalLpPool": "global_lp_pool"}[s["name"]]
    rank = len(s["n"])
    return called(s["name"], op, 17, {"p": s["p"]} if "Lp" in s["name"] else {},
                  {"x": (Data(s).integers([2, 3, *s["n"]]), FIRST[rank])}, FIRST[rank])


def draw_pad(d):
    rank, mode = d.pick(1, 2, 2, 3), d.pick("constant", "reflect", "edge", "wrap")
    n, opset = d.per_axis(rank, 2, 5), d.pick(19, 21) if mode == "wrap" else d.pick(8, 11, 17, 18, 21)
    low = -1 if d.chance(0.2) else 0
    return {"n": n, "mode": mode, "opset": opset, "before": [d.between(low, 3) for _ in n], "after": [d.between(low, 3) for _ in n],
            "axes": d.pick("none", "positive", "negative") if opset >= 18 else "none",
            "value": d.pick(None, 5, -2) if mode == "constant" else None}


def make_pad(s):
    rank, data = len(s["n"]), Data(s)
    inputs, attributes, order = {"x": (data.integers([1, 2, *s["n"]]), FIRST[rank])}, {"mode": s["mode"]}, ["x"]
    pads = s["before"] + s["after"] if s["axes"] != "none" else [0, 0, *s["before"], 0, 0, *s["after"]]
    if s["opset"] < 11:
        attributes["pads"] = pads
        attributes |= {"value": float(s["value"])} if s["value"] is not None else {}
        return called("Pad", "pad", s["opset"], attributes, inputs, FIRST[rank])
    inputs["pads"] = (np.array(pads, dtype=np.int64), "S")
    order.append("pads")
    if s["value"] is not None:
        inputs["value"] = (np.array(s["value"], dtype=np.float32), "")
        order.append("value")
    if s["axes"] != "none":
        axes = list(range(2, rank + 2)) if s["axes"] == "positive" else list(range(-rank, 0))
        inputs["axes"] = (np.array(axes, dtype=np.int64), "S")
        order += ["", "axes"] if s["value"] is None else ["axes"]
    return called("Pad", "pad", s["opset"], attributes, inputs, FIRST[rank], order)


TRANSFORMS = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")


def draw_resize(d):
    rank = d.pick(1, 2, 2, 2, 3)
    mode = d.pick("nearest", "linear", "cubic") if rank == 2 else d.pick("nearest", "linear")
    opset = d.pick(10, 11, 13, 18, 19) if mode != "cubic" else d.pick(11, 13, 18, 19)
    n = d.per_axis(rank, 1, (9, 6, 4)[rank - 1])
    setting = {"n": n, "opset": opset, "mode": mode, "scales": None, "size": d.per_axis(rank, 1, (12, 8, 5)[rank - 1]),
               "transform": d.pick(*TRANSFORMS[: 5 if opset >= 19 else 4]), "a": d.pick(-0.75, -0.5), "outside": d.pick(0, 1),
               "rounding": d.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")}
    if opset == 10 or d.chance(0.5):
        setting |= {"size": None, "scales": [d.pick(0.5, 0.6, 0.75, 1.0, 1.25, 1.5, 1.7, 2.0, 2.5, 3.0) for _ in n]}
    return setting


def make_resize(s):
    rank, data = len(s["n"]), Data(s)
    if s["scales"] and min(int(m * f) for m, f in zip(s["n"], s["scales"])) < 1:
        raise ValueError("nothing is left")
    inputs, empty = {"x": (data.integers([1, 2, *s["n"]]), FIRST[rank])}, (np.zeros(0, dtype=np.float32), "S")
    if s["scales"]:
        inputs["scales"] = (np.array([1, 1, *s["scales"]], dtype=np.float32), "S")
    else:
        inputs["sizes"] = (np.array([1, 2, *s["size"]], dtype=np.int64), "S")
    if s["opset"] == 10:
        return called("Resize", "resize", 10, {"mode": s["mode"]}, inputs, FIRST[rank], ["x", "scales"])
    order = ["x", ""] + (["scales"] if s["scales"] else ["", "sizes"])
    if s["opset"] == 11:  # no input was optional yet
        inputs["roi"], order[1] = empty, "roi"
        if not s["scales"]:
            inputs["scales"], order[2] = empty, "scales"
    attributes = {"mode": s["mode"], "coordinate_transformation_mode": s["transform"]}
    if s["mode"] == "nearest":
        attributes["nearest_mode"] = s["rounding"]
    if s["mode"] == "cubic":
        attributes |= {"cubic_coeff_a": s["a"], "exclude_outside": s["outside"]}
    return called("Resize", "resize", s["opset"], attributes, inputs, FIRST[rank], order)


def draw_blocks(d):
    to_space = d.chance(0.6)
    return {"to_space": to_space, "block": d.pick(2, 3), "channels": d.between(1, 3), "n": [d.between(1, 4), d.between(1, 4)],
            "mode": d.pick("DCR", "CRD", None) if to_space else None, "more": d.pick(0, 0, 0, 0, 1)}


def make_blocks(s):
    b, data = s["block"], Data(s)
    if s["to_space"]:
        x = data.distinct([1, s["channels"] * b * b + s["more"], *s["n"]])
        attributes = {"blocksize": b} | ({"mode": s["mode"]} if s["mode"] else {})
        return called("DepthToSpace", "depth_to_space", 13 if s["mode"] else 8, attributes, {"x": (x, "NCHW")}, "NCHW")
    x = data.distinct([1, s["channels"], *(m * b + s["more"] for m in s["n"])])
    return called("SpaceToDepth", "space_to_depth", 13, {"blocksize": b}, {"x": (x, "NCHW")}, "NCHW")


# kind: how often, draw, make
KINDS = {"conv": (5, draw_conv, make_conv), "conv_transpose": (6, draw_transposed, make_transposed),
         "pool": (7, draw_pool, make_pool), "global_pool": (1, draw_global, make_global), "pad": (3, draw_pad, make_pad),
         "resize": (4, draw_resize, make_resize), "blocks": (1, draw_blocks, make_blocks)}
# What is tried first when a disagreement is made smaller.
SIMPLEST = {"conv": {"opset": 22, "pads": None, "auto_pad": None, "says_kernel": True},
            "conv_transpose": {"opset": 22, "pads": None, "auto_pad": None, "size": None, "extra": None},
            "pool": {"opset": 22, "pads": None, "auto_pad": None, "ceil": False, "indices": False, "include": False},
            "pad": {"opset": 21, "axes": "none", "value": None}, "blocks": {"more": 0}, "resize": {"opset": 19}}
