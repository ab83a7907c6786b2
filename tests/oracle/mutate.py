"""How well does `convoy diff` name faults? Writes one known mistake, or two, into ported models and asks.

mutate.py CONVOY CORPUS... [--count 1000] [--seed 0] [--pairs 0.25] [--show] [--keep FOLDER] [--markdown]

Every CORPUS holds models as folders with `model.keras`, `model.pt2` or `model.onnx`. Each is ported to ONNX once. The
mistakes (mutation/) are taken in turn, each written into a random node of a random model; ONNX Runtime says whether the
numbers change, at an even and an odd size where sizes are free, and mistakes that change nothing are listed, not counted.
`a` is the original file, its port as ONNX, or as source of PyTorch or Keras; `b` is the changed model as ONNX, .keras or
source. A layer is right where the first difference is reported in a changed layer that reads no other changed one. A
cause is named where it stands first, or under `also`: those give the same numbers as long as the inputs are equal. The
fix is verified where the error falls below its limit with the change undone.
"""
import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).parent))
from mutation import MISTAKES, STEPS  # noqa: E402
from mutation.net import Net  # noqa: E402


class Refused(Exception):
    pass


def convoy(binary, *words):
    return subprocess.run([binary, *map(str, words)], capture_output=True, text=True, timeout=120)


def plain(name):
    """As Python and the formats spell it."""
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")


class Base:
    """A model of the corpora, ported to ONNX, with what it computes."""

    def __init__(self, binary, file, folder):
        self.file, self.folder, self.binary = file, folder, binary
        self.name = f"{file.parent.parent.name}/{file.parent.name}"
        self.onnx = folder / (self.name.replace("/", "__") + ".onnx")
        done = convoy(binary, "port", file, "-o", self.onnx, "--no-proof", "-q", "-f", "--opset", "21")
        if done.returncode:
            raise Refused(done.stderr)
        self.net = Net(onnx.load(self.onnx))
        free = not self.net.fixed()
        self.feeds = [self.net.feed(0), self.net.feed(0, 40.0), *([self.net.feed(1), self.net.feed(1, 40.0)] if free else [])]
        self.answers = [self.net.run(feed) for feed in self.feeds]
        self.net.shape("")
        self.ported = {}

    def node(self, name):
        return next(n for n in self.net.graph.node if n.name == name)

    def form(self, to):
        """The model's port as source of PyTorch or Keras, or as .keras, with the words that read it; None: refused."""
        if to not in self.ported:
            self.ported[to] = written(self.binary, self.onnx, self.net, to, self.folder / self.onnx.stem)
        return self.ported[to]


def written(binary, file, net, to, stem):
    """`file` as another format: its words for diff, as (file, options); None where the writer refuses."""
    if to == "onnx":
        return str(file), []
    target = {"torch": f"{stem}_torch.py", "keras source": f"{stem}_keras.py", "keras": f"{stem}_made.keras"}[to]
    done = convoy(binary, "port", file, "--to", to.split()[0], "-o", target, "--no-proof", "-q", "-f")
    if done.returncode:
        return None
    if to == "keras":
        return target, []
    if to == "keras source":
        return f"{target}:build", ["--weights", target.replace(".py", ".weights.h5")]
    words = ["--weights", target.replace(".py", ".safetensors")]
    source = Path(target).read_text()
    names = re.search(r"def forward\(self, (.*?)\)", source).group(1).replace(": Tensor", "").split(", ")
    feed = list(net.feed(0).values())
    if len(names) != len(feed):
        return None
    for name, value in zip(names, feed):
        words += ["--shape", f"{name}=" + ",".join(map(str, value.shape))]
    return target, words


def changes(base, net, before):
    """Whether some number differs by more than rounding, at some size."""
    for feed, old in zip(base.feeds, before):
        fed = {i: feed_of(net, i, value) for i, value in feed.items()}
        if any(fed[i].shape != feed[i].shape for i in feed):
            return True  # it takes transposed images
        new = net.run(fed)
        for x, y in zip(old, new):
            if x.shape != y.shape:
                return True
            if x.dtype.kind != "f":
                if not np.array_equal(x, y):
                    return True
                continue
            scale = np.abs(x[np.isfinite(x)]).max(initial=0)
            if not np.allclose(x, y, 0, 1e-5 * scale + 1e-12, equal_nan=True):
                return True
    return False


