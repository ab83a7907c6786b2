"""The Python module without any framework: files in, arrays in and out, reports as values, failures as exceptions."""
import concurrent.futures
import copy
import gc
import inspect
import io
import multiprocessing
import os
import pathlib
import pickle
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import zipfile

import convoy
import numpy as np
from convoy import _convoy
from convoy._arguments import _array

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits.keras"


def digits():
    """Ten pictures that training did not see, and what they show."""
    pictures = np.load(ROOT / "examples" / "digits_held_back.npy").astype(np.float32).reshape(-1, 8, 8, 1)
    return pictures, np.load(ROOT / "examples" / "digits_held_back_labels.npy")


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Loading(Folder):
    def test_a_model_says_what_it_takes_does_and_gives(self):
        net = convoy.load(DIGITS)
        self.assertEqual(net.inputs, (convoy.Value("image", "float32", (None, 8, 8, 1)),))
        self.assertEqual(net.outputs[0].shape, (None, 10))
        self.assertTrue(net.format.startswith("Keras"))
        self.assertEqual(sum(layer.parameters for layer in net.layers), net.parameters)
        self.assertIn("conv 3x3", {layer.operation[:8] for layer in net.layers})
        conv = next(layer for layer in net.layers if layer.operation.startswith("conv"))
        self.assertEqual((conv.inputs[0], conv.output[:3]), ((None, 8, 8, 1), (None, 8, 8)))
        self.assertEqual((conv.attributes["kernel"], conv.attributes["stride"], conv.attributes["groups"]), ((3, 3), (1, 1), 1))
        self.assertIn("conv 3x3", net.summary())

    def test_paths_bytes_and_open_files_are_the_same_model(self):
        x, _ = digits()
        wanted = convoy.load(str(DIGITS))(x)
        np.testing.assert_array_equal(convoy.load(DIGITS.read_bytes())(x), wanted)
        with DIGITS.open("rb") as file:
            np.testing.assert_array_equal(convoy.load(file)(x), wanted)

    def test_source_is_read_and_never_run(self):
        (self.folder / "net.py").write_text("import torch.nn as nn\nprint('never')\nmodel = nn.Conv2d(3, 5, (4, 1), stride=2, padding=1)\n")
        net = convoy.load(self.folder / "net.py", shapes=(1, 3, 9, 12))
        self.assertEqual(net.outputs[0].shape, (1, 5, 4, 7))

    def test_what_is_no_model_is_said(self):
        for thing, kind in [(3, convoy.UsageError), (None, convoy.UsageError), (b"", convoy.BrokenFile), (b"PK\3\4" + bytes(90), convoy.BrokenFile),
                            (DIGITS.read_bytes()[:2000], convoy.BrokenFile), ("no/such.onnx", convoy.FileError)]:
            with self.subTest(thing=str(thing)[:20]), self.assertRaises(kind) as caught:
                convoy.load(thing)
            self.assertTrue(caught.exception.what)
        with self.assertRaises(convoy.UsageError), DIGITS.open("r", encoding="latin1") as file:
            convoy.load(file)
        with self.assertRaises(ValueError):
            with DIGITS.open("rb") as file:
                pass
            convoy.load(file)  # closed

    def test_files_that_were_read_before(self):
        """They are read from where they stand, and where that is no beginning of a model, it is said."""
        wanted = convoy.load(DIGITS).parameters
        with DIGITS.open("rb") as file:
            file.read(100)
            with self.assertRaisesRegex(convoy.BrokenFile, r"read from byte 100 on, where it stood: seek\(0\)"):
                convoy.load(file)
            file.seek(0)
            self.assertEqual(convoy.load(file).parameters, wanted)
            with self.assertRaises(convoy.BrokenFile):  # at its end now
                convoy.load(file)
        behind = io.BytesIO(b"sixteen bytes of" + DIGITS.read_bytes())
        behind.seek(16)
        self.assertEqual(convoy.load(behind).parameters, wanted)
        behind.seek(3)
        with self.assertRaisesRegex(convoy.BrokenFile, "read from byte 3 on"):
            convoy.port(behind, self.folder / "port.onnx")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_members_of_archives(self):
        with zipfile.ZipFile(self.folder / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(DIGITS, "deep/net.keras")
        wanted = convoy.load(DIGITS).parameters
        with zipfile.ZipFile(self.folder / "all.zip") as archive, archive.open("deep/net.keras") as member:
            self.assertEqual(convoy.load(member).parameters, wanted)
        self.assertEqual(convoy.load(zipfile.Path(self.folder / "all.zip", "deep/net.keras")).parameters, wanted)
        with self.assertRaises((convoy.FileError, convoy.UsageError)):
            convoy.load(zipfile.Path(self.folder / "all.zip", "no.keras"))

    def test_what_an_open_file_raises_is_passed_on(self):
        class Failing:
            name = "net.onnx"

            def __init__(self, error):
                self.error = error

            def read(self):
                raise self.error

        for error, kind in ((OSError(5, "the cable is out"), convoy.FileError), (EOFError("no more"), convoy.UsageError)):
            with self.assertRaisesRegex(kind, "net.onnx: the open file cannot be read.*(cable|no more)") as caught:
                convoy.load(Failing(error))
            self.assertIs(caught.exception.__cause__, error)

    def test_a_url_without_what_opens_it_is_said(self):
        code = ("import sys; sys.modules['fsspec'] = sys.modules['fsspec.core'] = None\nimport convoy\n"
                "try: convoy.load('s3://zoo/net.keras')\nexcept convoy.NotInstalled as error: print(error)")
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said, "s3://zoo/net.keras: a URL is opened by fsspec, which is not installed: pip install fsspec\n")

    def test_an_open_file_is_known_by_its_name(self):
        (self.folder / "cut.keras").write_bytes(DIGITS.read_bytes()[:5000])
        with (self.folder / "cut.keras").open("rb") as file, self.assertRaisesRegex(convoy.BrokenFile, "^cut.keras: "):
            convoy.load(file)

    def test_a_dict_of_weights_is_no_file(self):
        (self.folder / "net.py").write_text("import torch.nn as nn\nmodel = nn.Sequential(nn.Linear(3, 2))\n")
        source, state = f"{self.folder}/net.py", {"0.weight": np.ones((2, 3), "float32"), "0.bias": np.ones(2, "float32")}
        for weights, words in [({"0.weight": state["0.weight"]}, "net.py: the dict of weights holds no '0.bias', of shape .2."),
                               (state | {"z": state["0.bias"]}, "the dict of weights holds 'z'"),
                               ({"state_dict": state, "epoch": 3}, "'state_dict' is a dict itself: give what it holds, weights.'state_dict'.")]:  # fmt: skip
            with self.subTest(words), self.assertRaisesRegex(convoy.Error, words):
                convoy.load(source, shapes=(5, 3), weights=weights)
        with self.assertRaisesRegex(convoy.UsageError, "so the dict of weights is not read; leave out weights$") as caught:
            convoy.load(DIGITS, weights=state)
        self.assertNotIn("convoy-", pickle.loads(pickle.dumps(caught.exception)).what)

    def test_weights_may_be_a_dict_of_arrays(self):
        (self.folder / "net.py").write_text("import torch.nn as nn\nmodel = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1, bias=False))\n")
        draw = np.random.default_rng(4)
        state = {"0.weight": draw.normal(size=(2, 3)).astype("float32"), "0.bias": draw.normal(size=2).astype("float32"),
                 "1.weight": np.asfortranarray(draw.normal(size=(1, 2)))}
        x = draw.normal(size=(5, 3)).astype("float32")
        wanted = (x @ state["0.weight"].T + state["0.bias"]) @ state["1.weight"].T
        net = convoy.load(self.folder / "net.py", shapes=(None, 3), weights=state)
        np.testing.assert_allclose(net(x), wanted, rtol=1e-5)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(net))(x), net(x))
        convoy.port(self.folder / "net.py", self.folder / "net.onnx", shapes=(None, 3), weights=state)
        np.testing.assert_allclose(convoy.load(self.folder / "net.onnx")(x), wanted, rtol=1e-5)
        for wrong in ({**state, "0.bias": np.array(["a", "b"])}, {**state, 3: state["0.bias"]}, {**state, "0.bias": None}):
            with self.assertRaisesRegex(convoy.UsageError, "weights: "):
                convoy.load(self.folder / "net.py", shapes=(None, 3), weights=wrong)

    def test_types_are_said_where_a_program_declares_none(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "net.py")
            file.write_text("import torch\nclass Net(torch.nn.Module):\n    def forward(self, i):\n        return i * 123456789012345\n")
            net = convoy.load(file, shapes=(1, 3), types="int64")
            self.assertEqual(net.inputs[0].dtype, "int64")
            np.testing.assert_array_equal(net(np.array([[3, -7, 5]])), [[370370367037035, -864197523086415, 617283945061725]])
            self.assertEqual(convoy.load(file, shapes={"i": (1, 3)}, types={"i": np.int32}).inputs[0].dtype, "int32")
            for types in ("int65", {"i": 3}):
                with self.assertRaises(convoy.UsageError):
                    convoy.load(file, shapes=(1, 3), types=types)

    def test_outputs_of_one_name_are_told_apart(self):
        file = self.folder / "cell.py"
        file.write_text("import keras\nx = keras.Input((5, 3), name='steps')\n"
                        "net = keras.Model(x, keras.layers.LSTM(4, return_sequences=True, return_state=True, name='lstm')(x))\n")
        steps = np.ones((2, 5, 3), np.float32)
        net = convoy.load(file, seed=1)
        by_name, by_place = net({"steps": steps}), net(steps)
        self.assertEqual(list(by_name), ["lstm", "lstm_1", "lstm_2"])
        for ours, wanted in zip(by_name.values(), by_place):
            np.testing.assert_array_equal(ours, wanted)

    def test_numbers_are_looked_at_where_they_lie(self):
        for shape, dtype in (((1000, 1000), "float32"), ((7, 3, 2), "int8"), ((0,), "float64")):
            x = np.ones(shape, dtype)
            self.assertEqual(_convoy.address_of(_array(x)), x.ctypes.data)
            x.flags.writeable = False
            self.assertEqual(_convoy.address_of(_array(x)), x.ctypes.data)
        np.save(self.folder / "x.npy", np.ones((3, 5), "float32"))
        x = np.load(self.folder / "x.npy", mmap_mode="r")
        self.assertEqual(_convoy.address_of(_array(x)), x.ctypes.data)

    def test_a_file_takes_no_example_inputs(self):
        x = np.zeros((1, 8, 8, 1), "float32")
        for call in (lambda: convoy.load(DIGITS, object()), lambda: convoy.load(DIGITS.read_bytes(), x), lambda: convoy.to_onnx(DIGITS, x),
                     lambda: convoy.port(convoy.load(DIGITS), self.folder / "net.onnx", x)):
            with self.assertRaisesRegex(convoy.UsageError, "an example input is given"):
                call()

    def test_messages_print_no_numbers(self):
        state = {f"layer{i}.weight": np.ones((1000, 3), "float32") for i in range(200)}
        for call in (lambda: convoy.load(state), lambda: convoy.port(state, self.folder / "net.onnx"), lambda: convoy.diff(DIGITS, state),
                     lambda: convoy.pad(state), lambda: convoy.load(DIGITS, names=[state]), lambda: convoy.weights([state]),
                     lambda: convoy.load(DIGITS, seed=state["layer0.weight"]), lambda: convoy.batch.port([state], "onnx", self.folder)):
            with self.assertRaises(convoy.UsageError) as caught:
                call()
            self.assertLess(len(str(caught.exception)), 500)

    def test_a_stream_that_was_begun_says_where_it_stood(self):
        stream = io.BytesIO(DIGITS.read_bytes())
        for call in (convoy.load, convoy.weights, lambda file: convoy.load([DIGITS, file])):
            stream.seek(100)
            with self.assertRaisesRegex(convoy.Error, "from byte 100 on, where it stood"):
                call(stream)

    def test_what_is_done_is_logged(self):
        code = ("import logging, convoy; logging.basicConfig(format='%(levelname)s %(name)s %(message)s', level=logging.DEBUG)\n"
                f"net = convoy.load({str(DIGITS)!r}); convoy.diff(net, net); convoy.port(net, {str(self.folder / 'net.onnx')!r})\n"
                "try: convoy.load(b'')\nexcept convoy.Error: pass")
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
        self.assertRegex(said, r"INFO convoy loaded \S+digits.keras: Keras 3[.\d]+, 15802 parameters, \d+\.\d\d s")
        self.assertRegex(said, r"INFO convoy compared \S+ with \S+: the same, \d+\.\d\d s")
        self.assertRegex(said, r"INFO convoy ported \S+ to \S+net.onnx: proved, \d+\.\d\d s")
        self.assertRegex(said, r"DEBUG convoy reading builtins.bytes: BrokenFile: ")

    def test_failures_travel_between_processes(self):
        error = pickle.loads(pickle.dumps(convoy.BrokenFile("is empty", "net.onnx")))
        self.assertEqual((type(error), error.what, error.where, str(error)), (convoy.BrokenFile, "is empty", "net.onnx", "net.onnx: is empty"))


