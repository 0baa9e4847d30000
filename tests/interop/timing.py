"""Predicted steps against measured ones: real PyTorch (4 gloo processes) runs 13 schedules whose ops
sleep for known times, and ppsim predicts them from these times.

Three transports: gloo as it is; gloo with 10 ms of latency; and one queue per rank that behaves as NCCL's
does, each transfer waiting for both of its ends and lasting 10 ms. Durations are the same on all ranks,
or the last rank's are half as long again. Demanded per transport and durations: the mean difference is
at most 5 %, and the two rankings agree (Kendall's tau-b of at least 0.9; schedules that are measured
within 1 % of each other count as equal).

It takes 12 minutes, and wants a quiet machine; so no test calls it.

usage: build/torch-env/bin/python tests/interop/timing.py build/ppsim [SCHEDULE...]
"""
import json
import os
import queue
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules

import common
import test_execution as execution

RANKS, MICROBATCHES, STEPS = 4, 8, 2
# Of all stages of a rank together. PyTorch takes 1 to 2 ms around each op and each transfer, in Python,
# which is in no prediction.
SECONDS = {"F": 0.080, "I": 0.088, "W": 0.064, "B": 0.152}
LATENCY = 0.010
ALL = ["gpipe", "1f1b", "eager-1f1b", "interleaved", "looped-bfs", "interleaved-zb", "zb-h1", "zbv",
       "zbv-auto", "v-half", "v-min", "1f1b-v", "dualpipev"]
TWO_STAGES = {"interleaved", "looped-bfs", "interleaved-zb", "zbv", "zbv-auto", "v-half", "v-min",
              "1f1b-v", "dualpipev"}
AS_TRANSPORT = {  # what ppsim is told
    "gloo": ["--comm", "gloo"],
    "gloo and 10 ms": ["--comm", "gloo"],
    "one queue and 10 ms": ["--comm", "nccl"],
}
SLOWER = 1.5  # the last rank, where ranks differ
MEAN, TAU, TIE = 0.05, 0.9, 0.01


# --- transports, in the processes ----------------------------------------------------------------


class Later:
    """A work that another thread does."""

    def __init__(self):
        self.done = threading.Event()

    def wait(self, *_):
        self.done.wait()


def start(op, tag):
    sends = op.op is dist.isend
    peer = {"group_dst" if sends else "group_src": op.group_peer}
    return op.op(op.tensor, group=op.group, tag=tag, **peer)


def late_batch(ops, desc=None):
    """Sends leave 10 ms late, without holding up what comes after them. The tensor is kept meanwhile."""
    works = []
    for op in ops:
        if op.op is not dist.isend:
            works.append(start(op, op.tag))
            continue
        work = Later()

        def send(op=op, work=work):
            start(op, op.tag).wait()
            work.done.set()

        threading.Timer(LATENCY, send).start()
        works.append(work)
    return works


class OneQueue:
    """Transfers of a rank start in the order of their posts; each waits for its other end, lasts 10 ms
    and holds up all behind it."""

    def __init__(self):
        self.posted = queue.SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()

    def batch(self, ops, desc=None):
        works = [Later() for _ in ops]
        for op, work in zip(ops, works):
            self.posted.put((op, work))
        return works

    def run(self):
        while True:
            op, work = self.posted.get()
            sends = op.op is dist.isend
            start(op, op.tag).wait()
            note = torch.zeros(1)
            # the receiver's end of the transfer is there: it says so
            back = dist.irecv if sends else dist.isend
            peer = {"group_src" if sends else "group_dst": op.group_peer}
            back(note, group=op.group, tag=7000, **peer).wait()
            time.sleep(LATENCY)
            work.done.set()


def use_transport(name):
    if name == "gloo and 10 ms":
        schedules._batch_p2p = late_batch
    elif name != "gloo":
        schedules._batch_p2p = OneQueue().batch


# --- one process of the pipeline -----------------------------------------------------------------


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return x * self.weight


def make_slow(stage, seconds):
    """Ops of this stage take these times, what they compute included."""

    def slow(method, letter):
        inner = getattr(stage, method)

        def outer(*arguments, **options):
            until = time.monotonic() + seconds[letter(options)]
            result = inner(*arguments, **options)
            time.sleep(max(0.0, until - time.monotonic()))
            return result

        setattr(stage, method, outer)

    slow("forward_one_chunk", lambda _: "F")
    slow("backward_one_chunk", lambda o: "B" if o.get("full_backward", True) else "I")
    slow("backward_weight_one_chunk", lambda _: "W")


