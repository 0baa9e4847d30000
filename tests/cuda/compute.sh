#!/bin/sh
# Compute cuda on the stand-in: every schedule, every kind of data, several ranks on a GPU, and how it ends.
# usage: compute.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
export PPSIM_MODULE_DIR="$modules" STANDIN_LOG=
cd "$scratch" || exit 1

# wanted status, words of the output, options
run() {
    wanted=$1 words=$2
    shift 2
    timeout -k 5 $((100 * patience)) "$ppsim" run --compute cuda "$@" >out 2>&1
    status=$?
    if [ $status -ne "$wanted" ] || ! grep -q "$words" out; then
        echo "run $*: status $status, wanted $wanted and '$words':"
        cat out
        failed=1
    fi
}
referred() { # near what compute cpu has in double
    grep -q 'near compute cpu in double' out || { echo "$1: not compared with compute cpu:"; cat out; failed=1; }
}

# No op begins before the one in front of it is over, whichever rank's.
alone() {
    tr '{' '\n' <"$1" | sed -n 's/.*"ts": *\([0-9.]*\).*"dur": *\([0-9.]*\).*"cat": *"compute".*/\1 \2/p' | sort -n | awk '
    $1 < over - 0.002 { print "an op begins at " $1 " us, before " over " us"; wrong = 1 }
    { over = $1 + $2 > over ? $1 + $2 : over }
    END { exit wrong || NR < 48 }' || { echo "$1: ops are not alone"; failed=1; }
}

small='hidden=16,heads=2,mlp=24,tokens=12'
steps='--costs F=1ms,I=1ms,W=1ms --iterations 1 --warmup 1 --verify'
exact='bit for bit equal to a sequential run'
for schedule in $("$ppsim" list schedules | awk '$1 != "dualpipe" { print $1 }'); do # whose stages have two ranks
    case $schedule in
    interleaved* | combined-1f1b | looped-bfs) vpp='--vpp 2' ;;
    *) vpp= ;;
    esac
    run 0 "$exact" --schedule "$schedule" $vpp --pp 2 --microbatches 6 $steps --compute-settings $small,vocab=11
    referred "$schedule"
done
run 0 "$exact" --schedule zbv --pp 4 --microbatches 8 $steps --compute-settings $small,vocab=11,tied=on
referred tied
run 0 "$exact" --schedule zbv --pp 2 --microbatches 4 $steps --compute-settings $small
referred 'squared error'
run 0 "$exact" --schedule gpipe --forward-only --pp 2 --microbatches 3 --costs F=1ms,B=1ms --verify --iterations 1 \
    --compute-settings $small,vocab=11
referred 'forward only'
printf '%s\n' 3 40 1 7 33 5 90 2 >lengths
for shapes in padded local message cached bucket:16 padded-wire padded-wire:200; do
    run 0 "$exact" --schedule 1f1b --pp 2 --microbatches 4 --lengths lengths $steps --compute-settings $small,vocab=11 \
        --shapes $shapes
    referred "lengths, $shapes"
done
for shapes in padded padded-wire; do
    run 0 "$exact" --schedule zbv --pp 2 --microbatches 4 --lengths lengths $steps --compute-settings $small,vocab=11 \
        --shapes $shapes --transport nccl
    referred "lengths, $shapes, nccl"
done
run 2 'zero-bubble cannot do message' --schedule zbv --pp 2 --microbatches 4 --lengths lengths $steps --shapes message --transport nccl
run 0 "$exact" --schedule 1f1b --pp 3 --microbatches 4 --comm eager:1MiB --tensors-per-boundary 2 $steps \
    --compute-settings $small
run 0 "$exact" --schedule zbv --pp 2 --microbatches 6 $steps --compute-settings $small,vocab=11,tied=on,dtype=bf16
referred bf16
run 0 "$exact" --schedule gpipe --forward-only --pp 2 --microbatches 4 --lengths lengths --costs F=1ms,B=1ms --verify \
    --iterations 1 --compute-settings $small,vocab=11,dtype=bf16
