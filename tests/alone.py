"""tools/alone.py gives a source no header that it forgot, whatever is precompiled for it: run from the root of the sources."""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "tools")
import alone

sample = Path("tests/refused/forgotten_include.cpp")
headers = alone.slow_headers(sample)
assert "nlohmann/json.hpp" not in headers, headers
assert "nlohmann/json.hpp" in alone.slow_headers(Path("src/containers/json.cpp"))
with tempfile.TemporaryDirectory() as folder:
    options = alone.precompiled(headers, Path(folder))
    assert options, headers
    found = alone.complaint(str(sample), options)
for words in ("declaration of 'std::size_t size' shadows", "'nlohmann' does not name a type"):
    assert words in found, f"not found: {words}\n{found}"
