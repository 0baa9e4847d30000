"""The simulator of web pages (tools/page/simulator.js) answers as the command does, byte for byte.

usage: simulator.py PPSIM node|chromium|firefox [--seed N] [--cases N] [--case K] [--times]

Draws cases: schedule, ranks, microbatches, stages per rank, costs, memory, a slow rank, jitter,
frameworks, files and mistakes. Each runs with PPSIM and in Node or a headless browser, where a page
from file:// holds the script; what is compared are the JSON, the exit status, what standard error
says, and the files written. Case K of seed N is always the same. Without --cases there are 20, or 200
with PPSIM_TEST_LONG. --times prints how long a step of 64 ranks and 512 microbatches takes in both.
Exit status 77: skipped, for the reason printed.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

SCRIPT = os.path.abspath("tools/page/simulator.js")
ENVIRONMENT = "build/browser-env"  # made by tools/dev/browser-env
PATIENCE = float(os.environ.get("PPSIM_TEST_PATIENCE") or 1)
PLANS = [["--model", "gpt175b", "--pp", "8", "--tp", "8"], ["--model", "llama3-70b", "--pp", "4", "--tp", "8"]]

# Runs the cases where `ppsim` is the interface; `cases` is a list of [options, files].
RUN = """
async function answers(ppsim, cases) {
    let simulator = await ppsim.load();
    return cases.map(([options, files]) => {
        try {
            const answer = simulator.run("simulate", options, files);
            let json = answer.json;
            let thrown = null;
            try {
                json = simulator.simulate(options, files);
            } catch (error) {
                if (!(error instanceof ppsim.Error))
                    throw error;
                thrown = [error.exit, error.field, error.reason];
            }
            return { ...answer, same: json === answer.json, thrown };
        } catch (error) {
            return { broken: String(error) };
        }
    });
}
async function times(ppsim, options) {
    const before = performance.now();
    const simulator = await ppsim.load();
    const loaded = performance.now();
    simulator.simulate(options);
    const first = performance.now();
    for (let i = 0; i < 10; i++)
        simulator.simulate(options);
    return [loaded - before, first - loaded, (performance.now() - first) / 10];
}
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def time_text(rng):
    unit = rng.choice(["us", "ms", "ms", "ms", "s", "ns"])
    return f"{rng.randint(1, 10**6) if unit == 'ns' else rng.choice([1, 18.5, 33.25, rng.randint(1, 10**6) / 1000])}{unit}"