referred 'bf16, forward only'
# Four ranks share one GPU, or three.
for gpus in 1 3; do
    STANDIN_GPUS=$gpus run 0 "$exact" --schedule 1f1b --pp 4 --microbatches 6 $steps --compute-settings $small
done
STANDIN_GPUS=1 run 0 'serialized   the GPU computes for' --schedule 1f1b --pp 4 --microbatches 6 \
    --costs F=1ms,B=1ms --iterations 1 --serialize-compute --compute-settings $small --trace chrome=alone.json
alone alone.json
STANDIN_GPUS=3 run 0 "$exact" --schedule zbv --pp 4 --microbatches 6 $steps --serialize-compute --compute-settings $small
grep -q 'serialized   the busiest of 3 GPUs computes for' out || { echo "three GPUs:"; cat out; failed=1; }
"$ppsim" run --schedule 1f1b --pp 2 --microbatches 2 $steps --serialize-compute --compute cpu >out 2>&1
[ $? -eq 2 ] && grep -q 'compute cpu uses no GPU that ranks could share' out || { echo "cpu, serialized:"; cat out; failed=1; }
# Over NCCL tensors travel from where they are: only headers are copied, in the first step.
for layout in world per-edge; do
    rm -f log
    STANDIN_LOG=$scratch/log run 0 "$exact" --schedule zbv --pp 4 --microbatches 6 $steps --compute-settings $small,vocab=11 \
        --transport nccl --communicators $layout
    referred "nccl, $layout"
    staged=$(grep -cE ' cudaMemcpyAsync [0-9]+ [12] ' log)
    headers=$(grep -cE ' cudaMemcpyAsync 40 [12] ' log)
    ! grep -q ' cudaGetDeviceCount 4 LAZY' log && grep -q ' cudaGetDeviceCount 4 EAGER' log || wrong "kernels are loaded lazily"
    [ "$staged" -eq "$headers" ] && [ "$headers" -gt 0 ] || { echo "nccl: $staged copies, $headers of headers"; failed=1; }
done
run 2 'mpi cannot transfer tensors of GPUs' --schedule 1f1b --pp 2 --microbatches 2 --transport mpi $steps
run 2 'a head has at most 256 elements' --schedule 1f1b --pp 2 --microbatches 2 $steps --compute-settings hidden=512,heads=1
run 2 'compute cuda: dtype=double: must be float or bf16' --schedule 1f1b --pp 2 --microbatches 2 $steps --compute-settings dtype=double
STANDIN_DRIVER=0 run 4 'no NVIDIA driver' --schedule 1f1b --pp 2 --microbatches 2 $steps
# Replicas that train one model, on shared GPUs, too: whatever they share, their values are those of sequential runs.
for zero in 0 1 2 3; do
    run 0 "$exact" --schedule zbv --pp 2 --microbatches 4 $steps --compute-settings $small,vocab=11 --dp 2 --zero $zero
    grep -q "2 replicas, ZeRO $zero;" out && referred "2 replicas, ZeRO $zero"
done
STANDIN_GPUS=1 run 0 "$exact" --schedule interleaved --vpp 2 --pp 2 --microbatches 4 $steps --compute-settings $small,vocab=11,tied=on --dp 3 --zero 1
referred '3 replicas, tied, on one GPU'
run 0 "$exact" --schedule 1f1b --pp 2 --microbatches 4 $steps --compute-settings $small,vocab=11,dtype=bf16 --dp 2
referred '2 replicas in bf16'
run 2 'dtype=bf16: replicas that share their update compute in float; .* (--zero 0)' --schedule 1f1b --pp 2 --microbatches 4 $steps \
    --compute-settings dtype=bf16 --dp 2 --zero 1