def run_case(case, rank):
    """Seconds of each step, begin and end on the clock that all processes share."""
    home = case["home"]
    use_transport(case["transport"])
    stages = [PipelineStage(Scale(), s, len(home), torch.device("cpu"))
              for s in range(len(home)) if home[s] == rank]
    for stage in stages:
        make_slow(stage, {k: v * case["factor"][rank] / len(stages) for k, v in SECONDS.items()})
    runtime = schedules._PipelineScheduleRuntime(
        stages, MICROBATCHES, loss_fn=lambda out, target: (out - target).sum(), scale_grads=False)
    runtime._load_csv(case["file"], "compute_only")
    first, last = home[0] == rank, home[-1] == rank
    times = []
    for _ in range(STEPS + 1):  # the first one makes buffers and connections
        dist.barrier()
        begin = time.monotonic()
        runtime.step(*([torch.ones(MICROBATCHES, 8)] if first else []),
                     target=torch.zeros(MICROBATCHES, 8) if last else None, losses=[] if last else None)
        times.append((begin, time.monotonic()))
    return {"times": times[1:]}


# --- predictions and verdicts --------------------------------------------------------------------


def costs_file(folder, home, factor, latency):
    """The times of the ops as a costs file."""
    def of(letter, stage):
        return round(1e9 * SECONDS[letter] * factor[home[stage]] * RANKS / len(home))

    path = f"{folder}/costs.json"
    stages = range(len(home))
    with open(path, "w", encoding="ascii") as out:
        json.dump({
            "format": "ppsim.costs", "version": 1, "ranks": RANKS, "stages": len(home),
            "microbatches": MICROBATCHES,
            "forward_ns": [of("F", s) for s in stages],
            "input_ns": [of("I", s) for s in stages],
            "weight_ns": [of("W", s) for s in stages],
            "comm_ns": round(1e9 * latency),
        }, out)
    return path


def predict(program, folder, case):
    latency = LATENCY if "10 ms" in case["transport"] else 0
    words = ["--costs-file", costs_file(folder, case["home"], case["factor"], latency)]
    words += ["--executor", execution.EXECUTOR, *AS_TRANSPORT[case["transport"]]]
    done = subprocess.run([program, "simulate", case["file"], *words, "--json"],
                          capture_output=True, text=True, check=False, timeout=60)
    common.demand(done.returncode == 0, f"simulate {case['name']}: {done.stderr}")
    return json.loads(done.stdout)["makespan_ns"] / 1e9


def agreement(measured, predicted):
    """Kendall's tau-b; schedules that are measured within a tie of each other count as equal."""
    agree = measured_ties = predicted_ties = 0
    for i, a in enumerate(measured):
        for j in range(i):
            way = 0 if abs(a - measured[j]) <= TIE * min(a, measured[j]) else a - measured[j]
            told = predicted[i] - predicted[j]
            agree += (way * told > 0) - (way * told < 0)
            measured_ties += way == 0
            predicted_ties += told == 0
    pairs = len(measured) * (len(measured) - 1) // 2
    return agree / max(1, (pairs - measured_ties) * (pairs - predicted_ties)) ** 0.5


def make_cases(program, folder, names):
    cases = []
    for name in names:
        arguments = ["--schedule", name, "--pp", RANKS, "--microbatches", MICROBATCHES]
        arguments += ["--vpp", 2] if name in TWO_STAGES else []
        plain, _, _, home, _ = execution.emit(program, folder, name, arguments)
        for transport in AS_TRANSPORT:
            for factor in ([1.0] * RANKS, [1.0] * (RANKS - 1) + [SLOWER]):
                cases.append({"name": name, "file": plain, "home": home, "transport": transport,
                              "factor": factor})
    return cases


def main(arguments):
    program, names = arguments[0], arguments[1:] or ALL
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    execution.run_case = run_case
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        cases = make_cases(program, folder, names)
        for transport in AS_TRANSPORT:
            mine = [case for case in cases if case["transport"] == transport]
            with tempfile.TemporaryDirectory() as beside:
                all_results = execution.launch(RANKS, mine, beside)
            for case, results in zip(mine, all_results):
                spans = [max(r["times"][k][1] for r in results) - min(r["times"][k][0] for r in results)
                         for k in range(STEPS)]
                case["measured"] = min(spans)
                case["predicted"] = predict(program, folder, case)
            for alike in (True, False):
                some = [c for c in mine if (c["factor"][-1] == 1.0) == alike]
                errors = [c["predicted"] / c["measured"] - 1 for c in some]
                tau = agreement([c["measured"] for c in some], [c["predicted"] for c in some])
                mean = statistics.mean(abs(e) for e in errors)
                label = f"{transport}, {'ranks alike' if alike else 'last rank slower'}"
                for case, error in zip(some, errors):
                    print(f"  {case['name']:15} measured {case['measured']:.3f} s, predicted "
                          f"{case['predicted']:.3f} s, {100 * error:+.1f} %")
                print(f"{label}: mean {100 * mean:.1f} %, most {100 * max(map(abs, errors)):.1f} %, "
                      f"tau {tau:.2f}", flush=True)
                if mean > MEAN or tau < TAU:
                    failed.append(label)
    common.demand(not failed, f"off: {', '.join(failed)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
