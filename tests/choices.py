#!/usr/bin/env python3
"""Are the plans that ppsim chooses what their runtime does, the fastest, and robust?

    choices.py PPSIM [--old PPSIM] [--job NAME]... [--target NAME]... [--sample N] [--seed N]
               [--results FILE] [--markdown FILE]

For each of 12 jobs and each target:
  same      the emitted plan, simulated with its executor, has the step that was printed, and fits
  fastest   --fastest against the best of N plans with everything fixed (degrees, micro-batch size,
            schedule, vpp, recomputation) that fit, drawn with the seed from all that break no rule;
            N = 0: all of them, one by one; positive: --fastest is slower
  all       --fastest against the best of all such plans. Its search bounds every split of the GPUs; a
            split whose bound is below its step is searched again alone, which lists all candidates:
            those that it simulated have a step, the others a lower bound of it. A bound at or above
            the step of --fastest proves that a plan is not faster. Plans with neither are counted
  headroom  the recommended plan against the best of those with 10 % of the memory free
and for target ppsim, against the recommended plan of --old (before 0.3 its executor was ideal), both
under executor ppsim, the ratio new / old of the step
  memory    with 5 % less memory. A plan that does not fit is replaced by the best that a user finds
            in a minute: the same degrees and micro-batch size, 1F1B (interleaved with its vpp on a
            loop), full recomputation
  jitter    p95 with 3 % jitter of ops and one rank 5 % slow
  costs     mean of 4 draws in which each rank is off by a normal 8 %

Two processes run. Results go to FILE, a line of JSON each, and a run goes on where the last one
ended. A target that cannot run a job is listed with the reason of the program. Exit status 1 if a
demand is missed: not the same step, --fastest slower by over 0.1 %, or recommended by over 1 %."""
import argparse
import concurrent.futures
import csv
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

QWEN = {
    "model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
    "num_attention_heads": 40, "num_key_value_heads": 8, "vocab_size": 152064,
    "max_position_embeddings": 32768, "tie_word_embeddings": False, "rms_norm_eps": 1e-6,
}
# name: model, GPUs, hardware, sequence length, sequences or a file of lengths, layers
JOBS = {
    "8b-8": ("llama3-8b", 8, "h100-80g", 4096, 64, 32),
    "8b-16": ("llama3-8b", 16, "h100-80g", 8192, 64, 32),
    "7b-32-lengths": ("llama2-7b", 32, "a100-80g", 4096, "ragged", 32),
    "8b-64-lengths": ("llama3-8b", 64, "h100-80g", 8192, "long", 32),
    "mixtral-64": ("mixtral-8x7b", 64, "h100-80g", 4096, 256, 32),
    "70b-64": ("llama3-70b", 64, "h100-80g", 8192, 256, 80),
    "70b-256": ("llama3-70b", 256, "h200-141g", 8192, 512, 80),
    "qwen32b-128": ("qwen.json", 128, "h100-80g", 4096, 512, 64),
    "175b-1024": ("gpt175b", 1024, "a100-80g", 2048, 1536, 96),
    "405b-512": ("llama3-405b", 512, "h100-80g", 8192, 512, 126),
    "405b-8192": ("llama3-405b", 8192, "h100-80g", 8192, 2048, 126),
    "v3-2048": ("deepseek-v3", 2048, "h100-80g", 4096, 15360, 61),
}
EXPERTS = {"mixtral-64": 8, "v3-2048": 256}
DEGREES = ("pp", "tp", "cp", "dp", "ep")
TARGETS = ("ppsim", "megatron", "torchtitan")
ONE_CHUNK = ("1f1b", "eager-1f1b", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "gpipe")
TWO_CHUNKS = ("zbv", "zbv-auto", "v-half", "v-min", "1f1b-v", "dualpipev")
MANY_CHUNKS = ("interleaved", "interleaved-zb", "looped-bfs")
TIMEOUT_S = 300


def run(command, folder):
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer in {TIMEOUT_S} s"
    return done.returncode, done.stdout, done.stderr


