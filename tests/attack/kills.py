"""Kills sweeps, ranks of MPI jobs and commands that write files, at any moment.

A sweep that is killed, alone or over MPI, leaves whole lines and at most one torn one, and is continued to the
results of one that was not. A product is the old file or the new one, and what a killed process left beside it
goes with the next run. An MPI job ends soon after one of its processes, with a status that is not 0; it names
the rank that was killed; and no process, no shared memory and no folder of the session is left.

The moments are drawn, but not what the machine does until then: a case that fails may need several tries.
"""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, Wrong, main

SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
LAUNCHER = os.environ.get("MPIEXEC") or shutil.which("mpiexec") or ""
OPEN_MPI = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
if "address" in os.environ.get("PPSIM_SANITIZE", ""):  # who misses a rank keeps what MPI may still write to
    OPEN_MPI["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
# Writes its process id for rank N into pid.N, and becomes the command.
START = 'echo $$ >pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$0" "$@"'
LONGEST = 30 * PATIENCE  # for an MPI job to end after one of its processes

SCHEDULE = ["--schedule", "1f1b", "--pp", "3", "--microbatches", "8", "--costs", "F=1ms,B=2ms"]
PLAN = ["plan", "--model", "llama3-8b", "--pp", "4", "--tp", "2"]
GRIDS = [
    ["--study", "simulate", "--schedule", "1f1b,gpipe,zb-h1", "--pp", "2,4,8", "--microbatches", "8..48+1",
     "--costs", "F=1ms,B=2ms"],
    ["--model", "gpt22b,llama3-8b", "--pp", "4,8", "--tp", "1,2", "--schedule", "1f1b,zbv", "--seed", "0..5"],
]
INPUTS = [  # made once
    ["simulate", "--schedule", "interleaved", "--pp", "8", "--vpp", "4", "--microbatches", "64", "--costs",
     "F=1ms,B=2ms", "--emit", "plan=big.json"],
    [*PLAN, "--schedule", "1f1b", "--emit", "plan=old.json"],
    [*PLAN, "--schedule", "zbv", "--emit", "plan=new.json"],
    ["sweep", *GRIDS[0], "-o", "all.jsonl"],
]
SAMPLES = "# ppsim.samples 1\n# device: x\nclass,tokens,bytes,seconds,pass,link,ranks,nodes\n" + "".join(
    f"stage_f,{n},,{n * 1e-6},,,,\n" for n in (256, 512, 1024, 2048, 4096))
# Commands and their products. Those that are measured, or end when they are interrupted, are not the same twice.
WRITERS = [
    (["simulate", "big.json", "--trace", "chrome=trace.json", "--emit", "plan=again.json", "-o", "report.txt"],
     ["trace.json", "again.json", "report.txt"], False),
    (["convert", "big.json", "--to", "chrome", "-o", "trace.json"], ["trace.json"], False),
    ([*PLAN, "--budget", "200it", "--emit", "plan=plan.json", "--emit", "torchtitan=run.py", "--candidates",
      "table.csv", "-o", "answer.txt"], ["plan.json", "run.py", "run.py.csv", "table.csv", "answer.txt"], False),
    ([*PLAN, "--budget", "300ms", "--emit", "plan=plan.json"], ["plan.json"], True),
    (["calibrate", "--import", "samples-csv=samples.csv", "-o", "profile.json"], ["profile.json"], False),
    (["calibrate", "--probe", "instruction", "--quick", "--budget", "200ms", "-o", "profile.json"], ["profile.json"], True),
    (["pack", "lengths.txt", *PLAN[1:], "-o", "packed.json"], ["packed.json"], False),
    (["compare", "old.json", "new.json", "--markdown", "words.md", "--junit", "tests.xml"],
     ["words.md", "tests.xml"], False),
    (["sweep", "--merge", "all.jsonl", "-o", "sorted.jsonl", "--csv", "sorted.csv"],
     ["sorted.jsonl", "sorted.csv"], False),
    (["plot", "big.json", "-o", "step.svg"], ["step.svg", "step.gp", "step.dat"], False),
    (["run", *SCHEDULE, "--iterations", "2", "--warmup", "0", "--trace", "chrome=trace.json"], ["trace.json"], True),
    (["run", *SCHEDULE, "--fault", "death,rank=1,at=3", "--flight", "flight.json"], ["flight.json"], True),
]


class Base:
    """A folder with what is not killed: inputs, and the results and durations of whole commands."""

    def __init__(self, program):
        self.program = program
        self.top = tempfile.TemporaryDirectory()
        self.folder = self.top.name
        self.durations = {}
        with open(os.path.join(self.folder, "samples.csv"), "w") as file:
            file.write(SAMPLES)
        with open(os.path.join(self.folder, "lengths.txt"), "w") as file:
            file.write("".join(f"{100 + 37 * n % 4000}\n" for n in range(400)))
        for words in INPUTS:
            self.whole(words)
        self.inputs = os.listdir(self.folder)

    def whole(self, words, wanted=(0,)):
        begin = time.monotonic()
        done = subprocess.run([self.program, *words], cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60 * PATIENCE)
        if done.returncode not in wanted:
            raise Wrong(f"status {done.returncode}: ppsim {' '.join(words)}\n{done.stderr}")
        return time.monotonic() - begin

    @functools.cache
    def sweep(self, number):
        """Header and sorted lines of a whole sweep, its CSV and its duration."""
        words = ["sweep", *GRIDS[number], "-o", f"whole{number}.jsonl", "--csv", f"whole{number}.csv"]
        took = self.whole(words)
        lines = self.read(f"whole{number}.jsonl").splitlines(keepends=True)
        return lines[0], sorted(lines[1:]), self.read(f"whole{number}.csv"), took

    @functools.cache
    def products(self, number):
        """The products of a whole command, and its duration."""
        words, names, _ = WRITERS[number]
        took = self.whole(words, (0, 1))  # 1: compare, and a fault
        return {name: self.read(name) for name in names}, took

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()


@functools.cache
def base_of(program):
    return Base(program)


def read(folder, name):
    """The bytes of a file, or None."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def begin(command, folder, **more):
    out = open(os.path.join(folder, "said"), "wb")
    # A shell's background jobs ignore SIGINT, and so would its children.
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), **more)


def end(child, folder, seconds, what):
    try:
        status = child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        raise Wrong(f"{what}: it has not ended after {seconds:.0f} s")
    said = read(folder, "said").decode(errors="replace")
    if "Sanitizer" in said or "runtime error:" in said:
        raise Wrong(f"{what}: a sanitizer reports:\n{said}")
    return status, said


def nap(rng, child, took, event):
    """Waits until a moment of the child's life: any one, or soon after an event."""
    if rng.random() < 0.5:
        time.sleep(rng.random() * 1.1 * took)
        return
    until = time.monotonic() + 2 * took + 1
    while child.poll() is None and not event() and time.monotonic() < until:
        time.sleep(0.0002)
    time.sleep(rng.choice([0, 0, 0.002 * rng.random(), 0.05 * rng.random()]))


def lines_there(folder, name, wanted):
    text = read(folder, name)
    return text is not None and text.count(b"\n") >= wanted


def check_lines(text, header, rows, torn_allowed=True):
    """Whether a sweep's file has lines of the whole one, each once, and at most a part of another one."""
    lines = text.splitlines(keepends=True)
    torn = lines.pop() if lines and not lines[-1].endswith(b"\n") else None
    if lines and lines[0] != header:
        raise Wrong(f"the sweep's file has another header: {lines[0]!r}")
    if len(set(lines)) != len(lines):
        raise Wrong("the sweep's file has a line twice")
    known = set(rows)
    for line in lines[1:]:
        if line not in known:
            raise Wrong(f"the sweep's file has a line that the whole one has not: {line!r}")
    if torn and not torn_allowed:
        raise Wrong(f"the last line of an interrupted sweep is torn: {torn!r}")
    if torn and not any(line.startswith(torn) for line in (rows if lines else [header])):
        raise Wrong(f"the torn line is no part of one: {torn!r}")


def check_status(status, number, what):
    """A process ends by the signal, or was done before it came."""
    if status not in (-number, 0):
        raise Wrong(f"{what}: status {status} after signal {int(number)}")


def finish_sweep(base, folder, number, allowed):
    """Continues a sweep and compares its file with the whole one's."""
    header, rows, csv, _ = base.sweep(number)
    words = ["sweep", *GRIDS[number], "-o", "s.jsonl", "--csv", "s.csv"]
    status, said = end(begin([base.program, *words], folder), folder, LONGEST, "the sweep that continues")
    if status:
        raise Wrong(f"the sweep does not continue: status {status}: {said}")
    lines = read(folder, "s.jsonl").splitlines(keepends=True)
    if lines[:1] != [header] or sorted(lines[1:]) != rows:
        raise Wrong("a sweep that was killed has other results")
    if read(folder, "s.csv") != csv:
        raise Wrong("the CSV of a sweep that was killed differs")
    left = set(os.listdir(folder)) - {"s.jsonl", "s.csv", "said", *allowed}
    if left:
        raise Wrong(f"left: {', '.join(sorted(left))}")


def kill_sweep(rng, base, folder):
    number = rng.randrange(len(GRIDS))
    header, rows, csv, took = base.sweep(number)
    for _ in range(rng.choice([1, 2, 3, 5])):
        threads = rng.choice([1, 1, 2, 4])
        words = ["sweep", *GRIDS[number], "-o", "s.jsonl", "--csv", "s.csv", "--threads", str(threads)]
        before = read(folder, "s.jsonl")  # may be torn by an earlier kill
        child = begin([base.program, *words], folder)
        second = begin([base.program, *words], folder) if rng.random() < 0.15 else None
        wanted = rng.randrange(len(rows) + 2)
        nap(rng, child, took, lambda: lines_there(folder, "s.jsonl", wanted))
        how = rng.choice(SIGNALS)
        child.send_signal(how)
        status, _ = end(child, folder, LONGEST, "the sweep")
        if second and status == 5:  # the second was the first to take the file
            status = 0
        check_status(status, how, "the sweep")
        if second:
            second.send_signal(how)
            status, said = end(second, folder, LONGEST, "the second sweep")
            if status != 5:
                check_status(status, how, "the second sweep")
        text = read(folder, "s.jsonl")
        if text is not None:
            check_lines(text, header, rows, how != signal.SIGINT or text == before)
        if text and rng.random() < 0.2:  # a power failure
            os.truncate(os.path.join(folder, "s.jsonl"), rng.randrange(len(text) + 1))
        if read(folder, "s.csv") not in (None, csv):
            raise Wrong("the CSV of a killed sweep is not the whole one")
    finish_sweep(base, folder, number, [])
    return "sweeps"


def is_whole(name, text):
    """Whether a product that is not the same twice is complete."""
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def kill_writer(rng, base, folder):
    number = rng.randrange(len(WRITERS))
    words, names, varies = WRITERS[number]
    new, took = base.products(number)
    for name in base.inputs:
        os.link(os.path.join(base.folder, name), os.path.join(folder, name))
    for name in names:
        if rng.random() < 0.7:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"old")
    for _ in range(rng.choice([1, 2, 3, 5])):
        before = {name: read(folder, name) for name in names}
        child = begin([base.program, *words], folder)
        wanted = rng.choice(names)
        nap(rng, child, took, lambda: any(n.startswith(wanted + ".tmp") for n in os.listdir(folder)))
        how = rng.choice(SIGNALS)
        child.send_signal(how)
        status, said = end(child, folder, LONGEST, " ".join(words))
        unmeasured = status == 4 and "interrupted before the first measurement" in said and how != signal.SIGKILL
        if status not in (-how, 0, 1) and not unmeasured:
            raise Wrong(f"{' '.join(words)}: status {status} after signal {int(how)}: {said}")
        for name in names:
            text = read(folder, name)
            if text != before[name] and text != new[name] and not (varies and is_whole(name, text)):
                raise Wrong(f"{' '.join(words)}: {name} is neither the old file nor the new one: {text[:200]!r}")
    status, said = end(begin([base.program, *words], folder), folder, LONGEST, " ".join(words))
    if status not in (0, 1):
        raise Wrong(f"{' '.join(words)} after a kill: status {status}: {said}")
    for name in names:
        text = read(folder, name)
        if text != new[name] and not (varies and is_whole(name, text)):
            raise Wrong(f"{' '.join(words)} after a kill: {name} is not the new file")
    left = set(os.listdir(folder)) - {"said", "ppsim-flight.json", *base.inputs, *names}  # run was interrupted
    if left:
        raise Wrong(f"{' '.join(words)}: {', '.join(sorted(left))} stays after the next run")
    return words[0]


