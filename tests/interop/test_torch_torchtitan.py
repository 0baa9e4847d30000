"""torchtitan's trainer under ppsim.torch has the losses of torchtitan's trainer alone.

Two processes run examples/torch_torchtitan.py on the CPU (titan.py says what of torchtitan's devices is patched);
then torchtitan's trainer, on one rank and without a pipeline, reads the same documents one by one from the same
initial weights. Demanded: equal losses of every step, which the optimizer has changed in between.

usage: test_torch_torchtitan.py PPSIM   (torchtitan and the package: wheel.py)
"""
import subprocess
import sys
import tempfile

import wheel

STEPS, RANKS = 3, 2


def load_example(rank, ranks, port):
    """Imports the example."""
    wheel.be_rank(rank, ranks, port)
    wheel.find(wheel.EXAMPLES)
    import titan

    titan.use_cpu(rank)
    import torch_torchtitan

    return torch_torchtitan


def note_losses(trainer, method, losses):
    """Has the trainer add the loss of every call of a method to the losses of the step."""
    inner = getattr(trainer, method)

    def outer(**options):
        loss = inner(**options)
        losses.append((trainer.step, float(loss)))
        return loss

    setattr(trainer, method, outer)


def local(weight):
    """The whole of a weight that FSDP2 has sharded over one device."""
    weight = weight.detach()
    return weight.to_local() if hasattr(weight, "to_local") else weight


def train_rank(rank, port, folder):
    example = load_example(rank, RANKS, port)
    import torch

    trainer = example.configure(RANKS, STEPS, folder).build()
    weights = {name: local(weight).clone() for name, weight in trainer.model_parts[0].named_parameters()}
    torch.save(weights, f"{folder}/weights.{rank}")
    losses = []
    pipeline = example.drive(trainer, RANKS)
    note_losses(trainer, "pp_forward_backward_step", losses)
    trainer.train()
    counts = pipeline.counts
    pipeline.close()
    trainer.close()
    with open(f"{folder}/losses.{rank}", "w", encoding="ascii") as out:
        out.writelines(f"{step} {loss!r} {counts['messages']}\n" for step, loss in losses)


def train_alone(port, folder):
    example = load_example(0, 1, port)
    import torch
    from torchtitan.models.common.attention import VarlenMetadata

    trainer = example.configure(1, STEPS, folder).build()
    weights = {}
    for rank in range(RANKS):
        weights.update(torch.load(f"{folder}/weights.{rank}"))
    for name, weight in trainer.model_parts[0].named_parameters():
        local(weight).copy_(weights[name])

    def process(inputs, labels):
        ends = torch.tensor([0, inputs["input"].shape[1]], dtype=torch.int32)
        longest = int(ends[1])
        return inputs["input"], labels, {
            "positions": torch.arange(longest)[None],
            "attention_masks": VarlenMetadata(ends, ends, longest, longest),
        }

    trainer.post_dataloading_process = process
    losses = []
    note_losses(trainer, "forward_backward_step", losses)
    trainer.train()
    trainer.close()
    with open(f"{folder}/losses.alone", "w", encoding="ascii") as out:
        out.writelines(f"{step} {loss!r}\n" for step, loss in losses)


def read(path):
    """The summed loss of each step."""
    sums = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            step, loss = line.split()[:2]
            sums[int(step)] = sums.get(int(step), 0) + float(loss)
    return [sums[step] for step in sorted(sums)]


def main():
    wheel.find()
    with tempfile.TemporaryDirectory() as folder:
        def start(*words):
            return wheel.start_new(*words, stdout=subprocess.DEVNULL, stderr=open(f"{folder}/log.{words[0]}", "w"))

        port = wheel.free_port()
        ranks = [start(rank, port, folder) for rank in range(RANKS)]
        failed = [rank for rank, process in enumerate(ranks) if process.wait(timeout=300)]
        failed += ["alone"] if not failed and start("alone", wheel.free_port(), folder).wait(timeout=300) else []
        for who in failed:
            with open(f"{folder}/log.{who}", encoding="utf-8", errors="replace") as log:
                print(f"{who}: ", *log.readlines()[-30:])
        if failed:
            return 1
        found, wanted = read(f"{folder}/losses.{RANKS - 1}"), read(f"{folder}/losses.alone")
        print("with ppsim.torch", found, "alone", wanted)
        if len(found) != STEPS or len(set(found)) != STEPS:
            print("the steps do not differ")
            return 1
        if any(abs(a / b - 1) > 2e-5 for a, b in zip(found, wanted)) or len(wanted) != STEPS:
            print("the losses differ")
            return 1
        with open(f"{folder}/losses.{RANKS - 1}", encoding="ascii") as file:
            if any(line.split()[2] != "0" for line in file):
                print("there were messages about sizes")
                return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(main())
    if sys.argv[1] == "alone":
        train_alone(sys.argv[2], sys.argv[3])
    else:
        train_rank(int(sys.argv[1]), sys.argv[2], sys.argv[3])
