"""Perfetto's Trace Processor loads the Chrome traces that ppsim writes: as many slices as ops, durations
that sum to the busy time, waits to the rest, arrows from producers to consumers, counters equal to the memory account.

With tools/dev/perfetto-env the queries go to Trace Processor itself. They go to SQLite too, over tables
filled by the rules of its importer (google/perfetto, src/trace_processor/importers: json/
json_trace_parser_impl.cc 0ba84ac3, json_trace_utils.cc 4c949673, common/slice_tracker.cc,
common/flow_tracker.cc 098b19e5), which cuts microseconds off to nanoseconds in doubles.

usage: test_perfetto.py PPSIM
"""
import csv
import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from fractions import Fraction

TraceProcessor = None
if os.path.basename(sys.prefix) == "perfetto-env":
    from trace_processor import TraceProcessor

CASES = [  # durations that are no whole microseconds, zero-length transfers, many at once, split backwards
    ["--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--costs", "F=1.001ms,B=2.003ms,comm=17.009us"],
    ["--schedule", "zbv", "--pp", "4", "--microbatches", "12", "--costs", "F=333333ns,I=444449ns,W=222227ns,comm=0"],
    ["--schedule", "interleaved", "--vpp", "2", "--pp", "4", "--microbatches", "8", "--executor", "torch",
     "--comm", "eager:1MB", "--costs", "F=1009ns,B=2011ns,comm=307ns"],
    ["--schedule", "gpipe", "--pp", "2", "--microbatches", "24", "--costs", "F=10007ns,B=20011ns,comm=3ms"],
]
MEMORY = ["--memory-costs", "F=100MB,I=-50MB,W=-50MB"]


class Failure(Exception):
    pass


def demand(holds, text):
    if not holds:
        raise Failure(text)


# --- Trace Processor, or its rules ---------------------------------------------------------------

SCHEMA = """
create table process(upid integer, pid integer, name text);
create table thread(utid integer, tid integer, upid integer, name text);
create table thread_track(id integer, utid integer);
create table slice(id integer, ts integer, dur integer, track_id integer, name text, category text, depth integer);
create table flow(slice_out integer, slice_in integer);
create table process_counter_track(id integer, upid integer, name text);
create table counter(id integer primary key, ts integer, track_id integer, value real);
create table stats(name text, severity text, value integer);
"""


def exact(time):
    ns = Fraction(time) * 1000
    demand(abs(ns - round(ns)) <= Fraction(1, 10), f"{time} us is no whole nanosecond")
    return round(ns)


def truncated(time):
    return int(float(time) * 1000)


class Rules:
    """What the importer makes of a file."""

    def __init__(self, path, to_ns):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            events = json.load(file, parse_float=str)["traceEvents"]
        self.db = sqlite3.connect(":memory:")
        self.db.executescript(SCHEMA)
        self.names, self.tracks, self.stacks, self.flows, self.slices, self.counters = {}, {}, {}, {}, [], {}
        self.wrong = []
        for event in events:
            event["ns"] = to_ns(event.get("ts", "0"))
        for event in sorted(events, key=lambda e: e["ns"]):  # stable, as the sorter is
            getattr(self, "take_" + event["ph"])(event, to_ns)
        self.fill()

    def take_M(self, event, _):
        what = {"process_name": (event["pid"], None), "thread_name": (event["pid"], event["tid"])}
        if event["name"] in what:
            self.names[what[event["name"]]] = event["args"]["name"]

    def take_i(self, event, _):
        demand(event["s"] in "gpt", f"an instant of no scope: {event}")

    def track(self, event):
        main = event["tid"] in (0, event["pid"])  # the same thread, as v52.0 shows
        return self.tracks.setdefault((event["pid"], 0 if main else event["tid"]), len(self.tracks))

    def take_X(self, event, to_ns):
        stack = self.stacks.setdefault(self.track(event), [])
        begin, dur = event["ns"], to_ns(event["dur"])
        while stack:
            other = self.slices[stack[-1]]
            end = other[1] + other[2]
            if end < begin or (end == begin and not other[2] == dur == 0):
                stack.pop()
            elif begin < end < begin + dur:
                self.wrong.append(("slice_drop_overlapping_complete_event", event["name"]))
                return
            else:
                break
        stack.append(len(self.slices))
        self.slices.append(
            (len(self.slices), begin, dur, self.track(event), event["name"], event["cat"], len(stack) - 1)
        )

    def flow_end(self, event):
        stack = self.stacks.get(self.track(event))
        if not stack:
            self.wrong.append(("flow_no_enclosing_slice", event["id"]))
        return stack[-1] if stack else None, (event["id"], event["cat"], event["name"])

    def take_s(self, event, _):
        at, flow = self.flow_end(event)
        if flow in self.flows:
            self.wrong.append(("flow_duplicate_id", flow))
        self.flows[flow] = at

    def take_f(self, event, _):
        at, flow = self.flow_end(event)
        demand(event["bp"] == "e", "an arrow that ends at the next slice")
        if flow not in self.flows:
            self.wrong.append(("flow_end_without_start", flow))
        else:
            self.db.execute("insert into flow values (?, ?)", (self.flows[flow], at))

    def take_C(self, event, _):
        for key, value in event["args"].items():
            name = (event["pid"], f"{event['name']} {key}")
            track = self.counters.setdefault(name, 1000000 + len(self.counters))
            self.db.execute("insert into counter(ts, track_id, value) values (?, ?, ?)", (event["ns"], track, float(value)))

    def fill(self):
        put = lambda table, rows, n: self.db.executemany(f"insert into {table} values ({','.join('?' * n)})", rows)
        put("process", [(p, p, n) for (p, t), n in self.names.items() if t is None], 3)
        put("thread", [(t, p[1], p[0], self.names.get(p)) for p, t in self.tracks.items()], 4)
        put("thread_track", [(t, t) for t in self.tracks.values()], 2)
        put("slice", self.slices, 7)
        put("process_counter_track", [(t, p, n) for (p, n), t in self.counters.items()], 3)
        severity = lambda name: "info" if name.startswith("flow_") else "error"
        put("stats", [(name, severity(name), 1) for name, _ in self.wrong], 3)

    def query(self, sql):
        return [tuple(row) for row in self.db.execute(sql)]


