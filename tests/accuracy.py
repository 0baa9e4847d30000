#!/usr/bin/env python3
"""Predicts the published runs of tests/data/runs/runs.json and writes docs/accuracy.md.

usage: accuracy.py PPSIM [--update [--worse]]

Without --update it fails if the page is not what it would write: a prediction that moves is read before
it is kept. --update refuses if the mean error of a group gets worse by more than a point; --worse allows
it. Every run is planned with all that its source states (degrees, schedule, batch, format, stack) and
with no memory limit; of equal configurations in several releases the median counts.

"Left out" is the error if what is fitted to steps is taken from other models. Of MoE models that is the
error itself: no speed is fitted to them, so that they are predicted with that of dense models, and rates of
exchange are those of kernels alone. But the host's time per expert in 8 and 4 bits is fitted to runs of two
models on B200 without CUDA graphs: each of these is predicted anew with the time that the other alone wants.
Of dense models the stack's speed is taken from those of the run's group,
or if the group has one model, from other groups of its stack, multiplied by how much faster other stacks
are on this GPU or width than on that one; if no other stack tells, by how much faster the hardware
files take this GPU for, whose steps they do not know. A prediction is nearly proportional to the speed, so that its
error is divided by that of the others.
"""
import concurrent.futures
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap

import accuracy_memory

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs/accuracy.md")
RUNS = os.path.join(ROOT, "tests/data/runs")
MODELS = os.path.join(ROOT, "traces/data/models")
PICTURES = os.path.join(ROOT, "docs/pictures")
WIDE = 900
HOST_GPU = "b200-180g"
SLOWER = 0.1
# Options that a run has as its source states them; without one, ppsim's default.
OWN = ("moe_dispatcher", "moe_capacity_factor", "moe_pad_to_capacity", "moe_shared_expert_overlap", "tp_overlap",
       "cuda_graphs")


def schedule_of(run):
    return "1f1b" if run["vpp"] == 1 else "combined-1f1b" if run.get("overlap") else "interleaved"


def command(ppsim, run):
    model = os.path.join(RUNS, run["model"] + ".json")
    known = model if os.path.exists(model) else os.path.join(MODELS, run["model"] + ".json")
    with open(known, encoding="utf-8") as file:
        whole = json.load(file)["layers"] % (run["pp"] * run["vpp"]) == 0
    stack = os.path.join(RUNS, run["stack"] + ".stack.json")
    return [str(word) for word in (
        ppsim, "plan", "--model", model if os.path.exists(model) else run["model"],
        "--hw", run["hardware"], "--stack", stack if os.path.exists(stack) else run["stack"], "--precision", run["precision"],
        "--sequence-parallel", "on" if run.get("sequence_parallel", run["tp"] > 1) else "off",
        "--pp", run["pp"], "--tp", run["tp"], "--cp", run["cp"], "--cp-comm", run.get("cp_comm", "ring"), "--dp", run["dp"], "--ep", run["ep"],
        *(["--etp", run["etp"]] if "etp" in run else []),
        *(word for key in OWN if key in run for word in ("--" + key.replace("_", "-"), run[key])),
        "--vpp", run["vpp"], "--schedule", schedule_of(run),
        "--executor", "megatron" if run["vpp"] == 1 or run["stack"] == "megatron-2025"
        else "megatron-overlap",
        "--micro-batch-size", run["micro_batch_size"], "--global-batch-size", run["global_batch_size"],
        "--seq-length", run["seq_length"], "--partition", run.get("partition", "uniform" if whole else "auto"),
        *(["--recompute-modules", run["recompute_modules"]] if "recompute_modules" in run else ["--recompute", "none"]),
        "--memory-limit", "10TB", "--json")]


def is_of_host(run):
    """One of the runs to which the host's time per expert is fitted (LOW_EXPERT_LAUNCHES of sim/cost/layer.c)."""
    return is_low(run) and run["ep"] > 1 and run["hardware"] == HOST_GPU and "cuda_graphs" not in run


