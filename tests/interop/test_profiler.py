"""Recordings of PyTorch's profiler become a timeline: a real pipeline (several gloo processes) runs a
schedule of ppsim's under torch.profiler, one recording per rank, and `ppsim convert` makes one timeline
of them, whose ops and order are those of the schedule, with the durations that the recordings say.
`ppsim calibrate --import kineto=` makes costs of the same recordings, which are without the waits that
the ranges begin with, and `ppsim simulate` takes them.

usage: test_profiler.py PPSIM
"""
import collections
import gzip
import json
import os
import re
import statistics
import sys
import tempfile

import torch
from torch import profiler

import common
import test_execution as execution

run_plain = execution.run_case


def run_recorded(case, rank):
    """Two steps, in one recording."""
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as recording:
        run_plain(case, rank)
        result = run_plain(case, rank)
    recording.export_chrome_trace(f"{case['folder']}/rank{rank}.json.gz")
    return result


def recorded_durations(path):
    """Nanoseconds of every op, a list over the steps, from the file as it is."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    found = collections.defaultdict(list)
    for event in sorted((e for e in events if e.get("ph") == "X"), key=lambda e: e["ts"]):
        match = re.fullmatch(r"PP:(\d+[FIWB]\d+)", event["name"])
        if match:
            found[match[1]].append(round(event["dur"] * 1000))
    return found


def timeline_of(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return [e for e in events if e["ph"] == "X" and e["cat"] == "compute"]


def check(program, folder, plain, ranks):
    paths = [f"{folder}/rank{r}.json.gz" for r in range(ranks)]
    measured = f"{folder}/measured.json"
    common.must(program, "convert", *paths, "--to", "chrome", "--steps", 1, "-o", measured)
    ops = timeline_of(measured)
    rows = [[op["name"] for op in ops if op["pid"] == r] for r in range(ranks)]
    common.demand(rows == common.read_rows(plain), f"the timeline has another order: {rows}")
    common.demand(min(op["ts"] for op in ops) == 0, "no op starts at 0")
    for rank, path in enumerate(paths):
        found = recorded_durations(path)
        for op in (op for op in ops if op["pid"] == rank):
            common.demand(len(found[op["name"]]) == 2, f"{op['name']} was recorded {found[op['name']]}")
            common.demand(abs(found[op["name"]][1] - op["dur"] * 1000) < 2, f"{op['name']} lasts otherwise")
    # Back to a schedule, and as a picture.
    common.must(program, "convert", measured, "--to", "pytorch-csv", "-o", f"{folder}/again.csv")
    common.demand(common.read_rows(f"{folder}/again.csv") == rows, "the schedule was lost on the way")
    common.must(program, "convert", *paths, "--to", "text", "-o", f"{folder}/grid.txt")
    status, words = common.ppsim(program, "convert", paths[0], paths[0], "--to", "chrome")
    common.demand(status == 3, f"a rank twice: exit {status}: {words}")
    status, words = common.ppsim(program, "convert", paths[1], "--to", "chrome")
    common.demand(status == 3, f"a rank lacks: exit {status}: {words}")
    return paths


def check_import(program, folder, paths):
    """The import takes both steps' ranges; its medians are those of the recordings less the waits."""
    costs = f"{folder}/costs.json"
    imports = [word for path in paths for word in ("--import", f"kineto={path}")]
    common.must(program, "calibrate", *imports, "--emit", f"costs={costs}")
    with open(costs, encoding="utf-8") as file:
        said = json.load(file)
    series = collections.defaultdict(list)
    for path in paths:
        for op, durations in recorded_durations(path).items():
            stage, kind = re.match(r"(\d+)([FIWB])", op).groups()
            series["forward_ns" if kind == "F" else "backward_ns", int(stage)] += durations
    waited = 0
    for (key, stage), durations in sorted(series.items()):
        median, own = statistics.median(durations), said[key][stage]
        print(f"{key} of stage {stage}: {own / 1e6:.3f} ms, range {median / 1e6:.3f} ms of {len(durations)}")
        common.demand(0 < own <= median + 1000, f"{key} of stage {stage} is {own}, the range is {median}")
        waited += own < 0.95 * median
    common.demand(len(series) == 2 * len(said["forward_ns"]), f"the costs have other stages: {said}")
    common.demand(waited > 0, "no op waited")
    return costs


def compare(program, folder, plain, costs, ranks):
    """The prediction from the imported costs next to the recorded step, both as timelines."""
    predicted = f"{folder}/predicted.json"
    common.must(program, "simulate", plain, "--costs-file", costs, "--executor", "torch",
                "--trace", f"chrome={predicted}")
    both = [timeline_of(f"{folder}/{name}.json") for name in ("predicted", "measured")]
    names = [sorted((op["pid"], op["name"]) for op in ops) for ops in both]
    common.demand(names[0] == names[1], "prediction and recording have other ops")
    spans = [max(op["ts"] + op["dur"] for op in ops) / 1000 for ops in both]
    print(f"{ranks} ranks: predicted {spans[0]:.3f} ms, recorded {spans[1]:.3f} ms")
    status, words = common.ppsim(program, "compare", "--help")
    if status == 0:
        status, words = common.ppsim(program, "compare", predicted, f"{folder}/measured.json")
        common.demand(status in (0, 1), f"ppsim compare: exit {status}: {words}")


def main(arguments):
    program = arguments[0]
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    execution.run_case = run_recorded
    for ranks in (2, 4):
        with tempfile.TemporaryDirectory() as folder:
            schedule = ["--schedule", "1f1b", "--pp", ranks, "--microbatches", 8]
            plain, _, rows, home, _ = execution.emit(program, folder, "recorded", schedule)
            case = execution.make_case(f"recorded-{ranks}", plain, rows, home, 8)
            execution.launch(ranks, [{**case, "folder": folder}], folder)
            paths = check(program, folder, plain, ranks)
            compare(program, folder, plain, check_import(program, folder, paths), ranks)
            print(f"ok     {ranks} ranks: order, durations, import, timeline")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
