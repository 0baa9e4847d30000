"""Executes plans in PyTorch, with packed microbatches of different lengths and no messages about sizes.

    import ppsim.torch

    pipeline = ppsim.torch.Pipeline(plan, stages, hidden=4096, dtype=torch.bfloat16, loss_fn=loss_fn)
    for microbatches, targets in batches:
        losses = pipeline.step(microbatches, targets)
        optimizer.step()

The plan knows how many tokens every microbatch has, so that every rank knows every size before the
step: receive buffers are there when a tensor comes. The ops and messages of a rank, and their order,
are those of executor ``ppsim`` (``Plan.program``), for which ppsim proves that they cannot hang.

A stage is a module that is called as ``stage(x, cu_seqlens, max_seqlen)``: x has shape [tokens] (token
ids, first stage) or [tokens, hidden]; cu_seqlens (int32, on the device) are the boundaries of the
sequences, as variable-length attention takes them; max_seqlen is an int. It returns [tokens, hidden];
the last stage returns what ``loss_fn`` takes. This module needs PyTorch 2.13 or later, which
``pip install '.[torch]'`` installs.
"""

from ppsim.torch._pipeline import Pipeline
from ppsim.torch._places import PipelineError
from ppsim.torch._wire import PROTOCOLS

__all__ = ["PROTOCOLS", "Pipeline", "PipelineError"]
