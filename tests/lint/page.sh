#!/bin/sh
# tools/page/simulator.js was made from the sources as they are (tools/dev/build-wasm).
set -eu
cd "$1"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B tools/dev/build-wasm --check
