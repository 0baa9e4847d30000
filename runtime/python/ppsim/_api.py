"""The functions of ppsim; `import ppsim` loads them when one is used."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, TypeVar, Union, overload

from ppsim import _call, _errors
from ppsim._arguments import Arguments
from ppsim._call import Option
from ppsim._errors import (
    CancelledError,
    FileError,
    InfeasibleError,
    InputError,
    InternalError,
    Interrupted,
    OutOfMemoryError,
    PpsimError,
    PpsimWarning,
    UnavailableError,
    UndecidedError,
    UsageError,
)
from ppsim._results import (
    Check,
    Comparison,
    Packing,
    Path,
    Plan,
    Result,
    Simulation,
    Stage,
    Step,
    Table,
    load_plan,
)

from ppsim._options import (
    CheckOptions,
    CompareOptions,
    PackOptions,
    PlanOptions,
    ShapesOptions,
    SimulateOptions,
    StepOptions,
)
from ppsim._replanner import Replanned, Replanner
from ppsim._sweep import Sweep

if TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    try:
        from typing import Unpack
    except ImportError:  # Python 3.10, where hints name the options alone
        from typing import Union as Unpack


__all__ = [
    "CancelledError",
    "Check",
    "Comparison",
    "FileError",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "Interrupted",
    "Option",
    "OutOfMemoryError",
    "Packing",
    "Plan",
    "PpsimError",
    "PpsimWarning",
    "Replanned",
    "Replanner",
    "Result",
    "Simulation",
    "Stage",
    "Step",
    "Sweep",
    "Table",
    "UnavailableError",
    "UndecidedError",
    "UsageError",
    "check",
    "compare",
    "load",
    "names",
    "options",
    "pack",
    "plan",
    "shapes",
    "simulate",
    "sweep",
]

Progress = Callable[[str], Any]
Source = Union[Path, Result, bytes, Mapping[str, Any]]
Answered = TypeVar("Answered", bound=Result)


def _run(
    command: str,
    words: Sequence[tuple[Any, str]],
    given: dict[str, Any],
    answer_as: Callable[[_call.Answer], Answered],
    progress: Optional[Progress] = None,
) -> Answered:
    """Runs a command. An error has its answer, if it has one, as `answer_as` makes it."""
    arguments = Arguments(command)
    for value, kind in words:
        arguments.add_word(value, kind)
    arguments.add_options(given)
    try:
        answer = _call.call(command, arguments.settings, arguments.words, arguments.inputs, progress=progress)
    except PpsimError as error:
        if error._given is not None and error._given.json:
            error.answer = answer_as(error._given)
        raise
    except Interrupted as interrupt:
        interrupt.answer = answer_as(interrupt.answer)
        raise
    return answer_as(answer)


@overload
def plan(*, progress: Optional[Progress] = None, **options: "Unpack[StepOptions]") -> Plan: ...


@overload
def plan(*, progress: Optional[Progress] = None, **options: "Unpack[PlanOptions]") -> Union[Plan, Table]: ...


def plan(*, progress: Optional[Progress] = None, **options: "Unpack[PlanOptions]") -> Union[Plan, Table]:
    """Chooses the fastest setup that fits in memory and predicts its step.

    options: of the command ``plan``; ``model`` with ``pp`` or ``gpus`` are needed. model: a name, a
    file, a dict, a configuration of transformers or a torch.nn.Module; lengths: a file or a list of
    ints. progress: called with a line of text now and then, from another thread; what it raises ends
    the search. Returns a `Plan`, or a `Table` with ``pareto``, ``instance`` or ``costs_file``. ^C
    raises `Interrupted`, with the best plan so far, if ``budget`` is a time; else KeyboardInterrupt.
    Raises InfeasibleError where nothing fits (with ``explain``, its ``answer`` is the table of what
    would), UsageError, InputError, FileError."""

    def made(answer: _call.Answer) -> Union[Plan, Table]:
        return Plan(answer) if answer.step_ns else Table(answer)

    return _run("plan", [], dict(options), made, progress)


def simulate(
    source: Optional[Source] = None,
    *,
    progress: Optional[Progress] = None,
    **options: "Unpack[SimulateOptions]",
) -> Simulation:
    """Predicts one training step.

    source: a `Plan`, the path of a plan or a schedule file; None with ``schedule``, ``pp``,
    ``microbatches`` and ``costs``. options: of the command ``simulate``.
    Raises InfeasibleError where the order cannot finish or memory is exceeded (then its ``answer`` is
    the `Simulation`), UsageError, InputError, FileError."""
    words = [] if source is None else [(source, "plan")]
    return _run("simulate", words, dict(options), Simulation, progress)


def check(source: Source, **options: "Unpack[CheckOptions]") -> Check:
    """Checks a schedule or plan for errors, deadlocks and memory overruns.

    source: a `Plan`, or the path of a plan or schedule file. options: of the command ``check``.
    Returns a verdict that is true or false. Raises UsageError, InputError, FileError."""
    try:
        return _run("check", [(source, "plan")], dict(options), Check)
    except InfeasibleError as error:
        if not isinstance(error.answer, Check):
            raise
        return Check(error.answer._answer, error.reason)


def compare(base: Source, new: Optional[Source] = None, **options: "Unpack[CompareOptions]") -> Comparison:
    """Reports whether a new result is worse than an old one.

    base, new: plans, simulations, or paths of files or folders; with ``baseline`` one is enough.
    options: of the command ``compare``. Returns a verdict that is true if nothing is worse. Raises
    UsageError, InputError, FileError."""
    words = [(base, "base")] + ([] if new is None else [(new, "new")])
    try:
        return _run("compare", words, dict(options), Comparison)
    except InfeasibleError as error:
        if not isinstance(error.answer, Comparison):
            raise
        return Comparison(error.answer._answer, error.reason)


def pack(lengths: Any, *, progress: Optional[Progress] = None, **options: "Unpack[PackOptions]") -> Packing:
    """Groups sequences into microbatches so that the step is short.

    lengths: a list or array of ints, or a path. options: of the command ``pack``; ``model`` and
    ``pp`` are needed. Raises InfeasibleError, UsageError, InputError, FileError."""
    given = dict(options)
    path = "-" if given.get("output") is None else str(given["output"])
    given["output"] = path

    def made(answer: _call.Answer) -> Packing:
        files = dict(answer.files)
        if path == "-":
            files["lengths"] = files.pop("-", b"[]")
        else:
            with open(path, "rb") as file:
                files["lengths"] = file.read()
        return Packing(answer._replace(files=files))

    return _run("pack", [(lengths, "lengths")], given, made, progress)


def shapes(source: Optional[Source] = None, **options: "Unpack[ShapesOptions]") -> Table:
    """Compares the cost of the ways in which receivers learn the sizes of tensors.

    source: a `Plan` or a path; None with other options of the command ``shapes``, which `options` are.
    Raises InfeasibleError, UsageError, InputError, FileError."""
    words = [] if source is None else [(source, "plan")]
    return _run("shapes", words, dict(options), Table)


def sweep(
    *,
    output: Optional[Path] = None,
    executor: Optional[Executor] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
    **options: Any,
) -> Sweep:
    """Plans or simulates every combination of several lists of values.

    options: of the commands ``sweep`` and ``plan`` (of ``simulate`` with ``study="simulate"``), whose
    values may be lists: ``pp=[2, 4, 8]``. output: the file of the sweep, as the command writes it; if it
    exists, the sweep goes on where it stopped. executor: any of concurrent.futures, such as a process
    pool, ``client.get_executor()`` of Dask, or mpi4py's, which sees the same files (for Ray see
    docs/how-to/sweep.md); None: threads of this process. progress: called with the number of points
    that are done and of all.
    Returns a `Sweep`, which runs when you iterate over it or ask for its ``result()``. Raises UsageError."""
    return Sweep(options, output, executor, progress)


def load(path: Path) -> Plan:
    """Reads a plan file, and simulates it for its timeline. Raises InputError, FileError, OSError."""
    try:
        answer = _call.call("simulate", [], [_errors.path_of("path", path)])
    except InfeasibleError as error:  # it exceeds its memory limit, which is no reason not to look at it
        if not (error._given and error._given.json):
            raise
        answer = error._given
    return load_plan(path, answer)


def names(kind: str) -> list[dict[str, Any]]:
    """Lists the names that options take: kind is ``models``, ``hardware``, ``schedules``,
    ``executors``, ``targets``, ``formats``, ``stacks``, ``profiles``, ``metrics``, ... Returns a dict
    for each, with ``name`` and ``summary`` at least. Raises UsageError."""
    import json

    if not isinstance(kind, str):
        raise UsageError("kind", f"must be a text such as 'models', not {kind!r}")
    rows: list[dict[str, Any]] = json.loads(_call.call("list", [], [kind]).json)
    return rows


def options(command: str) -> dict[str, Option]:
    """Returns the options of a command by their keyword arguments. Raises UsageError where there is no
    such command."""
    table = _call.options_of(command) if isinstance(command, str) else {}
    if not table:
        raise UsageError("command", f"there is no {command!r}; there are {', '.join(_call.commands())}")
    return dict(table)
