#!/usr/bin/env python3
"""Measures PyTorch modules on CPU or GPU and writes ppsim's samples-csv (docs/reference/formats.md).

    tools/dev/measure_torch.py [--device cpu|cuda] [--dtype bfloat16] [--hidden 4096] [--ffn 14336]
        [--heads 32] [--tokens 512,1024,2048] [--lengths 512+512,256+768] [--seconds 2] > samples.csv

A linear layer and an MLP, forward and whole backward, over --tokens; attention over sequences
packed according to --lengths (torch.nn.attention.varlen.varlen_attn if this PyTorch and device have it,
otherwise a loop of scaled_dot_product_attention). Measure your own module by adding a line to
`cases`: a name, its forward, its inputs, its variables.
"""
import argparse
import math
import random
import statistics
import sys
import time

import torch
from torch import nn

COLUMNS = ["class", "tokens", "square_sum", "longest", "tiles", "m", "n", "k", "seconds", "p10_s", "p90_s", "repeats"]


def once(function, device):
    """Seconds of one call: events on a GPU, so that the launch does not count; the clock on a CPU."""
    if device.type != "cuda":
        start = time.perf_counter()
        function()
        return time.perf_counter() - start
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def measure(function, device, seconds):
    """Median, 10th and 90th percentile, repeats: warm-up for a fifth of the time first, 5 repeats at least."""
    end = time.perf_counter() + seconds / 5
    once(function, device)
    while time.perf_counter() < end:
        once(function, device)
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 1000):
        times.append(once(function, device))
    times.sort()
    rank = lambda part: times[max(0, math.ceil(part * len(times)) - 1)]
    return statistics.median(times), rank(0.1), rank(0.9), len(times)


def attention(lengths, heads, dim, device, dtype):
    """A function of q, k and v: causal attention within each of the packed sequences."""
    def loop(q, k, v):
        parts = (x.split(lengths) for x in (q, k, v))
        return torch.cat([nn.functional.scaled_dot_product_attention(
            *(x.transpose(0, 1).unsqueeze(0) for x in part), is_causal=True).squeeze(0).transpose(0, 1)
            for part in zip(*parts)])
    try:
        from torch.nn.attention.varlen import varlen_attn
        ends = torch.tensor([0] + lengths, device=device).cumsum(0).to(torch.int32)

        def varlen(q, k, v):
            return varlen_attn(q, k, v, ends, ends, max(lengths), max(lengths), window_size=(-1, 0))
        varlen(*(torch.zeros(sum(lengths), heads, dim, device=device, dtype=dtype) for _ in range(3)))
        return varlen
    except (ImportError, RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError):
        return loop


def cases(options, device, dtype):
    """Name, forward, inputs (which get gradients), variables of the sample."""
    kind = {"device": device, "dtype": dtype}
    up = nn.Linear(options.hidden, options.ffn, bias=False, **kind)
    down = nn.Linear(options.ffn, options.hidden, bias=False, **kind)
    for tokens in options.tokens:
        x = torch.randn(tokens, options.hidden, **kind)
        yield "linear", up, [x], {"tokens": tokens, "m": tokens, "n": options.ffn, "k": options.hidden}
        yield "mlp", nn.Sequential(up, nn.GELU(), down), [x], {"tokens": tokens}
    for lengths in options.lengths:
        dim = options.hidden // options.heads
        qkv = [torch.randn(sum(lengths), options.heads, dim, **kind) for _ in range(3)]
        yield "attn", attention(lengths, options.heads, dim, device, dtype), qkv, {
            "tokens": sum(lengths), "square_sum": sum(n * n for n in lengths), "longest": max(lengths),
            "tiles": sum(math.ceil(n / 128) ** 2 for n in lengths)}


def main():
    parser = argparse.ArgumentParser(description="PyTorch modules to ppsim's samples-csv")
    number_list = lambda text: [int(n) for n in text.split(",")]
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--ffn", type=int, default=14336)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--tokens", type=number_list, default=[512, 1024, 2048, 4096])
    parser.add_argument("--lengths", type=lambda t: [[int(n) for n in mix.split("+")] for mix in t.split(",")],
                        default=[[2048], [1024] * 2, [256] * 8, [1536, 512]])
    parser.add_argument("--seconds", type=float, default=2.0, help="per point")
    options = parser.parse_args()
    device, dtype = torch.device(options.device), getattr(torch, options.dtype)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"# ppsim.samples 1\n# device: {name}\n# source: measure_torch.py, torch {torch.__version__}")
    print(",".join(COLUMNS))
    todo = list(cases(options, device, dtype))
    random.Random(1).shuffle(todo)  # so that a drift of the clock does not look like a trend over sizes
    for what, forward, inputs, variables in todo:
        out = forward(*[x.requires_grad_() for x in inputs])
        gradient = torch.ones_like(out)
        backward = lambda: torch.autograd.backward(out, gradient, retain_graph=True)
        for suffix, function in ((f"{what}_fwd", lambda: forward(*inputs)), (f"{what}_bwd", backward)):
            print(f"{suffix} {variables}", file=sys.stderr)
            median, p10, p90, repeats = measure(function, device, options.seconds)
            row = dict(variables, seconds=median, p10_s=p10, p90_s=p90, repeats=repeats, **{"class": suffix})
            print(",".join(str(row.get(column, "")) for column in COLUMNS), flush=True)


if __name__ == "__main__":
    main()
