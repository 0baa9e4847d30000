#!/bin/sh
# An addition really is one file (and one line): in a copy of the sources, a toy schedule, a toy
# target and a toy model appear in the program without any other change.   extend.sh SOURCE SCRATCH
# package.sh makes its packages of what is built here, so that it is built once.
set -eu
source=$1
scratch=$2
say() { echo "extend: $*"; }

mkdir -p "$scratch"
for folder in cmake sim planner calib runtime traces tools tests; do
    rm -rf "${scratch:?}/source/$folder"
    mkdir -p "$scratch/source"
    cp -Rp "$source/$folder" "$scratch/source/" # times kept, so that only changes are built again
done
cp -p "$source/CMakeLists.txt" "$source/CMakePresets.json" "$source/LICENSE" "$scratch/source/"
cd "$scratch/source"

# The addition.
sed 's/pp_schedule_gpipe/pp_schedule_toy/g; s/\.name = "gpipe"/.name = "toy"/' \
    sim/schedule/gpipe.c >sim/schedule/toy.c
echo 'PP_SCHEDULE(toy)' >>sim/schedules.def
sed 's/"gpt1.7b"/"toy-model"/' traces/data/models/gpt1.7b.json >traces/data/models/toy-model.json
sed 's/pp_target_automodel/pp_target_toy/; s/"automodel"/"toy-target"/g' \
    traces/target/automodel.c >traces/target/toy.c
echo 'PP_TARGET(toy)' >>traces/targets.def

# Nothing here depends on speed or on a debugger: without optimisation and debug information it is built in
# a quarter of the time.
cmake --preset deb -DCMAKE_C_FLAGS_RELEASE='-O0 -DNDEBUG' -B ../build >../configure.log
cmake --build ../build --parallel 2 >../build.log 2>&1 || { cat ../build.log; exit 1; }
ppsim=../build/ppsim

$ppsim list schedules | grep -qw toy || { say "list schedules does not show toy"; exit 1; }
$ppsim list models | grep -qw toy-model || { say "list models does not show toy-model"; exit 1; }
costs=F=1ms,I=1ms,W=1ms,comm=0
expected=$($ppsim simulate --schedule gpipe --pp 4 --microbatches 8 --costs $costs --json |
    grep '"makespan_ns"')
found=$($ppsim simulate --schedule toy --pp 4 --microbatches 8 --costs $costs --json |
    grep '"makespan_ns"')
[ "$expected" = "$found" ] || { say "toy gives $found, gpipe $expected"; exit 1; }
$ppsim list targets | grep -qw toy-target || { say "list targets does not show toy-target"; exit 1; }
$ppsim simulate --schedule 1f1b --pp 4 --microbatches 8 --costs $costs --emit toy-target=../toy.yaml >../toy.log
[ -s ../toy.yaml ] && [ -s ../toy.yaml.csv ] || { say "toy-target was not written"; exit 1; }
if $ppsim plan --model gpt1.7b --pp 4 --target toy-target --schedule dualpipev --torch-compile 2>../toy.log; then
    say "plan does not know toy-target"
    exit 1
fi
grep -q 'target toy-target .* the nearest that it runs' ../toy.log || { cat ../toy.log; exit 1; }
say "a schedule and a target are a file and a line, a model is a file"
