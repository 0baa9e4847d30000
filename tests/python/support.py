"""What the tests of the Python package share. They run in an environment that has its wheel, with the
command of the same wheel (wheel.sh)."""

import os
import subprocess
import sys

SMALL = {
    "model": "gpt1.7b",
    "pp": 2,
    "schedule": "1f1b",
    "global_batch_size": 4,
    "micro_batch_size": 1,
}
PROGRAM = os.path.join(os.path.dirname(sys.executable), "ppsim")


def command(*words, **options):
    """Runs the command of the wheel. Returns its exit status, what it printed, and what it said on
    standard error."""
    ran = subprocess.run([PROGRAM, *words], capture_output=True, check=False, timeout=600, **options)
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


def typed(options):
    """Returns options as they are typed: a dict of keywords and plain values."""
    words = []
    for keyword, value in options.items():
        name = "--" + keyword.rstrip("_").replace("_", "-")
        words += [name] if value is True else [name, str(value)]
    return words
