"""Programs that would never end, take all memory or leave the program: hostile_source.py CONVOY.

Each is refused, by a sentence and not by a signal, in 256 MiB. What ends them is a count of steps or bytes, so that no clock
is asked; the limit of processor time here only ends a test that has failed.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

NET = "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n"
LOOP = "while True:\n    "

# name: (program, words of the refusal)
STEPS, ROOM, DEEP, OUT = "steps", "MiB of values", "deep", "is not read"
BIG = "beyond 2^63 - 1"
PROGRAMS = {
    "attribute hops": ("class A: pass\na = A()\na.b = a\n" + LOOP + "a = a" + ".b" * 90, STEPS),
    "attribute chain": ("y = []" + ".append" * 5000, "more than 400 steps"),
    "exponential chain": ("x0 = [0] * 10\n" + "".join(f"x{i + 1} = x{i} * 10\n" for i in range(12)), ROOM),
    "equal lists": ("x = y = 0\nfor i in range(60):\n    x, y = [x, x], [y, y]\nz = x == y", STEPS),
    "a deep list": ("x = []\nfor i in range(200000):\n    x = [x]\nz = x == [x]", DEEP),
    "string bomb": ("x = 'ab'\n" + LOOP + "x = x + x", ROOM),
    "string product": ("x = 'a' * 10 ** 12", ROOM),
    "list bomb": ("x = [0]\n" + LOOP + "x = x + x", ROOM),
    "list that grows": ("x = [0]\nfor y in x:\n    x.append(y)", STEPS),
    "list that extends itself": ("x = [0]\n" + LOOP + "x.extend(x)", ROOM),
    "list product": ("x = [0] * 10 ** 12", ROOM),
    "slices": ("x = tuple(range(100000))\n" + LOOP + "y = x[1:]", ROOM),
    "int bomb": ("x = 9 ** 9 ** 9", BIG),
    "shift bomb": ("x = 1 << 10 ** 15", BIG),
    "digits": ("x = " + "9" * 500000, BIG),
    "endless while": (LOOP + "pass", STEPS),
    "endless walrus": ("while (x := 1):\n    pass", STEPS),
    "long range": ("for i in range(10 ** 18):\n    pass", STEPS),
    "list of a range": ("x = list(range(10 ** 18))", "a range of"),
    "sum of a range": ("x = sum(range(10 ** 12))", "a range of"),
    "comprehension": ("x = [0 for a in range(10 ** 6) for b in range(10 ** 6)]", STEPS),
    "deep comprehension": ("x = " + "[" * 5 + "0" + "".join(f" for {c} in range(99)]" for c in "abcde"), STEPS),
    "generator": ("x = sum(a * b for a in range(10 ** 6) for b in range(10 ** 6))", STEPS),
    "zip of many": ("x = list(zip(*[range(100000)] * 1000))", ROOM),
    "products": ("from itertools import product\nx = list(product(range(1000), repeat=5))", ROOM),
    "sorting": ("x = sorted(range(10 ** 6), key=lambda v: -v)", "more than 100000"),
    "reduced lists": ("from functools import reduce\nx = reduce(lambda a, b: a + b, [[0] * 1000] * 100000)", ROOM),
    "joined": ("x = 'a'.join(['b' * 100000] * 100000)", ROOM),
    "replaced": ("x = ('a' * 100000).replace('a', 'b' * 100000)", ROOM),
    "recursion": ("def f(x):\n    return f(x + 1)\nf(0)", DEEP),
    "two by two": ("f = lambda n: g(n) + g(n)\ng = lambda n: f(n) + f(n)\nf(0)", DEEP),
    "fibonacci": ("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nx = f(60)", STEPS),
    "property": ("class A:\n    @property\n    def x(self):\n        return self.x\nA().x", DEEP),
    "an iterator of itself": ("class A:\n    def __iter__(s): return s\nx = list(A())", "gives itself, which has no __next__"),
    "iterators in a ring": ("class A:\n    def __iter__(s): return A()\nx = list(A())", DEEP),
    "holds itself": ("class A:\n    def __contains__(s, v): return v in s\nx = 1 in A()", DEEP),
    "length of itself": ("class A:\n    def __len__(s): return len(s)\nx = len(A())", DEEP),
    "a count that wraps": ("import torch\nx = torch.zeros(2 ** 32, 2 ** 32)", "no count of numbers"),
    "an identity that wraps": ("import torch\nx = torch.eye(2 ** 32, 2 ** 32)", "no count of numbers"),
    "sizes that wrap": (
        "import torch\nx = torch.zeros(1, 1, 1).expand(2 ** 32, 2 ** 32, 1)", "does not fit in 64 bits",
    ),
    "truth": ("class A:\n    def __bool__(self):\n        return bool(self)\nbool(A())", DEEP),
    "arguments": ("def f(*a):\n    return f(*a, *a)\nf(1)", ROOM),
    "named arguments": (
        "def f(**a): pass\nd = {str(i): i for i in range(20000)}\nfor i in range(10000):\n    f(**d)", ROOM,
    ),
    "brackets": ("x = " + "(" * 20000 + "0" + ")" * 20000, DEEP),
    "minus signs": ("x = " + "-" * 50000 + "1", DEEP),
    "nots": ("x = " + "not " * 50000 + "1", DEEP),
    "powers": ("x = " + "2 ** " * 20000 + "1", DEEP),
    "lambdas": ("x = " + "lambda: " * 20000 + "0", DEEP),
    "additions": ("x = " + "1 + " * 200000 + "1", "more than 400 steps"),
    "calls": ("f = lambda: f\nx = f" + "()" * 20000, "more than 400 steps"),
    "blocks": ("".join(" " * i + "if 1:\n" for i in range(1000)) + " " * 1000 + "pass", DEEP),
    "a long text": ("x = '" + "a" * (1 << 21) + "'", "longer than 1 MiB"),
    "endless generator": ("def f():\n    while True:\n        yield 0\nx = list(f())", STEPS),
    "long linspace": ("import numpy as np\nx = np.linspace(0, 1, 10 ** 9)", "million"),
    "arrays that grow": ("import numpy as np\nx = np.arange(100000)\n" + LOOP + "x = x + x", "the result is beyond"),
    "open behind a model": ("from torch import nn\nnet = nn.Linear(3, 4)\nfor line in open('/etc/passwd'):\n    net.append(line)", OUT),
    "a loop behind a model": ("from torch import nn\nnet = nn.Linear(3, 4)\n" + LOOP + "pass", STEPS),
    "many statements that fail": ("import weird\n" + "x = weird.f()\n" * 60000, ROOM),
    "patterns": (
        "import re\nfor i in range(100000):\n    re.search('(a*)*' * 11 + 'b', 'a' * 100)",
        STEPS,
    ),
    "import": ("import os\nos.system('true')", "'os.system' is not read"),
    "__import__": ("__import__('os').system('true')", OUT),
    "eval": ("eval('1')", OUT),
    "exec": ("exec('x = 1')", OUT),
    "open": ("from torch import nn\nnet = nn.Linear(3, len(open('/etc/passwd').read()))", OUT),
    "subclasses": ("x = ().__class__.__bases__[0].__subclasses__()", "'__class__'"),
    "bases": ("class A: pass\nx = A().__class__.__bases__", "leads out of the program"),
    "globals": ("def f(): pass\nx = f.__globals__", "leads out of the program"),
    "getattr": ("class A: pass\nx = getattr(A, '__ba' + 'ses__')", "leads out of the program"),
    "format": ("x = '{0.__class__.__mro__}'.format(1)", "finds no value"),
    "setattr": ("class A: pass\nsetattr(A, '__getattr__', 1)", "leads out of the program"),
    "builtins": ("x = __builtins__['open']", "not defined"),
    "a huge layer": (NET + "        return nn.Linear(10 ** 9, 10 ** 9)(x)\nm = Net()\nx = nn.Linear(10 ** 9, 10 ** 9)", "8 GiB"),
    "a huge table": ("import torch\nx = torch.zeros(10 ** 6, 10 ** 6)", "numbers"),
    "many tables": ("import torch\n" + LOOP + "x = torch.ones(4000, 1000)", ROOM),
    "sums of tables": ("import torch\nx = torch.ones(400, 1000)\n" + LOOP + "x = x + x", "the program"),
    "products of tables": ("import torch\nx = torch.ones(2000, 2000)\n" + LOOP + "x = x @ x", STEPS),
    "repeated tables": ("import torch\nx = torch.ones(10)\n" + LOOP + "x = x.repeat(10)", "the program"),
    "endless layers": (NET + "        while True:\n            x = torch.relu(x)", STEPS),
    "doubling layers": (NET + "        while True:\n            x = torch.cat([x, x], 1)", "more numbers than any machine counts"),
    "layers of keras": (
        "from keras import layers, Sequential\nm = Sequential([layers.Input((8,))])\n" + LOOP + "m.add(layers.Dense(8))",
        STEPS,
    ),
    "a huge layer of keras": (
        "from keras import layers, Sequential\nm = Sequential([layers.Input((10 ** 9,)), layers.Dense(10 ** 9)])", "GiB",
    ),
}  # fmt: skip


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def main(convoy: str) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (program, words) in PROGRAMS.items():
            file = Path(folder) / "program.py"
            file.write_text(program + "\n")
            child = subprocess.Popen(
                [convoy, "summary", file, "--shape", "1,3,8,8"] if program.startswith(NET) else [convoy, "summary", file],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", preexec_fn=limited,
            )  # fmt: skip
            said = child.communicate()[1]
            wrong = []
            if child.returncode not in (2, 4, 5, 6):
                wrong.append(f"exit code {child.returncode}")
            # The budget of all that a file may cost may end before a bound of the interpreter itself.
            if words not in said and not (words in (ROOM, STEPS) and "over the budget" in said):
                wrong.append(f"does not say '{words}'")
            if wrong:
                failed += 1
                print(f"{name}: {', '.join(wrong)}: {said[:300]!r}")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if peak > 256:
        failed += 1
        print(f"one program took {peak:.0f} MiB")
    print(f"{len(PROGRAMS)} programs, {failed} failed, {peak:.0f} MiB at most")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(os.fspath(sys.argv[1])))
