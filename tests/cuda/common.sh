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

# port: one that nobody has, with the one behind it; below those that systems give away.
port=$((10000 + $$ % 1000 * 20))
next_port() {
    port=$((port + 2))
    # shellcheck disable=SC2046 # two words
    while grep -qE "^ *[0-9]+: [0-9A-F]+:($(printf '%04X|%04X' $port $((port + 1)))) " /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
        port=$((port + 2))
    done
}

needs_standin() {
    [ "$modules" = none ] || return 0
    [ "$failed" -eq 0 ] || exit 1
    echo "skipped: no headers of CUDA (nvcc), or of cuBLAS or NCCL (tools/cuda-headers)"
    exit 77
}
