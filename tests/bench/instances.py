#!/usr/bin/env python3
"""Draws ordering problems (ppsim.instance) of several kinds, and compares what programs make of them.

    instances.py draw FOLDER [--kinds A,B] [--count N] [--seed N]
    instances.py compare FOLDER BEFORE AFTER [--budget 5s] [--only TEXT]
    instances.py oracle FOLDER PPSIM [--seconds 10] [--budget 5s] [--only TEXT]

draw writes FOLDER/KIND_SEED.json; the same seed makes the same file on every machine. compare runs two
programs one after the other on every file and prints makespans, bounds and the geometric mean, for each kind,
of (gap after + 0.01 %) / (gap before + 0.01 %); a gap is makespan / bound - 1. oracle asks OR-tools' CP-SAT
for the same problems (pip install ortools) and ends with status 1 if a bound exceeds an optimum or if CP-SAT
proves what PPSIM does not.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys

Q20 = 1 << 20


class Drawn:
    """Random numbers that are the same in every version of Python."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def between(self, low, high):
        return low + (high - low) * self.rng.random()

    def whole(self, low, high):
        """Whole numbers from low to high, logarithmically uniform."""
        return min(high, int(math.exp(self.between(math.log(low), math.log(high + 1)))))

    def one(self, choices):
        return choices[int(self.rng.random() * len(choices))]


KINDS = {  # what a kind fixes; the rest is drawn freely
    "small": {"p": (2, 4), "m": (3, 8)},
    "proof": {"p": (4, 4), "m": (8, 8), "v": 1, "lengths": "lognormal", "memory": (1.2, 2.5)},
    "tight": {"p": (2, 16), "memory": (1.05, 2.0)},
    "placements": {"p": (2, 16), "v": 2},
    "transfers": {"p": (2, 16), "lag": (0.2, 1.5)},
    "lengths": {"p": (2, 16), "lengths": "lognormal", "memory": (3, 12)},
    "equal": {"p": (2, 16), "lengths": "equal"},
    "large": {"p": (17, 64)},
}


def draw_lengths(d, kind, m):
    if kind == "equal":
        return [4096] * m
    if kind == "two":
        return [d.one((2048, 8192)) for _ in range(m)]
    spread = d.between(0.2, 0.8)
    pairs = [math.sqrt(-2 * math.log(1 - d.rng.random())) * math.cos(2 * math.pi * d.rng.random())
             for _ in range(m)]
    return [max(128, min(32768, int(4096 * math.exp(spread * x)))) for x in pairs]


