#!/bin/sh
# What ppsim predicts for the commands in tests/baseline/plans, against what it predicted when they
# were last refreshed: any other number fails, better ones too.
#   baseline.sh PPSIM [--refresh]    --refresh keeps today's numbers; say in the commit why they moved
set -eu
LC_ALL=C
export LC_ALL
[ $# -ge 1 ] || { echo "usage: $0 PPSIM [--refresh]" >&2; exit 2; }
ppsim=$1
folder=$(cd "$(dirname "$0")/baseline" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -v '^#' "$folder/plans" | while IFS=: read -r name arguments; do
    # shellcheck disable=SC2086 # words of a command
    "$ppsim" $arguments --emit "report=$work/$name.json" -o /dev/null
done
if [ "${2:-}" = --refresh ]; then
    exec "$ppsim" compare --baseline "$folder" "$work" --refresh --accept
fi
"$ppsim" compare --baseline "$folder" "$work" --strict --markdown - || {
    echo "refresh with: tests/baseline.sh build/ppsim --refresh"
    exit 1
}
