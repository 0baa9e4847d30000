#!/bin/sh
# One test against PyTorch: run.sh PPSIM TEST.py, from the top folder. Skipped (77) where
# tools/dev/torch-env has not made its environment; PPSIM_TORCH_PYTHON names another interpreter.
# test_perfetto.py needs no PyTorch: it runs in the environment of tools/dev/perfetto-env, or in any Python.
set -u
[ $# -eq 2 ] || { echo "usage: $0 PPSIM TEST.py" >&2; exit 2; }
python=${PPSIM_TORCH_PYTHON:-}
case $2 in
*/test_perfetto.py)
    python=build/perfetto-env/bin/python
    [ -e build/perfetto-env/complete ] || python=python3
    command -v $python >/dev/null || { echo "skipped: no Python 3"; exit 77; }
    ;;
esac
if [ -z "$python" ]; then
    if [ ! -e build/torch-env/complete ]; then
        echo "skipped: no PyTorch in build/torch-env; tools/dev/torch-env installs it where a package index can be reached"
        exit 77
    fi
    python=build/torch-env/bin/python
fi
LC_ALL=C.UTF-8 OMP_NUM_THREADS=1 exec "$python" -B "$2" "$1"
