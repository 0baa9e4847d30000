#!/usr/bin/env python3
"""What a whole process of ppsim costs beside others that run the same step, 1F1B, in the same run.

    peers.py PPSIM [--sizes 32x1024,64x4096] [--runs 5] [--skip NAME,...]

- bare: a process that knows this one schedule and does nothing else (peers/bare.c);
- simgrid: SimGrid's S4U (peers/simgrid.cpp; Debian's libsimgrid-dev, installed if this is root's shell);
- pytorch: PyTorch's own simulator of schedules, unit steps (build/torch-env, tools/dev/torch-env);
- simumax: SimuMax's table of 1F1B without transfers (cloned from GitHub into build/peers, or --simumax FOLDER).

Rows are processor seconds of processes from start to end, the least of the runs, which take turns; for the
two in Python, import and start are not counted, since their users would not pay them for every step. Makespans
must agree, to the nanosecond where a program has transfers; else the row is marked. What cannot be had is
named and left out.
"""

import argparse
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(ROOT, "build", "peers")
FORWARD, BACKWARD, TRANSFER = 10_100_000, 20_300_000, 700_000
SIMGRID = ["--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0",
           "--log=root.thresh:error"]

PYTORCH = """
import sys, time
from torch.distributed.pipelining import schedules as s
p, m = int(sys.argv[1]), int(sys.argv[2])
def rank_ops(r):
    warm = min(p - 1 - r, m)
    ops = []
    for k in range(m + warm):
        if k < m:
            ops.append(s._Action(r, s._ComputationType.FORWARD, k))
        if k >= warm:
            ops.append(s._Action(r, s._ComputationType.FULL_BACKWARD, k - warm))
    return ops
begin = time.process_time()
order = s._add_send_recv({r: rank_ops(r) for r in range(p)}, lambda stage: stage, p)
s._simulate_comms_compute(order, lambda stage: stage, p)
print("steps", time.process_time() - begin)
"""

SIMUMAX = """
import sys, time
from simumax.core.perf_llm import PerfLLM
p, m, f, b = map(int, sys.argv[1:5])
begin = time.process_time()
end = PerfLLM.calculate_1f1b_bubble(None, p, m, [f] * p, [b] * p)
print(int(end[0] if isinstance(end, tuple) else end), time.process_time() - begin)
"""


def build(name, compiler, *libraries):
    suffix = "cpp" if compiler == "c++" else "c"
    target = os.path.join(FOLDER, name)
    done = subprocess.run([compiler, "-O2", "-o", target, os.path.join(HERE, "peers", f"{name}.{suffix}"),
                           *libraries], capture_output=True, text=True)
    return target if done.returncode == 0 else None


def simgrid():
    program = build("simgrid", "c++", "-std=c++17", "-lsimgrid")
    if program is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-q", "libsimgrid-dev"], capture_output=True)
        program = build("simgrid", "c++", "-std=c++17", "-lsimgrid")
    return program


def torch_python():
    python = os.path.join(ROOT, "build", "torch-env", "bin", "python")
    if not os.path.exists(python):
        subprocess.run([os.path.join(ROOT, "tools", "dev", "torch-env")], stdout=subprocess.DEVNULL)
    return python if os.path.exists(python) else None


def simumax(folder):
    """(python, its path), or None."""
    python = torch_python()
    if folder is None:
        folder = os.path.join(FOLDER, "SimuMax")
        if not os.path.exists(folder):
            subprocess.run(["git", "clone", "-q", "--depth", "1", "https://github.com/MooreThreads/SimuMax",
                            folder], capture_output=True)
    if not python or not os.path.exists(os.path.join(folder, "simumax")):
        return None
    packages = os.path.join(FOLDER, "python")
    if not os.path.exists(packages):
        subprocess.run([python, "-m", "pip", "install", "-q", "--target", packages, "pandas", "pydantic",
                        "matplotlib", "tqdm", "pyyaml"], capture_output=True)
    return python, os.pathsep.join((folder, packages))


def run_of(arguments, env=None):
    """(processor seconds of the process, what it printed)"""
    with open(os.path.join(FOLDER, "output"), "w+") as out:
        process = subprocess.Popen(arguments, stdout=out, stderr=subprocess.DEVNULL, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"peers: exit status {process.returncode}: {' '.join(arguments)[:200]}")
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, out.read()


def rows_of(arguments):
    """Names and functions (p, m) -> (seconds, makespan or None)."""
    skipped = arguments.skip.split(",")
    costs = f"F={FORWARD}ns,B={BACKWARD}ns,comm={TRANSFER}ns"
    free = f"F={FORWARD}ns,B={BACKWARD}ns,comm=0"
    times = [str(FORWARD), str(BACKWARD), str(TRANSFER)]

    def ppsim(given):
        def run(p, m):
            seconds, text = run_of([arguments.ppsim, "simulate", "--schedule", "1f1b", "--pp", str(p),
                                   "--microbatches", str(m), "--costs", given, "--json"])
            return seconds, int(text.split('"makespan_ns":')[1].split(",")[0])
        return run

    def program(path, *options):
        def run(p, m):
            seconds, text = run_of([path, str(p), str(m), *times, *options])
            return seconds, int(text)
        return run

    rows = [("ppsim", ppsim(costs)), ("ppsim, no transfers", ppsim(free)),
            ("bare", program(build("bare", "cc")))]
    if "simgrid" not in skipped:
        path = simgrid()
        rows.append(("simgrid", program(path, *SIMGRID) if path else None))
    if "pytorch" not in skipped:
        python = torch_python()

        def pytorch(p, m):
            return float(run_of([python, "-c", PYTORCH, str(p), str(m)])[1].split()[1]), None

        rows.append(("pytorch", pytorch if python else None))
    if "simumax" not in skipped:
        found = simumax(arguments.simumax)

        def table(p, m):
            words = run_of([found[0], "-c", SIMUMAX, str(p), str(m), *times[:2]],
                           dict(os.environ, PYTHONPATH=found[1]))[1].split()
            return float(words[-1]), int(words[-2])

        rows.append(("simumax, no transfers", table if found else None))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ppsim")
    parser.add_argument("--sizes", default="32x1024,64x4096")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--skip", default="")
    parser.add_argument("--simumax")
    arguments = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    rows = rows_of(arguments)
    for size in arguments.sizes.split(","):
        p, m = map(int, size.split("x"))
        best, makespan = {}, {}
        for k in range(arguments.runs):
            for name, run in rows:
                if run is None or (k > 1 and best[name] > 2):
                    continue
                seconds, end = run(p, m)
                best[name] = min(seconds, best.get(name, seconds))
                makespan[name] = end
        print(f"{size}, {2 * p * m} ops: processor seconds, and that of ppsim as 1")
        for name, run in rows:
            if run is None:
                print(f"  {name:24} cannot be had here")
                continue
            own = "ppsim, no transfers" if name.endswith("no transfers") else "ppsim"
            wrong = makespan[name] is not None and makespan[name] != makespan[own]
            print(f"  {name:24} {best[name]:9.4f} {best[name] / best[own]:9.3f}"
                  f"{' another makespan: ' + str(makespan[name]) if wrong else ''}")


if __name__ == "__main__":
    main()
