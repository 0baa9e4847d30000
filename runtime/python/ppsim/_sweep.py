"""Sweeps on any executor of concurrent.futures: threads, processes, Dask, MPI.

The file is the command's: its header and checks are made by the command itself, which is cancelled
before its first point; then every point is a shard of its own, computed wherever the executor does,
and its line is appended here, whole, by one write. So a lost worker loses the point that it computes
and no other, and a sweep that was ended goes on where it stopped, in Python or by the command. Objects
that stand for files are written to a folder beside it, so that it names what the command can read.
A file beside it tells the points that still run, wherever they do, that the sweep was ended.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import json
import os
import tempfile
import warnings
from typing import IO, Any, Callable, Iterator, Optional

from ppsim import _call, _errors
from ppsim._arguments import Arguments, plain_scalar
from ppsim._results import Path, Table

# Points that are handed to an executor before the first of them is done.
_window = 1000
# Options of the whole sweep, which are not those of its points.
_whole = ("--threads", "--csv", "--top")
# Seconds that a sweep which is ended waits for its points to end, too.
_patience = 10


def compute_point(settings: list[tuple[str, Optional[str]]], stop: str, index: int, points: int) -> bytes:
    """Computes one point of a sweep, in any process, and returns its line. stop: the path of a file; if
    there is one, the point is cancelled. Raises PpsimError."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "point.jsonl")
        own = [*settings, ("--threads", "1"), ("--shard", f"{index}/{points}"), ("-o", path)]
        _call.call("sweep", own, [], warn=False, cancelled=lambda: os.path.exists(stop))
        with open(path, "rb") as file:
            return file.read().splitlines(keepends=True)[1]


