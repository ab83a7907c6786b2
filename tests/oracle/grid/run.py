"""Random calls of a framework, answered by the framework itself and by `golden`; disagreements are shrunk.

    python tests/oracle/grid/run.py [FRAMEWORK...] [--count N] [--seed S] [--golden build/release/golden] [--keep FOLDER]

N calls of each framework; case i of seed S is always the same call. Exit code 1 when one answer differs. A report names
the seed, the smallest call found and both answers; --keep writes the shrunk cases as lines that golden reads.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from shrinking import shrink  # noqa: E402
from worker import MODULES, Worker  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "build/release/golden"
VERDICT = re.compile(r"^(failed |refused) (\S+): (.*)$")
SHRUNK = 12  # disagreements of one run that are made smaller


class Outcome:
    def __init__(self, framework, seed):
        self.framework, self.seed = framework, seed
        self.agreed, self.refused_by_both, self.seconds = 0, 0, 0.0
        self.known = collections.Counter()
        self.differences = []  # {"name", "kind", "setting", "reason", "call"}

    def report(self):
        lines = [f"{self.framework}: {self.agreed} calls agree ({self.refused_by_both} of them refused by both), "
                 f"{len(self.differences)} differ, seed {self.seed}, {self.seconds:.0f} s"]
        lines += [f"    {count} not compared: {cause}" for cause, count in self.known.most_common()]
        for one in self.differences[:SHRUNK]:
            lines.append(f"    {one['name']}: {one['reason']}\n        {one['call']}")
            if one.get("smallest"):
                lines.append(f"        smallest: {one['smallest']['reason']}\n        {one['smallest']['call']}\n"
                             f"        {one['smallest']['inputs']}")
        return "\n".join(lines)


def judge(golden, lines):
    """{name: reason} of the lines that golden does not agree with."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for line in lines:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        file.flush()
        said = subprocess.run([golden, "--every", "--through", "plain", file.name], capture_output=True, text=True)
    if said.returncode not in (0, 1):
        raise RuntimeError(f"golden ends with {said.returncode}: {said.stderr[:500]}")
    verdicts = (VERDICT.match(line) for line in said.stdout.splitlines())
    return {v[2]: v[1].strip() + ": " + v[3] for v in verdicts if v}


def ask(framework, seed, cases):
    """The settings and answers of some case numbers, from a process of their own."""
    worker, answers = Worker(framework), []
    for case in cases:
        kind, setting, simplest = worker.draw(f"{seed}/{case}")
        answers.append((kind, setting, simplest, worker.run(kind, setting, f"{seed}.{case}")))
    worker.close()
    return answers


def made_smaller(golden, worker, kind, setting, simplest, reason, refused):
    """A refusal stays a refusal while it shrinks, ours and the framework's, and a wrong number a wrong number."""
    last = {}

    def still_differs(candidate):
        answer = worker.run(kind, candidate, "smallest")
        if "line" not in answer or ("error" in answer["line"]) != refused:
            return None
        found = next(iter(judge(golden, [answer["line"]]).values()), None)
        if not found or found.split(":")[0] != reason.split(":")[0]:
            return None
        last["line"] = answer["line"]
        return found

    setting, found = shrink(setting, simplest, still_differs)
    if not found:
        return None
    line = last["line"]
    inputs = {k: (v["shape"], v["data"][:24]) for k, v in line["inputs"].items()}
    wanted = line.get("error") or (line["output"]["shape"], line["output"]["data"][:24])
    return {"reason": found, "call": line["call"], "inputs": f"{inputs} -> {wanted}", "line": line}


def run(framework, count, seed, golden=GOLDEN, processes=None):
    outcome, began = Outcome(framework, seed), time.monotonic()
    processes = processes or max(1, min(os.cpu_count() or 1, count // 100))
    slices = [range(i, count, processes) for i in range(processes)]
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        answered = [one for part in pool.map(lambda cases: ask(framework, seed, cases), slices) for one in part]
    lines, about = [], {}
    for kind, setting, simplest, answer in answered:
        if "line" in answer:
            lines.append(answer["line"])
            about[answer["line"]["id"]] = (kind, setting, simplest)
        elif "impossible" not in answer:
            outcome.known[answer.get("cause") or answer["ended"]] += 1
    differing = judge(golden, lines) if lines else {}
    outcome.agreed = len(lines) - len(differing)
    outcome.refused_by_both = sum("error" in line and line["id"] not in differing for line in lines)
    by_name = {line["id"]: line for line in lines}
    worker, seen = Worker(framework), set()
    for name, reason in differing.items():
        kind, setting, simplest = about[name]
        one = {"name": name, "kind": kind, "setting": setting, "reason": reason, "call": by_name[name]["call"]}
        alike = (kind, re.sub(r"[-\d.]+", "#", reason))
        if alike not in seen and len(seen) < SHRUNK and "not mapped: " not in reason:
            seen.add(alike)
            refused = "error" in by_name[name]
            one["smallest"] = made_smaller(golden, worker, kind, setting, simplest, reason, refused)
        outcome.differences.append(one)
    worker.close()
    outcome.differences.sort(key=lambda one: one.get("smallest") is None)
    outcome.seconds = time.monotonic() - began
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", choices=[[], *MODULES])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--golden", default=GOLDEN)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    broken = False
    for framework in options.frameworks or MODULES:
        outcome = run(framework, options.count, options.seed, options.golden)
        print(outcome.report(), flush=True)
        broken |= bool(outcome.differences)
        kept = [one["smallest"]["line"] | {"id": one["name"]} for one in outcome.differences if one.get("smallest")]
        if options.keep and kept:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{framework}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