class Running(Folder):
    def test_digits_are_recognised(self):
        x, labels = digits()
        self.assertGreaterEqual((convoy.load(DIGITS)(x).argmax(axis=1) == labels).mean(), 0.9)

    def test_numbers_of_another_device_are_not_handed_over(self):
        class Elsewhere:
            def __dlpack__(self, **_):
                raise BufferError("they lie on a GPU")

        with self.assertRaisesRegex(convoy.UsageError, "Elsewhere does not hand over its numbers .they lie on a GPU.: give them in this machine's memory"):
            convoy.load(DIGITS)(Elsewhere())

    def test_arrays_however_they_lie(self):
        net = convoy.load(DIGITS)
        x, _ = digits()
        wanted = net(x)
        turned = np.asfortranarray(x)
        every_other = np.repeat(x, 2, axis=2)[:, :, ::2]
        self.assertFalse(every_other.flags.c_contiguous)
        frozen = x.copy()
        frozen.flags.writeable = False
        for name, y in [("fortran", turned), ("strided", every_other), ("list", x.tolist()), ("read-only", frozen), ("float64", x.astype(np.float64)),
                        ("big endian", x.astype(">f4")), ("reversed", x[::-1][::-1])]:
            with self.subTest(name):
                np.testing.assert_array_equal(net(y), wanted)
        self.assertEqual(net(x, float64=True).dtype, np.float64)

    def test_arguments_of_other_kinds_are_refused_by_name(self):
        net = convoy.load(DIGITS)
        x, _ = digits()
        out = self.folder / "a.onnx"
        conv = "Conv2D(8, 3)"
        for word, call in [("threads", lambda: net(x, threads="a")), ("threads", lambda: net(x, threads=2**40)), ("threads", lambda: net(x, threads=-1)),
                           ("float64", lambda: net(x, float64="yes")), ("seed", lambda: convoy.load(DIGITS, seed="a")),
                           ("weights", lambda: convoy.load(DIGITS, weights=3)), ("outputs", lambda: convoy.load(DIGITS, outputs=3)),
                           ("outputs", lambda: convoy.load(DIGITS, outputs=[3])), ("import_roots", lambda: convoy.load(DIGITS, import_roots=3)),
                           ("seed", lambda: convoy.diff(net, net, seed="a")), ("seed", lambda: convoy.diff(net, net, seed=2**70)),
                           ("output", lambda: convoy.port(DIGITS, None)), ("output", lambda: convoy.port(DIGITS, 3)), ("to", lambda: convoy.port(DIGITS, out, to=3)),
                           ("opset", lambda: convoy.port(DIGITS, out, opset="x")), ("without", lambda: convoy.port(DIGITS, out, without=3)),
                           ("foo", lambda: convoy.port(DIGITS, out, foo=3)), ("call", lambda: convoy.pad(None)), ("call", lambda: convoy.pad(b"a")),
                           ("size", lambda: convoy.pad(conv, size=2**70)), ("size", lambda: convoy.pad(conv, size=True)),
                           ("kernel", lambda: convoy.pad(conv, kernel="a")), ("kernel", lambda: convoy.pad(conv, kernel=(None, 3))),
                           ("channels", lambda: convoy.pad(conv, channels="x")), ("channels", lambda: convoy.pad(conv, channels=-3)),
                           ("layout", lambda: convoy.pad(conv, layout=3)), ("layout", lambda: convoy.pad(conv, layout="zzz"))]:  # fmt: skip
            with self.subTest(word), self.assertRaisesRegex(convoy.UsageError, f"(^|[^-]){word}\\b"):
                call()
        self.assertEqual(convoy.pad(conv, size=np.int64(7)).out, (5, 5))
        self.assertFalse(out.exists())

    def test_diff_takes_inputs_by_name(self):
        net = convoy.load(DIGITS)
        x, _ = digits()
        self.assertTrue(convoy.diff(net, net, {"image": x}).same)
        with self.assertRaises(convoy.UsageError):
            convoy.diff(net, net, {"picture": x})
        self.assertIs(copy.deepcopy(net), net)

    def test_by_name(self):
        net = convoy.load(DIGITS)
        x, _ = digits()
        answer = net({"image": x})
        self.assertEqual(list(answer), [net.outputs[0].name])
        for given in ({"picture": x}, {}):
            with self.assertRaises(convoy.UsageError):
                net(given)

    def test_what_does_not_fit_is_refused(self):
        net = convoy.load(DIGITS)
        x, _ = digits()
        for wrong in ([[[1, 2], [3]]], [np.longdouble(1)], [np.ma.masked_less(x, 1)], [None], [3], [], [x, x], [x[:, :3]], [np.array(["a"])], [np.array([object()])], [x.astype(np.complex64)]):
            with self.subTest(wrong=str(wrong)[:30]), self.assertRaises(convoy.UsageError):
                net(*wrong)

    def test_answers_live_on_without_the_model(self):
        x, _ = digits()
        net = convoy.load(DIGITS)
        y = net(x)
        kept = y.copy()
        del net, x
        gc.collect()
        np.testing.assert_array_equal(y, kept)

    def test_the_file_may_change_behind_a_model(self):
        target = self.folder / "net.keras"
        target.write_bytes(DIGITS.read_bytes())
        net = convoy.load(target)
        x, _ = digits()
        wanted = net(x)
        with target.open("r+b") as file:
            file.write(bytes(target.stat().st_size))
        np.testing.assert_array_equal(net(x), wanted)
        with target.open("r+b") as file:
            file.truncate(10)
        np.testing.assert_array_equal(net(x), wanted)

    def test_models_travel_between_processes(self):
        x, _ = digits()
        for source in (DIGITS, DIGITS.read_bytes()):
            net = convoy.load(source)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(net))(x), net(x))
        with DIGITS.open("rb") as file, self.assertRaises(TypeError):
            pickle.dumps(convoy.load(file))

    def test_names_that_are_no_text_are_shown(self):
        data = DIGITS.read_bytes()
        at = data.index(b'"stem"')
        with self.assertRaises(convoy.Error):  # the checksum of the archive; names are shown by their bytes
            convoy.load(data[:at] + b'"st\xffm"' + data[at + 6:])

    def test_threads_share_a_model(self):
        net = convoy.load(DIGITS)
        x, _ = digits()
        wanted, wrong = net(x), []

        def work():
            for _ in range(20):
                if not np.array_equal(net(x, threads=1), wanted) or convoy.load(DIGITS).parameters != net.parameters:
                    wrong.append(1)

        workers = [threading.Thread(target=work) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])

    def test_ten_thousand_calls_keep_nothing(self):
        net = convoy.load(DIGITS)
        x, _ = digits()
        for _ in range(500):
            net(x[:1], threads=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(10_000):
            net(x[:1], threads=1)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 4_000)  # KiB


