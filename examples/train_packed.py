"""Trains a small language model on packed sequences, with another plan in every step.

    torchrun --nproc-per-node 2 examples/train_packed.py [STEPS]

Every rank draws the same lengths and plans with a budget in iterations, so that every rank has the same
plan: no rank tells another a size.
"""
import random
import sys

import torch
import torch.distributed as dist
from torch import nn

import ppsim
import ppsim.torch

HIDDEN, HEADS, WORDS, ROW = 64, 4, 97, 96
MODEL = {"format": "ppsim.model", "version": 1, "name": "small", "layers": 4, "hidden": HIDDEN, "heads": HEADS,
         "kv_heads": HEADS, "head_dim": HIDDEN // HEADS, "ffn": 4 * HIDDEN, "vocab": WORDS,
         "max_seq_length": ROW, "gated_mlp": False, "rms_norm": True, "linear_bias": False,
         "tied_embeddings": False, "learned_positions": False, "dropout": False}


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm_inner = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.mlp = nn.Sequential(nn.Linear(HIDDEN, 4 * HIDDEN, bias=False), nn.GELU(),
                                 nn.Linear(4 * HIDDEN, HIDDEN, bias=False))

    def attend(self, x, cu_seqlens):
        """Attention inside each sequence; on a GPU one call of a variable-length kernel."""
        mixed = []
        for one in self.qkv(x).split(cu_seqlens.diff().tolist()):
            q, k, v = one.view(len(one), 3, HEADS, -1).permute(1, 2, 0, 3)
            one = nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
            mixed.append(one.transpose(0, 1).flatten(1))
        return self.out(torch.cat(mixed))

    def forward(self, x, cu_seqlens):
        x = x + self.attend(self.norm(x), cu_seqlens)
        return x + self.mlp(self.norm_inner(x))


class Stage(nn.Module):
    """The layers of one stage of a plan."""

    def __init__(self, stage, stages, layers):
        super().__init__()
        self.embed = nn.Embedding(WORDS, HIDDEN) if stage == 0 else None
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        last = stage == stages - 1
        self.head = nn.Sequential(nn.RMSNorm(HIDDEN), nn.Linear(HIDDEN, WORDS, bias=False)) if last else None

    def forward(self, x, cu_seqlens, max_seqlen):
        x = x if self.embed is None else self.embed(x)
        for layer in self.layers:
            x = layer(x, cu_seqlens)
        return x if self.head is None else self.head(x)


def draw(step):
    """The lengths of the sequences of a global batch: lognormal, with a seed that all ranks share."""
    chance = random.Random(step)
    return [min(ROW, max(2, round(chance.lognormvariate(3, 0.8)))) for _ in range(24)]


def make_replanner():
    """Chooses the pipeline for a typical batch; it then plans every batch, in milliseconds."""
    return ppsim.Replanner(model=MODEL, pp=dist.get_world_size(), vpp=1, tp=1, dp=1, lengths=draw(0),
                           seq_length=ROW, micro_batch_size=1, partition="uniform", recompute="none",
                           schedule="1f1b")


def main(steps):
    dist.init_process_group()
    torch.manual_seed(dist.get_rank())
    replanner = make_replanner()
    plan = replanner.plan(draw(0), budget="100it")
    stages = {one.stage: Stage(one.stage, len(plan.stages), one.layers)
              for one in plan.stages if one.rank == dist.get_rank()}
    tokens = 1

    def loss_fn(output, target):
        return nn.functional.cross_entropy(output, target, reduction="sum") / tokens

    pipeline = ppsim.torch.Pipeline(plan, stages, hidden=HIDDEN, loss_fn=loss_fn)
    optimizer = torch.optim.AdamW([p for stage in stages.values() for p in stage.parameters()], lr=3e-3)
    for step in range(steps):
        pipeline.replan(replanner.plan(draw(step), budget="100it"))
        chance = torch.Generator().manual_seed(step)
        packed = [torch.randint(WORDS, (sum(of),), generator=chance) for of in pipeline.lengths]
        tokens = sum(map(len, packed))
        optimizer.zero_grad()
        losses = pipeline.step(packed, [(3 * one + 1) % WORDS for one in packed])
        optimizer.step()
        if losses:
            print(f"step {step}: {len(packed)} microbatches of {min(map(len, packed))} to "
                  f"{max(map(len, packed))} tokens, loss {sum(losses):.3f}")
    sent = pipeline.counts
    print(f"rank {dist.get_rank()} sent {sent['tensors']} tensors and {sent['messages']} messages about sizes")
    pipeline.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