# --- what must come out --------------------------------------------------------------------------

ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
COMPUTE = """
select process.name, slice.name, ts, dur, slice.id from slice
join thread_track on track_id = thread_track.id join thread using (utid) join process using (upid)
where category = 'compute' order by process.pid, ts
"""
LANES = """
select distinct category, thread.name from slice
join thread_track on track_id = thread_track.id join thread using (utid) where category is not null
"""
FLOWS = """
select a.name, b.name, a.ts + a.dur <= b.ts from flow join slice a on slice_out = a.id
join slice b on slice_in = b.id order by a.name, b.name
"""
TRANSFERS = "select category, count(*) from slice where category in ('send', 'recv') group by category order by category"
IDLE = """
select process.name, ts, dur from slice join thread_track on track_id = thread_track.id join thread using (utid)
join process using (upid) where category = 'idle' and thread.name = 'idle'
"""
COUNTERS = """
select pid, ts, track.name, value from counter join process_counter_track track on track_id = track.id
join process using (upid) order by counter.ts, counter.id
"""


def edges(rows):
    """(producer, consumer) of every result that another rank needs."""
    home = {re.match(r"\d+", op)[0]: rank for rank, row in enumerate(rows) for op in row}
    last = len(home) - 1
    ops = {op for row in rows for op in row}
    for op in sorted(ops):
        stage, kind, microbatch = re.fullmatch(r"(\d+)([FIWB])(\d+)", op).groups()
        near = int(stage) + (-1 if kind == "F" else 1)
        if kind == "W" or not 0 <= near <= last or home[str(near)] == home[stage]:
            continue
        yield f"{near}{kind}{microbatch}", op


def judge(engine, report, rows, memory, instants):
    demand(engine.query(ERRORS) == [], f"the importer complains: {engine.query(ERRORS)[:5]}")
    ops = engine.query(COMPUTE)
    wanted = [(f"rank {rank}", op) for rank, row in enumerate(rows) for op in row]
    demand([(rank, op) for rank, op, *_ in ops] == wanted, "other slices than ops, or in another order")
    demand(all(lane.split()[0] == category for category, lane in engine.query(LANES)),
           f"slices in other threads than their own: {engine.query(LANES)}")
    idle = engine.query(IDLE)
    for said in report["per_rank"]:
        busy = sum(dur for rank, _, _, dur, _ in ops if rank == f"rank {said['rank']}")
        demand(busy == said["busy_ns"], f"rank {said['rank']} is busy {busy} ns, not {said['busy_ns']}")
        waits = sum(dur for rank, ts, dur in idle if rank == f"rank {said['rank']}" and ts < said["last_end_ns"])
        demand(busy + waits == said["last_end_ns"], f"rank {said['rank']} waits {waits} ns, which is not the rest")
    demand(max(ts + dur for _, _, ts, dur, _ in ops) == report["makespan_ns"], "another makespan")
    flows = engine.query(FLOWS)
    demand([(a, b) for a, b, _ in flows] == sorted(edges(rows)), "other arrows than results that travel")
    demand(all(forward for _, _, forward in flows), "an arrow backwards in time")
    count = len(flows) if instants else 0
    demand(dict(engine.query(TRANSFERS)) == ({"recv": count, "send": count} if count else {}), "transfers lack")
    last = {}
    for row in memory:  # of several at one instant the last one
        rank, at_ns = int(row["rank"]), int(row["time_ns"])
        last.update({(rank, at_ns, key): int(value) for key, value in row.items()
                     if key not in ("rank", "time_ns", "total")})
    found = {(pid, ts, name.split()[-1]): value for pid, ts, name, value in engine.query(COUNTERS)}
    demand({at: value for at, value in last.items() if at in found} == found and
           sum(value for at, value in last.items() if at not in found) == 0,
           "counters differ from the memory account")
    return len(ops), len(flows), len(found)


