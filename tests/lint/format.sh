#!/bin/sh
# The layout of all C is what clang-format 14 makes of it. To repair: clang-format -i FILE.
set -eu
cd "$1"
format=$(command -v clang-format-14 || command -v clang-format) ||
    { echo "skipped: no clang-format"; exit 77; }
case $("$format" --version) in
*"version 14."*) ;;
*) echo "skipped: other versions than 14 differ in details"; exit 77 ;;
esac
find sim planner calib runtime traces tools tests examples -name '*.[ch]' | sort |
    xargs "$format" --dry-run -Werror
