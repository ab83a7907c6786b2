"""Does every source stand alone? Builds compile the sources of a folder together, where a forgotten include or a name that
shadows another goes unseen.

    python3 tools/alone.py [FILE...]     all of src/ where no file is named; a header stands for the sources that include it

What a source includes by itself or through others of ours decides which of the headers that take long to read are
precompiled for it, so that a source which forgets one is not given it; only their order goes unseen. Templates that a
compiler may instantiate at the end of a source are left to the builds: they are two thirds of its time.
Exit code 1, and the compiler's own words, where a source does not compile.
"""
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include")
SLOW = ("graph/graph.h", "convoy/tensor.h", "nlohmann/json.hpp", "fmt/format.h", "filesystem", "CLI/CLI.hpp")  # most of what a source costs
END = "the source ends here"  # a false assertion behind it: the compiler stops where nothing stopped it before
WORTH = 8  # sources that share them make up for precompiling them
FLAGS = """--param ggc-min-heapsize=524288 -std=c++23 -Isrc -Iinclude -Wall -Wextra -Wpedantic -Wshadow -Werror
  -Wno-missing-field-initializers -Wno-non-template-friend -DCONVOY_VERSION="0" """.split()


@cache
def included(path: Path) -> tuple[str, ...]:
    """The names in a file's #include lines, in order."""
    return tuple(re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE))


def reached(path: Path) -> set[str]:
    """Every name that a file includes, by itself or through headers of ours."""
    names, ahead = set(), [path]
    while ahead:
        for name in included(ahead.pop()):
            if name in names:
                continue
            names.add(name)
            ahead += [ROOT / folder / name for folder in FOLDERS if (ROOT / folder / name).exists()]
    return names


def slow_headers(path: Path) -> tuple[str, ...]:
    """Those of SLOW that a file includes, by itself or through headers of ours."""
    names = reached(path)
    return tuple(header for header in SLOW if header in names)


def compiler(*arguments: str, source: str = "") -> subprocess.CompletedProcess:
    words = ["g++", *FLAGS, *arguments]
    return subprocess.run(words, cwd=ROOT, input=source, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"})


def precompiled(headers: tuple[str, ...], folder: Path) -> list[str]:
    """The options that give a source `headers` at once; none where they do not compile, which the source then says."""
    text = folder / f"{'_'.join(re.sub(r'[^a-z]', '', h) for h in headers)}.h"
    text.write_text("".join(f"#include <{header}>\n" for header in headers))
    made = compiler("-x", "c++-header", str(text), "-o", f"{text}.gch")
    return ["-Winvalid-pch", "-include", str(text)] if made.returncode == 0 else []


def complaint(source: str, options: list[str]) -> str:
    """What the compiler says of a source by itself; empty where it is content."""
    ended = f'#include "{ROOT / source}"\nstatic_assert(false, "{END}");\n'
    first = compiler("-fsyntax-only", "-Wfatal-errors", *options, "-x", "c++", "-", source=ended)
    if END in first.stderr:
        return ""
    return compiler("-fsyntax-only", *options, source).stderr or first.stderr or f"{source}: g++ ended with {first.returncode}\n"


def meant(named: list[str]) -> list[str]:
    """The sources among `named`, and those that include a header among them directly."""
    every = subprocess.check_output(["git", "ls-files", "src/*.cpp"], cwd=ROOT, text=True).split()
    headers = {name.removeprefix("src/").removeprefix("include/") for name in named if name.endswith(".h")}
    including = [source for source in every if headers and headers & set(included(ROOT / source))]
    return sorted({name for name in named if not name.endswith(".h")} | set(including)) if named else every


def main(named: list[str]) -> int:
    sources = meant(named)
    groups = defaultdict(list)
    for source in sources:
        groups[slow_headers(ROOT / source)].append(source)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        worth = [headers for headers, group in groups.items() if headers and len(group) >= WORTH]
        options = dict(zip(worth, pool.map(lambda headers: precompiled(headers, Path(folder)), worth)))
        asked = [(source, options.get(headers, [])) for headers, group in groups.items() for source in group]
        complaints = [said for said in pool.map(lambda one: complaint(*one), asked) if said]
    sys.stderr.write("".join(complaints))
    if not complaints:
        print(f"alone: {len(sources)} sources compile by themselves")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
