"""ppsim.torch trains: gloo processes run orders of ppsim's on a small Llama-shaped model with packed
sequences of lognormal lengths. Losses and gradients are those of a sequential run, bit for bit, since every
weight's gradient is summed over microbatches in the order of the plan's ops; receive buffers are the plan's;
no message tells a size; a rank that dies ends the others.

With PPSIM_TEST_LONG=1 also: 200 steps on 4 ranks, each with a plan of its own; step times of sleeping stages
within 3 % of the prediction, and the ranking of five schedules. torch_speed.py has what protocols cost, and
PyTorch's own schedules beside.

usage: test_torch_runtime.py PPSIM   (the package: wheel.py)
"""
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings

import torch
import torch.distributed as dist

import wheel

wheel.find()
import ppsim
import ppsim.torch
import common
import packed_model as packed
from model import summed

HIDDEN = 64
SPLIT_COSTS = "F=1ms,I=1ms,W=1ms"


# --- processes -----------------------------------------------------------------------------------


def enter(function, rank, ranks, folder, arguments):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    try:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
        result = function(rank, *arguments)
        torch.save(result, f"{folder}/result{rank}")
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # without the clean-up of a group that others may have left


def launch(ranks, function, *arguments, seconds=300):
    """What the function returns on each rank: function(rank, *arguments); None where it died."""
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("fork")
        members = [context.Process(target=enter, args=(function, rank, ranks, folder, arguments))
                   for rank in range(ranks)]
        for member in members:
            member.start()
        until = time.monotonic() + seconds
        for member in members:
            member.join(max(0.0, until - time.monotonic()))
        late = [rank for rank, member in enumerate(members) if member.is_alive()]
        for member in members:
            member.kill()
        common.demand(not late, f"ranks {late} do not end")
        paths = [f"{folder}/result{rank}" for rank in range(ranks)]
        return [torch.load(path, weights_only=False) if os.path.exists(path) else None for path in paths]


def all_of(results):
    common.demand(all(one is not None for one in results), "a rank failed; its error is above")
    return results


# --- plans ---------------------------------------------------------------------------------------


def named(schedule, ranks, microbatches, vpp=1, costs=SPLIT_COSTS):
    """A plan of a named schedule, without a model."""
    options = {"vpp": vpp} if vpp > 1 else {}
    simulation = ppsim.simulate(schedule=schedule, pp=ranks, microbatches=microbatches, costs=costs,
                                executor="ppsim", emit="plan=-", **options)
    return simulation.files["-"]


