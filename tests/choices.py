#!/usr/bin/env python3
"""Are the plans that ppsim chooses what their runtime does, the fastest, and robust?

    choices.py PPSIM [--old PPSIM] [--job NAME]... [--target NAME]... [--part NAME]... [--sample N]
               [--seed N] [--workers N] [--results FILE] [--markdown FILE]

For each of 12 jobs and each target, in three parts:
  chosen    the emitted plan, simulated with its executor, has the step that was printed, and fits
  all       --fastest against the best of all plans with everything fixed (degrees, micro-batch size,
            schedule, vpp, recomputation). Its search bounds every split of the GPUs; a split whose
            bound is below its step is searched again alone, which lists all candidates: those that it
            simulated have a step, the others a lower bound of it. A bound at or above the step of
            --fastest proves that a plan is not faster. Plans with neither are counted
  drawn     --fastest against the best of N such plans that fit, drawn with the seed from all that
            break no rule, each planned by itself, where nothing is bounded; positive: --fastest is
            slower
and of these the best with 10 % of the memory free against the recommended plan. Part perturbed, for
target ppsim, against the recommended plan of --old (before 0.3 its executor was ideal), both under
executor ppsim, both steps and their ratio
  memory    with 5 % less memory. A plan that does not fit is replaced by the fastest that PPSIM finds
            there with the same degrees and micro-batch size
  jitter    p95 with 3 % jitter of ops and one rank 5 % slow
  costs     mean of 32 draws in which each rank is off by a normal 8 %; each draw has its opposite, so
            that they have no error in the mean

A drawn plan is a sweep of one point, since `plan` searches a way out for each that does not fit, which
takes a hundred times as long. Results go to FILE, a line of JSON for each part, and a run goes on where
the last one ended. A target that cannot run a job is listed with the reason of the program. Exit
status 1 if a demand is missed: not the same step, --fastest slower by over 0.1 %, recommended by over
1 %, or a mean ratio to the old plans above 1."""
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
import threading

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
DEGREES = ("pp", "tp", "cp", "dp", "ep", "etp")
TARGETS = ("ppsim", "megatron", "torchtitan")
ONE_CHUNK = ("1f1b", "eager-1f1b", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "gpipe")
TWO_CHUNKS = ("zbv", "zbv-auto", "v-half", "v-min", "1f1b-v", "dualpipev")
MANY_CHUNKS = ("interleaved", "combined-1f1b", "interleaved-zb", "looped-bfs")
PARTS = ("chosen", "all", "drawn", "perturbed")
COST_DRAWS = 16  # and their opposites
TIMEOUT_S = 1800


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


def free_etp(job, target):
    """Whether --etp says something: torchtitan never divides an expert."""
    return job in EXPERTS and target != "torchtitan"


