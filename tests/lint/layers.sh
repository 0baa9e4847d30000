#!/bin/sh
# Who may include whom: layers as listed below, folders of a layer downwards (tests/lint/layers.txt).
set -eu
cd "$1"
find sim planner calib runtime traces tools tests -name '*.[ch]' | sort |
    xargs awk -f tests/lint/strip.awk |
    sed -n 's/^\([^:]*\):\([0-9]*\):[ \t]*#[ \t]*include[ \t]*\(["<][^">]*\)[">].*/\1 \2 \3/p' |
    awk -v folders=tests/lint/layers.txt '
BEGIN {
    may["sim"] = "sim"
    may["planner"] = "sim planner"
    may["runtime"] = "sim runtime"
    may["traces"] = "sim traces"
    may["calib"] = "sim runtime traces calib"
    may["tools"] = "sim planner calib runtime traces tools"
    may["tests"] = "sim planner calib runtime traces tools tests"
    while ((getline entry <folders) > 0)
        if (entry ~ /^[a-z]/) height[entry] = ++listed
    if (!listed) { print folders ": names no folder"; bad = 1 }
}
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
# The folders of a layer are ordered; its tables (*.def) stand above them and are read by all.
function downwards(upper, lower) {
    if (!(upper in height)) wrong(upper ": not in " folders)
    else if (!(lower in height)) wrong("\"" header "\": " lower " is not in " folders)
    else if (height[lower] > height[upper])
        wrong("\"" header "\": " upper " is below " lower " in " folders)
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
        only("^gsl/", "^(calib/fit/|planner/robustness/|tests/unit/sim/cost/test_kernel_fit\\.c$)", "GSL only in calib/fit/ and planner/robustness/")
        only("^nettle/", "^(calib/profile/sha256|runtime/cuda/nccl/store_proof|tools/ppsim/page/page)\\.c$", "Nettle only in calib/profile/sha256.c, runtime/cuda/nccl/store_proof.c and tools/ppsim/page/page.c")
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
    if (from[1] == to[1] && from[1] != "tests" && header !~ /\.def$/)
        downwards(folder(file), folder(header))
    if (header ~ /_int\.h$/ && from[1] != to[1] && from[1] != "tests")
        wrong("\"" header "\": _int.h headers belong to their folder")
    if (header ~ /\.c$/)
        wrong("\"" header "\": a source file is compiled, not included")
}
END {
    if (NR == 0) { print "no #include found: the lint itself is broken"; bad = 1 }
    exit bad
}'
