"""One rank of torchtitan's trainer on the CPU, for test_torchtitan.py: trains one plan after the other.

usage: titan.py FOLDER RANK

Patched in torchtitan are the device (it knows only accelerators) and attention (FlexAttention has no backward on the
CPU: causal scaled_dot_product_attention). The words are drawn, since the package has neither text nor a tokenizer.
Everything else is torchtitan's: its Llama 3, pipeline, checkpointing, loss, optimizer and loop.

Two cores cannot be four devices. So that ranks do not wait for a core, the layers are small and sleep: every op of a
layer takes as long as NAPS says, unless computing takes longer."""
import functools
import importlib.util
import json
import os
import sys
import time
import types

import torch
import torch._utils
from torch import nn

WIDTH, HEADS, KV_HEADS, INNER, WORDS = 64, 4, 2, 176, 128
NAPS = {"F": 0.024, "I": 0.026, "W": 0.018}  # seconds of a layer


def use_cpu(rank):
    os.environ.update(LOCAL_RANK=str(rank))
    torch._utils._get_available_device_type = lambda: "cpu"
    torch.cpu.get_device_name = lambda *_: "CPU"
    torch.cpu.get_device_properties = lambda *_: types.SimpleNamespace(total_memory=2**34, name="CPU")
    torch.cpu.memory_stats = lambda *_: {}
    torch.cpu.reset_peak_memory_stats = torch.cpu.empty_cache = lambda *_: None
    torch.cpu.set_device = lambda *_: None
    torch.cpu.device_count = lambda: 1
    torch.cpu.current_device = lambda: 0
    barrier = torch.distributed.barrier
    torch.distributed.barrier = lambda device_ids=None, **options: barrier(**options)  # gloo takes none
    from torchtitan.tools import utils

    utils.get_local_device = lambda: torch.device("cpu")


running = []  # the clock of the layer whose backward is under way


class Start(torch.autograd.Function):
    """Begins a layer, and so ends its backward: sleeps for what is left of I."""

    @staticmethod
    def forward(ctx, x, clock):
        ctx.clock = clock
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        running.clear()
        time.sleep(max(0, ctx.clock.pop("I") - time.monotonic()))
        return gradient, None


class End(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, clock):
        ctx.clock = clock
        time.sleep(max(0, clock["F"] - time.monotonic()))
        return x.clone()  # stages detach their output in place, which a view does not allow

    @staticmethod
    def backward(ctx, gradient):
        ctx.clock["I"] = time.monotonic() + NAPS["I"]
        running[:] = [ctx.clock]
        return gradient, None


class Weight(torch.autograd.Function):
    """Sleeps for W of the layer."""

    @staticmethod
    def forward(ctx, weight, clock):
        ctx.clock = clock
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(NAPS["W"])
        if "I" in ctx.clock:  # inside a fused backward
            ctx.clock["I"] += NAPS["W"]
        return gradient, None


def sleep_in(block):
    """A class of layers that sleep."""

    def forward(self, x, *arguments, **options):
        begin = time.monotonic()
        clock = {"F": begin + NAPS["F"]}
        narrow = self.feed_forward.w2
        plain = narrow.forward
        narrow.forward = lambda y: nn.functional.linear(y, Weight.apply(narrow.weight, clock))
        try:
            return End.apply(block.own_forward(self, Start.apply(x, clock), *arguments, **options), clock)
        finally:
            narrow.forward = plain
            for other in running:  # checkpointing runs the layer again inside its backward
                other["I"] += time.monotonic() - begin

    block.own_forward = block.forward
    block.forward = forward


