#!/bin/sh
# What the GPU module costs ppsim at its start: nothing, as it is loaded when it is asked for.
#   start.sh PPSIM [STARTS]
# The command with ppsim_cuda.so next to it, and a copy of it alone, take turns; prints the ratio of their
# least times, over blocks of 50 starts.
set -eu
blocks=$((${2:-1000} / 50))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/with" "$folder/without"
cp "$1" "$folder/with/ppsim"
cp "$1" "$folder/without/ppsim"
cp "$(dirname "$1")/ppsim_cuda.so" "$folder/with" || { echo "start: there is no ppsim_cuda.so next to $1"; exit 4; }
unset PPSIM_MODULE_DIR
block() {
    i=0
    from=$(date +%s%N)
    while [ $i -lt 50 ]; do
        "$folder/$1/ppsim" list models >/dev/null
        i=$((i + 1))
    done
    echo "$1 $(($(date +%s%N) - from))"
}
n=0
while [ $n -lt "$blocks" ]; do
    block with
    block without
    n=$((n + 1))
done | awk '{ if (!least[$1] || $2 < least[$1]) least[$1] = $2 }
    END { printf "with the module %.3f ms, without %.3f ms, ratio %.3f\n", least["with"] / 50e6, least["without"] / 50e6,
        least["with"] / least["without"] }'
