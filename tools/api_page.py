"""The page of the Python module's public names, from its docstrings, which are not imported but read: api_page.py FOLDER."""
import ast
import re
import sys
from pathlib import Path

SECTION = re.compile(r"^(Parameters|Returns|Raises|Yields|Notes|Examples|Attributes)\n-+\n", re.M)


def items(text):
    """The entries of a numpydoc section: a line at the margin, its description below, indented."""
    for entry in re.split(r"\n(?=\S)", text.strip("\n")):
        head, _, rest = entry.partition("\n")
        description = " ".join(line.strip() for line in rest.splitlines())
        yield f"- `{head.strip()}`" + (f": {description}" if description else "")


def as_markdown(docstring):
    parts = SECTION.split(docstring)
    lines = [parts[0].strip()]
    for title, body in zip(parts[1::2], parts[2::2]):
        has_items = title in ("Parameters", "Returns", "Raises", "Yields", "Attributes") and re.search(r"\n +\S", "\n" + body)
        lines += ["", f"**{title}**", "", *(items(body) if has_items else [body.strip()])]
    return "\n".join(lines)


def signature(node):
    arguments = ast.unparse(node.args)
    given = re.sub(r"^(self|cls)(, )?", "", arguments)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({given}){result}"


def is_public(node):
    return isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__call__")


def page_of(node, prefix):
    doc = ast.get_docstring(node)
    if isinstance(node, ast.FunctionDef):
        yield f"\n## {prefix}{node.name}\n\n```python\n{signature(node)}\n```\n\n{as_markdown(doc or '')}"
        return
    bases = [ast.unparse(base) for base in node.bases]
    yield f"\n## {prefix}{node.name}" + (f"\n\nA kind of `{'`, `'.join(bases)}`." if bases else "") + f"\n\n{as_markdown(doc or '')}"
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and not one.target.id.startswith("_")]
    if fields:
        yield "\n" + "\n".join(f"- `{one.target.id}: {ast.unparse(one.annotation)}`" for one in fields)
    for one in filter(is_public, node.body):
        text = ast.get_docstring(one)
        if not text:
            continue
        is_property = any(ast.unparse(mark).startswith(("property", "cached_property", "functools.cached_property")) for mark in one.decorator_list)
        name = f"`{one.name}`" if is_property else f"`{signature(one)}`"
        yield f"\n**{name}**\n\n{as_markdown(text)}"


def main(folder):
    folder = Path(folder)
    trees = {path.stem: ast.parse(path.read_text()) for path in sorted(folder.glob("*.py"))}
    package = trees["__init__"]
    names = next(ast.literal_eval(node.value) for node in package.body
                 if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    found = {node.name: node for module in trees.values() for node in module.body
             if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    print("# Python API\n\n" + (ast.get_docstring(package) or "").split("\n\n")[0])
    for name in sorted((name for name in names if name in found), key=lambda name: (name[0].isupper(), name)):
        print("\n".join(page_of(found[name], "convoy.")))
    batch = trees["batch"]
    print("\n## convoy.batch\n\n" + (ast.get_docstring(batch) or "").split("\n\n")[0])
    for node in batch.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            print("\n".join(page_of(node, "convoy.batch.")))


if __name__ == "__main__":
    main(sys.argv[1])
