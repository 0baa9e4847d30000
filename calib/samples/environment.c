/* Describes the machine and the process, from sysconf(), uname() and the files of Linux under /proc
 * and /sys. Facts that cannot be read stay unknown. */
#define _GNU_SOURCE /* _SC_LEVEL3_CACHE_SIZE */
#include "calib/samples/environment.h"

#include "sim/base/processors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Copies what follows `key` in the first line of the file that begins with it. The result is "" if
 * there is no such line. */
static void read_line(const char *path, const char *key, char *text, size_t size)
{
    char line[256];
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    while (file && !text[0] && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *from = line + strlen(key);
        from += strspn(from, " \t:");
        snprintf(text, size, "%.*s", (int)strcspn(from, "\n"), from);
    }
    if (file)
        fclose(file);
}

static int64_t last_cache_bytes(void)
{
    static const int levels[] = { _SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
                                  _SC_LEVEL2_CACHE_SIZE };
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        long bytes = sysconf(levels[i]);
        if (bytes > 0)
            return bytes;
    }
    return 0;
}

void pp_environment_look(pp_environment *e)
{
    struct utsname name;
    char load[64];
    *e = (pp_environment){ .cores = (int32_t)pp_processors(),
                           .last_cache_bytes = last_cache_bytes() };
    read_line("/proc/cpuinfo", "model name", e->cpu, sizeof e->cpu);
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", e->governor,
              sizeof e->governor);
    if (uname(&name) == 0)
        snprintf(e->kernel, sizeof e->kernel, "%.24s %.48s %.20s", name.sysname, name.release,
                 name.machine);
    snprintf(e->version, sizeof e->version, "%s", PPSIM_VERSION);
    read_line("/proc/loadavg", "", load, sizeof load);
    e->load = load[0] ? strtod(load, NULL) : -1;
}

pp_status pp_environment_need_two_cores(pp_err *err)
{
    pp_environment here;
    pp_environment_look(&here);
    if (here.cores != 1)
        return PP_OK;
    return pp_err_set(err, PP_UNAVAILABLE, NULL,
                      "it needs two processors, and this process may use only one; start it "
                      "without mpirun, or with mpirun --bind-to none");
}
