"""TFLite files with several signatures: each is a subgraph of its own, and which one is meant is said or asked."""
import numpy as np
import pytest
import tensorflow as tf
from carrying import convoy, import_file, run_natively

X = (np.arange(2 * 5 * 6 * 3).reshape(2, 5, 6, 3) % 11 - 5).astype("float32")


def written(path, names):
    module = tf.Module()
    kernel = tf.constant((np.arange(3 * 4).reshape(1, 1, 3, 4) % 5 - 2).astype("float32"))
    spec = [tf.TensorSpec(X.shape, tf.float32, name="img")]
    module.first = tf.function(lambda img: {"y": tf.nn.conv2d(img, kernel, 1, "VALID")}, input_signature=spec)
    module.second = tf.function(lambda img: {"z": tf.reduce_sum(img, [1, 2])}, input_signature=spec)
    tf.saved_model.save(module, str(path.with_suffix("")), signatures=dict(zip(names, (module.first, module.second))))
    path.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(path.with_suffix("")), signature_keys=list(names)).convert())
    return path


@pytest.mark.parametrize("name", ["enc", "cls"])
def test_the_signature_that_is_said_is_read(name, tmp_path):
    import torch

    path = written(tmp_path / "two.tflite", ("enc", "cls"))
    want = next(iter(tf.lite.Interpreter(str(path)).get_signature_runner(name)(img=X).values()))
    assert np.array_equal(run_natively([path, "--signature", name], {"x": X}, tmp_path)[0], want)
    convoy("port", path, "--signature", name, "--interface", "source", "-o", tmp_path / "p.py")
    with torch.no_grad():
        answer = import_file(tmp_path / "p.py").load()(torch.from_numpy(X))
    assert np.array_equal((answer if isinstance(answer, torch.Tensor) else next(iter(answer.values()))).numpy(), want)


def test_which_one_is_asked_or_usual(tmp_path):
    path = written(tmp_path / "two.tflite", ("enc", "cls"))
    assert "choose one with --signature" in convoy("summary", path, code=2).stderr
    assert "'encc'" in convoy("summary", path, "--signature", "encc", code=2).stderr
    usual = written(tmp_path / "usual.tflite", ("train", "serving_default"))
    want = tf.lite.Interpreter(str(usual)).get_signature_runner("serving_default")(img=X)["z"]
    assert np.array_equal(run_natively([usual], {"x": X}, tmp_path)[0], want)


def test_a_signature_is_asked_of_the_side_that_has_several(tmp_path):
    path = written(tmp_path / "two.tflite", ("enc", "cls"))
    convoy("port", path, "--signature", "cls", "-o", tmp_path / "port.tflite")
    convoy("diff", path, tmp_path / "port.tflite", "--signature", "cls")
    convoy("diff", tmp_path / "two", tmp_path / "port.tflite", "--signature", "cls")
    assert "has no signature 'cld'" in convoy("diff", path, tmp_path / "port.tflite", "--signature", "cld", code=2).stderr
    assert "has no signature 'cls'" in convoy("summary", tmp_path / "port.tflite", "--signature", "cls", code=2).stderr


def test_what_has_none_has_no_use_for_one(tmp_path):
    import onnx
    from onnx import helper as make

    infos = [make.make_tensor_value_info(n, 1, [2, 3]) for n in "xy"]
    graph = make.make_graph([make.make_node("Relu", ["x"], ["y"])], "g", infos[:1], infos[1:])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=10), tmp_path / "m.onnx")
    assert "leave out --signature" in convoy("summary", tmp_path / "m.onnx", "--signature", "foo", code=2).stderr


def converted(path, function, *specs):
    traced = tf.function(function, autograph=False).get_concrete_function(*specs)
    path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([traced], tf.Module()).convert())
    return tf.lite.Interpreter(str(path)).get_signature_runner()


def test_a_tensor_keeps_all_its_names(tmp_path):
    import onnxruntime

    def function(x):
        y = x * 2
        return {"y0": y, "y1": y, "y2": tf.nn.relu(y)}

    x = np.arange(-3, 3).reshape(2, 3).astype("float32")
    want = converted(tmp_path / "m.tflite", function, tf.TensorSpec([None, 3], tf.float32, name="x"))(x=x)
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "m.tflite", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npz")
    convoy("port", tmp_path / "m.tflite", "-o", tmp_path / "m.onnx")
    convoy("port", tmp_path / "m.tflite", "-o", tmp_path / "again.tflite")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    ported = dict(zip([y.name for y in session.get_outputs()], session.run(None, {"x": x}), strict=True))
    for got in (np.load(tmp_path / "y.npz"), ported, tf.lite.Interpreter(str(tmp_path / "again.tflite")).get_signature_runner()(x=x)):
        assert sorted(got) == sorted(want)
        for name in want:
            assert np.array_equal(got[name], want[name])


def test_sizes_are_answered_in_the_type_of_the_file(tmp_path):
    def function(x):
        long = tf.shape(x, out_type=tf.int64)
        return {"s": tf.shape(x), "r": tf.range(tf.shape(x)[1]), "n": tf.size(x), "l": long, "m": long[1] * 3, "k": tf.shape(x)[0] > 1}

    x = np.zeros((2, 5, 4), "float32")
    want = converted(tmp_path / "m.tflite", function, tf.TensorSpec([None, None, 4], tf.float32, name="x"))(x=x)
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "m.tflite", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npz")
    got = np.load(tmp_path / "y.npz")
    assert {name: (y.dtype, y.tolist()) for name, y in got.items()} == {name: (y.dtype, y.tolist()) for name, y in want.items()}
