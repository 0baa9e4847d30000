#!/bin/sh
# Probe nccl-link on the stand-in: which series, what their times are, in one process and in several; what
# is noted of clocks and power; what is said where it cannot run.
# usage: links.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
export PPSIM_MODULE_DIR="$modules"
cd "$scratch" || exit 1

# wanted status, then settings of probe $probe
probe=nccl-link
measure() {
    wanted=$1
    shift
    rm -f log p.json
    env STANDIN_LOG="$scratch/log" "$@" timeout -k 5 $((100 * patience)) "$ppsim" calibrate --quick --budget 100ms --probe $probe \
        -o p.json >out 2>&1
    status=$?
    [ $status -eq "$wanted" ] || { wrong "$*: status $status, wanted $wanted"; cat out; }
}
classes() { sed -n '/^ "series"/,$s/^ *"class": "\(.*\)",$/\1/p' p.json | sort | tr '\n' ';'; }
# Times of a class, in us.
took() {
    awk -v class="\"$1\"," '/^ "series"/ { in_series = 1 } /"class":/ { sub(/.*"class": /, ""); now = $0 }
        in_series && now == class && /"seconds":/ { printf "%.0f\n", $2 * 1e6 }' p.json
}
least() { took "$1" | sort -n | head -n 1; }
# Every time of a class is that long at least, in us; the least one is not a thousand times longer, as in
# another unit.
lasts() {
    took "$1" >times
    [ -s times ] && awk -v least="$2" '$1 < least { bad = 1 } $1 < 900 * least { sane = 1 } END { exit bad || !sane }' times ||
        { wrong "$1: wanted $2 us each, or somewhat more:"; cat times; }
}

# Two GPUs. A group takes 3 ms at least: both ways at once too; posting it does not wait for it.
# A process that waits for a processor makes times longer, never shorter. What has to be short is so
# in one of several measurements.
is_short() {
    group=$(least shape_message) # measured by itself
    [ $((2 * $(least nccl_post))) -lt "$group" ] && [ $((2 * $(least send_recv))) -lt $((3 * group)) ] &&
        [ "$group" -lt $((10 * $(least send_recv))) ]
}
tries=0
until measure 0 STANDIN_GPUS=2 STANDIN_GROUP_US=3000 && is_short; do
    tries=$((tries + 1))
    [ $tries -lt 8 ] || { wrong "8 times: posting $(least nccl_post) us, a shape $group, 64 B $(least send_recv)"; break; }
done
[ "$(classes)" = 'all_gather pair;all_reduce;all_reduce pair;nccl_post;send_recv;send_recv both;send_recv edge;send_recv max 1;send_recv max 16;send_recv max 2;send_recv max 4;send_recv max 8;send_recv min 16;send_recv min 32;shape_message;' ] ||
    wrong "classes of two GPUs: $(classes)"
lasts send_recv 3000
lasts 'send_recv both' 3000
lasts shape_message 3000
grep -q '"source": "probe nccl-link, device time, 2 GPUs"' p.json || wrong "no source"
grep -q '"clock": "device"' p.json || wrong "the clock is not said"
grep -q '"library": "nccl 2' p.json || wrong "NCCL's version is not said"
for n in 1 2 4 8 16; do
    [ "$(grep -c "ncclCommInitRankConfig [01] of 2, at most $n, at least 0, 0 per net peer @" log)" -eq 2 ] || wrong "no communicator of $n channels"
done
for n in 16 32; do
    [ "$(grep -c "ncclCommInitRankConfig [01] of 2, at most 0, at least $n, 0 per net peer @" log)" -eq 2 ] || wrong "no communicator of $n channels and more"
done
[ "$(grep -c ncclCommInitRankConfig log)" -eq "$(grep -c ncclCommDestroy log)" ] || wrong "communicators are left"
[ "$(grep -c 'cudaMalloc ' log)" -eq "$(grep -c 'cudaFree 1' log)" ] || wrong "memory is left"
[ "$(grep -c 'ncclSend' log)" -eq "$(grep -c 'ncclRecv' log)" ] || wrong "not as many sends as receives"
# A profile that costs are taken from.
"$ppsim" plan --model llama3-8b --hw h100-80g --pp 2 --seq-length 2048 --global-batch-size 8 --profile p.json >plan 2>&1 &&
    grep -q 'send_recv' plan || { wrong "no plan takes the messages:"; cat plan; }

