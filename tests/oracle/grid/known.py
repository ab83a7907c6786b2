"""Where a framework is known to break its own rule, or to answer something that depends on nothing in the call.

Rules about settings, never about cases: each gives the cause in the word that tests/data/golden/deviations.jsonl uses,
or in words of its own. Such a case is counted, not compared.
"""
from drawing import extent


def totals(n, kernel, strides, dilation=None):
    """What SAME would pad along each axis if it did not stop at zero."""
    return [(-(-m // s) - 1) * s + e - m for m, s, e in zip(n, strides, extent(kernel, dilation or [1] * len(n)))]


def keras(kind, s, call, answer):
    if kind in ("conv", "depthwise", "conv_transpose") and s["first"] and "bias" in call["inputs"]:
        if call["inputs"]["bias"][0].shape[0] == answer["output"].shape[-1]:
            return "bias"
    strides = s.get("strides") or s.get("size")
    if kind in ("conv", "pool") and len(s["n"]) == 3 and s["padding"] == "same" and "run" not in answer:
        if min(totals(s["n"], s.get("kernel") or s["size"], strides, s.get("dilation"))) <= -2:
            return "negative_same"
    return None


def tensorflow(kind, s, call, answer):
    if kind in ("conv", "pool") and len(s["n"]) == 3 and s["padding"] == "SAME" and "run" not in answer:
        if min(totals(s["n"], s["kernel"], s["strides"], s.get("dilations"))) <= -2:
            return "negative_same"
    if kind == "depthwise" and max(s["strides"]) > 1 and max(s["dilations"]) > 1:
        return "stride_and_dilation"
    return None


def torch(kind, s, call, answer):
    if kind in ("conv", "conv_transpose") and min(s["dilation"]) < 1:
        return "a dilation below 1, which PyTorch does not check everywhere"
    if kind == "interpolate" and s["antialias"] and answer["output"].shape[-1] == 1:
        return "antialias_width_1"
    return None


def onnx(kind, s, call, answer):
    if kind == "pad" and s["mode"] == "wrap" and any(b > n + min(e, 0) for b, e, n in zip(s["before"], s["after"], s["n"])):
        return "reads memory that was never written"
    if kind == "pool" and 0 in answer["output"].shape:
        return "answers with nothing where no window fits"
    if kind == "conv" and str(s.get("auto_pad", "")).startswith("SAME"):
        if min(totals(s["n"], s["kernel"], s["strides"], s.get("dilations"))) <= -2:
            return "negative_same"
    return None


def tflite(kind, s, call, answer):
    return None


RULES = {"keras": keras, "tensorflow": tensorflow, "torch": torch, "onnx": onnx, "tflite": tflite}


def cause(framework, kind, setting, call, answer):
    if "error" in answer:
        # Run eagerly, TensorFlow answers with nothing where a window is a little too large; a graph refuses it.
        return "refused by a graph only" if "Negative dimension size" in answer["error"] else None
    return RULES[framework](kind, setting, call, answer)