def planned(model, ranks, lengths, vpp=2, schedule="planned"):
    """The plan of a step, for its own lengths; planned: a custom order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ppsim.plan(model=model, pp=ranks, vpp=vpp, tp=1, dp=1, lengths=lengths, seq_length=96,
                          micro_batch_size=1, partition="uniform", recompute="none", schedule=schedule,
                          budget="20it")


def make_stages(pipeline_rank, home, dtype=torch.float32, **options):
    return {stage: packed.Stage(stage, len(home), dtype=dtype, **options)
            for stage, rank in enumerate(home) if rank == pipeline_rank}


def home_of(plan):
    """The rank of each stage."""
    if isinstance(plan, bytes):
        plan = ppsim.simulate(json.loads(plan))
    return [stage.rank for stage in plan.stages]


def backward_order(pipeline, stage):
    return [row.microbatch for row in pipeline._program.rows
            if row.stage == stage and row.action in ("B", "W")]


def differences(pipeline, modules, home, lengths, data, losses, dtype=torch.float32):
    """Where losses and gradients are not, bit for bit, those of a sequential run. With padded compute,
    matrix products of other shapes may sum in another order: up to rounding."""

    def equal(a, b):
        return torch.allclose(a, b, 1e-4, 1e-4) if pipeline.protocol == "padded" else torch.equal(a, b)

    reference = [packed.Stage(stage, len(home), dtype=dtype) for stage in range(len(home))]
    expected, gradients = packed.sequential(reference, lengths, *data)
    found = []
    if losses is not None:
        found += [f"loss {j}" for j, (a, b) in enumerate(zip(expected, losses)) if not equal(a, b)]
    for stage in pipeline.stages:
        order = backward_order(pipeline, stage)
        for name, parameter in modules[stage].named_parameters():
            gradient = parameter.grad
            if not equal(summed(gradients[stage][name], order), gradient):
                found.append(f"gradient of {name} of stage {stage}")
    return found


# --- one plan, one step --------------------------------------------------------------------------


def one_step(rank, cases):
    """Runs each case (name, plan, home, lengths, protocol, dtype) twice; the second step is compared."""
    found = []
    for name, plan, home, lengths, protocol, dtype in cases:
        modules = make_stages(rank, home, dtype)
        pipeline = ppsim.torch.Pipeline(plan, modules, hidden=HIDDEN, loss_fn=packed.loss_of, dtype=dtype,
                                        protocol=protocol, timeout=60)
        data = packed.batch(lengths, 3)
        for _ in range(2):
            for module in modules.values():
                module.zero_grad()
            losses = pipeline.step(*data, lengths=None if pipeline.lengths else lengths)
        wrong = differences(pipeline, modules, home, lengths, data, losses, dtype)
        found.append((name, wrong, pipeline.counts, pipeline.timeline()))
        pipeline.close()
        dist.barrier()
    return found


def check_equal(results):
    for rank, cases in enumerate(all_of(results)):
        for name, wrong, _, _ in cases:
            common.demand(not wrong, f"{name}, rank {rank}: not as in a sequential run: {wrong[:4]}")


def check_orders():
    lengths = packed.draw_lengths(6, 1)
    two = [(f"{schedule} {vpp}", named(schedule, 2, 6, vpp), lengths) for schedule, vpp in
           (("1f1b", 1), ("zbv", 1), ("interleaved-zb", 2))]
    cases = [(name, plan, home_of(plan), lengths, "plan", torch.float32) for name, plan, lengths in two]
    results = launch(2, one_step, cases)
    check_equal(results)
    lengths = packed.draw_lengths(8, 2)
    four = [named("interleaved", 4, 8, 2), named("zbv", 4, 8), named("zb-h1", 4, 8)]
    cases = [(f"4 ranks, {k}", plan, home_of(plan), lengths, "plan", torch.float32)
             for k, plan in enumerate(four)]
    results += launch(4, one_step, cases)
    check_equal(results)
    for cases in results:
        for name, _, counts, _ in cases:
            common.demand(counts["messages"] == 0 and counts["tensors"] > 0, f"{name}: {counts}")
    print("ok     orders: 1f1b, zbv, interleaved, interleaved-zb, zb-h1 on 2 and 4 ranks, bit for bit")


def check_protocols():
    """Every protocol computes the same; what they send is what simulate counts."""
    lengths = packed.draw_lengths(6, 4)
    lengths[2] = lengths[1]
    tokens = [sum(of) for of in lengths]
    plan = named("zbv", 2, 6)
    home = home_of(plan)
    cases = [(protocol, plan, home, lengths, protocol, torch.float32) for protocol in ppsim.torch.PROTOCOLS]
    results = launch(2, one_step, cases)
    check_equal(results)
    for rank, found in enumerate(results):
        counts = {name: counted for name, _, counted, _ in found}
        row = 4 * HIDDEN
        # Stages 0, 3 on rank 0, 1, 2 on rank 1: each sends 6 activations and 6 gradients.
        exact, padded = 2 * sum(tokens) * row, 12 * max(tokens) * row
        for protocol, got in counts.items():
            common.demand(got["tensors"] == 12, f"{protocol}, rank {rank}: {got}")
            expected = padded if protocol.startswith("padded") else exact
            common.demand(got["tensor_bytes"] == expected, f"{protocol}, rank {rank}: {got}, not {expected}")
        changes = 1 + sum(a != b for a, b in zip(tokens, tokens[1:]))
        said = {name: got["messages"] for name, got in counts.items()}
        common.demand(said == {**dict.fromkeys(said, 0), "message": 6, "cached": changes},
                      f"rank {rank} sent messages about sizes: {said}, {changes} changes")
        common.demand(counts["local"]["reads"] == 12, f"local reads {counts['local']}")
    print("ok     protocols: six give the same gradients (padded: up to rounding), and send the tensors and messages they should")


def check_buffers(folder):
    """The most bytes of posted receives are the plan's peak_recv_bytes, on every rank."""
    lengths = packed.draw_lengths(8, 5)
    model = packed.model_file(f"{folder}/model.json", layers=4)
    cases, peaks = [], []
    for schedule, ranks, vpp in (("1f1b", 2, 1), ("planned", 2, 2), ("interleaved", 2, 2)):
        options = {} if schedule == "planned" else {"schedule": schedule}
        plan = planned(model, ranks, lengths, vpp) if not options else ppsim.plan(
            model=model, pp=ranks, vpp=vpp, tp=1, dp=1, lengths=lengths, seq_length=96, micro_batch_size=1,
            partition="uniform", recompute="none", **options)
        cases.append((schedule, plan, home_of(plan), plan_lengths(plan), "plan", torch.bfloat16))
        peaks.append([row["peak_recv_bytes"] for row in plan.report["per_rank"]])
    results = launch(2, one_step, cases)
    check_equal(results)
    for rank, found in enumerate(results):
        for (name, _, counts, _), expected in zip(found, peaks):
            common.demand(counts["receive_peak_bytes"] == expected[rank] > 0,
                          f"{name}, rank {rank}: {counts}; the plan has {expected[rank]} B")
    print(f"ok     receive buffers: the plan's peak on every rank, {peaks} B")


