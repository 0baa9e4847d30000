"""Differential test: rows that PyTorch's own passes make of random compute orders equal the rows that
ppsim writes, and orders that PyTorch refuses are refused.

usage: test_lowering.py PPSIM [ORDERS [FIRST_SEED]]; without them 1000 orders for tools/test --long, otherwise 250,
the first by PPSIM_TEST_SEED
"""
import collections
import os
import random
import sys
import tempfile

import torch

import common
import orders

NEW = hasattr(common.schedules, "WAIT_SEND_F")  # PyTorch 2.15 waits for its sends
EXECUTORS = (("torch-2.15", False),) if NEW else (("torch", False), ("torch-defer-recv", True))


def draw_settings(draw):
    """Arguments of PyTorch 2.15's schedules, and the options of ppsim."""
    if not NEW or draw.random() < 0.3:
        return {}, []
    settings, options = {}, []
    if draw.random() < 0.7:
        settings["max_outstanding_sends"] = draw.choice([1, 1, 1, 2, 2, 3, 4])
        options += ["--max-outstanding-sends", settings["max_outstanding_sends"]]
    ahead = draw.choice(["full", "auto", 1, 2, 3])
    settings["unshard_lookahead"] = ahead
    return settings, [*options, "--unshard-lookahead", ahead]


def theirs(path, home, microbatches, defer, settings):
    """PyTorch's rows, or in which of its steps it refuses the order."""
    if isinstance(settings.get("unshard_lookahead"), int):
        settings = {**settings, "unshard_lookahead": (settings["unshard_lookahead"],) * (max(home) + 1)}
    try:
        return common.lower(path, max(home) + 1, len(home), microbatches, defer, **settings)
    except ValueError as refusal:
        if "max_outstanding_sends" not in str(refusal):
            raise
        return "too few sends"
    except AssertionError as refusal:
        return "malformed" if "Malformed compute schedule" in str(refusal) else "invalid"
    except IndexError:
        return "invalid"  # PyTorch 2.13 fails to print a refusal where steps are fewer than ranks


def ours(program, path, out, executor, options):
    """ppsim's rows, or how it refuses the order. Messages are buffered: with one queue per rank the
    deferred receives hang, and rows are all that is asked for here."""
    status, words = common.ppsim(
        program, "simulate", path, "--costs", common.COSTS, "--executor", executor,
        "--comm", "eager:1MB", "--emit", f"pytorch-comms={out}", *options,
    )
    if status == 0:
        rows = common.read_rows(out)
        os.remove(out)
        return rows
    if status == 3:
        return "invalid"
    if status == 1 and "outstanding sends" in words:
        return "too few sends"
    if status == 1 and "wrong tensor" in words:
        return "misdelivered"
    return "malformed" if status == 1 else f"exit {status}: {words}"


def verdict(mine, his, defer):
    """A word for the tally, None where they differ."""
    if mine == "misdelivered":
        return "misdelivered" if defer and isinstance(his, list) and common.misdelivered(his) else None
    if mine != his:
        return None
    if isinstance(his, list):
        return None if common.misdelivered(his) else "equal"
    return his


def first_difference(mine, his):
    if isinstance(mine, str) or isinstance(his, str):
        short = lambda rows: rows if isinstance(rows, str) else "rows"
        return f"ppsim: {short(mine)}; PyTorch: {short(his)}"
    for rank, (a, b) in enumerate(zip(mine, his)):
        for i, (x, y) in enumerate(zip(a + [None], b + [None])):
            if x != y:
                return f"rank {rank} cell {i}: ppsim {x}, PyTorch {y}"
    return "different numbers of rows"


def run(program, count, first_seed, folder):
    tally = {executor: collections.Counter() for executor, _ in EXECUTORS}
    different = 0
    for seed in range(first_seed, first_seed + count):
        draw = random.Random(seed)
        rows, home, microbatches, placement = orders.draw_order(draw)
        disturbed = seed % 4 == 3
        if disturbed:
            rows = orders.disturb(draw, rows)
        path = os.path.join(folder, "order.csv")
        common.write_rows(path, orders.with_blanks(draw, rows))
        settings, options = draw_settings(draw)
        for executor, defer in EXECUTORS:
            his = theirs(path, home, microbatches, defer, settings)
            mine = ours(program, path, os.path.join(folder, "comms.csv"), executor, options)
            word = verdict(mine, his, defer)
            if not disturbed and word in ("malformed", "invalid"):
                word = None  # an order that can run, so the generator of the test is wrong
            tally[executor][word] += 1
            if word is None:
                different += 1
                if different <= 5:
                    print(f"seed {seed} ({placement}) {executor}: {first_difference(mine, his)} {settings}")
                    for row in rows:
                        print("  " + " ".join(row))
    return tally, different


def main(arguments):
    program = arguments[0]
    count = int(arguments[1]) if len(arguments) > 1 else 1000 if "PPSIM_TEST_LONG" in os.environ else 250
    first_seed = int(arguments[2]) if len(arguments) > 2 else 1 + 250 * int(os.environ.get("PPSIM_TEST_SEED", "0"))
    print(f"PyTorch {torch.__version__}, Python {sys.version.split()[0]}")
    print(f"seeds {first_seed} to {first_seed + count - 1}, every fourth order disturbed")
    with tempfile.TemporaryDirectory() as folder:
        tally, different = run(program, count, first_seed, folder)
    for executor, words in tally.items():
        print(
            f"{executor}: {words['equal']} equal row for row, {words['malformed']} refused by both as "
            f"malformed, {words['invalid']} as invalid, {words['too few sends']} for a limit of sends, "
            f"{words['misdelivered']} refused by ppsim alone, "
            f"since PyTorch's rows deliver wrong tensors, {words[None]} different"
        )
    if different:
        return 1
    for executor, words in tally.items():
        # Each way out was taken, so that none is a branch that no order reaches.
        for word in ("equal", "malformed", "invalid"):
            common.demand(words[word], f"{executor}: no order was {word}; use more orders")
    common.demand(
        tally[EXECUTORS[0][0]]["equal"] * 2 >= count, "fewer than half of the orders were lowered at all"
    )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
