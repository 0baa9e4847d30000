#!/bin/sh
# tools/dev/gpu-check on the stand-in; tools/dev/cuda-headers, tools/dev/try-cuda.
# usage: check.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
check=$root/tools/dev/gpu-check
ln -s "$build" "$scratch/the build"
export GPU_CHECK_TRIAL=1 GPU_CHECK_PROBES=nccl-link PPSIM_BUILD="$scratch/the build" PPSIM_MODULE_DIR="$modules"
cd "$scratch" || exit 1

# NCCL and cuBLAS are fetched for the CUDA of nvcc, once, and what is not needed of them is not kept.
mkdir -p tools/dev bin
cp "$root/tools/dev/cuda-headers" tools/dev
printf '#!/bin/sh\necho "Cuda compilation tools, release $CUDA, V$CUDA.93"\n' >bin/nvcc
cat >bin/python3 <<'END'
#!/bin/sh
echo "$*" >>asked
[ "$3" = install ] || exit 0
case $* in
*nccl*) mkdir -p build/cuda-packages/new/nvidia/nccl/include && : >build/cuda-packages/new/nvidia/nccl/include/nccl.h ;;
*cublas*)
    mkdir -p build/cuda-packages/new/nvidia/cublas/include build/cuda-packages/new/nvidia/cublas/lib
    : >build/cuda-packages/new/nvidia/cublas/lib/libcublas.so.12
    : >build/cuda-packages/new/nvidia/cublas/lib/libcublasLt.so.12
    [ -n "$EMPTY" ] || : >build/cuda-packages/new/nvidia/cublas/include/cublasLt.h
    ;;
*frontend*) mkdir -p build/cuda-packages/new/include && : >build/cuda-packages/new/include/cudnn_frontend.h ;;
*cudnn*)
    mkdir -p build/cuda-packages/new/nvidia/cudnn/include build/cuda-packages/new/nvidia/cudnn/lib
    : >build/cuda-packages/new/nvidia/cudnn/include/cudnn.h
    : >build/cuda-packages/new/nvidia/cudnn/lib/libcudnn.so.9
    ;;
*nvrtc*) mkdir -p build/cuda-packages/new/nvidia/cu13/include && : >build/cuda-packages/new/nvidia/cu13/include/nvrtc.h ;;
esac
END
chmod +x bin/nvcc bin/python3
headers() { env -u CUDA_HOME PATH="$scratch/bin:$PATH" CUDA="$1" EMPTY="${2-}" tools/dev/cuda-headers ${3-} 2>err; }
headers 12.8 empty
[ $? -eq 5 ] && grep -q 'nvidia-cublas-cu12 has no cublasLt.h' err || wrong "cuBLAS without its header: $(cat err)"
headers 12.8 || wrong "NCCL and cuBLAS for CUDA 12: $(cat err)"
headers 12.8 || wrong "what is there: $(cat err)"
[ "$(grep -c 'install.* nvidia-nccl-cu12$' asked)" -eq 1 ] || wrong "NCCL for CUDA 12: $(cat asked)"
[ "$(grep -c 'install.* nvidia-cublas-cu12$' asked)" -eq 2 ] || wrong "cuBLAS for CUDA 12: $(cat asked)"
[ "$(cd build/cuda-packages/nvidia/cublas/lib && echo *)" = libcublasLt.so.12 ] || wrong "what is kept of cuBLAS"
rm -r build
headers 13.0 || wrong "NCCL and cuBLAS for CUDA 13: $(cat err)"
grep -q 'install.* nvidia-cublas==13\.\*$' asked || wrong "cuBLAS for CUDA 13: $(cat asked)"
! grep -q cudnn asked || wrong "cuDNN, which nobody asked for: $(cat asked)"
for again in no yes; do
    headers 13.0 '' --cudnn || wrong "cuDNN for CUDA 13: $(cat err)"
    [ "$(find build -name '*cudnn*.[hs]*' -o -name nvrtc.h | wc -l)" -eq 3 ] || wrong "what is kept of cuDNN: $(find build)"
done
for package in nvidia-cudnn-frontend==1.32.0 'nvidia-cudnn-cu13==9.28.\*' 'nvidia-cuda-nvrtc==13.\*'; do
    [ "$(grep -c "install.* $package\$" asked)" -eq 1 ] || wrong "$package once: $(cat asked)"
done
rm -r build
headers 12.8 '' --cudnn || wrong "cuDNN for CUDA 12: $(cat err)"
grep -q 'install.* nvidia-cuda-nvrtc-cu12$' asked && grep -q 'nvidia-cudnn-cu12==9.28' asked || wrong "cuDNN for CUDA 12: $(cat asked)"
rm -r build
# Another CUDA: what is asked for, and when it is not to be had.
cp "$root/tools/dev/try-cuda" tools/dev
printf '#!/bin/sh\necho "$*" >asked\n[ "$3" != install ]\n' >bin/python3
try() { PATH="$scratch/bin:$PATH" tools/dev/try-cuda "$@" 2>err; }
for version in '' 11.8 12 '12.1 2.18 x'; do
    try $version
    [ $? -eq 2 ] || wrong "try-cuda $version"
