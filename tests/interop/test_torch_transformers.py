"""The example that trains a model of transformers in a pipeline has the losses of the same model that reads
its sequences one by one, without a pipeline, packing, or masks of ours.

usage: test_torch_transformers.py PPSIM   (transformers: that of build/torch-new-env; the package: as in
test_python_models.py)
"""
import contextlib
import glob
import os
import socket
import subprocess
import sys
import tempfile

STEPS, RANKS = 3, 2
NEW = "build/torch-new-env"
PACKAGES = glob.glob("build/python/fresh/lib/python3.*/site-packages")
HERE = os.path.dirname(os.path.abspath(__file__))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def load_example():
    """Imports the example. The folder of the package comes last, since it has other packages, too."""
    sys.path += [os.path.join(HERE, "..", "..", "examples"), *PACKAGES]
    import torch_transformers

    return torch_transformers


def train_rank(rank, port, path):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
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
        skip(why)
    import torch

    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        path = os.path.join(folder, "printed")
        torch.multiprocessing.spawn(train_rank, (port, path), nprocs=RANKS)
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
    if not PACKAGES:
        skip("no wheel (python.wheel)")
    if not os.path.exists(f"{NEW}/bin/python"):
        skip("no build/torch-new-env (tools/dev/torch-env)")
    sys.exit(subprocess.run([f"{NEW}/bin/python", "-B", os.path.abspath(__file__), "--there"],
                            timeout=300, check=False).returncode)
