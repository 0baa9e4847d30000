#!/bin/sh
# A test in the environment that wheel.sh made.   run.sh BUILD test_x.py
set -eu
environment=$1/python/fresh
[ -x "$environment/bin/ppsim" ] || { echo "skipped: no wheel (python.wheel)"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 exec "$environment/bin/python" -X faulthandler "$2"
