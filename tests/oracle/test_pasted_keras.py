"""Keras code as tutorials and answers have it, layers and models of its own among it: read as it stands, with the parameters
that Keras counts, bound to the weights that Keras saved by the paths of its own walk, and equal."""
import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively
from pasted_keras import REFUSED, SNIPPETS

TOLERANCE = 2e-5


def made(text: str):
    """What Keras makes of it: the program's names."""
    import keras

    keras.backend.clear_session()
    keras.utils.set_random_seed(2)
    scope = {word: getattr(keras.layers, word) for word in dir(keras.layers) if word[0].isupper()}
    scope |= {"Sequential": keras.Sequential, "Model": keras.Model, "keras": keras}
    now = text
    for old, new in (("tensorflow.keras", "keras"), ("tf.keras", "keras"), ("K.tanh", "keras.ops.tanh"), ("K.dot", "keras.ops.dot"),
                     ("K.softmax", "keras.activations.softmax"), ("K.sum", "keras.ops.sum"), ("K.abs", "keras.ops.abs"),
                     ("K.mean", "keras.ops.mean"), ("K.max", "keras.ops.max"), ("K.int_shape(x)", "x.shape"),
                     ("K.squeeze", "keras.ops.squeeze"), ("K.expand_dims", "keras.ops.expand_dims"),
                     ("add_variable(", "add_weight("), ("Convolution2D(4, 3, 3,", "Conv2D(4, (3, 3),"), ("layers.core", "layers"),
                     ("layers.convolutional", "layers"), ("model.summary()", ""), ("keras.utils.plot_model(model, show_shapes=True)", "")):
        now = now.replace(old, new)
    exec(now, scope)
    return scope


@pytest.mark.parametrize("name", sorted(SNIPPETS))
def test_pasted_keras(name, tmp_path):
    keras = pytest.importorskip("keras")
    shapes, text = SNIPPETS[name]
    model = made(text)["model"]
    random = np.random.RandomState(1)
    words = [w for w in shapes if w.startswith("ids")]
    inputs = {w: random.randint(0, 9, (2, *s)).astype(np.float32) if w in words else
              random.uniform(-1, 1, (2, *s)).astype(np.float32) for w, s in shapes.items()}
    given = list(inputs.values())
    model(given if len(given) > 1 else given[0])
    for weight in model.weights:
        if "seed_generator" in weight.path:
            continue
        low = 0.5 if "variance" in weight.path or "gamma" in weight.path else -0.5
        weight.assign(random.uniform(low, low + 1, weight.shape))
    model.save_weights(tmp_path / "net.weights.h5")
    want = model(given if len(given) > 1 else given[0], training=False)
    want = list(want.values()) if isinstance(want, dict) else list(want) if isinstance(want, (list, tuple)) else [want]
    (tmp_path / "pasted.py").write_text(text)
    source = f"{tmp_path / 'pasted.py'}:model"
    shape = [w for k, x in inputs.items() for w in ("--shape", f"{k}={','.join(map(str, x.shape))}")]
    said = convoy("summary", source, *shape).stdout
    count = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
    assert f"({count:,} trainable" in said, said
    got = run_natively([source, *shape, "--weights", tmp_path / "net.weights.h5"], inputs, tmp_path)
    assert_close(got, [keras.ops.convert_to_numpy(y) for y in want], TOLERANCE, name)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_a_pasted_layer_may_not_do_is_refused_at_its_place(name, tmp_path):
    words, text = REFUSED[name]
    (tmp_path / "pasted.py").write_text(text)
    done = convoy("summary", tmp_path / "pasted.py", "--shape", "x=1,8,6,3", code=6)
    assert words in done.stderr and "pasted.py:" in done.stderr, done.stderr
