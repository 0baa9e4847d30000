#!/bin/sh
# Every call of CUDA, cuBLASLt, NCCL and NVML fails in a test: STANDIN_FAIL=NAME:N (tests/cuda/standin.h).
# Not those of kernels.cu, which has no stand-in, nor those that return no status.
set -eu
cd "$1"
bad=0
used=$({
    find runtime/cuda -name '*.c' -print0 | xargs -0 awk -f tests/lint/strip.awk |
        grep -oE '\b(cuda|cublasLt|nccl)[A-Z][A-Za-z0-9]*\(' | tr -d '('
    grep -o 'find(l, "nvml[A-Za-z0-9_]*"' calib/gpu_state.c | cut -d '"' -f 2
} | sort -u)
[ "$(echo "$used" | grep -c '^cuda\|^cublasLt\|^nccl')" -ge 40 ] && [ "$(echo "$used" | grep -c '^nvml')" -ge 11 ] ||
    { echo "the calls are not found: $used"; exit 1; }
without=$(sed -nE 's/^(const char \*|size_t )([A-Za-z]+)\(.*/\2/p' tests/cuda/standin*.c)
for name in $used; do
    echo "$without" | grep -qx "$name" && continue
    grep -qE "(^|[^A-Za-z0-9])$name:[0-9\$]" tests/cuda/*.sh tests/cuda/test_*.c && continue
    echo "$name fails in no test of tests/cuda: add STANDIN_FAIL=$name:N to one, and FAILS to its stand-in"
    bad=1
done
exit $bad
