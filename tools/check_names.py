"""Do two sources of a part of the house each define a name without linkage? They are compiled in batches, and which of them
share one changes as files grow: the build would break, one day, at a file that nobody touched. Short parts share batches
(cmake/batches.cmake).

    python3 tools/check_names.py [FOLDER]     src/ where none is named

Looks at functions, types and constants of every .cpp that stand in unnamed namespaces or are static or constant. Functions
of other parameters overload one another and may share a name; aliases of the same type may too. Exit code 1 when one is
found, or when those in tests/refused/clashing_names are not.
"""
import re
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "tests/refused/clashing_names"
BATCH = int(re.search(r"CONVOY_BATCH_LINES (\d+)", (ROOT / "cmake/batches.cmake").read_text())[1])

SKIPPED = re.compile(
    r'R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|^\s*#(?:[^\\\n]|\\.)*', re.DOTALL | re.MULTILINE
)
CHARACTER = re.compile(r"(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.[^'\n]*)'")
TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|[0-9][\w.']*|\S")
CLOSES = {"(": ")", "{": "}", "[": "]"}
TYPES = {"struct", "class", "enum", "union"}


def tokens_of(text: str) -> list[tuple[str, int]]:
    """The tokens of a source and their lines, without comments, directives and what literals hold."""
    blank = lambda match: '""' * (match[0][:1] in '"R') + re.sub(r"[^\n]", " ", match[0])
    text = CHARACTER.sub("0", SKIPPED.sub(blank, text))
    found, line, at = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        found.append((match[0], line))
    return found


def past(tokens: list, at: int) -> int:
    """Behind the bracket that closes the one at `at`; templates' angles too."""
    opening = tokens[at][0]
    closing = CLOSES.get(opening, ">")
    depth = 0
    while at < len(tokens):
        token = tokens[at][0]
        if closing == ">" and token in CLOSES:
            at = past(tokens, at)
            continue
        depth += (token == opening) - (token == closing)
        at += 1
        if depth == 0:
            break
    return at


def statement(tokens: list, at: int) -> int:
    """Behind the declaration that begins at `at`: its semicolon or the body of a function."""
    while tokens[at][0] == "template" and tokens[at + 1][0] == "<":
        at = past(tokens, at + 1)
    begin = at
    assigned = False
    while at < len(tokens):
        token = tokens[at][0]
        if token == ";":
            return at + 1
        assigned |= token == "="
        if token in CLOSES:
            at = past(tokens, at)
            function = token == "{" and not assigned and any(t == "(" for t, _ in tokens[begin:at])
            if function and tokens[begin][0] not in TYPES and (at == len(tokens) or tokens[at][0] != ";"):
                return at
            continue
        at += 1
    return at


def signature(tokens: list, template: list) -> str:
    """The types of the parameters in the brackets that begin here; two functions that share them are one."""
    of_template = [a for (a, _), (b, _) in zip(template, template[1:]) if b in (",", ">", "=")]
    inside = [token for token, _ in tokens[1 : past(tokens, 0) - 1]]
    inside = [f"T{of_template.index(token)}" if token in of_template else token for token in inside]
    types, depth, now = [], 0, []
    for token in [*inside, ","]:
        depth += (token in "([{<") - (token in ")]}>")
        if token == "," and depth == 0:
            now = now[: now.index("=")] if "=" in now else now
            named = len(now) > 1 and re.match(r"[A-Za-z_]", now[-1]) and now[-2] not in ("::", "const")
            types.append(" ".join(now[:-1] if named else now))
            now = []
        else:
            now.append(token)
    return f"{'template' * bool(template)}({', '.join(types)})"


def declared(tokens: list) -> tuple[list[tuple[str, int, str]], bool]:
    """What a declaration brings: names, lines and signatures, and whether none is seen elsewhere whatever surrounds it."""
    template = tokens[1 : past(tokens, 1)] if tokens[0][0] == "template" else []
    while tokens and tokens[0][0] in ("template", "[", "requires", "__attribute__"):
        if tokens[0][0] == "template":
            if tokens[1][0] != "<" or tokens[2][0] == ">":
                return [], False  # an instantiation or a specialisation
            tokens = tokens[past(tokens, 1) :]
        elif tokens[0][0] in ("[", "__attribute__"):
            tokens = tokens[past(tokens, int(tokens[0][0] != "[")) :]
        else:  # a constraint: a name with its arguments, or brackets
            tokens = tokens[1:]
            while len(tokens) > 1 and (tokens[0][0] in ("<", "(", "::", "!") or tokens[1][0] in ("<", "::")):
                tokens = tokens[past(tokens, 0) :] if tokens[0][0] in "<(" else tokens[1:]
            tokens = tokens[1:] if tokens and tokens[0][0] == ">" else tokens
    words = [token for token, _ in tokens]
    if not words or words[0] in ("friend", "extern", "static_assert", "concept", "namespace"):
        return [], False
    if words[0] == "using":
        return ([(*tokens[1], "".join(words))], False) if "=" in words else ([], False)  # the same may be said twice
    own = "static" in words[:3] or ("constexpr" in words[:3] or words[0] == "const")
    names, at, fresh = [], 0, True
    if words[0] in TYPES:
        at = 1 + (words[1] in TYPES)
        if "{" not in words or words[at] in ("{", ":"):
            return [], False
        return ([] if words[at + 1] == "<" else [(*tokens[at], "")]), False
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        if re.match(r"[A-Za-z_]", word) and following in ("(", "=", "{", "[", ";", ",") and fresh:
            if at and words[at - 1] == "::":
                return names, own  # a member, or a constructor's argument
            if word == "operator" or (at and words[at - 1] == "operator"):
                return names, own
            names.append((*tokens[at], signature(tokens[at + 1 :], template) if following == "(" else ""))
            if following == "(":
                return names, "static" in words[:3]
            fresh = False
        elif word == "," and names:
            fresh = True
        if word in CLOSES or (word == "<" and at and re.match(r"[A-Za-z_]", words[at - 1])):
            at = past(tokens, at)
            continue
        at += 1
    return names, own


def names_without_linkage(text: str):
    """(namespace, name, line, signature) of each."""
    tokens, spaces, at = tokens_of(text), [], 0
    while at < len(tokens):
        token = tokens[at][0]
        if token == "namespace" or (token == "inline" and tokens[at + 1][0] == "namespace"):
            end = at
            while tokens[end][0] not in ("{", ";", "="):
                end += 1
            if tokens[end][0] == "{":
                spaces.append("".join(t for t, _ in tokens[at:end] if t not in ("namespace", "inline")))
                at = end + 1
            else:
                at = statement(tokens, at)
        elif token == "}":
            spaces.pop()
            at += 1
        else:
            end = statement(tokens, at)
            names, own = declared(tokens[at:end])
            if own or "" in spaces:
                for name, line, parameters in names:
                    yield "::".join(filter(None, spaces)), name, line, parameters
            at = end


def part_of(folder: Path) -> str:
    """The part of the house whose sources share batches (cmake/batches.cmake)."""
    name = folder.relative_to(ROOT).as_posix()
    if re.fullmatch(r"src/formats/[^/]+/(source|script)", name):
        return "programs"
    return re.sub(r"^(src/formats/[^/]+|[^/]+/[^/]+)(/.*)?$", r"\1", name)


def batches_of(sources: list[Path]) -> dict[Path, str]:
    """For each source the part with which it may share a batch; short parts share theirs."""
    lines: dict[str, int] = defaultdict(int)
    for path in sources:
        lines[part_of(path.parent)] += len(path.read_text().splitlines())
    return {path: "short parts" if lines[part] < BATCH // 3 else part for path in sources for part in [part_of(path.parent)]}


def clashes(folder: Path):
    """One line for each two files that are compiled together and could not share a batch: overloads could."""
    seen = defaultdict(list)
    sources = sorted(folder.rglob("*.cpp"))
    batch_of = batches_of(sources)
    for path in sources:
        for space, name, line, parameters in names_without_linkage(path.read_text()):
            seen[batch_of[path], space, name].append((path, line, parameters))
    for (_, _, name), places in seen.items():
        for (one, line, a), (other, other_line, b) in combinations(places, 2):
            function = a.endswith(")") and b.endswith(")")
            if one != other and (a == b if function else not a == b != ""):
                at = f"{one.relative_to(ROOT)}:{line} and {other.relative_to(ROOT)}:{other_line}"
                yield f"{at} both have '{name}': rename one, or let it stand once"


def main(named: list[str]) -> int:
    found = list(clashes(ROOT / (named[0] if named else "src")))
    wanted = (SAMPLES / "expected.txt").read_text().split()
    kept = [line.split("'")[1] for line in clashes(SAMPLES)]
    if kept != wanted:
        found.append(f"{SAMPLES.relative_to(ROOT)}: found {kept}, expected {wanted}")
    print("".join(f"{line}\n" for line in found), end="", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
