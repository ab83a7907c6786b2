"""GatherND, ScatterND and ScatterElements with places that are known beforehand, against ONNX Runtime; and carried to
PyTorch, ONNX and Keras."""
import numpy as np
import pytest
from carrying import convoy
from test_onnx_written import session
from test_recurrent import everywhere, numbers

X = (2, 3, 4, 5)
CASES = {
    "gather_one_axis": ("GatherND", [[1], [0], [-1]], None, {}),
    "gather_two_axes": ("GatherND", [[[1, 2], [0, -3]], [[1, 0], [1, 1]], [[0, 1], [1, -1]]], None, {}),
    "gather_all_axes": ("GatherND", [[1, 2, 3, 4], [0, 0, 1, -2], [1, 1, 0, 3]], None, {}),
    "gather_batches": ("GatherND", [[[1, 2], [0, 3]], [[2, 0], [1, 1]]], None, {"batch_dims": 1}),
    "gather_two_batches": ("GatherND", np.arange(6).reshape(2, 3, 1) % 4, None, {"batch_dims": 2}),
    "scatter_one_axis": ("ScatterND", [[1]], (1, 3, 4, 5), {}),
    "scatter_two_axes": ("ScatterND", [[1, 2], [0, -1], [1, 0]], (3, 4, 5), {}),
    "scatter_three_axes": ("ScatterND", [[[1, 2, 0]], [[0, 1, 3]]], (2, 1, 5), {}),
    "scatter_add": ("ScatterND", [[1, 2], [0, 1], [1, 2], [1, 2]], (4, 4, 5), {"reduction": "add"}),
    "scatter_mul": ("ScatterND", [[1, 2], [0, 1], [1, 2]], (3, 4, 5), {"reduction": "mul"}),
    "elements_axis_1": ("ScatterElements", np.arange(12).reshape(2, 2, 1, 3) % 3, (2, 2, 1, 3), {"axis": 1}),
    "elements_last_axis": ("ScatterElements", [[[[4, -4]]], [[[0, 2]]]], (2, 1, 1, 2), {"axis": -1}),
    "elements_add": ("ScatterElements", np.ones((2, 3, 1, 2), int), (2, 3, 1, 2), {"axis": 3, "reduction": "add"}),
}


def model(name: str, folder, known: bool = True):
    from onnx import TensorProto, helper, numpy_helper, save

    op, places, updates, attributes = CASES[name]
    inputs = {"x": numbers(*X, seed=1)}
    if updates:
        inputs["updates"] = numbers(*updates, seed=2)
    node = helper.make_node(op, ["x", "places", *(["updates"] if updates else [])], ["y"], **attributes)
    places = np.array(places, np.int64)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()]
    if not known:
        infos.append(helper.make_tensor_value_info("places", TensorProto.INT64, places.shape))
    graph = helper.make_graph(
        [node], "places", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(places, "places")] if known else [],
    )  # fmt: skip
    path = folder / "places.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path, inputs


@pytest.mark.parametrize("name", CASES)
def test_places(name, tmp_path):
    path, inputs = model(name, tmp_path)
    want = session(path, False).run(None, inputs)
    everywhere(path, inputs, want, tmp_path)


@pytest.mark.parametrize("name", ["gather_one_axis", "gather_two_axes", "gather_all_axes", "elements_axis_1", "scatter_two_axes"])
def test_lookups_and_writes_at_places_that_the_model_computes(name, tmp_path):
    path, inputs = model(name, tmp_path, known=False)
    inputs["places"] = np.array(CASES[name][1], np.int64)
    everywhere(path, inputs, session(path, False).run(None, inputs), tmp_path)