def prepare(folder):
    """The files that jobs name. Lengths: seeded draws, cut at the sequence length."""
    with open(os.path.join(folder, "qwen.json"), "w") as file:
        json.dump(QWEN, file)
    for name, most, count, sigma in (("ragged", 4096, 512, 1.0), ("long", 8192, 512, 1.2)):
        draw = random.Random(name)
        with open(os.path.join(folder, name), "w") as file:
            for _ in range(count):
                file.write(f"{max(16, min(most, int(draw.lognormvariate(6.5, sigma))))}\n")


def job_options(name):
    model, _, hardware, length, data, _ = JOBS[name]
    batch = ["--lengths", data] if isinstance(data, str) else ["--global-batch-size", str(data)]
    return ["--model", model, "--hw", hardware, "--seq-length", str(length)] + batch


def reason(errors):
    lines = [line for line in errors.splitlines() if line.startswith("ppsim: ")]
    return lines[-1][7:] if lines else errors.strip()[-200:]


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def plan(ppsim, folder, options, name):
    """The plan, or None and the reason."""
    path = os.path.join(folder, name)
    if os.path.exists(path):
        os.remove(path)
    status, _, errors = run([ppsim, "plan"] + options + ["--emit", f"plan={name}", "-o", "/dev/null"],
                            folder)
    return (read(folder, name), errors) if status == 0 else (None, f"{status}: {reason(errors)}")


def simulate(ppsim, folder, name, options):
    """The report. Exit status 1 (over the limit) leaves none."""
    out = name + ".report"
    status, _, errors = run([ppsim, "simulate", name] + options + ["--json", "-o", out], folder)
    return (read(folder, out), "") if status == 0 else (None, f"{status}: {reason(errors)}")