class Sweep:
    """A sweep: iterate over it to run it, or ask for its `result`.

    Iterating yields the points that the file has already, then each one that is done, as a dict with
    ``point`` (the values of the axes, as they were given), ``status`` and the numbers of its step. A sweep
    that is left, interrupted or fails cancels the points that run, and keeps what is done in its file;
    iterating again goes on with the others."""

    def __init__(
        self,
        options: dict[str, Any],
        output: Optional[Path],
        executor: Optional[concurrent.futures.Executor],
        progress: Optional[Callable[[int, int], Any]],
    ) -> None:
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise _errors.UsageError(
                "executor", f"must be an executor of concurrent.futures, not {executor!r}; see Sweep"
            )
        if progress is not None and not callable(progress):
            raise _errors.UsageError("progress", f"must be a function of two ints, not {progress!r}")
        arguments = Arguments("sweep")
        arguments.add_options(options)
        for name in ("--shard", "--merge", "-o"):
            if any(given == name for given, _ in arguments.settings):
                raise _errors.UsageError(
                    name, "is of the command; give output=PATH, and an executor for many workers"
                )
        self._folder = None if output else tempfile.TemporaryDirectory()
        folder = self._folder.name if self._folder else ""
        self._path = _errors.path_of("output", output) if output else os.path.join(folder, "sweep.jsonl")
        beside = folder or self._path + ".inputs"
        self._inputs = [(os.path.join(beside, name), content) for name, content in arguments.inputs]
        if self._inputs and "," in beside:
            raise _errors.UsageError("output", f"{self._path} has a comma, which divides values; rename it")
        paths = {name: path for (name, _), (path, _) in zip(arguments.inputs, self._inputs)}
        self._settings = [
            (name, value if value is None else paths.get(value, value)) for name, value in arguments.settings
        ]
        self._given = _given(options, arguments)
        self._executor = executor
        self._progress = progress
        self._result: Optional[Table] = None

    def __del__(self) -> None:
        folder = getattr(self, "_folder", None)
        if folder:
            folder.cleanup()

    @property
    def path(self) -> str:
        """The file of the sweep; without ``output`` it goes with this object."""
        return self._path

    def _run(self, begin_only: bool) -> _call.Answer:
        """Runs the command on the file: all that is left, or nothing."""
        for path, content in self._inputs:
            _write_once(path, content)
        return _call.call(
            "sweep", [*self._settings, ("-o", self._path)], [], warn=False, stopped=begin_only
        )

    def _without_folder(self, text: str) -> str:
        """Returns a text without the temporary folder, which is another one every time."""
        return text.replace(self._folder.name + os.sep, "") if self._folder else text

    def _shown(self, line: bytes) -> dict[str, Any]:
        """Returns a point of the file for the user, with the numbers that were given as numbers."""
        row: dict[str, Any] = json.loads(self._without_folder(line.decode()))
        for axis, values in self._given.items():
            if axis in row["point"]:
                row["point"][axis] = values.get(row["point"][axis], row["point"][axis])
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with contextlib.suppress(_errors.CancelledError):
            self._run(begin_only=True)
        with open(self._path, "r+b") as file, self._locked(file):
            header = json.loads(file.readline())
            axes = sorted(header["grid"].items(), key=lambda axis: "--" + axis[0])
            done: set[int] = set()
            for line in file:
                done.add(_index(axes, json.loads(line)["point"]))
                yield self._shown(line)
            if self._progress:
                self._progress(len(done), header["points"])
            left = (index for index in range(header["points"]) if index not in done)
            try:
                for line in self._lines(left, header["points"]):
                    index = _index(axes, json.loads(line)["point"])
                    if index in done:
                        raise _errors.InternalError(self._path, f"point {index} was computed twice")
                    done.add(index)
                    os.write(file.fileno(), line)
                    yield self._shown(line)
                    if self._progress:
                        self._progress(len(done), header["points"])
            except KeyboardInterrupt:
                kept = (
                    "and lost; with output=PATH a sweep can go on"
                    if self._folder
                    else f"and saved in {self._path}; the same sweep goes on with the others"
                )
                warnings.warn(
                    f"{len(done)} of {header['points']} points are done {kept}",
                    _errors.PpsimWarning,
                    stacklevel=_call.outside(),
                )
                raise

    @contextlib.contextmanager
    def _locked(self, file: IO[bytes]) -> Iterator[None]:
        """Holds the lock by which sweeps know that another one writes their file. It is given back
        explicitly: processes that an executor forks meanwhile have the descriptor, too."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _errors.FileError(
                self._path, "another sweep is writing this file; wait until it ends, or name another file"
            ) from None
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def _lines(self, left: Iterator[int], points: int) -> Iterator[bytes]:
        """Yields the lines of the points that are left, in the order in which they are done."""
        settings = [(name, value) for name, value in self._settings if name not in _whole]
        with contextlib.ExitStack() as stack:
            executor = self._executor
            if executor is None:
                threads = dict(self._settings).get("--threads") or str(os.cpu_count() or 1)
                executor = concurrent.futures.ThreadPoolExecutor(int(threads))
                stack.callback(executor.shutdown, wait=True, cancel_futures=True)
            waiting: set[Any] = set()
            stop = self._path + ".stop"
            with contextlib.suppress(FileNotFoundError):
                os.remove(stop)
            stack.callback(lambda: _end(waiting, stop))
            while True:
                while len(waiting) < _window and (index := next(left, None)) is not None:
                    waiting.add(executor.submit(compute_point, settings, stop, index, points))
                if not waiting:
                    return
                finished, waiting = concurrent.futures.wait(
                    waiting, return_when=concurrent.futures.FIRST_COMPLETED
                )
                failed: Optional[BaseException] = None
                for future in finished:  # first what is there, then what went wrong
                    failed = failed or future.exception()
                    if not future.exception():
                        yield future.result()
                if failed:
                    raise failed

    def result(self) -> Table:
        """Computes what is left, and returns the table that the command prints at its end: the best
        points first. Raises PpsimError, and what the executor raises."""
        if self._result is None:
            for _ in self:
                pass
            answer = self._run(begin_only=False)
            self._result = Table(
                answer._replace(
                    json=self._without_folder(answer.json),
                    text=self._without_folder(answer.text),
                    remarks=self._without_folder(answer.remarks),
                )
            )
        return self._result


def _end(waiting: set[Any], stop: str) -> None:
    """Cancels points, and waits for those that run already, which see the file `stop`."""
    running = [future for future in waiting if not future.cancel()]
    if not running:
        return
    with open(stop, "wb"):
        pass
    if not concurrent.futures.wait(running, timeout=_patience).not_done:
        os.remove(stop)


def _write_once(path: str, content: bytes) -> None:
    """Writes an input beside a sweep. Raises FileError where an earlier sweep had another one."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path):
        with open(path + ".new", "wb") as file:
            file.write(content)
        os.replace(path + ".new", path)
    with open(path, "rb") as file:
        if file.read() != content:
            raise _errors.FileError(
                path, "is the input of another sweep into the same file; give another output"
            )


def _given(options: dict[str, Any], arguments: Arguments) -> dict[str, dict[str, Any]]:
    """Returns the numbers and bools that were given, by axis and by the text that stands for them."""
    given: dict[str, dict[str, Any]] = {}
    for keyword, value in options.items():
        name = arguments.table[keyword].name
        texts = [text for other, text in arguments.settings if other == name]
        value = value.tolist() if hasattr(value, "tolist") else value
        items = list(value) if isinstance(value, (list, tuple, range)) else [value]
        if len(items) == len(texts):
            given[name.lstrip("-")] = {
                text or "on": item
                for text, item in zip(texts, map(plain_scalar, items))
                if isinstance(item, (int, float))
            }
    return given


def _index(axes: list[tuple[str, list[str]]], point: dict[str, str]) -> int:
    """Returns the number of a point: the last axis runs fastest (tools/ppsim/sweep/grid.c)."""
    index = 0
    for name, values in axes:
        index = index * len(values) + values.index(point[name])
    return index
