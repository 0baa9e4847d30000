"""Command lines and files that nobody would write, for all commands of ppsim.

usage: commands.py PPSIM [--seed N] [--seconds T] [--case K]

Options and their values are drawn by the program's own help and completion; files are made by ppsim and then
damaged: plans, schedules, traces, reports, sweeps, grids, costs, lengths, models, hardware, profiles,
measurements, instances and tables. Some cases name a file twice under two spellings, close standard streams,
or give a file through a FIFO or standard input.

Whatever is given, ppsim ends within 20 s with a documented status (0 to 7), says something if that is not 0,
sends no control character, and changes no file but those it was told to write; with wrong usage or bad
input, none at all. Case K of seed N is always the same; an attack ends with the first case that fails.
"""

import argparse
import copy
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE = 20 * float(os.environ.get("PPSIM_TEST_PATIENCE") or 1)
PRODUCTS = {"-o", "--output", "--emit", "--trace", "--csv", "--candidates", "--flight", "--markdown", "--junit"}
COSTS = ["F=1ms,B=2ms", "F=1ms,I=1ms,W=1ms", "F=10us,I=12us,W=9us,comm=3us", "F=1ms,B=2ms,FB=3ms"]


class Wrong(Exception):
    """What ppsim did is wrong; the text says why."""


def run(program, arguments, folder, closed=(), stdin=None, patience=PATIENCE):
    """Returns exit status, stdout and stderr."""

    def close():
        for stream in closed:
            os.close(stream)

    child = subprocess.Popen([program, *arguments], cwd=folder, stdin=stdin or subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=close)
    try:
        out, err = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise Wrong(f"it has not ended after {patience:.0f} s")
    return child.returncode, out, err


# The grammar ------------------------------------------------------------------------------------------------


class Grammar:
    """The options of each command: name -> what --help calls its argument (None: a flag), and the words that
    complete it."""

    def __init__(self, program, folder):
        def say(*arguments):
            status, out, err = run(program, arguments, folder)
            if status:
                raise Wrong(f"{' '.join(arguments)}: status {status}: {err.decode()}")
            return out.decode()

        completion = say("completion", "bash")
        self.lists = {}
        for kind in set(re.findall(r"ppsim list ([a-z-]+)", completion)):
            self.lists[kind] = [line.split()[0] for line in say("list", kind).splitlines() if line[:1].isalpha()]
        self.commands = {}
        words = {}
        for line in completion.splitlines():
            found = re.match(r"    (.+?)\) (.*);;", line)
            if not found:
                continue
            for name in found[1].split(" | "):
                command, colon, option = name.partition(":")
                if colon and option.startswith("-"):
                    words[command, option] = self.expand(found[2])
                elif colon and option == "*" and command not in ("help", "*") and not command.isdigit():
                    self.commands[command] = {w: None for w in found[2].split("'")[1].split() if w.startswith("-")}
        for command, options in self.commands.items():
            for topic in "all", "megatron":
                for name, argument in re.findall(r"^  (-[-\w]+)(?: (\S+))?", say("help", command, topic), re.M):
                    if name in options and argument and argument != "same":
                        options[name] = argument
            for name in options:
                if (command, name) in words:
                    options[name] = (options[name] or "VALUE", words[command, name])
                else:
                    options[name] = None
                if name in ("-o", "--output"):
                    options[name] = ("FILE", [])
        if len(self.commands) < 12 or sum(map(len, self.commands.values())) < 300:
            raise Wrong("the completion of bash is not understood")

    def expand(self, text):
        """The words of `words='a b'` or `words="$(ppsim list models ...) auto"`."""
        found = []
        for kind in re.findall(r"ppsim list ([a-z-]+)", text):
            found += self.lists[kind]
        plain = re.search(r"words='([^']*)'", text) or re.search(r"\) ([a-z ]+)\"", text)
        return found + (plain[1].split() if plain else [])


