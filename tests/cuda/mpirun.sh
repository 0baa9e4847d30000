#!/bin/sh
# Compute cuda over transport nccl on the stand-in, a process per rank that mpirun itself starts: what they
# compute, on which GPU, and how each of them and mpirun ends.
# usage: mpirun.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD MPIEXEC|none
. tests/cuda/common.sh
needs_standin
mpiexec=$4
[ "$mpiexec" != none ] || { echo "skipped: no mpiexec"; exit 77; }
. tests/mpi/start.sh
export PPSIM_MODULE_DIR="$modules" MASTER_PORT
cd "$scratch" || exit 1

# A process: notes its number and what it calls. With $fails some calls of rank 1 fail; with $quiet it writes its status
# down and tells mpirun of none, which would end the others.
cat >process <<'END'
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
export STANDIN_LOG=log.$rank
[ "$rank" -ne 1 ] || [ -z "$fails" ] || export STANDIN_FAIL=$fails
[ -n "$quiet" ] || { echo $$ >pid.$rank; exec "$@"; }
"$@" >said.$rank 2>&1
echo $? >status.$rank
END
fails= quiet=
export fails quiet

meet_elsewhere() { next_port; MASTER_PORT=$port; }

# Processes, wanted status, words of the output, arguments of ppsim run.
started() {
    ranks=$1 wanted=$2 words=$3
    shift 3
    rm -f log.* said.* status.*
    meet_elsewhere
    timeout -k 5 $((100 * patience)) "$mpiexec" -n "$ranks" sh process "$ppsim" run --compute cuda --transport nccl "$@" >out 2>&1
    status=$?
    [ $status -eq "$wanted" ] && cat out said.* 2>/dev/null | grep -q -- "$words" ||
        wrong "mpirun -n $ranks ppsim run $*: status $status, wanted $wanted and '$words': $(cat out said.* 2>/dev/null)"
}

# Every process said it all, and computed on a GPU of its own; the first one alone reports.
computed() {
    [ "$(grep -c '^executed ' out)" -eq 1 ] && grep -q 'near compute cpu in double' out || wrong "$1: $(cat out)"
    rank=0
    while [ $rank -lt "$ranks" ]; do
        [ "$(grep -c "^gpu$rank cudaLaunchKernel" log.$rank)" -gt 50 ] && [ "$(grep -c "^gpu$rank ncclSend" log.$rank)" -gt 4 ] &&
            ! grep -E '^gpu[0-9]+ (cudaLaunchKernel|nccl(Send|Recv))' log.$rank | grep -qv "^gpu$rank " ||
            wrong "$1: rank $rank calls $(cut -d ' ' -f 1,2 log.$rank | sort | uniq -c)"
        rank=$((rank + 1))
    done
}

small='--compute-settings hidden=16,heads=2,mlp=24,tokens=12'
steps="--costs F=1ms,I=1ms,W=1ms --iterations 2 --warmup 1 $small,vocab=11"
exact='bit for bit equal to a sequential run'
cat >model.json <<'END'
{"format": "ppsim.model", "version": 1, "name": "small", "layers": 4, "hidden": 16, "heads": 2, "ffn": 24,
 "vocab": 0, "max_seq_length": 64, "gated_mlp": false, "rms_norm": true, "linear_bias": false, "tied_embeddings": false,
 "learned_positions": false, "dropout": false, "source": "test"}
END
echo '[[64],[32,16],[48],[64],[8,8,8],[32],[64],[16,48]]' >lengths.json
for p in 2 4; do
    started $p 0 "$exact" --schedule 1f1b --pp $p --microbatches 6 --verify $steps
    grep -q "^executed     1f1b by compute cuda, transport nccl, $p ranks" out || wrong "1f1b on $p: $(cat out)"
    computed "1f1b on $p"
    "$ppsim" plan --model model.json --pp $p --schedule planned --executor ppsim --lengths lengths.json --seq-length 64 \
        --budget 200it --emit plan=planned.json >out 2>&1 || wrong "no plan: $(cat out)"
    # The weights' gradients may be summed in the order of the plan, which is not that of the sequential run.
    started $p 0 'a sequential run: ' planned.json --verify --iterations 1 --check-messages --communicators per-edge $small
    grep -q "^executed     planned by compute cuda, transport nccl, $p ranks" out || wrong "planned on $p: $(cat out)"
    computed "planned on $p"
done

# Statuses are handed on by mpirun.
started 2 2 'the plan has 4 ranks, but 2 processes were started; start one per rank' --schedule 1f1b --pp 4 --microbatches 4 $steps
STANDIN_DRIVER=0 started 2 4 'no NVIDIA driver' --schedule 1f1b --pp 2 --microbatches 4 $steps
STANDIN_GPUS=2 started 4 4 'needs GPU [23], but 2 are visible' --schedule 1f1b --pp 4 --microbatches 4 $steps
for p in 2 4; do
    started $p 1 'rank 1 died before' --schedule 1f1b --pp $p --microbatches 4 $steps --fault death,rank=1,at=3
done
set -- "$ppsim" run --compute cuda --transport nccl --schedule 1f1b --pp 2 --microbatches 4 $steps
meet_elsewhere
timeout -k 5 $((60 * patience)) "$mpiexec" -n 1 "$@" : -n 1 "$@" --check-messages >out 2>&1
[ $? -eq 3 ] && grep -q 'rank 1 has another number of steps' out || wrong "other options: $(cat out)"

# A call that fails in one process: all others are told, and end.
quiet=yes
for call in ncclSend:9/'sending and receiving failed; NCCL reports' ncclCommInitRankConfig:1/'joining a communicator failed' \
    cudaLaunchKernel:90/'launching a kernel failed' cudaMalloc:2/'out of memory'; do
    fails=${call%%/*}
    started 4 0 "${call#*/}" --schedule 1f1b --pp 4 --microbatches 4 $steps
    ended=$(cat status.0 status.1 status.2 status.3 | tr -d '\n')
    [ "$ended" = 1511 ] || [ "${call%%:*}.$ended" = cudaMalloc.1611 ] || wrong "$call: statuses $ended: $(cat said.*)"
    [ "$(grep -lE 'another process stopped the run|makes no progress' said.[023] | wc -l)" -eq 3 ] || wrong "$call: the others say $(cat said.[023])"
done
fails= quiet=

# A process dies in the middle: mpirun says so, and nobody is left.
rm -f log.* pid.*
meet_elsewhere
timeout -k 5 $((100 * patience)) "$mpiexec" -n 4 sh process "$ppsim" run --compute cuda --transport nccl --schedule 1f1b --pp 4 --microbatches 4 \
    --costs F=1ms,I=1ms,W=1ms --iterations 100000 --durations plan $small >out 2>&1 &
job=$!
tries=0
until [ "$(cat log.? 2>/dev/null | grep -c ncclSend)" -gt 500 ] || [ $tries -ge $((600 * patience)) ]; do
    tries=$((tries + 1))
    sleep 0.05
done
kill -s KILL "$(cat pid.2)"
wait $job
status=$?
wanted=137
"$mpiexec" --version 2>/dev/null | grep -q 'Open MPI' || wanted=$status # others have words of their own
[ $status -eq $wanted ] && [ $status -ne 0 ] && [ $status -ne 124 ] || wrong "a process is killed: status $status: $(cat out)"
# Runs, or waits: it may be nobody's child that is over.
lives() { grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null; }
for rank in 0 1 3; do
    tries=0
    while lives "$(cat pid.$rank)" && [ $tries -lt $((300 * patience)) ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    [ $tries -lt $((300 * patience)) ] || wrong "rank $rank is left"
done
exit $failed
