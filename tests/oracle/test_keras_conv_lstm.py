"""ConvLSTM1D to ConvLSTM3D: run and carried as Keras computes them, from files and from programs."""
import numpy as np
import pytest
from carrying import assert_close, convoy, port, run_natively

ALL = {"return_sequences": True}
BOTH = {"return_sequences": True, "return_state": True}


def models(L) -> dict:
    """name -> the shape of one sample, and the layers behind it."""
    return {
        "last": ((3, 5, 6, 2), lambda x: L.ConvLSTM2D(3, (3, 2))(x)),
        "all_then_last": ((3, 7, 6, 2), lambda x: L.ConvLSTM2D(4, 3)(L.BatchNormalization()(L.ConvLSTM2D(3, (3, 2), padding="same", **ALL)(x)))),
        "strided_back": ((4, 9, 8, 3), lambda x: L.ConvLSTM2D(4, (3, 2), strides=(2, 1), go_backwards=True, activation="relu",
                                                              recurrent_activation="hard_sigmoid", use_bias=False, **BOTH)(x)),
        "dilated_line": ((4, 9, 3), lambda x: L.ConvLSTM1D(4, 3, dilation_rate=2, padding="same", return_state=True)(x)),
        "volume": ((2, 5, 6, 4, 2), lambda x: L.ConvLSTM3D(3, (2, 3, 1), activation=None)(x)),
        "slope": ((3, 5, 6, 2), lambda x: L.ConvLSTM2D(3, 3, padding="same", activation=L.LeakyReLU(negative_slope=0.3), unit_forget_bias=False)(x)),
        "begun": ((3, 5, 6, 2), lambda x: L.ConvLSTM2D(3, 3, padding="same", **ALL)(
            x, initial_state=L.ConvLSTM2D(3, 2, padding="same", return_state=True)(x)[1:])),
        "both_ways": ((3, 5, 6, 2), lambda x: L.Bidirectional(L.ConvLSTM2D(3, 3, padding="same", **ALL))(x)),
        "both_ways_summed": ((3, 5, 6, 2), lambda x: L.Bidirectional(L.ConvLSTM2D(3, 3, padding="same"), merge_mode="sum")(x)),
    }


def made(keras, name):
    shape, layers = models(keras.layers)[name]
    keras.utils.set_random_seed(3)
    x = keras.Input(shape, name="x")
    model = keras.Model(x, layers(x))
    random = np.random.default_rng(1)
    for weight in model.weights:
        low = 0.5 if "variance" in weight.path else -0.5
        weight.assign(random.uniform(low, 0.9, weight.shape))
    return model, random.normal(size=(2, *shape)).astype("float32")


@pytest.mark.parametrize("name", list(models(__import__("keras").layers)))
def test_steps_as_keras_walks_them(name, tmp_path):
    import keras

    model, x = made(keras, name)
    want = [np.asarray(y) for y in keras.tree.flatten(model(x))]
    for file in ("net.keras", "net.h5"):
        model.save(tmp_path / file)
        assert_close(run_natively([tmp_path / file], {"x": x}, tmp_path), want, what=f"{name}, {file}")
    assert_close(port([tmp_path / "net.keras"], tmp_path / "port.py")([x]), want, what=f"{name} in PyTorch")
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.keras")
    again = keras.saving.load_model(tmp_path / "port.keras")
    assert_close([np.asarray(y) for y in keras.tree.flatten(again(x))], want, what=f"{name} written for Keras")


def test_a_free_number_of_steps_is_asked_for(tmp_path):
    import keras

    x = keras.Input((None, 5, 6, 2), name="x")
    keras.Model(x, keras.layers.ConvLSTM2D(3, 3)(x)).save(tmp_path / "net.keras")
    refused = convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.py", code=6).stderr
    assert "walks a sequence of free length; 1 to 512 steps are carried, which --shape may say" in refused
    convoy("port", tmp_path / "net.keras", "--shape", "1,4,5,6,2", "-o", tmp_path / "port.py")
