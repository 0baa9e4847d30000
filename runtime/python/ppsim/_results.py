"""What the functions of ppsim return. Numbers come from the library; numpy is imported when an array
is asked for. Results can be pickled, and do not change."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from ppsim import _call, _errors

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    Array = Any  # so that hints can be asked for without numpy

Path = Union[str, os.PathLike[str]]

_kinds = "FIWB"
_actions = [*_kinds, "SEND_F", "RECV_F", "SEND_B", "RECV_B", "WAIT"]  # ppsim_action


class Stage(NamedTuple):
    """A stage of the pipeline: consecutive layers that a rank computes as a unit."""

    stage: int
    rank: int
    layers: int


class Result:
    """The answer of a command.

    ``json`` is what it prints with ``--json``, byte for byte; ``data`` the same as Python objects;
    ``text``, also ``str(result)``, what it prints for people; ``remarks`` what it prints to standard
    error; ``files`` what ``=-`` sent to standard output, as bytes by name."""

    def __init__(self, answer: _call.Answer) -> None:
        self._answer = answer
        self._data: Any = None

    def __reduce__(self) -> Any:
        return type(self), (self._answer,)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._answer == self._answer

    def __hash__(self) -> int:
        return hash(self._answer.json)

    def __str__(self) -> str:
        return self._answer.text

    def __repr__(self) -> str:
        return f"<ppsim.{type(self).__name__}>"

    @property
    def json(self) -> str:
        """The answer as JSON, as the command prints it with ``--json``."""
        return self._answer.json

    @property
    def data(self) -> Any:
        """The JSON as dicts and lists, which are parsed once and shared: do not change them."""
        if self._data is None:
            self._data = json.loads(self._answer.json)
        return self._data

    @property
    def text(self) -> str:
        """The answer for people, at most 80 columns wide."""
        return self._answer.text

    @property
    def remarks(self) -> str:
        """What the command remarked, a line each; they were also given as warnings."""
        return self._answer.remarks

    @property
    def files(self) -> dict[str, bytes]:
        """What options such as ``emit="pytorch-csv=-"`` sent to standard output, under the name ``-``."""
        return dict(self._answer.files)

    def save(self, path: Path) -> None:
        """Writes the JSON to a file, compressed if its name ends in ``.gz``. Raises OSError."""
        content = self._answer.json.encode()
        if _errors.path_of("path", path).endswith(".gz"):
            import gzip

            content = gzip.compress(content, mtime=0)
        with open(path, "wb") as file:
            file.write(content)


class Step(Result):
    """A predicted step, of a plan or a simulation. It is that of the slowest data-parallel replica;
    ranks and stages count from 0."""

    def __repr__(self) -> str:
        return f"<ppsim.{type(self).__name__} of {self.ranks} ranks, step {self.step:.6g} s>"

    @property
    def report(self) -> dict[str, Any]:
        """The numbers of the step (a ``ppsim.report``): makespan, bubble, throughput, idle time by
        cause, memory."""
        return dict(self.data)

    @property
    def step_ns(self) -> int:
        """The time of the step in nanoseconds; 0 where there is none (``executor="all"``)."""
        return self._answer.step_ns

    @property
    def step(self) -> float:
        """The time of the step in seconds."""
        return self._answer.step_ns / 1e9

    @property
    def ranks(self) -> int:
        """The number of pipeline ranks."""
        return len(self._answer.ops)

    @property
    def microbatches(self) -> int:
        """The number of microbatches of a replica."""
        return self._answer.microbatches

    @property
    def stages(self) -> list[Stage]:
        """The stages with their ranks, and their layers where the partition is known (else 0)."""
        layers = (self.data.get("partition") or {}).get("layers") or []
        return [
            Stage(index, rank, layers[index] if index < len(layers) else 0)
            for index, rank in enumerate(self._answer.stage_rank)
        ]

    def _ops(self, rank: int) -> _call.Ops:
        if not hasattr(rank, "__index__"):
            raise _errors.UsageError("rank", f"must be an int from 0 to {self.ranks - 1}, not {rank!r}")
        if not -1 < rank < self.ranks:
            raise IndexError(f"there is no rank {rank}; there are {self.ranks}, from 0")
        return self._answer.ops[rank]

    def order(self, rank: int) -> Array:
        """Returns the ops of a rank in the order in which it runs them: a structured array with the
        fields ``kind`` ("F", "I", "W" or "B"), ``stage`` and ``microbatch``. Raises IndexError."""
        return self._rows([rank], timed=False)

    def timeline(self) -> Array:
        """Returns all ops with their times, rank after rank: a structured array with the fields
        ``rank``, ``kind``, ``stage``, ``microbatch``, ``start_ns`` and ``end_ns``."""
        return self._rows(range(self.ranks), timed=True)

    def _rows(self, ranks: Any, timed: bool) -> Array:
        import numpy as np

        fields = [("kind", "U1"), ("stage", "u4"), ("microbatch", "u4")]
        if timed:
            fields = [("rank", "u4"), *fields, ("start_ns", "i8"), ("end_ns", "i8")]
        all_ops = [self._ops(rank) for rank in ranks]
        rows = np.empty(sum(len(ops.kind) for ops in all_ops), fields)
        letters = np.array(list(_kinds))
        at = 0
        for rank, ops in zip(ranks, all_ops):
            part = rows[at : at + len(ops.kind)]
            at += len(ops.kind)
            part["kind"] = letters[np.frombuffer(ops.kind, "u1")]
            part["stage"] = np.frombuffer(ops.stage, "u4")
            part["microbatch"] = np.frombuffer(ops.microbatch, "u4")
            if timed:
                part["rank"] = rank
                part["start_ns"] = np.frombuffer(ops.start_ns, "i8")
                part["end_ns"] = np.frombuffer(ops.end_ns, "i8")
        return rows

    def memory(self, rank: int) -> dict[str, int]:
        """Returns what a rank holds at its peak, in bytes by component, with ``total`` and ``limit``
        (0: none). All is 0 where the memory is not known. Raises IndexError."""
        self._ops(rank)
        *held, limit = self._answer.memory[rank]
        named = dict(zip(_call.memory_components(), held))
        return {**named, "total": sum(held), "limit": limit}

    def _repr_html_(self) -> str:
        from ppsim._picture import page

        return page(self)


class Plan(Step):
    """A plan: partition, schedule, settings, costs and prediction. It can be given wherever a plan
    file can."""

    @property
    def report(self) -> dict[str, Any]:
        """The numbers of the step (a ``ppsim.report``): makespan, bubble, throughput, idle time by
        cause, memory."""
        return dict(self.data.get("prediction") or {})

    def program(self, rank: int, replica: int = 0, **options: Any) -> Array:
        """Returns what a rank runs, communication included, as the executor lowers the order: a
        structured array with the fields ``action`` ("F", "I", "W", "B", "SEND_F", "RECV_F", "SEND_B",
        "RECV_B" or "WAIT"), ``stage``, ``microbatch``, ``peer``, ``group`` and ``bytes``.

        A send or receive is posted, and the rank continues; an op waits for the input that it needs,
        and WAIT for all transfers of its group. stage: of the op, or whose output is sent or input
        received. peer: the other rank of a transfer. bytes: of the tensor; 0 if the plan does not know
        them. The n-th send from one rank to another meets the n-th receive that the other posts.
        replica: of data parallelism. options: of ``simulate``, such as ``executor="ppsim"``. Raises
        IndexError, PpsimError (such as an executor without communication)."""
        self._ops(rank)
        return program_rows(self, replica, options)[rank]

    def emit(self, format: str, path: Path, **options: Any) -> list[str]:
        """Writes the plan in a format of ``names("formats")``, such as ``pytorch-csv``, and returns
        the paths of all files, which may be several. options: of ``simulate``. Raises PpsimError where
        the format cannot hold the plan, OSError."""
        return self._write("emit", format, path, options)

    def trace(self, format: str, path: Path, **options: Any) -> list[str]:
        """Writes the timeline in a format of ``names("formats")``, such as ``chrome``, and returns the
        paths of all files. options: of ``simulate``. Raises PpsimError, OSError."""
        return self._write("trace", format, path, options)

    def _write(
        self, option: str, format: str, path: Path, options: dict[str, Any], makes_folder: bool = False
    ) -> list[str]:
        from ppsim._arguments import Arguments

        arguments = Arguments("simulate")
        arguments.add_word(self, "plan")
        arguments.add_options({**options, option: f"{format}={_errors.path_of('path', path)}"})
        try:
            answer = _call.call(
                "simulate", arguments.settings, arguments.words, arguments.inputs, keep_files=True
            )
        except _errors.InfeasibleError as error:
            if not (error._given and error._given.files):
                raise
            answer = error._given  # the plan exceeds its memory limit, and was written all the same
        if makes_folder:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        for name, content in answer.files.items():
            with open(name, "wb") as file:
                file.write(content)
        return list(answer.files)

    def to_torchtitan(self, folder: Path, name: str = "run.py") -> list[str]:
        """Writes torchtitan's configuration and schedule into a folder, which is made, and returns the
        paths. name: of the configuration; ``.py`` for torchtitan 0.3, ``.toml`` for 0.2. The plan must be
        one that torchtitan runs: ``plan(target="torchtitan", ...)``. Raises PpsimError, OSError."""
        return self._to("torchtitan", folder, name)

    def to_automodel(self, folder: Path, name: str = "run.yaml") -> list[str]:
        """Writes NeMo AutoModel's configuration and schedule into a folder, like ``to_torchtitan``."""
        return self._to("automodel", folder, name)

    def to_megatron(self, folder: Path, name: str = "arguments.txt") -> list[str]:
        """Writes Megatron-LM's command-line arguments into a folder, like ``to_torchtitan``."""
        return self._to("megatron", folder, name)

    def _to(self, target: str, folder: Path, name: str) -> list[str]:
        path = os.path.join(_errors.path_of("folder", folder), name)
        return self._write("emit", target, path, {}, makes_folder=True)


