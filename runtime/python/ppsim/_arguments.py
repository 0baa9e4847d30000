"""Turns keyword arguments into the options of a command.

The option table of the library says what each keyword may be, so that there is no second list here.
Objects that a file could hold (a model's configuration, hardware, lengths) become files in memory.
"""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Optional, Sequence

from ppsim import _call, _errors
from ppsim._models import model_json, model_name, plain_object

class Arguments:
    """The options of one request, as `_call.call` takes them."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.table = _call.options_of(command)
        self.settings: list[tuple[str, Optional[str]]] = []
        self.words: list[str] = []
        self.inputs: list[tuple[str, bytes]] = []

    def add_word(self, value: Any, kind: str) -> None:
        """Adds a file that is no option: a path, or an object, for which a file in memory stands.
        kind: "plan" or "lengths"."""
        if isinstance(value, (str, os.PathLike)):
            self.words.append(os.fspath(value))
        else:
            self.words.append(self._hold(kind, _content(kind, value)))

    def add_options(self, options: dict[str, Any]) -> None:
        """Adds options by their keywords, in this order. Raises UsageError."""
        for keyword, value in options.items():
            option = self.table.get(keyword)
            if option is None:
                raise _errors.UsageError(keyword, _unknown(self.command, keyword, self.table))
            for text in self._texts(keyword, option, value):
                self.settings.append((option.name, text))

    def _hold(self, name: str, content: bytes) -> str:
        """Keeps a file in memory and returns its name, which is made unique. name: without ".json"."""
        taken = {known for known, _ in self.inputs}
        unique, count = f"{name}.json", 2
        while unique in taken:
            unique, count = f"{name}-{count}.json", count + 1
        self.inputs.append((unique, content))
        return unique

    def _texts(self, keyword: str, option: _call.Option, value: Any) -> Iterable[Optional[str]]:
        """The values of an option as on the command line; none where it is not given."""
        value = plain_scalar(value)
        if value is None:
            return []
        if option.argument is None:
            if not isinstance(value, bool):
                raise _errors.UsageError(option.name, f"is a flag: give True or False, not {value!r}")
            return [None] if value else []
        if isinstance(value, bool):
            if "on|off" not in option.argument:
                raise _errors.UsageError(option.name, f"needs a value ({option.argument}), not {value}")
            return ["on" if value else "off"]
        if option.repeated and isinstance(value, dict):  # of formats and files, for instance
            return [self._text(keyword, option, {key: item}) for key, item in value.items()]
        if hasattr(value, "tolist") and keyword != "lengths":
            value = value.tolist()
        if isinstance(value, range):
            value = list(value)
        several = isinstance(value, (list, tuple)) and (option.repeated or self.command == "sweep")
        if not several or (keyword == "lengths" and not _are_paths(value)):
            return [self._text(keyword, option, value)]
        return [text for item in value for text in self._texts_of_item(keyword, option, item)]

    def _texts_of_item(self, keyword: str, option: _call.Option, item: Any) -> Iterable[Optional[str]]:
        """The values of an option that one of several stands for."""
        item = plain_scalar(item)
        if self.command == "sweep" and reads_file(option) and not isinstance(item, _words):
            raise _errors.UsageError(
                option.name,
                f"a list of a sweep cannot have a {type(item).__name__}; write each to a file and give "
                "the paths",
            )
        if option.repeated and isinstance(item, dict):
            return self._texts(keyword, option, item)
        if isinstance(item, bool) and "on|off" in (option.argument or ""):
            return ["on" if item else "off"]
        return [self._text(keyword, option, item)]

    def _text(self, keyword: str, option: _call.Option, value: Any) -> str:
        assert option.argument is not None
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _number(option.name, value, _kind_of(option.argument))
        if reads_file(option):
            kind = keyword if keyword in ("model", "lengths") else "file"
            name = model_name(value) if keyword == "model" else keyword
            return self._hold(name, _content(kind, value))
        if isinstance(value, dict):
            kinds = _kinds_of_parts(option.argument)
            return ",".join(
                f"{_part(option.name, key, '')}={_part(option.name, item, kinds.get(str(key), kinds['']))}"
                for key, item in value.items()
            )
        if isinstance(value, (list, tuple)):
            return ",".join(_part(option.name, item, "") for item in value)
        raise _errors.UsageError(
            option.name, f"cannot be a {type(value).__name__}; give a text ({option.argument})"
        )


# What stands for itself in a list.
_words = (str, os.PathLike, int, float)


def plain_scalar(value: Any) -> Any:
    """Returns the Python object of a number or bool of numpy or torch, and other values as they are."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    if not isinstance(value, (int, float)) and not hasattr(value, "shape"):
        if hasattr(value, "__index__"):
            return value.__index__()
        if hasattr(value, "__float__") and not hasattr(value, "__len__"):
            return float(value)
    return value


