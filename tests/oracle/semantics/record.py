"""Asks the frameworks what they do at the edges and keeps their answers: tests/data/semantics/*.jsonl.

    tools/oracle_venv.sh            says the interpreter that has them
    PYTHON tests/oracle/semantics/record.py [torch|keras|onnx|tensorflow ...]
"""
import importlib
import os
import sys
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", KERAS_BACKEND="tensorflow")
sys.path.insert(0, str(Path(__file__).parent))

from edges import SIGNS, first_line, line_of, written  # noqa: E402  after the environment

KEPT = Path(__file__).resolve().parents[2] / "data" / "semantics"


def record(name):
    module = importlib.import_module(f"{name}_rows")
    KEPT.mkdir(exist_ok=True)
    kept = refused = 0
    seen = set()
    with open(KEPT / f"{name}.jsonl", "w") as out:
        for identity, call, inputs, exact in module.rows():
            identity, count = f"{name}: {identity}", 2
            while identity in seen:
                identity, count = f"{identity.split(' #')[0]} #{count}", count + 1
            seen.add(identity)
            row = {"id": identity, "framework": module.framework()}
            try:
                model, fed = module.build(call, inputs)
            except Exception as error:  # the framework has no such model
                print("no model:", identity, first_line(error), file=sys.stderr)
                continue
            row |= {"model": model, "exact": bool(exact), "signs": bool(SIGNS.fullmatch(identity.split(": ", 1)[1])), "inputs": [written(x) for x in fed]}
            try:
                row["outputs"] = [written(y) for y in module.answer(model, fed)]
                kept += 1
            except Exception as error:
                row["error"] = first_line(error)
                refused += 1
            out.write(line_of(row) + "\n")
    print(f"{name}: {kept} answers, {refused} refusals")


if __name__ == "__main__":
    for one in sys.argv[1:] or ["torch", "keras", "onnx", "tensorflow"]:
        record(one)
