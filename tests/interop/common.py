"""What the tests against PyTorch share: running ppsim, rows of a schedule, a schedule without ranks."""
import csv
import subprocess
from unittest import mock

from torch.distributed.pipelining import schedules
from torch.distributed.pipelining.stage import _PipelineStageBase

COSTS = "F=3ms,I=2ms,W=1ms,comm=1us"


class Failure(Exception):
    """The test has failed; the text says where."""


def demand(holds, text):
    if not holds:
        raise Failure(text)


def ppsim(program, *arguments, seconds=300):
    """Exit status and stderr of one run."""
    done = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, timeout=seconds, check=False
    )
    return done.returncode, done.stderr


def must(program, *arguments):
    status, words = ppsim(program, *arguments)
    demand(status == 0, f"ppsim {' '.join(map(str, arguments))}: exit {status}: {words}")


def read_rows(path):
    """Cells of each rank, blank ones left out."""
    with open(path, newline="", encoding="ascii") as rows:
        return [[cell for cell in row if cell] for row in csv.reader(rows)]


def write_rows(path, rows):
    with open(path, "w", encoding="ascii") as out:
        for row in rows:
            out.write(",".join(row) + "\n")


def as_rows(actions):
    return [[str(a) for a in actions[r] if a is not None] for r in sorted(actions)]


def stand_in(schedule_class, ranks, stages, microbatches, **options):
    """A schedule of PyTorch's with its own constructor and methods, whose stages compute nothing."""
    stage = mock.MagicMock(spec=_PipelineStageBase)
    stage.group_size = ranks
    stage.group_rank = 0
    stage.num_stages = stages
    stage.stage_index = 0
    stage.submod = None
    return schedule_class(
        [stage] * (stages // ranks), microbatches, loss_fn=lambda output, target: output, **options
    )


def lower(path, ranks, stages, microbatches, defer, **settings):
    """The rows PyTorch runs when it loads the compute_only file at `path`. AssertionError: refused.
    settings: of PyTorch 2.15's schedules; ValueError: they cannot be kept."""
    runtime = stand_in(
        schedules._PipelineScheduleRuntime, ranks, stages, microbatches, defer_pp_recv=defer, **settings
    )
    runtime._load_csv(path)
    return as_rows(runtime.pipeline_order_with_comms)


def stage_ranks(rows):
    """Stage to rank, from any rows."""
    where = {}
    for rank, row in enumerate(rows):
        for cell in row:
            action = schedules._Action.from_str(cell)
            for part in action.sub_actions or (action,):
                where[part.stage_index] = rank
    return where


def misdelivered(rows):
    """Does the i-th receive on an edge between two ranks get another tensor than the i-th send's?
    Messages between two ranks carry no name (NCCL knows no tags)."""
    where = stage_ranks(rows)
    sent, received = {}, {}
    for rank, row in enumerate(rows):
        for cell in row:
            kind = schedules._Action.from_str(cell)
            step = {"SEND_F": 1, "RECV_F": -1, "SEND_B": -1, "RECV_B": 1}.get(
                kind.computation_type.value
            )
            if step is None:
                continue
            peer = where[kind.stage_index + step]
            sends = kind.computation_type.value.startswith("SEND")
            letter = kind.computation_type.value[-1]
            receiver = kind.stage_index + step if sends else kind.stage_index
            edge = (rank, peer) if sends else (peer, rank)
            (sent if sends else received).setdefault(edge, []).append(
                (receiver, letter, kind.microbatch_index)
            )
    return sent != received
