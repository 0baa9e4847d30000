#!/bin/sh
# Every call of CUDA and NCCL fails once, early and late. The run ends by itself, with a status and words
# that name the call; nothing is used after its end (the stand-in would say so).
# usage: failures.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
export PPSIM_MODULE_DIR="$modules"
cd "$scratch" || exit 1

fails() {
    STANDIN_FAIL=$1 timeout -k 5 $((60 * patience)) "$ppsim" run --schedule 1f1b --pp 3 --microbatches 3 --transport nccl \
        --costs F=100us,B=100us --iterations 1 --warmup 0 --communicators "$2" >out 2>&1
    status=$?
    case $status in
    4 | 5 | 6) grep -q "$3" out && return ;;
    esac
    echo "$1, $2: status $status, wanted 4 to 6 and '$3':"
    cat out
    failed=1
}
for layout in world per-edge; do
    fails cudaSetDevice:$([ $layout = world ] && echo 1 || echo 4) $layout 'making a stream failed; CUDA reports'
    fails cudaSetDevice:8 $layout 'memory for messages failed; CUDA reports'
    fails cudaDeviceGetStreamPriorityRange:1 $layout 'making a stream failed'
    fails cudaStreamCreateWithPriority:2 $layout 'making a stream failed'
    for n in 1 4 7; do
        fails cudaMalloc:$n $layout 'GPU of rank [0-2] is out of memory'
        fails cudaMallocHost:$n $layout 'GPU of rank [0-2] is out of memory'
    done
    fails cudaMemcpy:1 $layout 'copying failed'
    fails cudaMemcpy:4 $layout 'copying failed'
    fails cudaMemcpyAsync:1 $layout 'copying \(to\|from\) the GPU failed'
    fails cudaMemcpyAsync:9 $layout 'copying \(to\|from\) the GPU failed'
    fails cudaEventCreate:1 $layout 'making an event failed'
    fails cudaEventCreate:9 $layout 'making an event failed'
    fails cudaEventCreateWithFlags:1 $layout 'recording an event failed'
    fails cudaEventRecord:1 $layout 'recording an event failed'
    fails cudaEventRecord:9 $layout 'CUDA reports'
    fails cudaEventQuery:1 $layout 'CUDA reports'
    fails cudaEventQuery:40 $layout 'CUDA reports'
    fails cudaEventElapsedTime:2 $layout 'reading an event failed'
    fails ncclGetUniqueId:1 $layout 'stand-in: this call fails'
    fails ncclCommInitRankConfig:2 $layout 'joining a communicator failed'
    fails ncclCommGetAsyncError:1 $layout 'joining a communicator failed; NCCL reports: remote process exited'
    fails ncclCommGetAsyncError:60 $layout 'NCCL reports: remote process exited'
    fails ncclGroupStart:1 $layout 'opening a group failed'
    fails ncclGroupStart:6 $layout 'opening a group failed'
    fails ncclGroupEnd:1 $layout 'joining a communicator failed'
    fails ncclGroupEnd:6 $layout 'NCCL reports'
    fails ncclSend:1 $layout 'connecting to a neighbour failed'
    fails ncclSend:7 $layout 'sending and receiving failed'
    fails ncclRecv:2 $layout 'connecting to a neighbour failed'
    fails ncclRecv:7 $layout 'sending and receiving failed'
done
# What fails on the way out does not hide why.
fails ncclSend:7,ncclCommAbort:1 world 'sending and receiving failed'
fails ncclSend:7,ncclCommAbort:2 per-edge 'sending and receiving failed'
# Freeing may fail without harm.
for call in cudaFree:2 cudaFreeHost:2 cudaStreamDestroy:2 cudaEventDestroy:2 ncclCommFinalize:2 ncclCommDestroy:2; do
    survives $call "$ppsim" run --schedule 1f1b --pp 3 --microbatches 3 --transport nccl --costs F=100us,B=100us \
        --iterations 1 --warmup 0
done
exit $failed
