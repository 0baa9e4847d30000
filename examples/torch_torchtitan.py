"""torchtitan's trainer trains on packed documents, in a pipeline that a plan of ppsim drives.

    torchrun --nproc-per-node 2 examples/torch_torchtitan.py [STEPS]

The model, its parts, loss, optimizer, learning rates, gradient clipping and the loop are torchtitan's (0.3.0);
`drive` replaces the one function with which a step of its pipeline runs. Each item of the loader is a document.
The documents of a step are packed and planned again for every step; no rank tells another a size. Attention inside
documents is torchtitan's VarlenAttention, which needs a GPU; elsewhere each document is attended by itself.
"""
import dataclasses
import os
import random
import sys

import torch
from torchtitan.models import llama3
from torchtitan.models.common.attention import ScaledDotProductAttention, VarlenAttention, VarlenMetadata
from torchtitan.models.common.rope import ComplexRoPE
from torchtitan.models.llama3 import config_registry

import ppsim
import ppsim.torch

WIDTH, HEADS, KV_HEADS, INNER, WORDS, LAYERS, ROW, DOCUMENTS = 64, 4, 2, 176, 128, 4, 64, 12
DTYPE = torch.bfloat16 if torch.cuda.is_available() else torch.float32
MODEL = {
    "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": WORDS,
    "max_position_embeddings": ROW, "tie_word_embeddings": False,
}


class PerDocument(ScaledDotProductAttention):
    """Attends each document of a row by itself, on any device."""

    @dataclasses.dataclass(kw_only=True, slots=True)
    class Config(ScaledDotProductAttention.Config):
        pass

    def forward(self, q_BLNH, k_BLNH, v_BLNH, *, attention_masks, **options):
        ends = attention_masks.cu_seq_q.tolist()
        parts = [super(PerDocument, self).forward(q_BLNH[:, a:b], k_BLNH[:, a:b], v_BLNH[:, a:b], **options)
                 for a, b in zip(ends, ends[1:])]
        return torch.cat(parts, 1)


def as_stage(part):
    """Has a part of torchtitan's model, which FSDP2 may have wrapped, take what ppsim.torch gives stages."""
    inner = part.forward

    def forward(x, cu_seqlens, max_seqlen):
        positions = torch.cat([torch.arange(n, device=x.device) for n in cu_seqlens.diff().tolist()])
        documents = VarlenMetadata(cu_seqlens, cu_seqlens, max_seqlen, max_seqlen)
        return inner(x[None], positions=positions[None], attention_masks=documents)[0].clone()

    part.forward = forward
    return part


class Documents:
    """In the place of a tokenizer and of text: documents of lognormal lengths, the same on all ranks."""

    class Config:
        def build(self, **options):
            return Documents()

        def to_dict(self):
            return {}

    def __iter__(self):
        chance = random.Random(7)
        while True:
            length = min(ROW, max(3, round(chance.lognormvariate(3, 0.7))))
            words = torch.tensor([[chance.randrange(WORDS) for _ in range(length + 1)]])
            yield {"input": words[:, :-1]}, words[:, 1:].contiguous()

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def configure(ranks, steps, folder):
    """torchtitan's configuration of a small Llama 3 on so many pipeline ranks."""
    attention = VarlenAttention if torch.cuda.is_available() else PerDocument
    llama3.get_attention_config = lambda _: attention.Config()
    config = config_registry.llama3_debugmodel()
    small = config.model_spec.model
    small.dim, small.vocab_size = WIDTH, WORDS
    small.tok_embeddings.num_embeddings, small.tok_embeddings.embedding_dim = WORDS, WIDTH
    small.norm.normalized_shape = WIDTH
    small.lm_head.in_features, small.lm_head.out_features = WIDTH, WORDS
    small.layers = llama3._build_llama3_layers(
        n_layers=LAYERS, dim=WIDTH, n_heads=HEADS, n_kv_heads=KV_HEADS, hidden_dim=INNER,
        rope=ComplexRoPE.Config(dim=WIDTH // HEADS, max_seq_len=ROW, theta=500000, scaling="llama"), attn_backend="",
    )
    config.loss = config.loss.loss_fn  # that of chunks needs rows of one length
    config.loss.global_vocab_size = WORDS
    config.tokenizer = config.dataloader = Documents.Config()
    config.validator.enable = config.checkpoint.enable = False
    config.activation_checkpoint = None
    config.dump_folder = folder
    config.training.disable_cuda_graphs = True
    config.training.mixed_precision_param = str(DTYPE).removeprefix("torch.")
    config.training.seq_len, config.training.steps = ROW, steps
    config.training.local_batch_size = DOCUMENTS if ranks > 1 else 1
    config.training.global_batch_size = DOCUMENTS
    config.lr_scheduler.warmup_steps = 1
    config.parallelism.data_parallel_shard_degree = 1
    config.parallelism.pipeline_parallel_degree = ranks
    config.parallelism.pipeline_parallel_microbatch_size = 1
    config.parallelism.pipeline_parallel_schedule = "1F1B"
    return config


def drive(trainer, ranks):
    """Has ppsim.torch run the steps of torchtitan's pipeline, each by a plan of its own."""
    first = [item["input"].shape[1] for (item, _), _ in zip(Documents(), range(DOCUMENTS))]
    replanner = ppsim.Replanner(model=MODEL, pp=ranks, vpp=1, tp=1, dp=1, lengths=first, seq_length=ROW,
                                micro_batch_size=1, partition="uniform", recompute="none", schedule="1f1b")
    stage = trainer.pp_schedule._stage  # of this rank: what 1F1B has is one
    stages = {stage.stage_index: as_stage(trainer.model_parts[0])}
    tokens = torch.ones(())

    def loss_fn(output, target):
        return trainer.loss_fn(output[None], target[None], tokens)[0]

    pipeline = ppsim.torch.Pipeline(replanner.plan(first, budget="100it"), stages, hidden=WIDTH, loss_fn=loss_fn,
                                    dtype=DTYPE)

    def step(*, input_dict_mbs, label_mbs, global_valid_tokens):
        nonlocal tokens
        tokens = global_valid_tokens
        documents = [one["input"][0] for one in input_dict_mbs]
        lengths = [len(one) for one in documents]
        replanned = replanner.step(lengths, budget="100it")
        pipeline.replan(replanner.plan(lengths, budget="100it"))
        groups = replanned.packing[0]
        with trainer.train_context():
            losses = pipeline.step([torch.cat([documents[k] for k in group]) for group in groups],
                                   [torch.cat([label_mbs[k][0] for k in group]) for group in groups],
                                   lengths=replanned.lengths[0])
        return torch.stack(losses).sum() if losses else torch.tensor([-1.0], device=trainer.device)

    trainer.pp_forward_backward_step = step
    return pipeline


def main(steps, folder="outputs"):
    ranks = int(os.environ["WORLD_SIZE"])
    trainer = configure(ranks, steps, folder).build()
    pipeline = drive(trainer, ranks)
    trainer.train()
    pipeline.close()
    trainer.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
