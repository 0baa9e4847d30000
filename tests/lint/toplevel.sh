#!/bin/sh
# What may lie at the top of the repository, and what must.
set -eu
cd "$1"
tracked=$(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u) || tracked=
[ -n "$tracked" ] || { echo "skipped: no repository, or nothing in it yet"; exit 77; }
must='CMakeLists.txt README.md calib planner runtime sim tests tools traces'
may="$must ARCHITECTURE.md BENCHMARKS.md CHANGELOG.md CONTRIBUTING.md CMakePresets.json LICENSE cmake docs examples"
bad=0
for entry in $tracked; do
    case " $may " in *" $entry "*) continue ;; esac
    case $entry in .*) continue ;; esac
    echo "$entry does not belong at the top level"
    bad=1
done
for entry in $must; do
    echo "$tracked" | grep -qx -- "$entry" || { echo "$entry is missing at the top level"; bad=1; }
done
exit $bad
