"""What of a live model is free: its batch and lengths, where its code does the same of all of them. Judged by the object at other sizes."""
import warnings

import keras
import numpy as np
import pytest
import torch
from keras import layers as L
from keras import ops
from torch import nn


@pytest.fixture(autouse=True)
def convoy(python_module):
    return python_module


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def holds_where_it_answers(model, live, shapes) -> list[bool]:
    """Whether it answers at each of these, and never otherwise than the object."""
    answered = []
    for shape in shapes:
        x = numbers(*shape)
        try:
            got = model(x)
        except Exception:
            answered.append(False)
            continue
        wanted = live(x)
        wanted = wanted.detach().numpy() if isinstance(wanted, torch.Tensor) else np.asarray(wanted)
        assert got.shape == wanted.shape and np.allclose(got, wanted, atol=1e-4), shape
        answered.append(True)
    return answered


BATCHES = [(n, 6) for n in (1, 2, 3, 4, 5, 8)]
ALL, THREE = [True] * 6, [False, False, True, False, False, False]


class Of(keras.Model):
    """A subclass as a notebook has it, with what its call does of x and of what its layer makes of it."""

    def __init__(self, does):
        super().__init__()
        self.line, self.does = L.Dense(4), does

    def call(self, x):
        return self.does(self.line(x), x)


@pytest.mark.parametrize("does", [
    lambda y, x: y if x.shape[0] == 3 else 2 * y, lambda y, x: y if (x.shape[0] or 0) > 30 else 2 * y, lambda y, x: y * {30: 2.0}.get(x.shape[0], 1.0),
    lambda y, x: y * (2.0 if x.shape[0] in (30, 40) else 1.0), lambda y, x: y * max(x.shape[0] or 1, 30), lambda y, x: y if (x.shape[0] or 1) % 2 else 2 * y,
], ids=["equal", "threshold", "table", "among", "at least", "odd"])  # fmt: skip
def test_a_call_that_decides_by_the_batch_is_read_for_one(convoy, does):
    keras.utils.set_random_seed(3)
    model, x = Of(does), numbers(3, 6)
    model(x)
    with pytest.raises(convoy.Unsupported, match=r"model 'of.*' \(Of\): its call decides by sizes of its input that are free \(test_python_live_sizes.py:\d+\)"):
        convoy.load(model)
    with pytest.warns(convoy.Warning, match="decides by sizes .*; it was read for the sizes of the example alone"):
        read = convoy.load(model, x)
    assert holds_where_it_answers(read, model, BATCHES) == THREE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        port = convoy.to_torch(model, x)
    assert np.allclose(port(torch.from_numpy(x)).detach(), np.asarray(model(x)), atol=1e-5)


@pytest.mark.parametrize("does", [
    lambda y, x: y / x.shape[0], lambda y, x: y / (x.shape[0] or 1), lambda y, x: y if x.shape[0] is None else 2 * y,
    lambda y, x: y / ops.cast(ops.shape(x)[0], "float32"), lambda y, x: y * (2 if isinstance(x.shape[0], int) else 3),
    lambda y, x: sum(y[i : i + 1] for i in range(x.shape[0])) if x.shape[0] else y,
    lambda y, x: y + ops.reshape(ops.arange(x.shape[0], dtype="float32"), (-1, 1)),
], ids=["divided", "guarded", "none", "ops.shape", "kind", "loop", "counted"])  # fmt: skip
def test_a_call_that_reckons_with_the_batch_is_read_for_one(convoy, does):
    keras.utils.set_random_seed(3)
    model, x = Of(does), numbers(3, 6)
    model(x)
    with pytest.raises(convoy.Unsupported, match="give an example input"):
        convoy.load(model)
    with pytest.warns(convoy.Warning, match="it was read for the sizes of the example alone"):
        read = convoy.load(model, x)
    assert holds_where_it_answers(read, model, BATCHES) == THREE


@pytest.mark.parametrize("does", [
    lambda y, x: ops.reshape(y, (x.shape[0] or -1, 2, 2)), lambda y, x: ops.reshape(y, (-1 if x.shape[0] is None else x.shape[0], 2, 2)),
    lambda y, x: y - ops.mean(y, axis=0), lambda y, x: y - y[:1], lambda y, x: y if x.shape[-1] == 6 else 2 * y,
    lambda y, x: y if x.shape[0] == y.shape[0] else 2 * y, lambda y, x: (lambda n, c: y * c)(*x.shape), lambda y, x: y if x.shape[0] != 0 else 2 * y,
], ids=["reshaped", "as Keras does it", "mean", "first", "channels", "the same", "unpacked", "none at all"])  # fmt: skip
def test_a_call_that_is_alike_at_every_batch_leaves_it_free(convoy, does):
    keras.utils.set_random_seed(3)
    model = Of(does)
    model(numbers(3, 6))
    for given in ((), (numbers(3, 6),)):
        read = convoy.load(model, *given)
        assert read.inputs[0].shape == (None, 6) and holds_where_it_answers(read, model, BATCHES) == ALL


class Own(L.Layer):
    def __init__(self, does):
        super().__init__()
        self.does = does

    def call(self, x):
        return self.does(x)


