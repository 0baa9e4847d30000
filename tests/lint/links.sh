#!/bin/sh
# The object files call downwards and in no circle (tests/lint/links.py says it in full).
set -eu
cd "$1"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 exec python3 tests/lint/links.py "$2"
