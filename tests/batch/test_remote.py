"""Models behind URLs that fsspec opens: read, ported and compared as files are; folders of them in batches."""
import io
import pathlib
import pickle
import tempfile
import unittest
import zipfile

import convoy
import fsspec
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits.keras"
SERVED = next((ROOT / "tests/data/corpus/tensorflow").glob("*/saved_model"))


class Remote(unittest.TestCase):
    def setUp(self):
        self.memory = fsspec.filesystem("memory")
        self.memory.store.clear()
        self.memory.pseudo_dirs[:] = [""]
        for name in ("zoo/a.keras", "zoo/deeper/a.keras"):
            self.memory.pipe(f"/{name}", DIGITS.read_bytes())
        self.memory.pipe("/zoo/notes.txt", b"no model")
        self.memory.pipe("/zoo/broken.onnx", b"no model")
        for file in SERVED.rglob("*"):
            if file.is_file():
                self.memory.pipe(f"/zoo/served/{file.relative_to(SERVED).as_posix()}", file.read_bytes())
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_url_is_a_file(self):
        x = np.random.default_rng(1).random((2, 8, 8, 1), "float32")
        wanted = convoy.load(DIGITS)(x)
        net = convoy.load("memory://zoo/a.keras")
        np.testing.assert_array_equal(net(x), wanted)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(net))(x), wanted)
        convoy.assert_same("memory://zoo/a.keras", DIGITS)
        convoy.assert_same(DIGITS, "memory://zoo/deeper/a.keras")
        convoy.port("memory://zoo/a.keras", self.folder / "a.onnx")
        convoy.assert_same(net, self.folder / "a.onnx")
        self.assertEqual(len(convoy.load("memory://zoo/served").outputs), len(convoy.load(SERVED).outputs))

    def test_files_in_archives(self):
        with zipfile.ZipFile(self.folder / "a.zip", "w") as archive:
            archive.write(DIGITS, "deep/net.keras")
        wanted = convoy.load(DIGITS).parameters
        self.assertEqual(convoy.load(f"zip://deep/net.keras::file://{self.folder}/a.zip").parameters, wanted)
        self.assertEqual(convoy.load(fsspec.open("memory://zoo/a.keras")).parameters, wanted)
        with fsspec.open("memory://zoo/a.keras") as file:
            self.assertEqual(convoy.load(file).parameters, wanted)

    def test_what_is_not_there_is_said(self):
        for url in ("memory://zoo/none.keras", "nosuch://zoo/a.keras", f"file://{self.folder}/none.keras"):
            with self.subTest(url), self.assertRaises(convoy.FileError) as caught:
                convoy.load(url)
            self.assertEqual(caught.exception.where, url)
            self.assertIn("fsspec does not open it", caught.exception.what)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_broken_file_is_told_by_its_url(self):
        with self.assertRaises(convoy.BrokenFile) as caught:
            convoy.load("memory://zoo/broken.onnx")
        self.assertIn("broken.onnx", str(caught.exception))

    def test_folders_become_ports(self):
        ledger = self.folder / "ledger.jsonl"
        entries = convoy.batch.port("memory://zoo", to="onnx", out="memory://ports", ledger=ledger)
        self.assertEqual({entry.file: (entry.verdict, entry.output) for entry in entries},
                         {"memory://zoo/a.keras": ("proved", "memory://ports/a.onnx"), "memory://zoo/broken.onnx": ("broken", ""),
                          "memory://zoo/deeper/a.keras": ("proved", "memory://ports/deeper/a.onnx"),
                          "memory://zoo/served": ("proved", "memory://ports/served.onnx")})
        self.assertEqual(sorted(self.memory.find("/ports")), ["/ports/a.onnx", "/ports/deeper/a.onnx", "/ports/served.onnx"])
        convoy.assert_same(DIGITS, self.memory.cat("/ports/a.onnx"))
        again = convoy.batch.port("memory://zoo", to="onnx", out="memory://ports", ledger=ledger, resume=True)
        self.assertEqual([entry.verdict for entry in again], [entry.verdict for entry in entries])
        self.assertEqual(len(ledger.read_text().splitlines()), len(entries) + 1)  # the broken one again
        self.memory.pipe("/zoo/a.keras", DIGITS.read_bytes() + b" ")  # another file, and no model
        third = convoy.batch.port("memory://zoo", to="onnx", out="memory://ports", ledger=ledger, resume=True)
        self.assertEqual(third[0].verdict, "broken")
        refused = convoy.batch.port(["memory://zoo/deeper/a.keras"], to="onnx", out="memory://ports/deeper", ledger=ledger)
        self.assertIn("force=True", refused[0].reason)
        torch = convoy.batch.port("memory://zoo/deeper", to="torch", out="memory://modules", ledger=ledger)
        self.assertEqual([entry.verdict for entry in torch], ["proved"])
        self.assertEqual(sorted(name.rpartition("/")[2] for name in self.memory.find("/modules")), ["a.check.safetensors", "a.py", "a.safetensors"])

    def test_open_files_of_other_kinds(self):
        class Stream(io.RawIOBase):
            def __init__(self):
                self.inner = io.BytesIO(DIGITS.read_bytes())

            def readable(self):
                return True

            def readinto(self, buffer):
                return self.inner.readinto(memoryview(buffer)[:1000])  # a socket gives what it has

        self.assertEqual(convoy.load(Stream()).parameters, convoy.load(DIGITS).parameters)


if __name__ == "__main__":
    unittest.main()
