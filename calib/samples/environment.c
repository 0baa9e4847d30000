/* Looks at the machine and process: what explains measured times, from sysconf(), uname() and the
 * files of Linux under /proc and /sys. */
#define _GNU_SOURCE /* _SC_LEVEL3_CACHE_SIZE */
#include "calib/samples/environment.h"

#include "sim/base/processors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* What follows `key` in the first line of the file that begins with it; all of it where key is "".
 * "" when there is none. */
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
                      "it takes two processors, and this process may use one; start it without "
                      "mpirun, or with mpirun --bind-to none");
}

pp_json *pp_environment_write(const pp_environment *e, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "cpu", e->cpu[0] ? e->cpu : NULL);
    pp_json_put_text(build, object, "governor", e->governor[0] ? e->governor : NULL);
    pp_json_put_text(build, object, "kernel", e->kernel[0] ? e->kernel : NULL);
    pp_json_put_text(build, object, "version", e->version);
    pp_json_put_int(build, object, "cores", e->cores);
    pp_json_put_int(build, object, "last_cache_bytes", e->last_cache_bytes);
    if (e->load >= 0)
        pp_json_put_double(build, object, "load", e->load);
    return object;
}

static pp_status read_text(const pp_json_at *at, const char *key, char *text, size_t size,
                           pp_err *err)
{
    return pp_json_has(at, key) ? pp_json_get_name(at, key, text, size, err) : PP_OK;
}

pp_status pp_environment_read(const pp_json_at *at, pp_environment *environment_out, pp_err *err)
{
    static const char *const keys[] = { "cpu",   "governor",         "kernel", "version",
                                        "cores", "last_cache_bytes", "load",   NULL };
    pp_environment e = { .load = -1 };
    int64_t cores = 0;
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) ||
        (status = read_text(at, "cpu", e.cpu, sizeof e.cpu, err)) ||
        (status = read_text(at, "governor", e.governor, sizeof e.governor, err)) ||
        (status = read_text(at, "kernel", e.kernel, sizeof e.kernel, err)) ||
        (status = read_text(at, "version", e.version, sizeof e.version, err)) ||
        (status = pp_json_get_int(at, "cores", 0, INT32_MAX, &cores, err)) ||
        (status = pp_json_get_int(at, "last_cache_bytes", 0, INT64_MAX, &e.last_cache_bytes, err)))
        return status;
    if (pp_json_has(at, "load") && (status = pp_json_get_double(at, "load", 0, 1e9, &e.load, err)))
        return status;
    e.cores = (int32_t)cores;
    *environment_out = e;
    return PP_OK;
}
