"""Builders of microbatches with the calls of other frameworks, which pack by a `ppsim.Replanner`.

Each function takes a replanner and returns what takes the place of the framework's own builder: the
same arguments, and a result of the same form. A framework's builder balances tokens; a replanner
minimizes the predicted step. The microbatches come in the order in which the pipeline should run
them. budget and seed are those of `Replanner.step`; ranks that build the same microbatches for
themselves need a budget of iterations, such as ``"100it"``.

If a call asks for more microbatches than the replanner made, the one with the most sequences is cut
in half until there are enough, as verl does when ranks disagree.

The calls are those of verl 1dda039b, NeMo-RL 7ea279ab and Megatron-LM d98e8a64."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

from ppsim import _errors
from ppsim._replanner import Replanner

__all__ = ["megatron", "nemo_rl", "verl"]

Budget = Union[float, str]
Bins = list[list[int]]


def _at_least(bins: Bins, count: int, asked_by: str) -> Bins:
    """Cuts bins in half until there are `count`. Raises UsageError if there are too few sequences."""
    bins = [list(one) for one in bins]
    sequences = sum(len(one) for one in bins)
    if count > sequences:
        raise _errors.UsageError(
            asked_by, f"asks for {count} microbatches, but there are only {sequences} sequences"
        )
    while len(bins) < count:
        at = max(range(len(bins)), key=lambda k: len(bins[k]))
        half = len(bins[at]) // 2
        bins[at : at + 1] = [bins[at][:half], bins[at][half:]]
    return bins


def _multiple(count: int, of: Optional[int]) -> int:
    return -(-count // of) * of if of else count


def _check_tokens(bins: Bins, lengths: list[int], limit: int, asked_by: str) -> None:
    most = max(sum(lengths[k] for k in one) for one in bins)
    if most > limit:
        raise _errors.UsageError(
            asked_by,
            f"is {limit} tokens, but the replanner fills microbatches with up to {most}; make it with "
            f"seq_length x micro_batch_size of at most {limit}",
        )


def _one_replica(replanner: Replanner, lengths: list[int], budget: Budget, seed: int) -> Bins:
    packing = replanner.step(lengths, budget=budget, seed=seed).packing
    if len(packing) != 1:
        raise _errors.UsageError(
            "dp", f"is {len(packing)}, but this call packs the sequences of one replica; make it with dp=1"
        )
    return packing[0]


def verl(
    replanner: Replanner,
    *,
    budget: Budget = 0.01,
    seed: int = 0,
    most: Optional[Callable[[int, Any], int]] = None,
) -> Callable[..., tuple[list[Any], Bins]]:
    """Returns a ``rearrange_micro_batches`` for verl/utils/seqlen_balancing.py.

    replanner: of one replica (dp=1), since every rank packs its own part of the batch. Its microbatches
    hold at most max_token_len tokens. batch: ``batch[list of ints]`` are its rows, as in a TensorDict,
    and it has "input_ids", nested or beside an "attention_mask". most: returns the greatest of a count
    over the ranks of dp_group; by default torch.distributed does, if it is initialized.
    use_dynamic_bsz_balance has no effect, and force_group_size must be 1. Raises UsageError and what
    `Replanner.step` raises."""

    def rearrange_micro_batches(
        batch: Any,
        max_token_len: int,
        dp_group: Any = None,
        num_batches_divided_by: Optional[int] = None,
        same_micro_num_in_dp: bool = True,
        min_num_micro_batch: Optional[int] = None,
        use_dynamic_bsz_balance: bool = True,
        force_group_size: int = 1,
    ) -> tuple[list[Any], Bins]:
        if force_group_size != 1:
            raise _errors.UsageError("force_group_size", "must be 1: sequences are packed one by one")
        ids = batch["input_ids"]
        nested = getattr(ids, "is_nested", False)
        lengths = (ids.offsets().diff() if nested else batch["attention_mask"].sum(-1)).tolist()
        bins = _one_replica(replanner, lengths, budget, seed)
        _check_tokens(bins, lengths, max_token_len, "max_token_len")
        count = max(len(bins), min_num_micro_batch or 0)
        if same_micro_num_in_dp and dp_group is not None:
            count = (most or _most)(count, dp_group)
        count = _multiple(count, num_batches_divided_by)
        bins = [sorted(one) for one in _at_least(bins, count, "verl")]
        return [batch[one] for one in bins], bins

    return rearrange_micro_batches


def _most(count: int, group: Any) -> int:
    import torch
    from torch import distributed

    if not distributed.is_initialized():
        return count
    device = "cuda" if "nccl" in str(distributed.get_backend(group)) else "cpu"
    all_counts = torch.tensor([count], device=device)
    distributed.all_reduce(all_counts, op=distributed.ReduceOp.MAX, group=group)
    return int(all_counts.item())


class _Packer:
    """A packer of NeMo-RL."""

    def __init__(self, pack: Callable[[list[int]], Bins], bin_capacity: int) -> None:
        self.bin_capacity = bin_capacity
        self.pack = pack


def nemo_rl(replanner: Replanner, *, budget: Budget = 0.01, seed: int = 0) -> Callable[..., Any]:
    """Returns a ``get_packer`` for nemo_rl/data/packing/algorithms.py, whose packers have ``pack`` and
    ``bin_capacity``.

    replanner: of one replica (dp=1) whose microbatches hold at most bin_capacity tokens. The algorithm
    has no effect, and metrics are not collected. ``pack(sequence_lengths)`` returns the bins of indices
    and raises UsageError and what `Replanner.step` raises."""

    def get_packer(
        algorithm: Any,
        bin_capacity: int,
        collect_metrics: bool = False,
        min_bin_count: Optional[int] = None,
        bin_count_multiple: Optional[int] = None,
    ) -> _Packer:
        def pack(sequence_lengths: list[int]) -> Bins:
            lengths = list(sequence_lengths)
            bins = _one_replica(replanner, lengths, budget, seed)
            _check_tokens(bins, lengths, bin_capacity, "bin_capacity")
            count = _multiple(max(len(bins), min_bin_count or 0), bin_count_multiple)
            return _at_least(bins, count, "min_bin_count or bin_count_multiple")

        return _Packer(pack, bin_capacity)

    return get_packer


def megatron(
    replanner: Replanner, *, budget: Budget = "100it", seed: int = 0
) -> Callable[[Any, list[tuple[int, int]]], list[Bins]]:
    """Returns a ``get_groups_and_subsamples`` for a subclass of DpBalancedScheduler in
    megatron/core/datasets/data_schedule.py::

        class Planned(DpBalancedScheduler):
            get_groups_and_subsamples = ppsim.adapters.megatron(replanner)

    replanner: with the scheduler's dp and cp; its microbatches hold at most max_seqlen_per_dp_cp_rank x
    cp tokens. For each microbatch the result has the places in the list of (id, length) that every rank
    of dp x cp gets. Every data-parallel rank computes it from the same list, hence a budget of
    iterations. Raises UsageError and what `Replanner.step` raises."""

    def get_groups_and_subsamples(self: Any, sample_id_seqlens: list[tuple[int, int]]) -> list[Bins]:
        lengths = [int(length) for _, length in sample_id_seqlens]
        replicas = replanner.step(lengths, budget=budget, seed=seed).packing
        if len(replicas) != self.dp_size:
            raise _errors.UsageError("dp", f"of the replanner is {len(replicas)}, not {self.dp_size}")
        count = _multiple(len(replicas[0]), self.microbatch_group_size_per_vp_stage)
        replicas = [_at_least(bins, count, "microbatch_group_size_per_vp_stage") for bins in replicas]
        limit = self.max_seqlen_per_dp_cp_rank * self.cp_size
        for bins in replicas:
            _check_tokens(bins, lengths, limit, "max_seqlen_per_dp_cp_rank")
        return [[bins[m] for bins in replicas for _ in range(self.cp_size)] for m in range(count)]

    return get_groups_and_subsamples
