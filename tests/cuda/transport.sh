#!/bin/sh
# Transport nccl on the stand-in: what arrives, in which order NCCL and CUDA are called, how it ends.
# usage: transport.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
export PPSIM_MODULE_DIR="$modules"
cd "$scratch" || exit 1

# wanted status, words of the output, options
run() {
    wanted=$1 words=$2
    shift 2
    rm -f log
    STANDIN_LOG=$scratch/log timeout -k 5 $((100 * patience)) "$ppsim" run --transport nccl "$@" >out 2>&1
    status=$?
    if [ $status -ne "$wanted" ] || ! grep -q "$words" out; then
        echo "run $*: status $status, wanted $wanted and '$words':"
        cat out
        failed=1
    fi
}

# What was taken is given back; every stream has the highest priority.
settled() {
    for pair in "cudaStreamCreateWithPriority cudaStreamDestroy" "ncclCommInitRankConfig ncclCommDestroy" \
        "cudaMalloc cudaFree" "cudaMallocHost cudaFreeHost" "cudaEventCreate cudaEventDestroy"; do
        taken=$(grep -cE "^gpu[0-9]+ ${pair% *}(WithFlags)? " log)
        given=$(grep -cE "^gpu[0-9]+ ${pair#* } [^0]" log)
        [ "$taken" -gt 0 ] && [ "$taken" -eq "$given" ] || {
            echo "$1: $taken of ${pair% *}, $given of ${pair#* }"
            failed=1
        }
    done
    if grep cudaStreamCreateWithPriority log | grep -qv -- ' -5 @'; then
        echo "$1: a stream without the highest priority"
        failed=1
    fi
}

# Each thread's calls, in order. A group holds all its sends and receives; what goes out is copied
# before its send, what came in after the group's end, and then an event is recorded.
ordered() {
    awk '
    { t = $NF }
    $2 == "ncclGroupStart" { if (open[t]) bad("a group in a group"); open[t] = 1; sends[t] = out[t] = 0 }
    $2 ~ /^nccl(Send|Recv)$/ && !open[t] { bad($2 " outside of a group") }
    $2 == "cudaMemcpyAsync" && $4 == 1 { if (!open[t]) bad("a copy to the GPU outside of a group"); out[t]++ }
    $2 == "ncclSend" && begun[t] { if (++sends[t] > out[t]) bad("a send before its copy") }
    $2 == "ncclGroupEnd" { open[t] = 0; recorded[t] = 0; groups[t]++ }
    $2 == "cudaMemcpyAsync" && $4 == 2 {
        if (open[t]) bad("a copy from the GPU inside of a group")
        if (recorded[t]) bad("a copy after the event that says it is over")
    }
    $2 == "cudaEventRecord" { if (open[t]) bad("an event inside of a group"); recorded[t] = 1 }
    $2 == "cudaEventElapsedTime" { begun[t] = 1 }
    function bad(what) { print FILENAME ":" NR ": " what; wrong = 1 }
    END { exit wrong || NR < 100 }' log || failed=1
}

# 200 kB per boundary, more than one piece of the stand-in.
cat >costs.json <<'END'
{"format": "ppsim.costs", "version": 1,
 "forward_ns": 200000, "input_ns": 200000, "weight_ns": 100000, "comm_ns": 10000,
 "memory": {"activation_bytes": 500000, "message_bytes": 200000}}
END
carried='--microbatches 8 --costs-file costs.json --iterations 2 --payload 256KiB'
spin='--microbatches 8 --costs F=200us,I=200us,W=100us,comm=10us --iterations 2'
for schedule in 1f1b zbv 'interleaved --vpp 2'; do
    for layout in world pp per-edge; do
        run 0 "executed     ${schedule%% *} by compute spin, transport nccl, 4 ranks" --schedule $schedule --pp 4 $spin --communicators $layout
        settled "$schedule, $layout"
    done
