"""Keras' layers in random settings: built, given weights and applied by Keras itself, on TensorFlow."""
import keras
import numpy as np
import tensorflow as tf
from drawing import FIRST, LAST, SPACE, Data, extent, first_line, number

FRAMEWORK = f"keras {keras.__version__} (tensorflow backend)"

# Refusals of TensorFlow's plain CPU kernels, not of the operator: XLA answers then.
ONLY_HERE = ("CPU implementation", "Current implementation only", "on the CPU", "NHWC", "NDHWC", "Could not find device")


def evaluate(call):
    x, *weights = [v for v, _ in call["inputs"].values()]
    try:
        layer = eval(call["call"], {"keras": keras})
        layer.build(x.shape)
        if weights:
            layer.set_weights(weights)
        try:
            return {"output": np.asarray(layer(tf.constant(x)))}
        except Exception as error:
            if not any(words in str(error) for words in ONLY_HERE):
                raise
            return {"output": np.asarray(tf.function(layer, jit_compile=True)(tf.constant(x))), "run": "xla"}
    except Exception as error:  # every refusal is an answer
        return {"error": first_line(error)}


def laid(s):
    return (FIRST if s["first"] else LAST)[len(s["n"])]


def shaped(batch, s, channels):
    return [batch, channels, *s["n"]] if s["first"] else [batch, *s["n"], channels]


def called(s, name, op, arguments, inputs, layout=None, attrs=None):
    """Arguments are those of the constructor; the attributes are the same ones as a config holds them."""
    said = ", ".join(f"{k}={number(v)!r}" for k, v in arguments.items())
    return {"call": f"keras.layers.{name}({said})", "op": op, "rank": len(s["n"]), "attrs": attrs or dict(arguments),
            "inputs": inputs, "layout": layout or laid(s), "layouts": {}}


def data_format(s):
    return "channels_first" if s["first"] else "channels_last"


def first(d, share=0.12):
    return d.chance(share)


