#!/bin/sh
# The lints of the tree's order find what they look for: in a small tree that they accept, each planted mistake turns
# one of them red, and names the file.
set -eu
cd "$1"
for tool in git python3 nm; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/clean"
mkdir -p "$tree/clean/tests/lint"
cp tests/lint/layers.sh tests/lint/links.sh tests/lint/links.py tests/lint/names.sh tests/lint/mentions.sh \
    tests/lint/toplevel.sh     tests/lint/strip.awk "$tree/clean/tests/lint"
cd "$tree/clean"
mkdir -p sim/base sim/plugin planner/low planner/high calib runtime traces tools/ppsim tests/unit/sim/base \
    tests/contract tests/torture
printf '%s\n' build verdict >.gitignore
touch CMakeLists.txt README.md calib/CMakeLists.txt runtime/CMakeLists.txt traces/CMakeLists.txt
printf '%s\n' '# lowest first' sim/base sim/plugin planner/low planner/high tools/ppsim >tests/lint/layers.txt
echo 'sim/plugins.def sim/plugin' >tests/lint/plugins.txt
echo 'PP_PLUGIN(one)' >sim/plugins.def
echo 'PP_COMMAND(plan)' >tools/ppsim/commands.def

# unit FOLDER/NAME CODE [HEADER...]: a .c file that includes the headers, and its own header.
unit() {
    name=$1
    code=$2
    shift 2
    { echo '/* One. */'; printf '#include "%s"\n' "$name.h" "$@"; echo "$code"; } >"$name.c"
    echo "int $(basename "$name")(void);" >"$name.h"
}
unit sim/base/json 'int json(void) { return 0; }'
unit sim/base/text 'int text(void) { return json(); }' sim/base/json.h
unit planner/low/search 'int search(void) { return text(); }' sim/base/text.h
unit planner/low/order 'int order(void) { return search(); }' planner/low/search.h
unit planner/high/study 'int study(void) { return order(); }' planner/low/order.h
unit tools/ppsim/cmd_plan 'int cmd_plan(void) { return study(); }' planner/high/study.h
printf '/* One. */\nint one(void);\nint one(void) { return 1; }\n' >sim/plugin/one.c
printf '/* One. */\nint main(void) { return 0; }\n' >tests/unit/sim/base/test_text.c

# try LINT: its verdict on the tree as it stands; links looks at a build of it
try() {
    for source in $([ "$1" != links ] || find sim planner tools -name '*.c'); do
        layer=${source%%/*}
        object=build/$layer/CMakeFiles/ppsim_$layer.dir/${source#*/}.o
        mkdir -p "$(dirname "$object")"
        "${CC:-cc}" -I. -c "$source" -o "$object"
    done
    git init -q . && git add -A
    sh "tests/lint/$1.sh" . build >verdict 2>&1
}
for lint in layers links mentions names toplevel; do
    try $lint || { echo "$lint does not accept the clean tree:"; cat verdict; exit 1; }
done
rm -rf build .git verdict

# planted MISTAKE LINT WORDS COMMAND: the command makes the mistake, the lint finds it and prints the words
bad=0
planted() {
    rm -rf "$tree/copy"
    cp -R "$tree/clean" "$tree/copy"
    cd "$tree/copy"
    eval "$4"
    if try "$2"; then
        echo "lint $2 does not see $1"
        bad=1
    elif ! grep -qF -- "$3" verdict; then
        echo "lint $2 sees $1, but says:"
        cat verdict
        bad=1
    fi
}
planted 'an include that goes up' layers 'planner/low/search.c:3: "planner/high/study.h"' \
    'unit planner/low/search "" planner/high/study.h'
planted 'an include of a higher layer' layers 'sim/ may not include planner/' \
    'unit sim/base/text "" planner/low/search.h'
planted 'a folder that is not listed' layers 'planner/new' \
    'mkdir planner/new && unit planner/new/x "" sim/base/text.h && unit planner/high/study "" planner/new/x.h'
planted 'a link that goes up' links 'planner/low calls up' \
    'unit planner/low/search "int study(void); int search(void) { return study(); }"'
planted 'a circle within a folder' links '2 object files call each other in a circle' \
    'unit planner/low/search "int order(void); int search(void) { return order(); }"'
planted 'a folder entered again' links 'planner/low is left and entered again' \
    'unit planner/low/search "int other(void); int search(void) { return other(); }"
     unit planner/high/other "int leaf(void); int other(void) { return leaf(); }"
     unit planner/low/leaf "int leaf(void) { return 0; }"'
planted 'a source without a header' names 'planner/low/search.c: has no header' 'rm planner/low/search.h
     unit planner/low/order "int order(void) { return 0; }"
     printf "/* One. */\nint search(void);\n" >planner/low/search.c'
planted 'a plug-in without a line' names 'sim/plugin/one.c: has no header' 'echo >sim/plugins.def'
planted 'a command without a line' names 'tools/ppsim/cmd_plan.c: has no header' \
    'rm tools/ppsim/cmd_plan.h; echo >tools/ppsim/commands.def'
planted 'JSON in a header of data' names 'planner/low/order.h: includes JSON' \
    'printf "#include \"sim/base/json.h\"\nint order(void);\n" >planner/low/order.h'
planted 'a source that does not say what it is' names 'sim/base/text.c: its first line' \
    'sed -i 1d sim/base/text.c'
planted 'a test that is named after no source' names 'sim/base has no file of that name' \
    'mv tests/unit/sim/base/test_text.c tests/unit/sim/base/test_words.c'
planted 'a test of a folder that is not there' names 'there is no folder sim/bottom' \
    'mv tests/unit/sim/base tests/unit/sim/bottom'
planted 'a comment that names a file that is gone' mentions 'sim/base/text.c:1: its comment names sim/base/words.c' \
    'sed -i "1s|.*|/* Like sim/base/words.c. */|" sim/base/text.c'
planted 'a layer of loose files' toplevel 'planner/ has more than a dozen files' \
    'for n in 1 2 3 4 5 6 7 8 9 10 11 12 13; do touch planner/$n.h; done'
planted 'a file that does not belong at the top' toplevel 'notes does not belong' 'touch notes'
exit $bad
