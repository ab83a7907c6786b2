"""Does `convoy diff` say of every pair in tests/data/pairs what is wrong with it, in which layer, and nothing else?

pairs.py CONVOY FOLDER [EVERY]   asks each pair, or every so many of them: each subfolder holds a.keras (mostly a.onnx as
well), b.pt2, b.onnx and cause.json, which tells the cause and the layer, or that the two are equal. Of a.onnx, whose exporter folded and split layers, only the verdict is
asked. Prints one line per broken promise and the count; exit code 1 when there
is one. Files that the command refuses because an operator is not carried (exit code 6) are counted apart.
"""
import json
import subprocess
import sys
from pathlib import Path


def answer(convoy, a, b):
    done = subprocess.run([convoy, "diff", str(a), str(b), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return done.returncode, done.stderr.strip()
    return done.returncode, json.loads(done.stdout)


def complaint(expected, code, found, knows_layer):
    if isinstance(found, str):
        return found
    if found["schema"] != 1 or found["same"] != (code == 0):
        return "the exit code and the answer disagree"
    said = [(d["a"], d["cause"]) for d in found["differences"]]
    if not knows_layer:
        return None if found["same"] == expected["equal"] else f"same is {found['same']}"
    if expected["equal"]:
        return None if found["same"] else f"equal models, but {said}"
    if len(said) != 1 or said[0][1] != expected["cause"] or said[0][0] != expected["layer_a"]:
        return f"{said}, expected {expected['cause']} in {expected['layer_a']}"
    first = found["first"]
    if not first["ratio_after_fix"] <= first["limit"] < first["ratio"]:
        return f"r {first['ratio']} falls to {first['ratio_after_fix']}, limit {first['limit']}"
    if not first["fix"]["torch"]:
        return "no line to write"
    return None


def main(convoy, folder, every="1"):
    right = refused = 0
    broken = []
    for case in sorted(Path(folder).glob("*/cause.json"))[::int(every)]:
        expected = json.loads(case.read_text())
        for a in ("a.keras", "a.onnx"):
            for b in ("b.pt2", "b.onnx"):
                files = case.parent / a, case.parent / b
                if not all(file.exists() for file in files):
                    continue
                code, found = answer(convoy, *files)
                if code == 6:
                    refused += 1
                    continue
                trouble = complaint(expected, code, found, a == "a.keras")
                if trouble:
                    broken.append(f"{expected['name']}: {a} and {b}: {trouble}")
                else:
                    right += 1
    print("\n".join([*broken, f"{right} right, {len(broken)} wrong, {refused} refused"]))
    return 1 if broken or not right else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
