# Begin of the tests on the stand-in: read with their arguments, from the root of the repository.
# arguments: PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
set -u
ppsim=$1
modules=$2
build=$3
root=$PWD
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

wrong() { echo "$*"; failed=1; }

needs_standin() {
    [ "$modules" = none ] || return 0
    [ "$failed" -eq 0 ] || exit 1
    echo "skipped: no headers of CUDA (nvcc), or of cuBLAS or NCCL (tools/cuda-headers)"
    exit 77
}
