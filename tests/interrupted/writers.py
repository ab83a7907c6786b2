"""Whatever moment a command ends at, what stands in place was made together, and the next run leaves nothing else.

writers.py CONVOY LIBRARY [--kills N] [--disks N] [--calls N] [--only WRITER] [--seed N] [--room FOLDER]
For every writer, one command replaces what another wrote (the same network with other weights) and is ended
  - at a random time (--kills),
  - in front of each of its calls that change files (--calls: at most so many, evenly chosen; 0: all), with second names
    for files and without,
  - by a disk that is full at some byte, at some call, or from some call on (--disks).
LIBRARY is stop_at_call. Prints one line per broken promise and the counts; exit code 1 when there is one.
"""
import argparse
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NETWORK = """import keras
from keras import layers
model = keras.Sequential([
    layers.Input((11, 10, 3)),
    layers.Conv2D(8, (3, 2), strides=(2, 1), padding="same", name="{0}_first"),
    layers.Conv2D(16, 3, activation="relu", name="{0}_second"),
    layers.Conv2D(5, (1, 2), name="{0}_third"),
])
"""
HEX = re.compile(r"\.[0-9a-f]{16}(?=\.)")
ENOSPC, EIO = 28, 5


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Writer:
    """What two commands write: `files` of each, the last one of which refers to the others."""

    def __init__(self, name, commands, files, codes=(0, 0)):
        self.name, self.commands, self.codes = name, commands, codes
        self.files = files if isinstance(files[0], (list, tuple)) else (files, files)


def writers(room):
    a, b = room / "a", room / "b"
    port = lambda *options: [["port", f"{x}.keras", *options, "-q"] for x in (a, b)]
    return [
        Writer("torch", port("--to", "torch", "-o", "m.py"), ["m.safetensors", "m.check.safetensors", "m.py"]),
        Writer("torch, pickled", port("--to", "torch", "-o", "m.py", "--weights-format", "pt"),
               ["m.pt", "m.check.safetensors", "m.py"]),
        Writer("torch, the second unproved", [port("--to", "torch", "-o", "m.py")[0],
                                              port("--to", "torch", "-o", "m.py", "--no-proof")[1]],
               (["m.safetensors", "m.check.safetensors", "m.py"], ["m.safetensors", "m.py"])),
        Writer("keras source", port("--to", "keras", "-o", "m.py"), ["m.weights.h5", "m.check.npz", "m.py"]),
        Writer("onnx with data", port("-o", "m.onnx", "--external-data"), ["m.onnx.data", "m.onnx"]),
        Writer("onnx", port("-o", "m.onnx"), ["m.onnx"]),
        Writer("keras", port("-o", "m.keras"), ["m.keras"]),
        Writer("keras, older", port("-o", "m.h5"), ["m.h5"]),
        Writer("tflite", port("-o", "m.tflite"), ["m.tflite"]),
        Writer("report", port("--to", "torch", "-o", "m.py", "--report", "m.json"),
               ["m.safetensors", "m.check.safetensors", "m.py", "m.json"]),
        Writer("report of data", port("-o", "m.onnx", "--external-data", "--report", "m.json"),
               ["m.onnx.data", "m.onnx", "m.json"]),
        Writer("page and report", [["diff", f"{a}.keras", f"{x}.keras", "--html", "p.html", "--report", "p.json", "-q"]
                                   for x in (a, b)], ["p.html", "p.json"], (0, 1)),
        Writer("page", [["diff", f"{a}.keras", f"{x}.keras", "--html", "p.html", "-q"] for x in (a, b)],
               ["p.html"], (0, 1)),
        *(Writer(f"weights, {end}", [["weights", f"{x}.keras", "-o", f"w.{end}"] for x in (a, b)], [f"w.{end}"])
          for end in ("safetensors", "weights.h5", "npz", "pt")),
        Writer("weights copied", [["weights", f"{x}.keras", f"{a}.keras", "--copy", "-o", "c.keras"] for x in (a, b)],
               ["c.keras"]),
        Writer("weights copied alone",
               [["weights", f"{x}.keras", f"{a}.keras", "--copy", "-o", "c.weights.h5"] for x in (a, b)],
               ["c.weights.h5"]),
        Writer("run", [["run", f"{x}.keras", "--input", str(room / "x.npy"), "-o", "y.npy"] for x in (a, b)], ["y.npy"]),
        Writer("drawing", [["pad", f'Conv2D(8, {k}, padding="same")', "--size", "9x10", "--svg", "d.svg"]
                           for k in (3, 4)], ["d.svg"]),
    ]


