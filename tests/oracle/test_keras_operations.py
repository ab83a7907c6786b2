"""Functions of keras.ops that stand as layers in files and that no operator of ours is: what Keras answers, and a proved port."""
import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

TABLE = np.arange(30, dtype="float32").reshape(5, 3, 2) / 8
ROWS, IMAGE, SQUARE = (6, 5), (9, 8, 3), (6, 4, 5)


def cases(ops) -> dict:
    """name -> (function of one input, its shape without the batch)."""
    where = ops.cast
    return {
        "roll": (lambda x: ops.roll(x, 2, axis=1), IMAGE),
        "roll_two": (lambda x: ops.roll(x, (2, -1), axis=(1, 2)), IMAGE),
        "var": (lambda x: ops.var(x, axis=[1, 2], keepdims=True), IMAGE),
        "std": (lambda x: ops.std(x, axis=-1), ROWS),
        "moments": (lambda x: ops.moments(x, axes=[1]), IMAGE),
        "average": (lambda x: ops.average(x, axis=1, weights=np.arange(1, 7, dtype="float32")), ROWS),
        "sort": (lambda x: ops.sort(x, axis=1), ROWS),
        "argsort": (lambda x: ops.argsort(x, axis=-1), ROWS),
        "median": (lambda x: ops.median(x, axis=1, keepdims=True), ROWS),
        "quantile": (lambda x: ops.quantile(x, 0.3, axis=[1, 2]), IMAGE),
        "diff": (lambda x: ops.diff(x, n=2, axis=1), ROWS),
        "logsumexp": (lambda x: ops.logsumexp(x, axis=1), ROWS),
        "norms": (lambda x: ops.norm(x, axis=-1) + ops.norm(x, ord=1, axis=2) - ops.norm(x, ord=np.inf, axis=2), ROWS),
        "vector_behind": (lambda x: ops.matmul(x, TABLE[0, :, 0]) * 2, (4, 3)),
        "vector_in_front": (lambda x: ops.matmul(TABLE[:, 0, 0], x), (5, 3)),
        "truths": (lambda x: where(ops.any(x > 3, axis=1), "float32") - where(ops.all(x > -3, axis=1), "float32"), ROWS),
        "count": (lambda x: ops.count_nonzero(ops.relu(x), axis=1), ROWS),
        "kinds": (lambda x: where(ops.isnan(ops.sqrt(x)), "int32") + where(ops.isinf(1 / x), "int32") * 2
                  + where(ops.isfinite(ops.log(x)), "int32") * 4, ROWS),
        "no_nan": (lambda x: ops.nan_to_num(ops.sqrt(x), nan=2.0) + ops.nan_to_num(0.0 / x) * 3, ROWS),
        "exp2": (lambda x: ops.exp2(x), ROWS),
        "hypot": (lambda x: ops.hypot(x, x + 1), ROWS),
        "arctan2": (lambda x: ops.arctan2(x, ops.flip(x, axis=1)), ROWS),
        "full_like": (lambda x: x + ops.full_like(x, 2.5), ROWS),
        "digitize": (lambda x: ops.digitize(x, np.array([-1.0, 0.0, 1.0])), ROWS),
        "tensordot": (lambda x: ops.tensordot(x, TABLE, axes=[[1, 2], [0, 1]]), (5, 3)),
        "dot": (lambda x: ops.dot(x, TABLE[0]), (5, 3)),
        "inner": (lambda x: ops.inner(x, TABLE[0, :2]), (5, 2)),
        "einsum_dots": (lambda x: ops.einsum("...ij,...kj->...ik", x, x), IMAGE),
        "einsum_of_one": (lambda x: ops.einsum("bij->ji", x), ROWS),
        "einsum_of_three": (lambda x: ops.einsum("bij,bkj,bkl->bil", x, x, x), (5, 5)),
        "cross": (lambda x: ops.cross(x, ops.flip(x, axis=1)), (6, 3)),
        "diagonal": (lambda x: ops.diagonal(x, offset=1, axis1=1, axis2=2), SQUARE),
        "trace": (lambda x: ops.trace(x, axis1=1, axis2=2), SQUARE),
        "triangles": (lambda x: ops.triu(x, k=1) * 2 + ops.tril(x, k=-1), ROWS),
        "unstack": (lambda x: ops.unstack(x, axis=1)[2], ROWS),
        "rot90": (lambda x: ops.rot90(x, 1, axes=(1, 2)) * 2, IMAGE),
        "round_to": (lambda x: ops.round(x * 0.37, 1), ROWS),
        "batch_norm": (lambda x: ops.batch_normalization(x, np.ones(3, "float32"), np.full(3, 2, "float32"), -1), IMAGE),
        "layer_norm": (lambda x: ops.layer_normalization(x, axis=-1), ROWS),
        "sparsemax": (lambda x: ops.sparsemax(x), ROWS),
        "attention": (lambda x: ops.dot_product_attention(x, x, x), (6, 2, 4)),
        "patches": (lambda x: ops.image.extract_patches(x, (3, 2), strides=(2, 1)), IMAGE),
        "patches_same": (lambda x: ops.image.extract_patches(x, 3, strides=2, padding="same"), IMAGE),
        "patches_apart": (lambda x: ops.image.extract_patches(x, 2, dilation_rate=2, strides=1), IMAGE),
        "patches_of_blocks": (lambda x: ops.image.extract_patches(x, 4), IMAGE),
        "pad_images": (lambda x: ops.image.pad_images(x, 1, 2, target_height=12, target_width=13), IMAGE),
        "crop_images": (lambda x: ops.image.crop_images(x, 1, 2, target_height=4, target_width=3), IMAGE),
        "along_given_places": (lambda x: ops.take_along_axis(x, np.array([[[0, 1, -1, 2, 2]]]), axis=1), ROWS),
        "along_places_of_a_row": (lambda x: ops.take_along_axis(x, ops.argmax(x[:, :1], axis=-1, keepdims=True), axis=-1), ROWS),
        "along_a_row": (lambda x: ops.take_along_axis(x[:, :1], ops.argsort(x, axis=-1), axis=-1), ROWS),
        "along_rows_and_columns": (lambda x: ops.take_along_axis(x[:, :1], ops.argsort(x[:, :, :1], axis=1) % 3, axis=2), ROWS),
        "along_cells_of_one": (lambda x: ops.take_along_axis(TABLE[:, :, 0][None], where(x > 0, "int32"), axis=2), (5, 3)),
        "grey": (lambda x: ops.image.rgb_to_grayscale(x), IMAGE),
    }