class Pieces(Folder):
    """Files that belong together, none of which lies where the others could find it."""

    CASE = ROOT / "tests/data/corpus/keras/conv2d_same_k3_s2_even"

    def test_side_files_go_by_their_names(self):
        x, _ = digits()
        convoy.port(DIGITS, self.folder / "net.onnx", external_data=True)
        paths = sorted(self.folder.iterdir(), key=lambda path: path.suffix != ".onnx")
        self.assertGreater(len(paths), 1)
        wanted = convoy.load(paths[0])(x[:2].transpose(0, 3, 1, 2))
        held = {path.name: path.read_bytes() for path in paths}
        for path in paths:
            path.unlink()
        net = convoy.load(held)
        np.testing.assert_array_equal(net(x[:2].transpose(0, 3, 1, 2)), wanted)
        self.assertEqual(pickle.loads(pickle.dumps(net)).parameters, net.parameters)
        convoy.port(held, self.folder / "again.keras")
        convoy.assert_same(held, self.folder / "again.keras")
        with self.assertRaises(convoy.Error):
            convoy.load({"net.onnx": held["net.onnx"]})

    def test_a_model_and_its_weights(self):
        x = np.load(self.CASE / "input_0.npy")
        wanted = convoy.load(self.CASE / "model.keras")(x)
        config, weights = self.CASE / "model.json", self.CASE / "model.weights.h5"
        with weights.open("rb") as file:
            for pieces in ([config, weights], [config.read_bytes(), weights.read_bytes()], (config, file), {"a.json": config, "b.h5": weights}):
                with self.subTest(type(pieces).__name__):
                    np.testing.assert_array_equal(convoy.load(pieces)(x), wanted)
        np.testing.assert_array_equal(convoy.load(config, weights=weights.read_bytes())(x), wanted)
        convoy.assert_same([config, weights], self.CASE / "model.keras")

    def test_what_are_no_pieces_is_refused(self):
        config = self.CASE / "model.json"
        for pieces in ([], [config, config, config], {}, {"../a.json": b"{}"}, {3: b"{}"}, {"a.json": 3}):
            with self.subTest(pieces=pieces), self.assertRaises(convoy.UsageError):
                convoy.load(pieces)
        with self.assertRaises(convoy.UsageError):
            convoy.load([config, config], weights=config)
        with self.assertRaises(convoy.FileError):
            convoy.load({"a.onnx": self.folder / "none.onnx"})


