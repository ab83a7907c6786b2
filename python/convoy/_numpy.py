"""numpy, imported when something of it is first asked for: it takes ten times as long as all else that `import convoy` does."""

from typing import Any


def __getattr__(name: str) -> Any:
    import numpy

    value = globals()[name] = getattr(numpy, name)
    return value
