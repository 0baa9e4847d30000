"""Files that PyTorch's own schedules dump (_dump_csv, both formats) are read by ppsim, and equal what
ppsim's generator of the same name makes and its executor lowers.

usage: test_dumps.py PPSIM
"""
import os
import sys
import tempfile

import torch
from torch.distributed.pipelining import schedules

import common

# PyTorch's class, ppsim's name, stages per rank. GPipe and 1F1B have no dump.
SCHEDULES = (
    ("ScheduleLoopedBFS", "looped-bfs", (2, 3)),
    ("ScheduleInterleaved1F1B", "interleaved", (2, 4)),
    ("ScheduleInterleavedZeroBubble", "interleaved-zb", (2, 3)),
    ("ScheduleZBVZeroBubble", "zbv", (2,)),
    ("ScheduleDualPipeV", "dualpipev", (2,)),
)
SIZES = ((2, 4), (2, 7), (4, 8), (4, 12), (8, 16))  # ranks, microbatches


def compare(program, folder, schedule, name, ranks, per_rank, microbatches):
    """False where one of the two has no such schedule; then both refuse."""
    about = f"{name} p={ranks} v={per_rank} m={microbatches}"
    plain, comms = f"{folder}/plain.csv", f"{folder}/comms.csv"
    read, lowered = f"{folder}/read.csv", f"{folder}/lowered.csv"
    made = f"{folder}/made.csv"
    status, words = common.ppsim(
        program, "simulate", "--schedule", name, "--pp", ranks, "--vpp", per_rank, "--microbatches",
        microbatches, "--costs", common.COSTS, "--emit", f"pytorch-csv={made}",
    )
    try:
        theirs = common.stand_in(
            getattr(schedules, schedule), ranks, ranks * per_rank, microbatches
        )
    except ValueError as refusal:
        common.demand(status != 0, f"{about}: PyTorch alone refuses: {refusal}")
        return False
    common.demand(status == 0, f"{about}: ppsim alone refuses: {words}")
    theirs._dump_csv(plain, format="compute_only")
    theirs._dump_csv(comms, format="compute_comms")
    common.must(program, "check", plain)
    common.must(program, "check", comms)
    common.must(program, "simulate", comms, "--costs", common.COSTS)
    common.must(
        program, "simulate", plain, "--costs", common.COSTS, "--emit", f"pytorch-csv={read}",
        "--emit", f"pytorch-comms={lowered}",
    )
    common.demand(common.read_rows(read) == common.read_rows(plain), f"{about}: read as another order")
    common.demand(common.read_rows(lowered) == common.read_rows(comms), f"{about}: lowered otherwise")
    common.demand(common.read_rows(made) == common.read_rows(plain), f"{about}: generated otherwise")
    return True


def main(arguments):
    print(f"PyTorch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for schedule, name, stages in SCHEDULES:
            equal = [
                compare(arguments[0], folder, schedule, name, ranks, per_rank, microbatches)
                for per_rank in stages
                for ranks, microbatches in SIZES
            ]
            common.demand(sum(equal) > 0, f"{name}: nothing was compared")
            print(f"ok     {schedule}: {sum(equal)} dumps read, {equal.count(False)} refused by both")
            for left in os.listdir(folder):
                os.remove(os.path.join(folder, left))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