class Porting(Folder):
    def test_a_port_is_proved_and_the_same(self):
        report = convoy.port(DIGITS, self.folder / "digits.onnx")
        self.assertTrue(report.holds)
        self.assertEqual(report.files, (self.folder / "digits.onnx",))
        self.assertIn("proof", str(report))
        found = convoy.diff(DIGITS, self.folder / "digits.onnx", page=True)
        self.assertTrue(found)
        self.assertEqual(found.findings, ())
        self.assertTrue(found._repr_html_().startswith("<iframe"))
        convoy.assert_same(DIGITS, self.folder / "digits.onnx")

    def test_what_calls_give_can_be_keys(self):
        report = convoy.port(DIGITS, self.folder / "digits.onnx")
        found = convoy.diff(DIGITS, self.folder / "digits.onnx")
        for one in (report, found, convoy.pad("Conv2D(8, 3)", size=8), convoy.diff_calls("Conv2D(8, 3)", "Conv2D(8, 5)"), convoy.Finding("a", "b", "c", True, "", {"torch": "d"})):
            self.assertEqual(len({one, copy.deepcopy(one), pickle.loads(pickle.dumps(one))}), 1)

    def test_arguments_are_refused_in_the_words_of_the_call(self):
        for call, words in [(lambda: convoy.load(DIGITS, size="8x8"), "^size='8x8' is no size"), (lambda: convoy.load(DIGITS, shapes="1,8,8,1"), "^shapes='1,8,8,1' is no size"),
                            (lambda: convoy.port(DIGITS, self.folder / "net"), "^output '.*net': convoy writes"), (lambda: convoy.to_onnx(DIGITS, to="onnx"), "takes no 'to'"),
                            (lambda: convoy.to_onnx(DIGITS, output="a.onnx"), "takes no 'output'"),
                            (lambda: convoy.batch.port([convoy.load(DIGITS)], to="onnx", out=self.folder), "is no path: give files")]:  # fmt: skip
            with self.subTest(words), self.assertRaisesRegex(convoy.UsageError, words):
                call()

    def test_nothing_is_overwritten_unasked(self):
        target = self.folder / "digits.onnx"
        target.write_bytes(b"mine")
        with self.assertRaises(convoy.FileError) as caught:
            convoy.port(DIGITS, target)
        self.assertIn("force=True", caught.exception.what)
        self.assertEqual(target.read_bytes(), b"mine")
        convoy.port(DIGITS, target, force=True)
        self.assertGreater(target.stat().st_size, 4)

    def test_what_was_read_is_ported_as_well(self):
        for source in (convoy.load(DIGITS), convoy.load(DIGITS.read_bytes())):
            convoy.port(source, self.folder / "digits.onnx", force=True)
            convoy.assert_same(source, self.folder / "digits.onnx")
        with DIGITS.open("rb") as file:
            net = convoy.load(file)
        with self.assertRaises(convoy.UsageError):
            convoy.to_onnx(net)

    def test_what_was_read_is_ported_as_it_was_read(self):
        whole = convoy.load(DIGITS)
        inner = whole.layers[1].name
        cut = convoy.load(DIGITS, outputs=(inner,))
        convoy.port(cut, self.folder / "cut.onnx")
        ported = convoy.load(self.folder / "cut.onnx")
        self.assertEqual([len(one.shape) for one in ported.outputs], [len(one.shape) for one in cut.outputs])
        self.assertLess(len(ported.layers), len(whole.layers))
        convoy.port(cut, self.folder / "cut.onnx", force=True, outputs=(whole.layers[2].name,))
        self.assertGreater(len(convoy.load(self.folder / "cut.onnx").layers), len(ported.layers))

    def test_without_a_proof_nothing_is_claimed(self):
        self.assertIsNone(convoy.port(DIGITS, self.folder / "digits.onnx", proof=False).holds)

    def test_file_names_are_bytes(self):
        name = os.fsdecode(bytes(self.folder) + b"/n\xe9t.onnx")
        report = convoy.port(DIGITS, name)
        self.assertEqual(report.files, (pathlib.Path(name),))
        self.assertEqual(convoy.load(name).parameters, convoy.load(DIGITS).parameters)

    def test_onnx_as_bytes(self):
        data = convoy.to_onnx(DIGITS)
        self.assertIsInstance(data, bytes)
        convoy.assert_same(DIGITS, data)

    def test_unknown_targets_are_refused(self):
        for arguments in ({"to": "caffe"}, {"interface": "both"}):
            with self.subTest(**arguments), self.assertRaises(convoy.UsageError):
                convoy.port(DIGITS, self.folder / "net", **arguments)
        self.assertEqual(list(self.folder.iterdir()), [])


class Comparing(Folder):
    def test_a_difference_names_the_layer_the_cause_and_the_line(self):
        for name, padding in (("a", "1"), ("b", "(1, 0)")):
            (self.folder / f"{name}.py").write_text(f"from torch import nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding={padding}), nn.ReLU())\n")
        found = convoy.diff(self.folder / "a.py", self.folder / "b.py", shapes=(1, 3, 8, 10))
        self.assertFalse(found)
        self.assertIn("padding=1", found.findings[0].fix["torch"])
        with self.assertRaises(AssertionError) as caught:
            convoy.assert_same(self.folder / "a.py", self.folder / "b.py", shapes=(1, 3, 8, 10))
        self.assertIn("padding=1", str(caught.exception))


def killed_by_its_name(file, output, to, force, options):
    """A worker that dies on one model."""
    if "deadly" in file:
        os.kill(os.getpid(), signal.SIGKILL)
    return port_one(file, output, to, force, options)


port_one = convoy.batch._port_one


class Batches(Folder):
    def setUp(self):
        super().setUp()
        self.zoo = self.folder / "zoo"
        (self.zoo / "deeper").mkdir(parents=True)
        for name in ("a.keras", "deeper/a.keras", "b.keras"):
            (self.zoo / name).write_bytes(DIGITS.read_bytes())
        (self.zoo / "broken.onnx").write_bytes(b"no model")
        (self.zoo / "notes.txt").write_text("no model either")

    def test_each_model_is_proved_or_says_why_not(self):
        entries = convoy.batch.port([self.zoo], to="onnx", out=self.folder / "out")
        self.assertEqual({pathlib.Path(e.file).name: e.verdict for e in entries}, {"a.keras": "proved", "b.keras": "proved", "broken.onnx": "broken"})
        self.assertEqual(len(entries), 4)
        self.assertEqual(sorted(str(p.relative_to(self.folder / "out")) for p in (self.folder / "out").rglob("*.onnx")), ["a.onnx", "b.onnx", "deeper/a.onnx"])
        self.assertEqual(convoy.batch.read_ledger(self.folder / "out" / "ledger.jsonl"), entries)
        self.assertTrue(all(e.sha256 and e.memory > 0 for e in entries))

    def test_files_of_one_name_do_not_meet(self):
        entries = convoy.batch.port([self.zoo / "a.keras", self.zoo / "deeper" / "a.keras"], to="torch", out=self.folder / "out")
        self.assertEqual([pathlib.Path(e.output).name for e in entries], ["a.py", "a_2.py"])

    def test_what_is_done_is_left_out(self):
        out = self.folder / "out"
        first = convoy.batch.port([self.zoo], to="onnx", out=out)
        before = {p: p.stat().st_mtime_ns for p in out.rglob("*.onnx")}
        with (out / "ledger.jsonl").open("a") as lines:
            lines.write('{"file": "cut')  # a kill in the middle of a line
        (self.zoo / "c.keras").write_bytes(DIGITS.read_bytes())
        second = convoy.batch.port([self.zoo], to="onnx", out=out, resume=True)
        self.assertEqual(len(second), len(first) + 1)
        self.assertEqual({p: p.stat().st_mtime_ns for p in before}, before)
        self.assertEqual(len(convoy.batch.read_ledger(out / "ledger.jsonl")), len(first) + 2)  # the new one, and the broken one again

    def test_a_port_keeps_its_name(self):
        out, folders = self.folder / "out", [self.folder / name for name in ("late", "early")]
        for folder in folders:
            folder.mkdir()
            (folder / "net.keras").write_bytes(DIGITS.read_bytes())
        (first,) = convoy.batch.port([folders[1] / "net.keras"], to="onnx", out=out)
        later = convoy.batch.port([folder / "net.keras" for folder in folders], to="onnx", out=out, resume=True)
        self.assertEqual([e.output for e in later], [str(out / "net_2.onnx"), first.output])
        self.assertEqual(later[1], first)

    def test_shards_are_the_whole(self):
        parts = [convoy.batch.port([self.zoo], to="onnx", out=self.folder / "out", shard=(i, 3), ledger=self.folder / f"{i}.jsonl") for i in range(3)]
        self.assertEqual(len({e.file for part in parts for e in part}), 4)
        self.assertEqual(sum(map(len, parts)), 4)

    def test_processes_and_a_worker_that_dies(self):
        (self.zoo / "deadly.keras").write_bytes(DIGITS.read_bytes())
        convoy.batch._port_one = killed_by_its_name
        try:
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
                entries = convoy.batch.port([self.zoo], to="onnx", out=self.folder / "out", executor=pool)
        finally:
            convoy.batch._port_one = port_one
        verdicts = {str(pathlib.Path(e.file).relative_to(self.zoo)): e.verdict for e in entries}
        self.assertEqual(verdicts, {"a.keras": "proved", "b.keras": "proved", "broken.onnx": "broken", "deadly.keras": "failed", "deeper/a.keras": "proved"})

    def test_a_saved_model_is_one_model_and_no_proof_is_no_proof(self):
        served = next((ROOT / "tests/data/corpus/tensorflow").glob("*/saved_model"))
        shutil.copytree(served, self.folder / "served" / "first" / "saved_model")
        shutil.copytree(served, self.folder / "served" / "second")
        entries = convoy.batch.port([self.folder / "served"], to="tflite", out=self.folder / "out", proof=False)
        self.assertEqual([(pathlib.Path(e.output).relative_to(self.folder / "out").as_posix(), e.verdict) for e in entries],
                         [("first/saved_model.tflite", "written"), ("second.tflite", "written")])
        again = convoy.batch.port([self.folder / "served"], to="tflite", out=self.folder / "out", resume=True)
        self.assertEqual([e.verdict for e in again], ["proved", "proved"])
        self.assertEqual(entries[0].sha256, entries[1].sha256)
        command = subprocess.run(["convoy", "port", str(self.folder / "served"), "--to", "tflite", "-o", str(self.folder / "out"), "--resume"],
                                 capture_output=True, text=True, check=True)
        self.assertIn("2 of 2 models stood already", command.stdout)  # one ledger for both

    def test_what_makes_no_sense_is_refused(self):
        for options in ({"to": "caffe"}, {"to": "onnx", "shard": (3, 3)}):
            with self.subTest(**options), self.assertRaises(convoy.UsageError):
                convoy.batch.port([self.zoo], out=self.folder / "out", **options)