def leave_out_host(ppsim, groups):
    """Sets run["left_out"] of these runs: their steps are nearly linear in what a launch takes, so that a second
    prediction with slower launches says with which the other model's runs are as far off as all of them are."""
    runs = [run for entries in groups.values() for run, _ in entries if is_of_host(run)]
    with open(os.path.join(ROOT, "traces/data/hardware", HOST_GPU + ".json"), encoding="utf-8") as file:
        slower = json.load(file)
    slower["kernels"]["launch_s"]["value"] *= 1 + SLOWER
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, HOST_GPU + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(slower, file)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            plans = list(pool.map(lambda run: predict(ppsim, {**run, "hardware": path})[0], runs))
    error = {id(run): run["predicted"] / run["seconds"] - 1 for run in runs}
    slope = {id(run): (plan["prediction"]["step_ns"] * 1e-9 - run["predicted"]) / SLOWER / run["seconds"]
             for run, plan in zip(runs, plans)}
    fitted = mean(list(error.values()))
    for run in runs:
        others = [id(other) for other in runs if model_of(other) != model_of(run)]
        more = (fitted - mean([error[k] for k in others])) / mean([slope[k] for k in others])
        run["left_out"] = error[id(run)] + more * slope[id(run)]
        run["host"] = 1 + more