def plan_lengths(plan):
    return [one["sequences"] for one in plan.data["microbatches"]]


# --- many steps ----------------------------------------------------------------------------------


# Orders that have the stages on the same ranks, so that one step can follow another.
ON_A_V = ("planned", "zbv", "1f1b-v", "v-half")


def train(rank, model, plans):
    """Trains by another plan in every step; returns losses, and the parameters at the end."""
    home = home_of(plans[0])
    modules = make_stages(rank, home)
    parameters = [p for module in modules.values() for p in module.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=1e-4)
    pipeline, messages, losses = None, 0, []
    for number, plan in enumerate(plans):
        if pipeline is None:
            pipeline = ppsim.torch.Pipeline(plan, modules, hidden=HIDDEN, loss_fn=packed.loss_of, timeout=60)
        else:
            pipeline.replan(plan)
        optimizer.zero_grad()
        losses.append(pipeline.step(*packed.batch(pipeline.lengths, number)))
        messages += pipeline.counts["messages"]
        optimizer.step()
    state = {f"{stage}.{name}": value for stage, module in modules.items()
             for name, value in module.state_dict().items()}
    pipeline.close()
    return losses, state, messages


def train_sequential(plans):
    home = home_of(plans[0])
    modules = [packed.Stage(stage, len(home)) for stage in range(len(home))]
    optimizer = torch.optim.SGD([p for module in modules for p in module.parameters()], lr=1e-4)
    losses = []
    for number, plan in enumerate(plans):
        lengths = plan_lengths(plan)
        one, gradients = packed.sequential(modules, lengths, *packed.batch(lengths, number))
        for stage, module in enumerate(modules):
            order = [int(op["microbatch"]) for op in plan.order(home[stage])
                     if op["stage"] == stage and op["kind"] in ("B", "W")]
            for name, parameter in module.named_parameters():
                parameter.grad = summed(gradients[stage][name], order)
        losses.append(one)
        optimizer.step()
    state = {f"{stage}.{name}": value for stage, module in enumerate(modules)
             for name, value in module.state_dict().items()}
    return losses, state


