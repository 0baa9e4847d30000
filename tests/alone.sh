#!/bin/sh
# Runs one test so that it shares no folder with another:   alone.sh COMMAND [ARGUMENT...]
# All of the test's temporary files lie in one new folder, which goes when the test ends: TMPDIR for
# programs, TEMP for the file through which Check's processes report, and the session folders of Open MPI
# 3 and 4 (orte) and 5 (prte, pmix), which two jobs on one machine would otherwise make and remove
# under each other. The folder's name is short since Open MPI puts sockets there, whose paths may
# have 107 characters.
set -u
folder=$(mktemp -d /tmp/pp.XXXXXX) || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 2' HUP INT TERM
export TMPDIR="$folder" TEMP="$folder"
export OMPI_MCA_orte_tmpdir_base="$folder" PRTE_MCA_prte_tmpdir_base="$folder" PMIX_MCA_pmix_tmpdir_base="$folder"
"$@"
status=$?
times >"$folder/times"
awk 'NR == 2 { gsub(/[ms]/, " "); printf "alone: processor time %.2f s\n", 60 * $1 + $2 + 60 * $3 + $4 }' "$folder/times"
# Check writes a message for each assertion and does not notice that the disk is full;
# its reader then ends with "Error in call to get_result", or another such error.
if [ $status -ne 0 ] && [ $status -ne 77 ]; then
    free=$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')
    [ "${free:-1024}" -ge 1024 ] || echo "alone: $free KiB are free in /tmp, which may be why this test failed"
fi
exit $status