def feed_of(net, name, value):
    """As it is, or with rows for columns where the model was turned."""
    dims = next(i for i in net.graph.input if i.name == name).type.tensor_type.shape.dim
    fits = all(d.WhichOneof("value") != "dim_value" or d.dim_value == n for d, n in zip(dims, value.shape))
    return value if fits else value.swapaxes(2, 3)


def ancestors(net, node):
    found, open_ = set(), list(node.input)
    while open_:
        maker = net.maker(open_.pop())
        if maker is not None and maker.name not in found:
            found.add(maker.name)
            open_.extend(maker.input)
    return found


def mutated(base, net, made, mistake, choose, only=None):
    """The model with one mistake more, and [(node, cause, names by which the layer may go)]; None: there is no place."""
    cause, operators, make = mistake
    taken = {name for name, _, _ in made}
    nodes = [n.name for n in net.graph.node if n.op_type in operators and not n.name.startswith("added_") and n.name not in taken]
    choose.shuffle(nodes)
    for name in nodes if only is None else [only]:
        names = names_of(base, base.node(name))
        if any(names & earlier for _, _, earlier in made):
            continue
        changed = net.copy()
        node = next(n for n in changed.graph.node if n.name == name)
        try:
            done = make(changed, node)
            if not done:
                continue
            onnx.checker.check_model(changed.model)
            changed.run({i: feed_of(changed, i, value) for i, value in base.feeds[0].items()})
        except Exception:
            continue
        for also in done if isinstance(done, list) else []:  # layers that the mistake is as much about
            names |= names_of(base, base.node(also))
        return changed, [*made, (name, cause, names)]
    return None, []


def two(base, net, made, others, choose):
    """With a second mistake, where one of `others` has a place: each changes something by itself and beside the other, and
    both together do not undo each other."""
    before = [net.run({i: feed_of(net, i, value) for i, value in feed.items()}) for feed in base.feeds]
    for other in others:
        second, both = mutated(base, net, made, other, choose)
        if second is None or not changes(base, second, before) or not changes(base, second, base.answers):
            continue
        alone, _ = mutated(base, base.net, [], other, choose, only=both[1][0])
        if alone is None or not changes(base, alone, base.answers):
            continue
        if changes(base, second, [alone.run({i: feed_of(alone, i, value) for i, value in feed.items()}) for feed in base.feeds]):
            return second, both
    return net, made


def names_of(base, node):
    """By which the layer that this node is part of may go: its own name, the layer's, and its bias's or product's."""
    names = []
    for name in (node.name, *(output.removesuffix("/" + node.name) for output in node.output if output)):
        parts = name.split("/")
        names += ["/".join(parts[:i]) for i in range(1, len(parts) + 1)]
    after = base.net.only_reader(node.output[0])
    before = base.net.maker(node.input[0]) if node.input else None
    if node.op_type == "MatMul" and after is not None and after.op_type == "Add":
        names.append(after.name)
    if node.op_type == "Add" and before is not None and before.op_type == "MatMul":
        names.append(before.name)
    return {plain(name) for name in names}


