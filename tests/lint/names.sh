#!/bin/sh
# Files are what their names say: x.c has x.h or is a plug-in, a header includes JSON only if its name says that it
# reads or writes it (*json*, *_read, *_write), every .c file says what it is in its first line, and a test is found by
# the file that it tests.
set -eu
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
layers='sim planner calib runtime traces'

# A plug-in has a line in the table of its folder, and so has a command. main.c is the main file of the program, module.c
# that of a module that is loaded.
{
    while read -r table folder; do
        sed -n "s|^PP_[A-Z0-9_]*(\([A-Za-z0-9_]*\).*|$folder/\1.c|p" "$table"
    done <tests/lint/plugins.txt
    sed -n 's|^PP_COMMAND(\([a-z]*\)).*|tools/ppsim/cmd_\1.c|p' tools/ppsim/commands.def
} | sort >"$scratch/plugins"
# shellcheck disable=SC2086 # a list of folders
find $layers tools -name '*.c' ! -name module.c ! -name main.c | sort | comm -23 - "$scratch/plugins" | while read -r file; do
    [ -f "${file%.c}.h" ] || echo "$file: has no header of its name and is no plug-in"
done >>"$scratch/found"

# shellcheck disable=SC2086
find $layers -name '*.h' ! -name '*json*' ! -name '*_read.h' ! -name '*_write.h' -exec grep -l '^#include "sim/base/json\.h"' {} + |
    sed 's/$/: includes JSON, but is not named *json*, *_read or *_write/' >>"$scratch/found"

# shellcheck disable=SC2086
find $layers tools tests -name '*.c' -exec awk '
    FNR == 1 && !/^\/\* / { print FILENAME ": its first line is no comment" }' {} + >>"$scratch/found"

# tests/unit/sim/job/test_model_hf.c tests sim/job/model_hf.c or sim/job/model.c.
find tests/unit tests/contract tests/torture -name 'test_*.c' | while read -r test; do
    folder=$(dirname "$test" | cut -d/ -f3-)
    [ -d "./$folder" ] || echo "$test: there is no folder $folder"
    case $test in tests/unit/*) ;; *) continue ;; esac
    stem=$(basename "${test#tests/unit/}" .c)
    while stem=${stem#test_} && ! ls "$folder/$stem".* >/dev/null 2>&1; do
        case $stem in *_*) stem=${stem%_*} ;; *) echo "$test: $folder has no file of that name"; break ;; esac
    done
done >>"$scratch/found"

sort "$scratch/found"
[ ! -s "$scratch/found" ]
