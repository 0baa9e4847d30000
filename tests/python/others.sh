#!/bin/sh
# The wheel in each other Python from 3.10 on that is on PATH as python3.X, or that pyenv has: the tests once more. Only
# in tools/test --long, which prints BUILD/python/pythons, a line for each.   others.sh SOURCE BUILD
set -eu
source=$1
folder=$2/python
[ -n "${PPSIM_TEST_LONG:-}" ] || { echo "skipped: only in tools/test --long"; exit 77; }
[ -x "$folder/fresh/bin/ppsim" ] || { echo "skipped: no wheel (python.wheel)"; exit 77; }
cd "$folder"
! command -v pyenv >/dev/null || PYENV_VERSION=$(pyenv versions --bare | paste -sd:)
export PYENV_VERSION="${PYENV_VERSION:-}" PYTHONDONTWRITEBYTECODE=1
[ -n "$PYENV_VERSION" ] || unset PYENV_VERSION
version() { "$1" -c 'import sys, venv; print(".".join(map(str, sys.version_info[:3])))' 2>/dev/null; }

own=$(version fresh/bin/python)
echo "python $own: the tests python.*" >pythons
failed=no
for python in $(echo "$PATH" | tr : '\n' | xargs -I folder find folder/ -maxdepth 1 -name 'python3.[1-9][0-9]' 2>/dev/null |
    sed 's|.*/||' | sort -u -t . -k 2n); do
    number=$(version "$python") || { echo "$python: does not run, or has no venv"; continue; }
    [ "${number%.*}" != "${own%.*}" ] || continue
    rm -rf other
    "$python" -m venv --without-pip other && tools/bin/pip --python other/bin/python install -q dist/*.whl >log 2>&1 ||
        { tail -3 log; echo "python $number: cannot be installed" >>pythons; failed=yes; continue; }
    result="the wheel passes its tests"
    for test in "$source"/tests/python/test_*.py; do
        PPSIM_FUZZ_SECONDS=4 other/bin/python -X faulthandler "$test" >log 2>&1 ||
            { cat log; result="${test##*/} FAILS"; failed=yes; }
    done
    echo "python $number: $result" >>pythons
done
rm -rf other
cat pythons
[ $failed = no ]
