"""Budgets of all searches, whatever the options: a time is kept, and more iterations give nothing worse.

Jobs, options and budgets are drawn for plan, plan --instance and pack: splits of GPUs, lengths and packings,
free orders and executors, alone and together. On one thread the processor time, which other work on the machine
hardly changes, exceeds a time by at most a tenth or 0.2 s, times what this core and this build are slower; what
exceeds it is repeated before it is called wrong. With PPSIM_TEST_LONG unset the jobs are small and five times as
much is allowed, so that only a budget that is ignored fails. With at least 1 s the answer is not "undecided" (7)
where the plain pipeline of one iteration fits and takes less than half of it, or of the processor time that the
machine gave to the command. With iterations an answer does not turn undecided with more, and neither the fastest
step (--fastest) nor the order of an instance is longer than with a tenth of them.
"""

import atexit
import glob
import json
import math
import os
import resource

from harness import Wrong, main

LONG = bool(os.environ.get("PPSIM_TEST_LONG"))
SLACK = 1 if LONG else 5
TRIES = 3
MEASURABLE = 0.001  # of what differs by less, such as steps under two executors, any may be taken
# The processor time of reference() on one core of 2024; sanitizers and slower cores take longer.
REFERENCE_S = 0.17
BUDGETS = [0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2]
JOBS = [("gpt1.7b", 4, 16), ("llama3-8b", 4, 32), ("gpt22b", 8, 64), ("llama3-70b", 8, 64), ("mixtral-8x7b", 4, 64),
        ("gpt175b", 16, 256), ("deepseek-v3", 16, 2048), ("llama3-405b", 16, 1024), ("gpt1t", 32, 3072)]
