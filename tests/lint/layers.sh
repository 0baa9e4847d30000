#!/bin/sh
# Who may include whom.
set -eu
cd "$1"
find sim planner calib runtime traces tools tests -name '*.[ch]' | sort |
    xargs awk -f tests/lint/strip.awk |
    sed -n 's/^\([^:]*\):\([0-9]*\):[ \t]*#[ \t]*include[ \t]*\(["<][^">]*\)[">].*/\1 \2 \3/p' |
    awk '
BEGIN {
    may["sim"] = "sim"
    may["planner"] = "sim planner"
    may["runtime"] = "sim runtime"
    may["traces"] = "sim traces"
    may["calib"] = "sim runtime traces calib"
    may["tools"] = "sim planner calib runtime traces tools"
    may["tests"] = "sim planner calib runtime traces tools tests"
}
function wrong(why) { print file ":" line ": " why; bad = 1 }
function has(list, word) { return index(" " list " ", " " word " ") > 0 }
# system header pattern, files that may include it, what it is
function only(pattern, where, what) {
    if (header ~ pattern && file !~ where)
        wrong("<" header ">: " what)
}
{
    file = $1; line = $2
    kind = substr($3, 1, 1)
    header = substr($3, 2)
    split(file, from, "/")
    if (kind == "<") {
        only("^jansson", "^sim/base/json\\.c$", "Jansson only in sim/base/json.c")
        only("^gsl/", "^(calib/fit/|planner/robustness/)", "GSL only in calib/fit/fit.c and planner/robustness/jitter.c")
        only("^nettle/", "^calib/profile/profile_write\\.c$", "Nettle only in calib/profile/profile_write.c")
        only("^zlib", "^(traces|tests)/", "zlib only in traces/")
        only("^check\\.h$", "^tests/", "Check only in tests/")
        only("^(cuda|cublas|cudnn|nccl)", "^(runtime/cuda|tests/cuda|tests/unit/runtime/cuda)/", "CUDA only in runtime/cuda/")
        only("^cblas", "^runtime/cpu/matmul\\.c$", "BLAS only in runtime/cpu/matmul.c")
        only("^mpi\\.h$", "^(runtime/mpi/|tests/mpi/p2p_mpi\\.c$)", "MPI only in runtime/mpi/")
        next
    }
    parts = split(header, to, "/")
    if (parts < 2 || !(to[1] in may)) {
        wrong("\"" header "\": write includes from the root of the repository")
        next
    }
    if (!has(may[from[1]], to[1]))
        wrong("\"" header "\": " from[1] "/ may not include " to[1] "/")
    if (header ~ /_int\.h$/ && from[1] != to[1] && from[1] != "tests")
        wrong("\"" header "\": _int.h headers belong to their folder")
    if (header ~ /\.c$/)
        wrong("\"" header "\": a source file is compiled, not included")
}
END {
    if (NR == 0) { print "no #include found: the lint itself is broken"; bad = 1 }
    exit bad
}'
