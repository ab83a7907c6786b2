"""Every layer in many settings: built by Keras, run by convoy, ported, and run in PyTorch."""
import keras
import numpy as np
import pytest
from carrying import assert_close, check_itself, port, run_natively
from layer_cases import cases

CASES = cases(keras)


def with_numbers(model):
    """No weight that is zero or one by default: variances stay positive."""
    random = np.random.default_rng(1)
    weights = []
    for variable, value in zip(model.weights, model.get_weights()):
        drawn = value + random.uniform(-0.5, 0.5, value.shape)
        weights.append(np.abs(drawn) + 0.3 if "variance" in variable.path else drawn)
    model.set_weights(weights)
    return model


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", CASES)
def test_a_layer_crosses_as_keras_computes_it(name, tmp_path):
    keras.utils.set_random_seed(3)
    model = with_numbers(CASES[name]())
    free = iter((9, 7))
    shape = [size or next(free) for size in model.inputs[0].shape[1:]]
    x = np.random.default_rng(2).normal(size=(2, *shape)).astype("float32")
    want = [np.asarray(model(x, training=False))]
    file = tmp_path / "model.keras"
    model.save(file)
    assert_close(run_natively([file], {"x": x}, tmp_path), want, what="runtime")
    ported = port([file], tmp_path / "ported.py")
    assert_close(ported([x]), want, what="port")
    assert "agrees" in check_itself(ported.path)