# One GPU: to itself, which is said.
measure 0 STANDIN_GPUS=1
[ "$(classes)" = 'nccl_post;send_recv self;shape_message self;' ] || wrong "classes of one GPU: $(classes)"
grep -q 'nothing of a link' p.json || wrong "it is not said what one GPU cannot tell"

# Clocks and power.
grep -q 'not known: libnvidia-ml.so.1 was not found' out || [ -e /dev/nvidiactl ] || { wrong "the lack of NVML is not told:"; cat out; }
measure 0 STANDIN_GPUS=1 LD_LIBRARY_PATH="$modules/nvml"
grep -q '^GPU 0 after nccl-link: 1980 MHz, 70 W, 31 C$' out && grep -q '^GPU 1 after nccl-link: 1200 MHz, 700 W, 81 C; slowed down by power cap, heat$' out ||
    { wrong "states of the GPUs:"; cat out; }
[ "$(grep -c '"power_limit_w": 700' p.json)" -eq 2 ] || wrong "the limit of power of one of two GPUs"
"$ppsim" plan --model llama3-8b --hw h100-80g --pp 2 --seq-length 2048 --global-batch-size 8 --profile p.json >plan 2>&1 || { wrong "the profile is not read:"; cat plan; }
# What NVML does not say is not known; whatever it refuses, the measurement goes on.
probe=gpu-launch
while read -r call words; do
    skips 3 && continue
    measure 0 STANDIN_GPUS=1 LD_LIBRARY_PATH="$modules/nvml" STANDIN_FAIL="$call"
    grep -q "$words" out || { wrong "$call: wanted '$words':"; cat out; }
done <<'END'
nvmlInit_v2:7 does not start (error 7)
nvmlDeviceGetCount_v2:999 cannot count the GPUs (error 999)
nvmlDeviceGetHandleByIndex_v2:15 ^GPU 0 after gpu-launch: clock not known, power not known, temperature not known; what slows it down is not known$
nvmlDeviceGetClockInfo:3 ^GPU 0 after gpu-launch: clock not known, 70 W, 3[0-9] C$
nvmlDeviceGetPowerUsage:3 ^GPU 1 after gpu-launch: 1200 MHz, power not known, 8[0-9] C; slowed down by power cap, heat$
nvmlDeviceGetTemperature:3 ^GPU 0 after gpu-launch: 1980 MHz, 70 W, temperature not known$
nvmlDeviceGetName:3 ^GPU 1 after
nvmlDeviceGetEnforcedPowerLimit:3 ^GPU 1 after
nvmlSystemGetDriverVersion:3 ^GPU 1 after
nvmlShutdown:3 ^GPU 1 after
END
probe=nccl-link
measure 0 STANDIN_GPUS=1 LD_LIBRARY_PATH="$modules/nvml" STANDIN_FAIL=nvmlDeviceGetCurrentClocksThrottleReasons:3
grep -q '^GPU 1 after nccl-link: .* C; what slows it down is not known$' out || { wrong "reasons that are not known:"; cat out; }
! grep -q '"reasons"' p.json || wrong "reasons that are not known are in the profile"
"$ppsim" plan --model llama3-8b --hw h100-80g --pp 2 --seq-length 2048 --global-batch-size 8 --profile p.json >plan 2>&1 || { wrong "the profile is not read:"; cat plan; }

