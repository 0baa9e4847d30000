/* Finds, loads and checks modules: shared objects that export one table. The first of
 * $PPSIM_MODULE_DIR, the folder of the executable, ${libdir}/ppsim and the folder next to
 * libppsim.so that has the file is used; a module of another version is refused. */
#define _GNU_SOURCE /* dladdr */
#include "runtime/module/module.h"

#include "runtime/core/clock.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDERS = 4 };

typedef struct folders {
    char path[FOLDERS][PATH_MAX]; /* "": no such folder */
} folders;

static void find_folders(folders *out)
{
    const char *wanted = getenv("PPSIM_MODULE_DIR");
    snprintf(out->path[0], PATH_MAX, "%s", wanted ? wanted : "");
    ssize_t length = readlink("/proc/self/exe", out->path[1], PATH_MAX - 1);
    out->path[1][length > 0 ? length : 0] = '\0';
    char *slash = strrchr(out->path[1], '/');
    if (slash)
        *slash = '\0';
    snprintf(out->path[2], PATH_MAX, "%s", PPSIM_MODULE_INSTALL_DIR);
    Dl_info self; /* finds libppsim.so even if its installed tree was moved */
    const void *here = PPSIM_VERSION;
    if (dladdr(here, &self) && self.dli_fname && (slash = strrchr(self.dli_fname, '/')))
        snprintf(out->path[3], PATH_MAX, "%.*s/ppsim", (int)(slash - self.dli_fname),
                 self.dli_fname);
}

static pp_status check_module(const pp_module *module, const char *path, pp_err *err)
{
    if (module->abi == PP_MODULE_ABI && strcmp(module->version, PPSIM_VERSION) == 0)
        return PP_OK;
    return pp_err_set(err, PP_UNAVAILABLE, path,
                      "it belongs to another version of ppsim (" PPSIM_VERSION
                      "); build and install both together");
}

static pp_status load_from(const pp_module_file *file, const char *path,
                           const pp_module **module_out, pp_err *err)
{
    int scope = file->global ? RTLD_GLOBAL : RTLD_LOCAL;
    void *library = dlopen(path, RTLD_NOW | scope | RTLD_NODELETE); /* it cannot be unloaded */
    if (!library)
        return pp_err_set(err, PP_UNAVAILABLE, NULL, "cannot load it: %.500s; %s", dlerror(),
                          file->mend);
    const pp_module *module = dlsym(library, file->symbol);
    if (!module)
        return pp_err_set(err, PP_UNAVAILABLE, path, "it is not a module of ppsim");
    pp_status status = check_module(module, path, err);
    if (!status && module->available)
        status = module->available(&pp_module_services_table, err);
    if (!status)
        *module_out = module;
    return status;
}

pp_status pp_module_load(const pp_module_file *file, const pp_module **module_out, pp_err *err)
{
    folders where = { 0 };
    char path[PATH_MAX + 64];
    find_folders(&where);
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%s", where.path[i], file->name);
        if (where.path[i][0] && access(path, F_OK) == 0)
            return load_from(file, path, module_out, err);
    }
    return pp_err_set(err, PP_UNAVAILABLE, NULL, "there is no %s in %.200s%s%.200s%s%.200s; %s",
                      file->name, where.path[0], where.path[0][0] ? ", " : "", where.path[1],
                      where.path[1][0] ? " or " : "", where.path[2], file->cure);
}

const pp_module_file pp_module_mpi = {
    .name = "ppsim_mpi.so",
    .symbol = "ppsim_module_mpi",
    .cure = "install MPI (Debian: libopenmpi-dev openmpi-bin) and build ppsim with "
            "cmake -DPPSIM_MPI=ON",
    .mend = "install the MPI that it was built with, or build ppsim with the one that is here",
    .global = true,
};

const pp_module_file pp_module_cuda = {
    .name = "ppsim_cuda.so",
    .symbol = "ppsim_module_cuda",
    .cure = "install CUDA and NCCL and build ppsim with cmake -DPPSIM_CUDA=ON (docs/how-to/gpu.md)",
    .mend = "install the CUDA and NCCL that it was built with, name their folder in "
            "LD_LIBRARY_PATH, or build ppsim with those of this machine (docs/how-to/gpu.md)",
};

bool pp_module_launched(void)
{
    /* A program that called MPI_Init without a launcher, as mpi4py does when it is imported, leaves
     * marks to its children, too. */
    const char *ess = getenv("OMPI_MCA_ess");
    if (ess && strcmp(ess, "singleton") == 0)
        return false;
    static const char *const marks[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK",
                                         "PMIX_RANK", "MPI_LOCALNRANKS" };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (getenv(marks[i]))
            return true;
    return false;
}

const pp_module_services pp_module_services_table = {
    .err_set = pp_err_set,
    .err_name = pp_err_name,
    .message_check = pp_message_check,
    .world_stopped = pp_world_stopped,
    .clock_now_ns = pp_clock_now_ns,
    .launched = pp_module_launched,
};

pp_status pp_module_open(const pp_module_file *file, const pp_world_options *options,
                         pp_world **world_out, pp_err *err)
{
    const pp_module *module;
    pp_status status = pp_module_load(file, &module, err);
    return status ? status : module->open(&pp_module_services_table, options, world_out, err);
}
