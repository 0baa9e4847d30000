"""A step of several pipeline runs (`ppsim plan --pipeline-runs`), as torchtitan and NeMo AutoModel make it.

Two pipeline ranks of two data-parallel processes each train with sharded parameters what ppsim has written: torchtitan
with its own trainer (titan.py), AutoModel with its AutoPipeline, which is called as often as its StepScheduler counts
and with the arguments of its recipe. Demanded on every rank: as many runs as planned; each has exactly the gathers,
ops, sends, receives and reductions of the rows that ppsim lowers, in their order, so that no run leaves out what later
ones would do; the ops of all runs are those of ppsim's timeline; and after each run parameters are shards, and so are
all gradients.

usage: test_pipeline_runs.py PPSIM

tools/test --long makes the environment (tools/dev/torch-env --new)."""
import ast
import importlib.util
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

if not all(map(importlib.util.find_spec, ("nemo_automodel", "torchtitan"))):
    print("skipped: no nemo_automodel and torchtitan; tools/dev/torch-env --new installs them")
    sys.exit(77)

import torch

import common
import test_execution as execution
import titan

PP, DP, RUNS, BATCH, LENGTH, STEPS = 2, 2, 2, 16, 32, 2
RANKS, MICROBATCHES = PP * DP, BATCH // DP // RUNS
MODEL = {
    "hidden_size": titan.WIDTH, "intermediate_size": titan.INNER, "num_hidden_layers": 4,
    "num_attention_heads": titan.HEADS, "num_key_value_heads": titan.KV_HEADS, "vocab_size": titan.WORDS,
    "max_position_embeddings": 256, "tie_word_embeddings": False,
}
CASES = [("torchtitan", "1f1b"), ("automodel", "gpipe")]
WAIT_SECONDS = 200


# --- one process ---------------------------------------------------------------------------------


def watch(stage, ran):
    """Notes also the actions of sharded parameters."""
    execution.watch(stage, ran)
    for owner, method, token in (
        (stage.submod, "unshard", "UNSHARD"), (stage, "start_gradient_reduction", "REDUCE_GRAD"),
        (stage, "wait_for_gradient_reduction", "WAIT_REDUCE_GRAD"),
    ):
        def note(*arguments, inner=getattr(owner, method), token=token, **options):
            ran.append(f"{stage.stage_index}{token}")
            return inner(*arguments, **options)

        setattr(owner, method, note)


def are_shards(stages):
    """Whether all parameters, and all gradients, are shards."""
    from torch.distributed.tensor import DTensor

    return all(isinstance(p, DTensor) and isinstance(p.grad, DTensor) for s in stages for p in s.submod.parameters())


def observed(inner, stages, runs):
    """The function `inner`, which makes a run, and notes what it did."""
    ran = []
    for stage in stages:
        watch(stage, ran)

    def run(*arguments, **options):
        ran.clear()
        result = inner(*arguments, **options)
        runs.append({"ran": list(ran), "shards": are_shards(stages)})
        return result

    return run


def train_torchtitan(job, folder, rank):
    titan.use_cpu(rank)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(job["port"]))
    plan = {"layers": MODEL["num_hidden_layers"], "plan": job["file"], "steps": STEPS}
    trainer = titan.configuration(plan, folder).build()
    for part in trainer.model_parts:
        for module in part.modules():
            if hasattr(module, "set_force_sum_reduction_for_comms"):
                module.set_force_sum_reduction_for_comms(True)  # gloo has no sum of scaled terms
    runs = []
    trainer.forward_backward_step = observed(trainer.forward_backward_step, trainer.pp_schedule._stages, runs)
    trainer.train()
    trainer.close()
    return runs


def loss_of(output, target):
    return torch.nn.functional.cross_entropy(getattr(output, "logits", output).flatten(0, 1), target.flatten())


