#!/bin/sh
# A sweep over processes is that of one process; one of which a process is killed, with and without
# mpirun's --enable-recovery, loses nothing.
# usage: sweep.sh PPSIM MODULE_DIR|none MPIEXEC|none
set -u
ppsim=$1
mpiexec=$3
[ "$2" != none ] || mpiexec=none
. "$(dirname "$0")/start.sh"
export PPSIM_MODULE_DIR=$2
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong() {
    echo "$*"
    [ ! -s "$scratch/said" ] || cat "$scratch/said"
    failed=1
}

if [ "$mpiexec" = none ]; then
    OMPI_COMM_WORLD_SIZE=2 PPSIM_MODULE_DIR=$scratch "$ppsim" sweep --model gpt175b --pp 8 \
        --schedule 1f1b -o "$scratch/one" >"$scratch/said" 2>&1
    [ $? -eq 4 ] || wrong 'started by MPI, built without: status 4 expected'
    [ "$failed" -eq 0 ] || exit 1
    echo 'skipped: transport mpi was not built'
    exit 77
fi

points=240
[ -z "${PPSIM_SANITIZE:-}" ] || points=100 # slow enough to be killed in between
set -- --model gpt175b --pp 8,16 --tp 8 --schedule 1f1b,zbv --seed 0..$((points / 4 - 1)) --top 1

# sorted FILE: complete, every point once
sorted() {
    "$ppsim" sweep --merge "$1" -o "$1.sorted" >"$scratch/said" 2>&1 || wrong "$1 is not complete"
    [ "$(wc -l <"$1")" -eq $((points + 1)) ] || wrong "$1 has $(wc -l <"$1") lines"
    cmp "$scratch/one.sorted" "$1.sorted" || wrong "$1 differs"
}

"$ppsim" sweep "$@" -o "$scratch/one" >"$scratch/one.out" 2>"$scratch/said" || wrong 'one process'
sorted "$scratch/one"
timeout -k 5 $((300 * patience)) "$mpiexec" -n 3 "$ppsim" sweep "$@" -o "$scratch/three" >"$scratch/three.out" \
    2>"$scratch/said" || wrong 'three processes'
sorted "$scratch/three"
cmp "$scratch/one.out" "$scratch/three.out" || wrong 'three processes print something else'

# Profiles, which every process reads, too.
measured='--model gpt22b --hw h100-80g --pp 4,8 --tp 2,4 --schedule 1f1b --profile h100-ib,b200-ib --profile-only links'
# shellcheck disable=SC2086 # options
"$ppsim" sweep $measured -o "$scratch/measured" >/dev/null 2>"$scratch/said" || wrong 'profiles'
# shellcheck disable=SC2086
timeout -k 5 $((300 * patience)) "$mpiexec" -n 3 "$ppsim" sweep $measured -o "$scratch/measured3" >/dev/null \
    2>"$scratch/said" || wrong 'profiles, three processes'
sort "$scratch/measured" >"$scratch/sorted"
sort "$scratch/measured3" | cmp - "$scratch/sorted" || wrong 'profiles: three processes differ'
grep -q step_low_ns "$scratch/measured" || wrong 'profiles: no intervals'

# Failures reach the others: nobody waits for ever.
timeout -k 5 $((300 * patience)) "$mpiexec" -n 3 "$ppsim" sweep "$@" -o "$scratch/none/file" >"$scratch/said" 2>&1
case $? in
0 | 124) wrong 'a target that cannot be written' ;;
esac
grep -q 'No such file' "$scratch/said" || wrong 'a target that cannot be written: no word of it'

# So that process 1, 2, ... can be found.
cat >"$scratch/start" <<'SCRIPT'
#!/bin/sh
echo $$ >"$1/pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
shift
exec "$@"
SCRIPT
chmod +x "$scratch/start"

# One of two processes is killed, by PPSIM_TEST_SEED; for tools/test --long both are, one after the other.
victims() {
    [ -z "${PPSIM_TEST_LONG:-}" ] || { echo "$@"; return; }
    shift $((${PPSIM_TEST_SEED:-0} % $#))
    echo "$1"
}

# interrupted FILE RANK [OPTIONS of mpiexec]: one process is killed when 20 lines are there
interrupted() {
    file=$1 rank=$2
    shift 2
    rm -f "$scratch"/pid.*
    timeout -k 5 $((300 * patience)) "$mpiexec" "$@" -n 4 "$scratch/start" "$scratch" "$ppsim" sweep \
        --model gpt175b --pp 8,16 --tp 8 --schedule 1f1b,zbv --seed 0..$((points / 4 - 1)) --top 1 -o "$file" \
        >"$scratch/out" 2>"$scratch/said" &
    job=$!
    while kill -0 $job 2>/dev/null && [ "$(wc -l 2>/dev/null <"$file" || echo 0)" -lt 20 ]; do
        sleep 0.01
    done
    kill -9 "$(cat "$scratch/pid.$rank")" || wrong "process $rank was over before it was killed"
    wait $job
    status=$?
    [ "$status" -ne 124 ] || wrong "process $rank killed: the others hang"
}

if "$mpiexec" --version 2>/dev/null | grep -qE '(OpenRTE|Open MPI)\) [34]'; then
    for rank in $(victims 1 3); do
        interrupted "$scratch/recovered.$rank" $rank --enable-recovery
        [ "$status" -eq 0 ] || wrong "process $rank killed, with recovery: status $status"
        grep -q "rank $rank of 4 died; the others computed its points" "$scratch/said" ||
            wrong "process $rank killed, with recovery: not named"
        sorted "$scratch/recovered.$rank"
    done
fi
# mpirun ends the job, or process 0 is the one: the next run goes on.
for rank in $(victims 0 2); do
    interrupted "$scratch/ended.$rank" $rank
    [ "$status" -ne 0 ] || wrong "process $rank killed, without recovery: status 0"
    lines=$(wc -l <"$scratch/ended.$rank")
    [ "$lines" -le $points ] || wrong "process $rank was killed when all was done"
    "$ppsim" sweep "$@" -o "$scratch/ended.$rank" >/dev/null 2>"$scratch/said" || wrong 'going on'
    sorted "$scratch/ended.$rank"
done
exit $failed
