"""PyTorch's functions in random settings: what torch.nn.functional answers."""
import warnings

import numpy as np
import torch
from drawing import FIRST, Data, extent, first_line, number

torch.set_num_threads(1)
warnings.simplefilter("ignore")
FRAMEWORK = "torch " + torch.__version__.split("+")[0]
KERNEL = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
TRANSPOSED = {1: "IOW", 2: "IOHW", 3: "IODHW"}


def evaluate(call):
    names = {k: torch.from_numpy(np.ascontiguousarray(v)) for k, (v, _) in call["inputs"].items()}
    try:
        with torch.no_grad():
            if "module" in call:  # a layer that gets its weights
                module = eval(call["module"], {"torch": torch})
                module.load_state_dict({k: names[v] for k, v in (("weight", "w"), ("bias", "b")) if v in names})
                names["module"] = module
            result = eval(call["run"], {"torch": torch, **names})
    except Exception as error:  # every refusal is an answer
        return {"error": first_line(error)}
    if isinstance(result, tuple):
        return {"output": result[0].numpy(), "indices": result[1].numpy()}
    return {"output": result.numpy()}


def called(text, op, rank, attrs, inputs, layout=None, module=None, run=None):
    call = {"call": text, "run": run or text, "op": op, "rank": rank, "attrs": attrs, "inputs": inputs,
            "layout": layout or FIRST[rank], "layouts": {}}
    return call | ({"module": module} if module else {})


def draw_conv(d):
    rank = d.pick(1, 2, 2, 3)
    kernel = d.per_axis(rank, 1, (6, 4, 3)[rank - 1])
    stride = d.per_axis(rank, 1, 4)
    dilation = d.per_axis(rank, 1, 3) if d.chance(0.4) else [1] * rank
    mode = d.pick("zeros", "zeros", "zeros", "reflect", "replicate", "circular")
    padding = d.pick("numbers", "numbers", "numbers", "same", "valid")
    if padding == "same" and d.chance(0.85):
        stride = [1] * rank
    if padding == "numbers":
        padding = d.per_axis(rank, 0, 3)
    groups = d.pick(1, 1, 1, 2, 3)
    setting = {"n": d.sizes(extent(kernel, dilation), -1, (6, 5, 3)[rank - 1]), "batch": d.pick(1, 2), "groups": groups,
               "inner": d.pick(1, 2), "outer": d.pick(1, 2, 3), "kernel": kernel, "stride": stride, "padding": padding,
               "dilation": dilation, "mode": mode, "bias": d.chance(0.8)}
    return d.mischief(setting, "stride", "padding", "dilation")


def make_conv(s):
    rank, data = len(s["n"]), Data(s)
    channels, out = s["groups"] * s["inner"], s["groups"] * s["outer"]
    inputs = {"x": (data.integers([s["batch"], channels] + s["n"]), FIRST[rank]),
              "w": (data.integers([out, s["inner"]] + s["kernel"], -4, 4), KERNEL[rank])}
    if s["bias"]:
        inputs["b"] = (data.integers([out]), "O")
    said = (f"stride={number(s['stride'])}, padding={number(s['padding'])!r}, dilation={number(s['dilation'])}, "
            f"groups={s['groups']}")
    attrs = {"stride": s["stride"], "padding": s["padding"], "dilation": s["dilation"], "groups": s["groups"],
             "padding_mode": s["mode"]}
    if s["mode"] == "zeros":
        return called(f"torch.nn.functional.conv{rank}d(x, w, {'b' if s['bias'] else 'None'}, {said})", "conv", rank,
                      attrs, inputs)
    module = (f"torch.nn.Conv{rank}d({channels}, {out}, {number(s['kernel'])}, {said}, bias={s['bias']}, "
              f"padding_mode={s['mode']!r})")
    return called(module + "(x)", "conv", rank, attrs, inputs, module=module, run="module(x)")