def draw(kind, seed):
    fixed = KINDS[kind]
    d = Drawn(f"{kind} {seed}")
    p = d.whole(*fixed["p"])
    m = d.whole(*fixed["m"]) if "m" in fixed else d.whole(max(2, p // 2), 4 * p)
    v = fixed.get("v") or d.one((1, 1, 1, 2))
    placement = d.one(("loop", "V")) if v == 2 else "loop"
    rank_of = list(range(p)) + (list(range(p)) if placement == "loop" else list(reversed(range(p)))) * (v - 1)
    lengths = fixed.get("lengths") or d.one(("equal", "two", "lognormal"))
    tokens = draw_lengths(d, lengths, m)
    low, high = fixed.get("memory") or d.one(((1.05, 2), (2, 4), (4, 12), (100, 200)))
    lag = d.between(*fixed.get("lag") or d.one(((0, 0), (0.02, 0.2), (0.2, 1.0))))
    spread = d.one((0, 0.1, 0.3))
    attention = d.one((0, 0.5, 2))  # of a long sequence's time, relative to the rest
    stages = []
    for _ in range(p * v):
        base = int(Q20 * d.between(1 - spread, 1 + spread) / v)
        act = int(1000 * d.between(1 - spread, 1 + spread) / v)
        back = d.between(1.0, 1.4)
        weights = d.one((0.0, 0.6, 1.0))
        square = int(base * attention / 16384)
        stages.append({
            "f": [0, base, square], "b": [0, int(base * back), 2 * square], "w": [0, int(base * weights), 0],
            "act": [0, act], "whold": [0, int(act * d.between(0.3, 1.0)) if weights else 0],
            "transient": [int(act * 0.02), int(act * 0.1), 0]})
    longest = max(tokens)
    alone = [sum(stages[s]["act"][1] + stages[s]["transient"][1] for s in range(p * v) if rank_of[s] == r)
             * longest for r in range(p)]
    room = d.between(low, high)
    return {"name": f"{kind}_{seed}", "p": p, "v": v, "m": m, "placement": placement, "rank_of": rank_of,
            "stages": stages, "microbatches": {"tokens": tokens, "sumsq": [t * t // 4 for t in tokens]},
            "link": {"lat": 0, "per_token_q20": int(Q20 * lag)}, "cap": [int(a * room) for a in alone],
            "seed": seed}


def draw_all(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    for kind in arguments.kinds.split(",") if arguments.kinds else KINDS:
        for seed in range(arguments.seed, arguments.seed + (20 if kind == "proof" else arguments.count)):
            with open(os.path.join(arguments.folder, f"{kind}_{seed}.json"), "w") as file:
                json.dump(draw(kind, seed), file)


def files_of(arguments):
    names = sorted(n for n in os.listdir(arguments.folder) if n.endswith(".json") and arguments.only in n)
    return [os.path.join(arguments.folder, n) for n in names]


def solve(program, path, budget):
    done = subprocess.run([program, "plan", "--instance", path, "--budget", budget, "--json"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"instances: {path}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def compare(arguments):
    logs = {}
    print(f"{'instance':24} {'before':>12} {'bound':>12} {'gap %':>7} {'after':>12} {'bound':>12} {'gap %':>7}")
    for path in files_of(arguments):
        name = os.path.basename(path)[:-5]
        before, after = (solve(program, path, arguments.budget) for program in (arguments.before, arguments.after))
        ratio = (after["gap"] + 1e-4) / (before["gap"] + 1e-4)
        shorter = after["makespan"] / before["makespan"] - 1
        print(f"{name:24} {before['makespan']:12} {before['lower_bound']:12} {100 * before['gap']:7.3f} "
              f"{after['makespan']:12} {after['lower_bound']:12} {100 * after['gap']:7.3f} {100 * shorter:+7.3f}",
              flush=True)
        kind = name.split("_")[0] if name.split("_")[0] in KINDS else "public"
        logs.setdefault(kind, []).append((math.log(ratio), shorter))
    for kind, values in logs.items():
        mean = math.exp(sum(v for v, _ in values) / len(values))
        print(f"{kind:24} {len(values):3} instances: gap after / before {mean:.3f}, makespan after / before - 1: "
              f"mean {100 * sum(s for _, s in values) / len(values):+.3f} %, most {100 * max(s for _, s in values):+.3f} %")


def cp_sat(problem, seconds):
    """(makespan, bound) of CP-SAT."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    p, m, stages = problem["p"], problem["m"], problem["stages"]
    tokens, squares = problem["microbatches"]["tokens"], problem["microbatches"]["sumsq"]

    def amount(c, i):
        terms = list(c) + [0, 0]
        return (terms[0] * Q20 + terms[1] * tokens[i] + terms[2] * squares[i] + Q20 // 2) >> 20

    def bytes_of(c, i):
        terms = list(c) + [0, 0]
        return terms[0] + terms[1] * tokens[i]

    count = len(stages)
    ticks = {(k, s, i): amount(stages[s][k], i) for k in "fbw" for s in range(count) for i in range(m)}
    horizon = sum(ticks.values()) + 2 * count * m * (1 + max(problem["link"]["per_token_q20"] * t >> 20 for t in tokens))
    start = {key: model.NewIntVar(0, horizon, "") for key in ticks}
    end = model.NewIntVar(0, horizon, "")
    lag = [problem["link"]["lat"] + ((problem["link"]["per_token_q20"] * t + Q20 // 2) >> 20) for t in tokens]
    spans = {r: [] for r in range(p)}
    for key, duration in ticks.items():
        spans[problem["rank_of"][key[1]]].append(
            (key, model.NewIntervalVar(start[key], duration, start[key] + duration, "")))
        model.Add(start[key] + duration <= end)
    for i in range(m):
        for s in range(count):
            if s + 1 < count:
                wait = lag[i] if problem["rank_of"][s] != problem["rank_of"][s + 1] else 0
                model.Add(start["f", s + 1, i] >= start["f", s, i] + ticks["f", s, i] + wait)
                model.Add(start["b", s, i] >= start["b", s + 1, i] + ticks["b", s + 1, i] + wait)
            model.Add(start["b", s, i] >= start["f", s, i] + ticks["f", s, i])
            model.Add(start["w", s, i] >= start["b", s, i] + ticks["b", s, i])
    for r in range(p):
        model.AddNoOverlap([span for _, span in spans[r]])
        intervals, demands = [], []
        for (k, s, i), span in spans[r]:
            act, hold = bytes_of(stages[s]["act"], i), bytes_of(stages[s]["whold"], i)
            transient = stages[s]["transient"]["fbw".index(k)] * tokens[i]
            if transient:
                intervals.append(span)
                demands.append(transient)
            if k == "f":  # what is given back after B, and what after W
                for last, size in (("b", act - hold), ("w", hold)):
                    if size:
                        length = model.NewIntVar(0, horizon, "")
                        until = start[last, s, i] + ticks[last, s, i]
                        intervals.append(model.NewIntervalVar(start[k, s, i], length, until, ""))
                        demands.append(size)
        model.AddCumulative(intervals, demands, problem["cap"][r])
    model.Minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.Solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, int(solver.BestObjectiveBound())
    return int(solver.ObjectiveValue()), int(math.ceil(solver.BestObjectiveBound() - 1e-6))


def oracle(arguments):
    wrong = proved = ours = 0
    for path in files_of(arguments):
        with open(path) as file:
            problem = json.load(file)
        best, bound = cp_sat(problem, arguments.seconds)
        answer = solve(arguments.ppsim, path, arguments.budget)
        here = answer["makespan"] <= answer["lower_bound"]
        there = best is not None and best == bound
        proved += there
        ours += here
        says = ""
        if (best is not None and answer["lower_bound"] > best) or answer["makespan"] < bound:
            says, wrong = "WRONG", wrong + 1
        elif there and not here:
            says, wrong = "not proved here", wrong + 1
        print(f"{problem['name']:24} CP-SAT {best} {'optimal' if there else f'>= {bound}'}; here "
              f"{answer['makespan']} {'optimal' if here else '>= ' + str(answer['lower_bound'])} {says}", flush=True)
    print(f"CP-SAT proved {proved}, here {ours}")
    sys.exit(1 if wrong else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    sub = commands.add_parser("draw")
    sub.add_argument("folder")
    sub.add_argument("--kinds")
    sub.add_argument("--count", type=int, default=8)
    sub.add_argument("--seed", type=int, default=1)
    sub.set_defaults(run=draw_all)
    sub = commands.add_parser("compare")
    sub.add_argument("folder")
    sub.add_argument("before")
    sub.add_argument("after")
    sub.set_defaults(run=compare)
    sub2 = commands.add_parser("oracle")
    sub2.add_argument("folder")
    sub2.add_argument("ppsim")
    sub2.add_argument("--seconds", type=float, default=10)
    sub2.set_defaults(run=oracle)
    for each in (sub, sub2):
        each.add_argument("--budget", default="5s")
        each.add_argument("--only", default="")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