class Attacks(Folder):
    """Files that were made to break a reader: an answer or a sentence, and the interpreter lives."""

    SHARED = pathlib.Path(os.environ.get("CONVOY_SHARED", ROOT.parent / "shared")) / "attacks"

    def endure(self, file):
        """What all entries make of a file, in this process; what is refused is refused with words."""
        kinds = []
        target = self.folder / "port"

        def asked(call):
            try:
                call()
                kinds.append("an answer")
            except convoy.InternalError as error:
                self.fail(f"{file}: {error}")
            except convoy.Error as error:
                self.assertTrue(error.what)
                kinds.append(type(error).__name__)

        asked(lambda: convoy.load(file))
        asked(lambda: convoy.load(file).summary())
        asked(lambda: convoy.load(file.read_bytes()))
        if file.parent.name in ("limits", "must_differ"):  # what takes long with them is asked elsewhere
            return kinds
        asked(lambda: convoy.diff(file, file))
        for to in ("torch", "keras", "onnx", "tflite"):
            ending = {"torch": ".py", "keras": ".keras"}.get(to, f".{to}")
            asked(lambda to=to, ending=ending: convoy.port(file, target.with_suffix(ending), to=to, proof=False, force=True))
        for one in self.folder.iterdir():
            one.unlink()
        return kinds

    def test_every_file_that_ended_the_command_once(self):
        if not self.SHARED.is_dir():
            self.skipTest(f"no {self.SHARED}")
        files = sorted(file for folder in ("crash", "limits", "wrong", "must_differ") for file in (self.SHARED / folder).rglob("*") if file.is_file())
        self.assertGreater(len(files), 25)
        for file in files:
            with self.subTest(str(file.relative_to(self.SHARED))):
                self.assertIn(len(self.endure(file)), (3, 8))

    def test_what_must_differ_differs(self):
        if not self.SHARED.is_dir():
            self.skipTest(f"no {self.SHARED}")
        for a in sorted((self.SHARED / "must_differ").glob("*.a.*")):
            with self.subTest(a.name):
                self.assertFalse(convoy.diff(a, a.with_name(a.name.replace(".a.", ".b."))).same)

    def test_files_that_the_fuzzers_found(self):
        files = sorted(file for file in (ROOT / "fuzz" / "found").rglob("*") if file.is_file())
        self.assertGreater(len(files), 10)
        for file in files:
            data = file.read_bytes()
            with self.subTest(file.name):
                try:
                    convoy.load(data)
                except convoy.InternalError:
                    raise
                except convoy.Error as error:
                    self.assertTrue(error.what)


class Pads(unittest.TestCase):
    def test_a_call_is_told_in_every_framework(self):
        told = convoy.pad("Conv2D(8, (4, 1), padding='same')", size=(100, 20))
        self.assertEqual((told.before, told.after, told.out), ((1, 0), (2, 0), (100, 20)))
        self.assertEqual(told.torch, "x = F.pad(x, (0, 0, 1, 2)); nn.Conv2d(c, 8, (4, 1))")
        self.assertEqual(told.onnx, "Conv(kernel_shape=[4, 1], pads=[1, 0, 2, 0])")
        self.assertIn("pads=[1, 0, 2, 0]", str(told))
        free = convoy.pad("nn.Conv2d(3, 8, 3, 2, 1)", size=(None, 9))
        self.assertEqual((free.out, free.axes[0].formula), ((None, 5), "ceil(n / 2)"))

    def test_sizes_of_numpy_are_sizes(self):
        self.assertEqual(convoy.pad("Conv2D(8, (4, 1), padding='same')", size=tuple(np.array([100, 20]))).out, (100, 20))
        self.assertEqual(convoy.pad("nn.Conv2d(3, 8, 3)", size=None).out, (None, None))
        for size in ("abc", 2.5, {}):
            with self.subTest(size=size), self.assertRaises((convoy.UsageError,)):
                convoy.pad("nn.Conv2d(3, 8, 3)", size=[size])

    def test_what_is_no_call_is_refused(self):
        for call, kind in [("Convolve(3)", convoy.UsageError), ("", convoy.UsageError), ("nn.Conv2d(3, 8, 3, stride=2, padding='same')", convoy.Unsupported)]:
            with self.subTest(call), self.assertRaises(kind):
                convoy.pad(call)


