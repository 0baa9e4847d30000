#!/bin/sh
# As failures.sh, with compute cuda on transport threads: out of memory, launches and products that fail.
# usage: compute_failures.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
export PPSIM_MODULE_DIR="$modules"
cd "$scratch" || exit 1

# Ranks in turn on two GPUs.
computes() {
    STANDIN_GPUS=2 STANDIN_FAIL=$1 timeout -k 5 $((60 * patience)) "$ppsim" run --schedule 1f1b --pp 3 --microbatches 3 --compute cuda \
        --compute-settings hidden=16,heads=2,mlp=24,tokens=12,vocab=11,tied=on --costs F=100us,B=100us \
        --iterations 1 --warmup 0 $verify --durations plan >out 2>&1
    status=$?
    case $status in
    $2) grep -q "$3" out && return ;;
    esac
    echo "$1 $verify: status $status, wanted $2 and '$3':"
    cat out
    failed=1
}
verify=
for n in 1 2 6 9 11; do
    computes cudaMalloc:$n 6 'GPU of rank [0-2] is out of memory'
done
computes cudaStreamCreateWithPriority:1 5 'making a stream failed; CUDA reports'
computes cudaDeviceGetStreamPriorityRange:2 5 'making a stream failed'
for n in 1 9; do
    computes cudaEventCreate:$n 5 'making an event failed'
done
for n in 1 5 20; do
    computes cudaMemcpyAsync:$n 5 'CUDA reports'
done
for n in 1 9 16; do
    computes cudaMemsetAsync:$n 5 'CUDA reports'
    computes cudaStreamSynchronize:$n 5 'CUDA reports'
done
for n in 1 2 25 40; do
    computes cudaSetDevice:$n 5 'CUDA reports'
done
for n in 1 2 3 20; do
    computes cudaEventRecord:$n 5 'recording an event failed'
    computes cudaEventQuery:$n 5 'computing failed'
    computes cudaEventElapsedTime:$n 5 'reading an event failed'
    computes cudaLaunchKernel:$n 5 'launching a kernel failed; CUDA reports: unspecified launch failure'
    computes cublasLtMatmul:$n 5 'cuBLASLt reports'
done
computes cublasLtCreate:1 5 'cuBLASLt'
computes cudaGetDeviceCount:4 4 'CUDA reports: unknown error'
# Replicas that share all: what they copy between GPU and host, add and hold fails early and late, and ends all of them.
replicas() {
    STANDIN_FAIL=$1 timeout -k 5 $((60 * patience)) "$ppsim" run --schedule 1f1b --pp 2 --microbatches 3 --compute cuda --dp 2 --zero 3 \
        --compute-settings hidden=16,heads=2,mlp=24,tokens=12 --costs F=100us,B=100us --iterations 1 --warmup 0 --durations plan >out 2>&1
    status=$?
    [ $status -eq "$2" ] && grep -q "$3" out || wrong "replicas, $1: status $status, wanted $2 and '$3': $(cat out)"
}
for n in 15 30 40 50 60 70; do
    skips 2 && continue
    replicas cudaMemcpyAsync:$n 5 'CUDA reports: unknown error'
done
for n in 20 30 40; do
    skips 2 && continue
    replicas cudaMalloc:$n 6 'out of memory'
done
verify=--verify
computes cudaEventQuery:40 5 'computing failed'
computes cudaLaunchKernel:200 5 'launching a kernel failed'
for call in cudaFree:2 cudaStreamDestroy:2 cudaEventDestroy:2 cublasLtDestroy:1 cublasLtMatmulDescDestroy:2 \
    cublasLtMatrixLayoutDestroy:3 cublasLtMatmulPreferenceDestroy:1; do
    survives $call "$ppsim" run --schedule 1f1b --pp 2 --microbatches 2 --compute cuda --costs F=100us,B=100us \
        --compute-settings hidden=16,heads=2,mlp=24,tokens=12 --iterations 1 --warmup 0 --durations plan
done
exit $failed
