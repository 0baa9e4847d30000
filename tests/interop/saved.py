"""Counts the bytes that autograd keeps in one process, and has a small Llama cut into stages to count them in.

Counted are storages, each once: tensors that an op saved for its backward, what checkpointing computes again, and the
gradients that a split backward keeps from I to W. Not counted: parameters and tables, and what is only sent."""
import contextlib
import weakref

import torch
import torch.utils.checkpoint
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

WIDTH, HEADS, KV_HEADS, INNER, LENGTH, WORDS = 64, 4, 2, 176, 32, 128
LAYERS = 2  # of a stage


class Kept:
    """In the place of a saved tensor; autograd drops it when it drops the tensor."""

    __slots__ = ("tensor", "ledger", "key")

    def __init__(self, ledger, tensor):
        self.tensor, self.ledger, self.key = tensor, ledger, ledger.take(tensor)

    def __del__(self):
        self.ledger.drop(self.key)


class Ledger:
    """Bytes of the storages that are kept. take and drop come in pairs."""

    def __init__(self, constants):
        self.skip = {t.untyped_storage()._cdata for t in constants}
        self.count, self.size = {}, {}
        self.now = self.peak = 0

    def take(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.skip:
            return None
        if not self.count.get(key):
            self.count[key], self.size[key] = 0, storage.nbytes()
            self.now += self.size[key]
            self.peak = max(self.peak, self.now)
        self.count[key] += 1
        return key

    def drop(self, key):
        if key is None:
            return
        self.count[key] -= 1
        if not self.count[key]:
            self.now -= self.size[key]
            del self.count[key], self.size[key]

    @contextlib.contextmanager
    def watch(self):
        """Everything that autograd saves in here is counted for as long as it is kept."""
        ledger, plain = self, torch.utils.checkpoint._recomputation_hook

        class Watched(plain):
            """The tensors that a checkpointed layer saves when it runs again."""

            def __init__(self, *arguments):
                super().__init__(*arguments)
                inner = self.pack_hook

                def pack(tensor):
                    stored = inner(tensor)
                    weakref.finalize(stored, ledger.drop, ledger.take(stored))
                    return stored

                self.pack_hook = pack

        torch.utils.checkpoint._recomputation_hook = Watched
        try:
            with torch.autograd.graph.saved_tensors_hooks(
                lambda tensor: Kept(ledger, tensor.detach()), lambda kept: kept.tensor
            ):
                yield
        finally:
            torch.utils.checkpoint._recomputation_hook = plain

    def watch_gradients(self, stage):
        """Counts the gradients that a stage keeps of a microbatch from its I to its W."""
        back, weight = stage.backward_one_chunk, stage.backward_weight_one_chunk
        held = {}

        def backward_one_chunk(j, *arguments, **options):
            result = back(j, *arguments, **options)
            if j in stage.backward_state:
                # The first stage has none.
                groups = next((part for part in stage.backward_state[j] if is_groups(part)), [])
                held[j] = [self.take(g) for group in groups for grads in group["grads"] for g in grads if g is not None]
            return result

        def backward_weight_one_chunk(j, *arguments, **options):
            # They go as W proceeds, but its peak is where it begins, or where a layer is computed again.
            result = weight(j, *arguments, **options)
            for key in held.pop(j, []):
                self.drop(key)
            return result

        stage.backward_one_chunk = backward_one_chunk
        stage.backward_weight_one_chunk = backward_weight_one_chunk


def is_groups(part):
    return isinstance(part, (list, tuple)) and len(part) > 0 and isinstance(part[0], dict) and "grads" in part[0]


class Layer(nn.Module):
    """As torchtitan's Llama 3. Its RMS norms are one kernel on GPUs, which keeps as much as a layer norm here."""

    def __init__(self):
        super().__init__()
        head = WIDTH // HEADS
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        self.project = nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * head, bias=False)
        self.merge = nn.Linear(WIDTH, WIDTH, bias=False)
        self.norm_inner = nn.LayerNorm(WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.widen = nn.Linear(WIDTH, INNER, bias=False)
        self.narrow = nn.Linear(INNER, WIDTH, bias=False)
        turn = torch.outer(torch.arange(LENGTH).float(), 1e4 ** -(torch.arange(0, head, 2).float() / head))
        self.register_buffer("turn", torch.polar(torch.ones_like(turn), turn)[None, :, None])

    def rotate(self, x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turn).flatten(3).type_as(x)

    def attend(self, x):
        batch, length, _ = x.shape
        head = WIDTH // HEADS
        parts = self.project(x).view(batch, length, -1, head).split([HEADS, KV_HEADS, KV_HEADS], dim=2)
        q, k, v = self.rotate(parts[0]), self.rotate(parts[1]), parts[2].contiguous()
        mixed = nn.functional.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True, enable_gqa=True
        )
        return self.merge(mixed.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.norm(x))
        inner = self.norm_inner(x)
        return x + self.narrow(nn.functional.silu(self.gate(inner)) * self.widen(inner))


class Stage(nn.Module):
    def __init__(self, index, stages, full):
        super().__init__()
        torch.manual_seed(7000 + index)
        self.embedding = nn.Embedding(WORDS, WIDTH) if index == 0 else None
        wrap = (lambda layer: checkpoint_wrapper(layer, early_stop=False)) if full else (lambda layer: layer)
        self.layers = nn.ModuleList(wrap(Layer()) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, bias=False) if index == stages - 1 else None
        self.head = nn.Linear(WIDTH, WORDS, bias=False) if index == stages - 1 else None
        for part in self.parameters():
            part.data = part.data.bfloat16()  # not the complex table

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        return x if self.head is None else self.head(self.norm(x))


def constants(module):
    return [*module.parameters(), *module.buffers()]


def loss_of(output, target):
    return nn.functional.cross_entropy(output.flatten(0, 1).float(), target.flatten(), reduction="sum")


def batch(microbatches):
    draw = torch.Generator().manual_seed(11)
    shape = (microbatches, LENGTH)
    return (torch.randint(WORDS, shape, generator=draw), torch.randint(WORDS, shape, generator=draw))