done
run 0 'transport nccl, 4 ranks' --schedule zbv --pp 4 $carried --check-messages
ordered
run 0 'transport nccl, 4 ranks' --schedule zbv --pp 4 $carried --communicators per-edge --tensors-per-boundary 2
ordered
# A group of the program is one of NCCL. In gpipe on two ranks rank 1 receives each of 3 activations
# and sends each of 3 gradients, by itself; the main thread has one group to join and one to connect.
run 0 'transport nccl, 2 ranks' --schedule gpipe --pp 2 --microbatches 3 --costs-file costs.json --iterations 1 --warmup 0
sent=$(grep -c '^gpu1 ncclSend .* of 1 ' log)
[ "$sent" -eq 7 ] || { echo "gpipe: rank 1 sent $sent, wanted 3 and their headers, and a greeting"; failed=1; }

# Groups as the program has them, by the number of their transfers: where a gradient comes while the next
# activation leaves, both are in one.
run 0 'transport nccl, 2 ranks' --schedule 1f1b --pp 2 --microbatches 3 --costs F=2ms,B=4ms,comm=10us --iterations 1 --warmup 0
for rank in 0 1; do
    main=$(sed -n '1s/.*@//p' log)
    sizes=$(grep "^gpu$rank ncclGroupEnd" log | grep -v "@$main" | awk '{ printf "%s ", $3 }')
    case $rank.$sizes in
    '0.1 2 1 1 1 ' | '1.1 1 1 2 1 ') ;;
    *) echo "1f1b: rank $rank has groups of $sizes"; failed=1 ;;
    esac
done

# Real values, bit for bit those of the sequential run.
for layout in world per-edge; do
    run 0 'gradients' --schedule zbv --pp 4 --microbatches 6 --costs F=1ms,I=1ms,W=1ms --compute cpu --verify --iterations 1 \
        --communicators $layout
done
# A file that communicates itself is refused where it would hang on one queue: rank 0 posts the receive of a
# gradient in front of the send that its sender needs first.
printf '%s\n' 0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1 \
    1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1 >hangs.csv
run 1 'RECV_B0' --schedule hangs.csv --pp 2 --costs F=1ms,B=1ms
grep -q ncclCommInit log && [ "$(grep -c 'ncclSend .* of 1 ' log)" -gt 1 ] && { echo "hangs.csv was run"; failed=1; }
run 2 'nccl cannot run overlapped pairs.*--transport threads' --schedule dualpipev --pp 2 --microbatches 8 --costs F=1ms,I=1ms,W=1ms
# A job of one process is that process alone.
export SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_LOCALID=0 SLURM_STEP_TASKS_PER_NODE=1
run 0 'transport nccl, 4 ranks' --schedule 1f1b --pp 4 $spin
unset SLURM_PROCID SLURM_STEP_NUM_TASKS SLURM_LOCALID SLURM_STEP_TASKS_PER_NODE
# Somebody ends: all do, and say who.
run 1 'rank 1 died before' --schedule 1f1b --pp 4 $spin --fault death,rank=1,at=3
run 1 'rank 2 has been computing 2F2 for .*: it is slow' --schedule 1f1b --pp 4 $spin --fault stall,rank=2,at=3,time=100s --deadline 2s
run 3 'rank 1 has another order' --schedule 1f1b --pp 4 $spin --fault plan,rank=1