def draw_conv(d):
    rank = d.pick(1, 2, 2, 3)
    kernel, strides = d.per_axis(rank, 1, (6, 4, 3)[rank - 1]), d.per_axis(rank, 1, (4, 3, 3)[rank - 1])
    dilation = [1] * rank
    if d.chance(0.35):
        dilation = d.per_axis(rank, 1, 3)
        if d.chance(0.85):
            strides = [1] * rank
    padding = d.pick("same", "same", "valid") if rank > 1 and d.chance(0.97) else d.pick("same", "same", "valid", "causal")
    setting = {"n": d.sizes([max(e, 2) if padding == "valid" else max(2, e // 2) for e in extent(kernel, dilation)], 0,
                            (7, 5, 3)[rank - 1]),
               "groups": d.pick(1, 1, 1, 1, 2, 3) if rank < 3 else 1, "inner": d.pick(1, 2), "outer": d.pick(1, 2, 3),
               "kernel": kernel, "strides": strides, "padding": padding, "dilation": dilation, "first": first(d),
               "bias": d.chance(0.8)}
    if d.chance(0.1):  # a window that does not fit, most likely
        setting["n"] = d.per_axis(rank, 1, 4)
    return d.mischief(setting, "strides", "dilation", "kernel")


def make_conv(s):
    rank, data, filters = len(s["n"]), Data(s), s["groups"] * s["outer"]
    inputs = {"x": (data.integers(shaped(2 if rank == 1 else 1, s, s["groups"] * s["inner"])), laid(s)),
              "kernel": (data.integers(s["kernel"] + [s["inner"], filters], -4, 4), SPACE[rank] + "IO")}
    if s["bias"]:
        inputs["bias"] = (data.integers([filters]), "O")
    return called(s, f"Conv{rank}D", "conv",
                  {"filters": filters, "kernel_size": s["kernel"], "strides": s["strides"], "padding": s["padding"],
                   "data_format": data_format(s), "dilation_rate": s["dilation"], "groups": s["groups"],
                   "use_bias": s["bias"]}, inputs)


def draw_depthwise(d):
    rank = d.pick(1, 2)
    kernel = d.per_axis(rank, 1, 4)
    strides = [d.between(1, 3)] * rank if d.chance(0.8) else d.per_axis(rank, 1, 3)
    dilation = [1] * rank
    if d.chance(0.35):
        dilation = d.per_axis(rank, 1, 3)
        strides = strides if d.chance(0.4) else [1] * rank
    padding = d.pick("same", "valid")
    setting = {"separable": d.chance(0.4), "n": d.sizes(extent(kernel, dilation), 0 if padding == "valid" else -1, 5),
               "channels": d.between(1, 3), "multiplier": d.between(1, 3), "filters": d.between(1, 4), "kernel": kernel,
               "strides": strides, "padding": padding, "dilation": dilation, "first": first(d), "bias": d.chance(0.8)}
    return d.mischief(setting, "strides", "dilation")


def make_depthwise(s):
    rank, data = len(s["n"]), Data(s)
    depth = (data.integers(s["kernel"] + [s["channels"], s["multiplier"]], -3, 3), SPACE[rank] + "CM")
    inputs = {"x": (data.integers(shaped(1, s, s["channels"])), laid(s))}
    arguments = {"kernel_size": s["kernel"], "strides": s["strides"], "padding": s["padding"],
                 "depth_multiplier": s["multiplier"], "data_format": data_format(s), "dilation_rate": s["dilation"],
                 "use_bias": s["bias"]}
    out = s["channels"] * s["multiplier"]
    if s["separable"]:
        point = data.integers([1] * rank + [out, s["filters"]], -3, 3)
        inputs |= {"depthwise_kernel": depth, "pointwise_kernel": (point, SPACE[rank] + "IO")}
        arguments, out = {"filters": s["filters"], **arguments}, s["filters"]
    else:
        inputs["kernel"] = depth
    if s["bias"]:
        inputs["bias"] = (data.integers([out]), "O")
    kind = "separable" if s["separable"] else "depthwise"
    return called(s, f"{kind.capitalize()}Conv{rank}D", kind + "_conv", arguments, inputs)


def draw_transposed(d):
    rank = d.pick(1, 2, 2, 3)
    kernel = d.per_axis(rank, 1, (6, 5, 3)[rank - 1])
    strides = d.per_axis(rank, 1, (4, 4, 3)[rank - 1])
    dilation = [1] * rank
    if d.chance(0.2):
        dilation = d.per_axis(rank, 1, 3)
        if d.chance(0.85):
            strides = [1] * rank
    extra = [d.between(0, s - 1) for s in strides] if d.chance(0.5) else None
    if extra and d.chance(0.05):
        extra[0] = strides[0]
    setting = {"n": d.per_axis(rank, 1, (6, 5, 4)[rank - 1]), "channels": d.between(1, 3), "filters": d.between(1, 3),
               "kernel": kernel, "strides": strides, "padding": d.pick("same", "same", "valid"), "extra": extra,
               "dilation": dilation, "first": first(d), "bias": d.chance(0.9)}
    return d.mischief(setting, "strides", "dilation", "extra")


def make_transposed(s):
    rank, data = len(s["n"]), Data(s)
    inputs = {"x": (data.integers(shaped(1, s, s["channels"])), laid(s)),
              "kernel": (data.integers(s["kernel"] + [s["filters"], s["channels"]], -4, 4), SPACE[rank] + "OI")}
    if s["bias"]:
        inputs["bias"] = (data.integers([s["filters"]], 10, 99), "O")
    return called(s, f"Conv{rank}DTranspose", "conv_transpose",
                  {"filters": s["filters"], "kernel_size": s["kernel"], "strides": s["strides"], "padding": s["padding"],
                   "output_padding": s["extra"], "data_format": data_format(s), "dilation_rate": s["dilation"],
                   "use_bias": s["bias"]}, inputs)


def draw_pool(d):
    rank = d.pick(1, 2, 2, 3)
    pool = d.per_axis(rank, 1, (5, 4, 3)[rank - 1])
    setting = {"pool": d.pick("Max", "Average"), "n": d.sizes(pool, -1, (6, 5, 3)[rank - 1]), "size": pool,
               "strides": None if d.chance(0.15) else d.per_axis(rank, 1, (4, 3, 3)[rank - 1]),
               "padding": d.pick("same", "same", "valid"), "first": first(d, 0.2)}
    return d.mischief(setting, "strides", "size", share=0.02)


def make_pool(s):
    rank, data = len(s["n"]), Data(s)
    values = (data.distinct if s["pool"] == "Max" else data.integers)(shaped(1, s, 2))
    return called(s, f"{s['pool']}Pooling{rank}D", "max_pool" if s["pool"] == "Max" else "avg_pool",
                  {"pool_size": s["size"], "strides": s["strides"], "padding": s["padding"],
                   "data_format": data_format(s)}, {"x": (values, laid(s))})


def draw_global(d):
    rank = d.pick(1, 2, 3)
    return {"pool": d.pick("Max", "Average"), "n": d.per_axis(rank, 1, 6), "keep": d.chance(0.5), "first": d.chance(0.5)}


def make_global(s):
    rank, data = len(s["n"]), Data(s)
    return called(s, f"Global{s['pool']}Pooling{rank}D", f"global_{'max' if s['pool'] == 'Max' else 'avg'}_pool",
                  {"data_format": data_format(s), "keepdims": s["keep"]},
                  {"x": (data.integers(shaped(2, s, 3)), laid(s))}, None if s["keep"] else "NC")


def draw_adaptive(d):
    rank = d.pick(1, 2, 3)
    return {"pool": d.pick("Max", "Average"), "n": d.per_axis(rank, 2, (9, 7, 5)[rank - 1]),
            "size": d.per_axis(rank, 2 if rank > 1 else 1, (6, 5, 4)[rank - 1]), "first": d.chance(0.3)}


def make_adaptive(s):
    rank, data = len(s["n"]), Data(s)
    return called(s, f"Adaptive{s['pool']}Pooling{rank}D", f"adaptive_{'max' if s['pool'] == 'Max' else 'avg'}_pool",
                  {"output_size": s["size"], "data_format": data_format(s)},
                  {"x": (data.integers(shaped(1, s, 2)), laid(s))})


def draw_border(d):
    rank, crop = d.pick(1, 2, 3), d.chance(0.5)
    pairs = [[d.between(0, 2), d.between(0, 2)] for _ in range(rank)]
    amounts = d.pick(pairs, pairs, d.between(0, 2), d.per_axis(rank, 0, 2))
    if rank == 1 and isinstance(amounts, list):
        amounts = pairs[0]
    if d.chance(0.04):
        amounts = -1
    return {"crop": crop, "n": d.per_axis(rank, 3 if crop else 1, 7), "amounts": amounts,
            "first": d.chance(0.3) and not (crop and rank == 1)}


def make_border(s):
    rank, data = len(s["n"]), Data(s)
    key = "cropping" if s["crop"] else "padding"
    attrs = {key: s["amounts"], "data_format": data_format(s)}
    arguments = {key: eval(repr(s["amounts"]).replace("[", "(").replace("]", ")"))}
    if not (s["crop"] and rank == 1):  # Cropping1D has no data_format
        arguments["data_format"] = data_format(s)
    return called(s, f"{'Cropping' if s['crop'] else 'ZeroPadding'}{rank}D", "crop" if s["crop"] else "pad", arguments,
                  {"x": (data.integers(shaped(1, s, 2)), laid(s))}, attrs=attrs)


def draw_up(d):
    rank = d.pick(1, 2, 2, 3)
    return {"n": d.per_axis(rank, 1, 5), "size": d.per_axis(rank, 1, 4),
            "word": d.pick("nearest", "bilinear", "bicubic") if rank == 2 else None, "first": d.chance(0.3) and rank > 1}


def make_up(s):
    rank, data = len(s["n"]), Data(s)
    arguments = {"size": s["size"]} | ({"data_format": data_format(s)} if rank > 1 else {})
    if rank == 2:
        arguments["interpolation"] = s["word"]
    return called(s, f"UpSampling{rank}D", "upsample", arguments, {"x": (data.integers(shaped(1, s, 2)), laid(s))})


def draw_resize(d):
    return {"n": d.per_axis(2, 1, 7), "size": d.per_axis(2, 1, 8), "first": d.chance(0.2),
            "word": d.pick("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")}


def make_resize(s):
    return called(s, "Resizing", "resize", {"height": s["size"][0], "width": s["size"][1], "interpolation": s["word"],
                  "data_format": data_format(s)}, {"x": (Data(s).integers(shaped(1, s, 2)), laid(s))})


# kind: how often, draw, make
KINDS = {"conv": (6, draw_conv, make_conv), "depthwise": (4, draw_depthwise, make_depthwise),
         "conv_transpose": (5, draw_transposed, make_transposed), "pool": (5, draw_pool, make_pool),
         "global_pool": (1, draw_global, make_global), "adaptive_pool": (2, draw_adaptive, make_adaptive),
         "border": (2, draw_border, make_border), "up_sampling": (1, draw_up, make_up), "resize": (1, draw_resize, make_resize)}
# What is tried first when a disagreement is made smaller.
SIMPLEST = {"conv": {"padding": "valid", "first": False, "bias": False}, "border": {"first": False, "amounts": 0},
            "depthwise": {"padding": "valid", "first": False, "bias": False, "separable": False},
            "conv_transpose": {"padding": "valid", "first": False, "bias": False, "extra": None},
            "pool": {"padding": "valid", "first": False, "strides": None}, "global_pool": {"first": False},
            "adaptive_pool": {"first": False}, "up_sampling": {"first": False}, "resize": {"word": "nearest", "first": False}}