def asked(binary, a, b):
    options = []
    for which, (_, words) in (("a", a), ("b", b)):
        for i in range(0, len(words), 2):
            options += [words[i] + (f"-{which}" if words[i] == "--weights" else ""), words[i + 1]]
    done = convoy(binary, "diff", a[0], b[0], *options, "--json")
    if done.returncode not in (0, 1):
        raise Refused(f"{done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["differences"]


def judged(base, net, made, found):
    """(layer, first, named, all, claimed, unknown, fix)"""
    def is_in(d, names):
        return plain(d["b"]) in names or plain(d["a"]) in names

    earliest = [m for m in made if not any(o[0] in ancestors(base.net, base.node(m[0])) for o in made if o is not m)]
    first = found[0] if found else None
    hit = next((m for m in earliest if first and is_in(first, m[2])), None)
    said = [d for d in found if hit and is_in(d, hit[2])]
    named = bool(hit) and any(hit[1] in [d["cause"], *d["also"]] for d in said)
    causes = {m[1] for m in made}
    wrong = [d for d in found if d["cause"] != "unknown" and d["certain"] and not causes & {d["cause"], *d["also"]}]
    everything = all(any(m[1] in [d["cause"], *d["also"]] and is_in(d, m[2]) for d in found) for m in made)
    return {
        "layer": bool(hit),
        "first": bool(hit) and said[0]["cause"] == hit[1],
        "named": named,
        "all": everything,
        "claimed": bool(wrong),
        "unknown": bool(first) and first["cause"] == "unknown",
        "fix": bool(first) and first["ratio_after_fix"] <= first["limit"],
    }


def shown(found):
    return [(d["a"], d["b"], d["cause"], d["also"], "sure" if d["certain"] else "unsure") for d in found]


def print_table(rows, forms, total, silent, refused, markdown):
    columns = ["asked", "layer", "first", "named", "claimed", "unknown", "fix"]
    head = ["first mistake", *columns, "silent"]
    body = [[cause, *(row[c] for c in columns), silent[cause]] for cause, row in sorted(rows.items())]
    body += [[cause, *(0 for _ in columns), n] for cause, n in sorted(silent.items()) if cause not in rows]
    body.append(["together", *(total[c] for c in columns), sum(silent.values())])
    if markdown:
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        print("\n".join("| " + " | ".join(map(str, row)) + " |" for row in body))
    else:
        print(f"{head[0]:<28}" + "".join(f"{h:>9}" for h in head[1:]))
        print("\n".join(f"{row[0]:<28}" + "".join(f"{v:>9}" for v in row[1:]) for row in body))
    print("\n" + ", ".join(f"{a} against {b}: {n}" for (a, b), n in sorted(forms.items())))
    n, pairs = max(total["asked"], 1), max(total["pairs"], 1)
    print(f"\n{total['asked']} asked, {total['pairs']} of them with two mistakes: first layer {total['layer'] / n:.1%}, "
          f"cause {total['named'] / n:.1%}, both causes of two {total['both'] / pairs:.1%}, fix verified {total['fix'] / n:.1%}, wrong confident causes {total['claimed'] / n:.2%}; "
          f"{sum(silent.values())} change nothing, {refused} refused")


class Bench:
    def __init__(self, options, place):
        self.options, self.place, self.choose = options, place, random.Random(options.seed)
        self.files = []
        for folder in options.folders:
            for case in sorted(Path(folder).iterdir()) if Path(folder).is_dir() else []:
                self.files += [case / n for n in ("model.keras", "model.pt2", "model.onnx") if (case / n).exists()][:1]
        self.choose.shuffle(self.files)
        self.bases, self.rows, self.silent, self.forms, self.total, self.refused = {}, {}, Counter(), Counter(), Counter(), 0

    def base_of(self, file):
        if file not in self.bases:
            try:
                self.bases[file] = Base(self.options.convoy, file, self.place)
            except Exception:
                self.bases[file] = None  # a model that is not carried
        return self.bases[file]

    def made_of(self, mistake):
        """(base, net, made) with the mistake, and perhaps a second one, in a random model; net is None where it changes nothing."""
        both = self.choose.random() < self.options.pairs and mistake[0] != "input_hw_swapped"
        others = self.choose.sample([m for m in MISTAKES if m[0] != "input_hw_swapped"], 24) if both else []
        for file in self.choose.sample(self.files, len(self.files)):
            base = self.base_of(file)
            if base is None or not any(n.op_type in mistake[1] for n in base.net.graph.node):
                continue
            net, made = mutated(base, base.net, [], mistake, self.choose)
            if net is None:
                continue
            try:
                if not changes(base, net, base.answers):
                    return base, None, made
                return base, *(two(base, net, made, others, self.choose) if others else (net, made))
            except Exception:
                continue
        return None

    def forms_of(self, base, net, made):
        """What is compared: the names of both forms, and the words that read them."""
        b_file = self.place / "b.onnx"
        onnx.save(net.model, b_file)
        b_form = self.choose.choice(["onnx", "onnx", "keras", "keras source", "torch"])
        a_form = self.choose.choice(["file", "file", "onnx"] if b_form != "onnx" else ["file", "file", "onnx", "keras source", "torch"])
        if made[0][1] == "input_hw_swapped":
            b_form = "onnx"  # a port takes the images upright and says so: the mistake would be gone
        if made[0][1] in STEPS:
            a_form, b_form = "file", "onnx"  # where whole numbers stay such
        b = written(self.options.convoy, b_file, net, b_form, self.place / "b")
        if b is None:
            b_form, b = "onnx", (str(b_file), [])
        a = (str(base.file), []) if a_form == "file" else base.form(a_form)
        if a is None:
            a_form, a = "file", (str(base.file), [])
        return base.file.suffix[1:] if a_form == "file" else a_form, b_form, a, b

    def ask(self, turn, mistake):
        asked_for = self.made_of(mistake)
        if asked_for is None:
            return
        base, net, made = asked_for
        if net is None:
            self.silent[mistake[0]] += 1
            return
        a_form, b_form, a, b = self.forms_of(base, net, made)
        try:
            found = asked(self.options.convoy, a, b)
        except (Refused, subprocess.TimeoutExpired) as error:
            self.refused += 1
            if self.options.show:
                print("refused", base.name, [m[:2] for m in made], a_form, b_form, str(error).replace("\n", " ")[:200], flush=True)
            return
        verdict = judged(base, net, made, found)
        self.forms[a_form, b_form] += 1
        for counter in (self.rows.setdefault(mistake[0], Counter()), self.total):
            counter["asked"] += 1
            counter.update({key: int(value) for key, value in verdict.items()})
        self.total["pairs"] += len(made) > 1
        self.total["both"] += len(made) > 1 and verdict["all"]
        if self.options.show and (verdict["claimed"] or not verdict["named"]):
            tags = [f"not {k}" for k in ("layer", "named") if not verdict[k]] + (["claimed"] if verdict["claimed"] else [])
            print(turn, base.name, [m[:2] for m in made], f"{a_form} -> {b_form}", ", ".join(tags), shown(found), flush=True)
            if self.options.keep:
                keep(self.options.keep, turn, a, b, self.place / "b.onnx")


def measure(options):
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(options, Path(place))
        mistakes = [m for m in MISTAKES if options.only in (None, m[0])]
        for turn in range(options.count * 3):
            if bench.total["asked"] >= options.count:
                break
            bench.ask(turn, mistakes[turn % len(mistakes)])
    print_table(bench.rows, bench.forms, bench.total, bench.silent, bench.refused, options.markdown)
    return bench.total


def keep(folder, turn, a, b, b_file):
    to = Path(folder) / str(turn)
    to.mkdir(parents=True, exist_ok=True)
    words = ["diff"]
    for which, (file, options) in (("a", a), ("b", b)):
        name, _, target = file.partition(":")
        kept = to / (which + "_" + Path(name).name)
        kept.write_bytes(Path(name).read_bytes())
        words.append(str(kept) + (":" + target if target else ""))
        for i in range(0, len(options), 2):
            value = options[i + 1]
            if options[i] == "--weights":
                (to / (which + "_" + Path(value).name)).write_bytes(Path(value).read_bytes())
                value = str(to / (which + "_" + Path(value).name))
            words += [options[i] + (f"-{which}" if options[i] == "--weights" else ""), value]
    (to / "b.onnx").write_bytes(Path(b_file).read_bytes())
    (to / "words").write_text(" ".join(words))


def options_of(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("convoy")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", type=float, default=0.25)
    parser.add_argument("--only", help="one cause")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--keep", help="folder for the models of answers that are not right")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args(words)


def main():
    total = measure(options_of())
    return 0 if total["asked"] else 1


if __name__ == "__main__":
    sys.exit(main())
