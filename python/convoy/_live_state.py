"""What a live module keeps in Python from one call to the next, which no graph does: seen while torch.export calls it, and judged by
two calls of a copy, since a table that is made once and then read again changes nothing."""
from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEPTH, _LEAVES = 4, 10_000  # of what is looked through


def twin(module: Any) -> Any:
    """A copy with the same parameters and whatever else it keeps for itself, so that a call leaves the module as it is."""
    import copy

    return copy.deepcopy(module, {id(one): one for one in module.parameters()} | _of_last_call(module))


def _of_last_call(module: Any) -> dict[int, Any]:
    """Tensors that the last call left behind with what they were computed of, which PyTorch copies only without that."""
    import torch

    left = [one for part in module.modules() for one in vars(part).values() if isinstance(one, torch.Tensor) and not one.is_leaf]
    return {id(one): one.detach().clone() for one in left}


def without_computed_weights(module: Any) -> Any:
    """A copy whose weights are what its parametrizations, weight normalizations and prunings make of them in inference; None: it has none."""
    import copy

    import torch
    from torch.nn.utils import parametrize, prune

    made, found = copy.deepcopy(module, _of_last_call(module)).eval(), False
    with torch.no_grad():
        for part in made.modules():
            if parametrize.is_parametrized(part):  # its class is that of the original too, from which remove_parametrizations takes the weight
                weights = {name: torch.nn.Parameter(getattr(part, name).clone()) for name in part.parametrizations}
                del part.parametrizations
                part.__class__ = type(part).__bases__[0]
                for name, weight in weights.items():
                    part.register_parameter(name, weight)
                found = True
            for hook in list(part._forward_pre_hooks.values()):
                if isinstance(hook, prune.BasePruningMethod):
                    prune.remove(part, hook._tensor_name)
                elif type(hook).__name__ == "WeightNorm":
                    torch.nn.utils.remove_weight_norm(part, hook.name)
                elif type(hook).__name__ == "SpectralNorm":
                    torch.nn.utils.remove_spectral_norm(part, hook.name)
                else:
                    continue
                found = True
    return made if found else None


class Held:
    """What a module answers: a copy of now, which later calls and changes of the module leave as it is."""

    def __init__(self, module: Any) -> None:
        import copy
        import functools

        try:
            self.module = twin(module)
        except Exception:
            self.module = module
        self.wide = functools.cache(lambda: copy.deepcopy(self.module, _of_last_call(self.module)).double())


class Kept:
    """Which attributes calls of a module have changed; a picture of all of them is taken before and behind each call."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._before: dict[str, Any] = {}
        self.changed: dict[str, str] = {}  # how, in the order of the modules

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        hooks = [self._module.register_forward_pre_hook(self._begin), self._module.register_forward_hook(self._end)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _begin(self, *_: Any) -> None:
        self._before = _picture(self._module)

    def _end(self, *_: Any) -> None:
        now = _picture(self._module)
        for name in now | self._before:
            was, will = self._before.get(name), now.get(name)
            if was != will:
                self.changed.setdefault(name, _told(was, will))
        self._before = {}

    def remark(self, examples: tuple) -> str | None:
        """What to say of it; None where the second call gives what the first gave."""
        if not self.changed or not _changes_answers(self._module, examples):
            return None
        names = ", ".join(f"'{name}'{how}" for name, how in self.changed.items())
        return (f"{names} {'changes' if len(self.changed) == 1 else 'change'} each time the module is called, which a graph does not: it computes "
                "what the next call would give; make what is kept an input and an output")


class _Object:
    """One and the same object, as long as it lies unchanged."""

    def __init__(self, value: Any) -> None:
        self.value, self.version = value, version_of(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Object) and self.value is other.value and self.version == other.version


def version_of(value: Any) -> int:
    try:
        return int(getattr(value, "_version", 0))
    except Exception:  # of tensors of inference there is none
        return 0


def _picture(module: Any) -> dict[str, Any]:
    """Attribute by attribute; parameters and buffers stand in the exported program itself."""
    import torch

    usual, left = vars(torch.nn.Module()), [_LEAVES]
    return {f"{path}.{name}" if path else name: _seen(value, _DEPTH, left)
            for path, part in module.named_modules() for name, value in vars(part).items() if name not in usual}


def _seen(value: Any, depth: int, left: list[int]) -> Any:
    import torch

    left[0] -= 1
    if isinstance(value, (torch.nn.Module, torch.nn.Parameter, type)) or left[0] < 0 or depth == 0:
        return None
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return type(value).__name__, repr(value)
    if isinstance(value, dict):
        return [(repr(key), _seen(one, depth - 1, left)) for key, one in list(value.items())]
    if isinstance(value, (list, tuple, deque)):
        return [_seen(one, depth - 1, left) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, torch.Tensor) or not hasattr(value, "__dict__") or callable(value):
        return _Object(value)
    return [(name, _seen(one, depth - 1, left)) for name, one in vars(value).items()]


def _told(was: Any, will: Any) -> str:
    return f" ({was[1]}, then {will[1]})" if isinstance(was, tuple) and isinstance(will, tuple) and len(was[1]) + len(will[1]) < 40 else ""


def _changes_answers(module: Any, examples: tuple) -> bool:
    """Asked of a copy, with the same random numbers for both calls."""
    import torch

    def answers() -> list:
        torch.manual_seed(0)
        return [one.clone() for one in torch.utils._pytree.tree_leaves(called(*examples)) if isinstance(one, torch.Tensor)]

    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        try:
            called = twin(module).eval()
            first, second = answers(), answers()
        except Exception:
            return True  # it changes, and what that does is not known
    return len(first) != len(second) or not all(a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True) for a, b in zip(first, second))


def remark_on_padding(module: Any, examples: tuple) -> str | None:
    """nn.TransformerEncoder leaves out what is padded where no gradients are asked for; None: it answers alike here."""
    import torch

    from ._live_sizes import is_near

    if not any(isinstance(part, torch.nn.TransformerEncoder) for part in module.modules()):
        return None

    def answers() -> list:
        return [one.detach() for one in torch.utils._pytree.tree_leaves(twin(module)(*examples)) if isinstance(one, torch.Tensor)]

    try:
        with torch.enable_grad():
            usual = answers()
        with torch.no_grad():
            other = answers()
    except Exception:
        return None
    if len(usual) == len(other) and all(map(is_near, usual, other)):
        return None
    return ("answers otherwise where no gradients are asked for (torch.no_grad()), since nn.TransformerEncoder drops what is padded there; what is read "
            "is what it answers with gradients: enable_nested_tensor=False makes both alike")