class Simulation(Step):
    """The prediction of ``simulate``. ``data`` is a ``ppsim.report``; with ``executor="all"`` a
    ``ppsim.executors``, without a step."""

    def __repr__(self) -> str:
        if self.step_ns:
            return super().__repr__()
        return f"<ppsim.{type(self).__name__} without a step, a {self.data.get('format', 'table')}>"


class Check(Result):
    """The verdict of ``check``. It is true if the schedule is valid, cannot hang, fits in memory and
    runs on its target. ``reason``: why not; "" otherwise."""

    def __init__(self, answer: _call.Answer, reason: str = "") -> None:
        super().__init__(answer)
        self.reason = reason

    def __reduce__(self) -> Any:
        return type(self), (self._answer, self.reason)

    def __bool__(self) -> bool:
        return not self.reason

    def __repr__(self) -> str:
        return f"<ppsim.{type(self).__name__}: {self.reason or 'yes'}>"


class Comparison(Check):
    """The verdict of ``compare``. It is true if no value is worse than the tolerances allow.
    ``reason``: how many are; "" otherwise."""


class Packing(Result):
    """The answer of ``pack``: ``data`` is a ``ppsim.packing``, ``lengths`` the sequences in their new
    order, a list for each microbatch, as ``plan(lengths=...)`` takes them."""

    @property
    def lengths(self) -> list[list[int]]:
        """The lengths of the sequences of each microbatch, in the order in which they run; those of
        several batches one after the other."""
        lengths: list[list[int]] = json.loads(self._answer.files["lengths"])
        return lengths