def predict(ppsim, run):
    """(the plan, None), or (None, why ppsim refuses)."""
    done = subprocess.run(command(ppsim, run), capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip().split("\n")[-1].removeprefix("ppsim: ")
    return json.loads(done.stdout), None


def is_low(run):
    return run["precision"] not in ("bf16", "fp16")


def group_of(run):
    """What shares one number of a stack: kind of model, GPU, width of the GEMMs, stack."""
    return ("MoE" if run["ep"] > 1 else "dense", run["hardware"], "8, 4" if is_low(run) else "16", run["stack"])


def model_of(run):
    """A model of fewer layers is no other model."""
    return re.sub(r"-(l\d+|nomtp)$", "", run["model"])


def percent(part):
    return f"{100 * part:+.1f}"


def mean(values):
    return statistics.mean(values)


def speeds():
    """{(stack, architecture, width): the fitted speed}, {hardware: architecture}, {hardware: its own speed,
    for stacks without one}."""
    speed, architecture, own = {}, {}, {}
    for path in glob.glob(os.path.join(ROOT, "traces/data/stacks/*.json")):
        with open(path, encoding="utf-8") as file:
            stack = json.load(file)
        for gpu in stack.get("gpus", []):
            for key, width in (("sustained", "16"), ("sustained_low", "8, 4")):
                if gpu.get(key, {}).get("status") == "step fit":
                    speed[stack["name"], gpu["architecture"], width] = gpu[key]["value"]
    for path in glob.glob(os.path.join(ROOT, "traces/data/hardware/*.json")):
        with open(path, encoding="utf-8") as file:
            gpu = json.load(file)
        architecture[gpu["name"]] = gpu["gpu"]["architecture"]
        own[gpu["name"]] = gpu["kernels"].get("sustained", {}).get("value", 1)
    return speed, architecture, own


def ratio(speed, of, to, stack):
    """How much faster other stacks are at `of` than at `to`, each (architecture, width); None: not known. What
    the architecture makes of it, in any width, and what the width makes of it, on any architecture, multiply."""
    def mean_over(pairs):
        both = [speed[over] / speed[under] for over, under in pairs if over in speed and under in speed]
        return mean(both) if both else None
    others = sorted({key[0] for key in speed} - {stack})
    gpus, widths = {key[1] for key in speed}, {key[2] for key in speed}
    times = 1
    if of[0] != to[0]:
        times = mean_over([((other, of[0], width), (other, to[0], width)) for other in others for width in sorted(widths)])
    if of[1] != to[1]:
        more = mean_over([((other, gpu, of[1]), (other, gpu, to[1])) for other in others for gpu in sorted(gpus)])
        times = times and more and times * more
    return times


def leave_out(groups):
    """Sets run["left_out"], the error with the speed of other models, or None if there are none."""
    speed, architecture, assumed = speeds()

    def place(group):
        return architecture[group[1]], group[2]

    def implied(group, entries):
        """The speed with which these runs would be right in the mean, relative to the stack's own."""
        return mean([1 + error for _, error in entries])

    for width in {group[2] for group in groups}:
        alike = [entry for group, entries in groups.items() if group[0] == "MoE" and group[2] == width for entry in entries]
        for run, _ in alike:
            run["all_moe"] = mean([abs(error) for _, error in alike])

    for group, entries in groups.items():
        kind, _, _, stack = group
        for run, error in entries:
            run["left_out"] = error if kind == "MoE" else None
            if kind == "MoE":
                continue
            others = [entry for entry in entries if model_of(entry[0]) != model_of(run)]
            if others:
                run["left_out"] = (1 + error) / implied(group, others) - 1
                continue
            found = []
            for other, theirs in groups.items():
                if other[3] != stack or other == group:
                    continue
                own = speed.get((stack, *place(group)))
                base = speed.get((stack, *place(other)))
                known = 1 if place(other) == place(group) else ratio(speed, place(group), place(other), stack)
                if not own or not base:  # not fitted: both have the number of another stack
                    own = base = 1
                rank = (other[0] != kind, known is None, place(other)[1] != group[2], place(other) != place(group))
                times = known or assumed[group[1]] / assumed[other[1]]
                found.append((rank, base * implied(other, theirs) * times / own))
            if found:
                best = min(rank for rank, _ in found)
                run["left_out"] = (1 + error) / mean([times for rank, times in found if rank == best]) - 1


def left_out(entries):
    """Absolute errors of a group with its speed from other models."""
    return [abs(run["left_out"]) for run, _ in entries if run["left_out"] is not None]


def error_of(entries):
    """The mean absolute error of a group: with its speed from other models, or as `plan` predicts it, whichever is
    larger; of MoE models at least that of all of them in this width, since a group has few runs."""
    return max(mean(left_out(entries)), mean([abs(error) for _, error in entries]), entries[0][0].get("all_moe", 0))


def covered(entries):
    """How many of the runs that can be left out lie in the interval that `plan` prints."""
    return sum(1 + run["left_out"] >= 1 / (1 + run["half"]) and 1 + run["left_out"] <= 1 / max(1e-9, 1 - run["half"])
               for run, _ in entries if run["left_out"] is not None)


def half_percent(entries):
    """The half-width that sim/cost/step_interval.c should have for a group: 78 % of all runs are within 1.4
    times that error of their group. (1.6 times would have 80 % if errors were normally distributed.) At
    least 1 %, or 2 % for one or two runs, which say little."""
    return max(1.0 if len(entries) > 2 else 2.0, round(140 * error_of(entries), 1))


def setup(run):
    text = f"pp {run['pp']}, tp {run['tp']}"
    for key in ("cp", "ep", "etp"):
        text += f", {key} {run[key]}" if run.get(key, 1) > 1 or key == "etp" and key in run else ""
    return text + (f", vpp {run['vpp']}" if run["vpp"] > 1 else "") + f", batch {run['global_batch_size']}"


# ---- pictures ----------------------------------------------------------------------------------

# Of Okabe and Ito, and darker ones for the second dozen; groups differ in shape, too.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
SHAPES = ["circle", "square", "cross"]


def words(x, y, text, anchor="start", size=12, colour="#222222"):
    """A text as gnuplot writes it, which tests/pictures.py understands."""
    return (f'<g transform="translate({x:.1f},{y:.1f})" fill="{colour}" font-family="sans-serif" font-size="{size}" '
            f'text-anchor="{anchor}"><text>{text}</text></g>')


def line(x0, y0, x1, y1, colour="#cccccc", width=1.0):
    return f'<path d="M{x0:.1f},{y0:.1f} L{x1:.1f},{y1:.1f}" stroke="{colour}" stroke-width="{width}" fill="none"/>'


def mark(x, y, number):
    """The sign of a group."""
    colour, shape = COLOURS[number % len(COLOURS)], SHAPES[number // len(COLOURS) % len(SHAPES)]
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}" fill-opacity="0.7"/>'
    if shape == "square":
        return f'<rect x="{x - 3.2:.1f}" y="{y - 3.2:.1f}" width="6.4" height="6.4" fill="{colour}" fill-opacity="0.7"/>'
    return f'<path d="M{x - 3:.1f},{y - 3:.1f} l6,6 m0,-6 l-6,6" stroke="{colour}" stroke-width="1.8" fill="none"/>'


def svg(width, height, title, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            f'\n<title>{title}</title>\n<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def name_of(group):
    kind, gpu, bits, stack = group
    return f"{'' if kind == 'dense' else 'MoE '}{gpu}, {bits.replace(', ', ' and ')} bits, {stack}"


def draw_steps(groups, width, height):
    """Predicted over measured seconds, both logarithmic: a mark per run, a sign per group."""
    left, right, top, bottom = 56, width - 332, 30, height - 46
    runs = [run for entries in groups.values() for run, _ in entries]
    low = math.log10(min(min(run["seconds"], run["predicted"]) for run in runs)) - 0.08
    high = math.log10(max(max(run["seconds"], run["predicted"]) for run in runs)) + 0.08

    def at(seconds, begin, end):
        return begin + (math.log10(seconds) - low) / (high - low) * (end - begin)

    parts = [words(left, 18, "Predicted and measured step, s: on the line they are equal", size=13)]
    for tick in (0.3, 1, 3, 10, 30):
        x, y = at(tick, left, right), at(tick, bottom, top)
        parts += [line(x, top, x, bottom), line(left, y, right, y), words(x, bottom + 18, f"{tick:g}", "middle"),
                  words(left - 8, y + 4, f"{tick:g}", "end")]
    parts += [line(left, bottom, right, top, "#555555"), words((left + right) / 2, bottom + 38, "measured", "middle"),
              words(left + 8, top + 16, "predicted")]
    for number, (group, entries) in enumerate(groups.items()):
        y = top + 12 + 24 * number
        parts += [mark(right + 18, y - 4, number), words(right + 28, y, name_of(group), size=11)]
        parts += [mark(at(run["seconds"], left, right), at(run["predicted"], bottom, top), number) for run, _ in entries]
    return svg(width, height, "predicted and measured steps", parts)


def draw_errors(groups, width, height):
    """A row per group: a mark per run, the 80 % interval as a bar. Errors near zero have most room."""
    left, right, top, bottom = 316, width - 24, 44, height - 40
    step = (bottom - top) / len(groups)

    def at(error):
        most = math.sqrt(0.9)
        return (left + right) / 2 + math.copysign(math.sqrt(min(abs(error), 0.9)), error) / most * (right - left) / 2

    parts = [words(16, 18, "Error of the predicted step, %: runs, and the 80 % interval as a bar; worst group first", size=13)]
    for tick in (-80, -40, -20, -10, -5, -1, 1, 5, 10, 20, 40, 80):
        parts += [line(at(tick / 100), top, at(tick / 100), bottom),
                  words(at(tick / 100), bottom + 18, f"{tick:+d}", "middle", 11)]
    parts.append(line(at(0), top, at(0), bottom, "#555555"))
    for number, (group, entries) in enumerate(groups.items()):
        y = top + step * (number + 0.5)
        half = entries[0][0]["half"]
        parts += [words(left - 10, y + 4, name_of(group), "end", 11),
                  line(at(-half), y, at(half), y, "#bbbbbb", 9)]
        parts += [mark(at(error), y, number) for _, error in entries]
    return svg(width, height, "errors of every group", parts)


def read_runs():
    with open(os.path.join(RUNS, "runs.json"), encoding="utf-8") as file:
        return json.load(file)


def predict_all(ppsim, runs):
    """{group: [(run, error)]}, {message: refused runs}, runs whose settings cannot be right, and (run, report) of
    those whose peaks of memory are published."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        predicted = list(pool.map(lambda run: predict(ppsim, run), runs))
    groups, refused, aside, peaks = {}, {}, [], []
    for run, (plan, why) in zip(runs, predicted):
        if plan is None:
            refused.setdefault(why, []).append(run)
            continue
        if "peaks_gib" in run:
            peaks.append((run, plan["prediction"]))
        if "seconds" not in run:
            continue
        run.update(predicted=plan["prediction"]["step_ns"] * 1e-9, half=plan["interval"]["half"])
        if "doubt" in run:
            aside.append(run)
        else:
            groups.setdefault(group_of(run), []).append((run, run["predicted"] / run["seconds"] - 1))
    leave_out(groups)
    leave_out_host(ppsim, groups)
    return dict(sorted(groups.items(), key=lambda item: -mean([abs(e) for _, e in item[1]]))), refused, aside, peaks


def claim(groups, aside):
    """The sentence about dense models that README.md repeats."""
    said = []
    for width, words in (("16", "in 16 bits"), ("8, 4", "in 8 and 4 bits")):
        those = [entry for group, entries in groups.items() if group[0] == "dense" and group[2] == width
                 for entry in entries]
        errors, fitted = left_out(those), [abs(error) for _, error in those]
        left = sum(group_of(run)[0] == "dense" and group_of(run)[2] == width for run in aside)
        runs = f"{len(errors)} runs" + (f"; {left} more is set aside" if left == 1 else f"; {left} more are set aside" if left else "")
        said.append(f"{words} ({runs}) the mean error is {100 * mean(fitted):.1f} %, or "
                    f"{100 * mean(errors):.1f} % (at most {100 * max(errors):.0f} %) if the speed of the stack is taken "
                    "from other models")
    return f"Of published training steps of dense models on H100, B200, GB200 and GB300, {said[0]}; {said[1]}."


def moe_error(groups, width):
    """"4.2 %, at most 10 %; left out 5 and 11 %", of all MoE runs in this width."""
    every = [entry for group, entries in groups.items() if group[0] == "MoE" and group[2] == width for entry in entries]
    errors, others = [abs(error) for _, error in every], left_out(every)
    return (f"{100 * mean(errors):.1f} %, at most {100 * max(errors):.1f} %, left out {100 * mean(others):.1f} and "
            f"{100 * max(others):.1f} %")


def host_words(groups):
    runs = [run for entries in groups.values() for run, _ in entries if is_of_host(run)]
    times = {model_of(run): run["host"] for run in runs}
    return (f"{len(runs)} runs on B200 without CUDA graphs: " +
            " and ".join(f"without {model} it would be {times[model]:.2f} times as long" for model in sorted(times)))


def overlap_lines(groups):
    """A table of steps without and with overlap, measured and predicted."""
    out = ["| model | GPUs | format | batch | without | with | measured, s | predicted, s | sign |", "|---|---|---|---|---|---|---|---|---|"]
    runs = [run for group, entries in sorted(groups.items()) if group[0] == "MoE" for run, _ in entries]
    for off in runs:
        for on in runs:
            if not on.get("overlap") or off.get("overlap") or any(
                    on[key] != off[key] for key in ("model", "hardware", "gpus", "precision", "global_batch_size")):
                continue
            same = (on["seconds"] < off["seconds"]) == (on["predicted"] < off["predicted"])
            out.append(f"| {on['model']} | {on['gpus']} x {on['hardware']} | {on['precision']} | {on['global_batch_size']} | {short(off)} "
                       f"| {short(on)} | {off['seconds']:.4g} -> {on['seconds']:.4g} | {off['predicted']:.4g} -> {on['predicted']:.4g} "
                       f"| {'right' if same else 'WRONG'} |")
    return out


def short(run):
    return (f"pp {run['pp']}, ep {run['ep']}, vpp {run['vpp']}, {run['moe_dispatcher']}" + (", dropping" if "note" in run else "") +
            (f", graphs {run['cuda_graphs']}" if "cuda_graphs" in run else ""))


def coverage(groups):
    """(runs inside of their interval, runs)."""
    return (sum(covered(entries) for entries in groups.values()), sum(len(left_out(e)) for e in groups.values()))


def group_line(group, entries):
    kind, gpu, bits, stack = group
    errors, others = [error for _, error in entries], left_out(entries)
    line = (f"| {kind} | {gpu} | {bits} | {stack} | {len(errors)} | {percent(mean(errors))} "
            f"| {100 * mean([abs(e) for e in errors]):.1f} | {100 * max(abs(e) for e in errors):.1f} |")
    return line + (f" {100 * mean(others):.1f} | {100 * max(others):.1f} | {100 * entries[0][0]['half']:.1f} | "
                   f"{covered(entries)} of {len(others)} |" if others else " | | | |")


def page(data, groups, refused, aside, memory):
    inside, all_of = coverage(groups)
    out = [
        "# Accuracy of predicted steps",
        "",
        "This page compares predictions with published steps, worst first, for everyone who wants to know",
        "how far to trust ppsim for a machine, a number format and a training framework. It is written by",
        "`tests/accuracy.py build/ppsim --update`; a test fails if a prediction moves. Runs of A100 and",
        "kernels are in [cost-model.md](explanation/cost-model.md), sections 8 and 9.",
        "",
        *textwrap.wrap("**" + claim(groups, aside) + "**", 98),
        "",
        "Every run is planned with what its source states: `plan` with its degrees, schedule, batch,",
        "`--precision`, `--stack`, and equal stages where the layers can be divided so. Errors are in",
        "percent of the measured step. A stack has two numbers per GPU architecture that were fitted to",
        "such steps, one for 16-bit GEMMs and one for fewer bits",
        "([traces/data/stacks](../traces/data/stacks)).",
        "",
        "## Groups",
        "",
        "![Predicted and measured steps](pictures/accuracy-steps.svg)",
        "",
        "![Errors of every group](pictures/accuracy-errors.svg)",
        "",
        "| model | GPU | bits | stack | runs | bias | mean | max | left out: mean | max | +/- | inside |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
        *[group_line(group, entries) for group, entries in groups.items()],
        "",
        "\"Left out\" are the errors with the speed of the stack from the other models of the group, or, if",
        "it has one model, from other groups of the stack, multiplied by how much faster other stacks are",
        "on this GPU than on that one, or if no other stack ran on it, by how much faster its hardware file",
        "takes it for. \"+/-\" is the half-width of the 80 % interval that `plan` prints for such a run;",
        "\"inside\" says how many of the runs are in it with the speed from elsewhere:",
        f"**{inside} of {all_of}, {100 * inside / all_of:.0f} %**, over all groups.",
        "",
        "**H100 in 8 bits under nemo-2025** is off because its runs are of two releases: those with cp 2 of",
        "25.01 (NeMo 24.09 and 24.11), those with pp 8 of 25.04. From the one to the other the same FP8 runs",
        "of Nemotron-4 340B became 9 to 13 % faster, in BF16 7 to 9 %. With a number for each release the",
        "mean errors would be 2.3 and 2.2 %, at either cp and pp. It is one stack all the same, since the",
        "next release cannot be told in advance: a run of either may be 7 to 10 % off.",
        "**GB300** has one stack and one model. Without them it takes the stack's speed on other GPUs and its",
        "hardware file's assumption that it keeps as much of its kernels' speed as H100 does.",
        "**B200 in 16 bits**: each run has three steps of one machine, which begin cool. With tp 8 they are",
        "up to 5 % slower than predicted, with tp 4 up to 6 % faster, and no published kernel tells these",
        "apart; the same set-up in a longer step takes up to 4 % longer per microbatch.",
        "",
        *textwrap.wrap(
            "No speed is fitted to **MoE** runs, nor a rate of exchange, which are those of kernels alone. So \"left out\" is "
            "the error itself, but for the host's time per expert in 8 and 4 bits, which is fitted to "
            f"{host_words(groups)}. All MoE runs in 16 bits: mean error {moe_error(groups, '16')}; in 8 and 4 bits: "
            f"{moe_error(groups, '8, 4')}. Dispatcher, recomputed modules, layout, overlap, dropping and CUDA graphs are those "
            "of the scripts that the run's source started, of its release; where a release is not equal to the printed row in "
            "all degrees (B200 and Qwen3 in 25.09 and 25.11), what is not printed is a guess. Not modelled: fused grouped MLPs "
            "and attention in 8 bits of the newest releases on GB200.", 98),
        "",
        "## Overlap on and off",
        "",
        "Published runs of one model, batch, format and number of GPUs with and without the overlap of the",
        "exchange of experts (combined-1f1b). What else differs is in the setups, and they are of different",
        "releases.",
        "",
        *overlap_lines(groups),
        "",
        "## Runs",
        "",
        "\"Releases\" is how far equal configurations of several releases are apart, in percent.",
        "",
        "| error | measured, s | predicted, s | releases | model | GPUs | format | setup |",
        "|---|---|---|---|---|---|---|---|",
    ]
    every = sorted((entry for entries in groups.values() for entry in entries), key=lambda entry: -abs(entry[1]))
    for run, error in every:
        apart = f"{100 * (run['to'] / run['from'] - 1):.0f}" if run["rows"] > 1 else ""
        out.append(f"| {percent(error)} | {run['seconds']:.4g} | {run['predicted']:.4g} | {apart} | {run['model']} "
                   f"| {run['gpus']} x {run['hardware']} | {run['precision']} | {setup(run)} |")
    out += ["", "## Set aside", "",
            "Runs whose printed settings cannot give the printed step, or that do what ppsim does not model.",
            "They count nowhere.", "",
            "| error | model | GPUs | format | setup | why |", "|---|---|---|---|---|---|"]
    for run in aside:
        out.append(f"| {percent(run['predicted'] / run['seconds'] - 1)} | {run['model']} | {run['gpus']} x {run['hardware']} "
                   f"| {run['precision']} | {setup(run)} | {run['doubt']} |")
    out += memory + ["", "## Refused", "", "| runs | models | message |", "|---|---|---|"]
    for why, those in sorted(refused.items()):
        models = ", ".join(sorted({run["model"] for run in those}))
        out.append(f"| {len(those)} | {models} | {why.replace('|', '/')} |")
    out += ["", "## Sources", ""]
    for name, text in data["origin"].items():
        out += textwrap.wrap(f"- {name}: {text}", 98, subsequent_indent="  ")
    return "\n".join(out) + "\n"


# ---- what must hold ----------------------------------------------------------------------------

def check_table(groups):
    """Yields where the table of sim/cost/step_interval.c differs from the errors."""
    with open(os.path.join(ROOT, "sim/cost/step_interval.c"), encoding="utf-8") as file:
        rows = re.findall(r'\{ "([^"]+)", "[^"]+", "([^"]+)", (\w+), (true|false), (true|false), (\d+), (\d+), (\d+),\s+([\d.]+) \}',
                          file.read())
    said = {("MoE" if experts == "true" else "dense", gpu, "16" if bits == "BF16" else "8, 4", stack):
            (cp == "true", int(n), int(average), int(most), float(half))
            for gpu, stack, bits, experts, cp, n, average, most, half in rows}
    found = {group: (any(run["cp"] > 1 for run, _ in entries), len(entries),
                     max(1, round(100 * mean([abs(error) for _, error in entries]))),
                     max(1, round(100 * max(abs(error) for _, error in entries))), half_percent(entries))
             for group, entries in groups.items() if left_out(entries)}
    for group in sorted(said.keys() | found.keys()):
        if said.get(group) != found.get(group):
            yield f"sim/cost/step_interval.c has {said.get(group)} for {', '.join(group)}, but it is {found.get(group)}"


def check(groups, aside):
    """Yields what is wrong, apart from a page that is out of date."""
    yield from check_table(groups)
    inside, all_of = coverage(groups)
    if not 0.7 <= inside / all_of <= 0.9:
        yield f"{inside} of {all_of} runs are in the 80 % interval with the speed from elsewhere; 70 to 90 % should be"
    for group, entries in groups.items():
        if left_out(entries) and entries[0][0]["half"] > 0.02 and entries[0][0]["half"] > 2 * error_of(entries):
            yield f"the interval of {', '.join(group)} is wider than twice its mean error"
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        if claim(groups, aside) not in " ".join(file.read().replace("**", "").split()):
            yield "README.md does not have the sentence of docs/accuracy.md: " + claim(groups, aside)


def worse(old, new):
    """Yields the groups whose mean error grew by more than a point from one page to the other."""
    def means(text):
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.split("\n") if line.startswith("| ")]
        return {tuple(row[:4]): float(row[6]) for row in rows if row[0] in ("dense", "MoE")}
    before = means(old)
    for group, now in means(new).items():
        if now > before.get(group, now) + 1:
            yield f"the mean error of {', '.join(group)} grew from {before[group]} to {now} %"


def main():
    options = sys.argv[2:]
    if len(sys.argv) < 2 or not set(options) <= {"--update", "--worse"}:
        sys.exit(__doc__)
    data = read_runs()
    groups, refused, aside, peaks = predict_all(os.path.abspath(sys.argv[1]), data["runs"] + data["memory_runs"])
    memory, memory_wrong = accuracy_memory.section(peaks)
    files = {PAGE: page(data, groups, refused, aside, memory),
             os.path.join(PICTURES, "accuracy-steps.svg"): draw_steps(groups, WIDE, 460),
             os.path.join(PICTURES, "accuracy-errors.svg"): draw_errors(groups, WIDE, 90 + 26 * len(groups))}
    old = {}
    for path in files:
        old[path] = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    grown = list(worse(old[PAGE], files[PAGE]))
    if "--update" in options:
        if grown and "--worse" not in options:
            sys.exit("\n".join(grown) + "\nnothing is written; --update --worse keeps it")
        for path, text in files.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        print("\n".join(list(check(groups, aside)) + grown))
        return
    wrong = grown + list(check(groups, aside)) + ([memory_wrong] if memory_wrong else [])
    for path, text in files.items():
        if old[path] != text:
            lines = old[path].split("\n")
            wrong += ["now: " + line for line in text.split("\n") if line not in lines][:20] if path == PAGE else []
            wrong.append(f"{os.path.relpath(path, ROOT)} is not what ppsim predicts; read the difference of --update")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