def replanned(model, ranks, steps):
    """The plans of a `ppsim.Replanner`, which packs the sequences of every step."""
    batches = [sum(packed.draw_lengths(2 * ranks + 2, seed), []) for seed in range(steps)]
    replanner = ppsim.Replanner(model=model, pp=ranks, vpp=2, tp=1, dp=1, seq_length=96, micro_batch_size=1,
                                partition="uniform", recompute="none", schedule="zbv", lengths=batches[0])
    return [replanner.plan(lengths, budget="20it") for lengths in batches]


def check_training(folder, steps, ranks, replans=False):
    model = packed.model_file(f"{folder}/model.json", layers=2 * ranks)
    plans = replanned(model, ranks, steps) if replans else [planned(model, ranks, packed.draw_lengths(2 * ranks + 2, seed), schedule=ON_A_V[seed % len(ON_A_V)])
             for seed in range(steps)]
    results = all_of(launch(ranks, train, model, plans, seconds=600))
    losses, state = train_sequential(plans)
    orders = {json.dumps(plan.data["schedule"]["ranks"]) for plan in plans}
    seen = next(found for found, _, _ in results if found[0] is not None)
    for number, (a, b) in enumerate(zip(losses, seen)):
        common.demand(all(torch.equal(x, y) for x, y in zip(a, b)), f"step {number} has other losses")
    for _, own, messages in results:
        common.demand(messages == 0, f"{messages} messages about sizes")
        for name, value in own.items():
            common.demand(torch.equal(value, state[name]), f"parameter {name} differs after {steps} steps")
    first, last = (sum(map(float, one)) / sum(map(sum, plan_lengths(plan)))
                   for one, plan in ((losses[0], plans[0]), (losses[-1], plans[-1])))
    common.demand(len(orders) >= (2 if replans else len(ON_A_V)), f"only {len(orders)} orders")
    common.demand(steps < 100 or last < 0.5 * first, f"it does not learn: {first} to {last}")
    print(f"ok     {steps} steps on {ranks} ranks, re-planned at every step {'by a Replanner ' if replans else ''}({len(orders)} orders): losses and "
          f"parameters bit for bit, no message; loss per token {first:.3f} to {last:.3f}")


# --- replicas ------------------------------------------------------------------------------------


def replicate(rank, kind, plan, home, lengths):
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "pp"))
    replica = mesh.get_local_rank("dp")
    raw = make_stages(mesh.get_local_rank("pp"), home)
    modules = dict(raw)
    if kind == "ddp":
        modules = {stage: torch.nn.parallel.DistributedDataParallel(
            module, process_group=mesh.get_group("dp")) for stage, module in raw.items()}
    else:
        from torch.distributed.fsdp import fully_shard

        for module in raw.values():
            for part in [*module.layers, module]:
                fully_shard(part, mesh=mesh["dp"], reshard_after_forward=False)
    pipeline = ppsim.torch.Pipeline(plan, modules, hidden=HIDDEN, loss_fn=packed.loss_of,
                                    group=mesh.get_group("pp"), replica=replica, timeout=60)
    data = [packed.batch(of, seed) for seed, of in enumerate(lengths)]
    for _ in range(2):
        for module in modules.values():
            module.zero_grad()
        pipeline.step(*data[replica], lengths=None if pipeline.lengths else lengths[replica])
    reference = [packed.Stage(stage, len(home)) for stage in range(len(home))]
    both = [packed.sequential(reference, of, *one)[1] for of, one in zip(lengths, data)]
    wrong = []
    for stage in pipeline.stages:
        order = backward_order(pipeline, stage)
        for name, parameter in raw[stage].named_parameters():
            gradient = parameter.grad
            gradient = gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient
            mean = sum(summed(one[stage][name], order) for one in both) / 2
            if not torch.equal(mean, gradient):
                wrong.append(f"{name} of stage {stage}")
    pipeline.close()
    dist.barrier()
    return wrong