def kept(whole, part, ranks, shift_ns=0):
    """A part has the ops of its ranks as they stand, and the arrows between them."""
    demand(part.query(ERRORS) == [], f"the importer complains of a part: {part.query(ERRORS)}")
    ops = [(rank, op, ts + shift_ns, dur) for rank, op, ts, dur, _ in whole.query(COMPUTE)
           if int(rank.split()[1]) in ranks]
    demand([row[:4] for row in part.query(COMPUTE)] == ops, "a part has other ops than the whole")
    inside = {op for _, op, *_ in ops}
    arrows = [(a, b) for a, b, _ in whole.query(FLOWS) if {a, b} <= inside]
    demand([(a, b) for a, b, _ in part.query(FLOWS)] == arrows, "a part has other arrows than the whole")


def repeated(source, target, steps, period_ns):
    """The step, `steps` times."""
    with gzip.open(source, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    once, events = trace["traceEvents"], []
    for step in range(steps):
        for event in once:
            more = {"ts": (exact(str(event["ts"])) + step * period_ns + 0.05) / 1000} if "ts" in event else {}
            more.update({"id": event["id"] * steps + step} if "id" in event else {})
            events += [event | more] if more or step == 0 else []
    trace["traceEvents"] = events
    with open(target, "w", encoding="utf-8") as file:
        json.dump(trace, file)


def judge_parts(program, path, whole, read, report):
    """convert --ranks, --steps of a compressed trace."""
    last, period_ns = len(report["per_rank"]) - 1, report["makespan_ns"] + 1000000
    cut = lambda source, *part: subprocess.run(
        [program, "convert", path(source), *part, "--to", "chrome", "-o", path("part.json.gz")], timeout=60, check=True)
    cut("step.json.gz", "--ranks", f"1-{last}")
    kept(whole, read(path("part.json.gz")), range(1, last + 1))
    repeated(path("step.json.gz"), path("steps.json"), 3, period_ns)
    cut("steps.json", "--steps", "1-1")
    kept(whole, read(path("part.json.gz")), range(last + 1), period_ns)


def run_case(program, folder, arguments):
    path = lambda name: os.path.join(folder, name)
    done = subprocess.run(
        [program, "simulate", *arguments, *MEMORY, "--json", "--trace", "chrome=" + path("step.json.gz"),
         "--emit", "pytorch-csv=" + path("step.csv"), "--trace", "memory-csv=" + path("memory.csv")],
        capture_output=True, text=True, timeout=60, check=True)
    report = json.loads(done.stdout)
    with open(path("step.csv"), newline="", encoding="ascii") as file:
        rows = [[cell for cell in row if cell] for row in csv.reader(file)]
    with open(path("memory.csv"), newline="", encoding="ascii") as file:
        memory = list(csv.DictReader(file))
    readers = {"rules, exact times": lambda name: Rules(name, exact), "rules": lambda name: Rules(name, truncated)}
    if TraceProcessor:
        readers["Trace Processor"] = TraceProcessor
    for name, read in readers.items():
        whole = read(path("step.json.gz"))
        counts = judge(whole, report, rows, memory, not arguments[-1].endswith("comm=0"))
        judge_parts(program, path, whole, read, report)
        print("ok    ", name, *arguments[:6], "%d slices, %d arrows, %d instants of memory" % counts)


def main(program):
    print(TraceProcessor.version() if TraceProcessor else
          "no Trace Processor (tools/dev/perfetto-env installs it): the rules of its importer, in SQLite")
    for arguments in CASES:
        with tempfile.TemporaryDirectory() as folder:
            run_case(program, folder, arguments)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Failure as failure:
        sys.exit(f"FAILED {failure}")
