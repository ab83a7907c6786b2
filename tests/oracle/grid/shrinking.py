"""Makes a setting smaller for as long as the disagreement stays."""
import time


# What may be 0 in a call that makes sense; everything else begins with 1.
COUNTS_OF_CELLS = {"padding", "pads", "extra", "amounts", "before", "after", "pairs", "value", "more", "divisor", "order"}


def smaller(value, least):
    """Simpler values of the same kind, the simplest first."""
    if isinstance(value, bool):
        return [False] if value else []
    if isinstance(value, int):
        return [v for v in dict.fromkeys((0, 1, 2, value // 2, value - 1)) if least <= v < value]
    if isinstance(value, list):
        return [value[:i] + [v] + value[i + 1 :] for i, one in enumerate(value) for v in smaller(one, least)]
    return []


def candidates(setting, simplest):
    rank = len(setting["n"])
    per_axis = [k for k, v in setting.items() if isinstance(v, list) and len(v) == rank]
    twice = [k for k, v in setting.items() if isinstance(v, list) and len(v) == 2 * rank and k not in per_axis]
    if rank > 1:
        for axis in range(rank):
            less = {k: setting[k][:axis] + setting[k][axis + 1 :] for k in per_axis}
            less |= {k: [v for i, v in enumerate(setting[k]) if i % rank != axis] for k in twice}
            yield setting | less
    for key, value in simplest.items():
        if key in setting and setting[key] != value:
            yield setting | {key: value}
    for key in setting:
        if key != "seed":
            for value in smaller(setting[key], 0 if key in COUNTS_OF_CELLS else 1):
                yield setting | {key: value}


def shrink(setting, simplest, still_differs, seconds=20):
    """The smallest setting found within the time, and its disagreement; `still_differs` answers one or None."""
    end, found, moved = time.monotonic() + seconds, None, True
    while moved and time.monotonic() < end:
        moved = False
        for candidate in candidates(setting, simplest):
            if time.monotonic() > end:
                break
            if min(candidate["n"]) < 1:
                continue
            difference = still_differs(candidate)
            if difference:
                setting, found, moved = candidate, difference, True
                break
    return setting, found
