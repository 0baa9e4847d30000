"""torchtitan's trainer trains what `ppsim plan --target torchtitan` writes, and as fast as ppsim says.

Four processes on the CPU (titan.py says what is patched) train each plan for some steps. Demanded: every step runs the
ops of FILE.csv in its order, and its losses are finite. The layers take a known time; ops are measured by the layers of
their stage, in all runs together, and with these costs `ppsim simulate` predicts the step of all. Demanded: the
measured order of speed of five plans is the predicted one.

usage: test_torchtitan.py PPSIM

Only with PPSIM_TEST_LONG: it takes four minutes. tools/test --long makes the environment (tools/dev/torch-env
--new)."""
import importlib.util
import itertools
import json
import math
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

if not importlib.util.find_spec("torchtitan"):
    print("skipped: no torchtitan; tools/dev/torch-env --new installs it")
    sys.exit(77)
if "PPSIM_TEST_LONG" not in os.environ:
    print("skipped: PPSIM_TEST_LONG is not set")
    sys.exit(77)

from common import Failure, demand, must, read_rows

RANKS, MICROBATCHES, LAYERS, STEPS = 4, 8, 16, 5
MODEL = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": LAYERS,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128, "max_position_embeddings": 256,
    "tie_word_embeddings": False,
}
PLANS = {
    "1f1b": [], "zb-h1": [], "zbv": [], "v-half": [], "interleaved": ["--vpp", "2"], "looped-bfs": ["--vpp", "2"],
    "dualpipev": [], "planned": ["--budget", "200it"], "1f1b full": [],
}
RANKED = ("zbv", "interleaved", "v-half", "1f1b", "1f1b full")
TIE = 0.02  # of a step: the noise of a busy machine
# gloo sends at once and has a connection for each pair of ranks.
GLOO = ["--comm", "gloo"]
WAIT_SECONDS = 400