def check_replicas(folder):
    """A replica has the microbatches, and where the plan says so the order, of its own."""
    drawn = [packed.draw_lengths(6, seed) for seed in (1, 2)]
    cases = [(kind, named(schedule, 2, 6), drawn) for kind, schedule in
             (("ddp", "1f1b"), ("ddp", "zbv"), ("fsdp", "zbv"))]
    plan = ppsim.plan(model=packed.model_file(f"{folder}/model.json", layers=2), pp=2, dp=2, tp=1, vpp=1,
                      lengths=sum(drawn[0] + drawn[1], []), seq_length=96, micro_batch_size=1,
                      partition="uniform", recompute="none")
    groups = plan.data["microbatches"]
    cases.append(("ddp", plan, [[one["sequences"] for one in of] for of in groups]))
    for kind, plan, lengths in cases:
        common.demand(len(lengths) == 2 and lengths[0] != lengths[1], f"{lengths} are not of two replicas")
        results = all_of(launch(4, replicate, kind, plan, home_of(plan), lengths))
        for rank, wrong in enumerate(results):
            common.demand(not wrong, f"{kind}, rank {rank}: not the mean of two replicas: {wrong}")
    print("ok     replicas: gradients of DDP and FSDP2 are the mean of two sequential runs, bit for bit")


# --- forwards alone ------------------------------------------------------------------------------


def evaluate(rank, plan, lengths):
    modules = make_stages(rank, [0, 1])
    pipeline = ppsim.torch.Pipeline(plan, modules, hidden=HIDDEN)
    outputs = pipeline.step(packed.batch(lengths, 2)[0], lengths=lengths)
    return outputs, pipeline.counts["pool_bytes"], any(p.grad is not None for p in modules[rank].parameters())


def check_forwards(program, folder):
    """A program of forwards returns outputs, and needs two receive buffers for any number of microbatches."""
    rows = [[f"{stage}F{j}" for j in range(5)] for stage in range(2)]
    common.write_rows(f"{folder}/forwards.csv", rows)
    common.must(program, "simulate", f"{folder}/forwards.csv", "--costs", "F=1ms,B=2ms", "--emit",
                f"plan={folder}/forwards.json")
    lengths = packed.draw_lengths(5, 3)
    results = all_of(launch(2, evaluate, f"{folder}/forwards.json", lengths))
    modules = [packed.Stage(stage, 2) for stage in range(2)]
    for of, ids, output in zip(lengths, packed.batch(lengths, 2)[0], results[1][0]):
        cuts = torch.tensor([0, *of], dtype=torch.int32).cumsum(0, dtype=torch.int32)
        with torch.no_grad():
            expected = modules[1](modules[0](ids, cuts, max(of)), cuts, max(of))
        common.demand(torch.equal(output, expected), "a forward has another output")
    common.demand(results[0][0] is None and not results[0][2] and not results[1][2], "forwards leave gradients")
    most = 2 * max(map(sum, lengths)) * HIDDEN * 4
    common.demand(0 < results[1][1] <= most, f"{results[1][1]} B of buffers; {most} suffice")
    print("ok     forwards alone: outputs, without gradients, in two buffers")


# --- failures ------------------------------------------------------------------------------------


class Broken(torch.nn.Module):
    """Behaves as its stage, until the third forward of the second step."""

    def __init__(self, stage, how):
        super().__init__()
        self.stage, self.how, self.calls = stage, how, 0

    def forward(self, *given):
        self.calls += 1
        if self.calls == 9:
            if self.how == "killed":
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "raises":
                raise ValueError("no such word")
            time.sleep(5)
        return self.stage(*given)