class Options(Folder):
    """What the command can be asked for, the module can: by arguments of the options' names."""

    # Options with another name in Python, and those that ask for nothing of the work.
    NAMES = {"--shape": "shapes", "--allow-root": "import_roots", "--set": "names", "--no-proof": "proof", "--float16": "reals", "--bfloat16": "reals",
             "--float32": "reals", "--input": "inputs", "-o": "output", "--html": "page", "--kernel": None, "--channels": None}
    PRINTED = {"-h", "--json", "-q", "--help"}
    ELSEWHERE = {"port": {"--args": "net.py:Net(3, 64)", "--report": "report.data", "--jobs": "batch", "--resume": "batch", "--shard": "batch"},
                 "run": {"--args": "net.py:Net(3, 64)", "-o": "what is returned", "-f": "what is returned"},
                 "diff": {"--report": "data", "--check": "the command", "--fix": "mend", "-o": "mend", "-f": "mend", "--kernel": "diff_calls",
                          "--channels": "diff_calls"}}

    def options_of(self, command):
        said = subprocess.run(["convoy", command, "--help"], capture_output=True, text=True, check=True).stdout
        found = re.findall(r"^  (-[-\w]+)(?:,(--[-\w]+))?", said.partition("Options:")[2], re.M)
        return {"-o" if short == "-o" else "-f" if short == "-f" else long or short for short, long in found if short not in self.PRINTED}

    def test_every_option_has_its_argument(self):
        reading = set(inspect.signature(convoy.load).parameters)
        taken = {"port": set(inspect.signature(convoy.port).parameters) | reading,
                 "run": set(inspect.signature(convoy.Model.__call__).parameters) | reading,
                 "diff": set(inspect.signature(convoy.diff).parameters) | reading}
        for command, arguments in taken.items():
            options = self.options_of(command)
            self.assertIn("--budget", options)
            for option in options - set(self.ELSEWHERE[command]):
                with self.subTest(f"{command} {option}"):
                    name = self.NAMES.get(option, "force" if option == "-f" else option.lstrip("-").replace("-", "_"))
                    self.assertIn(name, arguments)

    def ported(self, name, source=DIGITS, **options):
        convoy.port(source, self.folder / name, **options)
        return self.folder / name

    def test_numbers_are_carried_in_another_type(self):
        halves = convoy.load(self.ported("halves.onnx", reals="float16"))
        self.assertEqual(halves.outputs[0].dtype, "float16")
        for wrong in ("float64", "int8", 16):
            with self.subTest(wrong), self.assertRaisesRegex(convoy.UsageError, "reals"):
                self.ported("wrong.onnx", reals=wrong)

    def test_what_is_quantised_is_kept_or_left(self):
        source = ROOT / "tests/data/corpus/tflite/mobile_int8/model.tflite"
        x = np.load(source.with_name("input_0.npy"))
        self.assertEqual(convoy.load(source)(x).shape, np.load(source.with_name("output_0.npy")).shape)
        kept, left = (self.ported(f"{word}.onnx", source, quantized=word) for word in ("keep", "float"))
        self.assertLess(len(convoy.load(left).layers), len(convoy.load(kept).layers))
        with self.assertRaises(convoy.Unsupported):
            self.ported("kept.py", source, quantized="keep")
        with self.assertRaisesRegex(convoy.UsageError, "quantized"):
            self.ported("wrong.onnx", source, quantized="all")
        self.assertTrue(convoy.diff(convoy.load(source), kept))
        self.assertIn("dB", convoy.diff(convoy.load(source), left).text)  # what rounding loses, layer by layer
        with self.assertWarnsRegex(convoy.Warning, "nothing is rounded to their steps") as told:
            real = convoy.load(source, dequantize=True)
        self.assertEqual(told.filename, __file__)
        convoy.assert_same(real, left)

    def test_a_port_is_written_as_asked(self):
        usual, lean = self.ported("usual.onnx"), self.ported("lean.onnx", optimize=True, opset=18, threads=1)
        self.assertLess(len(convoy.load(lean).layers), len(convoy.load(usual).layers))
        self.assertIn("opset 18", convoy.load(lean).format)
        self.assertEqual(len(convoy.port(DIGITS, self.folder / "apart.onnx", external_data=True).files), 2)
        self.assertLess(self.ported("halves.tflite", float16_weights=True).stat().st_size, self.ported("usual.tflite").stat().st_size)
        self.ported("net.py", weights_format="pt")
        self.assertTrue((self.folder / "net.pt").exists())
        for name, wrong in [("wrong.py", {"optimize": True}), ("wrong.onnx", {"weights_format": "pt"}), ("wrong.onnx", {"float16_weights": True}),
                            ("wrong.py", {"weights_format": "zip"}), ("wrong.onnx", {"threads": -1})]:
            with self.subTest(**wrong), self.assertRaises(convoy.UsageError):
                self.ported(name, **wrong)
        with self.assertRaisesRegex(convoy.UsageError, "convoy.port"):
            convoy.to_onnx(DIGITS, external_data=True)

    def test_names_that_source_leaves_open_are_given(self):
        source = self.folder / "net.py"
        source.write_text("from torch import nn\nmodel = nn.Conv2d(3, size[1], kernel)\n")
        net = convoy.load(source, shapes=(1, 3, 8, 10), names={"size": (4, np.int64(5)), "kernel": [3, 2]})
        self.assertEqual(net.outputs[0].shape, (1, 5, 6, 9))
        self.assertEqual(convoy.load(self.ported("net.onnx", source, shapes=(1, 3, 8, 10), names={"size": {1: 7}, "kernel": 3})).outputs[0].shape[1], 7)
        for wrong in (["size=3"], {3: 4}, {"size": object()}, {"a b": 3}):
            with self.subTest(repr(wrong)), self.assertRaises(convoy.UsageError):
                convoy.load(source, shapes=(1, 3, 8, 10), names=wrong)

    def test_a_signature_is_chosen(self):
        saved = ROOT / "tests/data/corpus/tensorflow/resizes/saved_model"
        convoy.load(saved, signature="serving_default")
        with self.assertRaisesRegex(convoy.Error, "no_such"):
            convoy.load(saved, signature="no_such")

    def test_kernels_are_chosen(self):
        x, _ = digits()
        net = convoy.load(DIGITS)
        for options in ({"plain": True}, {"direct": True}, {"threads": 1}):
            with self.subTest(**options):
                np.testing.assert_allclose(net(x, **options), net(x), rtol=1e-4, atol=1e-6)

    def test_a_model_ends_at_layers(self):
        x, _ = digits()
        net = convoy.load(DIGITS)
        names = [layer.name for layer in net.layers if layer.name][:2]
        first, second = net.outputs_at(names)(x)
        for given, name in ((first, names[0]), (second, names[1])):  # alone, a layer may be computed together with others
            np.testing.assert_allclose(given, convoy.load(DIGITS, outputs=name)(x), rtol=1e-4, atol=1e-5)
        with self.assertRaises(convoy.UsageError):
            net.outputs_at("no such")

    def test_the_weights_of_a_file_are_arrays(self):
        weights = convoy.weights(DIGITS)
        self.assertEqual(sum(one.size for one in weights.values()), convoy.load(DIGITS).parameters)
        with self.assertRaises(convoy.FileError):
            convoy.weights("no such.npz")

    def test_weights_of_what_is_at_hand(self):
        state = {"a": np.arange(6, dtype="float32").reshape(2, 3), "b": np.array([True, False])}
        had = convoy.weights(state)
        self.assertEqual(list(had), ["a", "b"])
        for name, one in had.items():
            np.testing.assert_array_equal(one, state[name])
            self.assertFalse(np.shares_memory(one, state[name]))
        of_file = convoy.weights(DIGITS)
        for source in (convoy.load(DIGITS), convoy.load(DIGITS.read_bytes())):
            self.assertEqual({name: one.tobytes() for name, one in convoy.weights(source).items()},
                             {name: one.tobytes() for name, one in of_file.items()})

    def test_two_calls_are_compared(self):
        apart = convoy.diff_calls("nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')", size=(8, 10))
        self.assertFalse(apart)
        self.assertTrue(apart.findings)
        self.assertTrue(convoy.diff_calls("nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')", size=(7, 9)))
        self.assertEqual(apart.findings, ("on every axis: 1 in front and 1 behind in a, 0 in front and 1 behind in b",))
        self.assertIn("x = F.pad(x, (0, 1, 0, 1))", str(apart))
        self.assertIn("<pre>", apart._repr_html_())
        every = convoy.diff_calls("nn.Conv2d(3, 8, 3, padding=1)", "Conv2D(8, 3, padding='same')")
        self.assertTrue(every.same)
        self.assertIn("at every size", str(every))
        kind = convoy.diff_calls("nn.Conv2d(3, 8, 3)", "nn.MaxPool2d(3)", size=9)
        self.assertIn("a convolves, b takes the maximum", str(kind))
        # What neither says is asked for, and taken.
        self.assertFalse(convoy.diff_calls("tf.nn.conv2d(x, w, 2, 'SAME')", "F.conv2d(x, w, stride=2, padding=1)", size=8, kernel=3, channels=4))
        with self.assertRaisesRegex(convoy.UsageError, "^b: 'Foo' is not defined"):  # not what a says of an input that it does not take
            convoy.diff_calls("nn.Conv2d(3, 8, 3)", "Foo(3)")
        for a, b, kind in [("", "", convoy.UsageError), ("nn.Conv2d(3, 8, 3", "nn.ReLU()", convoy.UsageError), ("nn.Conv2d(3, 8, 3)", 3, convoy.UsageError),
                           ("nn.Conv2d(3, 8, 3)", "nn.Conv1d(3, 8, 3)", convoy.UsageError),
                           ("nn.Conv2d(3, 8, 3, 2, 'same')", "nn.Conv2d(3, 8, 3)", convoy.UsageError)]:  # fmt: skip
            with self.subTest(a=a, b=b), self.assertRaises(kind):
                convoy.diff_calls(a, b)

    def test_what_differs_is_put_right(self):
        for name, padding in (("a.py", "1"), ("b.py", "(1, 0)")):
            (self.folder / name).write_text(f"from torch import nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding={padding}))\n")
        a, b, shapes = self.folder / "a.py", self.folder / "b.py", (1, 3, 8, 10)
        self.assertFalse(convoy.diff(a, b, shapes=shapes))
        report = convoy.mend(a, b, self.folder / "mended", shapes=shapes)
        self.assertTrue(report.holds)
        convoy.assert_same(a, self.folder / "mended" / "b.py", shapes=shapes)
        with self.assertRaises(convoy.FileError):
            convoy.mend(a, b, self.folder / "mended", shapes=shapes)
        with self.assertRaisesRegex(convoy.UsageError, "path"):
            convoy.mend(a, b.read_bytes(), self.folder / "mended", shapes=shapes)

    def test_each_of_two_models_has_weights_of_its_own(self):
        source = self.folder / "net.py"
        source.write_text("from torch import nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, (3, 2)), nn.ReLU())\n")
        shapes = (1, 3, 8, 10)
        one = {"0.weight": np.arange(72, dtype="float32").reshape(4, 3, 3, 2), "0.bias": np.ones(4, "float32")}
        other = {**one, "0.bias": np.array([1, 2, 1, 1], "float32")}
        self.assertTrue(convoy.diff(source, source, weights_a=one, weights_b=one, shapes=shapes))
        self.assertFalse(convoy.diff(source, source, weights_a=one, weights_b=other, shapes=shapes))
        self.ported("net.onnx", source, shapes=shapes, seed=7)
        self.assertTrue(convoy.diff(self.folder / "net.onnx", source))  # without any, as if it held the other's