def draw_transposed(d):
    rank = d.pick(1, 2, 2, 3)
    kernel = d.per_axis(rank, 1, (5, 4, 3)[rank - 1])
    stride = d.per_axis(rank, 1, (4, 4, 3)[rank - 1])
    dilation = d.per_axis(rank, 1, 3) if d.chance(0.35) else [1] * rank
    extra = [d.between(0, max(s, g) - 1) for s, g in zip(stride, dilation)]
    if d.chance(0.06):
        extra[0] = max(stride[0], dilation[0])
    padding, n = d.per_axis(rank, 0, 2 if rank < 3 else 1), d.per_axis(rank, 2, (6, 5, 4)[rank - 1])
    size = None
    if d.chance(0.2):
        size = [(m - 1) * s + e - 2 * p + d.between(-1, s) if d.chance(0.1) else (m - 1) * s + e - 2 * p + d.between(0, s - 1)
                for m, s, e, p in zip(n, stride, extent(kernel, dilation), padding)]
    setting = {"n": n, "batch": d.pick(1, 2), "groups": d.pick(1, 1, 2, 3), "inner": d.pick(1, 2), "outer": d.pick(1, 2),
               "kernel": kernel, "stride": stride, "padding": padding, "extra": extra, "dilation": dilation,
               "size": size, "bias": d.chance(0.9)}
    return d.mischief(setting, "stride", "padding", "dilation", "extra")


def make_transposed(s):
    rank, data = len(s["n"]), Data(s)
    channels, out = s["groups"] * s["inner"], s["groups"] * s["outer"]
    inputs = {"x": (data.integers([s["batch"], channels] + s["n"]), FIRST[rank]),
              "w": (data.integers([channels, s["outer"]] + s["kernel"], -4, 4), TRANSPOSED[rank])}
    if s["bias"]:
        inputs["b"] = (data.integers([out], 10, 99), "O")
    attrs = {"stride": s["stride"], "padding": s["padding"], "groups": s["groups"], "dilation": s["dilation"]}
    least = [(m - 1) * t + e - 2 * p for m, t, e, p in zip(s["n"], s["stride"], extent(s["kernel"], s["dilation"]), s["padding"])]
    if s["size"] is None:
        if min(v + e for v, e in zip(least, s["extra"])) < 1:
            raise ValueError("nothing is left: torch refuses or answers nothing, depending on the kernel")
        attrs["output_padding"] = s["extra"]
        text = (f"torch.nn.functional.conv_transpose{rank}d(x, w, {'b' if s['bias'] else 'None'}, stride={number(s['stride'])}, "
                f"padding={number(s['padding'])}, output_padding={number(s['extra'])}, groups={s['groups']}, "
                f"dilation={number(s['dilation'])})")
        return called(text, "conv_transpose", rank, attrs, inputs)
    if min(s["size"]) < 1:
        raise ValueError("nothing is left")
    attrs["output_size"] = s["size"]
    module = (f"torch.nn.ConvTranspose{rank}d({channels}, {out}, {number(s['kernel'])}, stride={number(s['stride'])}, "
              f"padding={number(s['padding'])}, groups={s['groups']}, bias={s['bias']}, dilation={number(s['dilation'])})")
    return called(f"{module}(x, output_size={s['size']})", "conv_transpose", rank, attrs, inputs, module=module,
                  run=f"module(x, output_size={s['size']})")


