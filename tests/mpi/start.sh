# Read by scripts that start processes here.

patience=${PPSIM_TEST_PATIENCE:-1} # factor of time limits

# Open MPI: more processes than cores; and root in a container. Others do not look at these.
export OMPI_MCA_rmaps_base_oversubscribe=1
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

case ${PPSIM_SANITIZE:-} in
*address*) # stacks through Open MPI, which has no frame pointers, so that its leaks are known as its
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:fast_unwind_on_malloc=0"
    export LSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")/../mpi" && pwd)/lsan.supp:print_suppressions=0"
    ;;
esac
