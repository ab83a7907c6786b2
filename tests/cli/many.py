"""convoy port of many models: what becomes of each stands in the ledger, whatever becomes of their processes.

many.py CONVOY; works in a folder of its own; prints one line per broken promise and exits 1 when there is one.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONVOY = str(Path(sys.argv[1]).resolve())
CORPUS = Path(__file__).resolve().parent.parent / "data/corpus/keras"
NAMES = sorted(one.name for one in CORPUS.iterdir() if (one / "model.keras").exists())[:7]
broken = []
promises = 0


def hold(what, sentence):
    global promises
    promises += 1
    if not what:
        broken.append(sentence)


def convoy(*words):
    return subprocess.run([CONVOY, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)


def ledger(folder, name="ledger.jsonl"):
    return [json.loads(line) for line in (Path(folder) / name).read_text().splitlines() if line]


def zoo():
    Path("zoo/deep").mkdir(parents=True)
    for name in NAMES[:-1]:
        shutil.copy(CORPUS / name / "model.keras", f"zoo/{name}.keras")
    shutil.copy(CORPUS / NAMES[-1] / "model.keras", "zoo/deep/2 nets-in.one.keras")
    Path("zoo/cut.keras").write_bytes((CORPUS / NAMES[0] / "model.keras").read_bytes()[:900])
    Path("zoo/notes.txt").write_text("no model")


def every_model_has_an_entry():
    done = convoy("port", "zoo", "--to", "torch", "-o", "out", "--jobs", "2")
    entries = {entry["file"]: entry for entry in ledger("out")}
    hold(done.returncode == 5, f"a broken file among sound ones ends with 5, not {done.returncode}: {done.stderr}")
    hold(len(ledger("out")) == len(entries) == 8, f"8 models have an entry each: {sorted(entries)}")
    for file, entry in entries.items():
        if file == "zoo/cut.keras":
            hold(entry["verdict"] == "broken" and "cut off" in entry["reason"] and not entry["output"], f"cut.keras: {entry}")
            continue
        hold(entry["verdict"] == "proved" and not entry["reason"], f"{file}: {entry}")
        hold(Path(entry["output"]).exists() and entry["memory"] > 1 << 20 and len(entry["sha256"]) == 64, f"{file}: {entry}")
    hold(Path("out/deep/_2_nets_in_one.py").exists(), "a model keeps its folder, and its module's name can be imported")
    hold("proved" in done.stdout and "most memory" in done.stdout, f"the closing table: {done.stdout}")
    again = convoy("port", "zoo", "--to", "torch", "-o", "out")
    hold(all("exists" in line or "cut.keras" in line for line in again.stdout.splitlines()[:8]), "nothing is replaced without -f")
    forced = convoy("port", "zoo", "--to", "torch", "-o", "out", "-f", "--json")
    hold(sum(one["verdict"] == "proved" for one in json.loads(forced.stdout)["models"]) == 7, f"-f replaces: {forced.stdout}")


def resuming_does_what_is_left():
    shutil.rmtree("out")
    convoy("port", "zoo", "--to", "onnx", "-o", "out", "--no-proof")
    hold({entry["verdict"] for entry in ledger("out")} == {"written", "broken"}, "a port without a proof is written, not proved")
    done = convoy("port", "zoo", "--to", "onnx", "-o", "out", "--resume")
    hold(len(ledger("out")) == 16, "what was not proved is not done where a proof is asked for")
    Path("zoo/cut.keras").unlink()
    first, second = (Path(f"zoo/{name}.keras") for name in NAMES[:2])
    first.write_bytes(second.read_bytes())  # another model under the name
    Path(f"out/{NAMES[2]}.onnx").unlink()
    with open("out/ledger.jsonl", "a") as lines:
        lines.write('{"file":"zoo/half a li')
    done = convoy("port", "zoo", "--to", "onnx", "-o", "out", "--resume")
    text = Path("out/ledger.jsonl").read_text().splitlines()
    hold(done.returncode == 0, f"resuming: {done.returncode} {done.stdout} {done.stderr}")
    hold("5 of 7 models stood already" in done.stdout, f"what stands is left: {done.stdout}")
    hold({json.loads(line)["file"] for line in text[-2:]} == {str(first), f"zoo/{NAMES[2]}.keras"}, f"the rest is done: {text[-3:]}")
    hold(text[-3] == '{"file":"zoo/half a li', "a line that was cut off is no entry")
    Path("out/mine.onnx").write_text("mine")
    shutil.copy(second, "zoo/mine.keras")
    done = convoy("port", "zoo", "--to", "onnx", "-o", "out", "--resume")
    hold(done.returncode == 4 and Path("out/mine.onnx").read_text() == "mine", "resuming replaces nothing that no ledger names")
    Path("zoo/mine.keras").unlink()


def a_port_keeps_its_name():
    """Models of one stem come and go beside those that are ported."""
    Path("stems/b").mkdir(parents=True)
    shutil.copy(CORPUS / NAMES[1] / "model.keras", "stems/b/net.keras")
    convoy("port", "stems/b", "--to", "torch", "-o", "kept/")
    Path("stems/a").mkdir()
    shutil.copy(CORPUS / NAMES[2] / "model.keras", "stems/a/net.keras")
    both = ["stems/a/net.keras", "stems/b/net.keras"]
    done = convoy("port", *both, "--to", "torch", "-o", "kept", "--resume")
    outputs = {entry["file"]: entry["output"] for entry in ledger("kept")}
    hold("1 of 2 models stood already" in done.stdout, f"what was ported stands: {done.stdout} {done.stderr}")
    hold(outputs == {both[1]: "kept/net.py", both[0]: "kept/net_2.py"}, f"each has a port of its own: {outputs}")
    shutil.rmtree("stems/b")
    done = convoy("port", both[0], "--to", "torch", "-o", "kept", "--resume")
    hold("1 of 1 models stood already" in done.stdout, f"what was ported stands: {done.stdout} {done.stderr}")
    done = convoy("port", both[0], "--to", "onnx", "-o", "kept", "--resume")
    hold(Path("kept/net.onnx").exists(), f"names are of one kind of port: {done.stdout}")


def a_saved_model_is_one_model():
    corpus = CORPUS.parent / "tensorflow"
    one = next(path for path in sorted(corpus.glob("*/saved_model")) if path.is_dir())
    shutil.copytree(one, "served/first/saved_model")
    shutil.copytree(one, "served/second")
    done = convoy("port", "served", "--to", "onnx", "-o", "from_served")
    entries = ledger("from_served")
    hold(done.returncode == 0 and [entry["file"] for entry in entries] == ["served/first/saved_model", "served/second"], f"folders: {entries} {done.stderr}")
    again = convoy("port", "served/second/", "served/first/saved_model", "--to", "onnx", "-o", "named")
    hold(again.returncode == 0 and Path("named/second.onnx").exists(), f"a folder that is named is a model: {again.stdout} {again.stderr}")
    variables = next(Path("served/second").rglob("variables.data*"))
    variables.write_bytes(variables.read_bytes()[:-1] + b"\x01")
    done = convoy("port", "served", "--to", "onnx", "-o", "from_served", "--resume")
    hold("1 of 2 models stood already" in done.stdout, f"variables are of the model: {done.stdout}")


def shards_are_the_whole():
    files = []
    for i in range(3):
        hold(convoy("port", "zoo", "--to", "onnx", "-o", "parts", "--shard", f"{i}/3").returncode == 0, f"shard {i}")
        files += [entry["file"] for entry in ledger("parts", f"ledger.{i}-of-3.jsonl")]
    hold(len(files) == len(set(files)) == 7, f"three shards are the whole, once: {files}")
    done = convoy("port", "zoo", "--to", "onnx", "-o", "parts", "--resume")
    hold("7 of 7 models stood already" in done.stdout, f"a run of all knows what shards did: {done.stdout}")


def workers(parent):
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def kill_worker(parent, other_than=()):
    for _ in range(4000):
        for pid in workers(parent):
            if pid not in other_than:
                os.kill(pid, signal.SIGKILL)
                return pid
        time.sleep(0.002)
    return None


def a_lost_worker_is_one_entry():
    Path("slow.py").write_text(
        "import torch.nn as nn\nnet = nn.Sequential(*[nn.Conv2d(48, 48, 7, padding=3) for _ in range(12)])\n")
    for kills, verdict, code in ((1, "proved", 0), (2, "failed", 4)):
        folder = f"killed{kills}"
        parent = subprocess.Popen([CONVOY, "port", "slow.py", f"zoo/{NAMES[3]}.keras", "--to", "onnx", "-o", folder, "--shape", "1,48,40,40"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        killed = []
        for _ in range(kills):
            time.sleep(0.05)
            killed.append(kill_worker(parent.pid, killed))
        said = parent.communicate(timeout=300)
        entries = ledger(folder)
        hold(len(entries) == 2 and {entry["file"] for entry in entries} == {"slow.py", f"zoo/{NAMES[3]}.keras"}, f"an entry each: {entries}")
        slow = next(entry for entry in entries if entry["file"] == "slow.py")
        hold(slow["verdict"] == verdict, f"killed {kills} times: {slow} {said}")
        hold(kills == 1 or "signal 9" in slow["reason"], f"why: {slow}")
        hidden = [one.name for one in Path(folder).iterdir() if one.name.startswith(".")]
        hold(not hidden, f"temporaries of a process that was killed go: {hidden}")


def ending_the_command_ends_its_workers():
    parent = subprocess.Popen([CONVOY, "port", "slow.py", "slow.py:net", "--to", "onnx", "-o", "ended", "--jobs", "2", "--shape", "1,48,40,40"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not workers(parent.pid):
        time.sleep(0.002)
    time.sleep(0.05)
    children = workers(parent.pid)
    parent.terminate()
    parent.wait(timeout=60)
    for _ in range(3000):
        if not any(Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" for pid in children):
            break
        time.sleep(0.01)
    else:
        hold(False, "workers outlive the command")
    hold(not [one for one in Path("ended").iterdir() if one.suffix == ".onnx"], "nothing is half written")


def wrong_words():
    for words, sentence in (
        (["zoo", "--to", "onnx"], "add -o ports"),
        (["zoo", "-o", "o"], "add --to torch"),
        (["zoo", "--to", "onx", "-o", "o"], "did you mean 'onnx'"),
        (["zoo", "--to", "onnx", "-o", "o", "--shard", "3/3"], "I from 0 to N - 1"),
        (["zoo", "--to", "onnx", "-o", "o", "--shard", "a/3"], "such as 0/8"),
        (["zoo", "--to", "onnx", "-o", "o", "--report", "r.json"], "proof of one model"),
        (["zoo", "-", "--to", "onnx", "-o", "o"], "standard input is one model"),
        (["nothing here", "zoo", "--to", "onnx", "-o", "zoo/notes.txt"], "cannot be made"),
        (["parts", "--to", "onnx", "-o", "o", "--opset", "3"], "opset"),
    ):
        done = convoy("port", *words)
        hold(done.returncode in (2, 4, 6) and sentence in done.stderr + done.stdout, f"{words}: {done.returncode} {done.stderr}{done.stdout[:300]}")
    done = convoy("port", "nothing.keras", f"zoo/{NAMES[0]}.keras", "--to", "onnx", "-o", "some")
    hold(done.returncode == 4 and "does not exist" in done.stdout and Path(f"some/{NAMES[0]}.onnx").exists(), "a file that is missing leaves the others alone")
    done = subprocess.run(f"{CONVOY} port zoo --to onnx -o full", shell=True, stdout=open("/dev/full", "w"), stderr=subprocess.PIPE, text=True)
    hold(done.returncode == 4 and "standard output" in done.stderr, f"a full standard output is said: {done.returncode} {done.stderr}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    zoo()
    every_model_has_an_entry()
    resuming_does_what_is_left()
    a_port_keeps_its_name()
    shards_are_the_whole()
    a_saved_model_is_one_model()
    a_lost_worker_is_one_entry()
    ending_the_command_ends_its_workers()
    wrong_words()
    os.chdir("/")
print("\n".join(f"broken: {one}" for one in broken) + f"\n{promises} promises, {len(broken)} broken")
sys.exit(1 if broken else 0)
