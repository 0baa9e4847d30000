#!/bin/sh
# tools/gpu-check on the stand-in, and its bundle in a root that holds nothing else, without network.
# usage: check.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
check=$root/tools/gpu-check
ln -s "$build" "$scratch/the build"
export GPU_CHECK_PAYLOAD=100KiB PPSIM_BUILD="$scratch/the build" PPSIM_MODULE_DIR="$modules"
cd "$scratch" || exit 1

# NCCL is fetched for the CUDA of nvcc.
mkdir tools bin
cp "$root/tools/cuda-headers" tools
printf '#!/bin/sh\necho "Cuda compilation tools, release 12.8, V12.8.93"\n' >bin/nvcc
printf '#!/bin/sh\necho "$*" >>"%s/asked"\n' "$scratch" >bin/python3
chmod +x bin/nvcc bin/python3
env -u CUDA_HOME PATH="$scratch/bin:$PATH" tools/cuda-headers 2>err
grep -q 'install.* nvidia-nccl-cu12$' asked || wrong "NCCL for CUDA 12: $(cat asked err)"

STANDIN_DRIVER=0 "$check" out 2>err
[ $? -eq 4 ] && grep -q 'no NVIDIA driver' err || wrong "without a driver: $(cat err)"
"$check" --no-such 2>err
[ $? -eq 2 ] || wrong "an unknown option"
CUDA_VISIBLE_DEVICES=0 "$check" out 2>err
[ $? -eq 4 ] && grep -q 'has 1$' err || wrong "with one GPU: $(cat err)"
GPU_CHECK_RANKS=2 "$check" out >table 2>err || wrong "status $?: $(cat err table)"
[ "$(grep -c '| 0 |' table)" -eq 18 ] || wrong "18 steps should go well: $(cat table)"
grep -q '^No GPU was seen' table || wrong "the table does not say that there was no GPU"
grep -qE '^\| zbv-per-edge \| 0 \| [0-9.]+ ms \| [0-9.]+ ms \|' table || wrong "no times of zbv: $(cat table)"
rm out/zbv-world.status
GPU_CHECK_RANKS=2 "$check" out >again 2>err || wrong "again: $(cat err)"
[ "$(cat err)" = 'gpu-check: zbv-world: status 0' ] || wrong "what ran is not repeated: $(cat err)"
"$check" --table out | diff - again || wrong "the table is another one"
# A step that fails is told.
rm out/zbv-world.status
STANDIN_FAIL=ncclSend:5 GPU_CHECK_RANKS=2 "$check" out >table 2>err && wrong "a failure is not told"
grep -q '^| zbv-world | 5 | - | - | - |' table || wrong "a failure is not in the table: $(cat table)"

"$check" --bundle bundle.tar.gz && tar xzf bundle.tar.gz || wrong "no bundle"
mkdir -p ppsim-gpu/dev/shm ppsim-gpu/proc
if ! chroot ppsim-gpu /lib/ld.so --library-path /lib /bin/ppsim --version >out.txt 2>&1; then
    [ "$(id -u)" -ne 0 ] || wrong "in an empty root: $(cat out.txt)"
    [ "$failed" -eq 0 ] && echo "not tried: the bundle in an empty root, which needs root"
    exit $failed
fi
alone='env -i PPSIM_MODULE_DIR=/lib'
$alone /usr/sbin/chroot ppsim-gpu /lib/ld.so --library-path /lib /bin/ppsim list transports >out.txt 2>&1
grep -q '^nccl .*one rank per GPU' out.txt || wrong "list transports in an empty root: $(cat out.txt)"
$alone /usr/sbin/chroot ppsim-gpu /lib/ld.so --library-path /lib /bin/ppsim run --schedule zbv --pp 2 \
    --microbatches 4 --costs F=1ms,I=1ms,W=1ms --transport nccl --compute cpu --verify --iterations 1 >out.txt 2>&1 ||
    wrong "in an empty root: $(cat out.txt)"
exit $failed
