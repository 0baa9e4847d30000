"""A small transformer in float64, cut into stages, and its gradients without a pipeline."""
import torch
from torch import nn

WIDTH, HEADS, LENGTH, WORDS = 16, 2, 6, 19
SEQUENCES = 2  # per microbatch


class Stage(nn.Module):
    """One block; the first stage embeds, the last one predicts words."""

    def __init__(self, index, stages):
        super().__init__()
        torch.manual_seed(7000 + index)
        self.embedding = nn.Embedding(WORDS, WIDTH) if index == 0 else None
        self.norm = nn.LayerNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.merge = nn.Linear(WIDTH, WIDTH)
        self.norm_inner = nn.LayerNorm(WIDTH)
        self.widen = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS) if index == stages - 1 else None
        self.double()

    def attend(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, -1).transpose(1, 2)
            for part in self.project(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
        return self.merge(mixed.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        x = x + self.attend(self.norm(x))
        x = x + self.narrow(torch.nn.functional.gelu(self.widen(self.norm_inner(x))))
        return x if self.head is None else self.head(x)


def loss_of(output, target):
    return nn.functional.cross_entropy(output.flatten(0, 1), target.flatten(), reduction="sum")


def batch(microbatches):
    draw = torch.Generator().manual_seed(11)
    shape = (microbatches * SEQUENCES, LENGTH)
    return (torch.randint(WORDS, shape, generator=draw), torch.randint(WORDS, shape, generator=draw))


def run_through(modules, batches, loss):
    """Loss of each microbatch and gradients[stage][name][microbatch], one microbatch after another
    through the whole model on one process. batches: (input of the first stage, what all get beside, target)."""
    losses, gradients = [], [{name: [] for name, _ in module.named_parameters()} for module in modules]
    for x, beside, target in batches:
        for module in modules:
            module.zero_grad(set_to_none=True)
            x = module(x, *beside)
        loss_now = loss(x, target)
        loss_now.backward()
        losses.append(loss_now.detach())
        for module, kept in zip(modules, gradients):
            for name, parameter in module.named_parameters():
                kept[name].append(parameter.grad.clone())
    return losses, gradients


def sequential(stages, microbatches):
    tokens, targets = (part.chunk(microbatches) for part in batch(microbatches))
    modules = [Stage(s, stages) for s in range(stages)]
    return run_through(modules, [(x, (), target) for x, target in zip(tokens, targets)], loss_of)


def summed(terms, order):
    """In that order, as .grad accumulates."""
    total = terms[order[0]].clone()
    for j in order[1:]:
        total += terms[j]
    return total
