"""A small Llama-shaped model for packed sequences, cut into stages that ppsim.torch and PyTorch run, and
its losses and gradients without a pipeline."""
import json
import random

import torch
from torch import nn

import model

WORDS = 97


class Block(nn.Module):
    """RMSNorm, causal attention inside each sequence with rotary positions, SwiGLU."""

    def __init__(self, hidden, heads, ffn):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.RMSNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.ffn_norm = nn.RMSNorm(hidden)
        self.gate = nn.Linear(hidden, ffn, bias=False)
        self.up = nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    @staticmethod
    def rotate(x):
        half = x.shape[-1] // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        angle = torch.arange(x.shape[1], dtype=torch.float32)[:, None] * rates
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    def attend(self, x, cu_seqlens):
        parts = []
        sizes = cu_seqlens.diff().tolist()
        for one in self.qkv(x).split(sizes):  # [tokens, 3 * hidden] of one sequence
            q, k, v = one.view(len(one), 3 * self.heads, -1).transpose(0, 1).split(self.heads)
            mixed = nn.functional.scaled_dot_product_attention(
                self.rotate(q)[None], self.rotate(k)[None], v[None], is_causal=True)[0]
            parts.append(mixed.transpose(0, 1).reshape(len(one), -1))
        return self.out(torch.cat(parts))

    def forward(self, x, cu_seqlens):
        x = x + self.attend(self.attention_norm(x), cu_seqlens)
        y = self.ffn_norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Stage(nn.Module):
    """Some layers; the first stage embeds, the last one predicts words."""

    def __init__(self, index, stages, layers=1, hidden=64, heads=4, ffn=160, dtype=torch.float32):
        super().__init__()
        torch.manual_seed(7000 + index)
        self.embedding = nn.Embedding(WORDS, hidden) if index == 0 else None
        self.layers = nn.ModuleList(Block(hidden, heads, ffn) for _ in range(layers))
        last = index == stages - 1
        self.norm = nn.RMSNorm(hidden) if last else None
        self.head = nn.Linear(hidden, WORDS, bias=False) if last else None
        self.to(dtype)

    def forward(self, x, cu_seqlens, max_seqlen):
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers:
            x = layer(x, cu_seqlens)
        return x if self.head is None else self.head(self.norm(x))


def loss_of(output, target):
    return nn.functional.cross_entropy(output, target, reduction="sum")


def batch(lengths, seed):
    """Token ids and targets of each microbatch, which every rank makes alike."""
    draw = torch.Generator().manual_seed(seed)
    ids = [torch.randint(WORDS, (sum(of),), generator=draw) for of in lengths]
    return ids, [(3 * one + 1) % WORDS for one in ids]


def draw_lengths(microbatches, seed, longest=48, fill=96, median=16):
    """Lognormal lengths, packed first-fit into `microbatches` bins of `fill` tokens; none is empty."""
    draw = random.Random(seed)
    bins = [[min(longest, max(2, round(draw.lognormvariate(0, 0.8) * median)))] for _ in range(microbatches)]
    for _ in range(microbatches):
        length = min(longest, max(2, round(draw.lognormvariate(0, 0.8) * median)))
        fits = [one for one in bins if sum(one) + length <= fill]
        if fits:
            fits[0].append(length)
    return bins


def model_file(path, layers, hidden=64, heads=4, ffn=160):
    """The same model for ppsim."""
    fields = {"format": "ppsim.model", "version": 1, "name": "packed", "layers": layers, "hidden": hidden,
              "heads": heads, "ffn": ffn, "vocab": WORDS, "head_dim": hidden // heads, "kv_heads": heads,
              "max_seq_length": 4096, "dropout": False, "gated_mlp": True, "rms_norm": True,
              "linear_bias": False, "tied_embeddings": False, "learned_positions": False}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(fields, file)
    return path


def sequential(modules, lengths, ids, targets):
    """Loss of each microbatch, and gradients[stage][name][microbatch], one microbatch after another."""
    cuts = [torch.tensor([0, *of], dtype=torch.int32).cumsum(0, dtype=torch.int32) for of in lengths]
    batches = [(x, (cut, max(of)), target) for of, cut, x, target in zip(lengths, cuts, ids, targets)]
    return model.run_through(modules, batches, loss_of)
