"""The configurations that `ppsim plan --emit` writes are those that torchtitan and NeMo AutoModel build.

usage: test_adapters.py PPSIM

Each framework's own code reads the file, splits its own model (on the meta device) and builds its schedule, for every
rank of the pipeline, in a process group that sends nothing. Demanded: every option of the file exists there, each
stage holds the modules of the plan's partition, the number of microbatches is the plan's, and the order of each rank
is that of the schedule file. With a number format, exactly the linear layers that the plan has in it are
converted. tools/test --long makes the environment (tools/dev/torch-env --new)."""
import ast
import dataclasses
import functools
import importlib.util
import logging
import os
import pathlib
import re
import sys
import tempfile
from importlib import metadata

if not importlib.util.find_spec("torchtitan"):
    print("skipped: no torchtitan; tools/dev/torch-env --new installs it")
    sys.exit(77)

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from common import Failure, demand, must, read_rows, stage_ranks

RANKS = 4
JOB = f"--model llama3-8b --pp {RANKS} --dp 2 --seq-length 4096 --global-batch-size 32".split()
PLANS = {
    "1f1b": [],
    "interleaved": ["--vpp", "4"],
    "zbv": [],
    "dualpipev": [],
    "planned": ["--budget", "200it"],
    "1f1b full": ["--recompute", "full"],
}
COMPUTES = re.compile(r"\d+[FBIW]\d+|\(.*\)OVERLAP_F_B")
MODULE = re.compile(r"(model\.)?(layers\.\d+|\w+)")


def on_each_rank(job):
    """Calls job(rank, mesh) as every rank of the pipeline would."""
    for rank in range(RANKS):
        dist.init_process_group("fake", rank=rank, world_size=RANKS, store=FakeStore())
        try:
            job(rank, dist.device_mesh.init_device_mesh("cpu", (RANKS,), mesh_dim_names=("pp",)))
        finally:
            dist.destroy_process_group()


def demand_order(schedule, rank, rows):
    """Computing ops of a rank, in the order in which the framework's schedule runs them."""
    order = [str(a) for a in schedule.pipeline_order_with_comms[rank] if a is not None]
    order = [cell for cell in order if COMPUTES.fullmatch(cell)]
    demand(order == rows[rank], f"rank {rank} runs {order[:16]}..., the file says {rows[rank][:16]}...")


def demand_modules(stage, part, wanted):
    """The modules that have parameters, the layers one by one."""
    found = {MODULE.match(name)[0] for name, _ in part.named_parameters()}
    demand(found == wanted, f"stage {stage} holds {sorted(found)}, the plan's {sorted(wanted)}")


@functools.cache
def torchtitan_model():
    from torchtitan.models.llama3 import config_registry

    config = config_registry.llama3_8b()
    spec = config.model_spec.model
    spec.update_from_config(config=config)
    with torch.device("meta"):
        return spec.build()


