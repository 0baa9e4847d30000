"""Real PyTorch runs schedule files that ppsim wrote: several gloo processes on this machine, a small
transformer in float64, torch.distributed.pipelining's _PipelineScheduleRuntime.

For each file: it loads; the compute ops, sends, receives and reductions that ran are those of the file,
in its order; losses and gradients equal those of the model without a pipeline, bit for bit when summed
over microbatches in the order of the file. Files with two tokens exchanged must not pass. With tools/test
--long all schedules are run, and plans for several memory limits. In PyTorch 2.15 rows with communication are
those of executor torch-2.15, and nothing is deferred.

usage: test_execution.py PPSIM
"""
import datetime
import functools
import glob
import json
import multiprocessing
import os
import pickle
import random
import re
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules

import common
import model
import orders

# A process that waits this long for another gives up; the launcher ends all a little later.
WAIT_SECONDS = 150
STALL_SECONDS = 180
NEW = hasattr(schedules, "WAIT_SEND_F")  # PyTorch 2.15
EXECUTOR = "torch-2.15" if NEW else "torch"
LONG = "PPSIM_TEST_LONG" in os.environ
RELATIVE = 1e-12  # of the largest gradient, where the order of the sum differs


# --- one process of the pipeline -----------------------------------------------------------------


def watch(stage, ran):
    """Notes what the runtime asks of a stage, in PyTorch's tokens."""

    def note(method, token):
        inner = getattr(stage, method)

        @functools.wraps(inner)
        def outer(*arguments, **options):
            ran.append(token(*arguments, **options))
            return inner(*arguments, **options)

        setattr(stage, method, outer)

    s = stage.stage_index
    note("forward_one_chunk", lambda j, *_, **__: f"{s}F{j}")
    note(
        "backward_one_chunk",
        lambda j, *_, full_backward=True, **__: f"{s}{'B' if full_backward else 'I'}{j}",
    )
    note("backward_weight_one_chunk", lambda j, **_: f"{s}W{j}")
    note("get_fwd_send_ops", lambda j: f"{s}SEND_F{j}")
    note("get_fwd_recv_ops", lambda j: f"{s}RECV_F{j}")
    note("get_bwd_send_ops", lambda j: f"{s}SEND_B{j}")
    note("get_bwd_recv_ops", lambda j: f"{s}RECV_B{j}")
    note("perform_reduce_grad", lambda *_: f"{s}REDUCE_GRAD")


def run_case(case, rank):
    """What came out on this rank; {"refused": why} where the file does not load."""
    home, ran, losses = case["home"], [], []
    modules = {s: model.Stage(s, len(home)) for s in range(len(home)) if home[s] == rank}
    stages = [PipelineStage(modules[s], s, len(home), torch.device("cpu")) for s in modules]
    runtime = schedules._PipelineScheduleRuntime(
        stages, case["microbatches"], loss_fn=model.loss_of, scale_grads=False,
        defer_pp_recv=case["defer"],
    )
    try:
        runtime._load_csv(case["file"], case["format"])
    except (AssertionError, ValueError) as refusal:
        return {"refused": str(refusal).splitlines()[0]}
    for stage in stages:
        watch(stage, ran)
    tokens, targets = model.batch(case["microbatches"])
    first, last = 0 in modules, len(home) - 1 in modules
    runtime.step(
        *([tokens] if first else []), target=targets if last else None, losses=losses if last else None
    )
    return {
        "ran": ran,
        "losses": [loss.detach() for loss in losses],
        "gradients": {
            s: {name: p.grad for name, p in module.named_parameters()} for s, module in modules.items()
        },
    }


def work(rank, ranks, folder, cases, leave):
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks,
        timeout=datetime.timedelta(seconds=WAIT_SECONDS),
    )
    for number, case in enumerate(cases):
        result = run_case(case, rank)
        beside = f"{folder}/result.{number}.{rank}"
        with open(beside + ".part", "wb") as out:
            pickle.dump(result, out)
        os.rename(beside + ".part", beside)
        dist.barrier()
    # Whoever leaves first resets connections on which others may still be reading.
    leave.wait(WAIT_SECONDS)
    os._exit(0)


