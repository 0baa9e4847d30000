#define _GNU_SOURCE /* dladdr */
#include "runtime/module.h"

#include "runtime/clock.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDERS = 4 };

typedef struct folders {
    char path[FOLDERS][PATH_MAX]; /* "": not this one */
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
    Dl_info self; /* libppsim.so, wherever its installed tree was moved */
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
                      "it belongs to another ppsim than this one (" PPSIM_VERSION
                      "); build and install both together");
}

pp_status pp_module_load(const char *file, const char *cure, const pp_module **module_out,
                         pp_err *err)
{
    folders where = { 0 };
    char path[PATH_MAX + 64];
    find_folders(&where);
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%s", where.path[i], file);
        if (!where.path[i][0] || access(path, F_OK) != 0)
            continue;
        /* GLOBAL: the plug-ins of Open MPI find libmpi that way. NODELETE: it cannot be unloaded.
         */
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
        if (!library)
            return pp_err_set(err, PP_UNAVAILABLE, NULL, "cannot load it: %.500s; %s", dlerror(),
                              cure);
        const pp_module *module = dlsym(library, PP_MODULE_SYMBOL);
        if (!module)
            return pp_err_set(err, PP_UNAVAILABLE, path, "it is no module of ppsim");
        pp_status status = check_module(module, path, err);
        if (!status)
            *module_out = module;
        return status;
    }
    return pp_err_set(err, PP_UNAVAILABLE, NULL, "there is no %s in %.200s%s%.200s or %.200s; %s",
                      file, where.path[0], where.path[0][0] ? ", " : "", where.path[1],
                      where.path[2], cure);
}

pp_status pp_module_load_mpi(const pp_module **module_out, pp_err *err)
{
    return pp_module_load("ppsim_mpi.so",
                          "install MPI (Debian: libopenmpi-dev openmpi-bin) and build ppsim with "
                          "cmake -DPPSIM_MPI=ON",
                          module_out, err);
}

bool pp_module_launched(void)
{
    static const char *const marks[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK",
                                         "PMIX_RANK", "MPI_LOCALNRANKS" };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (getenv(marks[i]))
            return true;
    return false;
}

const pp_module_services pp_module_services_table = {
    .err_set = pp_err_set,
    .message_check = pp_message_check,
    .world_stopped = pp_world_stopped,
    .clock_now_ns = pp_clock_now_ns,
    .launched = pp_module_launched,
};

pp_status pp_module_open(const pp_module *module, const pp_world_options *options,
                         pp_world **world_out, pp_err *err)
{
    return module->open(&pp_module_services_table, options, world_out, err);
}