run 2 'ops of different replicas do not take turns on a GPU' --schedule 1f1b --pp 2 --microbatches 4 $steps --dp 2 --serialize-compute
run 2 'transport nccl runs one replica; use threads or mpi' --schedule 1f1b --pp 2 --microbatches 4 $steps --dp 2 --transport nccl
# Several runs of a schedule, and layers that this compute does not have.
plan() { "$ppsim" plan --seq-length 16 --pp 2 --schedule 1f1b --micro-batch-size 1 --global-batch-size 4 --emit plan=plan.json "$@" >out 2>&1 || wrong "plan $*: $(cat out)"; }
plan --model gpt1.7b --executor torch --pipeline-runs 2
run 2 'runs the schedule once per step' plan.json
while read -r word options; do
    # shellcheck disable=SC2086 # a list of options
    plan --model $options
    run 2 "layers with $word.*, which compute cuda does not have" plan.json --durations plan
    run 0 "$exact" plan.json --compute-settings $small --iterations 1 --warmup 0 --verify
    grep -q "without the $word.* of the plan's" out || wrong "$word: nothing says that the layers are others: $(cat out)"
    "$ppsim" run plan.json --compute cpu --durations plan 2>&1 | grep -q "layers with $word.*, which compute cpu does not have" || wrong "cpu, $word"
done <<'END'
fp8 gpt1.7b --hw h100-80g --precision fp8
tensor gpt1.7b --tp 2
context gpt1.7b --cp 2
recomputation gpt1.7b --recompute full
experts qwen3-30b-a3b --tp 1 --ep 2 --dp 2 --memory-limit 200GB
END
# Layers that are computed again: those of a plan that does so, with its durations; not in two parts of a backward.
plan --model gpt1.7b --recompute full
run 0 "$exact" plan.json --compute-settings $small,vocab=11,recompute=on --iterations 1 --warmup 0 --verify --durations plan
referred recompute
! grep -q 'layers of its own' out || wrong "layers that are computed again: $(cat out)"
run 0 "$exact" --schedule interleaved --vpp 2 --pp 2 --microbatches 4 $steps --compute-settings $small,vocab=11,tied=on,recompute=on,dtype=bf16
referred 'recompute, bf16'
run 0 "$exact" --schedule 1f1b --pp 2 --microbatches 4 $steps --compute-settings $small,vocab=11,recompute=on --dp 2 --zero 3
referred 'recompute, replicas'
run 2 'compute cuda: recompute=on .* there are I and W here; use a schedule with B' --schedule zbv --pp 2 --microbatches 4 $steps \
    --compute-settings recompute=on
plan --model gpt1.7b --recompute none
run 2 'layers that recompute nothing; .*leave recompute=on out' plan.json --compute-settings recompute=on --durations plan
plan --model gpt1.7b
run 0 "$exact" plan.json --compute-settings $small --iterations 1 --warmup 0 --verify --durations plan
! grep -q 'layers of its own' out || wrong "layers like these: $(cat out)"
# A kernel that does not end, and its rank is given up.
STANDIN_ENDLESS=40 run 1 'rank [01] has been computing [01][FB][0-3] for .*: it is slow, or its op does not end' --schedule 1f1b --pp 2 --microbatches 4 --costs F=1ms,B=1ms --iterations 2 \
    --compute-settings $small --durations plan --deadline 2s
# Ranks that wait for their turn are not to blame, but the one whose kernel does not end.
STANDIN_GPUS=1 STANDIN_ENDLESS=40 run 1 'makes no progress: rank [0-3] has been waiting for its turn on the GPU for [^;]*; rank [0-3] has been computing [^;]*: it is slow, or its op does not end' \
    --schedule 1f1b --pp 4 --microbatches 6 --costs F=1ms,B=1ms --iterations 2 --serialize-compute \
    --compute-settings $small --durations plan --deadline 2s
# A rank that dies or stalls ends the run.
run 1 'rank 1 died before' --schedule 1f1b --pp 2 --microbatches 4 $steps --compute-settings $small --fault death,rank=1,at=3
run 1 'rank 1 has been computing [^;]*: it is slow, or its op does not end' --schedule 1f1b --pp 2 --microbatches 4 $steps --compute-settings $small --fault stall,rank=1,at=3,time=100s --deadline 2s
exit $failed