def free_ports(count):
    """The first of `count` ports that nobody listens on."""
    for begin in range(29700, 60000, count):
        try:
            for port in range(begin, begin + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return begin
        except OSError:
            continue
    raise Failure("no free ports")


def plan(program, folder, name, options):
    path = folder / f"{name.replace(' ', '-')}.py"
    must(
        program, "plan", "--model", folder / "config.json", "--hw", "h100-80g", "--pp", RANKS, "--tp", 1, "--dp", 1,
        "--seq-length", 32, "--micro-batch-size", 1, "--global-batch-size", MICROBATCHES, "--schedule", name.split()[0],
        "--recompute", "full" if name.endswith("full") else "none", *options, "--target", "torchtitan",
        "--emit", f"torchtitan={path}",
    )
    return {"plan": str(path), "layers": LAYERS, "ranks": RANKS, "steps": STEPS}


def train(folder, jobs):
    """Results[job][rank]. Ends every process it starts."""
    (folder / "jobs.json").write_text(json.dumps({"port": free_ports(len(jobs)), "jobs": jobs}))
    script = pathlib.Path(__file__).with_name("titan.py")
    environment = dict(os.environ, GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    processes = []
    try:
        for rank in range(RANKS):
            with open(folder / f"log.{rank}", "w", encoding="utf-8") as log:
                processes.append(subprocess.Popen(
                    [sys.executable, "-B", script, folder, str(rank)], stdout=log, stderr=log, env=environment,
                    cwd=folder,
                ))
        until = time.monotonic() + WAIT_SECONDS
        while any(process.poll() is None for process in processes):
            codes = [process.poll() for process in processes]
            if set(codes) > {None} and set(codes) != {None, 0}:
                time.sleep(1)  # the others say what they lost
                logs = [(folder / f"log.{rank}").read_text(errors="replace") for rank in range(RANKS)]
                errors = re.findall(r"^.*(?:Error|ERROR).*$", "\n".join(logs), re.MULTILINE)
                raise Failure(f"torchtitan ended with {codes}: " + "\n".join(errors[-6:]))
            demand(time.monotonic() < until, "torchtitan hangs")
            time.sleep(0.2)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()
    return [[json.loads((folder / f"result.{number}.{rank}").read_text()) for rank in range(RANKS)]
            for number in range(len(jobs))]


def check(job, results):
    """The order of every step, and losses."""
    for rank, row in enumerate(read_rows(job["plan"] + ".csv")):
        told = [op for cell in row for op in re.findall(r"\d+[FIWB]\d+", cell)]
        for number, step in enumerate(results[rank]["steps"]):
            ran = [op for op, _ in step]
            demand(ran == told, f"step {number}, rank {rank} runs {ran[:12]}..., the file says {told[:12]}...")
        demand(len(results[rank]["steps"]) == STEPS, f"rank {rank} has made {len(results[rank]['steps'])} steps")
    losses = [loss for result in results for loss in result["losses"]]
    demand(len(losses) == STEPS and all(map(math.isfinite, losses)), f"losses {losses}")


def layers_of(job):
    """Layers of every stage."""
    parts = re.search(r"module_fqns_per_model_part = (\[.*?\n    \])", pathlib.Path(job["plan"]).read_text(), re.DOTALL)
    return [part.count("layers.") for part in re.findall(r"\[([^\[\]]*)\]", parts[1])]


def measure(jobs, ran):
    """Median seconds of F, B, I, W by the layers of a stage, of all steps but the first. Those that run layers again
    are left out."""
    found = {}
    for name, job in jobs.items():
        layers = layers_of(job)
        for result in ran[name] if not name.endswith("full") else []:
            for op, seconds in itertools.chain.from_iterable(result["steps"][1:]):
                stage, kind = re.match(r"(\d+)([FBIW])", op).groups()
                # On the first stage, I is nothing and W both.
                if int(stage) or kind in "FB":
                    found.setdefault((kind, layers[int(stage)]), []).append(seconds)
    return {key: statistics.median(values) for key, values in sorted(found.items())}


def predict(program, folder, job, seconds, full):
    """Milliseconds of the step. For layers that run again a B takes an F more."""
    costs = {"format": "ppsim.costs", "version": 1, "comm_ns": 500000, "again_ns": 0}

    def table(kind):
        # Where no stage of that size did it, it is not in the schedule.
        return [round(1e9 * seconds.get((kind, count), 0.001)) for count in layers_of(job)]

    costs["forward_ns"], costs["backward_ns"] = table("F"), table("B")
    costs["input_ns"], costs["weight_ns"] = table("I"), table("W")
    if full:
        costs["backward_ns"] = [b + f for b, f in zip(costs["backward_ns"], costs["forward_ns"])]
    (folder / "costs.json").write_text(json.dumps(costs))
    done = subprocess.run(
        [program, "simulate", job["plan"] + ".csv", "--costs-file", folder / "costs.json", "--executor", "torch-2.15",
         *GLOO, "--json"], capture_output=True, text=True, timeout=100, check=False,
    )
    demand(done.returncode == 0, f"simulate: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["makespan_ns"] / 1e6


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.json").write_text(json.dumps(MODEL))
        jobs = {plan_name: plan(program, folder, plan_name, options) for plan_name, options in PLANS.items()}
        ran = dict(zip(jobs, train(folder, list(jobs.values()))))
        for plan_name, job in jobs.items():
            check(job, ran[plan_name])
        seconds = measure(jobs, ran)
        print("ops: " + ", ".join(
            f"{kind} of {count} layers {1e3 * of:.1f} ms" for (kind, count), of in seconds.items()))
        measured, predicted = {}, {}
        for plan_name, job in jobs.items():
            measured[plan_name] = 1e3 * min(
                max(result["seconds"][step] for result in ran[plan_name]) for step in range(1, STEPS))
            predicted[plan_name] = predict(program, folder, job, seconds, plan_name.endswith("full"))
            tokens = 32 * MICROBATCHES / measured[plan_name] * 1e3
            off = 100 * (predicted[plan_name] / measured[plan_name] - 1)
            print(f"{plan_name}: order as in the file; step {measured[plan_name]:.0f} ms ({tokens:.0f} tokens/s), "
                  f"predicted {predicted[plan_name]:.0f} ({off:+.1f} %)")
        pairs = list(itertools.combinations(PLANS, 2))
        agree = sum((measured[a] < measured[b]) == (predicted[a] < predicted[b]) for a, b in pairs)
        print(f"rank agreement of all (Kendall): {2 * agree / len(pairs) - 1:.2f}")
        order = sorted(RANKED, key=predicted.get)
        for fast, slow in itertools.combinations(order, 2):
            demand(measured[fast] < (1 + TIE) * measured[slow], f"{fast} is slower than {slow}; predicted {order}")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED {failure}")
