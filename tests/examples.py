#!/usr/bin/env python3
"""What README.md and docs/ show is what ppsim prints: runs the commands of the ```console blocks, in the
order of the page and in one folder per page, and compares their output with what stands below them.

usage: examples.py PPSIM [--update] [PAGE...]

`$ ` begins a command, which goes on where the shell would ask for more. Run are variables, loops and
commands of ppsim, up to the last one of the page with output below it; the others may print what they
like. A page may wrap a long line, and a line `...` stands for any number of lines. --update writes the
output into the pages.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECONDS = 120


def blocks(lines):
    """(first line of its content, line of its end) of each console block."""
    start = None
    for number, line in enumerate(lines):
        if start is None and line == "```console":
            start = number + 1
        elif start is not None and line.startswith("```"):
            yield start, number
            start = None


def unfinished(command):
    """Does the shell wait for more: a quote or a loop that is open?"""
    return subprocess.run(["sh", "-nc", command], stderr=subprocess.DEVNULL, check=False).returncode != 0


def trimmed(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def commands(lines):
    """(command, line of its output, its output) of a page, to the last that has output."""
    found = []
    for at, end in blocks(lines):
        while at < end:
            command = lines[at]
            at += 1
            while at < end and (command.endswith("\\") or unfinished(command[2:])):
                command += "\n" + lines[at]
                at += 1
            begin = at
            while at < end and not lines[at].startswith("$ "):
                at += 1
            if re.match(r"\$ (ppsim |[A-Z]+=|for |[a-z]+\(\))", command):
                found.append((command[2:], begin, trimmed(lines[begin:at])))
    while found and not found[-1][2]:
        found.pop()
    return found


def matches(wanted, printed):
    """Lines equal; `...` in `wanted` is any number of lines."""
    if not wanted:
        return not printed
    if wanted[0] == "...":
        return any(matches(wanted[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and wanted[0] == printed[0] and matches(wanted[1:], printed[1:])


def check(page, program, update):
    """(line, command, shown, printed) of each command that prints something else."""
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    wrong, set_up = [], ""
    environment = dict(os.environ, PATH=os.path.dirname(program) + ":" + os.environ["PATH"])
    with tempfile.TemporaryDirectory() as folder:
        for command, begin, shown in commands(lines):
            if not command.startswith(("ppsim", "for")):
                set_up += command + "\n"  # of all later commands
                continue
            try:
                printed = subprocess.run(
                    ["sh", "-c", set_up + command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
                    encoding="utf-8", errors="replace",
                ).stdout.split("\n")
            except subprocess.TimeoutExpired:
                printed = [f"(not over after {SECONDS} s)"]
            printed = trimmed(printed)
            if shown and not matches(shown, printed) and " ".join(shown).split() != " ".join(printed).split():
                wrong.append((begin, command, shown, printed))
    if update and wrong:
        for begin, _, shown, printed in reversed(wrong):
            lines[begin : begin + len(shown)] = printed
        with open(page, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    return wrong


def main(arguments):
    program = os.path.abspath(arguments[0])
    pages = [os.path.abspath(page) for page in arguments[1:] if page != "--update"]
    if not pages:
        pages = [os.path.join(ROOT, "README.md")]
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, "docs"))):
            pages += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".md")]
    count = 0
    for page in pages:
        for line, command, shown, printed in check(page, program, "--update" in arguments):
            count += 1
            print(f"{os.path.relpath(page, ROOT)}:{line}: {command}\n--- shown", *shown, sep="\n")
            print("--- printed", *printed, sep="\n")
    print(f"examples: {len(pages)} pages, {count} commands print something else")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
