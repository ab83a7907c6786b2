"""Hooks of a live module that only watch: they note, print or keep what passes, in Python or numpy, which no graph does. A hook is one of
these where it gives back nothing and changes neither its module nor what it is shown; what forward() then does is held against the module
with all of them."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from . import _live_state

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = ("_forward_pre_hooks", "_forward_hooks")


class _Watched:
    """A hook that is called as usual, while it is seen what it does."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook
        self.was_called, self.changes = False, False

    def __call__(self, module: Any, *args: Any, **named: Any) -> Any:
        import torch

        shown = [one for one in torch.utils._pytree.tree_leaves((args, named)) if isinstance(one, torch.Tensor)]

        def picture() -> list:
            return [_live_state.version_of(one) for one in shown] + [
                (name, id(one), _live_state.version_of(one)) for held in (vars(module), module._parameters, module._buffers) for name, one in held.items()]  # fmt: skip

        before = picture()
        given = self.hook(module, *args, **named)
        self.was_called = True
        self.changes = self.changes or given is not None or picture() != before
        return given


def _watching(module: Any, examples: tuple) -> list[tuple[str, str, int]]:
    """Path, kind and key of each; seen while a copy is called."""
    import torch

    try:
        twin = _live_state.twin(module).eval()
    except Exception:
        return []
    seen: dict[tuple[str, str, int], _Watched] = {}
    for path, part in twin.named_modules():
        for kind in _KINDS:
            for key, hook in getattr(part, kind).items():
                getattr(part, kind)[key] = seen[path, kind, key] = _Watched(hook)
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            twin(*examples)
    except Exception:
        return []
    return [place for place, hook in seen.items() if hook.was_called and not hook.changes]


@contextlib.contextmanager
def left_out(module: Any, examples: tuple) -> Iterator[str]:
    """While this lasts the module is called without them; which they are, in words, empty where there are none."""
    parts = dict(module.named_modules())
    places = _watching(module, examples) if any(getattr(part, kind) for part in parts.values() for kind in _KINDS) else []
    before = [(getattr(parts[path], kind), dict(getattr(parts[path], kind))) for path, kind, _ in places]
    names = []
    for path, kind, key in places:
        hook = getattr(parts[path], kind).pop(key)
        names.append(f"{getattr(hook, '__qualname__', type(hook).__qualname__)}{f' of {path!r}' if path else ''}")
    try:
        yield ", ".join(names)
    finally:
        for hooks, all_of_them in before:
            hooks.clear()
            hooks.update(all_of_them)
