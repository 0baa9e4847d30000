#!/bin/sh
# The commands that write the measured tables of docs/ still find their programs, and every row.
# usage: measure.sh BUILD MODULE_DIR|none MPIEXEC|none
set -u
if [ "$2" = none ] || [ "$3" = none ]; then
    echo "skipped: transport mpi was not built"
    exit 77
fi
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
"$1/ppsim" list computes | grep -q '^cpu ' || { echo "skipped: no compute cpu"; exit 77; }
. "$(dirname "$0")/start.sh"
export PPSIM_BUILD=$1 PPSIM_MODULE_DIR=$2 MPIEXEC=$3 PYTHONDONTWRITEBYTECODE=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# wanted COMMAND ROWS PATTERN
wanted() {
    python3 "tools/dev/$1" --try >"$scratch/out" 2>&1 || { cat "$scratch/out"; failed=1; }
    [ "$(grep -cE "$3" "$scratch/out")" -eq "$2" ] ||
        { echo "tools/dev/$1: not $2 rows:"; cat "$scratch/out"; failed=1; }
}
# One of the two, by PPSIM_TEST_SEED; tools/test --long tries both.
turn=$((${PPSIM_TEST_SEED:-0} % 2))
[ -z "${PPSIM_TEST_LONG:-}" ] || turn=both
[ $turn = 0 ] || wanted measure-shapes 24 '^\| (lognormal|long)-8k \| (plan|local|message|cached|padded|bucket:[0-9]+) '
[ $turn = 1 ] || wanted measure-p2p 9 '^\| [0-9]+ ([KM]iB|B) \| '
exit $failed