def demand_options(source, config):
    """Every `config.a.b = value` of the emitted function names a field: a typing error would set a new one."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Assign):
            continue
        path = ast.unparse(node.targets[0]).split(".")[1:]
        if path[-1] in ("num_pp_microbatches", "max_context_length") or path[-1].startswith("num_tokens_per_"):
            continue  # after 0.3.0, behind a condition
        owner = config
        for name in path[:-1]:
            owner = getattr(owner, name)
        demand(path[-1] in {f.name for f in dataclasses.fields(owner)}, f"torchtitan has no option {'.'.join(path)}")


def check_torchtitan(program, folder, options):
    from torchtitan.distributed import pipeline_parallel
    from torchtitan.distributed.activation_checkpoint import FullAC
    from torchtitan.models.llama3 import config_registry

    path = folder / "titan.py"
    must(program, "plan", *JOB, *options, "--target", "torchtitan", "--emit", f"torchtitan={path}")
    rows = read_rows(f"{path}.csv")
    config = config_registry.llama3_8b()
    demand_options(path.read_text(), config)
    spec = importlib.util.spec_from_file_location("titan", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.apply(config)
    parallelism = config.parallelism
    stages = parallelism.module_fqns_per_model_part
    demand(parallelism.pipeline_parallel_degree == RANKS, "another pp")
    demand(parallelism.data_parallel_shard_degree == 2, "another dp")
    demand(config.training.global_batch_size == 32 and config.training.seq_len == 4096, "another batch")
    demand(isinstance(config.activation_checkpoint, FullAC.Config) == ("full" in options), "another recomputation")

    def build(rank, mesh):
        own, parts = pipeline_parallel._pipeline_module_split(
            torchtitan_model(), mesh, parallelism.pipeline_parallel_schedule, torch.device("cpu"), stages
        )
        for stage, part in zip(own, parts):
            demand_modules(stage.stage_index, part, set(stages[stage.stage_index]))
            demand(stage_ranks(rows)[stage.stage_index] == rank, f"stage {stage.stage_index} is on rank {rank}")
        schedule = pipeline_parallel._build_pipeline_schedule(
            parallelism=parallelism,
            local_batch_size=config.training.local_batch_size,
            stages=own,
            loss_fn=lambda output, target: (output, None),
        )
        demand(schedule._n_microbatches == 16, f"{schedule._n_microbatches} microbatches, the plan has 16")
        demand_order(schedule, rank, rows)

    on_each_rank(build)


@functools.cache
def hf_model():
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, vocab_size=128256,
    )
    with torch.device("meta"):
        return transformers.LlamaForCausalLM(config)


def check_automodel(program, folder, options):
    import yaml
    from nemo_automodel.components.distributed.pipelining import functional
    from nemo_automodel.recipes import _dist_utils

    path = folder / "auto.yaml"
    must(program, "plan", *JOB, *options, "--target", "automodel", "--emit", f"automodel={path}")
    rows = read_rows(f"{path}.csv")
    whole = yaml.safe_load(path.read_text())
    parsed = _dist_utils.parse_distributed_section(whole["distributed"])  # refuses what it does not know
    config = parsed["pipeline_config"]
    stages = config.module_fqns_per_model_part
    demand(parsed["pp_size"] == RANKS and parsed["dp_size"] == 2, "other degrees")
    demand(whole["step_scheduler"]["global_batch_size"] == 32, "another batch")
    demand(bool(parsed["activation_checkpointing"]) == ("full" in options), "another recomputation")

    def build(rank, mesh):
        own, parts = functional.split_model_into_stages(
            hf_model(), mesh["pp"], "pp", config.pp_schedule, torch.device("cpu"), stages
        )
        for stage, part in zip(own, parts):
            wanted = {name for name in stages[stage.stage_index] if not name.endswith("rotary_emb")}
            demand_modules(stage.stage_index, part, wanted)
            demand(stage_ranks(rows)[stage.stage_index] == rank, f"stage {stage.stage_index} is on rank {rank}")
        schedule = functional.build_pipeline_schedule(
            config.pp_schedule_csv, config.pp_schedule, config.pp_microbatch_size,
            whole["step_scheduler"]["local_batch_size"], own, lambda output, target: output,
        )
        demand(schedule._n_microbatches == 16, f"{schedule._n_microbatches} microbatches, the plan has 16")
        demand_order(schedule, rank, rows)

    on_each_rank(build)


B200 = ["--hw", "b200-180g", "--schedule", "zbv"]
H100 = ["--hw", "h100-80g", "--schedule", "zbv"]
IN_LAYERS = re.compile(r"(model\.)?layers\.\d+\.")


def demand_low(names, low, both_ends):
    """Exactly the linear layers of transformer layers compute in fewer bits, or all but those of both ends."""
    ends = ("layers.0.", "layers.31.") if both_ends else ()
    wanted = {name for name in names if IN_LAYERS.match(name) and not any(end in name for end in ends)}
    demand(low == wanted, f"in fewer bits: {sorted(low ^ wanted)[:8]}... against the plan")


def check_torchtitan_precision(program, folder, precision):
    """The converters choose layers without torchao and a GPU, for which a class stands in here."""
    from torchtitan.components.quantization import mx, nvfp4
    from torchtitan.models.common.linear import Linear
    from torchtitan.models.llama3 import config_registry

    class Low(Linear):
        @dataclasses.dataclass(kw_only=True, slots=True)
        class Config(Linear.Config):
            pass

    for library in mx, nvfp4:
        library.has_cuda_capability = lambda *_: True
    mx.find_spec = lambda _: True
    mx.MXFP8Linear = nvfp4.NVFP4Linear = Low
    path = folder / "low.py"
    must(program, "plan", *JOB, *B200, "--precision", precision, "--target", "torchtitan", "--emit",
         f"torchtitan={path}")
    spec = importlib.util.spec_from_file_location("low", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.apply(config_registry.llama3_8b()).model_spec.model
    linear = {name: kind for name, kind, *_ in model.traverse(Linear.Config)}
    demand_low(linear, {name for name, kind in linear.items() if isinstance(kind, Low.Config)}, False)


def check_automodel_precision(program, folder, precision):
    import yaml
    from nemo_automodel.components.quantization import fp8

    path = folder / "low.yaml"
    must(program, "plan", *JOB, *H100, "--precision", precision, "--target", "automodel", "--emit",
         f"automodel={path}")
    section = yaml.safe_load(path.read_text())["fp8"]
    config = fp8.build_fp8_config(section)
    read = {key: getattr(config, key) for key in section}  # it ignores what it does not know
    demand(read == section and config.recipe_name == "tensorwise", f"AutoModel reads {read}")
    linear = {name: m for name, m in hf_model().named_modules() if isinstance(m, torch.nn.Linear)}
    low = {name for name, m in linear.items() if fp8._module_filter_fn(m, name, config.filter_fqns)}
    demand_low(linear, low, True)


def main():
    program = os.path.abspath(sys.argv[1])
    logging.disable()
    failed = 0
    for check in check_torchtitan, check_automodel:
        for plan, options in PLANS.items():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    check(program, pathlib.Path(folder), ["--schedule", plan.split()[0], *options])
                except Failure as failure:
                    failed += 1
                    print(f"{check.__name__[6:]}, {plan}: {failure}")
    formats = [(check_torchtitan_precision, "mxfp8"), (check_torchtitan_precision, "nvfp4"),
               (check_automodel_precision, "fp8-current")]
    for check, precision in formats:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(program, pathlib.Path(folder), precision)
            except Failure as failure:
                failed += 1
                print(f"{check.__name__[6:]}, {precision}: {failure}")
    if not failed:
        versions = " and ".join(f"{name} {metadata.version(name)}" for name in ("torchtitan", "nemo-automodel"))
        print(f"adapters: {len(PLANS)} plans and {len(formats)} number formats, as {versions} build them")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
