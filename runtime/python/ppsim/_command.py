"""The ``ppsim`` command of the wheel: replaces this process by the program in the package."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the program with the arguments of this process, and does not return."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "ppsim")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
