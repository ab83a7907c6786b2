"""What a notebook shows, as HTML that takes its colours from the page around it."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._model import Model
    from ._values import Layer, Padding

_TABLE = "border-collapse:collapse;font-size:13px"
_CELL = "text-align:left;padding:2px 12px 2px 0;border:0;background:none;white-space:nowrap;vertical-align:top"
_WIDTHS = (220, 260, 150, 300, 90)
_OPEN_UP_TO = 30  # layers


def escaped(text: str) -> str:
    for letter, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        text = text.replace(letter, name)
    return text


def _row(cells: list[str], kind: str = "td", indent: int = 0) -> str:
    made = ""
    for place, (cell, width) in enumerate(zip(cells, _WIDTHS)):
        right = ";text-align:right;padding-right:0" if place == len(cells) - 1 else ""
        start = f";padding-left:{indent * 16}px" if place == 0 and indent else ""
        made += f'<{kind} style="{_CELL};width:{width}px{right}{start}">{cell}</{kind}>'
    return f"<tr style=\"background:none\">{made}</tr>"


def _table(rows: list[str]) -> str:
    return f'<table style="{_TABLE};table-layout:fixed;width:{sum(_WIDTHS)}px;margin:0">{"".join(rows)}</table>'


def _sizes(shape: tuple) -> str:
    return " × ".join("?" if size is None else str(size) for size in shape)


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[/.]", name) if part]


def _grouped(layers: list[tuple[list[str], Layer]], depth: int) -> list[tuple[str, list[tuple[list[str], Layer]]]]:
    """Layers in a row that are of one module; what continues a layer has no name of its own."""
    groups: list[tuple[str, list[tuple[list[str], Layer]]]] = []
    for path, layer in layers:
        head = path[depth] if len(path) > depth + 1 else ""
        if groups and (not path or head and groups[-1][0] == head):
            groups[-1][1].append((path, layer))
        else:
            groups.append((head, [(path, layer)]))
    return groups


def _folded(layers: list[tuple[list[str], Layer]], depth: int, is_open: bool) -> str:
    made = ""
    rows: list[str] = []
    for head, members in _grouped(layers, depth):
        if head and len(members) > 1 and any(path for path, _ in members[1:]):
            made += _table(rows) if rows else ""
            rows = []
            parameters = sum(layer.parameters for _, layer in members)
            line = f"<b>{escaped(head)}</b> &nbsp; {len(members)} operators, {parameters:,} parameters, gives {_sizes(members[-1][1].output)}"
            made += (f'<details{" open" if is_open else ""} style="font-size:13px;margin:0 0 0 {16 if depth else 0}px"><summary>{line}</summary>'
                     f"{_folded(members, depth + 1, is_open)}</details>")
            continue
        for path, layer in members:
            name = escaped(".".join(path[depth:]))
            rows.append(_row([name, escaped(layer.operation), _sizes(layer.output), escaped(layer.padding), f"{layer.parameters:,}"],
                             indent=1 if depth else 0))
    return made + (_table(rows) if rows else "")


def summary(model: Model) -> str:
    """The model's layers, folded by its modules."""
    layers = [(_parts(layer.name), layer) for layer in model.layers]
    ends = [f"{side} <code>{escaped(value.name)}</code> {value.dtype} {_sizes(value.shape)}"
            for side, values in (("in", model.inputs), ("out", model.outputs)) for value in values]
    head = _table([_row(["layer", "operation", "gives", "padding", "parameters"], "th")])
    return (f'<div style="overflow-x:auto"><div style="font-size:13px"><b>{escaped(model.name)}</b> &nbsp; {escaped(model.format)}, '
            f'{model.parameters:,} parameters<br>{"<br>".join(ends)}</div>{head}{_folded(layers, 0, len(layers) <= _OPEN_UP_TO)}</div>')


def _cell(value: Any) -> str:
    return f'<td style="{_CELL}">{value}</td>'


def _picture(svg: str) -> str:
    """As an image: what it says of its own style stays in it."""
    import base64

    return f'<img style="display:block;max-width:100%" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">' if svg else ""


def padding(told: Padding) -> str:
    """The windows drawn, what each axis is padded by, and the layer in every framework's words."""
    def known(number: int | None) -> str:
        return "?" if number is None else str(number)

    axes = "".join("<tr style='background:none'>" + "".join(map(_cell, [
        escaped(axis.name), known(axis.size), f"{'cut ' if axis.cuts else ''}{known(axis.before)}", known(axis.after), known(axis.out),
        f"<code>{escaped(axis.formula)}</code>"])) + "</tr>" for axis in told.axes)
    lines = "".join("<tr style='background:none'>" + "".join(map(_cell, [
        escaped(line.framework), ("" if line.equal else "not equal: ") + "<br>".join(f"<code>{escaped(code)}</code>" for code in line.code),
        escaped(line.holds), escaped(line.remark)])) + "</tr>" for line in told.lines)
    heads = "".join(f'<th style="{_CELL}">{head}</th>' for head in ("axis", "size", "before", "after", "out", "of n cells"))
    return (f'<div style="overflow-x:auto"><div><b>{escaped(told.framework)} {escaped(told.function)}</b></div>{_picture(told.svg)}'
            f"<table style='{_TABLE}'><tr style='background:none'>{heads}</tr>{axes}</table><table style='{_TABLE}'>{lines}</table></div>")
