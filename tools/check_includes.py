"""Are the includes of src/ pointing the way the data flows, and does each concept stay in its one place?

Checks, one line per finding, exit code 1 when there is one:
  - an #include may only point back along the line in docs/architecture.md;
  - formats never include another format's folder;
  - nothing outside src/ops/padding.h and those beside it computes a pad, a crop, a reach or an output size of a window,
    and the samples in tests/refused show that this would be found;
  - text that is written for others to run says the arithmetic of SAME in src/formats/torch/catalogue/padding.cpp alone;
  - no model's or vendor's product name, and no absolute path, stands in src/;
  - only src/cli and python/ print or exit;
  - only src/run/fast includes Highway.
Then prints the sizes of the sources (a question to ask, not a gate) unless --quiet.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

SEES = {
    "base": set(),
    "containers": {"base"},
    "ops": {"base"},
    "graph": {"base", "ops"},
    "formats": {"base", "ops", "graph", "containers", "run"},
    "passes": {"base", "ops", "graph"},
    "run": {"base", "ops", "graph"},
    "functions": {"base", "ops", "graph", "containers", "formats", "run"},
    "explain": {"base", "ops", "graph", "containers", "formats", "passes", "run"},
    "prove": {"base", "ops", "graph", "containers", "formats", "passes", "run"},
    "diagnose": {"base", "ops", "graph", "containers", "formats", "passes", "run", "functions", "explain", "prove"},
    "port": {"base", "ops", "graph", "containers", "formats", "passes", "run", "prove", "diagnose"},
    "report": {"base", "ops", "graph", "containers", "formats", "passes", "run", "explain", "prove", "diagnose", "port"},
    "library": {"base", "ops", "graph", "containers", "formats", "passes", "run", "explain", "prove", "diagnose", "port", "report"},
    "cli": {"base", "ops", "graph", "containers", "formats", "passes", "run", "explain", "prove", "diagnose", "port", "report", "library"},
}

# A window's arithmetic: numbers made of a kernel, stride, dilation or reach, halves of pads, and placements at a made-up
# size. Remainders of a stride are no pads. tests/refused/window_arithmetic.txt holds a line for every kind.
MEMBER = r"(?:\.|->)(?:stride|dilation|kernel|reach\(\))(?![\w.(\[])"
WINDOW_ARITHMETIC = re.compile(
    rf"{MEMBER}\s*(?:[-*/]=?)(?!>)|{MEMBER}(?<!kernel)\s*\+"
    rf"|{MEMBER}\)+\s*/"
    rf"|(?<![-+*/])[-+*/]\s*\(*[\w.\[\]]*{MEMBER}(?!\s*(?:[=!<>]=|\?))"
    rf"|\b(?:ceil_div|floor_div)\([^;]*{MEMBER}"
    r"|\bplace\([^;]*reach\(\)"
    r"|full_length\([^;]*\)\s*[-+]|[-+]\s*full_length\("
    r"|kernel\w*\s*(\[[^\]]*\]|\([^)]*\))?\s*-\s*1\s*\)\s*\*|dilation\w*\s*\*\s*\("
    r"|\*\s*stride\s*[-+]\s*(?:before|pad)|before\s*[-+]\s*\w+\s*\*\s*dilation"
    r"|\b(?:pad|before|total|need|reach|kernel)\w*\s*/\s*2\b"
    r"|spelling\s*==\s*Spelling::Same\w+[^;]*stride|stride[^;]*spelling\s*==\s*Spelling::Same"
)
WINDOW_PLACES = {
    f"src/ops/{name}.h"
    for name in (
        "padding",
        "joined_window",
        "mistaken_padding",
        "transposed_padding",
        "pool_divisor",
        "agreement",
        "vocabulary",
        "transposed_vocabulary",
        "pad_solutions",
    )
}
# Sources that this check must find something in, line by line: proof that it would.
REFUSED = ROOT / "tests/refused/window_arithmetic.txt"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def computes_a_window(line: str) -> bool:
    return bool(WINDOW_ARITHMETIC.search(STRING.sub('""', COMMENT.sub("", line))))


# The same in text that the sources emit: a ceiling by a negated floor, halves of what is padded, ceilings less one window
# times a stride. Whole literals are looked at, those of several lines too.
LITERAL = re.compile(r'R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<plain>(?:[^"\\\n]|\\.)*)"|//[^\n]*|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
EMITTED_SAME = re.compile(
    r"-\(-[^()]*//|\bceil\([^()]*/[^()]*\)\s*-\s*1\)\s*\*"
    r"|(?:\b(?:t|total|pads?|padding|kernel\w*|k|reach|need\w*)(?:\[[^\]]*\]|\d)?|\})\s*//\s*2\b|^\s*//\s*2\b"
)
EMITTED_PLACE = "src/formats/torch/catalogue/padding.cpp"
EMITTED_SAMPLES = ROOT / "tests/refused/emitted_same.txt"


def literals(text: str):
    """The lines of every string literal, each with the number of its line."""
    for match in LITERAL.finditer(text):
        body = match["raw"] if match["raw"] is not None else match["plain"]
        first = text.count("\n", 0, match.start()) + 1
        for number, line in enumerate((body or "").split("\n"), first):
            yield number, line


def emits_same(text: str) -> list[int]:
    return [number for number, line in literals(text) if EMITTED_SAME.search(line)]


# A domain that files of ONNX name is a word of the format.
PRODUCTS = re.compile(
    r"\b(resnet|mobilenet|inception|densenet|efficientnet|xception|mtcnn|blazeface|yolo\w*|vgg\d*|crepe|magika|mmsplice"
    r"|deepcr|unet|alexnet|squeezenet|bert|nvidia|intel|qualcomm|apple|google|facebook|(?<!com\.)microsoft|huawei)\b",
    re.IGNORECASE,
)
MACHINE_PATH = re.compile(r"[\"' ]/(home|root|work|tmp|opt|Users|mnt)/\w")
SPEAKS = re.compile(r"\b(std::(cout|cerr|exit|abort|quick_exit)|printf|fprintf|fmt::print|puts)\b\s*[(<]")

COMMENT = re.compile(r"//.*")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# Highway is the business of the fast kernels alone.
VECTORS = re.compile(r"^\s*#\s*include\s+[<\"]hwy/")
VECTOR_PLACE = "src/run/fast/"


def sources(folder: Path):
    return sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cpp"})


def findings():
    for path in sources(SRC):
        name = path.relative_to(ROOT).as_posix()
        parts = path.relative_to(SRC).parts
        layer = parts[0]
        if layer not in SEES:
            yield f"{name}: src/{layer} is not a folder of the design"
            continue
        text = path.read_text()
        if name != EMITTED_PLACE:
            for number in emits_same(text):
                yield f"{name}:{number}: emitted text with the arithmetic of SAME belongs to {EMITTED_PLACE}"
        for number, line in enumerate(text.splitlines(), 1):
            at = f"{name}:{number}"
            if match := INCLUDE.match(line):
                yield from include_findings(at, path, parts, match[1])
                continue
            code = COMMENT.sub("", line)
            if VECTORS.match(line) and not name.startswith(VECTOR_PLACE):
                yield f"{at}: Highway belongs to {VECTOR_PLACE}"
            if name not in WINDOW_PLACES and computes_a_window(line):
                yield f"{at}: window arithmetic belongs to src/ops/padding.h and those beside it: {line.strip()}"
            if match := PRODUCTS.search(line):
                yield f"{at}: names a product, '{match[0]}'"
            if MACHINE_PATH.search(line):
                yield f"{at}: holds the path of one machine"
            if layer != "cli" and SPEAKS.search(code):
                yield f"{at}: only src/cli speaks to the user or ends the program: {line.strip()}"


def blind_spots():
    wanted = None
    for number, line in enumerate(REFUSED.read_text().splitlines(), 1):
        if line.startswith("#"):
            wanted = "found" in line
        elif line and computes_a_window(line) != wanted:
            yield f"{REFUSED.relative_to(ROOT)}:{number}: {'not found' if wanted else 'found'}: {line}"
    for number, line in enumerate(EMITTED_SAMPLES.read_text().splitlines(), 1):
        if line.startswith("#"):
            wanted = "found" in line
        elif line and bool(emits_same(line)) != wanted:
            yield f"{EMITTED_SAMPLES.relative_to(ROOT)}:{number}: {'not found' if wanted else 'found'}: {line}"


def include_findings(at, path, parts, target):
    layer = parts[0]
    first = target.split("/")[0]
    if not (SRC / target).exists():
        if first == "convoy" or (ROOT / "include" / target).exists():
            return
        if (path.parent / target).exists():
            yield f'{at}: write the include from src/ on: "{"/".join(parts[:-1])}/{target}"'
        else:
            yield f'{at}: there is no src/{target}; third-party headers go in <>'
        return
    if first != layer and first not in SEES[layer]:
        yield f"{at}: {layer} may not see {first}"
    if layer == "formats" and first == "formats" and len(parts) > 2:
        folder = target.split("/")[1]
        if "/" in target[len("formats/"):] and folder != parts[1]:
            yield f"{at}: format {parts[1]} may not see format {folder}"


def print_sizes():
    rows = [(len(p.read_text().splitlines()), p.relative_to(ROOT).as_posix()) for p in sources(SRC)]
    if not rows:
        return
    lengths = sorted(n for n, _ in rows)
    print(f"src: {sum(lengths)} lines in {len(rows)} files, median {lengths[len(lengths) // 2]}")
    for folder in SEES:
        here = [n for n, name in rows if name.startswith(f"src/{folder}/")]
        if here:
            print(f"  {folder:<11}{sum(here):>6} lines {len(here):>4} files")
    for n, name in sorted(rows, reverse=True)[:10]:
        if n > 400:
            print(f"  {n:>6}  {name}: what is it hiding?")


def main() -> int:
    found = list(findings()) + list(blind_spots())
    for line in found:
        print(line)
    if "--quiet" not in sys.argv:
        print_sizes()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