def all_fixed(job, target):
    """Every plan with everything fixed whose numbers go together, as options."""
    _, gpus, _, length, data, layers = JOBS[job]
    powers = [1 << k for k in range(14)]
    chunks = {name: (1,) for name in ONE_CHUNK} | {name: (2,) for name in TWO_CHUNKS}
    chunks |= {name: range(2, 9) for name in MANY_CHUNKS}
    if target == "megatron":
        chunks = {name: chunks[name] for name in ("1f1b", "interleaved", "combined-1f1b")}
    if target != "megatron" or job not in EXPERTS:
        del chunks["combined-1f1b"]  # no faster than interleaved where nothing is hidden
    experts = EXPERTS.get(job, 1)
    for pp, tp, cp, ep, whole in itertools.product(range(1, layers // 2 + 1), (1, 2, 4, 8), powers, powers,
                                                   (False, True) if free_etp(job, target) else (False,)):
        dp = gpus // (pp * tp * cp)
        etp = 1 if whole or (experts > 1 and not free_etp(job, target)) else tp
        if (gpus % (pp * tp * cp) or (cp > 1 and length < 4096 * cp) or experts % ep or (whole and tp == 1)
                or dp * cp * tp // etp % ep):
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
                values |= {"etp": etp} if free_etp(job, target) else {}
                values |= {"packing": "first-fit"} if isinstance(data, str) else {}
                yield [word for name, value in values.items() for word in (f"--{name}", str(value))]


def fixed_result(ppsim, folder, job, target, fixed):
    """Step and peak of a plan with everything fixed, or None if it does not fit or breaks a rule."""
    options = job_options(job) + fixed + ["--target", target, "--fastest"]
    status, out, errors = run([ppsim, "sweep"] + options + ["--threads", "1", "--csv", "-"], folder)
    if status:
        raise RuntimeError(f"{' '.join(options)}: {status}: {reason(errors)}")
    point = next(csv.DictReader(out.splitlines()))
    if point["status"] != "ok":
        return None
    if job in EXPERTS:  # the only rule that all_fixed does not have; plan says it, sweep does not
        _, errors = plan(ppsim, folder, options, f"{job}-{target}-fixed.json")
        if "is used as given" in errors:
            return None
    return int(point["step_ns"]), int(point["peak_memory_bytes"])


def drawn(ppsim, folder, job, target, limit_bytes, wanted, seed):
    """The best of `wanted` fixed plans that fit (0: of all), and the best of those with headroom."""
    fixed_plans = list(all_fixed(job, target))
    random.Random(f"{seed} {job} {target}").shuffle(fixed_plans)
    found, tried = [], 0
    for fixed in fixed_plans:
        if wanted and len(found) >= wanted:
            break
        tried += 1
        result = fixed_result(ppsim, folder, job, target, fixed)
        if result:
            found.append(result + (" ".join(fixed),))
    room = [f for f in found if with_room(f[1], limit_bytes)]
    best = min(found) if found else (None, None, "")
    return {"drawn_ns": best[0], "drawn_best": best[2], "drawn_room_ns": min(room)[0] if room else None,
            "fit": len(found), "tried": tried, "of": len(fixed_plans)}


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


def all_by_bounds(ppsim, folder, job, target, chosen_row):
    """What is known of all fixed plans: the best, its step and words; how many were listed; the best of
    those that were simulated and leave the headroom; and those of which neither the step is known nor
    that it is not below that of --fastest."""
    best, words, count, room, open_ones = None, "", 0, None, []
    name = f"{job}-{target}-all.csv"
    fastest_ns, limit_bytes = chosen_row["fastest_ns"], chosen_row["limit_bytes"]
    for degrees in chosen_row["open_splits"]:
        options = job_options(job) + ["--target", target, "--fastest", "--candidates", name, "-o", "/dev/null"]
        for key, value in zip(DEGREES, degrees):
            options += [f"--{key}", value] if key != "etp" or free_etp(job, target) else []
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
                    best, words = step, " ".join(row[key] for key in ("schedule", "pp", "vpp", "tp", "cp", "dp", "ep", "etp",
                                                                      "micro_batch_size", "recompute"))
                if step and with_room(int(row["peak_memory_bytes"]), limit_bytes):
                    room = min(step, room or step)
                if not step and int(row["least_step_ns"] or 0) < fastest_ns:
                    open_ones.append(" ".join(row[key] for key in ("schedule", "pp", "vpp", "tp", "cp")))
    return {"all_ns": best, "all_best": words, "all": count, "all_room_ns": room,
            "bounded": chosen_row["bounded"], "open": len(open_ones), "open_some": open_ones[:3]}


def chosen(ppsim, folder, job, target):
    """The recommended plan, whether it does what was said, and --fastest."""
    options = job_options(job) + ["--gpus", str(JOBS[job][1]), "--target", target]
    taken, why = plan(ppsim, folder, options, f"{job}-{target}.json")
    if not taken:
        return {"reason": why}
    step = taken["prediction"]["step_ns"]
    again, why = simulate(ppsim, folder, f"{job}-{target}.json", [])
    row = {"step_ns": step, "peak_bytes": taken["prediction"]["peak_memory_bytes"],
           "limit_bytes": taken["memory_limit_bytes"], "parallel": taken["parallel"],
           "schedule": taken["prediction"]["schedule"], "executor": taken["executor"],
           "same": bool(again) and again["step_ns"] == step, "same_why": why}
    listed = f"{job}-{target}-fastest.csv"
    fastest, why = plan(ppsim, folder, options + ["--fastest", "--candidates", listed],
                        f"{job}-{target}-fastest.json")
    if not fastest:
        return {"reason": "--fastest: " + why}
    row["fastest_ns"] = fastest["prediction"]["step_ns"]
    row["open_splits"], row["bounded"] = open_splits(folder, listed, row["fastest_ns"])
    return row


def slowest(ppsim, folder, name, options):
    report, why = simulate(ppsim, folder, name, ["--executor", "ppsim"] + options)
    return report if report else why


def steps_of(ppsim, folder, job, name, limit):
    """Steps of one plan under the three perturbations; None where there is none."""
    made = read(folder, name)
    p = made["parallel"]
    less = str(int(limit * 0.95)) + "B"
    steps = {}
    report = slowest(ppsim, folder, name, ["--memory-limit", less])
    if isinstance(report, str):
        same = [str(word) for key in ("pp", "tp", "cp", "dp", "ep", "etp", "micro_batch_size") if key in p
                for word in ("--" + key.replace("_", "-"), p[key])]
        instead, why = plan(ppsim, folder, job_options(job) + same + ["--executor", "ppsim", "--fastest",
                                                                      "--memory-limit", less],
                            name + ".less")
        report = instead["prediction"] if instead else why
        steps["replaced"] = True
    steps["memory"] = report["step_ns"] if isinstance(report, dict) else None
    roomy = ["--memory-limit", "10TB"]  # only time is compared
    report = slowest(ppsim, folder, name, roomy + ["--jitter", "compute=0.03,slow-rank=any:1.05"])
    steps["jitter"] = report["jitter"]["p95_ns"] if isinstance(report, dict) else None
    total = 0
    for seed in range(COST_DRAWS):
        draw = random.Random(f"costs {seed}")
        errors = [min(0.3, max(-0.3, 0.08 * draw.gauss(0, 1))) for _ in range(p["pp"])]
        for sign in (1, -1):
            speeds = ",".join(f"{r}={1 / (1 + sign * error):.5f}" for r, error in enumerate(errors))
            report = slowest(ppsim, folder, name, roomy + ["--rank-speed", speeds])
            if isinstance(report, str):
                raise RuntimeError(f"{name}: {report}")
            total += report["step_ns"]
    steps["costs"] = total / COST_DRAWS / 2
    return steps


def perturbed(ppsim, old, folder, job):
    row = {}
    options = job_options(job) + ["--gpus", str(JOBS[job][1])]
    for who, program in (("new", ppsim), ("old", old)):
        name = f"{job}-{who}.json"
        made, why = plan(program, folder, options, name)
        if not made:
            return {"reason": f"{who}: {why}"}
        row[who] = steps_of(ppsim, folder, job, name, made["memory_limit_bytes"])
        row[who].update(step=made["prediction"]["step_ns"], parallel=made["parallel"],
                        schedule=made["prediction"]["schedule"])
    return row


def percent(above, below):
    return f"{100 * (above / below - 1):+.2f} %" if above and below else "-"


def degrees(row):
    return ", ".join(f"{k} {row['parallel'][k]}" for k in ("pp", "tp", "cp", "dp", "ep", "etp", "vpp")
                     if row["parallel"].get(k, 1) > 1 or k == "pp" or k == "etp" and k in row["parallel"])


def against_all(row, found):
    if not found or not found["all_ns"]:
        return "-"
    rest = f", {found['open']} not known" if found["open"] else ""
    return (f"{percent(row['fastest_ns'], found['all_ns'])} ({found['all']} plans, "
            f"{found['bounded']} splits bounded{rest})")


def against_drawn(row, found):
    if not found or not found["fit"]:
        return "-"
    return f"{percent(row['fastest_ns'], found['drawn_ns'])} ({found['fit']} of {found['tried']} fit)"


def table_of_choices(of, out):
    """Prints a row for each job and target; true if no demand is missed."""
    demands = True
    print("| job | target | recommended | step | same | --fastest | --fastest against the best of all | "
          "against the best drawn | recommended against the best with headroom |\n"
          "|---|---|---|---|---|---|---|---|---|", file=out)
    for job, target in itertools.product(JOBS, TARGETS):
        row = of.get((job, target, "chosen"))
        if not row:
            continue
        if "reason" in row:
            print(f"| {job} | {target} | {row['reason']} | | | | | | |", file=out)
            demands &= row["reason"].startswith("1: ")
            continue
        every, some = (of.get((job, target, part)) or {} for part in ("all", "drawn"))
        best = [found[key] for found, key in ((every, "all_ns"), (some, "drawn_ns")) if found.get(key)]
        room = [found[key] for found, key in ((every, "all_room_ns"), (some, "drawn_room_ns")) if found.get(key)]
        print(f"| {job} | {target} | {degrees(row)}, {row['schedule']} | "
              f"{row['step_ns'] / 1e9:.4g} s, {row['peak_bytes'] / 2**30:.1f} GiB | "
              f"{'yes' if row['same'] else 'NO'} | {percent(row['fastest_ns'], row['step_ns'])} | "
              f"{against_all(row, every)} | {against_drawn(row, some)} | "
              f"{percent(row['step_ns'], min(room)) if room else '-'} |", file=out)
        demands &= row["same"] and not every.get("open") and row["fastest_ns"] <= row["step_ns"]
        demands &= not best or row["fastest_ns"] <= min(best) * 1.001
        demands &= not room or row["step_ns"] <= min(room) * 1.01
    return demands


def table_of_perturbed(of, out):
    """Prints a row for each job that was perturbed; true if no mean ratio is above 1."""
    rows = [(job, of[job, "ppsim", "perturbed"]) for job in JOBS if (job, "ppsim", "perturbed") in of]
    if not rows:
        return True
    kinds = ("step", "memory", "jitter", "costs")
    ratios = {kind: [] for kind in kinds}
    print("\n| job | step | 5 % less memory | jitter | costs |\n|---|---|---|---|---|", file=out)
    for job, row in rows:
        if "reason" in row:
            print(f"| {job} | {row['reason']} | | | |", file=out)
            continue
        cells = []
        for kind in kinds:
            new, old = row["new"][kind], row["old"][kind]
            if not new or not old:
                cells.append("-")
                continue
            ratios[kind].append(new / old)
            replaced = [who for who in ("new", "old") if kind == "memory" and row[who].get("replaced")]
            cells.append(f"{new / 1e9:.4g} s, {old / 1e9:.4g} s: {percent(new, old)}"
                         + (f" ({' and '.join(replaced)} replaced)" if replaced else ""))
        print(f"| {job} | {' | '.join(cells)} |", file=out)
    means = {kind: sum(of_kind) / len(of_kind) for kind, of_kind in ratios.items() if of_kind}
    print("| mean ratio, jobs | " + " | ".join(f"{means[kind]:.3f}, {len(ratios[kind])}" if kind in means else "-"
                                              for kind in kinds) + " |", file=out)
    return all(mean <= 1 for mean in means.values())


def tables(rows, out):
    of = {(r["job"], r["target"], r["part"]): r for r in rows}
    good = table_of_choices(of, out)
    return table_of_perturbed(of, out) and good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ppsim")
    parser.add_argument("--old")
    parser.add_argument("--job", action="append", choices=list(JOBS))
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--sample", type=int, default=200, help="0: all, hours for many GPUs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", default="choices.jsonl")
    parser.add_argument("--markdown")
    a = parser.parse_args()
    rows = []
    if os.path.exists(a.results):
        with open(a.results) as file:
            rows = [row for row in map(json.loads, file) if row["seed"] == a.seed]
    done = {(r["job"], r["target"], r["part"]): r for r in rows}
    ppsim, old = os.path.abspath(a.ppsim), a.old and os.path.abspath(a.old)
    print(f"seed {a.seed}, {a.sample} drawn plans of each", file=sys.stderr)
    lock = threading.Lock()

    def result(job, target, part, compute):
        """The row of this part: of an earlier run, or computed and kept."""
        row = done.get((job, target, part))
        if not row:
            row = {"job": job, "target": target, "part": part, "seed": a.seed} | compute()
            with lock, open(a.results, "a") as file:
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                print(job, target, part, row.get("reason", "done"), file=sys.stderr)
        return row

    def work(job, target):
        wanted = a.part or PARTS
        if old and "perturbed" in wanted and target == "ppsim":
            result(job, target, "perturbed", lambda: perturbed(ppsim, old, folder, job))
        if set(wanted) & {"chosen", "all", "drawn"}:
            row = result(job, target, "chosen", lambda: chosen(ppsim, folder, job, target))
            if "drawn" in wanted and "reason" not in row:
                result(job, target, "drawn",
                       lambda: drawn(ppsim, folder, job, target, row["limit_bytes"], a.sample, a.seed))
            if "all" in wanted and "reason" not in row:
                result(job, target, "all", lambda: all_by_bounds(ppsim, folder, job, target, row))

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(a.workers) as pool:
        prepare(folder)
        waiting = [pool.submit(work, *pair) for pair in itertools.product(a.job or JOBS, a.target or TARGETS)]
        for one in concurrent.futures.as_completed(waiting):
            one.result()
    good = tables(rows, sys.stdout)
    if a.markdown:
        with open(a.markdown, "w") as file:
            tables(rows, file)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
