"""`convoy diff --html` in a real browser: what the page shows, on a desk and on a phone, in light and in dark, by mouse and by
keyboard; and that nothing which a file says becomes markup. Skipped where no Chromium is installed (tools/setup.sh oracle)."""
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from carrying import CONVOY

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
HOSTILE = "</script><script>parent.harm = 1</script><img src=x onerror='parent.harm = 1'>\"&"

# Opens the page in a frame of the wanted width, uses it, and leaves what it saw in the title.
WATCHER = """<!doctype html><title>waiting</title><iframe id="f" src="PAGE" style="width: WIDTHpx; height: 900px"></iframe>
<script>
const pause = ms => new Promise(done => setTimeout(done, ms));
async function look() {
  const frame = document.getElementById("f"), page = frame.contentDocument, window_of = frame.contentWindow;
  const all = query => [...page.querySelectorAll(query)], seen = {};
  await pause(200);
  seen.title = page.title;
  seen.heading = page.querySelector("h1").textContent;
  seen.findings = all(".finding h3").map(e => e.textContent);
  seen.lines = all(".finding .line code").map(e => e.textContent);
  seen.drawings = all(".drawing img").map(e => e.complete && e.naturalWidth);
  seen.different = all(".row.is-diff b").map(e => e.textContent);
  seen.same = all(".row.is-same").length;
  seen.overflow = page.documentElement.scrollWidth - page.documentElement.clientWidth;
  seen.paper = window_of.getComputedStyle(page.body).backgroundColor;
  seen.wires = all("#wires path").length;
  const map = page.querySelector(".finding .map canvas");
  if (map) {
    const pixels = map.getContext("2d").getImageData(0, 0, map.width, map.height).data, at = (x, y) =>
      [...pixels.slice(4 * (y * map.width + x), 4 * (y * map.width + x) + 3)].join();
    seen.map = [map.width, map.height];
    seen.border = at(0, 0);
    seen.middle = at(map.width >> 1, map.height >> 1);
  }
  const copy = page.querySelector(".copy");
  if (copy) {
    window_of.navigator.clipboard.writeText = async text => { seen.copied = text; };
    copy.focus();
    copy.click();
    await pause(100);
    seen.button = copy.textContent;
    seen.focused = page.activeElement === copy;
  }
  const row = page.querySelector(".row > button");
  row.focus();
  row.click();
  seen.opened = row.getAttribute("aria-expanded") + " " + (row.parentElement.querySelector(".detail") !== null);
  row.click();
  seen.closed = row.getAttribute("aria-expanded");
  seen.labels = all("button").filter(b => !(b.getAttribute("aria-label") || b.textContent)).length;
  const only = page.querySelector("input[type=checkbox]");
  if (only) {
    only.click();
    seen.left = all(".row").filter(e => e.offsetParent !== null).length;
  }
  seen.harm = window.harm || 0;
  document.body.textContent = "seen" + JSON.stringify(seen) + "end";
}
document.getElementById("f").addEventListener("load", () => look().catch(e => { document.body.textContent = "broke: " + e; }));
</script>"""


def page_of(folder, a, b):
    done = subprocess.run([CONVOY, "diff", a, b, "--html", folder / "page.html", "-q", "--force"], capture_output=True,
                          text=True)
    assert done.returncode in (0, 1), done.stderr
    return folder / "page.html"


def look(page, width=1200, dark=False):
    watcher = page.with_name("watcher.html")
    watcher.write_text(WATCHER.replace("PAGE", page.name).replace("WIDTH", str(width)))
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                           f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--window-size=1400,1000",
                           f"--user-data-dir={page.parent}/browser", "--virtual-time-budget=8000", "--dump-dom",
                           watcher.as_uri()], capture_output=True, text=True, timeout=180)
    found = re.search(r"seen(\{.*\})end", done.stdout, re.S)
    assert found, done.stdout[-600:] + done.stderr[-600:]
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def convolution(path, mode, name="first"):
    """3 x 9 x 13 -> convolution behind a pad of one cell, by `mode`, -> ReLU -> 1 x 1."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    numbers = np.random.default_rng(1)
    weights = {"k": numbers.normal(size=(5, 3, 3, 3)), "l": numbers.normal(size=(2, 5, 1, 1)), "p": None}
    held = [numpy_helper.from_array(value.astype(np.float32), key) for key, value in weights.items() if value is not None]
    held.append(numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "p"))
    nodes = [helper.make_node("Pad", ["x", "p"], ["padded"], name="pad", mode=mode),
             helper.make_node("Conv", ["padded", "k"], ["c"], name=name),
             helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("Conv", ["r", "l"], ["y"], name="last")]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 9, 13])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 9, 13])], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    convolution(folder / "a.onnx", "reflect")
    convolution(folder / "b.onnx", "edge")
    return page_of(folder, folder / "a.onnx", folder / "b.onnx")


def test_the_page_shows_the_layer_its_map_its_windows_and_the_line_to_copy(page):
    seen = look(page)
    assert seen["title"] == "differs: a.onnx and b.onnx" and seen["heading"].startswith("1 difference, first in")
    assert len(seen["findings"]) == 1 and "first" in " ".join(seen["different"]) and seen["same"] >= 2
    assert seen["map"] == [13, 9] and seen["border"] != seen["middle"], "a fault of the border shows at the border"
    assert len(seen["drawings"]) == 2 and all(seen["drawings"])
    assert "reflect" in seen["lines"][0] and seen["copied"] == seen["lines"][0] and seen["button"] == "copied"
    assert seen["overflow"] <= 0 and seen["wires"] >= 6


def test_it_is_used_by_keyboard(page):
    seen = look(page)
    assert seen["focused"] and seen["labels"] == 0
    assert seen["opened"] == "true true" and seen["closed"] == "false"
    assert seen["left"] == len(seen["different"]) // 2


def test_it_fits_a_phone_and_the_dark(page):
    light, dark = look(page, 390), look(page, 390, dark=True)
    assert light["overflow"] <= 0 and dark["overflow"] <= 0
    brightness = [sum(int(n) for n in re.findall(r"\d+", seen["paper"])[:3]) for seen in (light, dark)]
    assert brightness[0] > 600 > 150 > brightness[1]
    assert light["border"] != dark["border"]


def test_equal_models_are_shown_as_the_same(tmp_path):
    convolution(tmp_path / "a.onnx", "reflect")
    convolution(tmp_path / "b.onnx", "reflect", name="other_name")
    seen = look(page_of(tmp_path, tmp_path / "a.onnx", tmp_path / "b.onnx"))
    assert seen["heading"] == "The two models are the same" and not seen["findings"] and not seen["different"]


def test_what_a_file_says_is_never_markup(tmp_path):
    convolution(tmp_path / "a.onnx", "reflect", name=HOSTILE)
    convolution(tmp_path / "b.onnx", "edge", name=HOSTILE)
    page = page_of(tmp_path, tmp_path / "a.onnx", tmp_path / "b.onnx")
    seen = look(page)
    assert seen["harm"] == 0
    assert any(HOSTILE in text for text in seen["different"]), "the name is shown as it is"


def test_the_page_needs_nothing_from_elsewhere(page):
    text = Path(page).read_text()
    assert "default-src 'none'" in text
    outside = [address for address in re.findall(r"https?://[^\s\"'<>]+", text) if address != "http://www.w3.org/2000/svg"]
    assert not outside and not re.search(r"\b(?:src|href)=\"(?!data:)", text)
    assert len(text) < 200_000
