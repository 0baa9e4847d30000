#!/usr/bin/env python3
"""Predicts the published runs of tests/data/runs/runs.json and writes docs/accuracy.md.

usage: accuracy.py PPSIM [--update]

Without --update it fails if the page is not what it would write: a prediction that moves is read before
it is kept. Every run is planned with all that its source states (degrees, schedule, batch, format,
stack) and with no memory limit; of equal configurations in several releases the median counts. "Another
model" is the error if the stack's speed is taken from the other models of its group: a prediction is
nearly proportional to it, so that the error is divided by theirs.
"""
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import sys
import textwrap

import accuracy_memory

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs/accuracy.md")
RUNS = os.path.join(ROOT, "tests/data/runs")
MODELS = os.path.join(ROOT, "traces/data/models")


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
        "--pp", run["pp"], "--tp", run["tp"], "--cp", run["cp"], "--dp", run["dp"], "--ep", run["ep"],
        "--vpp", run["vpp"], "--schedule", "interleaved" if run["vpp"] > 1 else "1f1b",
        "--executor", "megatron" if run["vpp"] == 1 or run["stack"] == "megatron-2025"
        else "megatron-overlap",
        "--micro-batch-size", run["micro_batch_size"], "--global-batch-size", run["global_batch_size"],
        "--seq-length", run["seq_length"], "--partition", "uniform" if whole else "auto", "--recompute", "none",
        "--memory-limit", "10TB", "--json")]