# Files ------------------------------------------------------------------------------------------------------


def make_files(program, folder):
    """Makes a file of every kind."""
    simulate = ["simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--costs", "F=1ms,B=2ms"]
    data = os.path.join(ROOT, "traces", "data")
    shutil.copy(os.path.join(data, "models", "llama3-8b.json"), os.path.join(folder, "model.json"))
    shutil.copy(os.path.join(data, "hardware", "a100-80g.json"), os.path.join(folder, "hardware.json"))
    texts = {
        "lengths.txt": "1024\n512\n2048\n700\n1300\n64\n4096\n2000\n",
        "lengths.json": "[[100, 200], [300], [400, 50, 60]]",
        "costs.json": '{"format":"ppsim.costs","version":1,"forward_ns":1000,"backward_ns":2000,"comm_ns":10}',
        "grid.json": '{"format":"ppsim.sweep","version":1,"study":"simulate","grid":{"schedule":["1f1b","gpipe"],'
                     '"pp":[2,4],"microbatches":"4..8*2","costs":["F=1ms,B=2ms"]}}',
        "cluster.json": '{"format":"ppsim.cluster","version":1,"name":"two","classes":[{"hardware":"h100-80g",'
                        '"ranks":1},{"hardware":"a100-80g","ranks":1}]}',
        "instance.json": json.dumps({"format": "ppsim.instance", "version": 1, "name": "i", "p": 2, "v": 1, "m": 2,
                                     "f": [1, 1], "b": [1, 1], "w": [1, 1]}),
        "comms.csv": "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                     "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
        "samples.csv": "# ppsim.samples 1\n# device: x\nclass,tokens,bytes,seconds,pass,link,ranks,nodes\n" +
                       "".join(f"stage_f,{n},,{n * 1e-6},,,,\n" for n in (256, 512, 1024, 2048, 4096)),
        "empty": "",
    }
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    for arguments in (
            simulate + ["--emit", "plan=plan.json", "--emit", "pytorch-csv=order.csv", "--emit", "report=report.json",
                        "--trace", "chrome=trace.json", "--memory-costs", "F=1GiB,B=-1GiB",
                        "--trace", "memory-csv=memory.csv", "--trace", "memory-json=memory.json"],
            ["plan", "--model", "llama3-8b", "--pp", "2", "--tp", "2", "--schedule", "1f1b", "--budget", "20it",
             "--emit", "plan=big.json", "--candidates", "table.csv"],
            ["plan", "--model", "llama3-8b", "--pp", "2", "--tp", "2", "--schedule", "1f1b", "--pareto", "--json",
             "-o", "pareto.json"],
            ["sweep", "--grid", "grid.json", "-o", "sweep.jsonl", "--csv", "sweep.csv"],
            ["calibrate", "--import", "samples.csv", "-o", "profile.json"]):
        status, _, err = run(program, arguments, folder, patience=10 * PATIENCE)
        if status:
            raise Wrong(f"{' '.join(arguments)}: status {status}: {err.decode()}")


NUMBERS = [0, -1, 1, 2, 3, 7, 64, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -2**63, 1e308, 1e-320,
           0.5, -0.0]
VALUES = NUMBERS + ["", "x", "\x1b[31m\u009b", "\u202eabc", "a" * 5000, None, True, [], {}, [[]], [0] * 300, {"a": 1}]
TOKENS = [b"", b"0", b"-1", b"99999999999999999999", b"1e999", b"null", b"{", b"[" * 50, b'"', b",", b"\n", b"\0",
          b"\xff\xfe", b"\x1b[2J", b"NaN", b"0F0", b"1SEND_F0", b"..", b"=", b"\r\n", b"\xef\xbb\xbf"]


