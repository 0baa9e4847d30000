#!/usr/bin/env python3
"""Plans the published runs of MoE models of tests/data/runs/runs.json as they were run, and free on the same GPUs.

usage: recipes.py PPSIM [--markdown FILE] [--budget TIME] [--only WORD]

"Recipe" is the run's own setup: degrees, schedule, layout, dispatcher, recomputed modules, as tests/accuracy.py plans
it, with no memory limit; its peak is printed beside the limit. "Free" has the same model, GPUs, batch, sequence length,
number format, stack, executor, dispatcher, capacity and CUDA graphs, and nothing else: `plan --gpus N`. What differs in
time is that of the two answers' `time` lines, in seconds of a step. A recipe that ppsim refuses fails the script.
"""
import argparse
import re
import subprocess
import sys

import accuracy

# DeepSeek-V3's own (arXiv 2412.19437, sections 2 and 3.2): 180,000 H800 hours for 10^12 tokens, which is no printed step
# and counts nowhere else.
DEEPSEEK = {"model": "deepseek-v3", "gpus": 2048, "hardware": "h800-80g", "precision": "fp8-block", "seconds": 19.91}
DEEPSEEK_GIVEN = ["--model", "deepseek-v3", "--hw", "h800-80g", "--precision", "fp8-block", "--moe-fp8-dispatch", "on",
                  "--moe-dispatcher", "deepep", "--optimizer-dtype", "bf16", "--global-batch-size", "15360", "--seq-length", "4096",
                  "--executor", "dualpipe"]
DEEPSEEK_OWN = ["--pp", "16", "--tp", "1", "--dp", "128", "--ep", "64", "--schedule", "dualpipev", "--recompute-modules",
                "layernorm,mla_up_proj,moe_act", "--memory-limit", "10TB"]
PARTS = ("compute", "tp", "cp", "ep", "pp", "bubble", "end of step")


def words_of(answer, label):
    """The text of a line of an answer, with those that continue it."""
    found = re.search(rf"^{label} +((?:.*\n)(?: {{4,}}.*\n)*)", answer, re.M)
    return " ".join(found[1].split()) if found else ""


def ask(command):
    """{"run", "step", "memory", parts: seconds}, or None and the message."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip().split("\n")[-1].removeprefix("ppsim: ")
    step, unit = re.match(r"([\d.]+) (\w+)", words_of(done.stdout, "step")).groups()
    seconds = float(step) * {"s": 1, "ms": 1e-3}[unit]
    time, memory = words_of(done.stdout, "time"), words_of(done.stdout, "memory")
    share = {part: 0.0 for part in PARTS}
    for percent, part in re.findall(r"([\d.]+) % (compute|bubble|end of step)", time):
        share[part] = float(percent)
    for part, percent in re.findall(r"\b(tp|cp|ep|pp) ([\d.]+)", time):
        share[part] = float(percent)
    gib = re.match(r"([\d.]+) (GiB|TiB|MiB)", memory).groups()
    return {"run": words_of(done.stdout, "run"), "step": seconds, "gib": float(gib[0]) * {"MiB": 1 / 1024, "GiB": 1, "TiB": 1024}[gib[1]],
            "parts": {part: seconds * share[part] / 100 for part in PARTS}}, None


def recipe_command(ppsim, run):
    return [word for word in accuracy.command(ppsim, run) if word != "--json"]


def free_command(ppsim, run, budget):
    given = recipe_command(ppsim, run)

    def of(option):
        return [option, given[given.index(option) + 1]] if option in given else []
    options = ("--model", "--hw", "--stack", "--precision", "--executor", "--global-batch-size", "--seq-length", "--cp-comm",
               *("--" + key.replace("_", "-") for key in accuracy.OWN))
    return [ppsim, "plan", "--gpus", str(run["gpus"]), *(word for option in options for word in of(option)), "--budget", budget]


def reason(recipe, free):
    """Where the seconds between two plans are: the largest parts of the difference, in words."""
    names = {"compute": "compute (and what is recomputed)", "tp": "exchange of tp", "cp": "exchange of cp", "ep": "exchange of experts",
             "pp": "transfers", "bubble": "bubble", "end of step": "end of step"}
    more = {part: free["parts"][part] - recipe["parts"][part] for part in PARTS}
    whole = sum(abs(value) for value in more.values())
    parts = [part for part in sorted(PARTS, key=lambda part: -abs(more[part])) if abs(more[part]) > 0.2 * whole][:3]
    return ", ".join(f"{names[part]} {more[part]:+.2g} s" for part in parts) or "no part differs"


def degrees(text):
    """The degrees and the schedule of a `run` line."""
    what = [re.search(rf"\b{name} (\d+)", text) for name in ("pp", "tp", "cp", "dp", "ep", "etp", "vpp")]
    said = [f"{found[0]}" for found in what if found]
    size = re.search(r"micro-batch size (\d+)", text)
    said += [f"mbs {size[1]}"] if size and size[1] != "1" else []
    return ", ".join(said) + "; " + ", ".join(re.findall(r"; ([^;]*recomput[^;]*|schedule [^;]*)", text)).replace("schedule ", "")


ABOUT = """# Recipes of published MoE runs, and free plans