def all_fixed(job, target):
    """Every plan with everything fixed whose numbers go together, as options."""
    _, gpus, _, length, data, layers = JOBS[job]
    powers = [1 << k for k in range(14)]
    chunks = {name: (1,) for name in ONE_CHUNK} | {name: (2,) for name in TWO_CHUNKS}
    chunks |= {name: range(2, 9) for name in MANY_CHUNKS}
    if target == "megatron":
        chunks = {name: chunks[name] for name in ("1f1b", "interleaved")}
    experts = EXPERTS.get(job, 1)
    for pp, tp, cp, ep in itertools.product(range(1, layers // 2 + 1), (1, 2, 4, 8), powers, powers):
        dp = gpus // (pp * tp * cp)
        if (gpus % (pp * tp * cp) or (cp > 1 and length < 4096 * cp) or experts % ep or dp * cp % ep):
            continue
        for size, schedule, recompute in itertools.product((1, 2, 4, 8), chunks,
                                                           ("none", "selective", "full")):
            if (pp == 1 and schedule != "1f1b") or (not isinstance(data, str) and data % (dp * size)):
                continue
            for vpp in chunks[schedule]:
                if pp * vpp > layers:
                    continue
                values = {"pp": pp, "tp": tp, "cp": cp, "dp": dp, "micro-batch-size": size,
                          "schedule": schedule, "vpp": vpp, "recompute": recompute}
                values |= {"ep": ep} if experts > 1 else {}
                values |= {"packing": "first-fit"} if isinstance(data, str) else {}
                yield [word for name, value in values.items() for word in (f"--{name}", str(value))]


def sample(ppsim, folder, job, target, wanted, seed):
    """Steps and peaks of `wanted` fixed plans that fit (0: of all), and how many were tried."""
    fixed_plans = list(all_fixed(job, target))
    random.Random(f"{seed} {job} {target}").shuffle(fixed_plans)
    found = []
    tried = 0
    for fixed in fixed_plans:
        if wanted and (len(found) >= wanted or tried >= 6 * wanted):
            break
        tried += 1
        made, errors = plan(ppsim, folder, job_options(job) + fixed + ["--target", target, "--fastest"],
                            f"{job}-{target}-fixed.json")
        if made and "is used as given" not in errors:
            found.append((made["prediction"]["step_ns"], made["prediction"]["peak_memory_bytes"],
                          " ".join(fixed)))
    return found, tried, len(fixed_plans)


def open_splits(folder, name, fastest_ns):
    """The degrees of the splits that --fastest did not bound by its own step, and how many it did."""
    best, closed = {}, {}
    with open(os.path.join(folder, name), newline="") as file:
        for row in csv.DictReader(file):
            degrees = tuple(row[key] for key in DEGREES)
            proven = row["status"] == "infeasible" or (row["status"] == "pruned"
                                                       and int(row["least_step_ns"] or 0) >= fastest_ns)
            (closed if proven else best)[degrees] = None
    return list(best), len([degrees for degrees in closed if degrees not in best])


def with_room(peak_bytes, limit_bytes):
    return peak_bytes <= limit_bytes - limit_bytes / 9.5  # 10 % of the memory, the limit is 95 %


def all_by_bounds(ppsim, folder, job, target, fastest_ns, limit_bytes):
    """What is known of all fixed plans: the best, its step and words; how many were listed, and how many
    splits were bounded; the best of those that were simulated and leave the headroom; and those of
    which neither the step is known nor that it is not below that of --fastest."""
    best, words, count, room, open_ones = None, "", 0, None, []
    name = f"{job}-{target}-all.csv"
    again, bounded = open_splits(folder, f"{job}-{target}-fastest.csv", fastest_ns)
    for degrees in again:
        options = job_options(job) + ["--target", target, "--fastest", "--candidates", name, "-o", "/dev/null"]
        for key, value in zip(DEGREES, degrees):
            options += [f"--{key}", value]
        if isinstance(JOBS[job][4], str):
            options += ["--packing", "first-fit"]
        status, _, errors = run([ppsim, "plan"] + options, folder)
        if status == 1 or "is used as given" in errors:  # nothing of this split fits, or it breaks a rule
            continue
        if status:
            open_ones.append(f"{' '.join(degrees)}: {status}: {reason(errors)}")
            continue
        with open(os.path.join(folder, name), newline="") as file:
            for row in csv.DictReader(file):
                if (row["schedule"] == "planned" or row["partition"] == "shifted"
                        or row["recompute"] not in ("none", "selective", "full") or row["status"] == "infeasible"):
                    continue
                count += 1
                step = int(row["step_ns"] or 0)
                if step and (best is None or step < best):
                    best, words = step, " ".join(row[key] for key in ("schedule", "pp", "vpp", "tp", "cp", "dp", "ep",
                                                                      "micro_batch_size", "recompute"))
                if step and with_room(int(row["peak_memory_bytes"]), limit_bytes):
                    room = min(step, room or step)
                if not step and int(row["least_step_ns"] or 0) < fastest_ns:
                    open_ones.append(" ".join(row[key] for key in ("schedule", "pp", "vpp", "tp", "cp")))
    return {"all_ns": best, "all_best": words, "all": count, "bounded": bounded,
            "all_room_ns": room, "open": len(open_ones), "open_some": open_ones[:3]}


def choices(ppsim, folder, job, target, wanted, seed):
    row = {"job": job, "target": target, "seed": seed}
    options = job_options(job) + ["--gpus", str(JOBS[job][1]), "--target", target]
    taken, why = plan(ppsim, folder, options, f"{job}-{target}.json")
    if not taken:
        return dict(row, reason=why)
    step = taken["prediction"]["step_ns"]
    again, why = simulate(ppsim, folder, f"{job}-{target}.json", [])
    row.update(step_ns=step, peak_bytes=taken["prediction"]["peak_memory_bytes"],
               parallel=taken["parallel"], schedule=taken["prediction"]["schedule"],
               executor=taken["executor"],
               same=bool(again) and again["step_ns"] == step, same_why=why)
    fastest, why = plan(ppsim, folder, options + ["--fastest", "--candidates",
                                                 f"{job}-{target}-fastest.csv"], f"{job}-{target}-fastest.json")
    if not fastest:
        return dict(row, reason="--fastest: " + why)
    row["fastest_ns"] = fastest["prediction"]["step_ns"]
    row.update(all_by_bounds(ppsim, folder, job, target, row["fastest_ns"], taken["memory_limit_bytes"]))
    found, row["tried"], row["of"] = sample(ppsim, folder, job, target, wanted, seed)
    row["fit"] = len(found)
    limit = taken["memory_limit_bytes"]
    room = [f for f in found if with_room(f[1], limit)]
    for key, list_of in (("best", found), ("best_room", room)):
        if list_of:
            row[key + "_ns"], _, row[key] = min(list_of)
    rooms = [row[key] for key in ("best_room_ns", "all_room_ns") if row.get(key)]
    row["best_room_ns"] = min(rooms) if rooms else None
    return row


def slowest(ppsim, folder, name, options):
    report, why = simulate(ppsim, folder, name, ["--executor", "ppsim"] + options)
    return report if report else why


def perturbed(ppsim, folder, job, name, limit):
    """Steps of one plan under the three perturbations; None where there is none."""
    made = read(folder, name)
    p = made["parallel"]
    less = str(int(limit * 0.95)) + "B"
    steps = {}
    report = slowest(ppsim, folder, name, ["--memory-limit", less])
    if isinstance(report, str):
        loop = made["placement"] == "loop" and p["vpp"] > 1
        simple = ["--pp", p["pp"], "--tp", p["tp"], "--cp", p["cp"], "--dp", p["dp"], "--ep", p["ep"],
                  "--micro-batch-size", p["micro_batch_size"], "--recompute", "full", "--zero", "1",
                  "--schedule", "interleaved" if loop else "1f1b", "--vpp", p["vpp"] if loop else 1,
                  "--executor", "ppsim", "--fastest", "--memory-limit", less]
        instead, why = plan(ppsim, folder, job_options(job) + [str(word) for word in simple],
                            name + ".simple")
        report = instead["prediction"] if instead else why
        steps["replaced"] = True
    steps["memory"] = report["step_ns"] if isinstance(report, dict) else None
    roomy = ["--memory-limit", "10TB"]  # only time is compared
    report = slowest(ppsim, folder, name, roomy + ["--jitter", "compute=0.03,slow-rank=any:1.05"])
    steps["jitter"] = report["jitter"]["p95_ns"] if isinstance(report, dict) else None
    total = 0
    for seed in range(4):
        draw = random.Random(f"costs {seed}")
        speeds = [f"{r}={min(1.3, max(0.7, 1 + 0.08 * draw.gauss(0, 1))):.4f}" for r in range(p["pp"])]
        report = slowest(ppsim, folder, name, roomy + ["--rank-speed", ",".join(speeds)])
        total = total + report["step_ns"] if isinstance(report, dict) and total is not None else None
    steps["costs"] = total / 4 if total else None
    return steps


def robust(ppsim, old, folder, job, seed):
    row = {"job": job, "target": "old", "seed": seed}
    options = job_options(job) + ["--gpus", str(JOBS[job][1])]
    steps = []
    for who, program in (("new", ppsim), ("old", old)):
        name = f"{job}-{who}.json"
        made, why = plan(program, folder, options, name)
        if not made:
            return dict(row, reason=f"{who}: {why}")
        row[who + "_ns"] = made["prediction"]["step_ns"]
        steps.append(perturbed(ppsim, folder, job, name, made["memory_limit_bytes"]))
    row.update(new=steps[0], old=steps[1])
    return row


def percent(above, below):
    return f"{100 * (above / below - 1):+.2f} %" if above and below else "-"


def degrees(row):
    return ", ".join(f"{k} {row['parallel'][k]}" for k in ("pp", "tp", "cp", "dp", "ep", "vpp")
                     if row["parallel"][k] > 1 or k == "pp")


def against_all(row):
    if not row.get("all_ns"):
        return "-"
    rest = f", {row['open']} not known" if row["open"] else ""
    return f"{percent(row['fastest_ns'], row['all_ns'])} ({row['all']} plans, {row['bounded']} splits bounded{rest})"


def table(rows, out):
    demands = True
    print("| job | target | recommended | step | same | --fastest against the best of all | "
          "against the best drawn | recommended against the best with headroom |\n"
          "|---|---|---|---|---|---|---|---|", file=out)
    for row in sorted((r for r in rows if r["target"] != "old"),
                      key=lambda r: (list(JOBS).index(r["job"]), TARGETS.index(r["target"]))):
        if "fit" not in row:
            print(f"| {row['job']} | {row['target']} | {row['reason']} | | | | | |", file=out)
            demands &= row["reason"].startswith("1: ")
            continue
        best = row.get("best_ns")
        print(f"| {row['job']} | {row['target']} | {degrees(row)}, {row['schedule']} | "
              f"{row['step_ns'] / 1e9:.4g} s, {row['peak_bytes'] / 2**30:.1f} GiB | "
              f"{'yes' if row['same'] else 'NO'} | "
              f"{against_all(row)} | {percent(row['fastest_ns'], best)} ({row['fit']} of {row['tried']} fit) | "
              f"{percent(row['step_ns'], row['best_room_ns'])} |", file=out)
        demands &= row["same"]
        demands &= not best or row["fastest_ns"] <= best * 1.001
        demands &= not row.get("all_ns") or row["fastest_ns"] <= row["all_ns"] * 1.001
        demands &= not row.get("open")
        demands &= not row["best_room_ns"] or row["step_ns"] <= row["best_room_ns"] * 1.01
    old = [r for r in rows if r["target"] == "old"]
    if old:
        print("\n| job | step, new and old | 5 % less memory | jitter | costs |\n|---|---|---|---|---|",
              file=out)
    ratios = {"memory": [], "jitter": [], "costs": []}
    for row in sorted(old, key=lambda r: list(JOBS).index(r["job"])):
        if "new" not in row:
            print(f"| {row['job']} | {row['reason']} | | | |", file=out)
            continue
        cells = []
        for key, list_of in ratios.items():
            new, was = row["new"][key], row["old"][key]
            if new and was:
                list_of.append(new / was)
            cells.append(percent(new, was) + (" (old replaced)" if key == "memory" and
                                              row["old"].get("replaced") else ""))
        print(f"| {row['job']} | {row['new_ns'] / 1e9:.4g} s, {row['old_ns'] / 1e9:.4g} s | "
              + " | ".join(cells) + " |", file=out)
    for key, list_of in ratios.items():
        if list_of:
            mean = sum(list_of) / len(list_of)
            print(f"\nmean ratio new / old, {key}: {mean:.4f} ({len(list_of)} jobs)", file=out)
            demands &= mean <= 1
    return demands


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ppsim")
    parser.add_argument("--old")
    parser.add_argument("--job", action="append", choices=list(JOBS))
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--sample", type=int, default=200, help="0: all, hours for many GPUs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", default="choices.jsonl")
    parser.add_argument("--markdown")
    a = parser.parse_args()
    rows = []
    if os.path.exists(a.results):
        with open(a.results) as file:
            rows = [json.loads(line) for line in file]
    done = {(r["job"], r["target"], r["seed"]) for r in rows}
    ppsim, old = os.path.abspath(a.ppsim), a.old and os.path.abspath(a.old)
    print(f"seed {a.seed}, {a.sample} fixed plans of each", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        prepare(folder)
        waiting = []
        for job in a.job or JOBS:
            if old and (job, "old", a.seed) not in done:
                waiting.append(pool.submit(robust, ppsim, old, folder, job, a.seed))
            for target in a.target or TARGETS:
                if (job, target, a.seed) not in done:
                    waiting.append(pool.submit(choices, ppsim, folder, job, target, a.sample, a.seed))
        for next_one in concurrent.futures.as_completed(waiting):
            row = next_one.result()
            rows.append(row)
            with open(a.results, "a") as file:
                file.write(json.dumps(row) + "\n")
            print(row["job"], row["target"], row.get("reason", "done"), file=sys.stderr)
    good = table(rows, sys.stdout)
    if a.markdown:
        with open(a.markdown, "w") as file:
            table(rows, file)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
