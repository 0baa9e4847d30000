/* ppsim --version: the libraries, modules and programs of ppsim, as they are found when it runs.
 * cmake/Features.cmake writes the table of parts with the versions that the build found; a library
 * that reports its version at run time replaces it. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "tools/ppsim/base/version.h"

#include "runtime/cpu/matmul.h"
#include "runtime/module/module.h"
#include "tools/ppsim/base/words.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_COLUMN 25

typedef struct part {
    const char *name;
    bool built;          /* the build found it */
    const char *version; /* version that the build found */
    const char *licence; /* SPDX identifier, if there is one */
    const char *use;
} part;

static const part parts[] = {
#include "tools/ppsim/base/parts.inc" /* made by cmake/Features.cmake */
};

/* Finds a function of a library; ISO C has no cast from an object pointer. */
static bool find_function(void *library, const char *name, void (**out)(void))
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof *out);
    return symbol != NULL;
}

/* Keeps the first number with points of a text: "4.1.4" of "Open MPI v4.1.4, ...". */
static void keep_number(const char *text, char *out, size_t size)
{
    text += strcspn(text, "0123456789");
    const int bytes = (int)strspn(text, "0123456789.");
    if (bytes)
        snprintf(out, size, "%.*s", bytes, text);
}

/* Asks a function that returns a text. */
static void ask_text(void *library, const char *function, char *out, size_t size)
{
    void (*found)(void);
    if (find_function(library, function, &found))
        keep_number(((char *(*)(void))found)(), out, size);
}

static void ask_nettle(char *out, size_t size)
{
    void (*major)(void);
    void (*minor)(void);
    if (find_function(RTLD_DEFAULT, "nettle_version_major", &major) &&
        find_function(RTLD_DEFAULT, "nettle_version_minor", &minor))
        snprintf(out, size, "%d.%d", ((int (*)(void))major)(), ((int (*)(void))minor)());
}

static void ask_gsl(char *out, size_t size)
{
    const char *const *version = dlsym(RTLD_DEFAULT, "gsl_version");
    if (version)
        snprintf(out, size, "%s", *version);
}

/* MPI_Get_library_version may be called before MPI_Init. */
static void ask_mpi(char *out, size_t size)
{
    enum { LONGEST = 8192 }; /* above MPI_MAX_LIBRARY_VERSION_STRING of Open MPI and MPICH */
    void (*found)(void);
    int bytes = 0;
    char *text = calloc(1, LONGEST);
    if (text && find_function(RTLD_DEFAULT, "MPI_Get_library_version", &found) &&
        ((int (*)(char *, int *))found)(text, &bytes) == 0)
        keep_number(text, out, size);
    free(text);
}

static bool find_openblas(char *out, size_t size)
{
    pp_err ignored = { 0 };
    pp_cpu_blas blas;
    if (pp_cpu_blas_open(&blas, &ignored))
        return false;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL); /* it is open already */
    if (library)
        ask_text(library, "openblas_get_config", out, size);
    return true;
}

static bool find_module(const pp_module_file *file)
{
    pp_err ignored = { 0 };
    const pp_module *module;
    return !pp_module_load(file, &module, &ignored);
}

/* Returns whether a folder of PATH has the program. */
static bool find_program(const char *name)
{
    const char *folders = getenv("PATH");
    for (const char *p = folders ? folders : ""; *p;) {
        char path[PATH_MAX];
        const size_t bytes = strcspn(p, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)bytes, p, name);
        if (bytes && access(path, X_OK) == 0)
            return true;
        p += bytes + (p[bytes] == ':');
    }
    return false;
}

/* Returns whether a part is here now. *version keeps the build's if the part does not report one.
 */
static bool find_part(const part *p, char *version, size_t size)
{
    snprintf(version, size, "%s", p->version);
    if (strcmp(p->name, "jansson") == 0)
        ask_text(RTLD_DEFAULT, "jansson_version_str", version, size);
    else if (strcmp(p->name, "gsl") == 0)
        ask_gsl(version, size);
    else if (strcmp(p->name, "nettle") == 0)
        ask_nettle(version, size);
    else if (strcmp(p->name, "zlib") == 0)
        ask_text(RTLD_DEFAULT, "zlibVersion", version, size);
    else if (strcmp(p->name, "openblas") == 0)
        return find_openblas(version, size);
    else if (strcmp(p->name, "gnuplot") == 0)
        return find_program("gnuplot");
    else if (strcmp(p->name, "cuda") == 0)
        return find_module(&pp_module_cuda);
    else if (strcmp(p->name, "cudnn") == 0)
        return p->built && find_module(&pp_module_cuda);
    else if (strcmp(p->name, "mpi") == 0) {
        if (!find_module(&pp_module_mpi))
            return false;
        ask_mpi(version, size);
        return true;
    }
    return p->built;
}

void pp_version_print(pp_text *text)
{
    pp_text_add(text,
                "ppsim %s\nlicence GPL-3.0-or-later with permission to link CUDA libraries\n\n",
                PPSIM_VERSION);
    pp_text_add(text, "part      found version  its licence: what it is for\n");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char words[256];
        char version[64];
        const bool found = find_part(&parts[i], version, sizeof version);
        snprintf(words, sizeof words, "%s: %s", parts[i].licence, parts[i].use);
        pp_text_add(text, "%-9s %-5s %-8s ", parts[i].name, found ? "yes" : "no",
                    found ? version : "-");
        pp_print_words(text, words, WORDS_COLUMN, WORDS_COLUMN);
    }
}