class Table(Result):
    """The answer of a command that has no step of its own: ``plan`` with ``pareto``, ``explain`` or
    ``instance``, ``shapes``, and ``sweep``. ``data`` has its JSON."""


def program_rows(source: Any, replica: int, options: dict[str, Any]) -> list[Array]:
    """Returns the programs of all ranks of a replica of a plan, as `Plan.program` does."""
    import numpy as np

    from ppsim._arguments import Arguments

    arguments = Arguments("simulate")
    arguments.add_word(source, "plan")
    arguments.add_options(options)
    answer = _call.call(
        "simulate", arguments.settings, arguments.words, arguments.inputs, warn=False, program=replica
    )
    numbers = ("stage", "microbatch", "peer", "group")
    fields = [("action", "U6"), *((name, "u4") for name in numbers), ("bytes", "i8")]
    letters = np.array(_actions)
    programs = []
    for columns in answer.program:
        rows = np.empty(len(columns.action), fields)
        rows["action"] = letters[np.frombuffer(columns.action, "u1")]
        for name in numbers:
            rows[name] = np.frombuffer(getattr(columns, name), "u4")
        rows["bytes"] = np.frombuffer(columns.size, "i8")
        programs.append(rows)
    return programs


def load_plan(path: Path, answer: _call.Answer) -> Plan:
    """Returns the plan of a file. answer: of its simulation, which has its numbers."""
    with open(path, "rb") as file:
        content = file.read()
    if content[:2] == b"\x1f\x8b":
        import gzip

        content = gzip.decompress(content)
    text = content.decode()
    data: Optional[Any] = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != "ppsim.plan":
        raise _errors.InputError(os.fspath(path), "is not a plan; make one with plan(...).save(path)")
    return Plan(answer._replace(command="plan", json=text))
