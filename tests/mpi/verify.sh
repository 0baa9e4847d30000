#!/bin/sh
# Every schedule trains a real model on 4 ranks to the bits of a sequential run, in double, with equal
# and with variable lengths; every shape protocol carries the variable ones. First on threads, then on
# processes: with the same loss, and memory counted at as many instants. contract.verify has all of them on
# threads: here one in three is tried, by PPSIM_TEST_SEED, under sanitizers one in eight, for tools/test --long all. Without the module, or MPI,
# only threads are tried, and the rest is skipped.
# usage: verify.sh PPSIM MODULE_DIR|none MPIEXEC|none
set -u
ppsim=$1
mpiexec=$3
[ "$2" != none ] || mpiexec=none
command -v python3 >/dev/null || { echo "skipped: no python3, which reads the reports"; exit 77; }
"$ppsim" list computes | grep -q '^cpu ' || { echo "skipped: no compute cpu"; exit 77; }
. "$(dirname "$0")/start.sh"
export PPSIM_MODULE_DIR=$2
export OMP_NUM_THREADS=1
failed=0
runs=0
tried=0
one_in=3
[ -z "${PPSIM_SANITIZE:-}" ] || one_in=8
[ -z "${PPSIM_TEST_LONG:-}" ] || one_in=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# 20 sequences for 8 microbatches: 3 for each of the first four, 2 for the others; 2 to 26 tokens.
printf '%s\n' 3 11 6 13 4 9 12 5 8 10 3 7 13 13 2 3 1 1 14 9 >"$scratch/lengths.txt"

# Reports of the transports, threads first.
cat >"$scratch/judge.py" <<'PYTHON'
import json, sys

runs = [json.load(open(path))["execution"] for path in sys.argv[1:]]
wrong = []
for run, name in zip(runs, ("threads", "mpi")):
    if run["transport"] != name:
        wrong.append(f"{run['transport']}: not {name}")
    verdict = run["verification"]
    if verdict["differing"] != 0:
        wrong.append(f"{run['transport']}: {verdict['differing']} values differ")
    if verdict["values"] <= 0:
        wrong.append(f"{run['transport']}: nothing was compared")
    if run["memory_checks"] <= 0:
        wrong.append(f"{run['transport']}: memory was not counted")
    if run["memory_checks"] != runs[0]["memory_checks"]:
        wrong.append(f"{name}: memory was counted at another number of instants")
    if run["traffic"] != runs[0]["traffic"] or run["traffic"]["tensor_bytes"] <= 0:
        wrong.append(f"{name}: {run['traffic']} was sent")
    for key in ("values", "loss"):
        if verdict[key] != runs[0]["verification"][key]:
            wrong.append(f"{name}: {key} is not that of threads")
print("\n".join(wrong))
sys.exit(bool(wrong))
PYTHON

reports=threads
[ "$mpiexec" = none ] || reports='threads mpi'
# on_mpi COMMAND...: with transport mpi, on 4 processes
on_mpi() {
    [ "$mpiexec" != none ] || return 0
    timeout -k 5 $((300 * patience)) "$mpiexec" -n 4 "$ppsim" "$@" --transport mpi </dev/null >"$scratch/mpi" \
        2>"$scratch/said"
}

# both ARGUMENTS...: runs it on both transports, if it is drawn
both() {
    runs=$((runs + 1))
    [ $(((runs + ${PPSIM_TEST_SEED:-0}) % one_in)) -eq 0 ] || return 0
    tried=$((tried + 1))
    set -- run "$@" --compute cpu --verify --iterations 2 --durations plan --json
    if timeout -k 5 $((300 * patience)) "$ppsim" "$@" >"$scratch/threads" 2>"$scratch/said" && on_mpi "$@" &&
        (cd "$scratch" && python3 judge.py $reports >said 2>&1); then
        return
    fi
    echo "$*:"
    cat "$scratch/said"
    failed=1
}

# verify SCHEDULE [OPTIONS]: as `ppsim run --schedule`
verify() {
    both --schedule "$@" --pp 4 --microbatches 8 --costs F=1ms,B=2ms \
        --compute-settings hidden=16,heads=2,mlp=24,vocab=13,tied=on
}

"$ppsim" list schedules >"$scratch/schedules"
while read -r name summary; do
    case $summary in
    *'simulate only'*) continue ;;
    esac
    # one that takes any number of stages per rank wants to know it
    stages=
    if "$ppsim" simulate --schedule "$name" --pp 4 --microbatches 8 --costs F=1ms,B=2ms 2>&1 |
        grep -q -- --vpp; then
        stages='--vpp 2'
    fi
    # shellcheck disable=SC2086
    verify "$name" $stages
    # shellcheck disable=SC2086
    verify "$name" $stages --lengths "$scratch/lengths.txt"
done <"$scratch/schedules"
[ "$runs" -ge 32 ] || { echo "only $runs runs: are the schedules listed?"; failed=1; }

# A line and a V; `plan` is above. 24 is longer than some microbatches and shorter than others.
for shapes in local message cached padded padded:48 bucket:8 bucket:24; do
    verify 1f1b --shapes $shapes --lengths "$scratch/lengths.txt"
    verify zbv --shapes $shapes --lengths "$scratch/lengths.txt"
done
# Two replicas of two ranks share the update, gradients, or parameters: orders by name, with more
# stages per rank than stay gathered, and a planned order of variable lengths, whose replicas have
# data of their own.
"$ppsim" plan --model gpt1.7b --pp 2 --dp 2 --tp 1 --lengths "$scratch/lengths.txt" --packing equal \
    --micro-batch-size 16 --schedule planned --budget 300it --emit plan="$scratch/plan.json" >"$scratch/said" 2>&1 ||
    { cat "$scratch/said"; failed=1; }
for zero in 1 2 3; do
    for schedule in 1f1b 'interleaved --vpp 4' zbv; do
        # shellcheck disable=SC2086
        both --schedule $schedule --pp 2 --microbatches 4 --costs F=1ms,B=2ms --dp 2 --zero $zero \
            --compute-settings hidden=16,heads=2,mlp=24,vocab=13
    done
    both "$scratch/plan.json" --dp 2 --zero $zero --compute-settings hidden=16,heads=2,mlp=24,vocab=13
done
echo "$tried of $runs runs on each of: $reports"
[ "$failed" -eq 0 ] || exit 1
[ "$mpiexec" != none ] || { echo "skipped: transport mpi was not built"; exit 77; }