This page compares the setups of published runs of MoE models with what `ppsim plan` chooses on the
same GPUs, for those who want to know what the search would change. It is written by
`tests/recipes.py build/ppsim --markdown docs/reference/recipes.md`, which fails if ppsim refuses a
recipe. Its steps are predictions; how far off those of the recipes are is in
[accuracy.md](../accuracy.md).

- **recipe**: the run's own degrees, schedule, layout, dispatcher, recomputed modules and graphs.
- **free**: the same model, GPUs, batch, sequence length, format, stack, executor, dispatcher,
  capacity and graphs, and a search of BUDGET for all else. What an older release lacked (Megatron's
  overlap of pairs, combined-1f1b) the free plan may use, and some of its plans cannot be told to
  Megatron-LM (recomputation per stage): `--target megatron` leaves these out.
- The last row is DeepSeek's own setup, with 180,000 GPU hours for 10^12 tokens (arXiv 2412.19437)
  as its measured step, and executor `dualpipe`.
- **where the difference is**: the largest parts of it, in seconds of a step, free less recipe, by
  the `time` lines of the two answers. Where a setup overlaps pairs, what is hidden is in no part.

ALL

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("ppsim")
    parser.add_argument("--markdown")
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--only")
    args = parser.parse_args()
    runs = [(run, recipe_command(args.ppsim, run), free_command(args.ppsim, run, args.budget))
            for run in accuracy.read_runs()["runs"] if run["ep"] > 1]
    runs.append((DEEPSEEK, [args.ppsim, "plan", *DEEPSEEK_GIVEN, *DEEPSEEK_OWN],
                 [args.ppsim, "plan", *DEEPSEEK_GIVEN, "--gpus", str(DEEPSEEK["gpus"]), "--budget", args.budget]))
    lines = ["| model | GPUs | format | measured | recipe: step | memory | free: step | memory | free / recipe | setup of the recipe | setup of the "
             "free plan | where the difference is |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    refused, seen = [], set()
    for run, own, open_setup in runs:
        if args.only and args.only not in f"{run['model']} {run['hardware']}":
            continue
        key = " ".join(own)
        if key in seen:
            continue
        seen.add(key)
        recipe, why = ask(own)
        if not recipe:
            refused.append(f"{key}: {why}")
            continue
        free, why = ask(open_setup)
        if free:
            tail = (f"{free['step']:.4g} s | {free['gib']:.1f} GiB | {free['step'] / recipe['step']:.2f} | {degrees(recipe['run'])} "
                    f"| {degrees(free['run'])} | {reason(recipe, free)} |")
        else:
            tail = f"none | | | {degrees(recipe['run'])} | | {why} |"
        lines.append(f"| {run['model']} | {run['gpus']} x {run['hardware']} | {run['precision']} | {run['seconds']:.4g} s | {recipe['step']:.4g} s "
                     f"| {recipe['gib']:.1f} GiB | " + tail)
        print(lines[-1], flush=True)
    said = f"{len(seen) - len(refused)} of {len(seen)} recipes are accepted."
    text = ABOUT.replace("BUDGET", args.budget).replace("ALL", said) + "\n".join(lines) + "\n"
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as file:
            file.write(text)
    if refused:
        sys.exit("refused:\n" + "\n".join(refused))
    print(said)


if __name__ == "__main__":
    main()
