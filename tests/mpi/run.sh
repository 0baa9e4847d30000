#!/bin/sh
# Transport mpi between processes of this machine. mpiexec, and a folder with the module, come from
# the build; without them only what is said of a missing module is tested, and the rest is skipped.
# usage: run.sh FOLDER_OF_PROGRAMS MODULE_DIR|none MPIEXEC|none PPSIM
set -u
program=$1/transport_mpi
runs=$1/run_mpi
probes=$1/probes_mpi
modules=$2
mpiexec=$3
ppsim=$4
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

. "$(dirname "$0")/start.sh"

# Program, processes, case, wanted status: "0", or "fails" for any other but that of timeout.
run() {
    PPSIM_TEST_RANKS=$2 timeout -k 5 $((300 * patience)) "$mpiexec" -n "$2" "$1" "$3" >"$scratch/out" 2>&1
    status=$?
    case $4.$status in
    0.0) return ;;
    fails.0 | *.124) ;;
    fails.*) return ;;
    esac
    echo "${1##*/} $3 on $2 processes: status $status, wanted $4:"
    cat "$scratch/out"
    failed=1
}

# Without MPI: no module at all, then one that cannot be loaded.
: >"$scratch/ppsim_mpi.so"
for folder in "$scratch/none" "$scratch"; do
    PPSIM_MODULE_DIR=$folder "$program" unavailable >"$scratch/out" 2>&1 ||
        { cat "$scratch/out"; failed=1; }
done
if [ "$modules" = none ] || [ "$mpiexec" = none ]; then
    [ "$failed" -eq 0 ] || exit 1
    echo "skipped: transport mpi was not built"
    exit 77
fi

export PPSIM_MODULE_DIR=$modules
run "$program" 1 number 0
PPSIM_TEST_RANKS=1 "$program" number || failed=1 # as if by hand
number=0
for case in refused gather clocks ring wrong_microbatch too_long too_long_large too_short \
    too_short_large rendezvous overlap unreceived stop collect; do
    number=$((number + 1))
    # Under sanitizers half of them, by the seed.
    [ -z "${PPSIM_SANITIZE:-}" ] || [ -n "${PPSIM_TEST_LONG:-}" ] ||
        [ $((number % 2)) -eq $((${PPSIM_TEST_SEED:-0} % 2)) ] || continue
    run "$program" 4 $case 0
done
run "$program" 2 ring 0
run "$1/p2p_mpi" 2 check 0
run "$program" 9 ring 0
for case in schedules stall other_plan; do
    run "$runs" 4 $case 0
done
run "$probes" 2 link 0
run "$probes" 3 refused 0

# The command itself. Arguments: wanted status, words of the output, options of run.
over_mpi() {
    wanted=$1 words=$2
    shift 2
    (cd "$scratch" && timeout -k 5 $((300 * patience)) "$mpiexec" -n 2 "$ppsim" run --schedule 1f1b --pp 2 \
        --microbatches 4 --costs F=200us,I=200us,W=100us,comm=10us --transport mpi "$@") \
        >"$scratch/out" 2>&1
    status=$?
    if [ "$status" -ne "$wanted" ] || ! grep -q "$words" "$scratch/out"; then
        echo "mpirun ppsim run $*: status $status, wanted $wanted and '$words':"
        cat "$scratch/out"
        failed=1
    fi
}
over_mpi 0 'executed     1f1b by compute spin, transport mpi, 2 ranks' --iterations 3
over_mpi 0 'memory as predicted' --memory-costs F=1MB,I=-1MB,W=0 --verify
over_mpi 1 'rank 1 died before' --fault death,rank=1,at=3
[ -s "$scratch/ppsim-flight.json.0" ] && [ -s "$scratch/ppsim-flight.json.1" ] || failed=1
# A process is killed: the others say which, before the launcher ends them. It may be killed before it has
# begun, and then nobody knows it.
killed() {
    rm -f "$scratch"/pid.*
    (cd "$scratch" && timeout -k 5 $((300 * patience)) "$mpiexec" -n 3 sh -c \
        'echo $$ >pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$0" run --schedule 1f1b --pp 3 --microbatches 8 \
        --costs F=3ms,B=3ms --transport mpi --iterations 100000' "$ppsim") >"$scratch/out" 2>&1 &
    sleep "$1"
    kill -9 "$(cat "$scratch/pid.1")"
    wait $! && echo "it ended with status 0" >>"$scratch/out"
    grep -q 'rank 1 is gone: its process was killed' "$scratch/out" &&
        ! grep -q 'it ended with status 0' "$scratch/out"
}
version=$(uname -r | awk -F. '{ print 1000 * $1 + $2 }') # Linux 5.3 or later shows ends of processes
if [ "$version" -ge 5003 ] && ! killed 2 && ! killed 5 && ! killed $((15 * patience)); then
    echo "rank 1 was killed, and nobody says so:"
    cat "$scratch/out"
    failed=1
fi
# One ends by itself while the others are within long ops: nobody says that it was killed.
rm -f "$scratch"/pid.*
(cd "$scratch" && timeout -k 5 $((300 * patience)) "$mpiexec" -n 2 sh -c \
    'echo $$ >pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$0" run --schedule 1f1b --pp 2 --microbatches 2 \
    --costs F=9s,B=9s --deadline 60s --transport mpi --warmup 0 --iterations 1' "$ppsim") >"$scratch/out" 2>&1 &
sleep $((2 + patience))
kill "$(cat "$scratch/pid.1")"
wait $!
if [ $? -eq 0 ] || ! grep -q 'interrupted; nothing was written' "$scratch/out" || grep -q 'is gone' "$scratch/out"; then
    echo "rank 1 was interrupted:"
    cat "$scratch/out"
    failed=1
fi
# Those who were started with something else are told, and wait for nobody.
(cd "$scratch" && set -- run --schedule 1f1b --pp 2 --microbatches 4 --costs F=1ms,B=1ms --transport mpi &&
    timeout -k 5 $((300 * patience)) "$mpiexec" -n 1 "$ppsim" "$@" : -n 1 "$ppsim" "$@" --iterations 7) >"$scratch/out" 2>&1
if [ $? -ne 3 ] || ! grep -q 'rank 1 has another number of steps' "$scratch/out"; then
    cat "$scratch/out"
    failed=1
fi

# A process dies: all end, soon, and mpirun says so.
run "$program" 4 death fails
# A process stops the others and one never comes to the end: what was said before is heard.
run "$program" 4 absent fails
[ "$(grep -c 'has said it' "$scratch/out")" -eq 3 ] || { cat "$scratch/out"; failed=1; }
left() { command -v pgrep >/dev/null && pgrep -f "^$program " >"$scratch/out"; }
tries=0
while left && [ $tries -lt $((300 * patience)) ]; do # mpirun does not wait for those it kills
    tries=$((tries + 1))
    sleep 0.1
done
if left; then
    echo "processes are left: $(cat "$scratch/out")"
    failed=1
fi
exit $failed
