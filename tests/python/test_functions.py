"""The frameworks' functions on arrays, against what the frameworks answered (tests/data/golden): the calls as they were written."""
import json
import pathlib
import re
import types
import unittest

import convoy
import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "data" / "golden"
EVERY = 7  # rows of a file: tests/golden asks all of them


def array(told):
    numbers = [float(n) if isinstance(n, str) else n for n in told["data"]]  # "nan", "inf"
    whole = all(isinstance(n, int) for n in numbers) and told.get("dtype", "float32").startswith("int")
    return np.array(numbers, told.get("dtype", "int64" if whole else "float32")).reshape(told["shape"])


def snake(layer):
    name = layer.replace("ReLU", "Relu").replace("ELU", "Elu")
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\dD)(?=[A-Z])", "_", name).lower()


def keras(row, arrays):
    layer = re.match(r"keras\.layers\.(\w+)\(", row["call"])[1]
    return getattr(convoy.keras, snake(layer))(**arrays, **row["attrs"])


def onnx(row, arrays):
    def make_node(operator, inputs, outputs, **attributes):
        given = [arrays[name] if name else None for name in inputs]
        return getattr(convoy.onnx, operator)(*given, opset=row["attrs"]["opset"], results=len(outputs), **attributes)

    return eval(row["call"], {"onnx": types.SimpleNamespace(helper=types.SimpleNamespace(make_node=make_node))})


def torch(row, arrays):
    if not row["call"].startswith("torch.nn.functional."):  # a layer, which a row calls as its function
        names = {"x": "input", "w": "weight", "b": "bias"}
        return getattr(convoy.torch, f"{row['op']}{row['rank']}d")(**{names[name]: value for name, value in arrays.items()}, **row["attrs"])
    return eval(row["call"], {"torch": types.SimpleNamespace(nn=types.SimpleNamespace(functional=convoy.torch)), **arrays})


def tensorflow(row, arrays):
    return eval(row["call"], {"tf": convoy.tf, **arrays})


class Golden(unittest.TestCase):
    def answer(self, call, row):
        try:
            return call(row, {name: array(told) for name, told in row["inputs"].items()})
        except convoy.Error as error:
            return error

    def held(self, call, files, least):
        asked = 0
        for file in sorted(GOLDEN.glob(files)):
            for line in file.read_text().splitlines()[::EVERY]:
                row = json.loads(line)
                if row["op"] == "sequential" or "crop" in row["attrs"]:
                    continue  # several calls
                asked += 1
                with self.subTest(row["id"], call=row["call"]):
                    got = self.answer(call, row)
                    if "output" not in row:
                        self.assertIsInstance(got, convoy.Error)
                        continue
                    if isinstance(got, convoy.Error):
                        self.fail(f"refused: {got}")
                    wanted = array(row["output"])
                    got = got[0] if isinstance(got, tuple) else got
                    self.assertEqual(got.shape, wanted.shape)
                    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5 * max(1, np.abs(wanted[np.isfinite(wanted)]).max(initial=0)))
        self.assertGreater(asked, least)

    def test_pytorch(self):
        self.held(torch, "torch_*.jsonl", 250)

    def test_keras(self):
        self.held(keras, "keras_*.jsonl", 120)

    def test_tensorflow(self):
        self.held(tensorflow, "tensorflow_*.jsonl", 120)

    def test_onnx(self):
        self.held(onnx, "onnx_*.jsonl", 180)