done
try 12.1 2.18
[ $? -eq 4 ] && grep -q 'could not fetch CUDA 12.1' err || wrong "a CUDA that is not to be had: $(cat err)"
grep -q ' nvidia-cublas-cu12==12\.1\.\* .*nvidia-nccl-cu12==2\.18\.\*$' asked || wrong "CUDA 12.1: $(cat asked)"
try 13.2
grep -q ' nvidia-cuda-nvcc==13\.2\.\* .*nvidia-nccl-cu13$' asked || wrong "CUDA 13.2: $(cat asked)"
# What is not whole does not count as fetched; NCCL has a folder per version.
cat >bin/python3 <<'END'
#!/bin/sh
while [ "${1:---target}" != --target ]; do shift; done
[ $# -lt 2 ] || mkdir -p "$2/nvidia/part/lib"
END
printf '#!/bin/sh\necho "$*" >>apt\ncase $* in *Error-Mode=any*update) exit 100 ;; esac\n' >bin/apt-get # without it: 0
chmod +x bin/apt-get
try 12.4 2.18
[ $? -eq 4 ] && grep -q "Debian's packages are not to be had" err || wrong "without Debian's index: $(cat err apt)"
[ -d build/cuda-12.4-nccl-2.18 ] && [ ! -e build/cuda-12.4 ] || wrong "NCCL 2.18 is kept in $(ls build)"
try 13.2
[ $? -eq 4 ] && grep -q 'CUDA 13.2 have no nvcc' err || wrong "packages without nvcc: $(cat err)"
[ -z "$(find build -name fetched)" ] || wrong "counts as fetched: $(find build -name fetched)"
rm -r build bin/apt-get
# Parts of different CUDAs are named.
mkdir mixed
echo '#define CUDART_VERSION 12040' >mixed/cuda_runtime_api.h
printf '#define NCCL_%s\n' 'MAJOR 2' 'MINOR 18' 'PATCH 3' >mixed/nccl.h
: >mixed/libcudart.so.13
: >mixed/libcudart.so.9
printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"\n' >mixed/nvcc && chmod +x mixed/nvcc
cmake -DPPSIM_CUDA=ON -DPPSIM_NVCC="$scratch/mixed/nvcc" -DPPSIM_CUDA_INCLUDE="$scratch/mixed" -DPPSIM_NCCL_INCLUDE="$scratch/mixed" \
    -DPPSIM_CUDART="$scratch/mixed/libcudart.so.13" -DPPSIM_NCCL=nccl -DPPSIM_CUBLASLT_INCLUDE=there \
    -DPPSIM_CUBLASLT="$scratch/mixed/libcudart.so.13" -P "$root/cmake/Cuda.cmake" 2>&1 | tr -s ' \n' ' ' >said
grep -q 'but parts of different CUDAs were found: nvcc 13, headers 12, libcudart 13.*; set CUDA_HOME to one that has all' said ||
    wrong "parts of different CUDAs: $(cat said)"
# cuDNN is a part of the module: none without it, neither when it is demanded nor in lists of parts.
cmake -DPPSIM_CUDA=OFF -DPPSIM_CUDNN=ON -P "$root/cmake/Cuda.cmake" 2>&1 | tr -s ' \n' ' ' >said
grep -q 'PPSIM_CUDNN=ON, but the GPU module, of which it is a part, is not built: PPSIM_CUDA=OFF' said || wrong "cuDNN alone: $(cat said)"
cmake -S "$root" -B configured -DPPSIM_TESTS=OFF -DPPSIM_CUDA_PACKAGES="$build/cuda-packages" \
    -DPPSIM_CUDART="$scratch/mixed/libcudart.so.9" >said 2>&1 || wrong "without the module: $(tail said)"
grep -q '"cuda", 0, "-"' configured/generated/tools/ppsim/base/parts.inc && grep -q '"cudnn", 0, "-"' configured/generated/tools/ppsim/base/parts.inc ||
    wrong "parts without the module: $(cat configured/generated/tools/ppsim/base/parts.inc)"
cmake -S "$root" -B configured -DPPSIM_CUDNN=ON 2>&1 | tr -s ' \n' ' ' >said
grep -qE 'PPSIM_CUDNN=ON, but the GPU module, of which it is a part, is not built: (parts of different CUDAs|.* not found)' said || wrong "cuDNN alone: $(cat said)"

STANDIN_DRIVER=0 "$check" none 2>err
[ $? -eq 4 ] && grep -q 'no NVIDIA driver' err || wrong "without a driver: $(cat err)"
"$check" --no-such 2>err
[ $? -eq 2 ] || wrong "an unknown option"
# One GPU: a profile, and what needs two is left out. Its samples become the table of the page.
printf '#!/bin/sh\ncase $1 in -L) echo "GPU 0: stand-in" ;; --query*) echo "stand-in GPU, 580.00, 1 MiB" ;; esac\n' >bin/nvidia-smi
chmod +x bin/nvidia-smi
export PATH="$scratch/bin:$PATH"
rm bin/python3 bin/nvcc
mkdir empty
: >empty/libcudnn.so.9 # whatever the machine has
LD_LIBRARY_PATH="$scratch/empty" GPU_CHECK_PROBES='nccl-link gpu-cudnn' STANDIN_GPUS=1 "$check" one >table 2>err ||
    wrong "one GPU: status $?: $(cat err table)"
grep -q '^gpu-check: probe gpu-cudnn: .*cuDNN' err && grep -q '^| probe-gpu-cudnn | 0 |' table || wrong "without cuDNN: $(cat err table)"
grep -q 'left out$' err && grep -q '^| probe-nccl-link | 0 |' table || wrong "with one GPU: $(cat err table)"
for schedule in 1f1b interleaved zbv planned; do
    took=$(sed -n 's/^serialized.* computes for \(.*\) (makespan.*/\1/p' one/compute-$schedule.out)
    grep -q "^| compute-$schedule | 0 | [0-9.]* [mu]*s | $took | [-+][0-9.]* % |" table || wrong "$schedule in turns ($took): $(cat table)"
done
grep -q '^GPU: stand-in GPU' one/environment.txt || wrong "the GPU is not noted: $(cat one/environment.txt)"
[ "$(hostname)" = localhost ] || ! grep -rqw "$(hostname)" one || wrong "the host's name is in what is kept"
mkdir -p tree/tools/dev tree/docs/how-to tree/traces/data
cp "$check" tree/tools/dev
cp "$root/docs/how-to/gpu.md" tree/docs/how-to
tree/tools/dev/gpu-check --import one 'a b' 2>err
[ $? -eq 2 ] || wrong "a name with a blank"
PPSIM_BUILD="$build" tree/tools/dev/gpu-check --docs || wrong "--docs without samples"
cmp tree/docs/how-to/gpu.md "$root/docs/how-to/gpu.md" || [ -d "$root/traces/data/measured" ] || wrong "docs/how-to/gpu.md has another table"
[ "$(grep -c '| not measured |$' tree/docs/how-to/gpu.md)" -ge 6 ] || wrong "without samples: $(cat tree/docs/how-to/gpu.md)"
mkdir nothing && tree/tools/dev/gpu-check --import nothing x 2>err
[ $? -eq 3 ] || wrong "nothing is imported: $(cat err)"
tree/tools/dev/gpu-check --import one stand-in || wrong "--import"
ls tree/traces/data/measured/stand-in | tr '\n' ' ' | grep -qx 'commands.txt environment.txt profile.json table.md ' || wrong "what is imported"
! grep -q "$scratch" tree/traces/data/measured/stand-in/commands.txt || wrong "folders of the machine: $(cat tree/traces/data/measured/stand-in/commands.txt)"
tree/tools/dev/gpu-check --docs && grep -q '^| \*\*stand-in\*\* | stand-in GPU, ' tree/docs/how-to/gpu.md || wrong "the table of samples: $(cat tree/docs/how-to/gpu.md)"
grep -q '^| links | 1 curves: median [0-9.]* %' tree/docs/how-to/gpu.md || wrong "no curve: $(cat tree/docs/how-to/gpu.md)"
# The time of a call; the next one goes on.
GPU_CHECK_SECONDS=0 GPU_CHECK_RANKS=2 "$check" late >table 2>err
[ $? -ne 0 ] && ! ls late/*.status >late.txt 2>&1 || wrong "it runs without time: $(cat err)"
GPU_CHECK_RANKS=2 "$check" out >table 2>err || wrong "status $?: $(cat err table)"
[ "$(grep -c '| 0 |' table)" -ge 30 ] || wrong "30 steps should go well: $(cat table)"
grep -q '^| wire-verify | 0 |' table && grep -q 'near compute cpu in double' out/compute-bf16-verify.out out/compute-wire-verify.out ||
    wrong "no values in bf16, of lengths, or from GPU memory to GPU memory: $(cat table)"
grep -qE '^\| zbv-per-edge \| 0 \| [0-9.]+ ms \| [0-9.]+ ms \|' table || wrong "no times of zbv: $(cat table)"
rm out/zbv-world.status
GPU_CHECK_RANKS=2 "$check" out >again 2>err || wrong "again: $(cat err)"
[ "$(cat err)" = 'gpu-check: zbv-world: status 0' ] || wrong "what ran is not repeated: $(cat err)"
"$check" --table out | diff - again || wrong "the table is another one"
# A step that fails is told.
rm out/zbv-world.status
STANDIN_FAIL=ncclSend:5 GPU_CHECK_RANKS=2 "$check" out >table 2>err && wrong "a failure is not told"
grep -q '^| zbv-world | 5 | - | - | - |' table || wrong "a failure is not in the table: $(cat table)"
exit $failed