NAMES = [
    "roll", "roll_two", "var", "std", "moments", "average", "sort", "argsort", "median", "quantile", "diff", "logsumexp", "norms",
    "vector_behind", "vector_in_front",
    "truths", "count", "kinds", "no_nan", "exp2", "hypot", "arctan2", "full_like", "digitize", "tensordot", "dot",
    "inner", "einsum_dots", "einsum_of_one", "einsum_of_three", "cross", "diagonal", "trace", "triangles", "unstack", "rot90",
    "round_to", "batch_norm", "layer_norm", "sparsemax", "attention", "patches", "patches_same", "patches_apart",
    "patches_of_blocks", "pad_images", "crop_images", "along_given_places", "along_places_of_a_row", "along_a_row",
    "along_rows_and_columns", "along_cells_of_one", "grey"]  # fmt: skip


def test_every_case_is_asked():
    from keras import ops

    assert sorted(NAMES) == sorted(cases(ops))


@pytest.mark.parametrize("name", NAMES)
def test_functions_as_layers(name, tmp_path):
    import keras

    function, shape = cases(keras.ops)[name]
    x = keras.Input(shape, name="x")
    model = keras.Model(x, function(x))
    model.save(tmp_path / "m.keras")
    random = np.random.default_rng(7)
    for batch in (2, 3):
        given = random.permutation(np.arange(batch * np.prod(shape)) % 89 - 44).reshape(batch, *shape).astype("float32") / 8
        if name == "einsum_of_three":
            given = np.round(given)
        wanted = [np.asarray(one) for one in keras.tree.flatten(model(given))]
        got = run_natively([tmp_path / "m.keras"], {"x": given}, tmp_path)
        assert len(got) == len(wanted)
        for mine, theirs in zip(got, wanted):
            assert_close([mine], [theirs])
    for target in ("torch", "onnx"):
        convoy("port", tmp_path / "m.keras", "--to", target, "-o", tmp_path / ("m.py" if target == "torch" else "m.onnx"))


def test_the_same_functions_in_source(tmp_path):
    (tmp_path / "net.py").write_text("""import keras
from keras import ops
x = keras.Input((9, 8, 3))
y = ops.image.extract_patches(ops.roll(x, 1, axis=2), 3, strides=2, padding="same")
y = (y - ops.mean(y, axis=-1, keepdims=True)) / (ops.std(y, axis=-1, keepdims=True) + 0.5)
model = keras.Model(x, ops.median(y, axis=1))
""")
    import runpy

    model = runpy.run_path(str(tmp_path / "net.py"))["model"]
    given = np.random.default_rng(3).integers(-9, 9, (2, 9, 8, 3)).astype("float32")
    got = run_natively([tmp_path / "net.py"], {next(iter(model.inputs)).name: given}, tmp_path)
    assert_close(got, [np.asarray(model(given))])


def test_what_is_not_read_is_said(tmp_path):
    import keras

    x = keras.Input((5,))
    keras.Model(x, keras.ops.erfinv(keras.ops.tanh(x))).save(tmp_path / "m.keras")
    assert "Erfinv" in convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.py", code=6).stderr


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "normalize", "sort"])
def test_no_axis_is_not_the_usual_one(name, tmp_path):
    """Keras takes all axes there, the batch with them."""
    import keras

    x = keras.Input((5,))
    keras.Model(x, getattr(keras.ops, name)(x, axis=None)).save(tmp_path / "m.keras")
    assert "axis" in convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.py", code=6).stderr


def test_an_augmentation_that_is_called_rests(tmp_path):
    """Keras writes training=True into its calls by itself."""
    import keras

    x = keras.Input((6, 5, 3), name="x")
    model = keras.Model(x, keras.layers.Rescaling(2.0)(keras.layers.RandomFlip()(x)))
    model.save(tmp_path / "m.keras")
    given = np.arange(90, dtype="float32").reshape(1, 6, 5, 3)
    (got,) = run_natively([tmp_path / "m.keras"], {"x": given}, tmp_path)
    assert_close([got], [model.predict(given, verbose=0)])
