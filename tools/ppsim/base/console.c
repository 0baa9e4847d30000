/* Keeps the console of each thread. Functions that print ask for it (output.c, progress.c,
 * interrupt.c), so that two threads of a program may run commands at the same time: the only
 * mutable state is a pointer that belongs to the thread. */
#include "tools/ppsim/base/console.h"

#include "sim/base/alloc.h"
#include "sim/program/program_new.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local pp_console *current;

pp_console *pp_console_current(void)
{
    return current;
}

void pp_console_use(pp_console *console)
{
    current = console;
}

const pp_console_input *pp_console_find_input(const char *name)
{
    for (size_t i = 0; current && i < current->inputs; i++) {
        if (strcmp(current->input[i].name, name) == 0)
            return &current->input[i];
    }
    return NULL;
}

pp_status pp_console_rename(pp_console *console, const char *path, const char *name, pp_err *err)
{
    void *grown = console->alias;
    pp_status status = pp_grow(&grown, &console->alias_capacity, console->aliases + 1,
                               sizeof *console->alias, err);
    if (status)
        return status;
    console->alias = grown;
    pp_console_alias alias = { pp_copy_text(path), pp_copy_text(name) };
    if (!alias.path || !alias.name) {
        free(alias.path);
        free(alias.name);
        return pp_err_nomem(err);
    }
    console->alias[console->aliases++] = alias;
    return PP_OK;
}

const char *pp_console_name(const char *path)
{
    for (size_t i = 0; current && i < current->aliases; i++) {
        if (strcmp(current->alias[i].path, path) == 0)
            return current->alias[i].name;
    }
    return path;
}

void pp_console_progress(const pp_console *console, const char *line)
{
    if (console->progress)
        console->progress(console->context, line);
}

pp_status pp_console_write(pp_console *console, const char *name, const char *text, size_t bytes,
                           pp_err *err)
{
    size_t i = 0;
    while (i < console->count && strcmp(console->file[i].name, name) != 0)
        i++;
    if (i == console->count) {
        void *grown = console->file;
        pp_status status =
            pp_grow(&grown, &console->capacity, console->count + 1, sizeof *console->file, err);
        if (status)
            return status;
        console->file = grown;
        char *own = pp_copy_text(name);
        if (!own)
            return pp_err_nomem(err);
        console->file[console->count++].name = own;
    }
    pp_text_add_bytes(&console->file[i].content, text, bytes);
    return pp_text_check(&console->file[i].content, err);
}

void pp_console_free(pp_console *console)
{
    for (size_t i = 0; i < console->count; i++) {
        free(console->file[i].name);
        pp_text_free(&console->file[i].content);
    }
    free(console->file);
    for (size_t i = 0; i < console->aliases; i++) {
        free(console->alias[i].path);
        free(console->alias[i].name);
    }
    free(console->alias);
    pp_text_free(&console->json);
    pp_text_free(&console->words);
    pp_text_free(&console->remarks);
    pp_timeline_free(&console->timeline);
    pp_program_free(&console->program);
    pp_plan_free(&console->plan);
    *console = (pp_console){ .keeps_files = false };
}
