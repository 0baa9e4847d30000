"""Writes what follows from the option tables and the docstrings.

    python generate.py LIBRARY ROOT [--check]

LIBRARY: build/libppsim.so, of which the option tables are read. ROOT: the repository.
- runtime/python/ppsim/_options.py: a TypedDict of each command's options, for type checkers.
- docs/reference/python.md: the reference, from docstrings and option tables.
--check: writes nothing, and fails if a file differs.
"""

import ast
import ctypes
import inspect
import os
import re
import sys

COMMANDS = {
    "plan": "PlanOptions",
    "simulate": "SimulateOptions",
    "check": "CheckOptions",
    "pack": "PackOptions",
    "compare": "CompareOptions",
    "shapes": "ShapesOptions",
}
# Options of plan with which the answer is a table, not a plan.
TABLES = ("pareto", "instance", "costs_file")
PYTHON_WORDS = ("from", "in", "is", "lambda", "class")


class Row(ctypes.Structure):
    """ppsim_option of tools/library/ppsim.h."""

    _fields_ = [
        (name, ctypes.c_char_p) for name in ("name", "argument", "group", "help", "by_default", "alias")
    ] + [("repeated", ctypes.c_int)]


def read_options(library, command):
    """Returns the rows of a command's table: dicts of texts, with the keyword argument as `keyword`."""
    row, rows = Row(), []
    while library.ppsim_option_at(command.encode(), len(rows), ctypes.byref(row)):
        texts = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in ((field[0], getattr(row, field[0])) for field in Row._fields_)
        }
        word = (texts["alias"] if texts["name"] == "-o" else texts["name"]).lstrip("-").replace("-", "_")
        texts["keyword"] = word + "_" if word in PYTHON_WORDS else word
        rows.append(texts)
    return rows


def reads_file(row):
    """As in _arguments.py."""
    return row["group"] != "Output" and (
        row["name"] in ("--model", "--hw", "--stack") or "FILE" in row["argument"]
    )


def type_of(row):
    """The type of an option, as the text of an annotation."""
    argument = row["argument"]
    if argument is None:
        return "bool"
    if row["keyword"] == "model":
        kind = "Model"
    elif row["keyword"] == "lengths":
        kind = "Lengths"
    elif argument == "on|off":
        kind = "Union[bool, str]"
    elif argument == "SIZE":
        kind = "Union[int, str]"
    elif argument == "TIME":
        kind = "Union[float, str]"
    elif reads_file(row):
        kind = "File"
    elif len(argument) == 1:
        kind = "Union[int, str]" if argument != "F" else "Union[float, str]"
    elif "=" in argument or "," in argument or argument in ("LIST", "SPEC"):
        kind = "Value"
    else:
        kind = "Union[int, float, str, Path]"
    return f"Union[{kind}, Sequence[{kind}]]" if row["repeated"] else kind


def sentence(row):
    """The help of an option, with its default."""
    text = row["help"].replace("\n", " ")
    return text + (f" (default: {row['by_default']})" if row["by_default"] else "")


def options_module(tables):
    """The text of _options.py."""
    lines = [
        '"""The keyword arguments of the functions of ppsim, for type checkers and editors.',
        "",
        "Made by runtime/python/generate.py from the option tables; do not edit.",
        '"""',
        "from __future__ import annotations",
        "",
        "import os",
        "from typing import Any, Mapping, Sequence, TypedDict, Union",
        "",
        'Path = Union[str, os.PathLike[str]]',
        "# A name or a path, or an object that the file could hold.",
        "File = Union[Path, Mapping[str, Any]]",
        "# A name, a path, a dict, a configuration of transformers, or a torch.nn.Module.",
        "Model = Any",
        "# A path, or lengths: ints, or lists of ints (a microbatch each).",
        "Lengths = Any",
        "# A text as on the command line, or the parts of it.",
        "Value = Union[int, float, str, Path, Sequence[Any], Mapping[str, Any]]",
    ]
    of_plans = [row for row in tables["plan"] if row["keyword"] not in TABLES]
    of_tables = [row for row in tables["plan"] if row["keyword"] in TABLES]
    classes = [
        ("StepOptions", "TypedDict", "Options of `ppsim.plan` with which it returns a Plan.", of_plans),
        ("PlanOptions", "StepOptions", "Options of `ppsim.plan`.", of_tables),
    ] + [
        (name, "TypedDict", f"Options of `ppsim.{command}`.", tables[command])
        for command, name in COMMANDS.items()
        if command != "plan"
    ]
    for name, base, text, rows in classes:
        lines += ["", "", f"class {name}({base}, total=False):", f'    """{text}"""', ""]
        for row in rows:
            lines.append(f"    {row['keyword']}: {type_of(row)}")
            lines.append(f"    {sentence(row)!r}")
    return "\n".join(lines) + "\n"


