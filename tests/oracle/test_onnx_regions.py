"""RoiAlign: means over the cells of boxes inside, across and beyond the image, as ONNX Runtime answers; ports are proved."""
import numpy as np
import pytest
from carrying import convoy

WAYS = [(10, None), (16, "half_pixel"), (16, "output_half_pixel")]


def model(opset: int, places: str | None, samples: int, scale: float):
    import onnx
    from onnx import TensorProto, helper

    said = {"coordinate_transformation_mode": places} if places else {}
    node = helper.make_node("RoiAlign", ["X", "rois", "image"], ["Y"], output_height=3, output_width=4,
                            sampling_ratio=samples, spatial_scale=scale, **said)  # fmt: skip
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", 2, 7, 9]),
              helper.make_tensor_value_info("rois", TensorProto.FLOAT, ["R", 4]),
              helper.make_tensor_value_info("image", TensorProto.INT64, ["R"])]  # fmt: skip
    graph = helper.make_graph([node], "regions", inputs, [helper.make_tensor_value_info("Y", TensorProto.FLOAT, ["R", 2, 3, 4])])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(made)
    return made


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("samples", [1, 2, 3])
@pytest.mark.parametrize(("opset", "places"), WAYS)
def test_means_over_boxes(opset, places, samples, scale, tmp_path):
    import onnx
    import onnxruntime

    onnx.save(model(opset, places, samples, scale), tmp_path / "m.onnx")
    rng = np.random.default_rng(samples)
    first = rng.uniform(-4, 12, (6, 2))
    given = {"X": rng.standard_normal((3, 2, 7, 9)).astype(np.float32),
             "rois": np.concatenate([first, first + rng.uniform(0.1, 9, (6, 2))], 1).astype(np.float32),
             "image": rng.integers(0, 3, 6)}  # fmt: skip
    words = []
    for name, value in given.items():
        np.save(tmp_path / f"{name}.npy", value)
        words += ["--input", f"{name}={tmp_path / name}.npy"]
    convoy("run", tmp_path / "m.onnx", *words, "-o", tmp_path / "y.npy")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), session.run(None, given)[0], atol=1e-5)
    for target, suffix in (("torch", "py"), ("keras", "keras"), ("onnx", "port.onnx")):
        convoy("port", tmp_path / "m.onnx", "--to", target, "-o", tmp_path / f"p.{suffix}")  # with its proof


@pytest.mark.parametrize(("said", "why"), [({"samples": 0}, "sampling_ratio"), ({"places": "elsewhere"}, "'elsewhere'")])
def test_what_is_not_carried_says_why(said, why, tmp_path):
    import onnx

    asked = {"opset": 16, "places": "half_pixel", "samples": 1, "scale": 1.0, **said}
    onnx.save(model(**asked), tmp_path / "m.onnx")
    done = convoy("port", tmp_path / "m.onnx", "--to", "torch", "-o", tmp_path / "p.py", code=None)
    assert done.returncode in (5, 6) and why in done.stderr, done.stderr
