"""TensorFlow's own operators in random settings."""
import numpy as np
import tensorflow as tf
from drawing import FIRST, LAST, SPACE, Data, extent, first_line
from keras_calls import ONLY_HERE

FRAMEWORK = "tensorflow " + tf.__version__


def evaluate(call):
    names = {k: tf.constant(v) for k, (v, _) in call["inputs"].items()}

    def function():
        return eval(call["call"], {"tf": tf, **names})

    try:
        try:
            result, more = function(), {}
        except Exception as error:
            if not any(words in str(error) for words in ONLY_HERE):
                raise
            result, more = tf.function(function, jit_compile=True, autograph=False)(), {"run": "xla"}
    except Exception as error:  # every refusal is an answer
        return {"error": first_line(error)}
    if isinstance(result, tuple):
        return {"output": np.asarray(result[0]), "indices": np.asarray(result[1])} | more
    return {"output": np.asarray(result)} | more


def laid(s):
    return (FIRST if s.get("first") else LAST)[len(s["n"])]


def image(s, data, channels, batch=1, distinct=False):
    shape = [batch, channels, *s["n"]] if s.get("first") else [batch, *s["n"], channels]
    return (data.distinct if distinct else data.integers)(shape), laid(s)


def called(s, text, op, attrs, inputs, layout=None):
    return {"call": text, "op": op, "rank": len(s["n"]), "attrs": attrs, "inputs": inputs, "layout": layout or laid(s),
            "layouts": {}}


def everywhere(s, padding):
    """Explicit pairs as TensorFlow wants them: for the batch and the channels as well."""
    if isinstance(padding, str):
        return padding
    pairs = [list(p) for p in padding]
    return [[0, 0], [0, 0]] + pairs if s.get("first") else [[0, 0]] + pairs + [[0, 0]]


def draw_padding(d, rank, most, explicit=True):
    word = d.pick("SAME", "SAME", "VALID", "EXPLICIT") if explicit else d.pick("SAME", "SAME", "VALID")
    return word if word != "EXPLICIT" else [[d.between(0, m), d.between(0, m)] for m in most]


