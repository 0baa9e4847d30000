#!/bin/sh
# The Debian packages: made, unpacked, and asked whether they are whole.   package.sh SOURCE SCRATCH BUILD
# BUILD is that of extend.sh: what packages hold does not depend on a toy more, nor on how the compiler optimises.
# tools/test --long builds what is released.
set -eu
source=$1
scratch=$2
build=$3
fail() { echo "package: $*"; exit 1; }
for program in cpack dpkg-deb dpkg-shlibdeps readelf; do
    command -v $program >/dev/null || { echo "package: no $program here"; exit 77; }
done

rm -rf "$scratch/packages" "$scratch/unpacked"
mkdir -p "$scratch"
if [ -n "${PPSIM_TEST_LONG:-}" ]; then
    build=$scratch/build
    { (cd "$source" && cmake --preset deb -B "$build") && cmake --build "$build" -j2; } >"$scratch/log" 2>&1 ||
        { tail -20 "$scratch/log"; fail "cannot build them"; }
fi
(cd "$build" && cpack -G DEB -B "$scratch/packages") >"$scratch/log" 2>&1 ||
    { tail -20 "$scratch/log"; fail "cannot make them"; }
cd "$scratch"

# checked PACKAGE: unpacks it; every library it is linked with is there, and of a package it depends on
checked() {
    deb=$(find packages -maxdepth 1 -name "$1_[0-9]*.deb")
    [ -f "$deb" ] || fail "no package $1"
    depends=$(dpkg-deb -f "$deb" Depends)
    dpkg-deb -x "$deb" unpacked
    for file in $(dpkg-deb -c "$deb" | awk '{ print "unpacked/" $6 }'); do
        [ -f "$file" ] && [ ! -L "$file" ] && readelf -h "$file" 2>/dev/null | grep -qE 'EXEC|DYN' || continue
        [ -z "$(ldd "$file" | grep 'not found')" ] || fail "$file: $(ldd "$file" | grep 'not found')"
        for needed in $(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
            path=$(ldd "$file" | awk -v n="$needed" '$1 == n { print $3 } $1 ~ "/" n "$" { print $1 }')
            real=$(realpath "$path") # which dpkg may know without the /usr
            owner=$(dpkg -S "$real" "${real#/usr}" 2>/dev/null | sed -n '1s/:.*//p') || true
            echo "$depends" | tr ',' '\n' | grep -qE "^ *$owner( |$)" ||
                fail "$1 needs $needed of $owner, which its Depends lack: $depends"
        done
        count=$((count + 1))
    done
}
count=0
checked ppsim
echo "$depends" | grep -q mpi && fail "ppsim depends on MPI: $depends"
[ $count -eq 2 ] || fail "ppsim has $count programs and libraries, not a command and a library"
! find packages -name 'ppsim-mpi_*' | grep -q . || checked ppsim-mpi

for file in bin/ppsim share/man/man1/ppsim.1 share/bash-completion/completions/ppsim \
    share/zsh/vendor-completions/_ppsim share/fish/vendor_completions.d/ppsim.fish \
    include/ppsim/pp_runtime.h include/ppsim/ppsim.h share/doc/ppsim/copyright; do
    [ -s "unpacked/usr/$file" ] || [ -s "unpacked/usr/$file.gz" ] || fail "it lacks usr/$file"
done
for page in "$source"/tools/man/ppsim*.1; do
    installed=unpacked/usr/share/man/man1/${page##*/}
    { [ ! -e "$installed.gz" ] || gzip -d "$installed.gz"; } && cmp -s "$installed" "$page" ||
        fail "another man page than ${page##*/}"
done
if command -v man >/dev/null; then
    man -M "$PWD/unpacked/usr/share/man" ppsim plan 2>/dev/null | grep -q 'PPSIM-PLAN(1)' || fail "man ppsim plan finds nothing"
fi
unpacked/usr/bin/ppsim --version | grep -q '^gsl .*GPL-3' || fail "--version does not tell licences"
unpacked/usr/bin/ppsim plan --model gpt175b --pp 16 >plan.txt || fail "it does not plan"
grep -q "^step .* tokens" plan.txt || fail "it plans nothing"
echo "package: $(ls packages/*.deb | wc -l) packages, whole"
