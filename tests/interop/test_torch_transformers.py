"""The example that trains a model of transformers in a pipeline has the losses of the same model that reads
its sequences one by one, without a pipeline, packing, or masks of ours.

usage: test_torch_transformers.py PPSIM   (transformers and the package: wheel.py)
"""
import contextlib
import os
import sys
import tempfile

import wheel

STEPS, RANKS = 3, 2


def load_example():
    wheel.find(wheel.EXAMPLES)
    import torch_transformers

    return torch_transformers


def train_rank(rank, port, path):
    wheel.be_rank(rank, RANKS, port)
    with open(f"{path}.{rank}", "w", encoding="utf-8") as output, contextlib.redirect_stdout(output):
        load_example().main(STEPS)


def train_alone(example):
    """Returns the losses of the whole model, one sequence at a time."""
    import torch

    model = example.make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    for step in range(STEPS):
        sequences = example.draw(step)
        tokens = sum(len(one) - 1 for one in sequences)
        total = 0
        for one in sequences:
            output = model(one[None, :-1]).logits[0]
            loss = torch.nn.functional.cross_entropy(output, one[1:], reduction="sum") / tokens
            loss.backward()
            total += float(loss.detach())
        optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
    return losses


def main():
    try:
        example = load_example()
    except ImportError as why:
        wheel.skip(why)
    import torch

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "printed")
        torch.multiprocessing.spawn(train_rank, (wheel.free_port(), path), nprocs=RANKS)
        with open(f"{path}.{RANKS - 1}", encoding="utf-8") as output:
            rows = [line.split() for line in output if line.startswith("step")]
    alone = train_alone(example)
    assert len(rows) == STEPS, rows
    for row, expected in zip(rows, alone):
        assert abs(float(row[5]) - expected) < 2e-9, (row, expected)
        assert int(row[3]) > 1, row
    print(f"transformers: {STEPS} steps, losses as of the whole model: {alone}")


if __name__ == "__main__":
    if "--there" in sys.argv:
        main()
        sys.exit(0)
    wheel.find()
    sys.exit(wheel.start_new("--there").wait(timeout=300))
