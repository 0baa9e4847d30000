"""The exceptions of ppsim. Each has a place and a sentence that ends with what can be done."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, NoReturn, Optional


class Failure(NamedTuple):
    """A status of the library, with what it says."""

    status: int
    field: str
    reason: str
    remarks: str


class PpsimWarning(UserWarning):
    """What the command would remark on standard error, such as a degree that is used as given."""


class PpsimError(Exception):
    """An error of ppsim.

    field: an option, such as ``--pp`` (the keyword argument ``pp``), or a file and the place in it;
    may be empty. reason: one sentence, which ends with what can be done. remarks: what the command
    said before, a line each, such as which plan came closest. answer: the result of ``check`` or
    ``compare`` if the answer is no, or of ``plan(explain=True)``; else None."""

    def __init__(self, field: str = "", reason: str = "", remarks: str = "", answer: Any = None) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason
        self.remarks = remarks
        self.answer = answer
        self._given: Any = None  # the answer of the library, for the functions that make results of it
        if remarks and hasattr(self, "add_note"):  # Python 3.11
            self.add_note(remarks.rstrip("\n"))

    def __reduce__(self) -> Any:
        return type(self), (self.field, self.reason, self.remarks, self.answer)


class InfeasibleError(PpsimError):
    """No plan satisfies the limits, or a schedule cannot run."""


class UsageError(PpsimError, ValueError):
    """An option, its value or a combination of options is wrong."""


class InputError(PpsimError, ValueError):
    """A file, or a model or other input that was given as an object, is wrong."""


class UnavailableError(PpsimError):
    """This build or machine does not have what was asked for."""


class FileError(PpsimError, OSError):
    """A file cannot be read or written."""


class UndecidedError(PpsimError):
    """The budget ended before an answer."""


class InternalError(PpsimError):
    """An error of ppsim itself."""


class CancelledError(PpsimError):
    """The search was cancelled."""


class OutOfMemoryError(PpsimError, MemoryError):
    """There is not enough memory on this machine."""


class Interrupted(KeyboardInterrupt):
    """^C ended a search that had a result already, as one with a budget of time has: `answer` is the
    best so far, such as a `Plan`. In a session it is ``sys.last_value.answer``."""

    def __init__(self, answer: Any = None) -> None:
        super().__init__()
        self.answer = answer

    def __str__(self) -> str:
        return f"answer is the best so far: {self.answer!r}"

    def __reduce__(self) -> Any:
        return type(self), (self.answer,)


# By the status of the library (ppsim_status), from 1 on.
_by_status: list[type[PpsimError]] = [
    InfeasibleError,
    UsageError,
    InputError,
    UnavailableError,
    FileError,
    OutOfMemoryError,
    UndecidedError,
    InternalError,
    CancelledError,
]


def path_of(field: str, path: Any) -> str:
    """Returns a path as a text. field: the argument that it is. Raises UsageError."""
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(field, f"must be a path, not {path!r}")
    return str(os.fspath(path))


def throw(failure: Failure, answer: Optional[Any]) -> NoReturn:
    """Raises the exception of a failure. answer: what the library gave, if anything."""
    error = _by_status[failure.status - 1](failure.field, failure.reason, failure.remarks)
    error._given = answer
    raise error
