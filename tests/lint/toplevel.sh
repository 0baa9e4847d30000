#!/bin/sh
# What may lie at the top of the repository, and what must; and the folders of layers that show concepts, not files.
set -eu
cd "$1"
tracked=$(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u) || tracked=
[ -n "$tracked" ] || { echo "skipped: no repository, or nothing in it yet"; exit 77; }
must='CMakeLists.txt README.md calib planner runtime sim tests tools traces'
may="$must ARCHITECTURE.md BENCHMARKS.md CHANGELOG.md CONTRIBUTING.md CMakePresets.json LICENSE cmake docs examples pyproject.toml"
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
for layer in sim planner calib runtime traces; do
    files=$(git ls-files "$layer" | awk -F/ 'NF == 2 && !/\/CMakeLists\.txt$/ && !/\.def$/')
    [ "$(printf '%s\n' "$files" | wc -l)" -le 12 ] ||
        { echo "$layer/ has more than a dozen files besides its tables, they belong in folders:" $files; bad=1; }
done
exit $bad
