#!/bin/sh
# The profiles that ship are those that tools/dev/make-profiles makes of traces/data/links, to six digits.
set -eu
cd "$1"
[ -x "$2/ppsim" ] || { echo "skipped: no ppsim in this build"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
PPSIM_BUILD=$2 tools/dev/make-profiles "$made" >/dev/null
python3 - "$made" traces/data/profiles <<'PYTHON'
import json, os, sys

def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, dict): # a hash of all digits
        return {key: rounded(item) for key, item in value.items() if key != "sha256"}
    return value

def profiles(folder):
    return {name: rounded(json.load(open(os.path.join(folder, name)))) for name in os.listdir(folder)}

made, shipped = profiles(sys.argv[1]), profiles(sys.argv[2])
wrong = sorted(name for name in made.keys() | shipped.keys() if made.get(name) != shipped.get(name))
sys.exit("run tools/dev/make-profiles: " + ", ".join(wrong) if wrong or not made else 0)
PYTHON
