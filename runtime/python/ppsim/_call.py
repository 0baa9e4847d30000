"""Runs requests of libppsim: options in, an answer or an exception out.

The library runs without the GIL. In the main thread it runs in a thread of its own while the main
thread waits, so that ^C is seen at once; then the search is cancelled and KeyboardInterrupt raised.
What the library returns is copied into Python objects before its result is freed, so that answers
can be pickled, kept and used by any thread.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ppsim import _errors

Progress = Callable[[str], Any]


class Option(NamedTuple):
    """A row of the option table of a command."""

    name: str  # "--pp"
    argument: Optional[str]  # "P"; None: a flag
    group: str  # "Parallelism"
    help: str
    by_default: Optional[str]
    alias: Optional[str]
    repeated: bool

    @property
    def keyword(self) -> str:
        """The keyword argument of this option: its name with underscores, and one at the end where
        Python has the word itself; that of -o is ``output``."""
        long = self.alias if self.name == "-o" and self.alias else self.name
        word = long.lstrip("-").replace("-", "_")
        import keyword

        return word + "_" if keyword.iskeyword(word) else word


class Ops(NamedTuple):
    """The ops of one rank, as the bytes of arrays."""

    kind: bytes  # uint8: index into "FIWB"
    stage: bytes  # uint32
    microbatch: bytes  # uint32
    start_ns: bytes  # int64
    end_ns: bytes  # int64


class Rows(NamedTuple):
    """The program of one rank, as the bytes of arrays."""

    action: bytes  # uint8: index into _results._actions
    stage: bytes  # uint32, as are the next three
    microbatch: bytes
    peer: bytes
    group: bytes
    size: bytes  # int64


class Answer(NamedTuple):
    """What a request gave, copied."""

    command: str
    json: str
    text: str
    remarks: str
    files: dict[str, bytes]
    step_ns: int
    stages: int
    microbatches: int
    stage_rank: tuple[int, ...]
    ops: tuple[Ops, ...]  # by rank
    memory: tuple[tuple[int, ...], ...]  # by rank: components in bytes, then the limit or 0
    program: tuple[Rows, ...] = ()  # by rank, where it was asked for


def library() -> tuple[Any, Any]:
    """Returns the functions of the library and cffi's ffi."""
    from ppsim import _native

    return _native.lib, _native.ffi


def _word(ffi: Any, text: Any) -> Optional[str]:
    return None if text == ffi.NULL else str(ffi.string(text).decode())


_tables: dict[str, dict[str, Option]] = {}


def options_of(command: str) -> dict[str, Option]:
    """Returns the options of a command by their keywords, in the order of its table. Where sweep
    borrows an option from two commands, the first one counts. Empty for an unknown command."""
    if command not in _tables:
        lib, ffi = library()
        row = ffi.new("ppsim_option *")
        table: dict[str, Option] = {}
        index = 0
        while lib.ppsim_option_at(command.encode(), index, row):
            texts = {field: _word(ffi, getattr(row, field)) for field in Option._fields[:-1]}
            option = Option(**texts, repeated=bool(row.repeated))  # type: ignore[arg-type]
            table.setdefault(option.keyword, option)
            index += 1
        _tables[command] = table
    return _tables[command]


def commands() -> list[str]:
    """Returns the names of the commands of the library."""
    lib, ffi = library()
    names: list[str] = []
    while (name := lib.ppsim_command_name(len(names))) != ffi.NULL:
        names.append(ffi.string(name).decode())
    return names


def version() -> str:
    """Returns the version of the library."""
    lib, ffi = library()
    return str(ffi.string(lib.ppsim_version()).decode())


def memory_components() -> list[str]:
    """Returns the names of the components of memory, in the order of Answer.memory."""
    lib, ffi = library()
    names: list[str] = []
    while (name := lib.ppsim_memory_component(len(names))) != ffi.NULL:
        names.append(ffi.string(name).decode())
    return names