INSTANCES = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/instances/*.json")))
SMALL = {"gpt1.7b", "llama3-8b", "gpt22b"}


class Known:
    slower = None  # how much slower than an ordinary core this one is, or the build
    worst = (0, "")  # the largest part of what is allowed


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(ppsim, arguments):
    before = cpu_s()
    status, out, err = ppsim(*arguments)
    return cpu_s() - before, status, out, err


def reference(ppsim):
    costs = ["--costs", "F=1ms,B=2ms", "--pp", "16", "--microbatches", "12288", "--executor", "torch", "-o", "reference.json"]
    return max(1, timed(ppsim, ["simulate", "--schedule", "1f1b", *costs])[0] / REFERENCE_S)


def draw(rng, ppsim):
    """Arguments without a budget."""
    if rng.random() < 0.15:
        return ["plan", "--instance", rng.choice(INSTANCES), "--threads", "1"]
    model, pp, gpus = rng.choice(JOBS if LONG else JOBS[:3])
    arguments = ["--model", model]
    lengths = rng.random() < 0.3
    packs = lengths and rng.random() < 0.5
    splits = not packs and rng.random() < 0.35
    if splits:
        arguments += ["--gpus", str(gpus)]
    else:
        arguments += ["--pp", str(pp)]
        if rng.random() < 0.5:
            arguments += ["--tp", rng.choice(["1", "2", "4", "8"])]
        if rng.random() < 0.3:
            arguments += ["--dp", rng.choice(["2", "8"])]
    if lengths:
        count = rng.choice([64, 512, 4096, 32768] if LONG else [64, 512])
        ppsim.write("lengths.txt", "\n".join(str(rng.randrange(1, 2048)) for _ in range(count)))
        arguments += ["--seq-length", "2048"] + ([] if packs else ["--lengths", "lengths.txt"])
        if not packs and rng.random() < 0.3:
            arguments += ["--packing", rng.choice(["auto", "first-fit", "equal", "ramped"])]
    elif rng.random() < 0.4:
        arguments += ["--global-batch-size", str(gpus * rng.choice([1, 4, 32]))]
    if rng.random() < 0.2:
        arguments += ["--memory-limit", rng.choice(["10GiB", "40GiB", "60GiB"])]
    if packs:
        return ["pack", "lengths.txt", *arguments, "--packing", rng.choice(["auto", "equal", "given"])]
    more = rng.choice([[], [], ["--target", "torchtitan"], ["--target", "megatron"], ["--executor", "auto"],
                       ["--explain"], ["--pareto"], ["--why"], ["--jitter", "compute=0.03"],
                       ["--jitter", "slow-rank=any:1.1,scenarios=5000", "--rank-by", "p95"]])
    if (splits and more[:1] in (["--explain"], ["--pareto"])) or (lengths and more[:1] == ["--pareto"]):
        more = []
    if more[:1] != ["--pareto"] and rng.random() < 0.25:
        named = ["1f1b", "interleaved", "zbv"] if not lengths else []
        more = [*more, "--schedule", rng.choice([*named, "planned"])]
    return ["plan", *arguments, *more, "--threads", "1"]


def length_of(arguments, out):
    """What is to be short: the makespan of an instance, or the step times the GPUs."""
    found = json.loads(out)
    if "--instance" in arguments:
        return found["makespan"]
    degrees = found["parallel"]
    return found["prediction"]["step_ns"] * math.prod(degrees[name] for name in ("pp", "tp", "cp", "dp"))


def keeps_time(rng, ppsim, arguments):
    budget = rng.choice(BUDGETS)
    command = [*arguments, "--budget", f"{1000 * budget:g}ms"]
    most = (budget + SLACK * max(0.2, 0.1 * budget)) * Known.slower
    for _ in range(TRIES):
        took, status, _, err = timed(ppsim, command)
        if took <= most:
            break
    else:
        raise Wrong(f"{took:.2f} s of processor time, not {most:.2f}: ppsim {' '.join(command)}\n{err}")
    Known.worst = max(Known.worst, (took / most, " ".join(command)))
    if status == 7 and budget >= 1 and Known.slower < 2 and arguments[0] == "plan":
        had = min(budget, took)  # on a busy machine a process gets less processor time than its budget
        try:
            took, plain, _, _ = timed(ppsim, [*arguments, "--budget", "1it"])
        except Wrong:  # longer than any of the budgets
            took = budget
        if took < had / 2 and plain == 0:
            raise Wrong(f"undecided, but a plain pipeline fits: ppsim {' '.join(command)}\n{err}")
    return f"time, status {status}"


def few_iterations(ppsim, arguments):
    """How many iterations are tried, and ten times as many, in a time that is no hang: with 32,768 lengths one
    takes 0.1 s, with splits of the GPUs 0.5 s, and under sanitizers three times as much."""
    lengths = os.path.join(ppsim.folder, "lengths.txt")
    if not os.path.exists(lengths) or os.path.getsize(lengths) < 5 * 4096:
        return [1, 3, 10, 50]
    return [1] if "--gpus" in arguments else [1, 3]


def gets_no_worse(rng, ppsim, arguments):
    few = rng.choice(few_iterations(ppsim, arguments))
    results = []
    fastest = [] if "--instance" in arguments else ["--fastest"]
    for n in (few, 10 * few):
        status, out, err = ppsim(*arguments, *fastest, "--seed", "1", "--json", "--budget", f"{n}it")
        results.append((status, length_of(arguments, out) if status == 0 else err))
    (status, length), (then, better) = results
    if status == 0 and (then or better > length * (1 + MEASURABLE)):
        raise Wrong(f"{few}it: {length}, {10 * few}it: status {then}, {better}: ppsim {' '.join(arguments)}")
    return f"iterations, status {then}"


def attack(rng, ppsim):
    if not Known.slower:
        Known.slower = reference(ppsim)
    arguments = draw(rng, ppsim)
    given = set(arguments)
    small = SMALL & given and not {"--explain", "--pareto", "--jitter"} & given
    if (small and arguments[0] == "plan" or "--instance" in given) and rng.random() < 0.3:
        return gets_no_worse(rng, ppsim, arguments)
    return keeps_time(rng, ppsim, arguments)


if __name__ == "__main__":
    atexit.register(lambda: print(f"the most of what is allowed: {100 * Known.worst[0]:.0f} %, {Known.worst[1]}"))
    main(attack, __doc__.splitlines()[0])