def test_a_layer_of_one_s_own_that_decides_by_a_length(convoy):
    shapes = [(2, 5, 22), (3, 4, 22), (2, 7, 22)]

    def of(does):
        image = keras.Input((None, 22))
        return keras.Model(image, Own(does)(image))

    model = of(lambda x: 2 * x if x.shape[1] == 5 else x)
    with pytest.raises(convoy.Unsupported, match="decides by sizes"):
        convoy.load(model)
    with pytest.warns(convoy.Warning, match="for the sizes of the example alone"):
        assert holds_where_it_answers(convoy.load(model, numbers(2, 5, 22)), model, shapes) == [True, False, False]
    model = of(lambda x: 2 * x if x.shape[-1] == 22 else x)  # what is known is no free size, whatever it is a multiple of
    assert holds_where_it_answers(convoy.load(model), model, shapes) == [True] * 3
    pooled = keras.Input((None, None, 2))
    model = keras.Model(pooled, Own(lambda x: x[:, :-1] if (x.shape[1] or 0) > 6 else x)(L.Conv2D(3, 3, strides=2, padding="same")(pooled)))
    with pytest.raises(convoy.Unsupported, match="decides by sizes"):
        convoy.load(model)
    assert keras.KerasTensor((None, 3)).shape == (None, 3) and type(keras.KerasTensor((11, 3)).shape[0]) is int


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(6, 4)


class Unless3(Line):
    def forward(self, x):
        return self.line(x) if x.shape[0] != 3 else 2 * self.line(x)


class OfOne(Line):
    def forward(self, x):
        return 2 * self.line(x) if x.shape[0] == 1 else self.line(x)


class Squeezed(Line):
    def forward(self, x):
        return self.line(x).squeeze(0)


class Many(Line):
    def forward(self, x):
        return self.line(x) if x.numel() > 20 else 3 * self.line(x)


class EachAlone(Line):
    def forward(self, x):
        return torch.stack([self.line(one) for one in x])


class Table(Line):
    def forward(self, x):
        return self.line(x) * {3: 2.0}.get(x.shape[0], 1.0)


class Even(Line):
    def forward(self, x):
        return 2 * self.line(x) if x.shape[0] % 2 == 0 else self.line(x)


class Halves(Line):
    def forward(self, x):
        n = x.shape[0] // 2
        return self.line(torch.cat([x[n:], x[:n]]))


FREE_BUT = {Unless3: [True, True, False, True, True, True], Even: [False, True, False, True, False, True], Halves: ALL}


@pytest.mark.parametrize("kind", [Unless3, OfOne, Squeezed, Many, EachAlone, Table, Even, Halves])
@pytest.mark.parametrize("batch", [1, 3, 4])
@pytest.mark.filterwarnings("ignore")
def test_a_module_at_other_batches_is_right_or_refused(convoy, kind, batch):
    torch.manual_seed(3)
    module = kind().eval()
    answered = holds_where_it_answers(convoy.load(module, torch.randn(batch, 6)), lambda x: module(torch.from_numpy(x)), BATCHES)
    assert answered[{1: 0, 3: 2, 4: 3}[batch]] or (kind, batch) in ((Even, 1), (Halves, 1))
    if batch == 4 and kind in FREE_BUT:
        assert answered == FREE_BUT[kind]


def test_an_exported_program_is_refused_where_it_was_not_followed(convoy):
    program = torch.export.export(Unless3().eval(), (torch.randn(4, 6),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    with pytest.warns(convoy.Warning, match=r"was exported where x.shape\[0\] != 3"):
        read = convoy.load(program)
    with pytest.raises(convoy.UsageError, match=r"the program holds where x.shape\[0\] != 3: at \[3, 6\]"):
        read(numbers(3, 6))
    program = torch.export.export(Many().eval(), (torch.randn(4, 6),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    with pytest.warns(convoy.Warning, match=r"was exported where 6\*x.shape\[0\] > 20"):
        read = convoy.load(program)
    with pytest.raises(convoy.UsageError, match=r"at \[3, 6\]"):
        read(numbers(3, 6))


@pytest.mark.parametrize("kind", [Unless3, OfOne, EachAlone])
@pytest.mark.filterwarnings("ignore")
def test_a_script_that_decides_by_the_batch_is_read_for_one(convoy, kind):
    script = torch.jit.script(kind().eval())
    assert holds_where_it_answers(convoy.load(script, torch.randn(3, 6)), lambda x: script(torch.from_numpy(x)), BATCHES) == THREE


@pytest.mark.filterwarnings("ignore")
def test_a_module_read_as_source_looks_no_free_size_up(convoy, monkeypatch):
    def refuses(*_, **__):
        raise RuntimeError("not today")

    monkeypatch.setattr(torch.export, "export", refuses)
    module = Table().eval()
    read = convoy.load(module, torch.randn(4, 6))
    assert holds_where_it_answers(read, lambda x: module(torch.from_numpy(x)), BATCHES) == [False, False, False, True, False, False]


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_was_read_with_its_batch_free_is_ported_with_that_of_the_example(convoy, tmp_path):
    x = torch.randn(4, 3, 5)

    def stretched(x):
        return nn.functional.interpolate(x.permute(1, 2, 0), scale_factor=2, mode="linear")  # along the batch

    model = convoy.load(stretched, x)
    assert model.inputs[0].shape == (None, 3, 5)
    convoy.port(model, tmp_path / "port.tflite", interface="source")  # TFLite computes no weights of a free size
    assert np.allclose(convoy.load(tmp_path / "port.tflite")(x), stretched(x), atol=1e-6)
    with pytest.raises(convoy.Unsupported, match="cumprod"):  # whatever the batch
        convoy.port(convoy.load(lambda x: x.cumprod(0), x), tmp_path / "port.onnx")