# Three processes: the first has the profile. $elsewhere starts the second one.
next_port
elsewhere=
processes=3
together() {
    rm -f log
    pids=
    for rank in 0 1 2; do
        [ $rank -lt $processes ] || continue
        starts=
        [ $rank -ne 1 ] || starts=$elsewhere
        $starts env STANDIN_LOG="$scratch/log" STANDIN_FAIL="$([ $rank -ne 0 ] || echo "${fails:-}")" RANK=$rank WORLD_SIZE=$processes LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            timeout -k 5 $((300 * patience)) "$ppsim" calibrate --quick --budget 100ms --probe nccl-link -o p$rank.json >out.$rank 2>&1 &
        pids="$pids $!"
    done
    ended=
    for pid in $pids; do
        wait "$pid"
        ended="$ended$?"
    done
    next_port
}
together
[ $ended = 000 ] && [ -s p0.json ] && ! [ -e p1.json ] && ! [ -e p2.json ] || { wrong "three processes end with $ended"; cat out.?; }
cp p0.json p.json
[ "$(classes | tr ';' '\n' | grep -c '^send_recv pair [0-2] [0-2]$')" -eq 3 ] || wrong "pairs: $(classes)"
# Two machines, where a name of its own can be had: channels to a peer over the network are a setting, too.
another='hostname another-machine && exec "$@"'
if unshare -ru sh -c "$another" sh true 2>/dev/null; then
    printf '#!/bin/sh\nexec unshare -ru sh -c '"'%s'"' sh "$@"\n' "$another" >elsewhere
    chmod +x elsewhere
    elsewhere=./elsewhere
    processes=2
    together
    [ $ended = 00 ] || { wrong "two machines: $ended"; cat out.?; }
    cp p0.json p.json
    [ "$(classes | tr ';' '\n' | grep '^send_recv net' | tr '\n' ';')" = 'send_recv net 1;send_recv net 2;send_recv net 4;send_recv net 8;' ] || wrong "two machines: $(classes)"
    for n in 1 2 4 8; do
        [ "$(grep -c "of 2, at most 0, at least 0, $n per net peer @" log)" -eq 2 ] || wrong "no communicator of $n channels per network peer"
    done
    elsewhere=
    processes=3
else
    echo "not tried: two machines, which need unshare"
fi
fails=ncclSend:20
together
[ $ended = 511 ] && grep -q 'NCCL reports' out.0 && grep -q 'stopped' out.1 || { wrong "a process that fails: $ended"; cat out.?; }
fails=

# Where it cannot run.
measure 4 STANDIN_GPUS=0
grep -q 'nothing could be measured: probe nccl-link: no GPU is visible' out || { wrong "without a GPU:"; cat out; }
measure 2 STANDIN_GPUS=2 NCCL_CHUNK_SIZE=4194304
# Early and late, every call.
for call in cudaGetDeviceProperties:1 cudaSetDevice:2 cudaMalloc:2 cudaMalloc:4 cudaMallocHost:1 cudaEventCreate:2 cudaStreamCreateWithPriority:1 \
    cudaEventRecord:3 cudaEventQuery:5 cudaEventElapsedTime:2 cudaMemcpyAsync:1 ncclGetUniqueId:2 ncclCommInitRankConfig:3 \
    ncclCommGetAsyncError:30 ncclGroupStart:9 ncclGroupEnd:9 ncclSend:9 ncclRecv:9 ncclAllReduce:1 ncclAllGather:2; do
    skips 5 && continue
    status=5
    case $call in cudaMalloc*) status=6 ;; esac
    measure $status STANDIN_GPUS=2 STANDIN_FAIL=$call
    grep -qE 'failed; (CUDA|NCCL) reports|out of memory' out || { wrong "$call:"; cat out; }
done
# Copies to another GPU, with or without access to its memory.
copies='--quick --budget 100ms --probe gpu-copy --probe gpu-launch'
STANDIN_GPUS=2 STANDIN_FAIL=cudaMemcpyPeerAsync:2 "$ppsim" calibrate $copies >out 2>&1
[ $? -eq 5 ] && grep -q 'launching the work failed; CUDA reports' out || { wrong "a copy that fails:"; cat out; }
survives cudaDeviceEnablePeerAccess:1 env STANDIN_GPUS=2 "$ppsim" calibrate $copies -o p.json
[ "$(classes)" = 'copy_device;copy_in;copy_out;copy_peer;launch;launch_host;' ] || wrong "classes of copies and launches: $(classes)"
survives cudaGetLastError:1 env STANDIN_GPUS=2 "$ppsim" calibrate $copies
STANDIN_GPUS=1 "$ppsim" calibrate $copies -o p.json >out 2>&1 || { wrong "copies on one GPU:"; cat out; }
[ "$(classes)" = 'copy_device;copy_in;copy_out;launch;launch_host;' ] || wrong "copies on one GPU: $(classes)"
exit $failed
