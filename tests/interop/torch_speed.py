"""What size protocols cost in ppsim.torch, and what its packed steps take beside PyTorch's own schedules, which
need one shape and so pad. gloo processes on this machine's processors; a small Llama-shaped model.

All runs are in the same processes, in turn, so that what else the machine does meets all of them. Per protocol:
the shortest step over that of `plan`, and beside it the simulated one, from the shortest times of plan's ops. Memory is counted, not read off the process: storages that autograd keeps
(saved.py), and receive buffers.

usage: build/torch-env/bin/python tests/interop/torch_speed.py [--write docs/explanation/shape-overhead.md]
   (the package is that of build/python/fresh, which tests/python/wheel.sh makes)
"""
import datetime
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules

import test_torch_runtime as runtime  # finds the package
import ppsim
import packed_model as packed
import saved

RANKS, ROUNDS, HIDDEN, FFN, LAYERS = 2, 9, 128, 352, 4
SIZES = {"hidden": HIDDEN, "heads": 8, "ffn": FFN}
BEGIN = "<!-- written by tests/interop/torch_speed.py: begin -->"
END = "<!-- written by tests/interop/torch_speed.py: end -->"


def read_lengths(name, fill, divisor):
    """A list of lengths of traces/data/lengths, divided, packed first-fit into rows of `fill` tokens."""
    with open(f"traces/data/lengths/{name}.txt", encoding="ascii") as file:
        lengths = [-(-int(line) // divisor) for line in file if line[0].isdigit()]
    bins = []
    for length in lengths:
        fits = [one for one in bins if sum(one) + length <= fill]
        if fits:
            fits[0].append(length)
        else:
            bins.append([length])
    return bins[:32]


def make_stages(rank, home):
    return runtime.make_stages(rank, home, layers=LAYERS // len(home), **SIZES)


def timed(step):
    """Seconds of a step of all ranks, which begin together."""
    dist.barrier()
    begin = time.perf_counter()
    step()
    dist.barrier()
    return time.perf_counter() - begin


def counted(step, modules):
    """The most bytes that autograd keeps on this rank during a step."""
    ledger = saved.Ledger([p for module in modules for p in module.parameters()])

    class Held:
        def __init__(self, tensor):
            self.tensor, self.key = tensor, ledger.take(tensor)

        def __del__(self):
            ledger.drop(self.key)

    with torch.autograd.graph.saved_tensors_hooks(lambda t: Held(t.detach()), lambda held: held.tensor):
        step()
    return ledger.peak


# --- protocols -----------------------------------------------------------------------------------


def run_protocols(rank, plan, home, lengths):
    """Per protocol: seconds of each round, counts; and the shortest times that `plan`'s ops of this rank took."""
    modules = make_stages(rank, home)
    data = packed.batch(lengths, 1)
    pipelines = {protocol: ppsim.torch.Pipeline(plan, modules, hidden=HIDDEN, loss_fn=packed.loss_of,
                                                protocol=protocol) for protocol in ppsim.torch.PROTOCOLS}
    seconds = {protocol: [] for protocol in pipelines}
    ops = {}
    for number in range(ROUNDS + 1):  # the first one warms up
        for protocol, pipeline in pipelines.items():
            for module in modules.values():
                module.zero_grad()
            took = timed(lambda run=pipeline: run.step(*data, lengths=lengths))
            if number:
                seconds[protocol].append(took)
            if number and protocol == "plan":
                for op in pipeline.timeline():
                    key = (str(op["kind"]), int(op["stage"]), int(op["microbatch"]))
                    ops.setdefault(key, []).append(int(op["end_ns"] - op["start_ns"]))
    counts = {protocol: pipeline.counts for protocol, pipeline in pipelines.items()}
    return seconds, counts, {key: min(all_of) for key, all_of in ops.items()}


def with_costs(plan, ops):
    """The plan with measured durations: forward_ns[stage][microbatch], and so on."""
    content = json.loads(plan)
    stages = 1 + max(stage for _, stage, _ in ops)
    count = 1 + max(microbatch for _, _, microbatch in ops)

    def table(kind):
        return [[ops[kind, stage, j] for j in range(count)] for stage in range(stages)]

    costs = content["costs"]
    costs["forward_ns"] = table("F")
    backward = table("B")
    costs["input_ns"] = [[(b + 1) // 2 for b in row] for row in backward]
    costs["weight_ns"] = [[b // 2 for b in row] for row in backward]
    content.pop("prediction", None)
    return content


def simulated(plan, ops):
    """Predicted seconds per protocol, where the simulator has it for a plan without a model."""
    content, found = with_costs(plan, ops), {}
    for protocol in ppsim.torch.PROTOCOLS:
        try:
            found[protocol] = ppsim.simulate(content, shapes=protocol, executor="ppsim").step
        except ppsim.PpsimError as error:
            print(f"simulated {protocol}: {error}", file=sys.stderr)
    return found


def protocol_rows():
    rows = []
    for name, fill, divisor in (("lognormal-8k", 256, 32), ("long-8k", 256, 32)):
        lengths = read_lengths(name, fill, divisor)
        plan = runtime.named("1f1b", RANKS, len(lengths), costs="F=1ms,B=2ms")
        results = runtime.all_of(runtime.launch(
            RANKS, run_protocols, plan, runtime.home_of(plan), lengths, seconds=900))
        seconds, counts, _ = results[0]
        ops = {key: value for _, _, own in results for key, value in own.items()}
        said = simulated(plan, ops)
        for protocol, times in seconds.items():
            over = 100 * (min(times) / min(seconds["plan"]) - 1)
            total = {key: sum(one[protocol][key] for _, one, _ in results) for key in counts[protocol]}
            step = said.get(protocol)
            if protocol == "plan":
                beside, compared = f"{1e3 * step:.1f} ms", ""
            else:
                beside = "" if step is None else f"{100 * (step / said['plan'] - 1):+.2f}"
                compared = f"{over:+.2f}"
            rows.append(
                f"| {name} | {protocol} | {total['tensors']} | {total['tensor_bytes'] / 2**20:.2f} | "
                f"{total['messages']} | {total['pool_bytes'] / 2**20:.2f} | {1e3 * statistics.median(times):.1f} "
                f"({1e3 * min(times):.1f} to {1e3 * max(times):.1f}) | {compared} | {beside} |")
    return rows


# --- PyTorch's own schedules ---------------------------------------------------------------------


class Padded(nn.Module):
    """A stage as PyTorch's pipeline calls it: rows of one length, whose last sequence is lengthened. Its split
    backward takes no views, so that outputs are copied for it (`copies`)."""

    def __init__(self, stage, cuts, copies):
        super().__init__()
        self.stage, self.cuts, self.copies, self.next = stage, cuts, copies, 0

    def forward(self, x):
        cuts = self.cuts[self.next % len(self.cuts)]
        self.next += 1
        output = self.stage(x[0], cuts, 0)[None]
        return output.clone() if self.copies else output


def padded_loss(output, target):
    return nn.functional.cross_entropy(output[0], target[0], reduction="sum", ignore_index=-100)


CLASSES = {"1f1b": (schedules.Schedule1F1B, 1), "interleaved": (schedules.ScheduleInterleaved1F1B, 2),
           "zbv": (schedules.ScheduleZBVZeroBubble, 2)}


def run_beside(rank, plans, lengths):
    """Per schedule and runtime: seconds of each round, and the most bytes that autograd keeps."""
    ids, targets = packed.batch(lengths, 1)
    longest = max(map(sum, lengths))
    rows = torch.stack([nn.functional.pad(one, (0, longest - len(one))) for one in ids])
    wanted = torch.stack([nn.functional.pad(one, (0, longest - len(one)), value=-100) for one in targets])
    cuts = []
    for of in lengths:
        whole = [*of[:-1], of[-1] + longest - sum(of)]
        cuts.append(torch.tensor([0, *whole]).cumsum(0).to(torch.int32))
    runs, kept = {}, {}
    for name, (plan, home) in plans.items():
        modules = make_stages(rank, home)
        pipeline = ppsim.torch.Pipeline(plan, modules, hidden=HIDDEN, loss_fn=packed.loss_of)
        runs["ppsim.torch", name] = (lambda run=pipeline: run.step(ids, targets, lengths=lengths), modules)
        wrapped = {stage: Padded(module, cuts, name == "zbv") for stage, module in modules.items()}
        made, count = CLASSES[name]
        stages = [PipelineStage(wrapped[stage], stage, len(home), torch.device("cpu"))
                  for stage in sorted(wrapped)]
        theirs = made(stages[0] if count == 1 else stages, len(lengths), loss_fn=padded_loss, scale_grads=False)
        first, last = 0 in modules, len(home) - 1 in modules

        def step(run=theirs, wrapped=wrapped, first=first, last=last):
            for module in wrapped.values():
                module.next = 0
            run.step(*([rows] if first else []), target=wanted if last else None, losses=[] if last else None)

        step()  # exchanges shapes, and calls stages once more
        runs["PyTorch, padded", name] = (step, modules)
    seconds = {key: [] for key in runs}
    for number in range(ROUNDS + 1):
        for key, (step, modules) in runs.items():
            for module in modules.values():
                module.zero_grad()
            took = timed(step)
            if number:
                seconds[key].append(took)
    for key, (step, modules) in runs.items():
        kept[key] = counted(step, modules.values())
    return seconds, kept


def beside_rows():
    lengths = read_lengths("long-8k", 256, 32)[:16]
    plans = {}
    for name, (_, chunks) in CLASSES.items():
        plan = runtime.named(name, RANKS, len(lengths), chunks if name == "interleaved" else 1)
        plans[name] = (plan, runtime.home_of(plan))
    results = runtime.all_of(runtime.launch(RANKS, run_beside, plans, lengths, seconds=900))
    tokens = sum(map(sum, lengths))
    rows = []
    for name in plans:
        for key in (("ppsim.torch", name), ("PyTorch, padded", name)):
            times = results[0][0][key]
            kept = max(one[key] for _, one in results)
            rows.append(f"| {name} | {key[0]} | {1e3 * statistics.median(times):.1f} ({1e3 * min(times):.1f} to "
                        f"{1e3 * max(times):.1f}) | {tokens / statistics.median(times):.0f} | {kept / 2**20:.2f} |")
    return rows, tokens, len(lengths) * max(map(sum, lengths))


def section():
    load = os.getloadavg()[0]
    rows = protocol_rows()
    beside, tokens, padded = beside_rows()
    today = datetime.date.today().isoformat()
    return "\n".join([
        BEGIN, "",
        f"Measured {today}, PyTorch {torch.__version__.split('+')[0]}, gloo, {RANKS} processes on "
        f"{os.cpu_count()} shared cores (load average {load:.1f}",
        f"before); {ROUNDS} steps of each row, in turn: median (lowest to highest). Lengths divided by 32 and",
        f"packed first-fit into rows of 256 tokens, at most 32 of them; {LAYERS} layers, hidden {HIDDEN}, 1F1B.",
        "\"Over plan\" compares the lowest of each row with that of `plan`. Simulated: the same program with",
        "the shortest time that each op of `plan` took; links take no time.", "",
        "| data | protocol | tensors | MiB | messages | receive buffers, MiB | step, ms | over plan, % | simulated |",
        "|---|---|---|---|---|---|---|---|---|", *rows, "",
        f"Beside PyTorch's own schedules, on the first 16 rows of long-8k: {tokens} tokens, {padded} with padding.",
        "Tokens/s count real tokens in the median step. Kept: the most that autograd keeps on a rank, with",
        "the receive buffers that graphs hold.", "",
        "| schedule | runtime | step, ms | tokens/s | kept, MiB |",
        "|---|---|---|---|---|", *beside, "", END])


def main(arguments):
    text = section()
    if arguments[:1] != ["--write"]:
        print(text)
        return
    with open(arguments[1], encoding="utf-8") as file:
        page = file.read()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    with open(arguments[1], "w", encoding="utf-8") as file:
        file.write(before + text + after)


if __name__ == "__main__":
    main(sys.argv[1:])
