"""`python -m convoy` is the command."""
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.execv(Path(__file__).parent / "bin" / "convoy", ["convoy", *sys.argv[1:]])
