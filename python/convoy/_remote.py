"""Files that lie elsewhere: URLs such as "s3://zoo/net.keras", which fsspec opens. It is imported only where one is given."""
from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from .errors import FileError, NotInstalled, UsageError

if TYPE_CHECKING:
    from pathlib import Path

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+(::[a-zA-Z0-9+.-]+)*://")


def is_url(place: Any) -> bool:
    """Whether this is a string that fsspec opens; "net.py:Net" and "C:\\net.onnx" are none."""
    return isinstance(place, str) and _URL.match(place) is not None


def is_local(place: Any) -> bool:
    """Whether this is a path of this machine, or source such as "net.py:Net"."""
    return isinstance(place, (str, os.PathLike)) and not is_url(place)


def _opened(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise NotInstalled("a URL is opened by fsspec, which is not installed: pip install fsspec", url, "fsspec") from error
    try:
        return url_to_fs(url)
    except Exception as error:  # an unknown protocol, or one whose package is missing
        raise FileError(_sentence(error), url) from error


def _sentence(error: Exception) -> str:
    return f"fsspec does not open it ({type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]})"


def _below(file: str, folder: str) -> str:
    """Where a file stands in a folder, of a file system's own paths."""
    from pathlib import PurePosixPath

    return PurePosixPath(file).relative_to(folder).as_posix()


def below(url: str) -> list[str]:
    """The files below a URL that is a folder, sorted, as URLs; the URL itself where it is a file."""
    system, path = _opened(url)
    try:
        if not system.isdir(path):
            return [url]
        if "::" in url:
            raise UsageError("a folder inside of an archive is not searched: name its files", url)
        return sorted(f"{url.rstrip('/')}/{_below(one, path)}" for one in system.find(path))
    except UsageError:
        raise
    except Exception as error:
        raise FileError(_sentence(error), url) from error


def fetched(url: str, folder: Path) -> Path:
    """A copy in `folder`, under its own name; of a folder (a SavedModel) with all that lies below."""
    system, path = _opened(url)
    name = path.rstrip("/").rpartition("/")[2] or "model"
    target = folder / name
    try:
        if system.isdir(path):
            for one in system.find(path):
                inside = target / _below(one, path)
                inside.parent.mkdir(parents=True, exist_ok=True)
                system.get_file(one, str(inside))
        else:
            system.get_file(path, str(target))
    except Exception as error:
        raise FileError(_sentence(error), url) from error
    return target


def sent(folder: Path, url: str) -> None:
    """Puts what lies in a folder below a URL that is one."""
    system, path = _opened(url)
    try:
        system.makedirs(path, exist_ok=True)
        for one in sorted(folder.iterdir()):
            system.put(str(one), f"{path.rstrip('/')}/{one.name}", recursive=one.is_dir())
    except Exception as error:
        raise FileError(_sentence(error), url) from error


def exists(url: str) -> bool:
    system, path = _opened(url)
    return bool(system.exists(path))


def size(url: str) -> int:
    """Bytes, of a folder with all that lies below; 0 where there is nothing."""
    system, path = _opened(url)
    try:
        return int(system.du(path))
    except Exception:
        return 0
