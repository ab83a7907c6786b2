"""Every Keras model of the corpus, in every form: answered by convoy's runtime and by its port in real PyTorch."""
import json
from pathlib import Path

import numpy as np
import pytest
from carrying import FULL, assert_close, cases_in, check_itself, convoy, port, run_natively

CORPUS = cases_in("corpus/keras")
FORMS = {  # what is handed to convoy: the model, and where it has none of its own, its weights
    "keras": ["keras"],
    "h5": ["h5"],
    "weights_h5": ["json", "weights_h5"],
    "weights_h5_old": ["json", "weights_h5_old"],
}
# May be refused by name for now; docs/coverage.md says why.
MAY_BE_REFUSED = set()


def read(case: str) -> dict:
    return json.loads((CORPUS / case / "case.json").read_text())


def rows():
    """(case, form) for everything that can be read; cases that must be refused are apart."""
    if CORPUS is None:
        return [], []
    carried, refused = [], []
    for file in sorted(CORPUS.glob("*/case.json")):
        case = json.loads(file.read_text())
        into = refused if case.get("refuse") else carried
        into += [
            (case["name"], form)
            for form, parts in FORMS.items()
            if form in case["files"] and all((file.parent / case["files"][part]).exists() for part in parts)
        ]
    return carried, refused


CARRIED, REFUSED = rows()
ONE_FORM = [(case, form) for case, form in CARRIED if form == "keras"]
PORTED = CARRIED if FULL else ONE_FORM
FREE = [case for case, _ in ONE_FORM if any(d is None for i in read(case)["inputs"] for d in i["shape"][1:])]

pytestmark = pytest.mark.skipif(CORPUS is None, reason="no corpus: neither beside the project nor in tests/data")


def source(case: dict, form: str) -> list:
    folder = CORPUS / case["name"]
    model, *weights = [folder / case["files"][name] for name in FORMS[form]]
    return [model, *(["--weights", weights[0]] if weights else [])]


def stored(case: dict, letter: str) -> tuple[dict, list]:
    folder = CORPUS / case["name"]
    return (
        {row["name"]: np.load(folder / f"input{letter}_{i}.npy") for i, row in enumerate(case["inputs"])},
        [np.load(folder / f"output{letter}_{i}.npy") for i in range(len(case["outputs"]))],
    )


def names_in(config) -> set[str]:
    """Every layer's name and class in a Keras configuration."""
    found = set()
    if isinstance(config, dict):
        found |= {config[k] for k in ("name", "class_name", "registered_name") if isinstance(config.get(k), str)}
    for inner in config.values() if isinstance(config, dict) else config if isinstance(config, list) else []:
        found |= names_in(inner)
    return found


def assert_refused_by_name(case: dict, done) -> None:
    assert done.returncode == 6, f"exit code {done.returncode}, not 6\n{done.stdout}{done.stderr}"
    names = names_in(json.loads((CORPUS / case["name"] / case["files"]["json"]).read_text()))
    assert any(f"'{name}'" in done.stderr for name in names), f"names no layer of the model: {done.stderr}"


def may_be_refused(case: dict, arguments: list) -> None:
    if case["name"] in MAY_BE_REFUSED:
        done = convoy("summary", *arguments, code=None)
        read_first = convoy("run", *arguments, "--input", "never-read.npy", code=None)
        if read_first.returncode == 6:
            assert done.returncode == 0, "summary shows also what cannot be carried"
            assert_refused_by_name(case, read_first)
            pytest.skip(read_first.stderr.strip())


@pytest.mark.parametrize("case, form", CARRIED, ids=[f"{c}-{f}" for c, f in CARRIED])
def test_the_runtime_gives_the_stored_outputs(case, form, tmp_path):
    case = read(case)
    may_be_refused(case, source(case, form))
    for letter in case["sets"]:
        inputs, want = stored(case, letter)
        got = run_natively(source(case, form), inputs, tmp_path)
        assert_close(got, want, 2e-5, f"set '{letter}'")


@pytest.mark.parametrize("case, form", PORTED, ids=[f"{c}-{f}" for c, f in PORTED])
def test_the_port_gives_the_stored_outputs_in_pytorch(case, form, tmp_path):
    case = read(case)
    may_be_refused(case, source(case, form))
    ported = port(source(case, form), tmp_path / f"{case['name']}.py")
    for letter in case["sets"]:
        inputs, want = stored(case, letter)
        assert_close(ported(list(inputs.values())), want, 2e-5, f"set '{letter}'")
    assert "agrees" in check_itself(ported.path)


@pytest.mark.parametrize("case, form", REFUSED, ids=[f"{c}-{f}" for c, f in REFUSED])
def test_foreign_code_is_refused_naming_the_layer(case, form, tmp_path):
    case = read(case)
    out = tmp_path / "out.py"
    assert_refused_by_name(case, convoy("port", *source(case, form), "--to", "torch", "-o", out, code=None))
    assert not list(tmp_path.iterdir()), "a refusal leaves files behind"


def own_loader_fails():
    for case in sorted({case for case, _ in CARRIED}):
        for form, file in (read(case).get("files_own_loader_fails") or {}).items():
            yield case, form, file


@pytest.mark.parametrize("case, form, file", list(own_loader_fails()))
def test_a_file_that_keras_cannot_load_is_read_or_refused_with_a_reason(case, form, file, tmp_path):
    case = read(case)
    arguments = [CORPUS / case["name"] / file]
    done = convoy("port", *arguments, "--to", "torch", "-o", tmp_path / "out.py", code=None)
    if done.returncode == 6:
        assert_refused_by_name(case, done)
        return
    for letter in case["sets"]:
        inputs, want = stored(case, letter)
        assert_close(run_natively(arguments, inputs, tmp_path), want, 2e-5)


def keras_of(case: dict):
    """The framework that wrote the case."""
    if case["source"].startswith("tf_keras"):
        import tf_keras

        return tf_keras
    import keras

    return keras


@pytest.mark.sampled
@pytest.mark.parametrize("case", FREE)
def test_a_free_size_holds_at_one_more_size(case, tmp_path):
    """Computed by Keras here, at a size that is not stored."""
    case = read(case)
    model = keras_of(case).models.load_model(CORPUS / case["name"] / case["files"]["keras"], compile=False)
    first, _ = stored(case, case["sets"][0])
    random = np.random.default_rng(3)
    for more in (3, 5, 8, 16):  # a network with skips takes only some sizes
        inputs = {}
        for row in case["inputs"]:
            shape = list(first[row["name"]].shape)
            free = [i for i, size in enumerate(row["shape"]) if i and size is None]
            for turn, axis in enumerate(free):
                shape[axis] += more * (1 + turn)
            inputs[row["name"]] = random.standard_normal(shape).astype(row["dtype"])
        try:
            want = model(list(inputs.values()) if len(inputs) > 1 else next(iter(inputs.values())), training=False)
            break
        except Exception:  # noqa: BLE001  whatever Keras raises for a size that does not fit
            continue
    else:
        pytest.skip("Keras takes none of the sizes tried")
    want = [np.asarray(y) for y in (want if isinstance(want, (list, tuple)) else [want])]
    assert_close(run_natively(source(case, "keras"), inputs, tmp_path), want, what="runtime")
    ported = port(source(case, "keras"), tmp_path / f"{case['name']}.py")
    assert_close(ported(list(inputs.values())), want, what="port")