# MPI --------------------------------------------------------------------------------------------------------


class Job:
    """An MPI job with folders of its own for what Open MPI shares."""

    def __init__(self, base, folder, ranks, words, options=()):
        self.folder = folder
        self.ranks = ranks
        self.own = os.path.join(folder, "o")
        for name in ("session", "shared"):
            os.makedirs(os.path.join(self.own, name), exist_ok=True)
        for rank in range(ranks):
            if os.path.exists(os.path.join(folder, f"pid.{rank}")):
                os.remove(os.path.join(folder, f"pid.{rank}"))
        session = os.path.join(self.own, "session")
        self.mark = f"PPSIM_KILLS={folder}"
        more = {"OMPI_MCA_orte_tmpdir_base": session, "PRTE_MCA_prte_tmpdir_base": session,
                "PMIX_MCA_pmix_tmpdir_base": session, "TMPDIR": session,
                "OMPI_MCA_btl_vader_backing_directory": os.path.join(self.own, "shared"), "PPSIM_KILLS": folder,
                "PPSIM_MODULE_DIR": os.environ.get("PPSIM_MODULE_DIR") or os.path.dirname(base.program)}
        self.child = begin([LAUNCHER, *options, "-n", str(ranks), "sh", "-c", START, base.program, *words], folder,
                           env={**os.environ, **OPEN_MPI, **more})

    def pid(self, rank):
        """The process of a rank, or None while it does not yet run ppsim."""
        text = read(self.folder, f"pid.{rank}")
        return int(text) if text and text.endswith(b"\n") else None

    def watched(self):
        """Whether all ranks watch each other's processes."""
        for rank in range(self.ranks):
            try:
                where = f"/proc/{self.pid(rank)}/fd"
                held = [os.readlink(os.path.join(where, name)) for name in os.listdir(where)]
            except OSError:
                return False
            if sum("pidfd" in name for name in held) < self.ranks - 1:
                return False
        return True

    def strike(self, rank, how):
        """Sends a signal to a rank, or to the launcher. Returns whether it was there."""
        pid = self.child.pid if rank == "launcher" else self.pid(rank)
        if pid is None or self.child.poll() is not None:
            return False
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            return False
        return True

    def alive(self):
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and self.mark.encode() in read("/proc", name + "/environ").split(b"\0"):
                    found.append(int(name))
            except (OSError, AttributeError):
                pass
        return found

    def end(self, what):
        """Waits for the launcher. Returns its status and what was said."""
        try:
            return end(self.child, self.folder, LONGEST, what)
        except Wrong:
            self.clear()
            raise

    def clear(self):
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)

    def left(self, launcher_killed):
        """Raises if processes of the job, or what they shared, are there some seconds after it."""
        until = time.monotonic() + LONGEST
        while (alive := self.alive()) and time.monotonic() < until:
            time.sleep(0.02)
        if alive:
            self.clear()
            raise Wrong(f"processes are left: {alive}")
        if launcher_killed:  # it removes them
            shutil.rmtree(self.own)
            return
        for where, _, names in os.walk(self.own):
            if names:
                raise Wrong(f"left in {where}: {', '.join(names)}")