def draw_pool(d):
    rank, kind = d.pick(1, 2, 2, 3), d.pick("max", "avg")
    kernel = d.per_axis(rank, 1, (6, 5, 3)[rank - 1])
    dilation = d.per_axis(rank, 1, 3) if kind == "max" and d.chance(0.4) else [1] * rank
    reach = extent(kernel, dilation)
    padding = [d.between(0, (e if kind == "max" else k) // 2) for e, k in zip(reach, kernel)]
    if d.chance(0.04):
        padding[0] = reach[0] // 2 + 1
    setting = {"pool": kind, "n": d.sizes([max(2, e - p) for e, p in zip(reach, padding)], -1, (8, 6, 3)[rank - 1]),
               "kernel": kernel, "stride": d.per_axis(rank, 1, 5), "padding": padding, "dilation": dilation,
               "ceil": d.chance(0.6), "include": d.chance(0.5),
               "divisor": d.pick(None, None, None, d.between(1, 9)) if rank > 1 else None}
    return d.mischief(setting, "stride", "padding", "dilation", "kernel")


def make_pool(s):
    rank, data = len(s["n"]), Data(s)
    said = f"x, {number(s['kernel'])}, stride={number(s['stride'])}, padding={number(s['padding'])}, "
    attrs = {"kernel_size": s["kernel"], "stride": s["stride"], "padding": s["padding"], "ceil_mode": s["ceil"]}
    if s["pool"] == "max":
        inputs = {"x": (data.distinct([1, 2] + s["n"]), FIRST[rank])}
        text = (f"torch.nn.functional.max_pool{rank}d({said}dilation={number(s['dilation'])}, ceil_mode={s['ceil']}, "
                f"return_indices=True)")
        return called(text, "max_pool", rank, attrs | {"dilation": s["dilation"], "return_indices": True}, inputs)
    inputs = {"x": (data.integers([1, 2] + s["n"]), FIRST[rank])}
    override = "" if rank == 1 else f", divisor_override={s['divisor']}"
    text = f"torch.nn.functional.avg_pool{rank}d({said}ceil_mode={s['ceil']}, count_include_pad={s['include']}{override})"
    attrs["count_include_pad"] = s["include"]
    return called(text, "avg_pool", rank, attrs if rank == 1 else attrs | {"divisor_override": s["divisor"]}, inputs)


def draw_adaptive(d):
    rank = d.pick(1, 2, 3)
    return {"pool": d.pick("max", "avg"), "n": d.per_axis(rank, 1, (12, 9, 5)[rank - 1]),
            "size": d.per_axis(rank, 1, (9, 6, 4)[rank - 1])}


def make_adaptive(s):
    rank, data = len(s["n"]), Data(s)
    values = (data.distinct if s["pool"] == "max" else data.integers)([1, 2] + s["n"])
    return called(f"torch.nn.functional.adaptive_{s['pool']}_pool{rank}d(x, {number(s['size'])})",
                  f"adaptive_{s['pool']}_pool", rank, {"output_size": s["size"]}, {"x": (values, FIRST[rank])})


def draw_lp_pool(d):
    rank = d.pick(1, 2, 3)
    return {"n": d.per_axis(rank, 3, (12, 8, 5)[rank - 1]), "p": d.pick(1, 2, 3), "kernel": d.per_axis(rank, 1, 3),
            "stride": d.per_axis(rank, 1, 3), "ceil": d.chance(0.5), "signed": d.chance(0.2)}


def make_lp_pool(s):
    rank, data = len(s["n"]), Data(s)
    text = (f"torch.nn.functional.lp_pool{rank}d(x, {s['p']}, {number(s['kernel'])}, stride={number(s['stride'])}, "
            f"ceil_mode={s['ceil']})")
    return called(text, "lp_pool", rank, {"norm_type": s["p"], "kernel_size": s["kernel"], "stride": s["stride"],
                  "ceil_mode": s["ceil"]}, {"x": (data.integers([1, 2] + s["n"], -9 if s["signed"] else 0), FIRST[rank])})


def draw_unpool(d):
    rank = d.pick(1, 2, 3)
    kernel = d.per_axis(rank, 2, 4) if rank < 3 else d.per_axis(rank, 2, 3)
    n = [k + d.between(2, 5) for k in kernel]
    return {"n": n, "kernel": kernel, "stride": [d.between(1, k) for k in kernel],
            "padding": [d.between(0, k // 2) for k in kernel], "size": d.chance(0.6)}


def make_unpool(s):
    rank, data = len(s["n"]), Data(s)
    source = torch.from_numpy(data.distinct([1, 2] + s["n"], False))
    values, places = getattr(torch.nn.functional, f"max_pool{rank}d")(source, s["kernel"], s["stride"], s["padding"],
                                                                      return_indices=True)
    size = s["n"] if s["size"] else None
    text = (f"torch.nn.functional.max_unpool{rank}d(x, indices, {number(s['kernel'])}, stride={number(s['stride'])}, "
            f"padding={number(s['padding'])}, output_size={size})")
    return called(text, "max_unpool", rank, {"kernel_size": s["kernel"], "stride": s["stride"], "padding": s["padding"],
                  "output_size": size}, {"x": (values.numpy(), FIRST[rank]), "indices": (places.numpy(), FIRST[rank])})


def draw_pad(d):
    rank, mode = d.pick(1, 2, 2, 3), d.pick("constant", "reflect", "replicate", "circular")
    n = d.per_axis(rank, 2, 6)
    if mode == "constant":
        return {"n": n, "mode": mode, "amounts": [d.between(-2, 3) for _ in range(2 * d.between(1, rank + d.pick(0, 0, 2)))],
                "value": d.pick(None, 5, -7)}
    low = -1 if d.chance(0.3) else 0
    count = rank if d.chance(0.93) else d.between(1, rank)
    return {"n": n, "mode": mode, "amounts": [d.between(low, 3) for _ in range(2 * count)], "value": None}


def make_pad(s):
    rank, data = len(s["n"]), Data(s)
    for i, m in enumerate(reversed(s["n"])):
        pair = s["amounts"][2 * i : 2 * i + 2]
        if s["mode"] == "circular" and len(pair) == 2 and m + sum(min(v, 0) for v in pair) < max(pair) <= m:
            raise ValueError("torch answers this by the memory layout of the input")
    said = "" if s["value"] is None else f", value={s['value']}"
    return called(f"torch.nn.functional.pad(x, {tuple(s['amounts'])}, mode={s['mode']!r}{said})", "pad", rank,
                  {"pad": s["amounts"], "mode": s["mode"], "value": s["value"]},
                  {"x": (data.integers([2, 3] + s["n"]), FIRST[rank])})


MODES = {"nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "linear": (1,), "bilinear": (2,), "trilinear": (3,),
         "bicubic": (2,), "area": (1, 2, 3)}


def draw_interpolate(d):
    mode = d.pick(*MODES)
    rank = d.pick(*MODES[mode])
    n = d.per_axis(rank, 1, (9, 7, 4)[rank - 1])
    setting = {"n": n, "mode": mode, "size": d.per_axis(rank, 1, (12, 8, 5)[rank - 1]), "factor": None,
               "recompute": None, "corners": None, "antialias": False}
    if d.chance(0.45):
        setting |= {"size": None, "factor": [d.pick(0.5, 0.7, 1.0, 1.25, 1.5, 1.7, 2.0, 2.6, 3.0) for _ in range(rank)]}
        if mode != "area":
            setting["recompute"] = d.pick(None, None, True, False)
    if mode in ("linear", "bilinear", "trilinear", "bicubic"):
        setting["corners"] = d.pick(None, False, True)
        setting["antialias"] = mode[:2] == "bi" and not setting["corners"] and d.chance(0.25)
    return setting


def make_interpolate(s):
    rank, data = len(s["n"]), Data(s)
    if s["factor"] and any(int(m * v) < 1 for m, v in zip(s["n"], s["factor"])):
        raise ValueError("nothing is left")
    said = [f"size={number(s['size'])}" if s["size"] else f"scale_factor={number(s['factor'])}", f"mode={s['mode']!r}"]
    said += [f"align_corners={s['corners']}"] if s["corners"] is not None else []
    said += [f"recompute_scale_factor={s['recompute']}"] if s["recompute"] is not None else []
    said += ["antialias=True"] if s["antialias"] else []
    attrs = {"size": s["size"], "scale_factor": s["factor"], "mode": s["mode"], "align_corners": s["corners"],
             "recompute_scale_factor": s["recompute"], "antialias": s["antialias"]}
    return called(f"torch.nn.functional.interpolate(x, {', '.join(said)})", "resize", rank, attrs,
                  {"x": (data.integers([1, 2] + s["n"]), FIRST[rank])})


def draw_shuffle(d):
    return {"name": d.pick("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"), "factor": d.pick(1, 2, 3),
            "channels": d.between(1, 3), "n": [d.between(1, 4), d.between(1, 4)], "batch": d.pick(1, 2),
            "more": d.pick(0, 0, 0, 0, 1)}


def make_shuffle(s):
    f, data = s["factor"], Data(s)
    shape = {"pixel_shuffle": [s["batch"], s["channels"] * f * f + s["more"]] + s["n"],
             "pixel_unshuffle": [s["batch"], s["channels"]] + [m * f + s["more"] for m in s["n"]],
             "channel_shuffle": [s["batch"], s["channels"] * f + s["more"]] + s["n"]}[s["name"]]
    op, key = {"pixel_shuffle": ("depth_to_space", "upscale_factor"), "pixel_unshuffle": ("space_to_depth", "downscale_factor"),
               "channel_shuffle": ("channel_shuffle", "groups")}[s["name"]]
    return called(f"torch.nn.functional.{s['name']}(x, {f})", op, 2, {key: f}, {"x": (data.distinct(shape), "NCHW")})


def draw_fold(d):
    kernel, dilation = d.per_axis(2, 1, 3), d.per_axis(2, 1, 2)
    return {"fold": d.chance(0.5), "n": d.sizes(extent(kernel, dilation), -1, 3), "kernel": kernel, "dilation": dilation,
            "stride": d.per_axis(2, 1, 3), "padding": d.per_axis(2, 0, 2), "more": d.pick(0, 0, 0, 0, 0, 1)}


def make_fold(s):
    data = Data(s)
    said = (f"{tuple(s['kernel'])}, dilation={tuple(s['dilation'])}, padding={tuple(s['padding'])}, "
            f"stride={tuple(s['stride'])}")
    attrs = {"kernel_size": s["kernel"], "dilation": s["dilation"], "padding": s["padding"], "stride": s["stride"]}
    if not s["fold"]:
        return called(f"torch.nn.functional.unfold(x, {said})", "unfold", 2, attrs,
                      {"x": (data.integers([1, 2] + s["n"]), "NCHW")}, "NCL")
    windows = [(m + 2 * p - e) // t + 1
               for m, p, e, t in zip(s["n"], s["padding"], extent(s["kernel"], s["dilation"]), s["stride"])]
    shape = [1, 2 * s["kernel"][0] * s["kernel"][1], max(windows[0], 1) * max(windows[1], 1) + s["more"]]
    return called(f"torch.nn.functional.fold(x, {tuple(s['n'])}, {said})", "fold", 2, {"output_size": s["n"], **attrs},
                  {"x": (data.integers(shape), "NCL")})


# kind: how often, draw, make
KINDS = {"conv": (6, draw_conv, make_conv), "conv_transpose": (5, draw_transposed, make_transposed),
         "pool": (6, draw_pool, make_pool), "adaptive_pool": (1, draw_adaptive, make_adaptive),
         "lp_pool": (1, draw_lp_pool, make_lp_pool), "unpool": (1, draw_unpool, make_unpool), "pad": (3, draw_pad, make_pad),
         "interpolate": (3, draw_interpolate, make_interpolate), "shuffle": (1, draw_shuffle, make_shuffle),
         "fold": (2, draw_fold, make_fold)}
# What is tried first when a disagreement is made smaller.
SIMPLEST = {"conv": {"padding": "valid", "mode": "zeros", "bias": False}, "conv_transpose": {"size": None, "bias": False},
            "pool": {"ceil": False, "divisor": None, "include": True}, "lp_pool": {"ceil": False, "signed": False},
            "unpool": {"size": False}, "pad": {"value": None}, "shuffle": {"more": 0}, "fold": {"more": 0},
            "interpolate": {"antialias": False, "recompute": None, "corners": None}}
