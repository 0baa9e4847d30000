"""Runs the rows of a rank's program: ops of its stages, and the transfers between them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

import torch
import torch.distributed as dist
from torch import nn

from ppsim import _errors
from ppsim._results import Array, Plan, program_rows
from ppsim.torch._places import PipelineError, Places
from ppsim.torch._stages import Stage
from ppsim.torch._timeline import Clock, write_trace
from ppsim.torch._wire import PROTOCOLS, Failed, Pool, Row, Wire, first_line

Lengths = Sequence[Sequence[int]]
_numbers = itertools.count()  # of the pipelines of this process, for their names in the store


class _Program(NamedTuple):
    rows: list[Row]
    stage_rank: list[int]
    microbatches: int
    lengths: Optional[Lengths]
    splits: set[int]  # stages with I and W
    trains: bool
    about: dict[str, str]


def _content(source: Any) -> Mapping[str, Any]:
    """The JSON of a plan."""
    if isinstance(source, Plan):
        return dict(source.data)
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, bytes):
        with open(source, "rb") as file:
            source = file.read()
    if source[:2] == b"\x1f\x8b":
        import gzip

        source = gzip.decompress(source)
    return dict(json.loads(source))


def _read(source: Any, rank: int, ranks: int, replica: int) -> _Program:
    content = _content(source)
    programs = program_rows(source, replica, {"executor": "ppsim"})
    if len(programs) != ranks:
        raise _errors.UsageError("plan", f"has {len(programs)} pipeline ranks; the group has {ranks}")
    home: dict[int, int] = {}
    microbatches = 0
    for index, rows in enumerate(programs):
        for stage in set(rows["stage"][rows["peer"] == index].tolist()):
            home[stage] = index
        microbatches = max(microbatches, int(rows["microbatch"].max()) + 1)
    own = programs[rank]
    columns = [own[name].tolist() for name in ("action", "stage", "microbatch", "peer")]
    rows = [Row(*fields) for fields in zip(*columns)]
    groups = content.get("microbatches") or None
    if groups and isinstance(groups[0], list):
        groups = groups[replica]
    lengths = [group["sequences"] for group in groups] if groups else None
    return _Program(
        rows,
        [home[stage] for stage in range(len(home))],
        microbatches,
        lengths if lengths and all(lengths) else None,
        {row.stage for row in rows if row.action == "I"},
        any(row.action in ("B", "W") for row in rows),
        {"schedule": str((content.get("schedule") or {}).get("name") or "planned"), "executor": "ppsim"},
    )


class Pipeline:
    """The stages of this rank, and the program by which they run.

    plan: a `ppsim.Plan`, the path, bytes or dict of one; all ranks need the same one. stages: the modules
    of this rank by their numbers, or a list in the order of their numbers. hidden: elements of a token in
    the tensors between stages. loss_fn: takes the last stage's output and a target and returns a scalar,
    whose sum over the microbatches is what gradients are of; None: the program has forwards only.
    group: the ranks of the pipeline, in its order; None: all. It is used for its members alone: the
    pipeline makes groups of its own, so that all members make it at the same time.
    device: of the stages; None: that of the first parameter. dtype: of the tensors between stages.
    protocol: how receivers learn sizes, one of `PROTOCOLS`; replica: whose order and microbatches of the
    plan to take; timeout: seconds that a rank waits for a tensor before it gives up.

    Raises UsageError where plan, stages and group do not belong together; what ``ppsim.simulate`` raises.
    """

    def __init__(
        self,
        plan: Any,
        stages: Union[Mapping[int, nn.Module], Sequence[nn.Module]],
        *,
        hidden: int,
        loss_fn: Optional[Callable[[Any, Any], torch.Tensor]] = None,
        dtype: torch.dtype = torch.float32,
        device: Optional[Union[torch.device, str]] = None,
        group: Any = None,
        protocol: str = "plan",
        replica: int = 0,
        timeout: float = 600.0,
    ) -> None:
        if protocol not in PROTOCOLS:
            raise _errors.UsageError("protocol", f"must be one of {', '.join(PROTOCOLS)}, not {protocol!r}")
        members = dist.get_process_group_ranks(group or dist.group.WORLD)
        self.rank = dist.get_rank(group)
        self.ranks = len(members)
        self.protocol = protocol
        self._replica = replica
        self._loss_fn = loss_fn
        self._program = _read(plan, self.rank, self.ranks, replica)
        self._stages = self._take_stages(stages)
        if device is None:
            parameters = (p for module in self._modules.values() for p in module.parameters())
            device = next((p.device for p in parameters), torch.device("cpu"))
        self.device = torch.device(device)
        self._group = dist.new_group(
            members, backend=dist.get_backend(group), use_local_synchronization=True
        )
        store = dist.distributed_c10d._get_default_store()
        self._places = Places(store, f"{members[0]}-{next(_numbers)}", self.rank, self.ranks)
        self._pool = Pool(hidden, dtype, self.device)
        self._wire = Wire(
            self._group, self._program.stage_rank, self._pool, protocol, timeout, self._places
        )
        self._clock = Clock(self.device)
        self._marks: list[tuple[Row, Any, Any]] = []
        self._own: dict[tuple[str, int, int], torch.Tensor] = {}  # tensors that stay on this rank
        self._out: dict[tuple[str, int, int], torch.Tensor] = {}  # tensors to send
        self._losses: dict[int, Any] = {}

    def _take_stages(self, stages: Any) -> dict[int, Stage]:
        own = [stage for stage, rank in enumerate(self._program.stage_rank) if rank == self.rank]
        self._modules = dict(stages if isinstance(stages, Mapping) else zip(own, stages))
        if sorted(self._modules) != own or len(stages) != len(own):
            raise _errors.UsageError(
                "stages", f"rank {self.rank} has stages {own} of the plan, and {len(stages)} modules"
            )
        return {number: Stage(self._modules[number], number in self._program.splits) for number in own}

    @property
    def stages(self) -> list[int]:
        """The numbers of the stages of this rank."""
        return sorted(self._stages)

    @property
    def lengths(self) -> Optional[Lengths]:
        """The lengths of the sequences of each microbatch, as the plan has them; None: it has none."""
        return self._program.lengths

    @property
    def counts(self) -> dict[str, int]:
        """What this rank sent in the last step: ``tensors``, ``tensor_bytes``, ``messages`` about sizes
        and ``message_bytes``; how often it read a size (``reads``); ``receive_peak_bytes``, the most
        bytes of receives that were posted and not yet taken over by their op, which is the plan's
        ``peak_recv_bytes``; ``pool_bytes``, all receive buffers, with those that activations are in."""
        pool = {"receive_peak_bytes": self._pool.peak_bytes, "pool_bytes": self._pool.bytes}
        return {**self._wire.counts, **pool}

    def replan(self, plan: Any) -> None:
        """Takes another plan for the steps that follow, with the same stages on the same ranks. All ranks
        call it between the same two steps. Raises as the constructor does."""
        program = _read(plan, self.rank, self.ranks, self._replica)
        if program.stage_rank != self._program.stage_rank:
            raise _errors.UsageError("plan", "has other stages, or has them on other ranks")
        self._program = program
        self._stages = self._take_stages(self._modules)

    def step(
        self,
        microbatches: Optional[Sequence[torch.Tensor]] = None,
        targets: Optional[Sequence[Any]] = None,
        *,
        lengths: Optional[Lengths] = None,
    ) -> Optional[list[Any]]:
        """Runs one step: all microbatches forward and backward; gradients are added to ``.grad``.

        microbatches: the token ids of each, shape [tokens], on the rank of the first stage. targets: what
        loss_fn takes for each, on the rank of the last stage. lengths: of the sequences of each
        microbatch, on all ranks; None: those of the plan.
        Returns the loss of each microbatch (without a loss_fn the output) on the rank of the last stage,
        and None on the others. Raises PipelineError, also where another rank failed; then the pipeline
        cannot be used any more."""
        program = self._program
        lengths = lengths if lengths is not None else program.lengths
        if lengths is None:
            raise _errors.UsageError("lengths", "the plan has none; give those of the step's microbatches")
        if len(lengths) != program.microbatches:
            raise _errors.UsageError(
                "lengths", f"has {len(lengths)} microbatches; the plan has {program.microbatches}"
            )
        if program.trains and self._loss_fn is None:
            raise _errors.UsageError("loss_fn", "is None, but the plan has backwards")
        for stage in self._stages.values():
            stage.begin()
        self._marks, self._losses = [], {}
        self._own.clear()
        self._out.clear()
        self._wire.begin(list(lengths))
        self._cut(lengths)
        self._clock.begin()
        self._microbatches, self._targets = microbatches, targets
        self._left = {number: self._backwards(number) for number in self._stages}
        self._reduced: set[int] = set()
        self._ends: list[Callable[[], None]] = []
        row = Row("F", 0, 0, self.rank)
        try:
            with contextlib.nullcontext() if program.trains else torch.no_grad():
                for row in program.rows:
                    self._run(row)
                self._wire.finish()
                for end in self._ends:
                    end()
        except Exception as why:
            raise self._fail(row, why) from why
        except BaseException as why:
            self._places.fail(first_line(why))
            raise
        self._places.finished()
        if len(program.stage_rank) - 1 not in self._stages:
            return None
        return [self._losses[index] for index in range(program.microbatches)]

    def _backwards(self, stage: int) -> int:
        return sum(row.stage == stage and row.action in ("B", "W") for row in self._program.rows)

    def _fail(self, row: Row, why: Exception) -> PipelineError:
        """Publishes that this rank fails, and returns its error. A rank whose transfer failed tells what
        the others do."""
        text = str(why) if isinstance(why, Failed) else first_line(why)
        if isinstance(why, Failed) and self._places.now.doing != "waiting":  # a send, noticed later
            self._places.waiting(why.transfer, why.peer)
        self._places.fail("" if isinstance(why, Failed) else text)
        if isinstance(why, Failed):
            text += f"; {self._places.report(why.peer)}"
        self._abandon()
        return PipelineError(f"rank {self.rank}, {row.token}: {text}", self.rank, row.token)

    def close(self) -> None:
        """Ends the threads of the pipeline. Its process groups end with the process, since PyTorch would
        give the next group of the same ranks the name, and the addresses, of one that was destroyed."""
        self._places.close()
        self._wire.sends.close()

    def _abandon(self) -> None:
        """Closes the connections, so that ranks that wait for this one fail at once."""
        self.close()
        with contextlib.suppress(Exception):
            dist.destroy_process_group(self._group)

    # ---- One row. ----

    def _cut(self, lengths: Lengths) -> None:
        """Makes what stages get beside hidden states: the boundaries of sequences."""
        self._cuts: list[tuple[torch.Tensor, int]] = []
        for index, of in enumerate(lengths):
            whole = [int(length) for length in of]
            if self.protocol == "padded":
                whole[-1] += self._wire.longest - self._wire.tokens[index]
            ends = list(itertools.accumulate(whole, initial=0))
            cuts = torch.tensor(ends, dtype=torch.int32, device=self.device)
            self._cuts.append((cuts, max(whole)))

    def _run(self, row: Row) -> None:
        if row.action.startswith("RECV"):
            self._wire.post(row)
        elif row.action.startswith("SEND"):
            self._wire.send(row, self._out.pop((row.action[-1], row.stage, row.microbatch)))
        else:
            self._compute(row)

    def _compute(self, row: Row) -> None:
        given = self._input(row)
        self._places.computing(row.token)
        begin = self._clock.mark()
        with self._range(row):
            getattr(self, f"_run_{row.action}")(row, given)
        self._marks.append((row, begin, self._clock.mark()))
        if row.action in ("B", "W"):
            self._left[row.stage] -= 1
            self._reduce()

    def _range(self, row: Row) -> Any:
        """A range that ``ppsim convert`` and ``calibrate --import kineto=`` read, while a profiler runs."""
        if not torch.autograd._profiler_enabled():
            return contextlib.nullcontext()
        return torch.profiler.record_function(f"ppsim:{row.token} tokens={self._wire.tokens[row.microbatch]}")

    def _input(self, row: Row) -> Any:
        """Waits for what an op needs from another stage."""
        stage, microbatch = row.stage, row.microbatch
        if row.action == "W":
            return None
        forward = row.action == "F"
        kind, neighbour = ("F", stage - 1) if forward else ("B", stage + 1)
        if not forward and neighbour == len(self._program.stage_rank):
            return None  # a loss
        if neighbour < 0:
            return self._ids(microbatch)
        home = self._program.stage_rank[neighbour]
        if home == self.rank:
            return self._own.pop((kind, neighbour, microbatch))
        return self._wire.receive(Row(f"RECV_{kind}", stage, microbatch, home))

    def _ids(self, microbatch: int) -> torch.Tensor:
        if self._microbatches is None:
            raise _errors.UsageError("microbatches", "are needed on the rank of the first stage")
        ids = self._microbatches[microbatch].to(self.device, non_blocking=True)
        tokens = self._wire.tokens[microbatch]
        if len(ids) != tokens:
            raise _errors.UsageError(
                "microbatches", f"microbatch {microbatch} has {len(ids)} tokens; the plan has {tokens}"
            )
        if self.protocol == "padded":
            ids = nn.functional.pad(ids, (0, self._wire.longest - tokens))
        return ids

    def _pass_on(self, kind: str, stage: int, microbatch: int, to: int, tensor: torch.Tensor) -> None:
        """Leaves a tensor for its send, or for the stage `to` on this rank."""
        stays = self._program.stage_rank[to] == self.rank
        (self._own if stays else self._out)[(kind, stage, microbatch)] = tensor

    def _run_F(self, row: Row, given: torch.Tensor) -> None:
        stage, microbatch = row.stage, row.microbatch
        x = given
        if stage > 0:
            x = x.detach().requires_grad_(self._program.trains)
        output = self._stages[stage].forward(microbatch, x, *self._cuts[microbatch])
        if stage < len(self._program.stage_rank) - 1:
            self._pass_on("F", stage, microbatch, stage + 1, output.detach())
        else:
            if self._loss_fn is not None:
                target = self._targets[microbatch] if self._targets is not None else None
                output = self._loss_fn(output[: self._wire.tokens[microbatch]], target)
            self._losses[microbatch] = output.detach()
        if self._program.trains:
            self._stages[stage].keep(microbatch, x, output)
        else:
            self._wire.release("RECV_F", stage, microbatch)

    def _run_B(self, row: Row, given: Optional[torch.Tensor]) -> None:
        self._give(row, self._stages[row.stage].backward(row.microbatch, given))
        self._release(row)

    def _run_I(self, row: Row, given: Optional[torch.Tensor]) -> None:
        self._give(row, self._stages[row.stage].backward_input(row.microbatch, given))

    def _run_W(self, row: Row, given: None) -> None:
        self._stages[row.stage].backward_weight(row.microbatch)
        self._release(row)

    def _give(self, row: Row, gradient: Optional[torch.Tensor]) -> None:
        """Passes the gradient of a stage's input on. W still needs the buffer of that of its output."""
        self._wire.consumed(row.stage, row.microbatch)
        if row.stage > 0:
            if gradient is None:
                raise RuntimeError(f"the output of stage {row.stage} does not depend on its input")
            self._pass_on("B", row.stage, row.microbatch, row.stage - 1, gradient)

    def _release(self, row: Row) -> None:
        """Gives back the buffers that the graph of a microbatch has used."""
        self._wire.release("RECV_F", row.stage, row.microbatch)
        self._wire.release("RECV_B", row.stage, row.microbatch)

    def _reduce(self) -> None:
        """Starts reductions of stages that are done, the last one first, so that all replicas start them
        in the same order."""
        for number in sorted(self._stages, reverse=True):
            if self._left[number]:
                return
            if number not in self._reduced:
                self._reduced.add(number)
                self._ends += self._stages[number].reduce()

    # ---- What was measured. ----

    def timeline(self) -> Array:
        """Returns the ops of this rank in the last step with their times, in the form of
        ``Plan.timeline()``; ``start_ns`` and ``end_ns`` since 1970. Waits are not part of an op."""
        import numpy as np

        fields = [("rank", "u4"), ("kind", "U1"), ("stage", "u4"), ("microbatch", "u4")]
        rows = [(self.rank, *op) for op in self._ops()]
        return np.array(rows, [*fields, ("start_ns", "i8"), ("end_ns", "i8")])

    def _ops(self) -> list[tuple[str, int, int, int, int]]:
        when = self._clock.when_ns
        return [
            (row.action, row.stage, row.microbatch, when(begin), when(end))
            for row, begin, end in self._marks
        ]

    def save_timeline(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the last step of all ranks as a Chrome trace, which ``ppsim compare`` and ``ppsim plot
        --kind executed`` take. All ranks call it; rank 0 writes. Raises OSError."""
        gathered: list[Any] = [None] * self.ranks
        dist.all_gather_object(gathered, self._ops(), group=self._group)
        if self.rank == 0:
            write_trace(path, gathered, self._program.about)
