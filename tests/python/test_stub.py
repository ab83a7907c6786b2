"""The stub of the native part says what the module has: names, arguments in their order, and what it says of their types."""
import ast
import pathlib
import re
import unittest

import convoy
from convoy import _convoy

STUB = pathlib.Path(convoy.__file__).with_name("_convoy.pyi")


def arguments(signature):
    """Names and plain types of a signature: "def load(path: bytes, ...) -> Model"."""
    signature = re.sub(r"ndarray\[[^\]]*\]", "ndarray", re.sub(r"\bconvoy\._convoy\.", "", signature))
    node = ast.parse(signature + (": ..." if not signature.rstrip().endswith("...") else "")).body[0]
    return [(one.arg, ast.unparse(one.annotation) if one.annotation else "") for one in node.args.args], ast.unparse(node.returns) if node.returns else ""


class Stub(unittest.TestCase):
    def setUp(self):
        body = ast.parse(STUB.read_text()).body
        self.functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self.classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        self.others = {node.target.id for node in body if isinstance(node, ast.AnnAssign)}

    def same(self, node, native):
        (signature, _, _), = native.__nb_signature__
        had, gives = arguments(signature)
        said = [(one.arg, ast.unparse(one.annotation) if one.annotation else "") for one in node.args.args]
        self.assertEqual([name for name, _ in said], [name for name, _ in had], node.name)
        for (name, ours), (_, theirs) in zip(said, had):
            if theirs in ("bytes", "str", "bool", "int", "ReadOptions", "PortSettings", "PadSettings", "RunSettings", "Asked", "Model", "int | None"):
                self.assertEqual(ours, theirs, f"{node.name}: {name}")
        outer = ast.unparse(node.returns).partition("[")[0]
        if gives.partition("[")[0] in ("str", "int", "bool", "list", "tuple", "Model"):
            self.assertEqual(outer, gives.partition("[")[0], node.name)

    def test_functions(self):
        public = {name for name, value in vars(_convoy).items() if callable(value) and not isinstance(value, type) and not name.startswith("_")}
        self.assertEqual(public, set(self.functions))
        for name, node in self.functions.items():
            with self.subTest(name):
                self.same(node, getattr(_convoy, name))

    def test_classes(self):
        public = {name for name, value in vars(_convoy).items() if isinstance(value, type)}
        self.assertEqual(public, set(self.classes))
        for name, node in self.classes.items():
            kind = getattr(_convoy, name)
            said = {one.name if isinstance(one, ast.FunctionDef) else one.target.id for one in node.body}
            self.assertEqual({one for one in vars(kind) if not one.startswith("_")}, said - {"__init__"}, name)
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and not one.decorator_list:
                    with self.subTest(f"{name}.{one.name}"):
                        self.same(one, getattr(kind, one.name))

    def test_the_rest(self):
        self.assertEqual({name for name, value in vars(_convoy).items() if not callable(value) and not name.startswith("_")}, self.others - {"_Shape"})


if __name__ == "__main__":
    unittest.main()