class _Run:
    """One run of a request: its arguments and, later, what came of it."""

    def __init__(self, progress: Optional[Progress], replica: Optional[int] = None) -> None:
        lib, ffi = library()
        self.replica = replica  # whose program is wanted
        self.stop = ffi.new("sig_atomic_t *")
        self.progress = progress
        self.handle = ffi.new_handle(self)
        self.tried = False  # whether a thread was started, which may not have begun
        self.begun = threading.Event()
        self.done = threading.Event()  # the thread has ended but for its last line
        self.raised: Optional[BaseException] = None
        self.answer: Optional[Answer] = None
        self.error: Optional[_errors.Failure] = None

    def told(self, line: str) -> None:
        """Passes a line of progress on. What the function raises ends the search, and is raised."""
        try:
            if self.progress and not self.raised:
                self.progress(line)
        except BaseException as raised:  # pylint: disable=broad-except
            self.raised = raised
            self.stop[0] = 1

    def run(self, request: Any, command: str) -> None:
        """Runs the request and copies what it gave. Called without the lock of any thread."""
        self.begun.set()
        lib, ffi = library()
        result = ffi.new("ppsim_result **")
        error = ffi.new("ppsim_error *")
        try:
            status = lib.ppsim_run(request, result, error)
            if result[0] != ffi.NULL:
                self.answer = copy(result[0], command)
            if not status and self.replica is not None and self.answer:
                status, program = copy_program(result[0], self.replica, error)
                self.answer = self.answer._replace(program=program)
            if status:
                self.error = _failure(lib, ffi, status, error, self.answer)
        except BaseException as raised:  # pylint: disable=broad-except
            self.raised = self.raised or raised
        finally:
            lib.ppsim_result_free(result[0])
            self.done.set()


def _failure(lib: Any, ffi: Any, status: int, error: Any, answer: Optional[Answer]) -> _errors.Failure:
    reason = ffi.string(error.reason).decode(errors="replace")
    return _errors.Failure(
        status,
        ffi.string(error.field).decode(errors="replace"),
        reason or ffi.string(lib.ppsim_status_text(status)).decode(),
        answer.remarks if answer else "",
    )


def copy(result: Any, command: str) -> Answer:
    """Copies what a result of the library has. command: which gave it."""
    lib, ffi = library()
    size = ffi.new("size_t *")

    def text(function: Any) -> str:
        data = function(result, size)
        return bytes(ffi.buffer(data, size[0])).decode(errors="replace")

    files: dict[str, bytes] = {}
    while (name := lib.ppsim_result_file_name(result, len(files))) != ffi.NULL:
        content = lib.ppsim_result_file(result, len(files), size)
        files[ffi.string(name).decode(errors="surrogateescape")] = bytes(ffi.buffer(content, size[0]))
    stages = lib.ppsim_result_stages(result)
    ranks = lib.ppsim_result_ranks(result)
    components = len(memory_components())
    memory = []
    for rank in range(ranks):
        held = ffi.new("int64_t[]", components)
        limit = lib.ppsim_result_memory(result, rank, held)
        memory.append((*held, limit))
    return Answer(
        command,
        text(lib.ppsim_result_json),
        text(lib.ppsim_result_text),
        text(lib.ppsim_result_remarks),
        files,
        lib.ppsim_result_step_ns(result),
        stages,
        lib.ppsim_result_microbatches(result),
        tuple(lib.ppsim_result_stage_rank(result, stage) for stage in range(stages)),
        tuple(_copy_ops(lib, ffi, result, rank) for rank in range(ranks)),
        tuple(memory),
    )


def _copy_ops(lib: Any, ffi: Any, result: Any, rank: int) -> Ops:
    count = lib.ppsim_result_op_count(result, rank)
    arrays = [
        ffi.new(f"{kind}[]", count) for kind in ("uint8_t", "uint32_t", "uint32_t", "int64_t", "int64_t")
    ]
    lib.ppsim_result_ops(result, rank, *arrays)
    return Ops(*(bytes(ffi.buffer(array)) for array in arrays))


def copy_program(result: Any, replica: int, error: Any) -> tuple[int, tuple[Rows, ...]]:
    """Copies the programs of a replica. Returns a status, which `error` explains."""
    lib, ffi = library()
    program = ffi.new("ppsim_program **")
    status = lib.ppsim_program_new(result, replica, program, error)
    if status:
        return status, ()
    rows = []
    for rank in range(lib.ppsim_result_ranks(result)):
        count = lib.ppsim_program_count(program[0], rank)
        arrays = [ffi.new(f"{kind}[]", count) for kind in ("uint8_t", *["uint32_t"] * 4, "int64_t")]
        lib.ppsim_program_rows(program[0], rank, *arrays)
        rows.append(Rows(*(bytes(ffi.buffer(array)) for array in arrays)))
    lib.ppsim_program_free(program[0])
    return 0, tuple(rows)


_prepared = threading.Lock()
_is_prepared = False


def _prepare() -> None:
    """Connects the function through which the library reports progress."""
    global _is_prepared
    with _prepared:
        if _is_prepared:
            return
        lib, ffi = library()

        def progress(context: Any, line: Any) -> None:
            ffi.from_handle(context).told(ffi.string(line).decode(errors="replace"))

        ffi.def_extern(name="ppsim_python_progress")(progress)
        _is_prepared = True


# Seconds between two looks at whether a run is cancelled.
_look = 0.1


