#!/usr/bin/env python3
"""What the whole command costs, and how that grows with the size of its input.

    growth.py PPSIM [--quick]

For every row: processor time and peak memory of the process, of sizes that grow by a factor, and the exponent over
all sizes of at least 50 ms (1: linear), for all of the time, and in brackets without the kernel, whose share is to
clear pages. A time is the least of some runs (in brackets their mean); the sizes of a row take turns, so that what else
the machine does meets all of them. --quick leaves out what takes more than some seconds.
"""

import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

COSTS = ["--costs", "F=10.1ms,B=20.3ms,comm=0.7ms"]
RUNS = 15
ROW_S = 20  # a row of runs is not begun after this time
LEAST_S = 0.05


def cost(arguments):
    """Processor seconds, those outside the kernel, and MiB."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: no plan fits, after the same work
        sys.exit(f"growth: exit status {process.returncode}: {' '.join(arguments)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_utime, usage.ru_maxrss / 1024


def least_costs(commands):
    """For each command the least of its runs; outside the kernel, which is known in ticks only, their mean."""
    begin = time.monotonic()
    runs = [[cost(command) for command in commands]]
    while len(runs) < RUNS and time.monotonic() - begin < ROW_S:
        runs.append([cost(command) for command in commands])
    return [(min(all_of_it), statistics.fmean(outside), min(mib))
            for all_of_it, outside, mib in (zip(*each) for each in zip(*runs))]


def simulate(ranks, microbatches, *more):
    return ["simulate", "--schedule", "1f1b", "--pp", str(ranks), "--microbatches", str(microbatches), *COSTS,
            *more, "--json"]


def plan(microbatches, *more):
    return ["plan", "--model", "gpt175b", "--pp", "16", "--tp", "8", "--micro-batch-size", "1", "--global-batch-size",
            str(microbatches), "--threads", "1", *more]


def lengths(folder, count):
    path = os.path.join(folder, str(count))
    if not os.path.exists(path):
        rng = random.Random(1)
        with open(path, "w") as file:
            for _ in range(count):
                file.write(f"{int(min(8192, max(16, rng.lognormvariate(6, 1.2))))}\n")
    return path


def rows(folder):
    """A name, sizes, the arguments for a size, and whether it takes long."""
    jobs = "--model", "llama3-8b", "--pp", "4", "--tp", "2"
    yield "simulate, microbatches of 16 ranks", [2**16, 2**17, 2**18, 2**19], lambda n: simulate(16, n), False
    yield "simulate --bound, the same", [2**16, 2**17, 2**18, 2**19], lambda n: simulate(16, n, "--bound"), False
    yield "simulate, ranks with 1 microbatch", [2**12, 2**14, 65535], lambda n: simulate(n, 1), False
    yield ("simulate --executor torch, ranks", [2**12, 2**14, 65535], lambda n: simulate(n, 1, "--executor", "torch"),
           False)
    yield "simulate --executor torch", [2**12, 2**14, 2**16], lambda n: simulate(16, n, "--executor", "torch"), False
    yield "plan, 1f1b", [2**13, 2**14, 2**15], lambda n: plan(n, "--schedule", "1f1b"), False
    yield "plan, zbv", [2**12, 2**13, 2**14, 2**15], lambda n: plan(n, "--schedule", "zbv"), False
    yield "plan, all", [2**9, 2**11, 2**13], plan, True
    yield ("plan --lengths", [12500, 50000, 200000],
           lambda n: ["plan", *jobs, "--schedule", "1f1b", "--threads", "1", "--lengths", lengths(folder, n)], True)
    yield "pack", [12500, 50000], lambda n: ["pack", lengths(folder, n), *jobs, "--budget", "10it"], True


def exponent(costs, sizes, which):
    """The slope of the line through all sizes, by least squares of logarithms."""
    x = [math.log(size) for size in sizes]
    y = [math.log(costs[size][which]) for size in sizes]
    return statistics.linear_regression(x, y).slope


def main():
    ppsim = sys.argv[1]
    print("whole command with --json, 1f1b, without communication: s of a processor, MiB, ns per op")
    for ranks, microbatches in [(32, 1024), (64, 4096), (256, 16384)]:
        seconds, _, mib = least_costs([[ppsim, *simulate(ranks, microbatches)]])[0]
        ops = 2 * ranks * microbatches
        print(f"{ranks}x{microbatches:<8} {seconds:8.3f} {mib:8.0f} {seconds / ops * 1e9:8.0f}")
    print("\ngrowth: size, s of a processor (MiB), and the exponent over the sizes of at least 50 ms")
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes, arguments, long in rows(folder):
            if long and "--quick" in sys.argv:
                continue
            costs = dict(zip(sizes, least_costs([[ppsim, *arguments(size)] for size in sizes])))
            text = "".join(f"  {size}: {seconds:.2f} ({mib:.0f})" for size, (seconds, _, mib) in costs.items())
            measured = [size for size in sizes if costs[size][0] >= LEAST_S]
            if len(measured) > 1:
                text += "  ^%.2f (^%.2f)" % tuple(exponent(costs, measured, k) for k in (0, 1))
            print(f"{name:<34}{text}", flush=True)


if __name__ == "__main__":
    main()