class Words:
    """In the place of a tokenizer and of text."""

    class Config:
        def build(self, **options):
            return Words(options.get("local_batch_size", 1), options.get("seq_len", 1))

        def to_dict(self):
            return {}

    def __init__(self, batch, length):
        self.shape = batch, length + 1

    def __iter__(self):
        draw = torch.Generator().manual_seed(7)
        while True:
            words = torch.randint(WORDS, self.shape, generator=draw)
            yield {"input": words[:, :-1]}, words[:, 1:].contiguous()

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def configuration(job, folder):
    from torchtitan.models import llama3
    from torchtitan.models.common.attention import ScaledDotProductAttention
    from torchtitan.models.common.rope import ComplexRoPE
    from torchtitan.models.llama3 import config_registry

    llama3.get_attention_config = lambda _: ScaledDotProductAttention.Config()
    config = config_registry.llama3_debugmodel()
    small = config.model_spec.model
    small.dim, small.vocab_size = WIDTH, WORDS
    small.tok_embeddings.num_embeddings, small.tok_embeddings.embedding_dim = WORDS, WIDTH
    small.norm.normalized_shape = WIDTH
    small.lm_head.in_features, small.lm_head.out_features = WIDTH, WORDS
    small.layers = llama3._build_llama3_layers(
        n_layers=job["layers"], dim=WIDTH, n_heads=HEADS, n_kv_heads=KV_HEADS, hidden_dim=INNER,
        rope=ComplexRoPE.Config(dim=WIDTH // HEADS, max_seq_len=256, theta=500000, scaling="llama"), attn_backend="",
    )
    config.loss.loss_fn.global_vocab_size = WORDS
    config.tokenizer = config.dataloader = Words.Config()
    config.validator.enable = config.checkpoint.enable = False
    config.dump_folder = folder
    spec = importlib.util.spec_from_file_location("plan", job["plan"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.apply(config)
    config.training.steps = job["steps"]
    config.lr_scheduler.warmup_steps = 1
    return config


def watch(stage, ran):
    """Notes the ops that the runtime asks of a stage, with their seconds."""

    def note(method, token):
        inner = getattr(stage, method)

        @functools.wraps(inner)
        def outer(*arguments, **options):
            begin = time.monotonic()
            result = inner(*arguments, **options)
            ran.append((token(*arguments, **options), time.monotonic() - begin))
            return result

        setattr(stage, method, outer)

    s = stage.stage_index
    note("forward_one_chunk", lambda j, *_, **__: f"{s}F{j}")
    note("backward_one_chunk", lambda j, *_, full_backward=True, **__: f"{s}{'B' if full_backward else 'I'}{j}")
    note("backward_weight_one_chunk", lambda j, **_: f"{s}W{j}")


def train(job, folder, rank, port):
    """Ops of every step with their seconds, seconds of every step, losses of the last stage."""
    import torch.distributed as dist

    os.environ.update(RANK=str(rank), WORLD_SIZE=str(job["ranks"]), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    trainer = configuration(job, folder).build()
    steps, seconds, losses = [], [], []
    ran = []
    for stage in trainer.pp_schedule._stages:
        watch(stage, ran)
    inner = trainer.forward_backward_step

    def step(**options):
        ran.clear()
        dist.barrier()
        begin = time.monotonic()
        loss = inner(**options)
        dist.barrier()
        seconds.append(time.monotonic() - begin)
        steps.append(list(ran))
        if trainer.pp_has_last_stage:
            losses.append(float(loss))
        return loss

    trainer.forward_backward_step = step
    trainer.train()
    trainer.close()
    dist.destroy_process_group()
    return {"steps": steps, "seconds": seconds, "losses": losses}


def main(folder, rank):
    use_cpu(rank)
    torch.set_num_threads(1)
    with open(f"{folder}/jobs.json", encoding="ascii") as file:
        jobs = json.load(file)
    from torchtitan.models.llama3.model import Llama3TransformerBlock

    sleep_in(Llama3TransformerBlock)
    for number, job in enumerate(jobs["jobs"]):
        result = train(job, folder, rank, jobs["port"] + number)
        with open(f"{folder}/result.{number}.{rank}.part", "w", encoding="ascii") as out:
            json.dump(result, out)
        os.rename(f"{folder}/result.{number}.{rank}.part", f"{folder}/result.{number}.{rank}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
