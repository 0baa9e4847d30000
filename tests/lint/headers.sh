#!/bin/sh
# Every header compiles alone, and twice in a row.
set -eu
cd "$1"
flags='-std=c11 -D_XOPEN_SOURCE=700 -DPPSIM_VERSION="" -DPPSIM_SOURCE_DIR="" -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -Wstrict-prototypes -Wmissing-prototypes -Werror -fsyntax-only -I.'
# Where the build found CUDA and NCCL, and cuDNN.
found() { sed -n "s/^PPSIM_$1_INCLUDE:PATH=\(.*\)/-isystem \1/p" "$2/CMakeCache.txt" 2>/dev/null || :; }
cuda="$(found CUDA "$2") $(found NCCL "$2")"
cudnn="$cuda $(found CUDNN "$2")"
bad=0
for header in $(find sim planner calib runtime traces tools tests -name '*.h' | sort); do
    compiler=${CC:-cc}
    case $header in runtime/mpi/*)
        compiler=mpicc
        command -v mpicc >/dev/null || continue
        ;;
    esac
    more=
    case $header in
    runtime/cuda/*)
        case $cuda in ' ' | *NOTFOUND*) continue ;; esac
        more=$cuda
        ;;
    tests/cuda/cudnn.h)
        case $cudnn in *' ' | *NOTFOUND*) continue ;; esac
        more=$cudnn
        ;;
    esac
    printf '#include "%s"\n#include "%s"\ntypedef int pp_lint;\n' "$header" "$header" |
        "$compiler" $flags $more -x c - || { echo "$header does not compile alone"; bad=1; }
done
exit $bad
