"""Does `convoy diff` see every number? Changes one number of one tensor, exchanges two rows or columns, or rounds them all.

mutate_weights.py CONVOY CORPUS... [--count 1000] [--seed 0] [--show] [--keep FOLDER]

The models are those of the corpora and some that hide a number behind up to 100,000 products or in a row of a table that no
input asks for. A weight that differs must be found whatever the outputs do, in the layer that holds it; a cause that is
called certain must be about weights.
"""
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).parent))
from mutate import Base, Refused, asked, keep, names_of, options_of, plain, shown, written  # noqa: E402
from mutation import numbers  # noqa: E402

ABOUT_WEIGHTS = {"weights_differ", "weights_rounded", "weights_exchanged", "channel_order", "channels_exchanged", "group_order",
                 "depthwise_order", "gate_order"}


class Bench:
    def __init__(self, options, place):
        self.options, self.place, self.choose = options, place, random.Random(options.seed)
        numbers.wide_models(place / "wide", options.seed)
        self.files = []
        for folder in options.folders:
            for case in sorted(Path(folder).iterdir()) if Path(folder).is_dir() else []:
                self.files += [case / n for n in ("model.keras", "model.pt2", "model.onnx") if (case / n).exists()][:1]
        self.wide = sorted((place / "wide").glob("*/model.onnx"))
        self.bases, self.total, self.rows, self.refused = {}, Counter(), {}, 0

    def base_of(self, file):
        if file not in self.bases:
            try:
                self.bases[file] = Base(self.options.convoy, file, self.place)
            except Exception:
                self.bases[file] = None  # a model that is not carried
        return self.bases[file]

    def made(self, fault):
        """(base, the changed net, the node), in a random layer of a random model; every third is a wide one."""
        for _ in range(50):
            files = self.wide if self.choose.random() < 1 / 3 or not self.files else self.files
            base = self.base_of(self.choose.choice(files))
            nodes = [n for n in base.net.graph.node if n.op_type in numbers.HOLDERS and numbers.held(base.net, n)] if base else []
            if not nodes:
                continue
            node = self.choose.choice(nodes)
            net = numbers.written(base.net, node, fault, self.choose)
            if net is not None:
                return base, net, node
        return None

    def ask(self, turn, name, fault):
        found = self.made(fault)
        if found is None:
            return
        base, net, node = found
        b_file = self.place / "b.onnx"
        onnx.save(net.model, b_file)
        form = self.choose.choice(["onnx", "onnx", "keras", "torch"])
        b = written(self.options.convoy, b_file, net, form, self.place / "b") or (str(b_file), [])
        a = (str(base.file), []) if self.choose.random() < 0.6 else (str(base.onnx), [])
        try:
            said = asked(self.options.convoy, a, b)
        except (Refused, subprocess.TimeoutExpired) as error:
            self.refused += 1
            if self.options.show:
                print("refused", base.name, node.name, name, str(error).replace("\n", " ")[:200], flush=True)
            return
        names = names_of(base, node)
        known = ABOUT_WEIGHTS | ({"activation_slope"} if node.op_type == "PRelu" else set())
        verdict = {
            "seen": bool(said),
            "layer": bool(said) and bool({plain(said[0]["a"]), plain(said[0]["b"])} & names),
            "claimed": any(d["certain"] and d["cause"] != "unknown" and not known & {d["cause"], *d["also"]} for d in said),
        }
        for counter in (self.rows.setdefault((name, node.op_type), Counter()), self.total):
            counter["asked"] += 1
            counter.update({key: int(value) for key, value in verdict.items()})
        if self.options.show and (not verdict["layer"] or verdict["claimed"]):
            print(turn, base.name, node.name, name, form, {k: v for k, v in verdict.items()}, shown(said), flush=True)
            if self.options.keep:
                keep(self.options.keep, turn, a, b, b_file)


def measure(options):
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(options, Path(place))
        for turn in range(options.count * 3):
            if bench.total["asked"] >= options.count:
                break
            bench.ask(turn, *numbers.FAULTS[turn % len(numbers.FAULTS)])
    for (name, kind), row in sorted(bench.rows.items()):
        print(f"{name:<12}{kind:<24}" + "".join(f"{row[c]:>8}" for c in ("asked", "seen", "layer", "claimed")))
    n = max(bench.total["asked"], 1)
    print(f"{bench.total['asked']} asked: seen {bench.total['seen'] / n:.1%}, layer {bench.total['layer'] / n:.1%}, "
          f"wrong confident causes {bench.total['claimed'] / n:.2%}; {bench.refused} refused")
    return bench.total


def main():
    total = measure(options_of())
    return 0 if total["asked"] and total["seen"] == total["asked"] else 1


if __name__ == "__main__":
    sys.exit(main())