def _wait(run: _Run, request: Any, command: str, cancelled: Optional[Callable[[], bool]]) -> None:
    """Runs in a thread while this one, which gets the signals, waits for an event: Thread.join takes
    a thread for ended after an interrupt (Python 3.11, _wait_for_tstate_lock)."""
    thread = threading.Thread(target=run.run, args=(request, command), name=f"ppsim {command}", daemon=True)
    run.tried = True
    try:
        thread.start()
        while cancelled and not run.done.wait(_look):
            if cancelled():
                run.stop[0] = 1
                break
        run.done.wait()
    except BaseException as raised:
        run.stop[0] = 1
        # An interrupt of start() does not tell whether it has begun; a second one leaves it.
        if run.begun.wait(10 if isinstance(raised, KeyboardInterrupt) else 0):
            run.done.wait()
        if isinstance(raised, KeyboardInterrupt) and run.answer and not run.error:
            raise _errors.Interrupted(run.answer) from None
        raise


def check(status: int, error: Any) -> None:
    """Raises what a function of the library has failed with, if it has. error: what it has filled."""
    if status:
        lib, ffi = library()
        _errors.throw(_failure(lib, ffi, status, error, None), None)


def fill(
    request: Any,
    settings: Sequence[tuple[str, Optional[str]]],
    words: Sequence[str],
    inputs: Sequence[tuple[str, bytes]],
) -> None:
    """Gives a request its options, words and files in memory, which are those of `call`."""
    lib, ffi = library()
    error = ffi.new("ppsim_error *")
    for word in words:
        check(lib.ppsim_request_word(request, _bytes(word, "file"), error), error)
    for name, value in settings:
        text = ffi.NULL if value is None else _bytes(value, name)
        check(lib.ppsim_request_set(request, _bytes(name, name), text, error), error)
    for name, content in inputs:
        check(lib.ppsim_request_input(request, _bytes(name, name), content, len(content), error), error)


def call(
    command: str,
    settings: Sequence[tuple[str, Optional[str]]],
    words: Sequence[str] = (),
    inputs: Sequence[tuple[str, bytes]] = (),
    keep_files: bool = False,
    progress: Optional[Progress] = None,
    warn: bool = True,
    stopped: bool = False,
    cancelled: Optional[Callable[[], bool]] = None,
    program: Optional[int] = None,
) -> Answer:
    """Runs a command and returns its answer.

    settings: names of options with their dashes and values as on the command line (None: a flag).
    words: what stands before them. inputs: names and contents of files in memory. keep_files: return
    files in the answer instead of writing them.
    warn: give remarks as warnings. stopped: cancel it before it searches or computes anything.
    cancelled: asked now and then whether to end. program: the replica whose program is wanted, too.
    Raises: what ppsim._errors names, with the answer as `_given` where the command gave one;
    KeyboardInterrupt, as Interrupted where there is an answer all the same; what progress raises."""
    if progress is not None and not callable(progress):
        raise _errors.UsageError("progress", f"must be a function of one text, not {progress!r}")
    lib, ffi = library()
    _prepare()
    request = ffi.new("ppsim_request **")
    error = ffi.new("ppsim_error *")
    check(lib.ppsim_request_new(command.encode(), request, error), error)
    run = _Run(progress, program)
    run.stop[0] = bool(stopped or (cancelled and cancelled()))
    try:
        fill(request[0], settings, words, inputs)
        lib.ppsim_request_keep_files(request[0], keep_files)
        lib.ppsim_request_stop(request[0], run.stop)
        if progress:
            lib.ppsim_request_progress(request[0], lib.ppsim_python_progress, run.handle)
        if cancelled or threading.current_thread() is threading.main_thread():
            _wait(run, request[0], command, cancelled)
        else:
            run.run(request[0], command)
    finally:
        if not run.tried or run.done.is_set():  # one that was left still uses it
            lib.ppsim_request_free(request[0])
    if run.raised:
        raise run.raised
    if run.error:
        _errors.throw(run.error, run.answer)
    assert run.answer is not None
    for remark in run.answer.remarks.splitlines() if warn else ():
        warnings.warn(remark, _errors.PpsimWarning, stacklevel=outside())
    return run.answer


def outside() -> int:
    """Returns the stacklevel of the first caller outside of this package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "ppsim":
        frame = frame.f_back
        level += 1
    return level


def _bytes(text: str, field: str) -> bytes:
    """Returns a text as C has it. field: which has it. Raises UsageError where it has a NUL."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _errors.UsageError(field, f"{text!r} is no text; remove its surrogates") from None
    if b"\0" in data:
        raise _errors.UsageError(field, f"{text!r} has a NUL; remove it")
    return data
