"""Plans of drawn schedules under every executor: simulate, check, convert and the targets agree.

A plan that simulate has run cannot hang by check, under the lanes and modes that it names; it is read back
to the same bytes; and check --target says what simulate --emit says of that target.
"""

import json
import os

from harness import Wrong, main

EXECUTORS = ["ideal", "torch", "torch-defer-recv", "megatron", "megatron-unbatched", "megatron-overlap",
             "megatron-overlap-flush", "deepspeed", "zero-bubble", "colossalai", "neuronx", "xla", "xla-fused", "ppsim"]
SCHEDULES = ["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zbv", "zbv-auto", "dualpipev", "looped-bfs",
             "combined-1f1b"]
TARGETS = {"torchtitan": "run.py", "automodel": "run.yaml", "megatron": "run.args"}


def attack(rng, ppsim):
    pp = rng.choice([1, 2, 2, 3, 4, 4, 6])
    schedule = rng.choice(SCHEDULES)
    microbatches = rng.choice([1, 2, 3, 4, 6, 8, 12])
    asked = ["--schedule", schedule, "--pp", str(pp), "--microbatches", str(microbatches)]
    if schedule in ("interleaved", "looped-bfs", "combined-1f1b"):
        asked += ["--vpp", str(rng.choice([1, 2, 3]))]
    asked += ["--costs", "F={}ms,I={}ms,W={}ms,comm={}ms".format(*(rng.choice([0, 1, 1, 2, 5]) for _ in range(4))),
              "--executor", rng.choice(EXECUTORS)]
    if rng.random() < 0.3:
        asked += ["--comm", rng.choice(["rendezvous", "eager:1B", "batched"])]
    if rng.random() < 0.3:
        asked += ["--lanes", rng.choice(["single", "per-direction", "per-peer", "per-edge"])]
    if rng.random() < 0.2:
        asked += ["--shapes", rng.choice(["local", "message", "cached"])]
    status, out, err = ppsim("simulate", *asked, "--emit", "plan=plan.json", "--json", "-o", "report.json")
    if status and "hang" in err:
        return "hangs"  # and no plan is written
    if status:
        return "refused" if status in (1, 2) else fail(asked, f"status {status}: {err}")
    with open(os.path.join(ppsim.folder, "report.json")) as file:
        report = json.load(file)
    status, out, err = ppsim("simulate", "plan.json", "--json")
    if status or json.loads(out)["makespan_ns"] != report["makespan_ns"]:
        fail(asked, f"the plan is simulated otherwise: {status} {err}")
    status, out, err = ppsim("convert", "plan.json", "--to", "plan", "-o", "again.json")
    status, out, err = ppsim("check", "plan.json", "--json")
    if status and "ideal" not in asked or status not in (0, 1, 2):
        fail(asked, f"simulate ran it, but check says {status}: {out} {err}")
    target, name = rng.choice(list(TARGETS.items()))
    emitted, _, why = ppsim("simulate", "plan.json", "--emit", f"{target}={name}", "-o", "report.txt")
    status, out, err = ppsim("check", "plan.json", "--target", target)
    if (emitted == 0) != (status == 0):
        fail(asked, f"--emit {target}: status {emitted}, {why}; check --target: status {status}, {err}{out}")
    return "run"


def fail(asked, words):
    raise Wrong("simulate " + " ".join(asked) + ": " + words)


if __name__ == "__main__":
    main(attack, __doc__.splitlines()[0])
