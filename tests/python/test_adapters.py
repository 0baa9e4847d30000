"""Builders of microbatches answer the recorded calls of verl, NeMo-RL and Megatron-Core in the same form:
every sequence once, no microbatch beyond the limit, as many microbatches as were asked for."""

import json
import os
import types
import unittest

import numpy
import support  # noqa: F401

import ppsim
from ppsim import adapters

PIPELINE = {
    "model": "gpt1.7b",
    "pp": 2,
    "tp": 1,
    "hw": "h100-80g",
    "seq_length": 2048,
    "micro_batch_size": 1,
    "schedule": "1f1b",
}
DATA = os.path.join(os.path.dirname(__file__), "..", "data", "adapters", "calls.json")
with open(DATA, encoding="utf-8") as recorded:
    CALLS = json.load(recorded)
LENGTHS = CALLS["lengths"]


class Rows(dict):
    """As much of a TensorDict as is used."""

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict.__getitem__(self, key)
        return Rows({name: value[key] for name, value in self.items()})


def form(value):
    """The types of nested lists, to compare results of different contents."""
    return [form(value[0])] if isinstance(value, list) else type(value)


def replanner(**options):
    return ppsim.Replanner(lengths=LENGTHS, **{**PIPELINE, **options})


class Adapters(unittest.TestCase):
    def check_bins(self, bins, limit):
        self.assertEqual(sorted(k for one in bins for k in one), list(range(len(LENGTHS))))
        self.assertLessEqual(max(sum(LENGTHS[k] for k in one) for one in bins), limit)
        self.assertTrue(all(bins))

    def test_verl(self):
        mask = numpy.arange(2048) < numpy.array(LENGTHS)[:, None]
        batch = Rows(input_ids=numpy.arange(len(LENGTHS))[:, None] * mask, attention_mask=mask)
        rearrange = adapters.verl(replanner(), budget="40it")
        for call in CALLS["verl"]:
            parts, bins = rearrange(
                batch, call["max_token_len"], num_batches_divided_by=call["num_batches_divided_by"]
            )
            self.assertEqual(form(bins), form(call["indices"]))
            self.check_bins(bins, call["max_token_len"])
            self.assertEqual(len(parts), len(bins))
            self.assertEqual(len(bins) % (call["num_batches_divided_by"] or 1), 0)
            for part, one in zip(parts, bins):
                self.assertEqual(one, sorted(one))
                self.assertEqual(part["input_ids"].shape[1:], tuple(call["shapes"][0][1:]))
                self.assertEqual(part["input_ids"][:, 0].tolist(), one)
        self.assertEqual(len(rearrange(batch, 2048, min_num_micro_batch=9)[1]), 9)
        others = adapters.verl(replanner(), budget="40it", most=lambda count, group: count + group)
        alone = len(rearrange(batch, 2048)[1])
        self.assertEqual(len(others(batch, 2048, dp_group=3)[1]), alone + 3)
        self.assertEqual(len(others(batch, 2048, dp_group=3, same_micro_num_in_dp=False)[1]), alone)
        for wrong in ({"force_group_size": 2}, {"min_num_micro_batch": 13}):
            with self.assertRaises(ppsim.UsageError):
                rearrange(batch, 2048, **wrong)
        with self.assertRaisesRegex(ppsim.UsageError, "max_token_len.*2000"):
            rearrange(batch, 2000)

    def test_nemo_rl(self):
        call = CALLS["nemo_rl"]
        get_packer = adapters.nemo_rl(replanner(), budget="40it")
        options = {"min_bin_count": call["min_bin_count"], "bin_count_multiple": call["bin_count_multiple"]}
        packer = get_packer(call["algorithm"], call["bin_capacity"], **options)
        bins = packer.pack(LENGTHS)
        self.assertEqual(form(bins), form(call["bins"]))
        self.assertEqual(len(bins), len(call["bins"]))
        self.check_bins(bins, packer.bin_capacity)
        with self.assertRaises(ppsim.InputError):
            packer.pack([2049, 3])
        with self.assertRaisesRegex(ppsim.UsageError, "dp"):
            adapters.nemo_rl(replanner(dp=2))("any", 2048).pack(LENGTHS)

    def test_megatron(self):
        call = CALLS["megatron"]

        class Scheduler(types.SimpleNamespace):
            get_groups_and_subsamples = adapters.megatron(replanner(dp=2, cp=2), budget="40it")

        sizes = {k: call[k] for k in ("max_seqlen_per_dp_cp_rank", "cp_size", "dp_size")}
        seqlens = list(enumerate(LENGTHS))
        for multiple in (None, 4):
            made = Scheduler(microbatch_group_size_per_vp_stage=multiple, **sizes)
            groups = made.get_groups_and_subsamples(seqlens)
            self.assertEqual(form(groups), form(call["groups"]))
            self.assertEqual(len(groups) % (multiple or 1), 0)
            bins = []
            for ranks in groups:
                self.assertEqual(len(ranks), len(call["groups"][0]))
                self.assertEqual(ranks[0], ranks[1])  # context-parallel ranks share their sequences
                self.assertEqual(ranks[2], ranks[3])
                bins += ranks[::2]
            self.check_bins(bins, 2048)
        with self.assertRaisesRegex(ppsim.UsageError, "dp"):
            made.dp_size = 4
            made.get_groups_and_subsamples(seqlens)


if __name__ == "__main__":
    unittest.main()
