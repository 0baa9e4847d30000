#!/bin/sh
# What must not stand in any file: notes to oneself, paths of one machine, package servers. Files that a compiler
# wrote are left out.
set -eu
cd "$1"
bad=0
files=$(find . -type f ! -path ./.git ! -path './.git/*' ! -path './build/*' ! -path './tests/fuzz/corpus/*' \
    ! -path ./tools/page/simulator.js ! -path ./docs/try.html ! -path ./tests/lint/words.sh ! -path ./LICENSE ! -name '*~' | sort)

# forbid WHY [grep options]
forbid() {
    why=$1
    shift
    if echo "$files" | tr '\n' '\0' | xargs -0 grep -InH "$@"; then
        echo "^ $why"
        bad=1
    fi
}
forbid 'finish it or open an issue' -wE 'TODO|FIXME|XXX|HACK'
forbid 'a path of one machine' -E '(^|[^A-Za-z0-9_./}-])/(work|home|root|Users)(/|[^A-Za-z0-9_]|$)'
forbid 'the host of a package server' -E \
    '(deb|security|snapshot|ftp)\.debian\.org|pypi\.org|pythonhosted|npmjs\.|crates\.io|proxy\.golang|docker\.io'
exit $bad