def _are_paths(value: Any) -> bool:
    """Returns whether a list has paths only, not lengths."""
    return bool(value) and all(isinstance(item, (str, os.PathLike)) for item in value)


def _kind_of(argument: str) -> str:
    """Returns what a number means for an option: "T", a time; "SIZE"; or "", itself."""
    first = argument.split("|")[0]
    return {"TIME": "T", "SIZE": "SIZE"}.get(first, "")


def _kinds_of_parts(argument: str) -> dict[str, str]:
    """Returns what numbers mean in the parts of a value such as ``launch=T,sync=T``; "" stands for
    other parts, such as the ranks of ``R=SIZE,...``, and those that the argument does not name."""
    parts = [part.partition("=") for part in argument.split(",") if "=" in part]
    kinds = {name: kind.split("|")[0] for name, _, kind in parts}
    return {"": next(iter(kinds.values()), ""), **kinds}


def _number(field: str, value: Any, kind: str) -> str:
    """Returns a number as on the command line, without exponents. kind: as of `_kind_of`. Raises
    UsageError."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise _errors.UsageError(field, f"cannot be {value}; give a finite number")
    if kind == "T":
        ns = value * 10**9 if isinstance(value, int) else round(value * 1e9)
        for unit, length in (("s", 10**9), ("ms", 10**6), ("us", 1000)):
            if ns % length == 0:
                return f"{ns // length}{unit}"
        return f"{ns}ns"
    if kind == "SIZE":
        return f"{round(value)}B"
    text = repr(value)
    if "e" in text:
        from decimal import Decimal

        text = f"{Decimal(text):f}"
    return text


def _part(field: str, value: Any, kind: str) -> str:
    """Returns a part of a value, between commas or beside "=". Raises UsageError."""
    value = plain_scalar(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return _number(field, value, kind)
    if isinstance(value, tuple):  # two ranks, between which a link is
        return ":".join(_part(field, item, "") for item in value)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise _errors.UsageError(field, f"cannot have a {type(value).__name__} in it; give texts and numbers")


def reads_file(option: _call.Option) -> bool:
    """Returns whether an option may name a file that is read."""
    writes = option.group == "Output" or option.name == "--grid"
    return not writes and (option.name in ("--model", "--hw", "--stack") or "FILE" in (option.argument or ""))


def _unknown(command: str, keyword: str, table: dict[str, _call.Option]) -> str:
    import difflib

    near = difflib.get_close_matches(keyword, table, n=2)
    advice = f", did you mean {' or '.join(near)}?" if near else ";"
    return f"{command}() has no such option{advice} ppsim.options({command!r}) lists all"


def _content(kind: str, value: Any) -> bytes:
    """Returns the content of a file that holds an object."""
    if isinstance(value, bytes):
        return value
    text = getattr(value, "json", None)
    if isinstance(text, str):  # a result of this package
        return text.encode()
    if kind == "model":
        return model_json(value).encode()
    if kind == "lengths":
        value = _lengths(value)
    try:
        return json.dumps(value, default=plain_object).encode()
    except (TypeError, ValueError) as wrong:
        raise _errors.UsageError(kind, f"cannot be written as JSON: {wrong}; give a path or a dict") from None


def _lengths(value: Any) -> list[Any]:
    """Returns lengths of sequences as a list of ints, or of lists of ints (a microbatch each). Raises
    UsageError."""
    try:
        items: Sequence[Any] = value.tolist() if hasattr(value, "tolist") else list(value)
        items = [item.tolist() if hasattr(item, "tolist") else item for item in items]
        return [
            [_whole(n) for n in item] if isinstance(item, (list, tuple)) else _whole(item) for item in items
        ]
    except (TypeError, ValueError, OverflowError) as wrong:
        raise _errors.UsageError(
            "--lengths", f"are no lengths ({wrong}); give a path, ints or lists of ints"
        ) from None


def _whole(value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value!r} is no whole number")
    return int(value)


def lengths_of(value: Any) -> list[int]:
    """Returns the lengths of the sequences of a batch. Raises UsageError."""
    lengths = _lengths(value)
    if not all(isinstance(length, int) for length in lengths):
        raise _errors.UsageError("lengths", "must be ints; a batch is grouped here")
    return lengths