def kill_rank(rng, base, folder):
    """A run over MPI that would last for minutes."""
    ranks = 3
    words = ["run", *SCHEDULE, "--transport", "mpi", "--iterations", "100000", "--deadline", "1s"]
    if rng.random() < 0.3:
        words += ["--compute", "cpu", "--compute-settings", "hidden=16,heads=2,mlp=24,vocab=13,tied=on"]
    job = Job(base, folder, ranks, words)
    victim = rng.choice([0, 1, 2, 0, 1, 2, "launcher"])
    how = rng.choice(SIGNALS + [signal.SIGSTOP] * (victim != "launcher"))
    if rng.random() < 0.3:
        time.sleep(rng.random())
    else:
        until = time.monotonic() + LONGEST
        while not job.watched() and job.child.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(rng.choice([0, 0.01, 0.1, 0.5]) * rng.random())
    if how == signal.SIGSTOP:  # the deadline is that of ops
        time.sleep(PATIENCE)
    watched = job.watched()
    what = f"rank {victim} and signal {int(how)}" + (", all ran" if watched else "")
    if not job.strike(victim, how):
        job.clear()
        job.child.wait()
        job.left(True)
        return "early"
    # Open MPI gives its processes some seconds to start. A rank that stands still is noticed by the deadline.
    status, said = job.end(what)
    job.left(victim == "launcher" and how == signal.SIGKILL)
    what += f": status {status}: {said}"
    if status == 0:
        raise Wrong(what)
    if watched and victim != "launcher":
        if how == signal.SIGKILL and f"rank {victim} is gone" not in said:
            raise Wrong(f"the rank is not named: {what}")
        if how == signal.SIGKILL and "interrupted; nothing was written" in said:
            raise Wrong(f"nobody interrupted it: {what}")
        if how in (signal.SIGTERM, signal.SIGINT) and ("is gone" in said or "interrupted" not in said):
            raise Wrong(f"it was interrupted: {what}")
        if how == signal.SIGSTOP and f"rank {victim}" not in said:
            raise Wrong(f"the rank is not named: {what}")
    elif victim != "launcher" and how == signal.SIGKILL and not re.search(rf"rank {victim}\b", said):
        raise Wrong(f"the rank is not named: {what}")
    for name in os.listdir(folder):
        if re.fullmatch(r"ppsim-flight\.json\.\d", name) and not is_whole(name, read(folder, name)):
            raise Wrong(f"{name} is not whole: {what}")
    return "ranks"


def attack(rng, ppsim):
    base = base_of(ppsim.program)
    kinds = [kill_sweep, kill_writer]
    if LAUNCHER and os.path.exists(os.path.join(os.environ.get("PPSIM_MODULE_DIR") or os.path.dirname(base.program),
                                                "ppsim_mpi.so")):
        kinds += [kill_rank]
    return rng.choice(kinds)(rng, base, ppsim.folder)


if __name__ == "__main__":
    main(attack, __doc__.splitlines()[0], seconds=12)