class Cases:
    """Draws cases; what they share is asked of ppsim once."""

    def __init__(self, ppsim, folder):
        def names(what):
            return [row["name"] for row in self.ask(["list", what, "--json"])]
        self.ppsim, self.folder = ppsim, folder
        self.schedules, self.executors = names("schedules"), names("executors")
        self.profiles, self.hardware = names("profiles"), names("hardware")
        self.plans = []
        for options in PLANS:
            subprocess.run([ppsim, "plan", *options, "--emit", "plan=p.json"], cwd=folder, check=True,
                           capture_output=True, timeout=60 * PATIENCE)
            with open(os.path.join(folder, "p.json")) as file:
                self.plans.append(file.read())

    def ask(self, words):
        done = subprocess.run([self.ppsim, *words], check=True, capture_output=True, text=True)
        answer = json.loads(done.stdout)
        return answer if isinstance(answer, list) else next(v for v in answer.values() if isinstance(v, list))

    def draw(self, rng):
        """Returns options, as pairs, and files."""
        options, files = [], {}
        ranks = rng.choice([1, 2, 3, 4, 4, 6, 8, 8, 16, 32])
        kind = rng.choice(["schedule"] * 6 + ["plan", "plan", "csv"])
        if kind == "schedule":
            options, files = self.named(rng, ranks)
        elif kind == "plan":
            ranks = 4  # the fewest of the plans
            text = rng.choice(self.plans)
            if rng.random() < 0.15:
                at = rng.randrange(len(text))
                text = text[:at] + rng.choice(["", "?", "}", "\u00e9", "9"]) + text[at + rng.choice([0, 1, 40]):]
            options, files = [["", "plan.json"]], {"plan.json": text}
            if rng.random() < 0.4:  # costs by the model of kernels, and by a profile
                options += [["recost", True], ["profile", rng.choice(self.profiles)], ["hw", rng.choice(self.hardware)]]
        else:
            ranks = 2
            rows = ["0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"]
            files = {"order.csv": "\n".join(rows) + "\n" if rng.random() < 0.8 else rows[0] + "\nx"}
            options = [["", "order.csv"], ["costs", f"F={time_text(rng)},B={time_text(rng)}"]]
        given = dict(options)
        knows_memory = kind == "plan" or "GB" in given.get("memory-costs", "") or "costs-file" in given
        options += self.studied(rng, ranks, knows_memory)
        if rng.random() < 0.1:
            options.append(rng.choice([["memory-limit", "80XB"], ["jitter", "compute=x"], ["pp", "-1"],
                                       ["modle", "x"], ["costs", "F=1"], ["schedule", None]]))
        return [[name, value] for name, value in dict(options).items()], files  # an option twice replaces

    def named(self, rng, ranks):
        """A schedule by its name, with its costs."""
        schedule = rng.choice(self.schedules)
        microbatches = ranks * rng.randint(1, 4) if rng.random() < 0.7 else rng.randint(1, 40)
        options = [["schedule", schedule], ["pp", ranks], ["microbatches", microbatches]]
        if schedule in ("interleaved", "combined-1f1b", "looped-bfs", "interleaved-zb"):
            options.append(["vpp", rng.randint(2, 4)])
        if rng.random() < 0.2:
            return options + [["costs-file", "costs.json"]], {"costs.json": json.dumps(self.costs_file(rng))}
        return options + self.costs(rng), {}

    def costs_file(self, rng):
        costs = {"format": "ppsim.costs", "version": 1, "forward_ns": rng.randint(1, 10**9),
                 "comm_ns": rng.randint(0, 10**6)}
        if rng.random() < 0.5:
            costs["backward_ns"] = rng.randint(1, 10**9)
        else:
            costs.update(input_ns=rng.randint(1, 10**9), weight_ns=rng.randint(1, 10**9))
        if rng.random() < 0.7:
            costs["memory"] = {key: rng.randint(0, 10**11) for key in ("activation_bytes", "message_bytes",
                                                                     "temporary_bytes")}
        return costs

    def costs(self, rng):
        split = rng.random() < 0.5
        backward = f"I={time_text(rng)},W={time_text(rng)}" if split else f"B={time_text(rng)}"
        comm = f",comm={time_text(rng)}" if rng.random() < 0.6 else ""
        options = [["costs", f"F={time_text(rng)},{backward}{comm}"]]
        if rng.random() < 0.3:
            options.append(["memory-costs", rng.choice(["F=1,I=-0.5,W=-0.5", "F=2GB,I=-1GB,W=-1GB"])])
        return options

    def studied(self, rng, ranks, knows_memory):
        """What is changed, and what is asked for."""
        options = []
        rank = rng.randrange(ranks)
        executor = rng.choice(self.executors) if rng.random() < 0.2 else \
            rng.choice([None, None, "torch", "torch-2.15", "ppsim"])
        if executor:
            options.append(["executor", executor])
        waits = 0.15 if executor and executor != "ideal" else 0.01  # how often what only these have is given
        drawn = [
            (0.4, lambda: ["rank-speed", f"{rank}={rng.choice([0.5, 0.8, 0.93, 1.1, 3])}"]),
            (0.2 if knows_memory else 0.01,
             lambda: ["memory-limit", rng.choice(["1GB", "16GB", "40GiB", "80GB", "1TB"])]),
            (0.1 if knows_memory else 0.01, lambda: ["rank-memory", f"{rank}=20GiB"]),
            (0.3, lambda: ["worst", rng.randint(0, 30)]),
            (0.4, lambda: ["why", True]),
            (0.2, lambda: ["sensitivity", True]),
            (0.4, lambda: ["jitter", rng.choice(["compute=0.02", "compute=0.02,comm=0.1", "F=0.01,B=0.3",
                                                f"slow-rank={rank}:1.3", "compute=0.05,slow-link=any:2",
                                                "compute=0.1,scenarios=50"])]),
            (0.2, lambda: ["seed", rng.randrange(2**32)]),
            (waits, lambda: ["comm", rng.choice(["rendezvous", "eager:1MB", "batched", "nccl", "gloo"])]),
            (0.1, lambda: ["step-sync", rng.choice(["on", "off"])]),
            (waits, lambda: rng.choice([["host", "launch=5us,sync=20us,read=10us"], ["nic", rng.randint(1, 4)],
                                        ["overlap-slowdown", "compute=1.1,comm=1.3"]])),
            (0.1, lambda: ["forward-only", True]),
            (0.2, lambda: ["trace", rng.choice(["chrome=t.json", "text=t.txt"] +
                                               ["memory-json=m.json", "memory-csv=m.csv"] * knows_memory)]),
            (0.1, lambda: ["emit", rng.choice(["plan=new.json", "pytorch-csv=o.csv", "text=o.txt"])]),
        ]
        for share, make in drawn:
            if rng.random() < share:
                options.append(make())
        return options


def words_of(options):
    words = []
    for name, value in options:
        if name and value is not None:
            words += ["--" + name] + ([] if value is True else [str(value)])
        elif value is not None:
            words.append(value)
    return words