def shard(model, *, world_mesh, **_):
    from torch.distributed.fsdp import fully_shard

    for layer in [m for m in model.modules() if type(m).__name__ == "LlamaDecoderLayer"]:
        fully_shard(layer, mesh=world_mesh["dp"], reshard_after_forward=False)
    fully_shard(model, mesh=world_mesh["dp"], reshard_after_forward=False)


def step_keywords():
    """What the recipe passes to the schedule by name when it trains; the recipe itself needs packages of GPUs. None is
    in the place of a dictionary."""
    path = pathlib.Path(importlib.util.find_spec("nemo_automodel").submodule_search_locations[0])
    tree = ast.parse((path / "recipes/llm/train_ft.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)
             and ast.unparse(node.func) == "self.pp.info.schedule.step"]
    common.demand(len(calls) == 2, f"the recipe calls the schedule in {len(calls)} places")
    return {keyword.arg for call in calls for keyword in call.keywords}


def train_automodel(job, folder, rank):
    import transformers
    import yaml
    from nemo_automodel.components.distributed.pipelining.autopipeline import AutoPipeline
    from nemo_automodel.components.training import utils
    from nemo_automodel.components.training.step_scheduler import StepScheduler
    from nemo_automodel.recipes import _dist_utils

    torch.cuda.synchronize = lambda *_: None
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    whole = yaml.safe_load(pathlib.Path(job["file"]).read_text(encoding="utf-8"))
    config = _dist_utils.parse_distributed_section(whole["distributed"])["pipeline_config"]
    config.pp_batch_size, config.dtype = whole["step_scheduler"]["local_batch_size"], torch.float32
    options = {key: value for key, value in config.to_dict().items() if key != "loss_fn"}
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (PP, DP), mesh_dim_names=("pp", "dp"))
    pipeline = AutoPipeline(world_mesh=mesh, device=torch.device("cpu"), **options)
    torch.manual_seed(3)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**MODEL)).float()
    pipeline.build(model, loss_fn=loss_of, parallelize_fn=shard)
    info = pipeline.info
    scheduler = StepScheduler(**whole["step_scheduler"], dp_size=DP, dataloader=None, num_epochs=1, max_steps=STEPS)
    runs = []
    step = observed(info.schedule.step, info.stages, runs)
    for _ in range(STEPS):  # as in _run_train_optim_step and _forward_backward_step
        utils.prepare_for_grad_accumulation(pipeline.parts, pp_enabled=True)
        for i in range(scheduler.grad_acc_steps):
            if i == scheduler.grad_acc_steps - 1:
                utils.prepare_for_final_backward(pipeline.parts, pp_enabled=True)
            words = torch.randint(titan.WORDS, (config.pp_batch_size, LENGTH + 1))
            pipeline.update_seq_len(LENGTH)
            step(*[words[:, :-1]] if info.has_first_stage else [], losses=[] if info.has_last_stage else None,
                 target=words[:, 1:].contiguous() if info.has_last_stage else None)
            if i == 0:
                utils.prepare_after_first_microbatch()
    return runs


def work(folder, rank):
    """This process is told by its working directory and its rank what to train."""
    torch.set_num_threads(1)
    job = json.loads((folder / "job.json").read_text(encoding="ascii"))
    runs = {"torchtitan": train_torchtitan, "automodel": train_automodel}[job["framework"]](job, str(folder), rank)
    (folder / f"runs.{rank}").write_text(json.dumps(runs), encoding="ascii")
    torch.distributed.barrier()
    os._exit(0)


