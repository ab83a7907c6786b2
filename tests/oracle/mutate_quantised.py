"""mutate_quantised.py CONVOY [--count 200] [--seed 0] [--show]: one wrong scale, zero point or axis in quantised files, and whether
`convoy diff` names it.

TFLite files of its converter (int8, int8 outside), exported PyTorch programs and files of ONNX Runtime's quantiser (QDQ, QOperator), each
beside the file without the mistake or, where weights or biases are wrong, beside the float model. Seen: some difference is reported. A cause
is named where it stands first or under `also`, sole where no other difference and no other cause is reported.
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

sys.path.insert(0, str(Path(__file__).parent))
import test_quantised_faults as models  # noqa: E402
from mutation import onnx_steps, program, tflite_file  # noqa: E402
from quantised_models import carried_float, made  # noqa: E402


def tflite_cases(place):
    made_of = models.converted_models(place)
    for kind in ("int8", "int8 outside"):
        yield "tflite", tflite_file, tflite_file.Flat, made_of / "net.keras", made_of / f"{kind}.tflite"


def program_cases(place):
    real = models.exported(place / "real.pt2", None, (models.REAL, models.SCALES))
    yield "pt2", program, program.Program, real, models.exported(place / "steps.pt2")


def onnx_cases(_):
    for net in ("plain", "residual", "joined"):
        for form in ("qdq_u8", "qdq_s8", "qoperator"):
            for channels in (False, True):
                yield form, onnx_steps, onnx_steps.File, carried_float(net), made(net, form, channels)



def asked(binary, a, b):
    done = subprocess.run([binary, "diff", str(a), str(b), "--json"], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        return None
    return json.loads(done.stdout)["differences"]


class Tally:
    def __init__(self):
        self.rows = {}

    def add(self, key, cause, found):
        row = self.rows.setdefault(key, Counter())
        row["asked"] += 1
        row["seen"] += bool(found)
        row["named"] += bool(found) and cause in [found[0]["cause"], *found[0]["also"]]
        row["sole"] += len(found) == 1 and found[0]["cause"] == cause
        return len(found) == 1 and found[0]["cause"] == cause

    def show(self):
        columns = ["asked", "seen", "named", "sole"]
        print(f"{'':<52}" + "".join(f"{c:>8}" for c in columns))
        for key, row in sorted(self.rows.items()):
            print(f"{' '.join(key):<52}" + "".join(f"{row[c]:>8}" for c in columns))
        total = sum(self.rows.values(), Counter())
        print(f"{'together':<52}" + "".join(f"{total[c]:>8}" for c in columns))
        return total


def measure(binary, count, seed=0, show=False):
    choose, tally = random.Random(seed), Tally()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        cases = [*tflite_cases(place), *program_cases(place), *onnx_cases(place)]
        kinds = sorted({case[0] for case in cases})
        turn = 0
        while sum(row["asked"] for row in tally.rows.values()) < count and turn < 4 * count:
            kind, family, read, real, source = choose.choice([case for case in cases if case[0] == kinds[turn % len(kinds)]])
            turn += 1
            is_twin = bool(turn % 2)
            mistake = choose.choice(family.OF_WEIGHTS if is_twin else family.OF_WEIGHTS + family.OF_ACTIVATIONS)
            file = read(source)
            done = mistake(file, choose)
            if done is None:
                continue
            file.save(place / f"b{source.suffix}")
            found = asked(binary, real if is_twin else source, place / f"b{source.suffix}")
            if found is None:
                continue
            key = (kind, "beside the float model" if is_twin else "beside the honest", mistake.__name__)
            if not tally.add(key, done[1], found) and show:
                print(*key, done, source.name, [(d["a"], d["b"], d["cause"], d["change"][:90]) for d in found], flush=True)
    return tally


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("convoy")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    measure(options.convoy, options.count, options.seed, options.show).show()


if __name__ == "__main__":
    main()
