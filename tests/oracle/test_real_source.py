"""Model code as pip installs it, read where it lies and unmodified: the networks of `pytorchcv` and of `keras.applications`
with weights that their frameworks saved answer as the frameworks do; what is refused is refused at its place."""
import ast
import importlib
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

TOLERANCE = 5e-5


def folder_of(package: str) -> Path | None:
    """Where a package lies; nothing: it is not installed."""
    found = importlib.util.find_spec(package)
    return Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None


# ---- pytorchcv: one network of each file

PYTORCHCV = folder_of("pytorchcv")


def makers() -> dict[str, tuple[str, str]]:
    """File and input shape by the first function of each file that makes a network of its own."""
    found = {}
    for file in sorted((PYTORCHCV / "models").glob("*.py")) if PYTORCHCV else []:
        tree = ast.parse(file.read_text())
        functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
        test = next((f for f in functions if f.name == "_test"), None)
        words = ast.unparse(test) if test else ""
        names = [f.name for f in functions if f.args.kwarg and any(
            isinstance(n, ast.Call) and getattr(n.func, "id", "").startswith("get_") for n in ast.walk(f))]
        if not names or "torch.randn" not in words:
            continue
        drawn = words.split("torch.randn(")[1].split(")")[0].replace("batch", "1").replace(" ", "")
        said = re.search(r"\bin_size = \((\d+), (\d+)\)", words)  # what the file's own test draws, where that is small
        small = said and max(map(int, said.groups())) <= 640
        for axis in (0, 1):
            drawn = drawn.replace(f"in_size[{axis}]", said.group(axis + 1) if small else "224")
        sizes = drawn.split(",")
        if all(s.isdigit() for s in sizes):
            found[file.stem] = (names[0], ",".join(["1", *sizes[1:]]))
    return found


@pytest.mark.skipif(PYTORCHCV is None, reason="pytorchcv is not installed")
@pytest.mark.sampled(12)
@pytest.mark.parametrize("file", sorted(makers()))
def test_a_network_of_pytorchcv_answers_as_pytorch_does(file, tmp_path):
    torch = pytest.importorskip("torch")
    maker, shape = makers()[file]
    source = f"{PYTORCHCV}/models/{file}.py:{maker}"
    refused = refusal(source, "--shape", shape)
    if refused:
        pytest.skip(refused)
    torch.manual_seed(7)
    net = getattr(importlib.import_module(f"pytorchcv.models.{file}"), maker)().eval()
    with torch.no_grad():
        for name, value in net.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                value.copy_(torch.rand_like(value) * 0.5 + (0.75 if name.endswith("var") else -0.25))
    x = torch.randn(*map(int, shape.split(",")))
    try:
        with torch.no_grad():
            y = net(x)
    except RuntimeError as error:
        pytest.skip(f"PyTorch itself refuses {shape}: {error}")
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    want = [t.numpy() for t in flat(y)]
    got = run_natively([source, "--weights", tmp_path / "weights.pt"], {"x": x.numpy()}, tmp_path)
    assert_close(got, want, TOLERANCE, file)


def refusal(*source) -> str:
    """What is said where a program is not read, which is its place and its line; nothing: it is read."""
    done = convoy("summary", *source, code=None)
    if done.returncode in (0, 5):  # 5: the program itself fails at this size
        return ""
    assert done.returncode in (2, 6) and ".py:" in done.stderr, done.stderr
    return done.stderr


@pytest.mark.skipif(PYTORCHCV is None, reason="pytorchcv is not installed")
@pytest.mark.long
def test_most_networks_of_pytorchcv_are_read():
    refused = [r for f, (m, s) in makers().items() if (r := refusal(f"{PYTORCHCV}/models/{f}.py:{m}", "--shape", s))]
    read = len(makers()) - len(refused)
    print(f"{read} of {len(makers())} files of pytorchcv are read", *refused, sep="\n")
    assert read >= 0.95 * len(makers())


def flat(y) -> list:
    """Tensors of nested lists and dictionaries in order."""
    if y is None:
        return []
    if isinstance(y, dict):
        y = list(y.values())
    return [t for one in y for t in flat(one)] if isinstance(y, (list, tuple)) else [y]


# ---- keras.applications: every constructor

APPLICATIONS = folder_of("keras.src.applications") if importlib.util.find_spec("keras") else None
# The size that most networks read, small enough to be quick: the constructors take any from 75 on.
SIZE = (96, 111, 3)


def constructors() -> dict[str, str]:
    """The file of each constructor."""
    found = {}
    for file in sorted(APPLICATIONS.glob("*.py")) if APPLICATIONS else []:
        for node in ast.parse(file.read_text()).body:
            exported = isinstance(node, ast.FunctionDef) and any("keras_export" in ast.unparse(d) for d in node.decorator_list)
            if exported and node.name[0].isupper():
                found[node.name] = file.name
    return found


@pytest.mark.skipif(APPLICATIONS is None, reason="keras is not installed")
@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", sorted(constructors()))
def test_a_network_of_keras_answers_as_keras_does(name, tmp_path):
    keras = pytest.importorskip("keras")
    source = f"{APPLICATIONS}/{constructors()[name]}:{name}"
    given = f"weights=None,input_shape={SIZE},include_top=False,pooling='avg'"
    keras.utils.set_random_seed(5)
    keras.backend.clear_session()
    net = getattr(keras.applications, name)(weights=None, input_shape=SIZE, include_top=False, pooling="avg")
    random = np.random.RandomState(11)
    for weight in net.weights:
        if weight.path.endswith(("moving_mean", "beta", "mean")):
            weight.assign(random.uniform(-0.2, 0.2, weight.shape))
        if weight.path.endswith(("moving_variance", "gamma", "variance")):
            weight.assign(random.uniform(0.7, 1.3, weight.shape))
    net.save_weights(tmp_path / "net.weights.h5")
    x = random.uniform(0, 1, (2, *SIZE)).astype(np.float32)
    want = keras.ops.convert_to_numpy(net(x, training=False))
    got = run_natively([source, "--args", given, "--weights", tmp_path / "net.weights.h5"], {"x": x}, tmp_path)
    try:
        assert_close(got, [want], TOLERANCE, name)
    except AssertionError:  # TensorFlow's float32 is itself off by a thousandth in EfficientNetB6: ask its float64
        assert_close(got, [in_double(name, tmp_path / "net.weights.h5", x)], TOLERANCE, name)


def in_double(name: str, weights: Path, x: np.ndarray) -> np.ndarray:
    """The network's answer with every number of TensorFlow's a float64."""
    import keras

    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    try:
        net = getattr(keras.applications, name)(weights=None, input_shape=SIZE, include_top=False, pooling="avg")
        net.load_weights(weights)
        return keras.ops.convert_to_numpy(net(x.astype(np.float64), training=False)).astype(np.float32)
    finally:
        keras.config.set_floatx(before)