def draw_conv(d):
    rank = d.pick(1, 2, 2, 3)
    kernel, strides = d.per_axis(rank, 1, (6, 4, 3)[rank - 1]), d.per_axis(rank, 1, (4, 4, 3)[rank - 1])
    dilations = d.per_axis(rank, 1, 3) if d.chance(0.4 if rank < 3 else 0.1) else [1] * rank
    if max(dilations) > 1 and d.chance(0.6):
        strides = [1] * rank
    padding = draw_padding(d, rank, [3] * rank, rank == 2 or d.chance(0.2))
    setting = {"n": d.sizes([max(e, 2) if padding == "VALID" else max(2, e // 2) for e in extent(kernel, dilations)],
                            -1 if d.chance(0.1) else 0, (7, 5, 3)[rank - 1]),
               "groups": d.pick(1, 1, 1, 1, 2), "inner": d.pick(1, 2, 3), "outer": d.pick(1, 2, 3), "kernel": kernel,
               "strides": strides, "padding": padding, "dilations": dilations, "first": d.chance(0.08) and rank < 3}
    return d.mischief(setting, "strides", "dilations")


def make_conv(s):
    rank, data = len(s["n"]), Data(s)
    channels, out = s["groups"] * s["inner"], s["groups"] * s["outer"]
    inputs = {"x": image(s, data, channels, 2 if rank == 1 else 1),
              "w": (data.integers(s["kernel"] + [s["inner"], out], -4, 4), SPACE[rank] + "IO")}
    padding, strides, dilations, where = everywhere(s, s["padding"]), s["strides"], s["dilations"], laid(s)
    if rank == 1:
        text = f"tf.nn.conv1d(x, w, stride={strides[0]}, padding={padding!r}, data_format={where!r}, dilations={dilations[0]})"
    elif rank == 2:
        text = f"tf.nn.conv2d(x, w, strides={strides}, padding={padding!r}, data_format={where!r}, dilations={dilations})"
    else:
        text = (f"tf.nn.conv3d(x, w, strides={[1, *strides, 1]}, padding={padding!r}, data_format={where!r}, "
                f"dilations={[1, *dilations, 1]})")
    return called(s, text, "conv", {"strides": strides, "padding": padding, "dilations": dilations, "data_format": where}, inputs)


def draw_depthwise(d):
    dilations = d.per_axis(2, 1, 3) if d.chance(0.4) else [1, 1]
    strides = [1, 1] if max(dilations) > 1 else [d.between(1, 3)] * 2
    kernel = d.per_axis(2, 1, 4)
    return {"n": d.sizes(extent(kernel, dilations), -1, 5), "channels": d.between(1, 3), "multiplier": d.between(1, 3),
            "kernel": kernel, "strides": strides, "padding": draw_padding(d, 2, [3, 3]), "dilations": dilations}


def make_depthwise(s):
    data, padding = Data(s), everywhere(s, s["padding"])
    inputs = {"x": image(s, data, s["channels"]),
              "w": (data.integers(s["kernel"] + [s["channels"], s["multiplier"]], -4, 4), "HWCM")}
    text = (f"tf.nn.depthwise_conv2d(x, w, strides={[1, *s['strides'], 1]}, padding={padding!r}, data_format='NHWC', "
            f"dilations={s['dilations']})")
    return called(s, text, "depthwise_conv", {"strides": s["strides"], "padding": padding, "dilations": s["dilations"],
                  "data_format": "NHWC"}, inputs)


def draw_separable(d):
    kernel, stride = d.per_axis(2, 1, 3), d.between(1, 3)
    rate = d.pick(1, 2) if stride == 1 else 1
    return {"n": d.sizes(extent(kernel, [rate, rate]), 0, 4), "channels": d.between(1, 3), "multiplier": d.between(1, 2),
            "out": d.between(1, 4), "kernel": kernel, "stride": stride, "rate": rate, "padding": d.pick("SAME", "VALID")}


def make_separable(s):
    data, stride, rate = Data(s), s["stride"], s["rate"]
    inputs = {"x": image(s, data, s["channels"]),
              "w": (data.integers(s["kernel"] + [s["channels"], s["multiplier"]], -3, 3), "HWCM"),
              "p": (data.integers([1, 1, s["channels"] * s["multiplier"], s["out"]], -3, 3), "HWIO")}
    text = (f"tf.nn.separable_conv2d(x, w, p, strides={[1, stride, stride, 1]}, padding={s['padding']!r}, "
            f"dilations={[rate, rate]})")
    return called(s, text, "separable_conv", {"strides": [stride] * 2, "padding": s["padding"], "dilations": [rate] * 2,
                  "data_format": "NHWC"}, inputs)


def draw_atrous(d):
    kernel, rate = d.per_axis(2, 1, 4), d.between(1, 3)
    return {"n": d.sizes(extent(kernel, [rate, rate]), 0, 4), "channels": d.between(1, 2), "out": d.between(1, 3),
            "kernel": kernel, "rate": rate, "padding": d.pick("SAME", "VALID"), "transposed": d.chance(0.4)}


def make_atrous(s):
    data, rate = Data(s), s["rate"]
    attrs = {"strides": [1, 1], "padding": s["padding"], "dilations": [rate, rate], "data_format": "NHWC"}
    x = image(s, data, s["channels"])
    if not s["transposed"]:
        w = data.integers(s["kernel"] + [s["channels"], s["out"]], -4, 4), "HWIO"
        return called(s, f"tf.nn.atrous_conv2d(x, w, rate={rate}, padding={s['padding']!r})", "conv", attrs, {"x": x, "w": w})
    w = data.integers(s["kernel"] + [s["out"], s["channels"]], -4, 4), "HWOI"
    size = s["n"] if s["padding"] == "SAME" else [m + e - 1 for m, e in zip(s["n"], extent(s["kernel"], [rate, rate]))]
    shape = [1, *size, s["out"]]
    text = f"tf.nn.atrous_conv2d_transpose(x, w, output_shape={shape}, rate={rate}, padding={s['padding']!r})"
    return called(s, text, "conv_transpose", {"output_shape": shape, **attrs}, {"x": x, "w": w})


def draw_transposed(d):
    rank = d.pick(1, 2, 2, 3)
    kernel, strides = d.per_axis(rank, 1, (6, 5, 3)[rank - 1]), d.per_axis(rank, 1, (4, 4, 3)[rank - 1])
    dilations = [1] * rank
    if d.chance(0.08):
        dilations, strides = d.per_axis(rank, 1, 3), [1] * rank
    n, padding = d.per_axis(rank, 1, (6, 5, 4)[rank - 1]), d.pick("SAME", "VALID", "SAME", "VALID", "EXPLICIT")
    if padding == "EXPLICIT" and rank == 2 and max(dilations) == 1:
        padding = [[d.between(0, 2), d.between(0, 2)] for _ in range(2)]
    elif padding == "EXPLICIT":
        padding = "SAME"
    size = []
    for i, (m, e, s) in enumerate(zip(n, extent(kernel, dilations), strides)):
        low = (m - 1) * s + (1 if padding == "SAME" else e)
        if not isinstance(padding, str):
            low -= sum(padding[i])
        size.append(d.between(low, m * s) if padding == "SAME" else d.between(low, low + s - 1))
    if d.chance(0.06):  # a size that does not map back
        size[-1] += d.pick(-1, 1) * strides[-1]
    return {"n": n, "channels": d.between(1, 3), "out": d.between(1, 3), "kernel": kernel, "strides": strides,
            "padding": padding, "size": size, "dilations": dilations}


def make_transposed(s):
    rank, data, padding = len(s["n"]), Data(s), everywhere(s, s["padding"])
    if min(s["size"]) < 1:
        raise ValueError("nothing is left")
    shape, strides, dilations = [1, *s["size"], s["out"]], s["strides"], s["dilations"]
    inputs = {"x": image(s, data, s["channels"]),
              "w": (data.integers(s["kernel"] + [s["out"], s["channels"]], -4, 4), SPACE[rank] + "OI")}
    attrs = {"output_shape": shape, "strides": strides, "padding": padding, "dilations": dilations, "data_format": LAST[rank]}
    if isinstance(padding, str):
        text = (f"tf.nn.conv{rank}d_transpose(x, w, output_shape={shape}, strides={strides[0] if rank == 1 else strides}, "
                f"padding={padding!r}, dilations={dilations[0] if rank == 1 else dilations})")
    else:
        flat = [v for pair in padding for v in pair]
        text = (f"tf.raw_ops.Conv2DBackpropInput(input_sizes={shape}, filter=w, out_backprop=x, strides={[1, *strides, 1]}, "
                f"padding='EXPLICIT', explicit_paddings={flat}, dilations={[1, *dilations, 1]})")
    return called(s, text, "conv_transpose", attrs, inputs)


def draw_pool(d):
    rank, kind = d.pick(1, 2, 2, 3), d.pick("max", "avg")
    kernel = d.per_axis(rank, 1, (5, 4, 3)[rank - 1])
    setting = {"pool": kind, "n": d.sizes(kernel, -1 if d.chance(0.1) else 0, (7, 5, 3)[rank - 1]), "kernel": kernel,
               "strides": d.per_axis(rank, 1, 4), "first": d.chance(0.08),
               "padding": draw_padding(d, rank, [k - 1 for k in kernel], kind == "max" and rank == 2)}
    return d.mischief(setting, "strides", "kernel", share=0.02)


def make_pool(s):
    rank, padding = len(s["n"]), everywhere(s, s["padding"])
    text = (f"tf.nn.{s['pool']}_pool{rank}d(x, ksize={s['kernel']}, strides={s['strides']}, padding={padding!r}, "
            f"data_format={laid(s)!r})")
    return called(s, text, s["pool"] + "_pool", {"ksize": s["kernel"], "strides": s["strides"], "padding": padding,
                  "data_format": laid(s)}, {"x": image(s, Data(s), 2, 1, s["pool"] == "max")})


def draw_general_pool(d):
    rank = d.pick(1, 2, 2)
    kernel, dilations = d.per_axis(rank, 1, 3), d.per_axis(rank, 1, 3)
    return {"pool": d.pick("MAX", "AVG"), "n": d.sizes(extent(kernel, dilations), 0, 5), "kernel": kernel,
            "dilations": dilations, "strides": [1] * rank if max(dilations) > 1 else d.per_axis(rank, 1, 3),
            "padding": d.pick("SAME", "VALID")}


def make_general_pool(s):
    rank = len(s["n"])
    text = (f"tf.nn.pool(x, window_shape={s['kernel']}, pooling_type={s['pool']!r}, strides={s['strides']}, "
            f"padding={s['padding']!r}, dilations={s['dilations']})")
    return called(s, text, s["pool"].lower() + "_pool", {"ksize": s["kernel"], "strides": s["strides"],
                  "padding": s["padding"], "dilations": s["dilations"], "data_format": LAST[rank]},
                  {"x": image(s, Data(s), 2, 1, s["pool"] == "MAX")})


def draw_argmax(d):
    kernel = d.per_axis(2, 1, 3)
    return {"n": d.sizes(kernel, 0, 4), "kernel": kernel, "strides": d.per_axis(2, 1, 3), "padding": d.pick("SAME", "VALID"),
            "batch": d.chance(0.5)}


def make_argmax(s):
    text = (f"tf.nn.max_pool_with_argmax(x, ksize={s['kernel']}, strides={s['strides']}, padding={s['padding']!r}, "
            f"include_batch_in_index={s['batch']})")
    return called(s, text, "max_pool", {"ksize": s["kernel"], "strides": s["strides"], "padding": s["padding"],
                  "data_format": "NHWC", "include_batch_in_index": s["batch"]}, {"x": image(s, Data(s), 2, 2, True)})


def draw_pad(d):
    rank, mode = d.pick(1, 2, 2, 3), d.pick("CONSTANT", "REFLECT", "SYMMETRIC")
    n = d.per_axis(rank, 2, 6 if rank < 3 else 4)
    pairs = [[d.between(0, min(3, m)), d.between(0, min(3, m))] for m in n]
    lead, channels = ([0, 0], [0, 0]) if d.chance(0.8) else ([d.between(0, 1), 0], [1, d.between(0, 2)])
    if d.chance(0.03):
        pairs[-1][1] = -1
    return {"n": n, "mode": mode, "pairs": [lead, *pairs, channels], "value": d.pick(0, 0, 5, -3) if mode == "CONSTANT" else 0}


def make_pad(s):
    if len(s["pairs"]) != len(s["n"]) + 2:
        raise ValueError("one pair for each axis")
    return called(s, f"tf.pad(x, {s['pairs']}, mode={s['mode']!r}, constant_values={s['value']})", "pad",
                  {"paddings": s["pairs"], "mode": s["mode"], "constant_values": s["value"]}, {"x": image(s, Data(s), 2)})


MODERN = ("nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")


def draw_resize(d):
    if d.chance(0.5):
        return {"n": d.per_axis(2, 1, 7), "size": d.per_axis(2, 1, 8), "method": d.pick(*MODERN), "antialias": d.chance(0.3)}
    corners = d.chance(0.5)
    return {"n": d.per_axis(2, 1, 7), "size": d.per_axis(2, 1, 9), "method": d.pick("nearest_neighbor", "bilinear", "bicubic"),
            "corners": corners, "half": d.chance(0.06) if corners else d.chance(0.5)}


def make_resize(s):
    x, size, method = {"x": image(s, Data(s), 2)}, s["size"], s["method"]
    if "corners" not in s:
        return called(s, f"tf.image.resize(x, {size}, method={method!r}, antialias={s['antialias']})", "resize",
                      {"size": size, "method": method, "antialias": s["antialias"]}, x)
    text = f"tf.compat.v1.image.resize_{method}(x, {size}, align_corners={s['corners']}, half_pixel_centers={s['half']})"
    return called(s, text, "resize", {"size": size, "method": method, "align_corners": s["corners"],
                  "half_pixel_centers": s["half"]}, x)


def draw_blocks(d):
    return {"to_space": d.chance(0.5), "block": d.pick(2, 3), "channels": d.between(1, 3), "n": [d.between(1, 4), d.between(1, 4)],
            "batch": d.pick(1, 2), "first": d.chance(0.15), "more": d.pick(0, 0, 0, 0, 1)}


def make_blocks(s):
    b = s["block"]
    sized = s if s["to_space"] else s | {"n": [m * b + s["more"] for m in s["n"]]}
    channels = s["channels"] * b * b + s["more"] if s["to_space"] else s["channels"]
    name = "depth_to_space" if s["to_space"] else "space_to_depth"
    return called(s, f"tf.nn.{name}(x, {b}, data_format={laid(s)!r})", name, {"block_size": b, "data_format": laid(s)},
                  {"x": image(sized, Data(s), channels, s["batch"], True)})


# kind: how often, draw, make
KINDS = {"conv": (6, draw_conv, make_conv), "depthwise": (3, draw_depthwise, make_depthwise),
         "separable": (1, draw_separable, make_separable), "atrous": (2, draw_atrous, make_atrous),
         "conv_transpose": (6, draw_transposed, make_transposed), "pool": (5, draw_pool, make_pool),
         "general_pool": (2, draw_general_pool, make_general_pool), "argmax": (1, draw_argmax, make_argmax),
         "pad": (3, draw_pad, make_pad), "resize": (3, draw_resize, make_resize), "blocks": (1, draw_blocks, make_blocks)}
# What is tried first when a disagreement is made smaller.
SIMPLEST = {"conv": {"padding": "VALID", "first": False}, "depthwise": {"padding": "VALID"}, "separable": {"padding": "VALID"},
            "atrous": {"padding": "VALID"}, "conv_transpose": {"padding": "VALID"}, "pool": {"padding": "VALID", "first": False},
            "general_pool": {"padding": "VALID"}, "argmax": {"padding": "VALID", "batch": False}, "pad": {"value": 0},
            "resize": {"antialias": False, "corners": False, "half": False}, "blocks": {"first": False, "more": 0}}
