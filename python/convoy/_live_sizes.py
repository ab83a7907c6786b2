"""Whether what torch.export followed with a free batch is right at every batch: by what it asked of sizes, and by the module's own answers
at others."""
from __future__ import annotations

import os
import re
import warnings
from typing import Any

from . import _live_state
from ._live import packed


def are_asked_for(program: Any) -> bool:
    """Whether the program went one way for sizes such as the example's: a free size that has bounds of its own, or code outside of
    PyTorch that compared what sizes become. What has to be equal or not is a condition in the program itself."""
    import torch

    usual = 2  # what torch.export says of every free size
    if any(int(bounds.lower) > usual or str(bounds.upper) not in ("int_oo", "oo") for bounds in program.range_constraints.values()):
        return True
    sizes = (size for node in program.graph.nodes if isinstance(node.meta.get("val"), torch.Tensor)
             for size in node.meta["val"].shape if isinstance(size, torch.SymInt))  # fmt: skip
    known, of_torch = next(sizes, None), os.path.dirname(str(torch.__file__))
    for guard in known.node.shape_env.guards if known is not None else ():
        place = getattr(getattr(guard, "sloc", None), "framework_loc", None)
        if getattr(guard.expr, "rel_op", "") not in ("==", "!=") and not getattr(place, "filename", of_torch).startswith(of_torch):
            return True
    return False


def fixes_others(program: Any, examples: tuple) -> bool:
    """Whether a batch that is not free after all is not that of the example."""
    import torch

    given = [one for one in torch.utils._pytree.tree_leaves(examples) if isinstance(one, torch.Tensor)]
    taken = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in program.graph_signature.user_inputs]
    taken = [one for one in taken if isinstance(one, torch.Tensor)]
    return len(given) == len(taken) and any(str(n).isdigit() and int(n) != m for one, other in zip(taken, given) for n, m in zip(one.shape, other.shape))


_NO_CONDITION = r"Guard failed: [^%]*(!= [01]|[<>]=? [012])$"  # PyTorch's questions how numbers lie, which no reader heeds


def is_right_elsewhere(module: Any, program: Any, examples: tuple) -> bool:
    """Whether a program with a free batch answers as the module does at other batches: torch.export takes no batch for one, and notes
    nothing of what forward() does of one alone."""
    import torch

    def answers(called: Any, given: tuple) -> list[Any] | None:
        torch.manual_seed(0)
        try:
            return [one.detach() for one in torch.utils._pytree.tree_leaves(called(*given)) if isinstance(one, torch.Tensor)]
        except Exception as error:
            guard = str(error).strip().splitlines()[:1]
            if called is not guarded or not guard or not re.search(_NO_CONDITION, guard[0]):
                return None
        return answers(unguarded, given)

    with torch.enable_grad(), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the module says was said while it was exported
        for given in (packed(examples, _first_of), packed(examples, _one_more_of)):
            try:
                own, guarded = _live_state.twin(module), _live_state.twin(program.module())
                unguarded = _live_state.twin(program.module(check_guards=False))
            except Exception:
                return True  # what cannot be copied is left alone
            wanted, got = answers(own, given), answers(guarded, given)
            if wanted is not None and got is not None and not (len(wanted) == len(got) and all(map(is_near, wanted, got))):
                return False
    return True


def _first_of(one: Any) -> Any:
    import torch

    return one[:1] if isinstance(one, torch.Tensor) and one.ndim > 1 else one


def _one_more_of(one: Any) -> Any:
    import torch

    return torch.cat([one, one[:1]]) if isinstance(one, torch.Tensor) and one.ndim > 1 else one


def is_near(one: Any, other: Any) -> bool:
    """Up to another order of sums."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    one, other = one.nan_to_num(), other.nan_to_num()
    if not one.numel():
        return True
    if not one.is_floating_point() and not one.is_complex():
        return float((one != other).double().mean()) <= 0.01  # what counts or chooses may turn over by a rounding
    room = 2**-6 if one.element_size() < 4 else 1e-4
    return bool(((one - other).abs() <= room * one.abs().max()).all())
