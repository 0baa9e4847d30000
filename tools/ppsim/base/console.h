/* Where the output of a command goes: to the streams and files of the process, or, for a program
 * that calls ppsim as a library, into memory. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_CONSOLE_H
#define PPSIM_TOOLS_PPSIM_BASE_CONSOLE_H

#include "sim/base/text.h"
#include "sim/plan/plan.h"
#include "sim/program/timeline.h"

#include <signal.h>
#include <stdbool.h>

/* A file that a command would have written. "-" is what it would have printed to standard output
 * beside its answer. */
typedef struct pp_console_file {
    char *name;
    pp_text content;
} pp_console_file;

/* A file that a command reads and that is held in memory. Borrowed. */
typedef struct pp_console_input {
    const char *name; /* letters, digits, '.', '_' and '-' */
    const char *content;
    size_t bytes;
} pp_console_input;

/* The path under which a command reads an input that is no file with a name. Owned texts. */
typedef struct pp_console_alias {
    char *path; /* /dev/fd/N */
    char *name; /* what the caller named it */
} pp_console_alias;

/* Collects what a command writes. All zero is an empty one, whose files are written to the disk. A
 * thread that works for the command uses it, too (pp_console_use). The owner frees it with
 * pp_console_free. */
typedef struct pp_console {
    /* Set by the caller. */
    bool keeps_files;                  /* files are kept here instead of being written */
    const volatile sig_atomic_t *stop; /* not 0: the command shall end; NULL: it runs to its end */
    void (*progress)(void *context, const char *line); /* called now and then from one thread at a
                                                          time; NULL: nobody listens */
    void *context;                                     /* for progress */
    const pp_console_input *input;                     /* [inputs] */
    size_t inputs;
    /* Set by the command. */
    pp_text json;    /* its answer, as --json prints it */
    pp_text words;   /* the same for people, without colour */
    pp_text remarks; /* what it would print to standard error, a line each */
    pp_console_file *file;
    size_t count, capacity;
    pp_console_alias *alias;
    size_t aliases, alias_capacity;
    /* What typed accessors answer from; NULL: the command has none. Owned. */
    pp_plan *plan;
    pp_program *program;
    pp_timeline *timeline;
} pp_console;

/* Returns the console of the calling thread, or NULL: its output goes to the process's streams. */
pp_console *pp_console_current(void);
/* Makes it that of the calling thread. NULL: none, which is what threads begin with. */
void pp_console_use(pp_console *console);
/* Returns the input in memory of this name that the calling thread has, or NULL. */
const pp_console_input *pp_console_find_input(const char *name);
/* Has pp_console_name answer with `name` for `path` from now on. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_console_rename(pp_console *console, const char *path, const char *name,
                                          pp_err *err);
/* Returns the name that the caller gave to the input with this path, or the path itself. What is
 * named after its file is named after this: descriptors have other numbers every time. */
const char *pp_console_name(const char *path);
/* Calls progress, if there is one. */
void pp_console_progress(const pp_console *console, const char *line);
/* Adds to the content of a file, which begins empty. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_console_write(pp_console *console, const char *name, const char *text,
                                         size_t bytes, pp_err *err);
void pp_console_free(pp_console *console); /* for PP_CLEANUP */

#endif
