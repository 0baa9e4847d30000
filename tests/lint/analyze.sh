#!/bin/sh
# cppcheck finds nothing. A false alarm is answered in the line above: /* cppcheck-suppress ID */
# It takes half a minute for all files: tried are those that differ from origin's main and one in six of the
# others, by PPSIM_TEST_SEED; tools/test --long tries all.
set -eu
cd "$1"
command -v cppcheck >/dev/null || { echo "skipped: no cppcheck"; exit 77; }
changed=$(git diff --name-only --diff-filter=d origin/main -- 2>/dev/null) || changed=
files=$(find sim planner calib runtime traces tools -name '*.c' | sort |
    awk -v seed="${PPSIM_TEST_SEED:-0}" -v long="${PPSIM_TEST_LONG:-}" -v changed="$changed" '
        BEGIN { for (n = split(changed, name, "\n"); n; n--) differs[name[n]] }
        long != "" || $0 in differs || (NR + seed) % 6 == 0')
# shellcheck disable=SC2086 # a list of names without blanks
cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
    --error-exitcode=1 -I. -D_XOPEN_SOURCE=700 $files