def places(value, found):
    """All containers of a JSON value with a key or an index of each."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        found.append((value, key))
        places(value[key], found)
    return found


def damage_json(rng, text):
    value = json.loads(text)
    for _ in range(rng.choice([1, 1, 2, 4])):
        found = places(value, [])
        if not found:
            break
        where, key = rng.choice(found)
        how = rng.randrange(5)
        if how == 0:
            del where[key]
        elif how == 1 and isinstance(where, list):
            where.insert(key, json.loads(json.dumps(where[key])))
        elif how == 2 and isinstance(where, dict):
            where[rng.choice(["x", key + "x", "version", "\x1bkey"])] = where.pop(key)
        elif how == 3:
            _, other = rng.choice(found)
            container, other = rng.choice(found)
            where[key] = json.loads(json.dumps(container[other])) if other in container or isinstance(
                container, list) and other < len(container) else 0
        else:
            where[key] = copy.deepcopy(rng.choice(VALUES))  # the next damage changes it
    return json.dumps(value).encode()


def damage_bytes(rng, text):
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice([0, 1, 1, 4, 30, 300]))
        how = rng.randrange(5)
        if how == 0:
            text = text[:at]
        elif how == 1:
            text = text[:at] + text[end:]
        elif how == 2:
            text = text[:end] + text[at:]
        elif how == 3:
            text = text[:at] + rng.choice(TOKENS) + text[end:]
        elif text and at < len(text):
            text = text[:at] + bytes([text[at] ^ (1 << rng.randrange(8))]) + text[at + 1:]
    return text


def damage_lines(rng, text):
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at = rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(rng.randrange(len(lines)), lines[at])
    elif how == 2:
        lines[at] = damage_bytes(rng, lines[at])
    else:
        cells = lines[at].rstrip(b"\n").split(b",")
        cells[rng.randrange(len(cells))] = rng.choice(TOKENS + cells)
        lines[at] = b",".join(cells) + b"\n"
    return b"".join(lines)


def damage(rng, text):
    how = rng.random()
    if how < 0.45:
        try:
            return damage_json(rng, text)
        except ValueError:
            pass
    return damage_lines(rng, text) if how < 0.75 else damage_bytes(rng, text)


# Command lines ----------------------------------------------------------------------------------------------


class Line:
    """A command line, the files that it reads and those that it may write."""

    def __init__(self, rng, grammar, files):
        self.rng = rng
        self.grammar = grammar
        self.files = files
        self.words = []
        self.reads = []
        self.writes = []

    def product(self, suffix=""):
        """A name for a product: as a rule a new one, sometimes one that is there."""
        rng = self.rng
        name = rng.choice(["out", "new", "out", "a b", "-dash"]) + suffix if rng.random() < 0.85 else rng.choice(
            self.files + ["missing/out", "", ".", "-", "/dev/null", "/dev/full", "x\x1b[31m" + suffix])
        self.writes.append(name)
        return name

    def input(self, *likely):
        name = self.rng.choice(likely) if likely and self.rng.random() < 0.85 else self.rng.choice(
            self.files + ["none", "", ".", "/dev/null"])
        self.reads.append(name)
        return name

    def whole(self):
        rng = self.rng
        return str(rng.choice([1, 2, 2, 3, 4, 4, 8]) if rng.random() < 0.85 else rng.choice(NUMBERS + ["x", "1K", "00"]))

    def value(self, name, argument, words):
        rng = self.rng
        likely = {"--model": ["llama3-8b", "model.json", "gpt22b"], "--hw": ["h100-80g", "hardware.json", "cluster.json"],
                  "--lengths": ["lengths.txt", "lengths.json"], "--profile": ["profile.json", "h100-ib"],
                  "--schedule": ["1f1b", "zbv", "interleaved", "gpipe", "order.csv", "comms.csv"],
                  "--costs-file": ["costs.json"], "--grid": ["grid.json"], "--instance": ["instance.json"],
                  "--import": ["samples.csv", "samples-csv=samples.csv"], "--baseline": ["."]}
        if rng.random() < 0.04:
            return rng.choice(["", "-1", "x" * 3000, "\x1b[2J", "1,2", "a=b", "%s%n", "'", "--", "\u00e9"])
        if argument.startswith("FORMAT="):
            return rng.choice(words or ["plan="]) + self.product()
        if name in likely:
            return self.input(*likely[name])
        if "FILE" in argument:
            return self.product(".svg" if name == "-o" and self.words[0] == "plot" else "")
        if words:
            return rng.choice(words)
        choices = [c for c in argument.split("|") if re.fullmatch(r"[a-z][a-z0-9-]*", c)]
        if len(choices) > 1:
            return rng.choice(choices)
        for sign, values in (("TIME", ["1ms", "10us", "0", "3s", "5it", "1e30s", "-1s"]),
                             ("SIZE", ["80GB", "1GiB", "0", "1B", "50%", "1e30GB"]),
                             ("RATE", ["25GB/s", "800Gb/s", "0", "1B/s"]),
                             ("PERCENT", ["1%", "0", "100%", "x%"]),
                             ("F=", COSTS + ["F=1,I=1,W=-2", "F=0,B=0"]),
                             ("R=", ["0=1", "1=0.5,0=2", "1=1GiB", "9=1", "0=0"]),
                             ("A:B", ["0:1=25GB/s", "1:0=1B/s", "0:9=1GB/s"]),
                             ("A-B", ["0-1", "1-0", "0", "5-9"]),
                             ("WxH", ["800x400", "1x1", "300x300"]),
                             ("I/N", ["0/2", "1/2", "2/2", "0/0"]),
                             ("SPEC", ["compute=0.02", "compute=0.02,slow-rank=any:1.05,scenarios=20", "x=1"]),
                             ("launch=", ["launch=5us,sync=10us", "read=0"])):
            if sign in argument:
                return rng.choice(values)
        return self.whole()

    def add(self, name, argument, words):
        if name.startswith("--") and self.rng.random() < 0.2:
            self.words.append(f"{name}={self.value(name, argument, words)}")
        else:
            self.words += [name, self.value(name, argument, words)]

    def draw(self):
        rng = self.rng
        command = rng.choice(list(self.grammar.commands) + ["plan", "simulate", "sweep", "plot", "check", "convert"])
        options = self.grammar.commands[command]
        self.words = [command]
        small = ["--schedule", rng.choice(["1f1b", "gpipe", "zb-h1", "interleaved"]), "--pp", "2", "--microbatches", "4",
                 "--costs", rng.choice(COSTS)]
        schedule = ["plan.json", "order.csv", "comms.csv", "big.json"]
        most = rng.choice([0, 1, 2, 4, 8])
        if command in ("plan", "pack", "shapes"):
            if command == "pack":
                self.words.append(self.input("lengths.txt", "lengths.json"))
            if command == "shapes" and rng.random() < 0.5:
                self.words.append(self.input("plan.json", "big.json"))
            elif rng.random() < 0.9:
                self.words += ["--model", self.input("llama3-8b", "model.json"), "--pp", rng.choice(["2", "2", "4"])]
            if command != "shapes":
                self.words += ["--budget", rng.choice(["0it", "5it", "50it"])]
        elif command in ("simulate", "run"):
            if rng.random() < 0.5:
                self.words += small
            else:
                self.words.append(self.input(*schedule))
                if rng.random() < 0.4:
                    self.words += ["--costs", rng.choice(COSTS)]
            if command == "run":
                self.words += ["--iterations", "1", "--warmup", "0", "--deadline", "3s"]
        elif command == "sweep":
            if rng.random() < 0.3:
                self.words += ["--merge"] + [self.input("sweep.jsonl") for _ in range(rng.choice([1, 1, 2]))]
            elif rng.random() < 0.5:
                self.words += ["--grid", self.input("grid.json")]
            else:
                self.words += ["--study", "simulate"] + small
            if rng.random() < 0.7:
                self.words += ["-o", self.product() if rng.random() < 0.7 else self.input("sweep.jsonl")]
                self.writes += self.words[-1:]
        elif command == "plot":
            names = ["plan.json", "trace.json", "report.json", "sweep.jsonl", "table.csv", "pareto.json", "profile.json",
                     "memory.csv", "memory.json", "order.csv"]
            self.words += [self.input(*names) for _ in range(rng.choice([1, 1, 1, 2]))]
            if rng.random() < 0.9:
                name = self.product(rng.choice([".svg", ".svg", ".png"]))
                self.words += ["-o", name]
        elif command == "convert":
            self.words += [self.input("plan.json", "order.csv", "trace.json", "comms.csv", "big.json"),
                           "--to", rng.choice(self.grammar.lists["formats"] + ["plan"])]
        elif command == "check":
            self.words.append(self.input(*schedule))
        elif command == "compare":
            kind = rng.choice(["plan.json", "report.json", "profile.json", "trace.json", "big.json"])
            self.words += [self.input(kind), self.input(kind)]
        elif command == "calibrate":
            self.words += ["--import", self.input("samples.csv", "samples-csv=samples.csv", "trace.json")]
        elif command == "completion":
            self.words.append(rng.choice(["bash", "zsh", "fish", "x"]))
        elif command == "list":
            self.words.append(rng.choice(list(self.grammar.lists) + ["x"]))
        heavy = {"--probe", "--device", "--budget", "--threads", "--transport", "--refresh", "--iterations", "--warmup",
                 "--deadline", "--resume", "--baseline"}
        for _ in range(rng.randrange(most + 1)):
            name = rng.choice(list(options))
            if name in self.words or name in heavy or name in ("-h", "--help") and rng.random() < 0.8:
                continue
            if options[name] is None:
                self.words.append(name)
            else:
                self.add(name, *options[name])
        if rng.random() < 0.03:
            self.words[rng.randrange(len(self.words))] = rng.choice(["", "--", "-", "--x", "\x1b]0;t\a", "-o"])
        if command == "run" and "big.json" in self.words:  # its thousands of tokens take minutes
            self.words = ["spin" if w == "cpu" else w for w in self.words]
        if command == "calibrate" and "--import" not in self.words:  # it measures, for minutes
            self.words += ["--probe", "instruction", "--quick", "--budget", "200ms"]
        self.words = [w.replace("\0", "") for w in self.words]


# Cases ------------------------------------------------------------------------------------------------------


def contents(folder):
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def products(words):
    """The names of files that the options of a command line write."""
    found = []
    for i, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in PRODUCTS and (equals or i + 1 < len(words)):
            value = value if equals else words[i + 1]
            found += [value, value.split("=", 1)[-1]]
    return found


def rows_of(words):
    """The files of PyTorch's rows among them: FILE.json, which is written next to each, has the rest."""
    if re.search(r" --to[ =]pytorch-csv( |$)", " ".join(words)):
        return products(words)
    return [word.split("pytorch-csv=", 1)[1] for word in words if "pytorch-csv=" in word]