class TFLite(Folder):
    def test_a_model_becomes_one_and_is_the_same(self):
        data = convoy.to_tflite(DIGITS)
        self.assertEqual(data[4:8], b"TFL3")
        self.assertEqual(convoy.load(data).inputs[0].shape, (None, 8, 8, 1))
        convoy.assert_same(DIGITS, data)


class Interrupts(Folder):
    # Ten seconds and more of work, so that what ends within the five that a busy machine may take was interrupted.
    SLOW = "import torch.nn as nn\nnet = nn.Sequential(*[nn.Conv2d(64, 64, 7, padding=3) for _ in range(40)])\n"
    SHAPE = (1, 64, 400, 390)

    def setUp(self):
        super().setUp()
        # A shell starts what it runs in the background deaf to interrupts.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def interrupted(self, work):
        """Seconds from the interrupt to its exception."""
        begun = []

        def interrupt():
            begun.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.4, interrupt)
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            work()
        return time.monotonic() - begun[0]

    def test_running_and_porting_end_at_once(self):
        (self.folder / "slow.py").write_text(self.SLOW)
        net = convoy.load(self.folder / "slow.py", shapes=self.SHAPE)
        x = np.ones(self.SHAPE, "float32")
        self.assertLess(self.interrupted(lambda: net(x, budget="64G")), 5)
        self.assertLess(self.interrupted(lambda: convoy.port(self.folder / "slow.py", self.folder / "port.onnx", shapes=self.SHAPE, budget="64G")), 5)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["slow.py"])
        self.assertLess(self.interrupted(lambda: convoy.diff(net, net, x, budget="64G")), 5)
        self.assertEqual(convoy.load(DIGITS)(np.zeros((1, 8, 8, 1), "float32")).shape, (1, 10))  # nothing stays cancelled


class Asking(Folder):
    # A second or two of one processor: what is told begins after half a one.
    SHAPE = (1, 32, 400, 320)
    SLOW = "import torch.nn as nn\nnet = nn.Sequential(*[nn.Conv2d(32, 32, 7, padding=3) for _ in range(12)])\n"

    def slow(self):
        (self.folder / "slow.py").write_text(self.SLOW)
        return convoy.load(self.folder / "slow.py", shapes=self.SHAPE, budget="64G"), np.ones(self.SHAPE, "float32")

    def test_work_tells_what_it_is_at(self):
        net, x = self.slow()
        told = []
        wanted = net(x, budget="64G")
        np.testing.assert_array_equal(net(x, threads=1, progress=told.append, budget="64G"), wanted)
        self.assertGreater(len(told), 1)
        self.assertEqual({(at.step, at.of) for at in told}, {("computing", 12)})
        self.assertEqual([at.done for at in told], sorted(at.done for at in told))
        steps = []
        convoy.port(self.folder / "slow.py", self.folder / "port.onnx", shapes=(1, 32, 120, 96), progress=lambda at: steps.append(at.step))
        self.assertIn("proving", steps)

    def test_work_on_other_threads_tells_too(self):
        net, x = self.slow()
        told = []
        worker = threading.Thread(target=lambda: net(x, threads=1, progress=lambda at: told.append(threading.current_thread()), budget="64G"))
        worker.start()
        worker.join()
        self.assertEqual(set(told), {worker})

    def test_what_the_callable_raises_ends_the_work(self):
        net, x = self.slow()

        def stop(at):
            raise LookupError(at.step)

        with self.assertRaisesRegex(LookupError, "computing"):
            net(x, threads=1, progress=stop, budget="64G")
        with self.assertRaisesRegex(convoy.UsageError, "progress=3 is not taken"):
            net(x, progress=3)

    def test_a_terminal_shows_a_line_and_takes_it_away(self):
        net, x = self.slow()
        code = ("import sys, numpy as np, convoy; net = convoy.load(sys.argv[1], shapes=(1, 32, 400, 320))\n"
                "for _ in range(int(sys.argv[2])): net(np.ones((1, 32, 400, 320), 'float32'), threads=1, budget='64G')")
        import pty

        for many, shows in ((1, True), (0, False)):
            own, terminal = pty.openpty()
            with subprocess.Popen([sys.executable, "-c", code, self.folder / "slow.py", str(many)], stderr=terminal, stdout=subprocess.PIPE) as done:
                os.close(terminal)
                said = b""
                try:
                    while piece := os.read(own, 4096):
                        said += piece
                except OSError:  # the other end is closed
                    pass
                os.close(own)
                self.assertEqual(done.stdout.read(), b"")
            self.assertEqual(b"computing" in said, shows, said)
            self.assertTrue(not said or said.endswith(b"\r\x1b[K"), said)

    def test_a_budget_is_granted(self):
        x, _ = digits()
        for little in ("1", 1):
            with self.assertRaisesRegex(convoy.Unsupported, r"over the budget: .*; budget \d+M grants more"):
                convoy.load(DIGITS, budget=little)
        with self.assertRaisesRegex(convoy.Unsupported, "over the budget"):
            convoy.port(DIGITS, self.folder / "port.onnx", budget=1)
        self.assertEqual(list(self.folder.iterdir()), [])
        net = convoy.load(DIGITS, budget="1G")
        with self.assertRaisesRegex(convoy.Unsupported, "over the budget"):
            net(np.repeat(x, 50, axis=0), budget=1)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(net))(x, budget=2**30), net(x))
        for budget in ("8X", "", 0, -1, 2.5, True):
            with self.subTest(budget=budget), self.assertRaisesRegex(convoy.UsageError, "budget"):
                convoy.load(DIGITS, budget=budget)


