"""What a notebook is shown, in a real kernel of Jupyter: tables of models, drawings of padding, the page of a comparison, and the bar of
work that takes long, which goes away again. `--pages DIR` keeps each as a page, light and dark."""
import pathlib
import re
import sys
import unittest

from jupyter_client.manager import start_new_kernel

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOW = ("import torch.nn as nn\\nnet = nn.Sequential(*[nn.Conv2d(32, 32, 7, padding=3) for _ in range(12)])\\n")
PAGES = None


class Kernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.manager, cls.client = start_new_kernel(kernel_name="python3", cwd=str(ROOT))
        cls.addClassCleanup(cls.manager.shutdown_kernel, now=True)
        cls.addClassCleanup(cls.client.stop_channels)

    def shown(self, code):
        """The messages that a cell shows, until it is done: (kind, HTML or text)."""
        asked = self.client.execute(code)
        said = []
        while True:
            message = self.client.get_iopub_msg(timeout=300)
            if message["parent_header"].get("msg_id") != asked:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return said
            if kind == "error":
                self.fail("\n".join(content["traceback"]))
            if kind in ("execute_result", "display_data", "update_display_data"):
                data = content["data"]
                said.append((kind, data.get("text/html", data.get("text/plain", ""))))
            elif kind == "stream":
                said.append((content["name"], content["text"]))

    def page_of(self, name, code):
        page, = (text for kind, text in self.shown(code) if kind == "execute_result")  # a slow machine shows a bar in front
        if PAGES:
            PAGES.mkdir(parents=True, exist_ok=True)
            for scheme, ground, ink in (("light", "#fff", "#111"), ("dark", "#111", "#eee")):
                (PAGES / f"{name}.{scheme}.html").write_text(
                    f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>:root{{color-scheme:{scheme}}}'
                    f"body{{background:{ground};color:{ink};font-family:sans-serif;margin:8px}}</style><div style='overflow-x:auto'>{page}</div>")
        return page

    def test_a_model_is_a_table(self):
        page = self.page_of("model", "import convoy; net = convoy.load('examples/digits.keras'); net")
        self.assertIn("<table", page)
        self.assertIn("conv 3x3", page)
        self.assertIn("<pre>", self.page_of("summary", "net.summary()"))

    def test_padding_is_drawn(self):
        page = self.page_of("padding", "import convoy; convoy.pad(\"Conv2D(8, (4, 1), padding='same')\", size=(100, 20))")
        self.assertIn("data:image/svg+xml", page)

    def test_a_comparison_is_its_page(self):
        page = self.page_of("diff", "import convoy; convoy.diff('examples/digits.keras', 'examples/digits_by_hand.py')")
        self.assertTrue(page.startswith("<iframe"), page[:200])

    def test_a_report_is_text(self):
        page = self.page_of("report", "import convoy, tempfile; convoy.port('examples/digits.keras', tempfile.mkdtemp() + '/digits.onnx')")
        self.assertIn("proof", page)

    def test_what_takes_long_has_a_bar_that_goes_away(self):
        said = self.shown(f"import convoy, numpy as np, pathlib, tempfile; file = pathlib.Path(tempfile.mkdtemp()) / 'slow.py'; file.write_text('{SLOW}')\n"
                          "slow = convoy.load(file, shapes=(1, 32, 400, 320), budget='64G'); x = np.ones((1, 32, 400, 320), 'float32')\n"
                          "y = slow(x, threads=1, budget='64G')")
        bars = [text for kind, text in said]
        self.assertGreater(len(bars), 2, said)
        self.assertEqual({kind for kind, _ in said}, {"display_data", "update_display_data"})
        self.assertEqual([kind for kind, _ in said].count("display_data"), 1)
        self.assertEqual(bars[-1], "")
        done = [int(re.match(r'<progress max="12" value="(\d+)"></progress> computing', text).group(1)) for text in bars[:-1]]
        self.assertEqual(done, sorted(done))

    def test_what_is_quick_shows_nothing(self):
        self.assertEqual(self.shown("import convoy; net = convoy.load('examples/digits.keras')"), [])


if __name__ == "__main__":
    if "--pages" in sys.argv:
        at = sys.argv.index("--pages")
        PAGES = pathlib.Path(sys.argv[at + 1])
        del sys.argv[at : at + 2]
    unittest.main()