def fail(rank, how, plan, home, lengths):
    modules = make_stages(rank, home)
    if rank == 1:
        modules = {stage: Broken(module, how) for stage, module in modules.items()}
    pipeline = ppsim.torch.Pipeline(plan, modules, hidden=HIDDEN, loss_fn=packed.loss_of, timeout=2)
    if how == "cycle":  # two receives that come before what makes the other rank send
        rows = pipeline._program.rows
        first = next(k for k, row in enumerate(rows) if row.action == ("B" if rank == 0 else "F"))
        rows.insert(0, rows.pop(first))
        rows.insert(0, rows.pop(next(k for k, row in enumerate(rows) if row.action.startswith("RECV"))))
    begin = time.monotonic()
    try:
        for _ in range(2):
            pipeline.step(*packed.batch(lengths, 1), lengths=lengths)
    except ppsim.torch.PipelineError as error:
        return str(error), time.monotonic() - begin
    return "no error", 0.0


def check_failures():
    plan = named("1f1b", 3, 6)
    lengths = packed.draw_lengths(6, 7)
    expected = {
        # a rank, and what its error must contain
        # (rank 0 may notice by a send or by a receive)
        "killed": {0: ["rank 0, ", "rank 1 (tensor [", "rank 1 does not answer; it computed 1F2"],
                   2: ["rank 2, 2F2", "2RECV_F2 from rank 1 (tensor [", "64] float32)", "rank 1 does not answer"]},
        "raises": {0: ["rank 1 died in 1F2: ValueError: no such word"],
                   1: ["rank 1, 1F2: ValueError: no such word"],
                   2: ["rank 2, 2F2", "rank 1 died in 1F2: ValueError: no such word"]},
        "sleeps": {2: ["the run makes no progress", "rank 2 has been waiting for 2RECV_F2 from rank 1",
                       "rank 1 has been computing 1F2 for"]},
        "cycle": {0: ["the run hangs, because ranks wait for each other in a cycle: ", "0RECV_B0 from rank 1",
                      "rank 1 has been waiting for 1RECV_F0 from rank 0"]},
    }
    for how, words in expected.items():
        if how == "cycle":
            plan = named("1f1b", 2, 6)
        ranks = len(set(home_of(plan)))
        results = launch(ranks, fail, how, plan, home_of(plan), lengths, seconds=60)
        for rank, parts in words.items():
            common.demand(results[rank] is not None, f"{how}: rank {rank} has no error")
            text, seconds = results[rank]
            for part in parts:
                common.demand(part in text, f"{how}, rank {rank}: {part!r} is not in {text!r}")
            common.demand(seconds < 20, f"{how}, rank {rank}: it took {seconds} s")
        for rank, result in enumerate(results):
            common.demand(result is None or result[0] != "no error", f"{how}: rank {rank} has no error")
        print(f"       {how}: {results[min(words)][0]}")
    print("ok     failures: the others end, and say where every rank is")


# --- recordings ----------------------------------------------------------------------------------


def record(rank, plan, home, lengths, folder):
    from torch import profiler

    pipeline = ppsim.torch.Pipeline(plan, make_stages(rank, home), hidden=HIDDEN, loss_fn=packed.loss_of)
    pipeline.step(*packed.batch(lengths, 1), lengths=lengths)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as recording:
        for _ in range(2):
            pipeline.step(*packed.batch(lengths, 1), lengths=lengths)
    recording.export_chrome_trace(f"{folder}/rank{rank}.json")
    pipeline.save_timeline(f"{folder}/measured.json")
    return pipeline.timeline()


