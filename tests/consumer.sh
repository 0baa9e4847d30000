#!/bin/sh
# The library as its users get it: installed to a folder of its own, and from there on only what lies
# there is used.   consumer.sh SOURCE BUILD SCRATCH VERSION
set -eu
source=$1
build=$2
scratch=$3
version=$4
patience=${PPSIM_TEST_PATIENCE:-1} # factor of time limits
soname=libppsim.so.${version%.*}
fail() { echo "consumer: $*"; exit 1; }

rm -rf "$scratch"
mkdir -p "$scratch"
cmake --install "$build" --prefix "$scratch/first" >"$scratch/install.log" || fail "cannot install"
mv "$scratch/first" "$scratch/prefix" # an installed tree can be moved
cp -R "$source/examples" "$scratch/examples"
cd "$scratch"
pc=$(find prefix -name ppsim.pc)
library=$(find prefix -name "$soname")
[ -f "$pc" ] && [ -e "$library" ] || fail "no ppsim.pc, or no $soname"
folder=$PWD/$(dirname "$library")

# It shows what its headers declare, under versions that are kept, and nothing else; so does libppsim.a. A line of
# tests/data/libppsim.symbols may go only with a new soname.
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort >shown
diff "$source/tests/data/libppsim.symbols" shown || fail "it shows other functions than tests/data/libppsim.symbols lists"
cat prefix/include/ppsim/*.h | grep -oE '\<(pp_runtime|ppsim)_[a-z_]+\(' | tr -d '(' | sort -u >declared
[ -s declared ] || fail "the headers declare nothing"
sed "s/@@.*//" shown | diff declared - || fail "it shows other functions than its headers declare"
nm -g --defined-only "$(find prefix -name libppsim.a)" | awk 'NF == 3 { print $3 }' | sort | diff declared - ||
    fail "libppsim.a shows other functions than its headers declare"
readelf -d "$library" | grep -q "(SONAME).*\[$soname\]" || fail "its soname is not $soname"
readelf -d "$library" | grep -qE '(RPATH|RUNPATH)' && fail "it looks for libraries in a fixed place"

# Each header alone, as C and as C++.
strict='-Wall -Wextra -Wpedantic -Werror -fsyntax-only'
for header in pp_runtime.h ppsim.h; do
    echo "#include <ppsim/$header>" >only.c
    cp only.c only.cc
    ${CC:-cc} -std=c11 $strict -Wstrict-prototypes -Wshadow -Iprefix/include only.c || fail "$header is not strict C11"
    if command -v "${CXX:-c++}" >/dev/null; then
        ${CXX:-c++} -std=c++17 $strict -Wshadow -Iprefix/include only.cc || fail "$header is no C++17"
    fi
done

# falls PROGRAM: it ends well, and the mean of the last losses is far below the first one.
falls() {
    LD_LIBRARY_PATH=$folder "$1" >losses || fail "$1 failed"
    awk '{ loss[NR] = $NF } END {
        last = (loss[NR] + loss[NR - 1] + loss[NR - 2] + loss[NR - 3]) / 4
        exit !(NR == 40 && last < loss[1] / 4)
    }' losses || { cat losses; fail "the loss of $1 does not fall"; }
}

# plans PROGRAM: it plans a model, as the installed command does.
plans() {
    LD_LIBRARY_PATH=$folder "$1" gpt1.7b 4 >planned || fail "$1 failed"
    grep -q '^rank  3 holds .* begins with 3F0 ' planned || { cat planned; fail "$1 shows no plan"; }
}

cmake -S examples -B with-cmake -DCMAKE_PREFIX_PATH="$PWD/prefix" >cmake.log 2>&1 &&
    cmake --build with-cmake >>cmake.log 2>&1 || { cat cmake.log; fail "find_package(ppsim)"; }
falls with-cmake/train_zbv
plans with-cmake/plan_model

PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion ppsim)" = "$version" ] || fail "ppsim.pc has another version"
${CC:-cc} -std=c11 $strict -Wconversion $(pkg-config --cflags ppsim) examples/*.c || fail "the examples have warnings"
${CC:-cc} -std=c11 -O2 examples/train_zbv.c -o with-pkg-config $(pkg-config --cflags --libs ppsim) -lm ||
    fail "pkg-config --cflags --libs ppsim"
readelf -d with-pkg-config | grep -q "(NEEDED).*\[$soname\]" || fail "it is not linked with $soname"
falls ./with-pkg-config

${CC:-cc} -std=c11 -O2 examples/train_zbv.c -o with-static $(pkg-config --cflags ppsim) \
    "$folder/libppsim.a" $(pkg-config --static --libs ppsim | sed 's/-lppsim//') ||
    fail "libppsim.a with pkg-config --static"
readelf -d with-static | grep -q libppsim && fail "it is linked with $soname, not libppsim.a"
falls ./with-static
${CC:-cc} -std=c11 -O2 examples/plan_model.c -o plan-static $(pkg-config --cflags ppsim) \
    "$folder/libppsim.a" $(pkg-config --static --libs ppsim | sed 's/-lppsim//') || fail "libppsim.a has no planner"
plans ./plan-static

# The same over processes: the module is found next to the library, and the losses are the same.
if [ -n "$(find prefix -name ppsim_mpi.so)" ] && command -v mpirun >/dev/null; then
    sed 's/\.ranks = RANKS };/.ranks = RANKS, .transport = "mpi" };/' examples/train_zbv.c >train_mpi.c
    cmp -s train_mpi.c examples/train_zbv.c && fail "the example's options look different now"
    ${CC:-cc} -std=c11 -O2 train_mpi.c -o with-mpi $(pkg-config --cflags --libs ppsim) -lm
    export OMPI_MCA_rmaps_base_oversubscribe=1
    [ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    LD_LIBRARY_PATH=$folder timeout -k 5 $((300 * patience)) mpirun -n 4 ./with-mpi >mpi.log 2>&1 ||
        { tail -20 mpi.log; fail "over MPI"; }
    grep -v 'loss 0.0000$' mpi.log | sort >mpi.losses # only the last stage's process knows it
    diff losses mpi.losses || fail "over MPI the losses are others"
fi

# A plan file that the installed command wrote is one that the installed library reads.
cat >load.c <<'END'
#include <ppsim/pp_runtime.h>
#include <stdio.h>
int main(void)
{
    pp_runtime_plan *plan = NULL;
    pp_runtime_error error = { 0 };
    if (pp_runtime_plan_load("plan.json", 0, NULL, NULL, &plan, &error))
        return fprintf(stderr, "%s: %s\n", error.where, error.text), 1;
    printf("%u ranks, %u stages, %u microbatches, library %s\n", pp_runtime_plan_ranks(plan),
           pp_runtime_plan_stages(plan), pp_runtime_plan_microbatches(plan), pp_runtime_version());
    pp_runtime_plan_free(plan);
    return 0;
}
END
prefix/bin/ppsim plan --model gpt1.7b --pp 4 --global-batch-size 16 --emit plan=plan.json >/dev/null
${CC:-cc} -std=c11 load.c -o load $(pkg-config --cflags --libs ppsim)
LD_LIBRARY_PATH=$folder ./load | grep "^4 ranks, .*library $version" || fail "its plan is not read"
echo "consumer: the installed library builds and runs what uses it"
