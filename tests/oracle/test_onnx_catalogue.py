"""The rows of src/formats/onnx/catalogue against ONNX's own definitions: operators, versions, inputs, attributes."""
import re
from pathlib import Path

import onnx.defs
import pytest

ROOT = Path(__file__).parents[2]
OLDEST = 7
KIND = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "F", "INTS": "I", "STRINGS": "S"}
ANY = 1 << 20


def rows():
    """Name -> (versions, inputs, attributes, results) as the rows say them."""
    found = {}
    for file in sorted((ROOT / "src/formats/onnx/catalogue").glob("*.cpp")):
        text = file.read_text()
        for m in re.finditer(r'Operator\{"(\w+)", \{([^}]*)\}, "([^"]*)", "([^"]*)"(.*)\}', text):
            results = re.search(r"\{(\d+), (\w+)\}", m[5])
            counts = (int(results[1]), ANY if results[2] == "any_number" else int(results[2])) if results else (1, 1)
            assert m[1] not in found, m[1]
            found[m[1]] = ([int(n) for n in m[2].split(",") if n], m[3].split(), m[4].split(), counts)
    return found


def versions(word):
    """The word without its versions, and these."""
    name, _, said = word.partition("@")
    since, _, until = said.partition("-")
    return name, int(since or OLDEST), int(until or 28)


def schemas():
    """Name -> its definitions in force at opset 7 or later, with the opsets for which they hold."""
    by_name = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            by_name.setdefault(schema.name, []).append(schema)
    for name, all_of in by_name.items():
        all_of.sort(key=lambda s: s.since_version)
        ends = [s.since_version - 1 for s in all_of[1:]] + [28]
        by_name[name] = [(max(s.since_version, OLDEST), end, s) for s, end in zip(all_of, ends) if end >= OLDEST]
    return by_name


ROWS, SCHEMAS = rows(), schemas()


def test_every_operator_has_a_row():
    assert set(ROWS) == set(SCHEMAS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_row_is_what_onnx_defines(name):
    said, inputs, attributes, results = ROWS[name]
    since, until = said[0] if said else OLDEST, said[1] if len(said) > 1 else 28
    inputs, attributes = [versions(w) for w in inputs], [versions(w) for w in attributes]
    live = [(first, last, s) for first, last, s in SCHEMAS[name] if not s.deprecated]
    assert since == SCHEMAS[name][0][0]
    if not SCHEMAS[name][-1][2].deprecated:
        assert until == 28
    for first, last, schema in live:
        if last > until:
            continue
        for opset in (first, last):
            here = sorted(w for w, a, b in attributes if a <= opset <= b)
            wanted = sorted(f"{a}:{KIND.get(x.type.name, 'p')}" for a, x in schema.attributes.items())
            assert here == wanted, opset
            given = [w for w, a, b in inputs if a <= opset <= b]
            assert len(given) == len(schema.inputs) or name == "Scan", opset
            several = bool(given) and "..." in given[-1]
            assert several == (schema.max_input > 1000), opset
            if not several:
                assert len(given) == schema.max_input, opset
        assert results[0] <= schema.min_output and min(schema.max_output, ANY) <= results[1], first