class Notebooks(Folder):
    def test_a_summary_folds_by_module(self):
        (self.folder / "net.py").write_text(
            "from torch import nn\n\n\nclass Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.conv = nn.Conv2d(3, 3, 3, padding=1)\n        self.act = nn.ReLU()\n\n"
            "    def forward(self, x):\n        return self.act(self.conv(x))\n\n\n"
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.first = Block()\n        self.second = Block()\n"
            "        self.head = nn.Linear(7, 2)\n\n    def forward(self, x):\n        return self.head(self.second(self.first(x)))\n")
        page = convoy.load(f"{self.folder}/net.py:Net", shapes=(1, 3, 5, 7))._repr_html_()
        self.assertEqual(re.findall(r"<summary><b>(\w+)</b>", page), ["first", "second"])
        self.assertIn(">conv<", page)
        self.assertEqual(page.count("<details"), page.count("</details>"))

    def test_names_are_text(self):
        (self.folder / "net.onnx").write_bytes(convoy.to_onnx(DIGITS).replace(b"image", b"<i>&i"))
        page = convoy.load(self.folder / "net.onnx")._repr_html_()
        self.assertIn("&lt;i&gt;&amp;i", page)
        self.assertNotIn("<i>", page)

    def test_padding_is_drawn(self):
        told = convoy.pad("Conv2D(8, (4, 1), padding='same')", size=(100, 20))
        self.assertTrue(told.svg.startswith("<svg") or told.svg.startswith("<?xml"))
        self.assertIn("data:image/svg+xml", told._repr_html_())
        self.assertIn("F.pad", told._repr_html_())
        self.assertNotIn("<img", convoy.pad("nn.Conv2d(3, 8, 3)")._repr_html_())


class Sources(Folder):
    def test_a_port_is_compared_with_its_original_without_saying_a_shape(self):
        convoy.port(DIGITS, self.folder / "net.py")
        convoy.assert_same(DIGITS, self.folder / "net.py")
        convoy.assert_same(self.folder / "net.py", DIGITS)
        with self.assertRaises(convoy.UsageError):
            convoy.assert_same(self.folder / "net.py", self.folder / "net.py")  # neither says one


class Documents(Folder):
    def test_every_call_says_what_it_takes_gives_and_raises(self):
        """In numpydoc's sections; every parameter is named in one of the docstring's."""
        calls = [one for one in map(vars(convoy).get, convoy.__all__) if inspect.isfunction(one)]
        calls += [convoy.batch.port, convoy.batch.on_ray]
        methods = [one for name, one in vars(convoy.Model).items() if inspect.isfunction(one) and (name == "__call__" or not name.startswith("_"))]
        self.assertGreater(len(calls), 14)
        for call in calls + methods:
            with self.subTest(call.__qualname__):
                said = inspect.getdoc(call) or ""
                names = [name for name in inspect.signature(call).parameters if name != "self"]
                self.assertIn("\nReturns\n-------\n", said)
                if names:
                    self.assertIn("\nParameters\n----------\n", said)
                    self.assertIn("\nRaises\n------\n", said)
                heads = {name for line in said.splitlines() if re.fullmatch(r"\w+(, \w+)*", line) for name in line.split(", ")}
                self.assertEqual([name for name in names if name not in heads], [])

    def test_the_blocks_of_python_do_what_they_say(self):
        """Each runs as it stands, beside the examples; what a comment behind a print says is printed."""
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        blocks = [(page, block) for page in pages for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S)]
        self.assertGreater(len(blocks), 2)
        for page, block in blocks:
            with self.subTest(f"{page.name}: {block.splitlines()[0]}"), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "examples").symlink_to(ROOT / "examples")
                done = subprocess.run([sys.executable, "-c", textwrap.dedent(block)], cwd=folder, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                wanted = re.findall(r"^\s*print\(.*\)  # (.*)$", block, re.M)
                self.assertEqual(done.stdout.splitlines(), wanted)


class Installed(unittest.TestCase):
    def test_the_command_comes_along(self):
        said = subprocess.run(["convoy", "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.split()[-1], convoy.__version__)

    def test_the_command_of_the_package_counts_the_memory_it_holds(self):
        """Its program counts what the library beside it makes: nobody asks before a list of a program doubles."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "list.py")
            source.write_text("x = [1]\nfor i in range(40):\n    x = x + x\n")
            said = subprocess.run(["convoy", "summary", source, "--budget", "8M"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stdout), (6, ""))
        self.assertRegex(said.stderr, r"beside [1-8] MiB in use; 8 MiB are granted")

    def test_the_command_finds_its_package_wherever_pip_puts_it(self):
        package = pathlib.Path(convoy.__file__).parent
        for packages in (".", f"lib/python{sys.version_info.major}.{sys.version_info.minor}/dist-packages"):
            with self.subTest(packages), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "bin").mkdir()
                command = pathlib.Path(folder, "bin", "convoy")
                shutil.copy2(shutil.which("convoy"), command)
                link = pathlib.Path(folder, "link")
                link.symlink_to(command)
                shutil.copytree(package, pathlib.Path(folder, packages, "convoy"))
                for name in (command, link):
                    said = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
                    self.assertEqual(said.split()[-1], convoy.__version__)
                shutil.rmtree(pathlib.Path(folder, packages, "convoy"))
                said = subprocess.run([command, "--version"], capture_output=True, text=True)
                self.assertEqual((said.returncode, said.stdout), (4, ""))
                self.assertIn("install it again", said.stderr)

    def test_the_module_is_the_command_too(self):
        said = subprocess.run([sys.executable, "-m", "convoy", "no-such"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stdout), (2, ""))
        self.assertTrue(said.stderr.startswith("convoy: "))

    def test_no_framework_is_imported(self):
        code = ("import sys, convoy; convoy.load(sys.argv[1]); "
                "print([m for m in ('torch', 'keras', 'tensorflow', 'onnx') if m in sys.modules])")
        said = subprocess.run([sys.executable, "-c", code, str(DIGITS)], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.strip(), "[]")

    def test_numpy_is_imported_with_the_first_array(self):
        code = ("import sys, convoy; convoy.load(sys.argv[1]); print('numpy' in sys.modules); "
                "print(len(convoy.weights(sys.argv[1])), 'numpy' in sys.modules)")
        said = subprocess.run([sys.executable, "-c", code, str(DIGITS)], capture_output=True, text=True, check=True).stdout.split("\n")
        self.assertEqual(said[0], "False")
        self.assertTrue(said[1].endswith("True"), said)

    def test_importing_it_costs_little_beside_numpy(self):
        """What takes as long as all the rest is imported where it is needed."""
        code = "import sys, numpy; before = set(sys.modules); import convoy; print(*sorted(set(sys.modules) - before))"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        self.assertLessEqual({name for name in said if name.partition(".")[0] != "convoy"}, {"__future__", "atexit"})
        self.assertLessEqual({"Report", "batch", "load"}, set(dir(convoy)))
        with self.assertRaises(AttributeError):
            convoy.no_such_thing

    def test_what_comes_back_as_an_object_of_a_framework_needs_it(self):
        """Said before anything is carried; sys.modules holds None where a package is not found."""
        for call, missing, words in [("to_torch", "torch", "a torch.nn.Module, and torch is not installed: pip install torch; convoy.port(..., 'net.py')"),
                                     ("to_keras", "keras", "a keras.Model, and keras is not installed: pip install keras tensorflow; convoy.port"),
                                     ("to_keras", "tensorflow", "and tensorflow is not installed: pip install keras tensorflow")]:  # fmt: skip
            with self.subTest(missing), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "keras.py").write_text("import tensorflow\n")
                code = (f"import sys; sys.path.insert(0, {folder!r}); sys.modules[{missing!r}] = None\nimport convoy, pickle\n"
                        f"try: convoy.{call}('no such file')\nexcept ModuleNotFoundError as error:\n"
                        "    assert isinstance(error, convoy.UsageError) and str(pickle.loads(pickle.dumps(error))) == str(error)\n    print(error.name, error)")
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue(done.stdout.startswith(missing) and words in done.stdout, done.stdout)

    def test_nothing_is_printed(self):
        code = "import sys, convoy; convoy.assert_same(sys.argv[1], sys.argv[1])"
        said = subprocess.run([sys.executable, "-c", code, str(DIGITS)], capture_output=True, text=True, check=True)
        self.assertEqual((said.stdout, said.stderr), ("", ""))


if __name__ == "__main__":
    unittest.main()
