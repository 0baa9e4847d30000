"""Which ops gather parameters when forwards free them (fully_shard(reshard_after_forward=True)): one stage of
PyTorch's pipeline runtime over two data-parallel processes, in random orders, against ppsim. And a split backward
then loses the gradients of weights, for which reason ppsim refuses it.

usage: test_resharding.py PPSIM
"""
import json
import os
import random
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.fsdp._fully_shard._fsdp_param_group as param_group
import torch.multiprocessing as processes
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, schedules

import common

MICROBATCHES, ORDERS, LAYERS, SEED = 5, 12, 3, 20261127


def random_order(dice):
    """A forward and a backward of each microbatch, the backward later."""
    order, forwards, backwards = [], 0, 0
    while backwards < MICROBATCHES:
        if forwards < MICROBATCHES and (backwards == forwards or dice.random() < 0.5):
            order.append(f"0F{forwards}")
            forwards += 1
        else:
            order.append(f"0B{backwards}")
            backwards += 1
    return order


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def sharded_stage(mesh):
    module = Layers()
    for layer in module.layers:
        fully_shard(layer, mesh=mesh["dp"], reshard_after_forward=True)
    fully_shard(module, mesh=mesh["dp"])
    return module


def runtime_of(mesh, stages, order):
    """The runtime of a rank with all stages, and the stages."""
    made = [PipelineStage(sharded_stage(mesh), s, stages, torch.device("cpu"), group=mesh.get_group("pp"))
            for s in range(stages)]
    runtime = schedules._PipelineScheduleRuntime(made, MICROBATCHES, loss_fn=lambda y, _: y.sum())
    runtime._prepare_schedule_with_comms({0: [schedules._Action.from_str(op) for op in order]})
    return runtime, made


def run_order(mesh, order):
    """Op -> how many layers PyTorch gathers in it."""
    runtime, (stage,) = runtime_of(mesh, 1, order)
    gathers, now = {op: 0 for op in order}, []
    original = param_group.foreach_all_gather

    def counted(*arguments, **options):
        if now:
            gathers[now[0]] += 1
        return original(*arguments, **options)

    def watched(method, letter):
        def call(microbatch, *arguments, **options):
            now.append(f"0{letter}{microbatch}")
            try:
                return method(microbatch, *arguments, **options)
            finally:
                now.pop()
        return call

    param_group.foreach_all_gather = counted
    stage.forward_one_chunk = watched(stage.forward_one_chunk, "F")
    stage.backward_one_chunk = watched(stage.backward_one_chunk, "B")
    try:
        runtime.step(torch.randn(MICROBATCHES, 8), target=torch.zeros(MICROBATCHES, 8))
    finally:
        param_group.foreach_all_gather = original
    return gathers


def split_backward(mesh):
    """How many parameters of the second of two stages have gradients after I and W. (On the first stage W is the
    whole backward.)"""
    order = [op for j in range(MICROBATCHES) for op in (f"0F{j}", f"1F{j}", f"1I{j}", f"1W{j}", f"0B{j}")]
    runtime, stages = runtime_of(mesh, 2, order)
    runtime.step(torch.randn(MICROBATCHES, 8), target=torch.zeros(MICROBATCHES, 8))
    return [sum(p.grad is not None for p in stage.submod.parameters()) for stage in stages]


def work(rank, orders, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("pp", "dp"))
    found = [run_order(mesh, order) for order in orders]
    first, second = split_backward(mesh)
    if rank == 0:
        with open(f"{folder}/found.json", "w", encoding="ascii") as out:
            json.dump({"gathers": found, "gradients": [first, second]}, out)
    dist.destroy_process_group()


def predicted(program, order, folder):
    """Op -> 1 if ppsim gathers in it, by its time."""
    with open(f"{folder}/costs.json", "w", encoding="ascii") as out:
        json.dump({"format": "ppsim.costs", "version": 1, "forward_ns": 1000, "backward_ns": 1000, "comm_ns": 0,
                   "unshard_ns": 1000, "regather_ns": 5000}, out)
    common.write_rows(f"{folder}/rows.csv", [order])
    common.must(program, "simulate", f"{folder}/rows.csv", "--executor", "torch", "--costs-file",
                f"{folder}/costs.json", "--trace", f"chrome={folder}/trace.json")
    with open(f"{folder}/trace.json", encoding="ascii") as trace:
        events = json.load(trace)
    events = events["traceEvents"] if isinstance(events, dict) else events
    return {e["name"]: int(e["dur"] > 4) for e in events if e.get("cat") == "compute"}


def main():
    program = sys.argv[1]
    dice = random.Random(SEED)
    orders = [random_order(dice) for _ in range(ORDERS)]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        processes.spawn(work, args=(orders, folder), nprocs=2)
        with open(f"{folder}/found.json", encoding="ascii") as out:
            found = json.load(out)
        several = 0
        for order, gathers in zip(orders, found["gathers"]):
            expected = {op: LAYERS * times for op, times in predicted(program, order, folder).items()}
            common.demand(gathers == expected,
                          f"seed {SEED}, {','.join(order)}: PyTorch gathers {gathers}, ppsim {expected}")
            several += sum(times > 0 for times in gathers.values())
        common.demand(several > ORDERS, "hardly any op gathers")
        common.demand(found["gradients"] == [2 * LAYERS, 0],
                      f"after a split backward PyTorch has {found['gradients']} gradients; ppsim refuses it as if the "
                      "second stage had none")
    print(f"resharding: {ORDERS} orders, {several} ops gather in PyTorch and in ppsim; seed {SEED}")


if __name__ == "__main__":
    main()
