"""Batches on a local Ray of two workers: a worker that is killed, a file that is broken and a model that takes too much memory cost
their own line of the ledger, and no other model anything."""
import collections
import contextlib
import hashlib
import io
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import convoy
import ray

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("CONVOY_SHARED", ROOT.parent / "shared")) / "corpus"
CORPUS = SHARED if SHARED.is_dir() else ROOT / "tests" / "data" / "corpus"
MODELS = {"keras": "model.keras", "torch": "model.pt2", "onnx": "model.onnx", "tflite": "model.tflite", "tensorflow": "saved_model", "pairs": "a.keras"}
STEP = 1 if os.environ.get("FULL") else 8
GIB = 1 << 30


def corpus():
    """One file of each model, a sample of them unless FULL=1."""
    return sorted(str(file) for kind, name in MODELS.items() for file in (CORPUS / kind).glob(f"*/{name}"))[::STEP]


def memory(word):
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(word))


def field(number, payload):
    """Of a protobuf message."""
    def varint(n):
        said = b""
        while n > 127:
            said, n = said + bytes([n & 127 | 128]), n >> 7
        return said + bytes([n])

    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def greedy(file):
    """An ONNX model of few bytes and a picture of 9000 x 7000: every value of its layers takes gigabytes."""
    def value(name, shape):
        sizes = b"".join(field(1, field(1, n)) for n in shape)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, sizes)))

    kernel = b"".join(field(1, n) for n in (8, 1, 3, 3)) + field(2, 1) + field(8, "w") + field(9, struct.pack("<72f", *range(72)))
    pads = field(1, "pads") + b"".join(field(8, 1) for _ in range(4)) + field(20, 7)
    node = field(1, "x") + field(1, "w") + field(2, "y") + field(3, "conv") + field(4, "Conv") + field(5, pads)
    graph = field(1, node) + field(2, "g") + field(5, kernel) + field(11, value("x", (1, 1, 9000, 7000))) + field(12, value("y", (1, 8, 9000, 7000)))
    file.write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 17)))


def workers():
    """Processes of this Ray that port a model now."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::_port_one") and f"{os.getuid()}" == f"{folder.stat().st_uid}":
                yield int(folder.name)
        except OSError:
            continue


def lines_of(ledger):
    return len(ledger.read_bytes().splitlines()) if ledger.exists() else 0


class OnRay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # What this machine holds now, and 3 GiB: the greedy model goes over it, and nothing else does.
        share = (memory("MemTotal") - memory("MemAvailable") + 3 * GIB) / memory("MemTotal")
        os.environ.update(RAY_memory_usage_threshold=f"{min(share, 0.95):.3f}", RAY_memory_monitor_refresh_ms="50", PYTHONPATH=str(ROOT / "tests" / "batch"))
        ray.init(num_cpus=2, log_to_driver=False, logging_level="ERROR", include_dashboard=False)

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kill_one(self, ledger, after):
        """Kills a worker that ports a model, once the ledger has so many lines."""
        killed = []

        def watch():
            while not killed and not self.ended:
                if lines_of(ledger) >= after:
                    for one in workers():
                        os.kill(one, signal.SIGKILL)
                        killed.append(one)
                        return
                time.sleep(0.002)

        self.ended = False
        threading.Thread(target=watch, daemon=True).start()
        return killed

    def test_the_ledger_is_whole_and_right(self):
        models = corpus()
        self.assertGreaterEqual(len(models), 400 if STEP == 1 and CORPUS == SHARED else 5)
        broken, huge = self.folder / "broken.onnx", self.folder / "huge.onnx"
        broken.write_bytes(b"no model")
        greedy(huge)
        middle = len(models) // 2
        given = [*models[:middle], str(broken), str(huge), *models[middle:]]
        out, ledger = self.folder / "out", self.folder / "out" / "ledger.jsonl"
        killed = self.kill_one(ledger, middle // 2)
        begun = time.monotonic()
        entries = convoy.batch.on_ray(given, to="onnx", out=out, budget="64G")
        self.ended = True
        counts = collections.Counter(entry.verdict for entry in entries)
        print(f"\n{len(given)} models in {time.monotonic() - begun:.0f} s: {dict(counts)}; worker {killed} killed", file=sys.stderr)

        self.assertEqual(len(killed), 1)
        self.assertEqual([entry.file for entry in entries], given)
        written = convoy.batch.read_ledger(ledger)
        self.assertEqual(len(written), lines_of(ledger))
        self.assertEqual(sorted(entry.file for entry in written), sorted(given))  # each once
        self.assertEqual({entry.file: entry for entry in written}, {entry.file: entry for entry in entries})
        said = {entry.file: entry for entry in entries}
        self.assertEqual(said[str(broken)].verdict, "broken")
        self.assertEqual(said[str(huge)].verdict, "failed", said[str(huge)])
        self.assertRegex(said[str(huge)].reason, "tried 3 times: ended for its memory, the last time with 2048 MiB declared")
        for entry in entries:
            if entry.file in (str(broken), str(huge)):
                continue
            with self.subTest(entry.file):
                self.assertIn(entry.verdict, ("proved", "refused", "broken"), entry.reason)
                if entry.verdict == "proved":
                    self.assertTrue(pathlib.Path(entry.output).is_file())
                    if pathlib.Path(entry.file).is_file():
                        self.assertEqual(entry.sha256, hashlib.sha256(pathlib.Path(entry.file).read_bytes()).hexdigest())
                else:
                    self.assertTrue(entry.reason)
        self.assertGreater(counts["proved"], 0.9 * len(models))

    def test_what_a_killed_driver_left_is_taken_up(self):
        models = sorted(str(file) for file in (CORPUS / "onnx").glob("*/model.onnx"))[:12]
        out, ledger = self.folder / "out", self.folder / "out" / "ledger.jsonl"
        code = "import sys, convoy; convoy.batch.on_ray(sys.argv[2:], to='keras', out=sys.argv[1])"
        with subprocess.Popen([sys.executable, "-c", code, out, *models], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}) as driver:
            while lines_of(ledger) < 3 and driver.poll() is None:
                time.sleep(0.01)
            driver.kill()
        before = [entry.file for entry in convoy.batch.read_ledger(ledger) if entry.verdict == "proved"]
        entries = convoy.batch.on_ray(models, to="keras", out=out, resume=True)
        self.assertEqual([entry.file for entry in entries], models)
        written = collections.Counter(entry.file for entry in convoy.batch.read_ledger(ledger) if entry.verdict == "proved")
        self.assertEqual(set(written.values()), {1})
        self.assertLessEqual(set(before), set(written))

    def test_the_block_of_the_documents_does_what_it_says(self):
        block, = (one for one in re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.S) if "on_ray" in one)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()) as said:
            exec(block, {})
        self.assertEqual(said.getvalue().splitlines(), re.findall(r"^print\(.*\)  # (.*)$", block, re.M))
        self.assertTrue((self.folder / "ports" / "digits.onnx").exists())  # the workers stand elsewhere

    def test_what_makes_no_sense_is_refused(self):
        for options in ({"to": "caffe"}, {"to": "onnx", "retries": -1}, {"to": "onnx", "memory": "much"}, {"to": "onnx", "out": "memory://ports"}):
            with self.subTest(**options), self.assertRaises(convoy.UsageError):
                convoy.batch.on_ray([], **{"out": self.folder / "out", **options})


if __name__ == "__main__":
    unittest.main()