def wrap(text, width=100, indent=""):
    """Breaks a paragraph into lines of at most `width` columns."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join(lines + [line])


def paragraphs(docstring):
    """The paragraphs of a docstring in Markdown: ``code`` as `code`, examples as they are."""
    parts = []
    for part in ast_clean(docstring).split("\n\n"):
        if part.startswith("    "):
            parts.append("```python\n" + "\n".join(line[4:] for line in part.split("\n")) + "\n```")
        elif part.startswith("- "):
            parts.append(
                "\n".join(wrap(item.strip(), indent="  ") for item in ("\n" + part).split("\n- ")[1:])
            )
        else:
            parts.append(wrap(part.replace("``", "`")))
    return "\n\n".join(parts).replace("\n```\n\n```python\n", "\n\n")


def ast_clean(docstring):
    """A docstring without the indentation of its code."""
    return inspect.cleandoc(docstring or "")


def documented(node):
    """The public functions or methods of a module or class, in their order."""
    return [
        child
        for child in node.body
        if isinstance(child, ast.FunctionDef)
        and not child.name.startswith("_")
        and not any(ast.unparse(decorator) == "overload" for decorator in child.decorator_list)
    ]


def signature(node):
    """The signature of a function without annotations of keyword options."""
    parts = []
    arguments = node.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    for argument, default in zip(arguments.args, defaults):
        if argument.arg != "self":
            parts.append(argument.arg + (f"={ast.unparse(default)}" if default is not None else ""))
    if arguments.kwonlyargs:
        parts.append("*")
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
            parts.append(argument.arg + (f"={ast.unparse(default)}" if default is not None else ""))
    if arguments.kwarg:
        parts.append("**" + arguments.kwarg.arg)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    returns = re.sub(r"\bArray\b", "numpy.ndarray", returns.replace("'", "").replace('"', ""))
    return f"{node.name}({', '.join(parts)})" + returns


def class_lines(node, made_by_users=False):
    """A class, its fields, and its public methods and properties."""
    bases = [ast.unparse(base) for base in node.bases]
    made = [child for child in node.body if getattr(child, "name", "") == "__init__"]
    shown = f"class {node.name}({', '.join(bases)})"
    if made_by_users:
        shown = signature(made[0]).replace("__init__", node.name).split(" -> ")[0]
    text = paragraphs(ast.get_docstring(node, clean=False))
    lines = [f"### {node.name}", "", wrap(f"`{shown}`"), "", text, ""]
    fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
    lines += [f"- `{ast.unparse(field)}`" for field in fields]
    for method in documented(node):
        is_property = any(ast.unparse(d) == "property" for d in method.decorator_list)
        shown = f"{method.name}: {signature(method).split(' -> ')[1]}" if is_property else signature(method)
        text = " ".join(ast_clean(ast.get_docstring(method)).replace("``", "`").split())
        lines += [wrap(f"- `{shown}`: {text}", indent="  ")]
    return lines + ([""] if fields or documented(node) else [])


def reference(package, tables):
    """The text of docs/reference/python.md."""

    def tree(name):
        with open(os.path.join(package, name), encoding="utf-8") as file:
            return ast.parse(file.read())

    init, api, results, errors, call, sweeps, replanner = (
        tree(f"{n}.py") for n in "__init__ _api _results _errors _call _sweep _replanner".split()
    )
    torch, pipeline, places = (
        tree(os.path.join("torch", n)) for n in ("__init__.py", "_pipeline.py", "_places.py")
    )
    lines = [
        "# Python",
        "",
        "<!-- Made by runtime/python/generate.py from docstrings and option tables; do not edit. -->",
        "",
        "What does each function, class and option of `import ppsim` do? The",
        "[tutorial](../tutorial/python.md) shows them at work.",
        "",
        paragraphs(ast.get_docstring(init, clean=False)),
        "",
        "## Functions",
        "",
    ]
    for node in documented(api):
        lines += [
            f"### {node.name}",
            "",
            f"`{signature(node)}`",
            "",
            paragraphs(ast.get_docstring(node, clean=False)),
            "",
        ]
        if node.name in tables:
            lines += [f"Options: [of {node.name}](#options-of-{node.name}).", ""]
    lines += ["## Results", ""]
    hidden = ("Ops", "Rows", "Answer")
    for source in (call, results, sweeps, replanner):
        for node in source.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in hidden:
                lines += class_lines(node)
    lines += ["## ppsim.torch", "", paragraphs(ast.get_docstring(torch, clean=False)), ""]
    for source, name, made in ((pipeline, "Pipeline", True), (places, "PipelineError", False)):
        node = next(node for node in source.body if getattr(node, "name", "") == name)
        lines += class_lines(node, made)
    lines += ["## Exceptions", ""]
    for node in errors.body:
        if isinstance(node, ast.ClassDef) and node.name != "Failure":
            text = " ".join(ast_clean(ast.get_docstring(node)).replace("``", "`").split())
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            lines += [wrap(f"- `{node.name}({bases})`: {text}", indent="  ")]
    for command in COMMANDS:
        lines += ["", f"## Options of {command}", "", "| keyword | value | |", "|---|---|---|"]
        for row in tables[command]:
            value = (row["argument"] or "True").replace("|", "\\|")
            lines.append(f"| `{row['keyword']}` | {value} | {sentence(row).replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def main(library_path, root, *options):
    library = ctypes.CDLL(library_path)
    tables = {command: read_options(library, command) for command in COMMANDS}
    package = os.path.join(root, "runtime", "python", "ppsim")
    files = {
        os.path.join(package, "_options.py"): options_module(tables),
        os.path.join(root, "docs", "reference", "python.md"): reference(package, tables),
    }
    stale = []
    for path, text in files.items():
        if "--check" not in options:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
            stale.append(os.path.relpath(path, root))
    for path in stale:
        print(
            f"{path} is not what runtime/python/generate.py writes; run it with {library_path} and the root"
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
