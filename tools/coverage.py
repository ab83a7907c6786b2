"""Writes docs/coverage.md: what is carried, and what is refused and why, as build/release/convoy answers it.

    python3 tools/coverage.py            writes it
    python3 tools/coverage.py --strangers    prints how the files of public repositories were answered, by cause
    python3 tools/coverage.py --check    exit code 1 if it is not what the file holds

Every model of the Keras corpus is ported in every form; the reasons are convoy's own words.
"""
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONVOY = ROOT / "build" / "release" / "convoy"
PAGE = ROOT / "docs" / "coverage.md"
SHARED = Path(os.environ.get("CONVOY_SHARED", ROOT.parent / "shared"))
FORMS = {"keras": ["keras"], "h5": ["h5"], "weights_h5": ["json", "weights_h5"], "weights_h5_old": ["json", "weights_h5_old"]}

HEAD = """# Coverage

Made by `tools/coverage.py`; `make oracle` fails when it is out of date. "Carried" means: read, ported to PyTorch and shown
equal by the proof; `make oracle` also runs every port in real PyTorch.

Keras 1.2 spellings (`Convolution2D`, `nb_filter`, `border_mode`, `subsample`) are read too, tested on files made by hand
from the old documentation: unverified, as no Keras 1.2 runs here.
"""


def answer(row):
    folder, form, files = row
    with tempfile.TemporaryDirectory() as out:
        model, *weights = [folder / name for name in files]
        bound = ["--weights", weights[0]] if weights else []
        done = subprocess.run(
            [CONVOY, "port", model, *bound, "--to", "torch", "-o", Path(out) / "port.py"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )
    last = next(iter(done.stderr.strip().splitlines()[::-1]), "") if done.returncode else ""
    lines = [line for line in done.stderr.splitlines() if str(model) in line or model.name in line]
    reason = (lines[0] if lines and done.returncode else last).replace(str(folder) + "/", "")
    return folder.name, form, done.returncode, reason


def strangers() -> list[str]:
    """The verdicts of the list of public files that is kept in tests/oracle, counted."""
    lines = (ROOT / "tests" / "oracle" / "strangers.tsv").read_text().splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]
    asked = [row for row in rows if row["verdict"] in ("right", "wrong", "refused")]
    of = Counter(row["verdict"] for row in asked)
    text = [f"{len(rows)} files of {len({row['repository'] for row in rows})} repositories. For {len(asked)} of them the framework makes a"
            f" model without more than sizes: {of['right']} answer as it does, {of['wrong']} answer otherwise, {of['refused']} are refused:\n"]
    text += ["| cause | files |", "|---|---|"]
    causes = Counter(row["cause"] for row in asked if row["verdict"] == "refused")
    return text + [f"| {cause} | {count} |" for cause, count in causes.most_common()]


def page() -> str:
    corpus = next((p for p in (SHARED / "corpus" / "keras", ROOT / "tests" / "data" / "corpus" / "keras") if p.is_dir()))
    rows = []
    for file in sorted(corpus.glob("*/case.json")):
        case = json.loads(file.read_text())
        for form, keys in FORMS.items():
            if form in case["files"] and all((file.parent / case["files"][k]).exists() for k in keys):
                rows.append((file.parent, form, [case["files"][k] for k in keys]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(answer, rows))
    carried = Counter(code == 0 for _, _, code, _ in answers)
    text = [HEAD, "## Operators\n", "```", subprocess.run([CONVOY, "ops"], capture_output=True, text=True).stdout.rstrip(), "```\n"]
    text += ["## The corpus of Keras models\n", f"{carried[True]} of {len(answers)} files are carried. Refused:\n"]
    text += ["| model | form | exit code | reason |", "|---|---|---|---|"]
    text += [f"| {name} | {form} | {code} | {reason.replace('|', '&#124;')} |" for name, form, code, reason in answers if code]
    text += ["", "## Source of strangers\n", "Model files of public repositories, each at one commit, none of them chosen by how it is answered"
             " (`tests/oracle/strangers.tsv`).", *strangers()]
    return "\n".join(text) + "\n"


def main() -> int:
    if "--strangers" in sys.argv:
        print(*strangers(), sep="\n")
        return 0
    text = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text() != text:
            print("docs/coverage.md is out of date: python3 tools/coverage.py")
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
