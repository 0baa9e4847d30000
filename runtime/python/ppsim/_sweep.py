"""Sweeps on any executor of concurrent.futures: threads, processes, Dask, MPI, Ray.

The file is the command's: its header and checks are made by the command itself, which is cancelled
before its first point; then every point is a shard of its own, computed wherever the executor does,
and its line is appended here, whole, by one write. So a lost worker loses the point that it computes
and no other, and a sweep that was ended goes on where it stopped, in Python or by the command.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import json
import os
import tempfile
from typing import IO, Any, Callable, Iterator, Optional

from ppsim import _call, _errors
from ppsim._arguments import Arguments
from ppsim._results import Path, Table

# Points that are handed to an executor before the first of them is done.
_window = 1000
# Options of the whole sweep, which are not those of its points.
_whole = ("--threads", "--csv", "--top")


def compute_point(
    settings: list[tuple[str, Optional[str]]], inputs: list[tuple[str, bytes]], index: int, points: int
) -> bytes:
    """Computes one point of a sweep, in any process, and returns its line. Raises PpsimError."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "point.jsonl")
        own = [*settings, ("--threads", "1"), ("--shard", f"{index}/{points}"), ("-o", path)]
        _call.call("sweep", own, [], inputs, warn=False)
        with open(path, "rb") as file:
            return file.read().splitlines(keepends=True)[1]


class Sweep:
    """A sweep: iterate over it to run it, or ask for its `result`.

    Iterating yields the points that the file has already, then each one that is done, as a dict with
    ``point`` (the values of the axes), ``status`` and the numbers of its step. A sweep that is left or
    fails keeps what is done in its file; iterating again goes on with the others."""

    def __init__(
        self,
        options: dict[str, Any],
        output: Optional[Path],
        executor: Optional[concurrent.futures.Executor],
        progress: Optional[Callable[[int, int], Any]],
    ) -> None:
        arguments = Arguments("sweep")
        arguments.add_options(options)
        for name in ("--shard", "--merge", "-o"):
            if any(given == name for given, _ in arguments.settings):
                raise _errors.UsageError(
                    name, "is of the command; give output=PATH, and an executor for many workers"
                )
        self._settings = arguments.settings
        self._inputs = arguments.inputs
        self._folder = None if output else tempfile.TemporaryDirectory()
        folder = self._folder.name if self._folder else ""
        self._path = os.fspath(output) if output else os.path.join(folder, "sweep.jsonl")
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
        return _call.call(
            "sweep", [*self._settings, ("-o", self._path)], [], self._inputs, warn=False, stopped=begin_only
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with contextlib.suppress(_errors.CancelledError):
            self._run(begin_only=True)
        with open(self._path, "r+b") as file, self._locked(file):
            header = json.loads(file.readline())
            axes = sorted(header["grid"].items(), key=lambda axis: "--" + axis[0])
            done: set[int] = set()
            for line in file:
                row = json.loads(line)
                done.add(_index(axes, row["point"]))
                yield row
            if self._progress:
                self._progress(len(done), header["points"])
            left = (index for index in range(header["points"]) if index not in done)
            for line in self._lines(left, header["points"]):
                row = json.loads(line)
                index = _index(axes, row["point"])
                if index in done:
                    raise _errors.InternalError(self._path, f"point {index} was computed twice")
                done.add(index)
                os.write(file.fileno(), line)
                yield row
                if self._progress:
                    self._progress(len(done), header["points"])

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
            stack.callback(lambda: [future.cancel() for future in waiting])
            while True:
                while len(waiting) < _window and (index := next(left, None)) is not None:
                    waiting.add(executor.submit(compute_point, settings, self._inputs, index, points))
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
            self._result = Table(self._run(begin_only=False))
        return self._result


def _index(axes: list[tuple[str, list[str]]], point: dict[str, str]) -> int:
    """Returns the number of a point: the last axis runs fastest (tools/ppsim/sweep/grid.c)."""
    index = 0
    for name, values in axes:
        index = index * len(values) + values.index(point[name])
    return index