def slices_of(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return [e for e in events if e["ph"] == "X" and e["cat"] == "compute"]


def check_recordings(program, folder):
    """A profiler's recording and the measured timeline have the order of the plan, and the same times."""
    plan = named("zbv", 2, 6)
    with open(f"{folder}/plan.json", "wb") as file:
        file.write(plan)
    loaded = ppsim.load(f"{folder}/plan.json")
    results = all_of(launch(2, record, plan, home_of(plan), [[40, 24, 16]] * 6, folder))
    paths = [f"{folder}/rank{rank}.json" for rank in range(2)]
    common.must(program, "convert", *paths, "--to", "chrome", "--steps", 1, "-o", f"{folder}/recorded.json")
    imports = [word for path in paths for word in ("--import", f"kineto={path}")]
    common.must(program, "calibrate", *imports, "--emit", f"costs={folder}/costs.json")
    for name in ("measured", "recorded"):
        slices = slices_of(f"{folder}/{name}.json")
        for rank in range(2):
            rows = [one["name"] for one in slices if one["pid"] == rank]
            order = [f"{op['stage']}{op['kind']}{op['microbatch']}" for op in loaded.order(rank)]
            common.demand(rows == order, f"{name}, rank {rank}: {rows}")
    first = min(int(timeline["start_ns"].min()) for timeline in results)
    starts = {f"{op['stage']}{op['kind']}{op['microbatch']}": (int(op["start_ns"]) - first) / 1000
              for timeline in results for op in timeline}
    for one in slices_of(f"{folder}/measured.json"):
        common.demand(abs(one["ts"] - starts[one["name"]]) < 0.01, f"{one} started at {starts[one['name']]} us")
    own = {one["name"]: one["dur"] for one in slices_of(f"{folder}/measured.json")}
    kineto = {one["name"]: one["dur"] for one in slices_of(f"{folder}/recorded.json")}
    middle = {}  # by kind of op: another process may delay some of them
    for kind in sorted({name.strip("0123456789") for name in own}):
        ratios = sorted(own[name] / kineto[name] for name in own if name.strip("0123456789") == kind)
        middle[kind] = ratios[len(ratios) // 2]
        common.demand(abs(middle[kind] - 1) < 0.05, f"own times of {kind} differ from the profiler's: {ratios}")
    for rank, timeline in enumerate(results):
        common.demand((timeline["rank"] == rank).all() and (timeline["end_ns"] >= timeline["start_ns"]).all(),
                      f"rank {rank} has another timeline")
    common.must(program, "simulate", f"{folder}/plan.json", "--trace", f"chrome={folder}/predicted.json")
    status, words = common.ppsim(program, "compare", f"{folder}/predicted.json", f"{folder}/measured.json")
    common.demand(status in (0, 1), f"ppsim compare: exit {status}: {words}")
    common.must(program, "plot", "--kind", "executed", "--executor", "ppsim", f"{folder}/plan.json",
                f"{folder}/measured.json", "-o", f"{folder}/both.svg")
    print("ok     recordings: Kineto's and our timeline have the plan's order, and are imported and compared; in the "
          f"median our times are {', '.join(f'{ratio:.3f} ({kind})' for kind, ratio in middle.items())} times Kineto's")


# --- times ---------------------------------------------------------------------------------------

# Of all stages of a rank together.
SECONDS = {"F": 0.160, "I": 0.176, "W": 0.128, "B": 0.304}
RANKED = [("1f1b", 1), ("1f1b-v", 2), ("interleaved", 2), ("v-half", 2), ("zbv", 2)]


def slow_costs(stages):
    return ",".join(f"{kind}={seconds / stages * 1e3}ms" for kind, seconds in SECONDS.items())


def slow_step(rank, cases, lengths):
    """Seconds from the first op to the last, of steps whose ops take the times that they should."""
    spans = []
    for plan, home, stages in cases:
        pipeline = ppsim.torch.Pipeline(plan, make_stages(rank, home), hidden=HIDDEN, loss_fn=packed.loss_of)
        for kind, seconds in SECONDS.items():

            def slow(row, given, inner=getattr(pipeline, f"_run_{kind}"), seconds=seconds / stages):
                until = time.monotonic() + seconds
                inner(row, given)
                time.sleep(max(0.0, until - time.monotonic()))

            setattr(pipeline, f"_run_{kind}", slow)
        best = []
        for _ in range(2):
            pipeline.step(*packed.batch(lengths, 1), lengths=lengths)
            timeline = pipeline.timeline()
            ends = [None] * 4
            dist.all_gather_object(ends, (int(timeline["start_ns"].min()), int(timeline["end_ns"].max())))
            best.append((max(end for _, end in ends) - min(start for start, _ in ends)) / 1e9)
        spans.append(min(best))
        pipeline.close()
    return spans


def check_times():
    """Steps of known ops take the predicted time, and rank schedules as predicted."""
    lengths = packed.draw_lengths(8, 9)
    cases, predicted = [], []
    for schedule, stages in RANKED:
        vpp = stages if schedule == "interleaved" else 1
        plan = named(schedule, 4, 8, vpp, slow_costs(stages))
        cases.append((plan, home_of(plan), stages))
        predicted.append(ppsim.simulate(json.loads(plan)).step)
    measured = all_of(launch(4, slow_step, cases, lengths, seconds=600))[0]
    for (schedule, _), a, b in zip(RANKED, predicted, measured):
        print(f"       {schedule}: predicted {a:.4f} s, measured {b:.4f} s, {100 * (b / a - 1):+.2f} %")
    for (schedule, _), a, b in zip(RANKED, predicted, measured):
        common.demand(abs(b / a - 1) < 0.03, f"{schedule}: predicted {a} s, measured {b} s")
    rank = [sorted(range(len(RANKED)), key=one.__getitem__) for one in (predicted, measured)]
    common.demand(rank[0] == rank[1], f"another ranking: predicted {predicted}, measured {measured}")
    print("ok     times: within 3 % of the prediction, five schedules in the predicted order")


def check_refusals():
    """What cannot be run is refused before anything is sent."""
    plan = named("1f1b", 1, 4)

    def alone(rank):
        found = []
        for change in ({"protocol": "psychic"}, {"stages": []}, {"plan": named("1f1b", 2, 4)}):
            given = {"plan": plan, "stages": [packed.Stage(0, 1)], "protocol": "plan", **change}
            try:
                ppsim.torch.Pipeline(given.pop("plan"), given.pop("stages"), hidden=HIDDEN, **given)
                found.append("nothing")
            except ppsim.UsageError as error:
                found.append(error.field)
        pipeline = ppsim.torch.Pipeline(plan, [packed.Stage(0, 1)], hidden=HIDDEN, loss_fn=packed.loss_of)
        for lengths in (None, [[4]] * 3):
            try:
                pipeline.step(lengths=lengths)
                found.append("nothing")
            except ppsim.UsageError as error:
                found.append(error.field)
        try:
            pipeline.step([torch.zeros(3, dtype=torch.int64)] * 4, [None] * 4, lengths=[[4]] * 4)
        except ppsim.torch.PipelineError as error:
            found.append(str(error))
        return found

    *fields, text = all_of(launch(1, alone))[0]
    common.demand("rank 0, 0F0: " in text and "microbatch 0 has 3 tokens; the plan has 4" in text, text)
    common.demand(fields == ["protocol", "stages", "plan", "lengths", "lengths"], f"refused: {fields}")
    print("ok     refusals")


def main(arguments):
    program = arguments[0]
    with tempfile.TemporaryDirectory() as folder:
        check_refusals()
        check_orders()
        check_protocols()
        check_buffers(folder)
        check_training(folder, 5, 2)
        check_training(folder, 5, 2, replans=True)
        check_replicas(folder)
        check_forwards(program, folder)
        check_recordings(program, folder)
        check_failures()
        if os.environ.get("PPSIM_TEST_LONG"):
            check_training(folder, 200, 4)
            check_training(folder, 200, 2, replans=True)
            check_times()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