address=127.0.0.1
# job, rank: a process in the background, which writes out.JOB.RANK, and its number to started.
# timeout without --foreground would pass a signal on twice, and the second ends ppsim at once.
begin() {
    env TORCHELASTIC_RUN_ID=$1 RANK=$2 WORLD_SIZE=${4:-3} LOCAL_RANK=$2 MASTER_ADDR=$address MASTER_PORT=$port \
        timeout --foreground -k 5 $((100 * patience)) "$ppsim" run --schedule 1f1b --pp ${4:-3} --transport nccl $spin >"out.$1.$2${3-}" 2>&1 &
    started=$!
}
# process, wanted status, output, words in it
ends() {
    wait "$1"
    status=$?
    [ $status -eq "$2" ] && grep -q -- "$4" "$3" || wrong "$3: status $status, wanted $2 and '$4': $(cat "$3")"
}
# Until a command succeeds, for 60 s at most.
until_it() {
    tries=0
    until "$@" || [ $tries -ge 1200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}
# A port that somebody else has, who says nothing: no rank waits for ever.
if command -v python3 >/dev/null; then
    python3 -c 'import socket, time
door = socket.create_server(("", 0))
print(door.getsockname()[1], flush=True)
time.sleep(300)' >taken &
    holder=$!
    until_it [ -s taken ]
    taken=$(cat taken)
    free=$port port=$((taken - 1))
    export PPSIM_START_S=1
    begin taken 0
    ends $started 2 out.taken.0 "MASTER_PORT: the processes meet at port $taken, which is in use; set another"
    begin taken 1
    ends $started 2 out.taken.1 "MASTER_PORT: the process at port $taken of 127.0.0.1 did not answer as rank 0 within 1 s; set another"
    kill $holder
    port=$free
    next_port
    begin nobody 1
    ends $started 5 out.nobody.1 "rank 0 did not open port $((port + 1)) of 127.0.0.1 within 1 s"
    unset PPSIM_START_S
fi
# Job b starts at the port where job a waits for its ranks: all of b end, though a tells them nothing, and a
# goes on with its own.
next_port
listens() { grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X $((port + 1))) [0-9A-F:]+ 0A " /proc/net/tcp; }
begin a 0
first=$started
until_it listens
begin b 0
ends $started 2 out.b.0 "port $((port + 1)), which is in use"
begin b 1
ends $started 2 out.b.1 "MASTER_PORT: port $((port + 1)) belongs to another job, or to one with another PPSIM_SECRET; set another"
begin a 1 larger 4
ends $started 2 out.a.1larger "belongs to another job: it has 3 ranks, and this job has 4; set another"
# Of two that say to be rank 1 one is told while rank 2 is missing.
begin a 1
second=$started
begin a 1 again
again=$started
until_it grep -q 'its rank 1 has joined already' out.a.1 out.a.1again
begin a 2
wait $started || wrong "rank 2 of job a: $(cat out.a.2)"
ends $first 0 out.a.0 'transport nccl, 3 ranks'
wait $second
second=$?
wait $again
second=$second.$?
[ $second = 0.2 ] || [ $second = 2.0 ] || wrong "two of rank 1: $second: $(cat out.a.1 out.a.1again)"
next_port
# Strangers are told nothing, hold up nobody however slowly they talk, and stop nobody.
if command -v python3 >/dev/null; then
    begin a 0
    first=$started
    until_it listens
    python3 "$root/tests/cuda/strangers.py" $((port + 1)) >strangers &
    strangers=$!
    until_it grep -q talking strangers
    begin a 1
    begin a 2
    ends $first 0 out.a.0 'transport nccl, 3 ranks'
    wait $started || wrong "rank 2 among strangers: $(cat out.a.2)"
    kill $strangers
    wait $strangers || wrong "a stranger: $(cat strangers)"
    next_port
fi
both_joined() { [ "$(grep -cE "^ *[0-9]+: [0-9A-F]+:$(printf %04X $((port + 1))) [0-9A-F:]+ 01 " /proc/net/tcp)" -ge 2 ]; }
# A rank that begins a message of 1 GB and then stands still keeps nobody from being heard: rank 0 ends with
# rank 2's stop.
if command -v python3 >/dev/null; then
    begin a 0
    first=$started
    until_it listens
    python3 "$root/tests/cuda/half_message.py" $((port + 1)) a 1 3 >half &
    half=$!
    begin a 2
    until_it grep -q talking half
    until_it both_joined
    kill $started
    ends $started 1 out.a.2 'interrupted; nothing was written'
    until_it grep -q 'another process stopped the run' out.a.0
    grep -q 'another process stopped the run' out.a.0 || wrong 'rank 0 waits for the rest of a message'
    ends $first 1 out.a.0 'another process stopped the run'
    kill $half
    wait $half
    next_port
fi
# Over a network there is a secret, which all processes have; rank 0 listens at MASTER_ADDR alone.
address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 '^[0-9.]*$')
if [ -n "$address" ]; then
    for rank in 0 1; do
        begin far $rank
        ends $started 2 out.far.$rank 'PPSIM_SECRET: is not set; processes that meet over a network need a secret'
    done
    export PPSIM_SECRET=short
    begin far 1
    ends $started 2 out.far.1 'PPSIM_SECRET: is shorter than 16 characters'
    unset PPSIM_SECRET
    echo the secret of this job >secret
    chmod 644 secret
    export PPSIM_SECRET_FILE=secret
    begin far 1
    ends $started 2 out.far.1 "PPSIM_SECRET_FILE: others may use secret; run 'chmod 600' on it"
    chmod 600 secret
    begin far 0
    first=$started
    until_it listens
    grep -qE "^ *[0-9]+: 0{8}:$(printf %04X $((port + 1))) [0-9A-F:]+ 0A " /proc/net/tcp &&
        wrong 'rank 0 listens everywhere'
    export PPSIM_SECRET='the secret of another job'
    begin far 1
    unset PPSIM_SECRET
    ends $started 2 out.far.1 'belongs to another job, or to one with another PPSIM_SECRET'
    begin far 1
    begin far 2
    ends $first 0 out.far.0 'transport nccl, 3 ranks'
    wait $started || wrong "rank 2 over the network: $(cat out.far.2)"
    unset PPSIM_SECRET_FILE
    next_port
