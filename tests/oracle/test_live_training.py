"""Keras models of the corpus, carried by `to_torch` and trained for three steps beside their originals: the same losses.

Dropout and noise are off, because the frameworks draw differently, and the second bias of PyTorch's recurrent layers, which Keras has
not, stands still. What is compared are the losses of training mode, before each step and behind the last.
"""
import json
import warnings

import numpy as np
import pytest
from carrying import by_name, cases_in, convoy
from test_keras_written import stored
from test_live_corpus import KERAS, cases, crossings_by_command, live_keras

RATE = 1e-3


def trains(name: str) -> bool:
    """Whether the model has weights that training moves, by its file."""
    done = convoy("summary", KERAS / name / "model.keras", "--json", code=None)
    return done.returncode == 0 and any(json.loads(done.stdout).get("parameters", {}).values())


NAMES = cases(KERAS, "model.keras")


def quiet(model) -> None:
    """Without anything that is drawn."""
    for layer in model._flatten_layers():
        for rate in ("rate", "stddev"):
            if isinstance(getattr(layer, rate, None), float):
                setattr(layer, rate, 0.0)
        if type(layer).__name__.startswith("Random"):
            pytest.skip(f"{type(layer).__name__} draws pictures anew")
        if type(layer).__name__ == "SpectralNormalization":
            pytest.skip("each step of training moves the vectors of SpectralNormalization, which no port keeps")
        if getattr(layer, "quantization_mode", None):
            pytest.skip("Keras passes gradients through the rounding of its int8 layers, which a port computes")
        if getattr(layer, "dropout", 0) or getattr(layer, "recurrent_dropout", 0):
            pytest.skip("recurrent dropout draws")


def rounding(model) -> float:
    """How far losses may be apart, by the coarsest type that a layer computes in or learns."""
    types = {layer.compute_dtype for layer in model._flatten_layers()} | {str(variable.dtype) for variable in model.trainable_variables}
    return 2**-8 if "bfloat16" in types else 2**-11 if "float16" in types else 2e-5


def goals(outputs: list) -> list:
    draw = np.random.default_rng(3)
    return [draw.standard_normal(y.shape).astype(np.float32) for y in outputs]


def keras_losses(model, inputs: list, wanted: list) -> list[float]:
    import tensorflow as tf

    is_named = isinstance(getattr(model, "_inputs_struct", None), dict)
    feed = dict(zip(model.input_names, inputs)) if is_named else inputs[0] if len(inputs) == 1 else inputs
    losses = []
    for step in range(4):
        with tf.GradientTape() as tape:
            y = model(feed, training=True)
            several = list(y.values()) if isinstance(y, dict) else list(y) if isinstance(y, (list, tuple)) else [y]
            loss = sum(tf.reduce_mean(tf.square(a - b)) for a, b in zip(several, wanted, strict=True))
        losses.append(float(loss))
        for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            if gradient is not None:
                gradient = tf.convert_to_tensor(gradient)
                variable.assign(variable - RATE * gradient)
    return losses


def torch_losses(module, crossings: dict, inputs: list, wanted: list) -> list[float]:
    import torch

    feed = [torch.from_numpy(c.to_port(x)) for c, x in zip(crossings["inputs"], inputs, strict=True)]
    goal = [torch.from_numpy(np.ascontiguousarray(y.transpose(c.permutation) if c.permutation else y)) for c, y in zip(crossings["outputs"], wanted, strict=True)]
    for part in module.modules():
        if isinstance(part, (torch.nn.LSTM, torch.nn.RNN)):
            for label, parameter in part.named_parameters(recurse=False):
                parameter.requires_grad_(parameter.requires_grad and not label.startswith("bias_hh"))
    module.train()
    learnt = [p for p in module.parameters() if p.requires_grad]
    steps = torch.optim.SGD(learnt, RATE)
    losses = []
    for step in range(4):
        y = module(*by_name(module, crossings["inputs"], feed))
        several = [y[c.name] for c in crossings["outputs"]] if isinstance(y, dict) else list(y) if isinstance(y, (tuple, list)) else [y]
        loss = sum(torch.mean((a - b) ** 2) for a, b in zip(several, goal, strict=True))
        losses.append(loss.item())
        steps.zero_grad()
        loss.backward()
        steps.step()
    return losses


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", NAMES)
def test_three_steps_beside_the_original(name, python_module, tmp_path):
    import tensorflow

    inputs, outputs = next(stored(KERAS, name))
    if not trains(name):
        pytest.skip("has no weights, or is refused by name")
    if any(y.dtype.kind != "f" for y in outputs):
        pytest.skip("gives whole numbers, which have no loss")
    model = live_keras(name)
    if not model.trainable_variables:
        pytest.skip("all its weights are frozen")
    quiet(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crossings, words = crossings_by_command(KERAS / name / "model.keras", tmp_path / "net.py")
        assert crossings is not None, words
        module = python_module.to_torch(model)
    wanted = goals(outputs)
    try:
        want = keras_losses(model, inputs, wanted)
    except (tensorflow.errors.UnimplementedError, tensorflow.errors.InvalidArgumentError):
        pytest.skip("TensorFlow has no such layer on this processor")
    got = torch_losses(module, crossings, inputs, wanted)
    assert want[3] < want[0], "three steps learn nothing"
    assert got == pytest.approx(want, rel=rounding(model))
