#!/bin/sh
# Every function of CUDA, cuBLASLt, NCCL and NVML that is used fails in a test: STANDIN_FAIL=NAME:N (tests/cuda/standin.h).
# Not those of kernels.cu, which has no stand-in, nor those that return no status.
set -eu
cd "$1"
bad=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Called, or handed on by name: then the stand-in has it.
find runtime/cuda -name '*.[ch]' -print0 | xargs -0 awk -f tests/lint/strip.awk |
    grep -oE '\b(cuda|cublasLt|nccl)[A-Z][A-Za-z0-9]*\b\(?' | sort -u >"$scratch/names"
sed -nE 's/^(const char \*|size_t )([A-Za-z]+)\(.*/\2/p' tests/cuda/standin*.c >"$scratch/without"
sed -nE 's/^(cudaError_t|cublasStatus_t|ncclResult_t) ([A-Za-z]+)\(.*/\2/p' tests/cuda/standin*.c >"$scratch/standin"
{
    sed -n 's/($//p' "$scratch/names"
    grep -xFf "$scratch/standin" "$scratch/names" || :
    grep -ohE '"nvml[A-Za-z0-9_]*"' calib/*/*.c | tr -d '"'
} | sort -u | grep -vxFf "$scratch/without" >"$scratch/used"
[ "$(grep -c '^cuda\|^cublasLt\|^nccl' "$scratch/used")" -ge 40 ] && [ "$(grep -c '^nvml' "$scratch/used")" -ge 11 ] ||
    { echo "the calls are not found: $(cat "$scratch/used")"; exit 1; }
sed '/^ *#/d' tests/cuda/*.sh >"$scratch/tests"
grep -hv '^ *[/ ]\*' tests/unit/runtime/cuda/*/test_*.c >>"$scratch/tests"
while read -r name; do
    grep -qE "(^|[^A-Za-z0-9])$name:[0-9\$]" "$scratch/tests" && continue
    echo "$name fails in no test of tests/cuda and tests/unit/runtime/cuda: add STANDIN_FAIL=$name:N to one, and FAILS to its stand-in"
    bad=1
done <"$scratch/used"
exit $bad
