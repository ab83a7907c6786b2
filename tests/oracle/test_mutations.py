"""A sample of tests/oracle/mutate.py, with its seed, held to its goal on a thousand: first layer 99 in 100, cause 95, wrong
confident causes one in 200. A hundred may miss each by what chance allows."""
import pytest
from carrying import CONVOY, ROOT, SHARED

pytest.importorskip("onnxruntime")
import mutate_quantised  # noqa: E402
import mutate_weights  # noqa: E402
from mutate import measure, options_of  # noqa: E402

CORPUS = next(folder for folder in (SHARED / "corpus", ROOT / "tests/data/corpus") if folder.is_dir())


def test_known_mistakes_are_found_and_named(capsys):
    folders = [CORPUS / name for name in ("keras", "torch", "onnx")]
    total = measure(options_of([str(CONVOY), *map(str, folders), "--count", "100", "--seed", "3", "--show"]))
    said = capsys.readouterr().out
    asked = total["asked"]
    assert asked == 100, said
    assert total["layer"] >= 0.96 * asked, said
    assert total["named"] >= 0.93 * asked, said
    assert total["claimed"] <= 0.02 * asked, said


def test_every_changed_number_is_seen_in_its_layer(capsys):
    folders = [CORPUS / name for name in ("keras", "torch", "onnx")]
    total = mutate_weights.measure(options_of([str(CONVOY), *map(str, folders), "--count", "60", "--seed", "5", "--show"]))
    said = capsys.readouterr().out
    asked = total["asked"]
    assert asked == 60, said
    assert total["seen"] == asked, said
    assert total["layer"] >= asked - 2, said
    assert total["claimed"] <= 1, said


def test_one_wrong_scale_or_zero_point_is_named(capsys):
    total = mutate_quantised.measure(str(CONVOY), 60, seed=7, show=True).show()
    said = capsys.readouterr().out
    assert total["asked"] == 60, said
    assert total["seen"] == 60, said
    assert total["sole"] >= 56, said
