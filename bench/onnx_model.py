"""Writes an ONNX model of about the wanted megabytes: 1x1 convolutions of unequal widths, one behind the other.
    python bench/onnx_model.py FILE MEGABYTES [--external]
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

WIDTHS = (512, 1024, 768, 1536)  # channels: unlike from layer to layer


def main(file: str, megabytes: int, external: bool) -> None:
    nodes, weights, size, at = [], [], 0, 0
    random = np.random.default_rng(7)
    noise = random.standard_normal(max(WIDTHS) ** 2).astype(np.float32)
    while size < megabytes * 1_000_000:
        into, out = WIDTHS[at % 4], WIDTHS[(at + 1) % 4]
        kernel = np.roll(noise, at)[: into * out].reshape(out, into, 1, 1)
        weights.append(helper.make_tensor(f"w{at}", TensorProto.FLOAT, kernel.shape, kernel.tobytes(), raw=True))
        nodes.append(helper.make_node("Conv", [f"x{at}", f"w{at}"], [f"x{at + 1}"], name=f"conv{at}"))
        size, at = size + kernel.nbytes, at + 1
    shape = [1, WIDTHS[0], "h", "w"]
    graph = helper.make_graph(nodes, "large", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(f"x{at}", TensorProto.FLOAT, [1, WIDTHS[at % 4], None, None])],
                              weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if external:
        onnx.save_model(model, file, save_as_external_data=True, location="weights.bin")
    else:
        onnx.save_model(model, file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), "--external" in sys.argv)
