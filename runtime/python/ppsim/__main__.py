"""``python -m ppsim``: the command."""

from ppsim._command import main

main()
