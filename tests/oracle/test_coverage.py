"""docs/coverage.md says what convoy answers today."""
import subprocess
import sys

import pytest
from carrying import ROOT, SHARED


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="the table counts the whole corpus, which is not beside the project")
def test_the_table_of_coverage_is_current():
    done = subprocess.run([sys.executable, ROOT / "tools" / "coverage.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