def predict(ppsim, run):
    """(the report, None), or (None, why ppsim refuses)."""
    done = subprocess.run(command(ppsim, run), capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip().split("\n")[-1].removeprefix("ppsim: ")
    return json.loads(done.stdout)["prediction"], None


def group_of(run):
    bits = {"bf16": "16", "fp16": "16", "nvfp4": "4"}.get(run["precision"], "8")
    return ("MoE" if run["ep"] > 1 else "dense", run["hardware"], bits, run["stack"])


def percent(part):
    return f"{100 * part:+.1f}"


def other_models(run, group):
    """The error with the speed of the other models of the group; None if there are none."""
    others = [1 + error for other, error in group if other["model"] != run["model"]]
    return (1 + dict_error(run, group)) / statistics.mean(others) - 1 if others else None


def dict_error(run, group):
    return next(error for other, error in group if other is run)


def setup(run):
    text = f"pp {run['pp']}, tp {run['tp']}"
    for key in ("cp", "ep"):
        text += f", {key} {run[key]}" if run[key] > 1 else ""
    return text + (f", vpp {run['vpp']}" if run["vpp"] > 1 else "") + f", batch {run['global_batch_size']}"


def page(ppsim):
    with open(os.path.join(RUNS, "runs.json"), encoding="utf-8") as file:
        data = json.load(file)
    runs = data["runs"] + data["memory_runs"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        predicted = list(pool.map(lambda run: predict(ppsim, run), runs))
    groups, refused, peaks = {}, {}, []
    for run, (report, why) in zip(runs, predicted):
        if report is None:
            refused.setdefault(why, []).append(run)
            continue
        if "peaks_gib" in run:
            peaks.append((run, report))
        if "seconds" in run:
            run["predicted"] = seconds = report["step_ns"] * 1e-9
            groups.setdefault(group_of(run), []).append((run, seconds / run["seconds"] - 1))
    out = [
        "# Accuracy of predicted steps",
        "",
        "This page compares predictions with published steps, worst first, for everyone who wants to know",
        "how far to trust ppsim for a machine, a number format and a training framework. It is written by",
        "`tests/accuracy.py build/ppsim --update`; a test fails if a prediction moves. Runs of A100 and",
        "kernels are in [cost-model.md](explanation/cost-model.md), sections 8 and 9.",
        "",
        "Every run is planned with what its source states: `plan` with its degrees, schedule, batch,",
        "`--precision`, `--stack`, and equal stages where the layers can be divided so. Errors are in",
        "percent of the measured step. **A stack has two numbers per GPU architecture that were fitted to",
        "such steps**, one for 16-bit GEMMs and one for fewer bits",
        "([traces/data/stacks](../traces/data/stacks)); \"other models\" is the mean error if they are",
        "taken from the other models of the group instead.",
        "",
        "## Groups",
        "",
        "| model | GPU | bits | stack | runs | bias | mean | max | other models |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    order = sorted(groups.items(), key=lambda item: -statistics.mean(abs(e) for _, e in item[1]))
    for (kind, gpu, bits, stack), group in order:
        errors = [error for _, error in group]
        others = [error for error in (other_models(run, group) for run, _ in group) if error is not None]
        out.append(f"| {kind} | {gpu} | {bits} | {stack} | {len(errors)} | {percent(statistics.mean(errors))} "
                   f"| {100 * statistics.mean(map(abs, errors)):.1f} | {100 * max(map(abs, errors)):.1f} | "
                   + (f"{100 * statistics.mean(map(abs, others)):.1f} |" if others else "one model |"))
    out += [
        "",
        "MoE runs are not fitted, and dispatchers, folding and recomputation by module are not modelled",
        "yet: these groups are no more than a warning.",
        "",
        "## Runs",
        "",
        "\"Releases\" is how far equal configurations of several releases are apart, in percent.",
        "",
        "| error | measured, s | predicted, s | releases | model | GPUs | format | setup |",
        "|---|---|---|---|---|---|---|---|",
    ]
    every = sorted((entry for group in groups.values() for entry in group), key=lambda entry: -abs(entry[1]))
    for run, error in every:
        apart = f"{100 * (run['to'] / run['from'] - 1):.0f}" if run["rows"] > 1 else ""
        out.append(f"| {percent(error)} | {run['seconds']:.4g} | {run['predicted']:.4g} | {apart} | {run['model']} "
                   f"| {run['gpus']} x {run['hardware']} | {run['precision']} | {setup(run)} |")
    memory, worse = accuracy_memory.section(peaks)
    out += memory + ["", "## Refused", "", "| runs | models | message |", "|---|---|---|"]
    for why, those in sorted(refused.items()):
        models = ", ".join(sorted({run["model"] for run in those}))
        out.append(f"| {len(those)} | {models} | {why.replace('|', '/')} |")
    out += ["", "## Sources", ""]
    for name, text in data["origin"].items():
        out += textwrap.wrap(f"- {name}: {text}", 98, subsequent_indent="  ")
    return "\n".join(out) + "\n", groups, worse


def check_table(groups):
    """What `plan` says of these errors (sim/cost/published_steps.c) is what they are, rounded."""
    with open(os.path.join(ROOT, "sim/cost/published_steps.c"), encoding="utf-8") as file:
        rows = re.findall(r'\{ "([^"]+)", "([^"]+)", (true|false), dense, (true|false), (\d+), (\d+), (\d+) \}', file.read())
    said = {(gpu, stack, low == "true"): (cp == "true", int(n), int(mean), int(most))
            for gpu, stack, low, cp, n, mean, most in rows}
    found = {}
    for (kind, gpu, bits, stack), group in groups.items():
        if kind == "dense":
            found.setdefault((gpu, stack, bits != "16"), []).extend((run["cp"] > 1, abs(error)) for run, error in group)
    found = {key: (any(cp for cp, _ in errors), len(errors),
                   max(1, round(100 * statistics.mean(error for _, error in errors))),
                   round(100 * max(error for _, error in errors))) for key, errors in found.items()}
    if said != found:
        sys.exit(f"sim/cost/published_steps.c says {said}, but the errors are {found}")


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--update"):
        sys.exit(__doc__)
    text, groups, worse = page(os.path.abspath(sys.argv[1]))
    if len(sys.argv) == 3:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
        return
    with open(PAGE, encoding="utf-8") as file:
        now = file.read()
    if now != text:
        old, new = now.split("\n"), text.split("\n")
        for line in [line for line in new if line not in old][:20]:
            print("now:", line)
        sys.exit("docs/accuracy.md is not what ppsim predicts; read the difference of --update")
    if worse:
        sys.exit(worse)
    check_table(groups)


if __name__ == "__main__":
    main()