class Calls(unittest.TestCase):
    def test_the_classic_question(self):
        x, w = np.array([[[1, 10, 100, 1000]]], "float32"), np.array([[[1, 2, 3]]], "float32")
        np.testing.assert_array_equal(convoy.torch.conv1d(x, w, stride=2, padding=1), [[[32, 3210]]])
        np.testing.assert_array_equal(convoy.keras.conv1d(x.reshape(1, 4, 1), w.reshape(3, 1, 1), strides=2, padding="same").ravel(), [321, 2100])
        np.testing.assert_array_equal(convoy.tf.nn.conv1d(x.reshape(1, 4, 1), w.reshape(3, 1, 1), 2, "SAME").ravel(), [321, 2100])
        np.testing.assert_array_equal(convoy.onnx.Conv(x, w, strides=[2], auto_pad="SAME_LOWER").ravel(), [32, 3210])

    def test_what_a_function_does_not_take_is_refused(self):
        x = np.ones((1, 2, 5), "float32")
        for call, words in [(lambda: convoy.torch.conv1d(x, np.ones((3, 2, 3), "float32"), strid=2), "strid"),
                            (lambda: convoy.torch.conv1d(x, np.ones((3, 2, 3), "float32"), stride=2, padding="same"), "needs stride 1"),
                            (lambda: convoy.torch.relu(x, x, x, x, x), "by their places"), (lambda: convoy.torch.relu(x, input=x), "twice"),
                            (lambda: convoy.keras.conv1d(x, np.ones((3, 5), "float32")), "axes"), (lambda: convoy.keras.conv1d(x), "kernel"),
                            (lambda: convoy.keras.relu(x, kernel=x), "kernel"), (lambda: convoy.torch.pad(x, (1, 1), value=object()), "value"),
                            (lambda: convoy.onnx.Relu(x, opset=3), "opset")]:  # fmt: skip
            with self.subTest(words), self.assertRaisesRegex(convoy.Error, words):
                call()
        for call, words in [(lambda: convoy.torch.conv1d(x), "conv1d: argument 'weight' is missing"), (lambda: convoy.torch.relu([1.0, 2.0]), "input=.1.0, 2.0. is no array"),
                            (lambda: convoy.keras.conv1d(x, np.ones((3, 4, 5), "float32")), "kernel has shape"), (lambda: convoy.tf.nn.relu(3.0), "features=3.0 is no array"),
                            (lambda: convoy.onnx.Conv(x, np.ones((3, 7, 2), "float32")), "Conv")]:  # fmt: skip
            with self.subTest(words), self.assertRaisesRegex(convoy.UsageError, words):  # no file is broken
                call()
        with self.assertRaises(AttributeError):
            convoy.torch.no_such_function
        with self.assertRaises(AttributeError):
            convoy.tf.nn.no_such_function

    def test_an_axis_that_a_list_leaves_alone(self):
        x = np.arange(12, dtype="float32").reshape(1, 1, 3, 4)
        np.testing.assert_array_equal(convoy.torch.adaptive_avg_pool2d(x, (None, 2)), [[[[0.5, 2.5], [4.5, 6.5], [8.5, 10.5]]]])  # as torch answers
        with self.assertRaisesRegex(convoy.UsageError, "'stride' is null"):
            convoy.torch.max_pool2d(x, 2, stride=(None, 1))

    def test_doubles_are_computed_as_doubles_and_positions_come_second(self):
        x = np.linspace(0, 1, 12).reshape(1, 1, 12)
        self.assertEqual(convoy.torch.sigmoid(x).dtype, np.float64)
        np.testing.assert_allclose(convoy.torch.sigmoid(x), 1 / (1 + np.exp(-x)), rtol=1e-14)
        most, where = convoy.torch.max_pool1d(x, 4, return_indices=True)
        np.testing.assert_array_equal(where, [[[3, 7, 11]]])
        np.testing.assert_array_equal(most, x[:, :, 3::4])

    def test_functions_are_listed(self):
        self.assertIn("conv_transpose1d", dir(convoy.torch))
        self.assertIn("conv2d_transpose", dir(convoy.keras))
        self.assertIn("nn", dir(convoy.tf))
        self.assertIn("conv2d", dir(convoy.tf.nn))
        self.assertEqual(convoy.torch.conv2d.parameters[:4], ("input", "weight", "bias", "stride"))
        self.assertIn("stride", convoy.torch.conv2d.__doc__)
        self.assertIn("constructor", convoy.keras.leaky_relu.__doc__)  # whose slope is 0.3, where keras.ops.leaky_relu has 0.2
        self.assertEqual([name for name in dir(convoy.torch) if name[0].isupper()], [])


if __name__ == "__main__":
    unittest.main()