fi
address=127.0.0.1

# One process per rank, as torchrun and mpirun start them. The third takes schedule $other.
other=zbv
together() {
    wanted=$1 words=$2
    shift 2
    pids=
    for rank in 0 1 2 3; do
        schedule=zbv
        [ $rank -ne 2 ] || schedule=$other
        env RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            timeout -k 5 $((100 * patience)) "$ppsim" run --schedule $schedule --pp 4 --transport nccl \
            "$@" >out.$rank 2>&1 &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid"
        status=$?
        [ $status -eq "$wanted" ] || { echo "a process of '$*': status $status, wanted $wanted"; failed=1; cat out.*; }
    done
    cat out.* | grep -q "$words" || { echo "'$words' is not in the output of '$*'"; cat out.*; failed=1; }
    next_port
}
next_port
together 0 'executed     zbv by compute spin, transport nccl, 4 ranks' $spin
together 0 'gradients' --microbatches 6 --costs F=1ms,I=1ms,W=1ms --compute cpu --verify --iterations 1 --communicators per-edge
together 1 'rank 1 died before' $spin --fault death,rank=1,at=3
other='interleaved --vpp 2'
together 3 'rank 2 has another number of ops' $spin --communicators per-edge
other='zbv --check-messages'
together 3 'rank 2 has another number of steps, or another value of .*--check-messages' $spin

# The third process gets a signal in the middle: it ends with a status, the others with 1.
signalled() {
    signal=$1 wanted=$2
    rm -f log.? out.?
    for rank in 0 1 2 3; do
        env RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port STANDIN_LOG=$scratch/log.$rank \
            timeout -k 5 $((100 * patience)) sh -c 'echo $$ >pid.$RANK; exec "$@"' sh "$ppsim" run --schedule zbv --pp 4 --transport nccl \
            --microbatches 8 --costs F=200us,I=200us,W=100us,comm=10us --iterations 20000 >out.$rank 2>&1 &
        eval "job$rank=$!"
    done
    for rank in 0 1 2 3; do
        tries=0
        until [ "$(grep -c 'ncclSend' log.$rank 2>/dev/null)" -gt 50 ] 2>/dev/null || [ $tries -ge $((600 * patience)) ]; do
            tries=$((tries + 1))
            sleep 0.05
        done
    done
    # One of another job that comes in the middle finds nobody, and disturbs nobody.
    export PPSIM_START_S=1
    begin late 1
    unset PPSIM_START_S
    ends $started 5 out.late.1 "rank 0 did not open port $((port + 1)) of 127.0.0.1 within 1 s"
    kill -s "$signal" "$(cat pid.2)"
    for rank in 0 1 2 3; do
        eval "wait \$job$rank"
        status=$?
        [ $rank -ne 2 ] && expected=1 || expected=$wanted
        [ $status -eq $expected ] || { echo "rank 2 gets $signal: rank $rank ends with $status"; failed=1; cat out.$rank; }
        [ $rank -eq 2 ] || grep -q 'another process stopped' out.$rank || {
            echo "rank 2 gets $signal: rank $rank does not say that another stopped"
            failed=1
            cat out.$rank
        }
    done
    next_port
}
signalled INT 1
grep -q 'interrupted; nothing was written' out.2 || { echo "rank 2 does not say that it was interrupted:"; cat out.2; failed=1; }
signalled KILL 137
exit $failed
