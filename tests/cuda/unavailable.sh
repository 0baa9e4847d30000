#!/bin/sh
# Without what GPUs need: one sentence, and the exit status that the manual says.
# usage: unavailable.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
command='run --schedule 1f1b --pp 4 --microbatches 4 --costs F=100us,B=200us,comm=10us'
noise='sizes of messages between stages are not known'

# The command itself is started without any of it.
if ldd "$ppsim" | grep -E 'cuda|nccl|cublas'; then
    echo "ppsim needs a GPU library to start"
    failed=1
fi

# No module at all: a command of its own folder.
mkdir "$scratch/bin"
cp "$ppsim" "$scratch/bin/ppsim"
ppsim=$scratch/bin/ppsim
refuses 4 'there is no ppsim_cuda.so' PPSIM_MODULE_DIR="$scratch/none" -- --transport nccl
: >"$scratch/bin/ppsim_cuda.so"
refuses 4 'cannot load it' PPSIM_MODULE_DIR="$scratch/none" -- --transport nccl
refuses 2 'has no communicators' LC_ALL=C -- --communicators world
# The one that was built, with NVIDIA's own libraries; on a machine without GPUs.
if [ -f "$build/ppsim_cuda.so" ] && ! [ -e /dev/nvidiactl ]; then
    refuses 4 'no NVIDIA driver\|no GPU is visible' PPSIM_MODULE_DIR="$build" -- --transport nccl
    refuses 4 'no NVIDIA driver\|no GPU is visible' PPSIM_MODULE_DIR="$build" -- --compute cuda
else
    echo "not tried: the module with NVIDIA's libraries"
fi
# Its kernels are there for every architecture of these that nvcc knows, and as PTX of the last.
[ -f "$build/ppsim_cuda.so" ] && kernels=$(python3 tests/cuda/fatbin.py "$build/ppsim_cuda.so") || kernels=
last=
nvcc=$(sed -n 's/^PPSIM_NVCC:FILEPATH=//p' "$build/CMakeCache.txt")
for number in 80 90 100; do
    [ -f "$build/ppsim_cuda.so" ] && "$nvcc" --list-gpu-arch | grep -q "^compute_$number\$" || continue
    echo " $kernels " | grep -q " sm_$number " || wrong "ppsim_cuda.so has no kernels for sm_$number, but $kernels"
    last=$number
done
[ -z "$last" ] || echo " $kernels " | grep -q " compute_$last " || wrong "ppsim_cuda.so has no PTX for compute_$last, but $kernels"
needs_standin

here=PPSIM_MODULE_DIR=$modules
nccl='--transport nccl'
mkdir "$scratch/alone"
cp "$modules/ppsim_cuda.so" "$scratch/alone"
refuses 4 'cannot load it: .*cannot open shared object.* that it was built with' PPSIM_MODULE_DIR="$scratch/alone" -- $nccl
refuses 4 'this machine has no NVIDIA driver' $here STANDIN_DRIVER=0 -- $nccl
refuses 4 'driver supports CUDA 11.4, but' $here STANDIN_DRIVER=11040 -- $nccl
refuses 4 'no GPU is visible' $here STANDIN_GPUS=0 -- $nccl
refuses 4 'libnccl is version 21700, but' $here STANDIN_NCCL=21700 -- $nccl
refuses 4 'NCCL does not report its version' $here STANDIN_FAIL=ncclGetVersion:1 -- $nccl
refuses 4 'CUDA reports: unknown error' $here STANDIN_FAIL=cudaGetDeviceCount:1 -- $nccl
# Versions that cannot be had are none: it is not said that there is no driver, or an old one.
refuses 4 'CUDA reports: unknown error' $here STANDIN_FAIL=cudaGetDeviceCount:1,cudaDriverGetVersion:1 -- $nccl
refuses 4 'CUDA reports: CUDA driver version is insufficient' $here STANDIN_DRIVER=11040 STANDIN_FAIL=cudaRuntimeGetVersion:1 -- $nccl
refuses 4 'needs GPU 3, but 2 are visible' $here STANDIN_GPUS=2 -- $nccl
refuses 2 'NCCL may silently deliver wrong data' $here NCCL_CHUNK_SIZE=4194304 -- $nccl
refuses 2 'runs over real links' $here -- $nccl --link 20us+1GB/s --memory-costs F=1MB,I=-1MB,W=0
refuses 2 'cannot lose or change messages' $here -- $nccl --fault drop,rank=1
refuses 2 'does not guarantee buffering' $here -- $nccl --comm eager:1MB
refuses 2 "'x' is not a number" $here RANK=x WORLD_SIZE=4 -- $nccl
refuses 2 'is 4, but there are only 4 ranks' $here RANK=4 WORLD_SIZE=4 -- $nccl
refuses 2 'names the machine of rank 0' $here RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 -- $nccl
refuses 2 'names the machine of rank 0' $here SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 'SLURM_STEP_TASKS_PER_NODE=2(x2)' -- $nccl
refuses 4 'needs GPU 3, but 2' $here STANDIN_GPUS=2 SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_TASKS_PER_NODE=4 -- $nccl
refuses 4 'needs GPU 3, but 2' $here STANDIN_GPUS=2 PMI_RANK=2 PMI_SIZE=4 SLURM_LOCALID=3 MASTER_ADDR=127.0.0.1 -- $nccl
refuses 2 'but 3 processes were started' $here RANK=1 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 -- $nccl
"$1" list transports >"$scratch/out" || failed=1
env $here STANDIN_DRIVER=0 "$1" list transports | grep -q '^nccl  *not here: this machine has no' || {
    echo "list transports does not say why nccl is not here"
    failed=1
}
exit $failed