def native(ppsim, options, files):
    """What the command does with a case: JSON, exit status, standard error, files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", newline="") as file:
                file.write(text)
        done = subprocess.run([ppsim, "simulate", *words_of(options), "--json"], cwd=folder, capture_output=True,
                              timeout=120 * PATIENCE)
        made = {}
        for name in set(os.listdir(folder)) - set(files):
            with open(os.path.join(folder, name), newline="") as file:
                made[name] = file.read()
    return done.stdout.decode(), done.returncode, done.stderr.decode(), made


def compared(answer):
    """The same of an answer of the page."""
    said = answer["remarks"].splitlines()
    if answer["exit"]:
        said.append(f"{answer['field']}: {answer['reason']}" if answer["field"] else answer["reason"])
    return answer["json"], answer["exit"], "".join(f"ppsim: {line}\n" for line in said), answer["files"]


def in_node(call):
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        skip("no Node.js (Debian: nodejs)")
    program = f"{RUN}\nconst ppsim = require({json.dumps(SCRIPT)});\n" \
              f"{call}.then(result => console.log(JSON.stringify(result)));"
    done = subprocess.run([node, "-"], input=program, capture_output=True, text=True, timeout=600 * PATIENCE)
    if done.returncode:
        sys.exit(f"Node failed: {done.stderr}")
    return json.loads(done.stdout)


def write_page(folder, call):
    with open(SCRIPT) as file:
        script = file.read()
    path = os.path.join(folder, "page.html")
    with open(path, "w") as file:
        file.write(f"<!DOCTYPE html><meta charset='utf-8'><title>running</title><script>{script}</script>"
                   f"<script>{RUN}</script><script>{call.replace('<', chr(92) + 'u003c')}"
                   ".then(result => { window.result = JSON.stringify(result); },"
                   " error => { window.result = JSON.stringify(String(error)); })"
                   ".finally(() => { document.title = 'done'; });</script>")
    return "file://" + path


def in_browser(call, kind, *programs):
    """What the call gives in a page that Playwright opens from disk with the browser of the system."""
    program = next(filter(None, map(shutil.which, programs)), None)
    if not program:
        skip(f"no {programs[0]}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        python = os.path.join(ENVIRONMENT, "bin", "python")
        if not os.path.exists(python) or os.path.realpath(sys.prefix) == os.path.realpath(ENVIRONMENT):
            skip("no playwright (tools/dev/browser-env installs it)")
        os.execv(python, [python, "-B", *sys.argv])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        more = {"args": ["--no-sandbox"]} if kind == "chromium" else {"channel": "moz-firefox"}
        browser = getattr(playwright, kind).launch(executable_path=program, headless=True, **more)
        page = browser.new_page()
        page.goto(write_page(folder, call))
        page.wait_for_function("document.title === 'done'", timeout=600_000 * PATIENCE)
        result = page.evaluate("window.result")
        browser.close()
    return json.loads(result)


def in_chromium(call):
    return in_browser(call, "chromium", "chromium")


def in_firefox(call):
    return in_browser(call, "firefox", "firefox-esr", "firefox")


def compare(ppsim, means, seed, numbers):
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(ppsim, folder)
        drawn = {number: cases.draw(random.Random(f"{seed}/{number}")) for number in numbers}
    answers = means(f"answers(ppsim, {json.dumps(list(drawn.values()))})")
    if isinstance(answers, str):
        sys.exit(answers)
    exits = {}
    wrong = 0
    for (number, (options, files)), answer in zip(drawn.items(), answers):
        expected = native(ppsim, options, files)
        exits[expected[1]] = exits.get(expected[1], 0) + 1
        found = (answer["broken"],) if "broken" in answer else compared(answer)
        if found == expected and answer["same"] and bool(answer["thrown"]) == bool(answer["exit"]):
            continue
        wrong += 1
        print(f"case {number} of seed {seed}: ppsim simulate {' '.join(words_of(options))}")
        for what, ours, theirs in zip(("JSON", "exit status", "standard error", "files"), expected, found):
            if ours != theirs:
                print(f"  {what} of the command: {str(ours)[:1500]}\n  {what} of the page: {str(theirs)[:1500]}")
    kinds = ", ".join(f"{count} with exit status {status}" for status, count in sorted(exits.items()))
    print(f"seed {seed}: {len(drawn)} cases ({kinds}), {wrong} differ")
    return wrong


def print_times(ppsim, means):
    options = {"schedule": "1f1b", "pp": 64, "microbatches": 512, "costs": "F=10ms,B=20ms,comm=1ms"}
    load, first, later = means(f"times(ppsim, {json.dumps(options)})")
    took = []
    for _ in range(10):
        begin = time.monotonic()
        subprocess.run([ppsim, "simulate", *words_of(options.items()), "--json"], capture_output=True, check=True)
        took.append((time.monotonic() - begin) * 1000)
    print(f"page: load {load:.0f} ms, first step {first:.0f} ms, mean of 10 more {later:.0f} ms; "
          f"command: {min(took):.0f} to {max(took):.0f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ppsim")
    parser.add_argument("means", choices=["node", "chromium", "firefox"])
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PPSIM_TEST_SEED") or 0))
    parser.add_argument("--cases", type=int, default=200 if os.environ.get("PPSIM_TEST_LONG") else 20)
    parser.add_argument("--case", type=int)
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    ppsim = os.path.abspath(options.ppsim)
    means = {"node": in_node, "chromium": in_chromium, "firefox": in_firefox}[options.means]
    if options.times:
        print_times(ppsim, means)
        return
    numbers = range(options.cases) if options.case is None else [options.case]
    sys.exit(1 if compare(ppsim, means, options.seed, numbers) else 0)


main()
