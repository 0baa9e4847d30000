"""What the attacks share: a seed, a time, and cases that can be repeated one by one.

usage: ATTACK.py PPSIM [--seed N] [--seconds T | --cases N] [--case K]

Case K of seed N is always the same. An attack ends after T seconds or N cases, or with the first case that
fails; it then prints how to repeat that case. Without --seed the seed is PPSIM_TEST_SEED, or 0, and without
--seconds the time is 6 s (kills.py: 12 s), or 120 s with PPSIM_TEST_LONG.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time


PATIENCE = float(os.environ.get("PPSIM_TEST_PATIENCE") or 1)  # factor of time limits


class Wrong(Exception):
    """ppsim's answer is wrong; the text says why."""


class Ppsim:
    """Runs the command in a folder of its own."""

    def __init__(self, program, folder):
        self.program = os.path.abspath(program)
        self.folder = folder

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def __call__(self, *arguments):
        """Returns exit status, stdout and stderr. A crash or a hang is wrong."""
        command = [self.program, *arguments]
        try:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=20 * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Wrong("hangs: ppsim " + " ".join(arguments))
        if done.returncode < 0 or done.returncode > 7 or "Sanitizer" in done.stderr:
            raise Wrong(f"status {done.returncode}: ppsim {' '.join(arguments)}\n{done.stderr}")
        return done.returncode, done.stdout, done.stderr


def main(attack, summary, seconds=6):
    """Calls attack(rng, ppsim) for one case after the other. It returns the kind of the case, which is
    counted, and raises Wrong."""
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("ppsim")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PPSIM_TEST_SEED") or 0))
    parser.add_argument("--seconds", type=float, default=120 if os.environ.get("PPSIM_TEST_LONG") else seconds)
    parser.add_argument("--cases", type=int, default=None, help="so many, instead of a time")
    parser.add_argument("--case", type=int, default=None, help="only this one")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    counts = {}
    case = options.case if options.case is not None else 0
    while True:
        with tempfile.TemporaryDirectory() as folder:
            try:
                kind = attack(random.Random(f"{options.seed}/{case}"), Ppsim(options.ppsim, folder))
            except Wrong as wrong:
                print(f"case {case} of seed {options.seed}: {wrong}")
                for name in sorted(os.listdir(folder)):
                    if os.path.isfile(os.path.join(folder, name)):
                        with open(os.path.join(folder, name), errors="replace") as file:
                            print(f"--- {name}\n{file.read(4000)}")
                print(f"again: {sys.argv[0]} {options.ppsim} --seed {options.seed} --case {case}")
                sys.exit(1)
        counts[kind] = counts.get(kind, 0) + 1
        case += 1
        over = case >= options.cases if options.cases is not None else time.monotonic() >= end
        if options.case is not None or over:
            break
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(f"seed {options.seed}: {sum(counts.values())} cases, none wrong ({found})")
