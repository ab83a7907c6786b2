"""An ONNX model that mistakes are written into: its nodes, constants and the numbers it computes."""
import copy

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


class Net:
    def __init__(self, model):
        self.model = model
        self.graph = model.graph
        self.made = 0
        self._shapes = None

    def copy(self):
        other = Net(copy.deepcopy(self.model))
        other.made, other._shapes = self.made, self._shapes
        return other

    # ---- attributes

    def get(self, node, name, default=None):
        for a in node.attribute:
            if a.name == name:
                return helper.get_attribute_value(a)
        return default

    def put(self, node, **values):
        for name, value in values.items():
            for i, a in enumerate(node.attribute):
                if a.name == name:
                    del node.attribute[i]
                    break
            if value is not None:
                node.attribute.append(helper.make_attribute(name, value))
        return True

    # ---- constants

    def constant(self, node, i):
        if len(node.input) <= i or not node.input[i]:
            return None
        return next((numpy_helper.to_array(t) for t in self.graph.initializer if t.name == node.input[i]), None)

    def add_constant(self, array):
        self.made += 1
        name = f"mutated_{self.made}"
        self.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def set_constant(self, node, i, array):
        """A constant of this node alone, whoever else reads the old one. False where there is nothing to write."""
        if array is None:
            return False
        while len(node.input) <= i:
            node.input.append("")
        node.input[i] = self.add_constant(array)
        return True

    def change(self, node, i, f):
        old = self.constant(node, i)
        return old is not None and self.set_constant(node, i, f(old))

    # ---- the graph

    def maker(self, name):
        return next((n for n in self.graph.node if name in n.output), None)

    def readers(self, name):
        return [n for n in self.graph.node if name in n.input]

    def is_output(self, name):
        return any(o.name == name for o in self.graph.output)

    def only_reader(self, name):
        """The one node that reads the value, where nothing else does."""
        readers = self.readers(name)
        return readers[0] if len(readers) == 1 and not self.is_output(name) else None

    def insert(self, at, op, inputs, outputs, **attributes):
        self.made += 1
        self.graph.node.insert(at, helper.make_node(op, inputs, outputs, name=f"added_{self.made}", **attributes))
        return self.graph.node[at]

    def index(self, node):
        return next(i for i, n in enumerate(self.graph.node) if n.name == node.name)

    def in_front(self, node, i, op, constants=(), **attributes):
        """A node put in front of one input of another."""
        at = self.index(node)
        name = f"{node.input[i]}_changed_{self.made}"
        self.insert(at, op, [node.input[i], *(self.add_constant(c) for c in constants)], [name], **attributes)
        self.graph.node[at + 1].input[i] = name
        return True

    def behind(self, node, op, constants=(), **attributes):
        at = self.index(node)
        out = node.output[0]
        self.graph.node[at].output[0] = before = f"{out}_before_{self.made}"
        self.insert(at + 1, op, [before, *(self.add_constant(c) for c in constants)], [out], **attributes)
        return True

    def become(self, node, op, keep=1, **attributes):
        del node.attribute[:]
        del node.input[keep:]
        node.op_type = op
        return self.put(node, **attributes)

    def remove(self, node):
        """The node gone: what it read goes to its readers, or to the output."""
        return self.become(node, "Identity")

    # ---- what it computes

    def feed(self, trial=0, scale=3.0):
        rng = np.random.default_rng(trial)
        feed = {}
        initial = {t.name for t in self.graph.initializer}
        for one in self.graph.input:
            if one.name in initial:
                continue
            kind = one.type.tensor_type
            sizes = [d.dim_value if d.WhichOneof("value") == "dim_value" else 2 if i == 0 else 22 + 3 * i + 7 * trial
                     for i, d in enumerate(kind.shape.dim)]
            dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
            whole = rng.integers(0, 3, sizes) if np.issubdtype(dtype, np.integer) else None
            feed[one.name] = (rng.standard_normal(sizes) * scale if whole is None else whole).astype(dtype)
        return feed

    def run(self, feed, names=None):
        model = self.model
        if names:
            model = copy.deepcopy(model)
            known = {o.name for o in model.graph.output}
            model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in known)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return session.run(names, feed)

    def shape(self, name):
        """At one size; of a value of the model before any mistake."""
        if self._shapes is None:
            names = [o for n in self.graph.node for o in n.output if o]
            feed = self.feed()
            self._shapes = {k: v.shape for k, v in feed.items()}
            self._shapes |= {n: v.shape for n, v in zip(names, self.run(feed, names))}
        return self._shapes.get(name)

    def fixed(self):
        return all(d.WhichOneof("value") == "dim_value" for i in self.graph.input for d in i.type.tensor_type.shape.dim[1:])
