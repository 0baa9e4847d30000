"""Turns keyword arguments into the options of a command.

The option table of the library says what each keyword may be, so that there is no second list here.
Objects that a file could hold (a model's configuration, hardware, lengths) become files in memory.
"""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Optional, Sequence

from ppsim import _call, _errors
from ppsim._models import model_json

# The names of files in memory, by option; of others, the option's name.
_file_names = {"model": "config.json", "hw": "hardware.json", "lengths": "lengths.json"}


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
            self.words.append(self._hold(f"{kind}.json", _content(kind, value)))

    def add_options(self, options: dict[str, Any]) -> None:
        """Adds options by their keywords, in this order. Raises UsageError."""
        for keyword, value in options.items():
            option = self.table.get(keyword)
            if option is None:
                raise _errors.UsageError(keyword, _unknown(self.command, keyword, self.table))
            for text in self._texts(keyword, option, value):
                self.settings.append((option.name, text))

    def _hold(self, name: str, content: bytes) -> str:
        """Keeps a file in memory and returns its name, which is made unique."""
        taken = {known for known, _ in self.inputs}
        unique, count = name, 2
        while unique in taken:
            unique, count = f"{count}-{name}", count + 1
        self.inputs.append((unique, content))
        return unique

    def _texts(self, keyword: str, option: _call.Option, value: Any) -> Iterable[Optional[str]]:
        """The values of an option as on the command line; none where it is not given."""
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
        several = isinstance(value, (list, tuple)) and (option.repeated or self.command == "sweep")
        if not several or (keyword == "lengths" and self.command != "sweep"):
            return [self._text(keyword, option, value)]
        return [self._text(keyword, option, item) for item in value]

    def _text(self, keyword: str, option: _call.Option, value: Any) -> str:
        assert option.argument is not None
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        if isinstance(value, int) or hasattr(value, "__index__"):
            return f"{value.__index__()}B" if option.argument == "SIZE" else str(value.__index__())
        if isinstance(value, float) or hasattr(value, "__float__") and not hasattr(value, "__len__"):
            return f"{float(value)!r}s" if option.argument == "TIME" else repr(float(value))
        if reads_file(option):
            kind = keyword if keyword in ("model", "lengths") else "file"
            return self._hold(_file_names.get(keyword, f"{keyword}.json"), _content(kind, value))
        if isinstance(value, dict):
            return ",".join(f"{key}={item}" for key, item in value.items())
        if isinstance(value, (list, tuple)):
            return ",".join(str(item) for item in value)
        raise _errors.UsageError(
            option.name, f"cannot be a {type(value).__name__}; give a text ({option.argument})"
        )


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
        return json.dumps(value, default=_plain).encode()
    except (TypeError, ValueError) as wrong:
        raise _errors.UsageError(kind, f"cannot be written as JSON: {wrong}; give a path or a dict") from None


def _plain(value: Any) -> Any:
    """Returns a number or a list in place of an object of numpy or torch. Raises TypeError."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__}")


def _lengths(value: Any) -> list[Any]:
    """Returns lengths of sequences as a list of ints, or of lists of ints (a microbatch each). Raises
    UsageError."""
    try:
        items: Sequence[Any] = value.tolist() if hasattr(value, "tolist") else list(value)
        return [[int(n) for n in item] if isinstance(item, (list, tuple)) else int(item) for item in items]
    except (TypeError, ValueError, OverflowError) as wrong:
        raise _errors.UsageError(
            "--lengths", f"are no lengths ({wrong}); give a path, ints or lists of ints"
        ) from None