class Trial:
    def __init__(self, convoy, library, writer, folder, complain):
        self.convoy, self.library, self.writer, self.folder = convoy, library, writer, folder
        self.complain = lambda how, what: complain(f"{writer.name}, {how}: {what}")
        folder.mkdir()
        self.clean = []
        for which in (0, 1):  # what each command writes where nothing stands
            self.run(which)
            self.clean.append(self.state())
            for file in folder.iterdir():
                file.unlink()

    def command(self, which):
        return [self.convoy, *self.writer.commands[which], "--force"]

    def environment(self, **plan):
        return {**os.environ, "LD_PRELOAD": self.library, **{key: str(value) for key, value in plan.items()}}

    def run(self, which, **options):
        done = subprocess.run(self.command(which), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, **options)
        return done

    def state(self):
        return {file.name: file.read_bytes() for file in self.folder.iterdir()}

    def settle(self, which, how):
        """A whole run: all that stands afterwards is what it writes."""
        done = self.run(which)
        if done.returncode != self.writer.codes[which]:
            self.complain(how, f"the next run ends with {done.returncode}: {done.stderr[:200]}")
        if self.state() != self.clean[which]:
            self.complain(how, f"the next run leaves {sorted(self.state())}, wanted {sorted(self.clean[which])}")

    def reset(self, which):
        for file in self.folder.iterdir():
            file.unlink()
        for name, content in self.clean[which].items():
            (self.folder / name).write_bytes(content)

    # --- what may stand in place -------------------------------------------------------------------------------
    def version_of(self, name, content, how):
        """0 or 1: the command that wrote a file, under its own name or under one that tells its content."""
        plain = HEX.sub("", name)
        found = [i for i in (0, 1) if self.clean[i].get(plain) == content]
        if not found:
            self.complain(how, f"{name} is none of the files that were written")
        return found

    def check(self, how):
        """What stands is whole, and a file and those it refers to come from one command."""
        state = {name: content for name, content in self.state().items() if not name.startswith(".")}
        files = self.writer.files[0] if len(self.writer.files[0]) > 1 else []
        main = next((f for f in reversed(files) if not f.endswith(".json")), None)
        for name, content in state.items():
            if name != main:
                self.version_of(name, content, how)
        report = next((f for f in files if f.endswith("m.json")), None)
        if report in state:
            for entry in json.loads(state[report])["files"]:
                if entry["path"] not in state or sha256(state[entry["path"]]) != entry["sha256"]:
                    self.complain(how, f"{report} tells of another {entry['path']}")
        if main == "p.html":  # two answers to one question, which name no file of each other
            versions = [self.version_of(name, content, how) for name, content in state.items()]
            if len(versions) == 2 and versions[0] != versions[1]:
                self.complain(how, "page and report are of two comparisons")
        elif main:
            self.check_main(main, state, how)

    def check_main(self, main, state, how):
        if main not in state:
            if not self.may_be_absent:
                self.complain(how, f"{main} is gone")
            return
        content = state[main]
        references = self.references(content)
        for which in (0, 1):
            sides = {HEX.sub("", name): state.get(name) for name in references}
            wanted = {name: self.clean[which].get(name) for name in sides}
            if self.same_main(content, self.clean[which][main]) and sides == wanted:
                return
        told = {name: self.version_of(name, state[name], how) if name in state else "absent" for name in references}
        self.complain(how, f"{main} refers to what was not made with it: {told}")

    @staticmethod
    def references(content):
        if content.startswith(b'"""'):
            text = content.decode()
            stems = re.findall(r"HERE\.with_suffix\(['\"](.*?)['\"]\)", text)
            return sorted({"m" + end for end in stems} | set(re.findall(r"HERE\.with_name\(['\"](.*?)['\"]\)", text)))
        places = set()
        for found in re.finditer(rb"\x0a\x08location\x12", content):
            length = content[found.end()]
            places.add(content[found.end() + 1:found.end() + 1 + length].decode())
        return sorted(places)

    @staticmethod
    def same_main(content, wanted):
        if content == wanted:
            return True
        if content.startswith(b'"""'):
            return HEX.sub("", content.decode()).encode() == wanted
        # Lengths of the messages around a location differ with it: what lies between locations is the same.
        def pieces(data):
            parts = re.split(rb"\x0a\x08location\x12.[\w.]*?\.data", data, flags=re.DOTALL)
            names = re.findall(rb"[ab]_(?:first|second|third)\w*", data)
            return [len(parts), names, *(part[:-8][8:] for part in parts)]
        return pieces(content)[:2] == pieces(wanted)[:2] and pieces(content)[-1] == pieces(wanted)[-1]

    # --- the ways to end ---------------------------------------------------------------------------------------
    def kill_at_random_times(self, count, rng):
        begun = time.monotonic()
        for _ in range(4):
            self.run(0)
        usual = (time.monotonic() - begun) / 4
        self.may_be_absent = False
        self.reset(0)
        ended = tries = 0
        while ended < count and tries < 5 * count:
            tries += 1
            which = tries % 2
            process = subprocess.Popen(self.command(which), cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.6 if tries % 2 else 0, 1.05) * usual)
            process.kill()
            was_killed = process.wait() < 0
            ended += was_killed
            usual *= 1.01 if was_killed else 0.97  # the machine has other work, and the moments just before the end matter
            self.check(f"kill {tries}")
            if tries % 8 == 7:
                self.settle(which if tries % 16 == 7 else 1 - which, f"kill {tries}")
        return ended

    def calls(self, **plan):
        self.reset(0)
        counted = self.folder.parent / "calls"
        self.run(1, env=self.environment(COUNT_TO=counted, **plan))
        return int(counted.read_text())

    def stop_at_calls(self, most, **plan):
        self.may_be_absent = bool(plan)  # without second names for files the old ones are set aside
        all_calls = range(1, self.calls(**plan) + 1)
        chosen = all_calls if not most or len(all_calls) <= most else random.Random(1).sample(all_calls, most)
        for call in chosen:
            how = f"stopped at call {call} of {len(all_calls)}{', no second names' if plan else ''}"
            self.reset(0)
            done = self.run(1, env=self.environment(STOP_AT=call, **plan))
            if done.returncode != -9:
                self.complain(how, f"ended with {done.returncode}")
            self.check(how)
            self.settle(1 - call % 2, how)
        return len(chosen)

    def fill_disk(self, count, rng):
        largest = max(len(content) for content in self.clean[1].values())
        calls = self.calls()
        self.may_be_absent = False
        for i in range(count):
            self.reset(0)
            before = self.state()
            if i % 3 == 0:
                size = rng.randrange(0, largest + 50)
                how = f"no file of more than {size} bytes"
                done = self.run(1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
            else:
                call, fault = rng.randint(1, calls), rng.choice((ENOSPC, ENOSPC, EIO))
                how = f"call {call} of {calls}{' and all after it fail' if i % 3 == 2 else ' fails'} with {fault}"
                done = self.run(1, env=self.environment(FAIL_AT=call, FAIL_WITH=fault, FAIL_ON=int(i % 3 == 2)))
            state = {name: content for name, content in self.state().items() if not name.startswith(".")}
            if done.returncode == self.writer.codes[1]:
                if state != self.clean[1]:
                    self.complain(how, f"said to be done, and there stand {sorted(state)}")
            elif done.returncode != 4:
                self.complain(how, f"ended with {done.returncode}: {done.stderr[:200]}")
            elif i % 3 == 2 or "could not be synced" in done.stderr:
                self.check(how)  # what fails may not be taken back either, or is in place
            elif self.state() != before:
                self.complain(how, f"not as it was: {sorted(self.state())}; {done.stderr[:200]}")
            self.settle(1 - i % 2, how)
        return count


def make_sources(convoy, room):
    for seed, name in enumerate("ab"):
        (room / f"{name}.py").write_text(NETWORK.format(name))
        subprocess.run([convoy, "port", f"{name}.py", "-o", f"{name}.keras", "--seed", str(seed), "-q"], cwd=room, check=True)
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 11, 10, 3), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    numbers = b"".join(bytes([0, 0, 128 + i % 7, 63]) for i in range(11 * 10 * 3))
    (room / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + numbers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("convoy")
    parser.add_argument("library")
    for name, usual in (("kills", 5), ("disks", 6), ("calls", 12), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--only")
    parser.add_argument("--room")
    o = parser.parse_args()
    convoy, library = str(Path(o.convoy).resolve()), str(Path(o.library).resolve())
    broken = []

    def complain(sentence):
        broken.append(sentence)
        print("broken:", sentence, flush=True)

    room = Path(tempfile.mkdtemp(dir=o.room))
    try:
        make_sources(convoy, room)
        if o.only and o.only not in (names := [writer.name for writer in writers(room)]):
            parser.error(f"--only {o.only!r}: no writer has that name; they are {names}")
        for i, writer in enumerate(writers(room)):
            if o.only and o.only != writer.name:
                continue
            rng = random.Random(o.seed * 1000 + i)
            trial = Trial(convoy, library, writer, room / f"w{i}", complain)
            names = [sorted(files) for files in writer.files]
            if [sorted(state) for state in trial.clean] != names:
                complain(f"{writer.name}: writes {[sorted(state) for state in trial.clean]}, wanted {names}")
                continue
            kills = trial.kill_at_random_times(o.kills, rng) if o.kills else 0
            stops = trial.stop_at_calls(o.calls)
            if len(writer.files[0]) > 1:
                stops += trial.stop_at_calls(o.calls, REFUSE_LINKS=1)
            disks = trial.fill_disk(o.disks, rng)
            print(f"{writer.name}: {kills} of {o.kills} killed, {stops} stopped at a call, {disks} full disks", flush=True)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    print(f"{len(broken)} broken promises")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