def launch(ranks, cases, folder):
    """Results[case][rank]. Ends every process it starts."""
    context = multiprocessing.get_context("fork")
    leave = context.Barrier(ranks)
    processes = [
        context.Process(target=work, args=(rank, ranks, folder, cases, leave)) for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    try:
        seen, since = 0, time.monotonic()
        while any(process.is_alive() for process in processes):
            at = f"{ranks} ranks, at {cases[min(seen // ranks, len(cases) - 1)]['name']}"
            codes = [process.exitcode for process in processes]
            common.demand(set(codes) <= {None, 0}, f"{at}: processes ended with {codes}")
            results = len(glob.glob(f"{folder}/result.*[0-9]"))
            if results > seen:
                seen, since = results, time.monotonic()
            common.demand(time.monotonic() - since < STALL_SECONDS, f"{at}: hangs")
            time.sleep(0.05)
        codes = [process.exitcode for process in processes]
        common.demand(set(codes) == {0}, f"{ranks} ranks: processes ended with {codes}")
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
            process.join()
    results = []
    for number in range(len(cases)):
        results.append([])
        for rank in range(ranks):
            with open(f"{folder}/result.{number}.{rank}", "rb") as saved:
                results[-1].append(pickle.load(saved))
    return results


# --- what must have come out ---------------------------------------------------------------------


def executed_part(row):
    """What a runtime without FSDP does of a compute_comms row; it runs the halves of a pair in order."""
    parts = []
    for cell in row:
        if not cell.endswith("SHARD") and "WAIT" not in cell:
            parts += cell[1 : cell.index(")")].split(";") if cell.startswith("(") else [cell]
    return parts


def weight_order(row, stage):
    """Microbatches in the order of a stage's weight gradients."""
    found = (re.fullmatch(rf"{stage}[BW](\d+)", cell) for cell in executed_part(row))
    return [int(match[1]) for match in found if match]


@functools.lru_cache(maxsize=None)
def reference(stages, microbatches):
    return model.sequential(stages, microbatches)


def judge(case, results):
    """Complaints, as words: refused, order, loss, gradients."""
    if any("refused" in result for result in results):
        return {"refused"}
    found = set()
    losses, gradients = reference(len(case["home"]), case["microbatches"])
    for rank, result in enumerate(results):
        told, ran = executed_part(case["rows"][rank]), result["ran"]
        if ran != told:
            found.add("order")
        for stage, of_stage in result["gradients"].items():
            order = weight_order(case["rows"][rank], stage)
            for name, gradient in of_stage.items():
                terms = gradients[stage][name]
                exact = model.summed(terms, order)
                plain = model.summed(terms, range(len(terms)))
                if gradient is None or not torch.equal(gradient, exact):
                    found.add("gradients")
                elif (gradient - plain).abs().max() > RELATIVE * plain.abs().max():
                    found.add("gradients")
    last = results[case["home"][-1]]["losses"]
    if len(last) != len(losses) or not all(torch.equal(a, b) for a, b in zip(last, losses)):
        found.add("loss")
    return found


# --- the cases -----------------------------------------------------------------------------------


def make_case(name, file, rows, home, microbatches, expect=frozenset(), **how):
    return {
        "name": name, "file": file, "rows": rows, "home": home, "microbatches": microbatches,
        "format": how.get("format", "compute_only"), "defer": how.get("defer", False),
        "expect": set(expect),
    }


def emit(program, folder, name, arguments, executor=EXECUTOR):
    """A schedule of ppsim's as both kinds of rows, with what the program says of it."""
    plain, comms = f"{folder}/{name}.csv", f"{folder}/{name}.comms.csv"
    common.must(
        program, "simulate", *arguments, "--costs", common.COSTS, "--executor", executor,
        "--comm", "eager:1MB", "--emit", f"pytorch-csv={plain}", "--emit", f"pytorch-comms={comms}",
    )
    rows = common.read_rows(comms)
    where = common.stage_ranks(rows)
    home = [where[s] for s in sorted(where)]
    with open(plain + ".json", encoding="ascii") as said:
        facts = json.load(said)
    common.demand(
        facts["p"] == len(rows) and facts["stages"] == len(home), f"{name}: {plain}.json is wrong"
    )
    return plain, comms, rows, home, facts


def planned_cases(program, folder, ranks):
    """What plan chooses; the model only decides the order, what runs here is the small one."""
    for limit in (None, "20GiB", "16GiB", "13GiB") if LONG else (None,):
        file = f"{folder}/planned-{ranks}-{limit}.csv"
        common.must(
            program, "plan", "--model", "llama3-8b", "--pp", ranks, "--tp", 8, "--global-batch-size", 8,
            *(["--memory-limit", limit, "--schedule", "planned"] if limit else []),
            "--emit", f"pytorch-csv={file}",
        )
        plain, comms, rows, home, facts = emit(program, folder, f"planned-{ranks}-{limit}-read", [file])
        name = f"planned-{ranks} in {limit or '76 GiB'}"
        yield make_case(f"{name} compute_only", file, rows, home, facts["m"])
        yield make_case(f"{name} compute_comms", comms, rows, home, facts["m"], format="compute_comms")


def good_cases(program, folder, ranks):
    """Both kinds of file of every schedule."""
    cases = []
    named = [("1f1b", None), ("gpipe", None), ("zb-1p", None), ("interleaved", 2), ("looped-bfs", 2),
             ("interleaved-zb", 2), ("zbv", 2), ("dualpipev", 2)]
    if LONG:
        named += [("eager-1f1b", None), ("zb-h1", None), ("zb-h2", None), ("zb-2p", None), ("zbv-auto", 2),
                  ("v-half", 2), ("v-min", 2), ("1f1b-v", 2)]
    for schedule, per_rank in named:
        microbatches = 8 if ranks == 4 else 4
        arguments = ["--schedule", schedule, "--pp", ranks, "--microbatches", microbatches]
        arguments += ["--vpp", per_rank] if per_rank else []
        name = f"{schedule}-{ranks}"
        plain, comms, rows, home, facts = emit(program, folder, name, arguments)
        common.demand(
            facts["m"] == microbatches and facts["v"] == (per_rank or 1), f"{name}: FILE.json is wrong"
        )
        cases.append(make_case(f"{name} compute_only", plain, rows, home, microbatches))
        cases.append(
            make_case(f"{name} compute_comms", comms, rows, home, microbatches, format="compute_comms")
        )
        if not per_rank and not NEW:
            plain, _, rows, home, _ = emit(
                program, folder, f"{name}-deferred", arguments, "torch-defer-recv"
            )
            cases.append(
                make_case(f"{name} with defer_pp_recv", plain, rows, home, microbatches, defer=True)
            )
    return [*cases, *planned_cases(program, folder, ranks)]


def random_cases(program, folder, ranks, count):
    """Orders that no generator makes. PyTorch keeps losses in the order in which the last stage
    computes them and looks them up by microbatch, so there forwards go in the order of microbatches."""
    cases, seed = [], 0
    while len(cases) < count:
        seed += 1
        draw = random.Random(seed)
        rows, home, microbatches, _ = orders.draw_order(draw)
        last = [c for row in rows for c in re.findall(rf"\b{len(home) - 1}F\d+", ",".join(row))]
        if len(rows) != ranks or len(home) > 8 or len(last) < 2 or last != sorted(last):
            continue
        path = f"{folder}/random.csv"
        common.write_rows(path, rows)
        name = f"random-{ranks}-seed-{seed}"
        plain, _, rows, home, _ = emit(program, folder, name, [path])
        cases.append(make_case(f"{name} compute_only", plain, rows, home, microbatches))
    return cases


def exchange(rows, rank, one, other):
    """The same rows with two tokens exchanged."""
    rows = [list(row) for row in rows]
    i, j = rows[rank].index(one), rows[rank].index(other)
    rows[rank][i], rows[rank][j] = other, one
    return rows


def independent_neighbours(rows):
    """(rank, one, other): adjacent cells that any order suits, so that the file still runs."""
    for rank, row in enumerate(rows):
        for one, other in zip(row, row[1:]):
            if re.fullmatch(r"\d+I\d+", one) and re.fullmatch(r"\d+W\d+", other):
                if one.replace("I", "W") != other:
                    return rank, one, other
    raise common.Failure("no neighbours to exchange")


def exchanged_case(folder, name, plain, swap, expect):
    """`plain`: what emit returned. The verdict is about the rows before the exchange."""
    file, _, rows, home, _ = plain
    source = common.read_rows(file)
    path = f"{folder}/exchanged-{len(os.listdir(folder))}.csv"
    common.write_rows(path, exchange(source, *swap(source)))
    return make_case(name, path, rows, home, 4, expect)


def exchanged_cases(program, folder):
    """Two tokens of a file exchanged: this test must see it, whatever the runtime makes of it."""
    four = lambda name, *more: emit(
        program, folder, f"exchange-{name}", ["--schedule", name, "--pp", 2, "--microbatches", 4, *more]
    )
    yield exchanged_case(
        folder, "two ops that do not need each other exchanged", four("interleaved-zb", "--vpp", 2),
        independent_neighbours, {"order"},
    )
    yield exchanged_case(
        folder, "a backward before its forward", four("1f1b"), lambda _: (1, "1F0", "1B0"), {"refused"}
    )
    # PyTorch looks losses up by microbatch in a list that is in the order of execution.
    losses = exchanged_case(
        folder, "forwards of the last stage exchanged", four("gpipe"), lambda _: (1, "1F0", "1F1"),
        {"order", "loss", "gradients"},
    )
    warnings = emit(program, folder, "losses", [losses["file"]])[-1]["warnings"]
    common.demand(any("losses" in words for words in warnings), f"no warning of the losses: {warnings}")
    yield losses


def delivery_cases(program, folder):
    """Rows that run to the end with the wrong tensors: what ppsim says no to, PyTorch does."""
    early = f"{folder}/early.csv"  # both receives stand before the first backward of rank 0
    common.write_rows(early, [
        ["0F0", "0F1", "0F2", "0F3", "0B0", "0B1", "0B2", "0B3"],
        ["1F0", "1B0", "1F1", "1B1", "1F2", "1B2", "1F3", "1B3"],
    ])
    _, comms, rows, home, _ = emit(program, folder, "early-lowered", [early])
    common.must(program, "check", comms, "--comm", "eager:1MB")
    swapped = f"{folder}/early-swapped.csv"
    common.write_rows(swapped, exchange(rows, 0, "0RECV_B0", "0RECV_B1"))
    status, words = common.ppsim(program, "check", swapped, "--comm", "eager:1MB")
    common.demand(status == 1, f"ppsim check passes exchanged receives: {words}")
    yield make_case(
        "two receives exchanged", swapped, rows, home, 4, {"order", "gradients"}, format="compute_comms"
    )
    plain, _, rows, home, _ = emit(
        program, folder, "zbv-deferred", ["--schedule", "zbv", "--pp", 2, "--microbatches", 4]
    )
    status, words = common.ppsim(
        program, "simulate", plain, "--costs", common.COSTS, "--executor", "torch-defer-recv"
    )
    common.demand(status == 1 and "wrong tensor" in words, f"ppsim runs zbv with deferred receives: {words}")
    yield make_case("zbv with defer_pp_recv", plain, rows, home, 4, {"order", "loss", "gradients"}, defer=True)


def main(arguments):
    program = arguments[0]
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    print(f"PyTorch {torch.__version__}, Python {sys.version.split()[0]}, gloo, float64")
    ran = []  # all of it before the parent computes anything: autograd and fork do not mix
    for ranks in (2, 4):
        with tempfile.TemporaryDirectory() as folder:
            cases = good_cases(program, folder, ranks) + random_cases(program, folder, ranks, 6)
            if ranks == 2 and not NEW:
                cases += [*exchanged_cases(program, folder), *delivery_cases(program, folder)]
            ran += zip(cases, launch(ranks, cases, folder))
    ok = True
    for case, results in ran:
        found = judge(case, results)
        right = found == case["expect"]
        ok &= right
        said = ", ".join(sorted(found)) or "equal"
        wanted = f" (wanted: {', '.join(sorted(case['expect']))})" if case["expect"] else ""
        print(f"{'ok    ' if right else 'FAILED'} {case['name']}: {said}{wanted}")
    return 0 if ok else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