# --- the test ------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def train(folder):
    """What each process has run. Ends every process that it starts."""
    environment = dict(os.environ, GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    processes = []
    try:
        for rank in range(RANKS):
            with open(folder / f"log.{rank}", "w", encoding="utf-8") as log:
                processes.append(subprocess.Popen(
                    [sys.executable, "-B", __file__, "--work", folder, str(rank)], stdout=log, stderr=log,
                    env=environment,
                ))
        until = time.monotonic() + WAIT_SECONDS
        while any(process.poll() is None for process in processes):
            codes = {process.poll() for process in processes}
            common.demand(codes <= {None, 0}, f"a process ended with {codes}: " + last_words(folder))
            common.demand(time.monotonic() < until, "the processes hang: " + last_words(folder))
            time.sleep(0.2)
        common.demand({p.poll() for p in processes} == {0}, "a process failed: " + last_words(folder))
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()
    return [json.loads((folder / f"runs.{rank}").read_text(encoding="ascii")) for rank in range(RANKS)]


def last_words(folder):
    logs = "\n".join((folder / f"log.{rank}").read_text(errors="replace") for rank in range(RANKS))
    return "; ".join(re.findall(r"^[\w.]*(?:Error|Exception|Failure): .*$", logs, re.MULTILINE)[-4:])


def timeline_ops(path):
    """The ops of each rank in the order of their starts."""
    events = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["traceEvents"]
    ops = sorted((e["ts"], e["pid"], e["name"]) for e in events if e["ph"] == "X" and e.get("cat") == "compute")
    return [[name for _, pid, name in ops if pid == rank] for rank in range(PP)]


def later(op, run):
    """The op in that run of the step."""
    stage, kind, microbatch = re.fullmatch(r"(\d+)([FIWB])(\d+)", op).groups()
    return f"{stage}{kind}{int(microbatch) + run * MICROBATCHES}"


def is_op(token):
    return re.fullmatch(r"\d+[FIWB]\d+", token)


def check(name, results, rows, ops):
    for process, runs in enumerate(results):
        rank = process // DP
        # A finished reduction has freed the parameters; waits for sends are not asked of stages.
        told = [cell for cell in rows[rank] if not re.search("WAIT_SEND|RESHARD", cell)]
        common.demand(len(runs) == RUNS * STEPS, f"{name}: {len(runs)} runs in {STEPS} steps")
        for number, run in enumerate(runs):
            common.demand(run["ran"] == told, f"{name}: run {number} of process {process} is {run['ran']}, not {told}")
            common.demand(run["shards"], f"{name}: run {number} leaves whole parameters or gradients")
        first = [later(op, k) for k in range(RUNS) for op in filter(is_op, runs[k]["ran"])]
        common.demand(first == ops[rank], f"{name}: rank {rank} runs {first}, and ppsim {ops[rank]}")


def main(program):
    common.demand(step_keywords() == {"target", "losses", None}, f"the recipe passes {step_keywords()} to the schedule")
    with tempfile.TemporaryDirectory() as top:
        for framework, schedule in CASES:
            folder = pathlib.Path(top) / f"{framework}-{schedule}"
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps({"model_type": "llama", **MODEL}))
            file = folder / ("run.py" if framework == "torchtitan" else "run.yaml")
            common.must(
                program, "plan", "--model", folder / "config.json", "--hw", "h100-80g", "--pp", PP, "--tp", 1,
                "--dp", DP, "--seq-length", LENGTH, "--micro-batch-size", 1, "--global-batch-size", BATCH,
                "--schedule", schedule, "--recompute", "none", "--pipeline-runs", RUNS, "--dp-replicate", 1,
                "--target", framework, "--emit", f"{framework}={file}", "--emit", f"plan={folder}/plan.json",
            )
            common.must(program, "simulate", folder / "plan.json", "--emit", f"pytorch-comms={folder}/rows.csv",
                        "--trace", f"chrome={folder}/trace.json", "-o", "/dev/null")
            job = {"framework": framework, "file": str(file), "port": free_port()}
            (folder / "job.json").write_text(json.dumps(job), encoding="ascii")
            rows, ops = common.read_rows(folder / "rows.csv"), timeline_ops(folder / "trace.json")
            check(folder.name, train(folder), rows, ops)
            print(f"ok     {framework}, {schedule}: {RUNS} runs per step, as lowered")


if __name__ == "__main__":
    try:
        if sys.argv[1] == "--work":
            work(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
        main(os.path.abspath(sys.argv[1]))
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
