"""Trains a causal language model of transformers on packed sequences, in a pipeline that a plan drives.

    torchrun --nproc-per-node 2 examples/torch_transformers.py [STEPS]

The model's own decoder layers are cut into stages. Sequences of one microbatch share a row: positions begin
again with each, and a mask keeps attention inside it. No rank tells another a size.
"""
import random
import sys

import torch
import torch.distributed as dist
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

import ppsim
import ppsim.torch

ROW, WORDS, HIDDEN, LAYERS = 64, 97, 32, 4


def make_model():
    """The whole model, the same on every rank. A large one would be made on the meta device."""
    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=HIDDEN, intermediate_size=64, num_hidden_layers=LAYERS, vocab_size=WORDS,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=ROW,
                         attn_implementation="sdpa", tie_word_embeddings=False)
    return LlamaForCausalLM(config).double()


class Stage(nn.Module):
    """Decoder layers first to end - 1 of a model, with its embedding before and its head after them."""

    def __init__(self, model, first, end):
        super().__init__()
        body = model.model
        self.embed = body.embed_tokens if first == 0 else None
        self.layers = nn.ModuleList(body.layers[first:end])
        self.rotary = body.rotary_emb
        self.norm, self.head = (body.norm, model.lm_head) if end == len(body.layers) else (None, None)

    def forward(self, x, cu_seqlens, max_seqlen):
        sizes = cu_seqlens.diff()
        sequence = torch.repeat_interleave(torch.arange(len(sizes), device=x.device), sizes)
        places = torch.arange(len(sequence), device=x.device)
        positions = (places - cu_seqlens[sequence])[None]
        mask = (sequence[:, None] == sequence) & (places[:, None] >= places)
        x = (x if self.embed is None else self.embed(x))[None]
        for layer in self.layers:
            x = layer(x, attention_mask=mask[None, None], position_ids=positions,
                      position_embeddings=self.rotary(x, positions))
        return (x if self.head is None else self.head(self.norm(x)))[0]


def draw(step):
    """The sequences of a global batch, of lognormal lengths, with a seed that all ranks share."""
    chance = random.Random(step)
    lengths = [min(ROW, max(3, round(chance.lognormvariate(3, 0.7)))) for _ in range(12)]
    return [torch.tensor([chance.randrange(WORDS) for _ in range(length)]) for length in lengths]


def packed(sequences, groups):
    """Inputs and targets of every microbatch; a sequence's first token is no target, its last no input."""
    inputs = [torch.cat([sequences[k][:-1] for k in group]) for group in groups]
    return inputs, [torch.cat([sequences[k][1:] for k in group]) for group in groups]


def main(steps):
    dist.init_process_group("gloo")
    model = make_model()
    lengths = [[len(one) - 1 for one in draw(step)] for step in range(steps)]
    replanner = ppsim.Replanner(model=model.config.to_dict(), pp=dist.get_world_size(), vpp=1, tp=1, dp=1,
                                lengths=lengths[0], seq_length=ROW, micro_batch_size=1, partition="uniform",
                                recompute="none", schedule="1f1b")
    plan = replanner.plan(lengths[0], budget="100it")
    first = [sum(stage.layers for stage in plan.stages[:k]) for k in range(len(plan.stages) + 1)]
    stages = {one.stage: Stage(model, first[one.stage], first[one.stage + 1])
              for one in plan.stages if one.rank == dist.get_rank()}
    tokens = 1

    def loss_fn(output, target):
        return nn.functional.cross_entropy(output, target, reduction="sum") / tokens

    pipeline = ppsim.torch.Pipeline(plan, stages, hidden=HIDDEN, loss_fn=loss_fn, dtype=torch.float64)
    weights = [weight for stage in stages.values() for weight in stage.parameters()]
    optimizer = torch.optim.SGD(weights, lr=0.5)
    for step in range(steps):
        replanned = replanner.step(lengths[step], budget="100it")
        pipeline.replan(replanner.plan(lengths[step], budget="100it"))
        tokens = sum(lengths[step])
        losses = pipeline.step(*packed(draw(step), replanned.packing[0]), lengths=replanned.lengths[0])
        optimizer.step()
        optimizer.zero_grad()
        if losses:
            print(f"step {step} microbatches {len(losses)} loss {sum(map(float, losses)):.9f}", flush=True)
    pipeline.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
