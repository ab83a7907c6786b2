"""A framework in a process of its own, because some calls end the process instead of raising."""
import importlib
import multiprocessing
import os
import re
import signal

from drawing import line_of

MODULES = {"torch": "torch_calls", "keras": "keras_calls", "tensorflow": "tensorflow_calls", "onnx": "onnx_calls",
           "tflite": "tflite_calls"}


PREFIX = {"torch": "torch", "keras": "keras", "tensorflow": "tf", "onnx": "onnx", "tflite": "tflite"}


def operator_of(call):
    """What is called, as the names of golden cases have it: conv1d, Conv2D, MaxPool, CONV_2D."""
    if "operator" in call:
        return call["operator"]
    named = re.search(r"make_node\('(\w+)'", call["call"]) or re.search(r"(\w+)\(", call["call"])
    return named[1].lower() if call["call"].startswith("torch") else named[1]


class Worker:
    def __init__(self, framework):
        self.framework = framework
        self.process = None

    def ask(self, *request):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=serve, args=(self.framework, theirs), daemon=True)
            self.process.start()
            theirs.close()
        try:
            self.pipe.send(request)
            return self.pipe.recv()
        except (EOFError, ConnectionResetError, BrokenPipeError):
            self.process.join()
            name = signal.Signals(-self.process.exitcode).name if self.process.exitcode < 0 else self.process.exitcode
            self.process = None
            return {"ended": f"the process ends with {name}"}

    def draw(self, seed):
        """(kind, setting, simplest) of a seed: what to call is drawn too, and what to try first when shrinking."""
        return self.ask("draw", seed)

    def run(self, kind, setting, name):
        """{"line": ..., "cause": why it is not compared} of a setting; {"impossible": why} where it says no call."""
        return self.ask("run", kind, setting, name)

    def close(self):
        if self.process:
            self.pipe.close()
            self.process.join(5)


def serve(framework, pipe):
    os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", KERAS_BACKEND="tensorflow")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the frameworks log on the way
    module = importlib.import_module(MODULES[framework])
    known = importlib.import_module("known")
    draw = importlib.import_module("drawing").Draw
    kinds = list(module.KINDS)
    while True:
        try:
            what, *request = pipe.recv()
        except EOFError:
            return
        if what == "draw":
            d = draw(f"{framework} {request[0]}")
            kind = d.choices(kinds, [module.KINDS[k][0] for k in kinds])[0]
            pipe.send((kind, module.KINDS[kind][1](d) | {"seed": d.between(0, 999)}, module.SIMPLEST.get(kind, {})))
            continue
        kind, setting, name = request
        try:
            call = module.KINDS[kind][2](setting)
        except Exception as error:  # a setting that no call can be made of
            pipe.send({"impossible": str(error)})
            continue
        answer = module.evaluate(call)
        if "unconverted" in answer:  # there is no such operator to ask
            pipe.send({"impossible": answer["error"]})
            continue
        reason = known.cause(framework, kind, setting, call, answer)
        pipe.send({"cause": reason} if reason else {"line": line_of(f"{PREFIX[framework]}/{operator_of(call)}/{name}", module.FRAMEWORK, call, answer)})
