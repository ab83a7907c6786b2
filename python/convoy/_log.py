"""What was done and how long it took, for the logger "convoy". Who hears it has imported logging, which takes as long to import as all
else here; nothing is printed unless the caller's own configuration of it says so."""
from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

Said = Callable[..., None]


def _logger() -> Any:
    logging = sys.modules.get("logging")
    getter = getattr(logging, "getLogger", None)
    return getter("convoy") if getter else None


@contextlib.contextmanager
def step(begun: str, *of: Any) -> Iterator[Said]:
    """Says at level DEBUG what is begun, or what it failed with, and at INFO what came of it, in the words that are handed over."""
    logger = _logger()
    if logger is None or not logger.isEnabledFor(20):
        yield lambda words, *args: None
        return
    logger.debug(begun, *of)
    since = time.monotonic()

    def said(words: str, *args: Any) -> None:
        logger.info(words + ", %.2f s", *args, time.monotonic() - since)

    try:
        yield said
    except Exception as error:
        logger.debug(begun + ": %s: %s, %.2f s", *of, type(error).__name__, error, time.monotonic() - since)
        raise
