"""Is every recorded call of a framework that `convoy pad` reads answered with the size that the framework gave, and
refused where it was refused?

pad_golden.py CONVOY FILE.jsonl...   prints one line per broken promise and the count; exit code 1 when there is one.
"""
import json
import re
import subprocess
import sys

# The operators with windows.
WINDOWED = {"conv", "depthwise_conv", "separable_conv", "conv_transpose", "max_pool", "avg_pool"}


def spatial(array):
    if "layout" not in array or set(array["layout"]) - set("NCDHWOIM1"):
        return None
    return [n for n, letter in zip(array["shape"], array["layout"]) if letter in "DHW"]


def channels(array):
    return dict(zip(array["layout"], array["shape"])).get("C")


def options_of(case):
    x = case["inputs"]["x"]
    options = ["--size", "x".join(map(str, spatial(x))), "--channels", str(channels(x))]
    weights = [case["inputs"][name] for name in ("w", "dw") if name in case["inputs"]]
    says = "kernel_shape" in case["call"] or not re.search(r"\b(functional\.conv|tf\.nn\.|make_node)", case["call"])
    if weights and not says and spatial(weights[0]):
        options += ["--kernel", "x".join(map(str, spatial(weights[0])))]
    return options


def broken(convoy, case):
    x = case["inputs"]["x"]
    if 0 in x["shape"]:
        return None
    done = subprocess.run([convoy, "pad", case["call"], "--json", *options_of(case)], capture_output=True, text=True)
    if done.returncode not in (0, 2, 6):
        return f"exit code {done.returncode}: {done.stderr.strip()}"
    refused = done.returncode != 0
    if case["op"] == "avg_pool" and "SAME" in case["call"] and "non-negative" in case.get("error", ""):
        return None  # a refusal of old operator sets
    if "must match last dimension of input" in case.get("error", ""):
        return None  # the kernel's channels are no part of the call
    if "error" in case:
        return None if refused else f"{case['error'][:80]!r} is not refused"
    want = spatial(case.get("expected", case["output"]))
    if 0 in case["output"]["shape"]:
        return None  # an empty answer is no answer about padding
    if refused:
        return f"is refused: {done.stderr.strip()}"
    got = [axis["out"] for axis in json.loads(done.stdout)["layers"][-1]["axes"]]
    return None if got == want else f"{got}, wanted {want}"


def main():
    convoy, *files = sys.argv[1:]
    tried = failed = 0
    for file in files:
        for line in open(file, encoding="utf-8"):
            case = json.loads(line)
            if case["op"] not in WINDOWED or "x" not in case["inputs"] or spatial(case["inputs"]["x"]) is None:
                continue
            if "raw_ops" in case["call"] or ")[" in case["call"] or case["call"].startswith("tf.pad("):
                continue  # an operator without a function; a chain of calls
            tried += 1
            if why := broken(convoy, case):
                failed += 1
                print(f"broken: {case['id']} {case['call']} {case['inputs']['x']['shape']}: {why}")
    print(f"{tried} calls, {failed} broken")
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
