"""The section "Memory" of docs/accuracy.md: predicted peaks of ranks against published ones.

A run of tests/data/runs/runs.json has `peaks_gib`, one for each of the first ranks of its pipeline:
torch.cuda.max_memory_allocated. What the communication library holds is not part of it. Runs that differ
in nothing but the batch have equal peaks and are one row.
"""
import statistics

GIB = 2.0**30
PARTS = (
    ("parameters", "weights"), ("gradients", "gradients"), ("optimizer", "optimizer"),
    ("activations", "activations"), ("logits", "logits"), ("temporaries", "temporaries"),
    ("workspace", "workspace"),
)
MEAN, MOST = 2.0, 5.0  # percent; a run's model is not among those from which anything was fitted, as nothing was


def peaks(run, report):
    """(rank, measured GiB, predicted GiB, parts in GiB) of every rank whose peak was published."""
    out = []
    for rank, measured in enumerate(run["peaks_gib"]):
        one = report["per_rank"][rank]
        parts = {key: value / GIB for key, value in one["memory_at_peak"].items()}
        out.append((rank, measured, one["peak_memory_bytes"] / GIB - parts.pop("comm_library"), parts))
    return out


def rows_of(pairs):
    """One row for all batches of a setup: [run, batches, rank, measured, predicted, parts]."""
    rows = {}
    for run, report in pairs:
        for rank, measured, predicted, parts in peaks(run, report):
            same = tuple(run[key] for key in ("model", "hardware", "stack", "precision", "pp", "tp", "cp", "ep", "vpp",
                                              "seq_length", "micro_batch_size"))
            row = rows.setdefault((same, rank, measured, round(predicted, 3)),
                                  [run, [], rank, measured, predicted, parts])
            row[1].append(run["global_batch_size"])
    return list(rows.values())


def error(row):
    return 100 * (row[4] / row[3] - 1)


def place(row):
    run, rank = row[0], row[2]
    text = f"pp {run['pp']}, tp {run['tp']}"
    for key in ("cp", "ep", "vpp"):
        text += f", {key} {run[key]}" if run[key] > 1 else ""
    return text + f"; rank {rank}"


def section(pairs):
    """(lines of the page, message if an error is larger than promised or None)."""
    rows = rows_of(pairs)
    groups = {}
    for row in rows:
        run = row[0]
        groups.setdefault((run["model"], run["hardware"], run["stack"]), []).append(row)
    out = [
        "", "## Memory", "",
        "Peaks of torch's allocator per rank of the pipeline, in GiB and in percent of the measured peak.",
        "No number was fitted to them: each part is a formula with a source in",
        "[cost-model.md](explanation/cost-model.md), section 5. One fact that the sources do not state was",
        "concluded from the rows: the loss writes its gradient over the logits. One row stands for all",
        "batches of a setup.", "",
        "| model | GPU | stack | peaks | bias | mean | max |", "|---|---|---|---|---|---|---|",
    ]
    for (model, gpu, stack), group in sorted(groups.items(),
                                             key=lambda item: -statistics.mean(abs(error(row)) for row in item[1])):
        errors = [error(row) for row in group]
        out.append(f"| {model} | {gpu} | {stack} | {len(errors)} | {statistics.mean(errors):+.2f} "
                   f"| {statistics.mean(map(abs, errors)):.2f} | {max(map(abs, errors)):.2f} |")
    out += [
        "", "| error | GiB | measured | predicted | " + " | ".join(name for _, name in PARTS)
        + " | rest | model | tokens | setup |",
        "|---|---|---|---|" + "---|" * (len(PARTS) + 4),
    ]
    for row in sorted(rows, key=lambda row: -abs(error(row))):
        run, _, _, measured, predicted, parts = row
        named = [parts.get(key, 0) for key, _ in PARTS]
        cells = [f"{value:.2f}" for value in named + [predicted - sum(named)]]
        out.append(f"| {error(row):+.2f} | {predicted - measured:+.2f} | {measured:.2f} | {predicted:.2f} | "
                   + " | ".join(cells)
                   + f" | {run['model']} | {run['micro_batch_size']} x {run['seq_length']} | {place(row)} |")
    errors = [abs(error(row)) for row in rows]
    if statistics.mean(errors) > MEAN or max(errors) > MOST:
        return out, (f"peaks of memory are predicted with an error of {statistics.mean(errors):.1f} % in the mean and "
                     f"{max(errors):.1f} % at most, but {MEAN:.0f} and {MOST:.0f} % are promised")
    return out, None
