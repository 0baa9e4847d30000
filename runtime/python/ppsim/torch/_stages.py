"""One stage of a pipeline: its forward, its backward in one or in two, and its gradient reduction.

The split backward is PyTorch's own (torch.distributed.pipelining): I computes the gradient of the input
and keeps, of the graph, what W needs for those of the weights. The first stage has no gradient of its
input, so that its I does nothing and its W does both.

Replicas reduce gradients once per step, when the last microbatch of a stage is done. A stage in
DistributedDataParallel is run without its hooks, which do not see a split backward; its gradients are
averaged in one all-reduce per dtype over its process group. One in FSDP2 (fully_shard) is told not to
reduce until then, in the way of PyTorch's pipeline stages.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining._backward import stage_backward_input, stage_backward_weight
from torch.nn.parallel import DistributedDataParallel


class Stage:
    """A module of the pipeline with what its microbatches keep between their ops."""

    def __init__(self, module: nn.Module, splits: bool) -> None:
        self.module = module
        self.replicated = isinstance(module, DistributedDataParallel)
        self.sharded = isinstance(module, FSDPModule)
        self._call: Callable[..., Any] = module.module if self.replicated else module
        self._splits = splits
        self._graphs: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # inputs and outputs
        self._weights: dict[int, Optional[list[dict[str, Any]]]] = {}  # from I to W
        self._gradients: dict[int, Optional[torch.Tensor]] = {}  # likewise, where W does both

    def begin(self) -> None:
        """Begins a step: no gradient is reduced before its end."""
        self._graphs.clear()
        self._weights.clear()
        self._gradients.clear()
        if isinstance(self.module, FSDPModule):
            self.module.set_is_last_backward(False)
            self.module.set_reshard_after_backward(False)
            self.module.set_requires_gradient_sync(False)

    def forward(self, microbatch: int, x: torch.Tensor, cu_seqlens: torch.Tensor, longest: int) -> Any:
        """Runs F. x: requires a gradient where it is hidden states."""
        output = self._call(x, cu_seqlens, longest)
        if self._splits and isinstance(output, torch.Tensor) and output._is_view():
            output = output.clone()  # stage_backward_input detaches it in place
        return output

    def keep(self, microbatch: int, x: torch.Tensor, output: torch.Tensor) -> None:
        """Keeps the graph of a forward for its backward. output: of the stage, or the loss."""
        self._graphs[microbatch] = (x, output)

    def backward(self, microbatch: int, gradient: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        """Runs B and returns the gradient of the input. gradient: of the output; None: it is a loss."""
        x, output = self._graphs.pop(microbatch)
        torch.autograd.backward([output], None if gradient is None else [gradient])
        grad, x.grad = x.grad, None
        return grad

    def backward_input(self, microbatch: int, gradient: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        """Runs I."""
        x, output = self._graphs[microbatch]
        if not x.requires_grad:
            self._gradients[microbatch] = gradient
            return None
        del self._graphs[microbatch]
        gradients = None if gradient is None else [gradient]
        grads, weights = stage_backward_input([output], gradients, [x], self.module.parameters())
        self._weights[microbatch] = weights
        x.grad = None
        return grads[0]

    def backward_weight(self, microbatch: int) -> None:
        """Runs W."""
        if microbatch in self._graphs:
            self.backward(microbatch, self._gradients.pop(microbatch))
        else:
            weights = self._weights.pop(microbatch)
            assert weights is not None
            stage_backward_weight(self.module.parameters(), weights)

    def reduce(self) -> list[Callable[[], None]]:
        """Starts the reduction of the gradients over the replicas; returns functions that end it."""
        if isinstance(self.module, FSDPModule):
            _reduce_sharded(self.module)
        if not self.replicated:
            return []
        group = self.module.process_group
        gradients: dict[torch.dtype, list[torch.Tensor]] = {}
        for parameter in self.module.parameters():
            if parameter.grad is not None:
                gradients.setdefault(parameter.grad.dtype, []).append(parameter.grad)
        return [_start_mean(group, tensors) for tensors in gradients.values()]


def _start_mean(group: Any, tensors: list[torch.Tensor]) -> Callable[[], None]:
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    work = dist.all_reduce(flat, group=group, async_op=True)

    def end() -> None:
        work.wait()
        flat.div_(dist.get_world_size(group))
        for tensor, mean in zip(tensors, flat.split([tensor.numel() for tensor in tensors])):
            tensor.copy_(mean.view_as(tensor))

    return end


def _reduce_sharded(module: Any) -> None:
    """As torch.distributed.pipelining.stage, perform_reduce_grad."""
    from torch.distributed.fsdp import fully_shard

    module.set_is_last_backward(True)
    module.set_reshard_after_backward(True)
    module.set_requires_gradient_sync(True)
    root = fully_shard.state(module)
    for state in root._state_ctx.all_states:
        for group in state._fsdp_param_groups:
            group.post_backward()
    root._root_post_backward_final_callback()
