#!/bin/sh
# Drawn arguments, threads and numbers once more, with an extension made of the sanitized libppsim.a. Only in
# tools/test --long.   sanitized.sh SOURCE SANITIZED_BUILD ENVIRONMENT
set -eu
source=$1
build=$2
environment=$3/python
[ -n "${PPSIM_TEST_LONG:-}" ] || { echo "skipped: only in tools/test --long"; exit 77; }
[ -x "$environment/fresh/bin/ppsim" ] || { echo "skipped: no wheel (python.wheel)"; exit 77; }
fail() { echo "sanitized: $*"; exit 1; }

cd "$(mktemp -d)"
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$PWD/site
export PYTHONDONTWRITEBYTECODE PYTHONPATH
mkdir site
cp -R "$source/runtime/python/ppsim" site/ppsim
"$environment/tools/bin/python" "$source/runtime/python/native.py" "$source/tools/library/ppsim.h" native.c
include=$("$environment/tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
${CC:-cc} -shared -fPIC -fsanitize=address,undefined -O1 -g -I"$source" -I"$include" native.c "$build/libppsim.a" \
    $(pkg-config --libs jansson gsl nettle zlib) -pthread -ldl -lm -o site/ppsim/_native.abi3.so || fail "cannot be linked"

# Python itself does not free everything at its end.
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
PPSIM_FUZZ_SECONDS=${PPSIM_FUZZ_SECONDS:-60}
export ASAN_OPTIONS UBSAN_OPTIONS PPSIM_FUZZ_SECONDS
LD_PRELOAD="$(${CC:-cc} -print-file-name=libasan.so) $(${CC:-cc} -print-file-name=libubsan.so)"
for test in 'test_threads.py -k Anything -k Concurrency.test_threads' 'test_plan.py -k Numbers -k Pictures'; do
    # shellcheck disable=SC2086 # a test and its options
    LD_PRELOAD=$LD_PRELOAD "$environment/fresh/bin/python" "$source/tests/python/"$test || fail "$test"
done