CONTROL = re.compile(rb"[\0-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


def judge(line, status, out, err, before, after, closed):
    if status < 0 or status > 7:
        raise Wrong(f"it ends with status {status}")
    if b"Sanitizer" in err or b"runtime error:" in err:
        raise Wrong("a sanitizer reports")
    if status and not err and 2 not in closed:
        raise Wrong(f"status {status} without a word")
    for name, text in (("stdout", out), ("stderr", err)):
        found = CONTROL.search(text)
        if found and not (line.words[0] == "convert" and name == "stdout"):
            raise Wrong(f"control character {found[0]!r} on {name}")
    written = {os.path.normpath(w) for w in line.writes + products(line.words)} | {"ppsim-flight.json"}
    written |= {os.path.splitext(w)[0] + end for w in written if w.endswith((".svg", ".png")) for end in (".gp", ".dat")}
    written |= {os.path.normpath(w) + ".json" for w in rows_of(line.words)}
    changed = [n for n in before if before[n] != after.get(n)]
    new = [n for n in after if n not in before]
    for name in changed:
        if name not in written:
            raise Wrong(f"{name} was {'changed' if name in after else 'removed'}")
    for name in new:
        if re.search(r"\.tmp\d+$", name):
            raise Wrong(f"{name} is left")
        if not any(name == w or name.startswith(w + ".") for w in written):
            raise Wrong(f"{name} is new")
    # A sweep's file is there before its first point is computed, and keeps what was done.
    if status in (2, 3) and (changed or new) and line.words[0] != "sweep":
        raise Wrong(f"status {status}, and yet {', '.join(changed + new)} was written")


def respell(rng, name, folder):
    return rng.choice(["./" + name, "sub/../" + name, os.path.join(folder, name), ".//" + name])


def twice(rng, line, folder):
    """A product that is an input or another product, under another spelling; it must be refused."""
    simulate = ["simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--costs", "F=1ms,B=2ms"]
    sweep = ["sweep", "--study", "simulate"] + simulate[1:]
    name = rng.choice(["out", "new.json"])
    kinds = [
        simulate + ["--emit", f"plan={name}", "-o", "NAME"],
        simulate + ["--emit", f"plan={name}", "--trace", "chrome=NAME"],
        simulate + ["--trace", f"chrome={name}", "--json", "--output=NAME"],
        sweep + ["-o", name, "--csv", "NAME"],
        ["plan", "--model", "llama3-8b", "--pp", "2", "--candidates", name, "-o", "NAME"],
        ["compare", "plan.json", "plan.json", "--markdown", name, "--junit", "NAME"],
    ]
    inputs = [
        ("plan.json", ["simulate", "plan.json", "-o", "NAME"]),
        ("order.csv", ["simulate", "order.csv", "--costs", "F=1ms,B=2ms", "--emit", "plan=NAME"]),
        ("plan.json", ["convert", "plan.json", "--to", "pytorch-csv", "-o", "NAME"]),
        ("trace.json", ["convert", "trace.json", "--to", "chrome", "--ranks", "0-1", "-o", "NAME"]),
        ("grid.json", ["sweep", "--grid", "grid.json", "--csv", "NAME"]),
        ("sweep.jsonl", ["sweep", "--merge", "sweep.jsonl", "--csv", "NAME"]),
        ("lengths.txt", ["pack", "lengths.txt", "--model", "llama3-8b", "--pp", "2", "-o", "NAME"]),
        ("samples.csv", ["calibrate", "--import", "samples-csv=samples.csv", "-o", "NAME"]),
        ("costs.json", ["simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--costs-file",
                        "costs.json", "-o", "NAME"]),
        ("plan.json", ["run", "plan.json", "--trace", "chrome=NAME"]),
        ("plan.json", ["compare", ".", ".", "--junit", "NAME"]),
    ]
    if rng.random() < 0.5:
        line.words = rng.choice(kinds)
    else:
        name, line.words = rng.choice(inputs)
    link = rng.random() < 0.3 and os.path.exists(os.path.join(folder, name))
    if link:
        (os.symlink if rng.random() < 0.5 else os.link)(os.path.join(folder, name), os.path.join(folder, "link"))
    spelt = "link" if link else respell(rng, name, folder)
    line.words = [w.replace("NAME", spelt) for w in line.words]


def feed(folder, name, path):
    with open(os.path.join(folder, name), "rb") as file:
        text = file.read()

    def write():
        try:
            with open(path, "wb") as fifo:
                fifo.write(text)
        except OSError:
            pass

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def attempt(rng, program, grammar, base, folder, show):
    """Carries out one case, and returns its kind."""
    shutil.copytree(base, folder, dirs_exist_ok=True)
    os.mkdir(os.path.join(folder, "sub"))
    files = sorted(os.listdir(base))
    line = Line(rng, grammar, files)
    kind = rng.choices(["plain", "damaged", "twice", "closed", "fifo"], [30, 45, 8, 8, 9])[0]
    closed = ()
    thread = None
    stdin = None
    if kind == "twice":
        twice(rng, line, folder)
    else:
        line.draw()
    if kind == "damaged" or (kind != "twice" and rng.random() < 0.1):
        for name in set(r.split("=", 1)[-1] for r in line.reads) & set(files):
            with open(os.path.join(folder, name), "r+b") as file:
                text = damage(rng, file.read())
                file.seek(0)
                file.truncate()
                file.write(text)
    if kind == "closed":
        closed = rng.choice([(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
    read = [w for w in line.words[1:] if w in line.reads and w in files and w not in line.writes]
    fifo = os.path.join(folder, "fifo")
    if kind == "fifo" and read:
        name = rng.choice(read)
        if rng.random() < 0.5:
            os.mkfifo(fifo)
            thread = feed(folder, name, fifo)
            line.words = [w if w != name else "fifo" for w in line.words]
        else:
            stdin = open(os.path.join(folder, name), "rb")
            line.words = [w if w != name else "/dev/stdin" for w in line.words]
    show(line.words, closed)
    before = contents(folder)
    try:
        status, out, err = run(program, line.words, folder, closed, stdin)
    finally:
        if stdin:
            stdin.close()
        if thread: # nobody may have opened it
            try:
                os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))
            except OSError:
                pass
            thread.join(5)
    judge(line, status, out, err, before, contents(folder), closed)
    if kind == "twice" and status != 2:
        raise Wrong(f"one file for two purposes: status {status}")
    return kind, status


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ppsim")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PPSIM_TEST_SEED") or 0))
    parser.add_argument("--seconds", type=float, default=600 if os.environ.get("PPSIM_TEST_LONG") else 20)
    parser.add_argument("--case", type=int, default=None, help="only this one")
    options = parser.parse_args()
    program = os.path.abspath(options.ppsim)
    counts = {}
    shown = []
    case = options.case or 0
    with tempfile.TemporaryDirectory() as top:
        base = os.path.join(top, "base")
        os.mkdir(base)
        make_files(program, base)
        grammar = Grammar(program, base)
        end = time.monotonic() + options.seconds
        while True:
            folder = os.path.join(top, "case")
            os.mkdir(folder)
            try:
                kind = attempt(random.Random(f"{options.seed}/{case}"), program, grammar, base, folder,
                               lambda words, closed: shown.__setitem__(slice(None), [words, closed]))
            except Wrong as wrong:
                print(f"case {case} of seed {options.seed}: {wrong}")
                print(f"command: ppsim {shown[0]}" + (f", closed {shown[1]}" if shown[1] else ""))
                status = subprocess.run([program, *shown[0]], cwd=folder, stdin=subprocess.DEVNULL,
                                        capture_output=True, timeout=10 * PATIENCE) if "fifo" not in shown[0] else None
                if status:
                    print(f"again: status {status.returncode}\n{status.stderr[-3000:].decode(errors='replace')}")
                print(f"repeat: {sys.argv[0]} {options.ppsim} --seed {options.seed} --case {case}")
                sys.exit(1)
            finally:
                shutil.rmtree(folder)
            counts[kind] = counts.get(kind, 0) + 1
            case += 1
            if options.case is not None or time.monotonic() >= end:
                break
    kinds = sorted({kind for kind, _ in counts})
    for kind in kinds:
        by_status = ", ".join(f"{n} with {s}" for (k, s), n in sorted(counts.items()) if k == kind)
        print(f"{kind}: {by_status}")
    print(f"seed {options.seed}: {sum(counts.values())} cases, none wrong")


if __name__ == "__main__":
    main()
