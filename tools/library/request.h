/* Inside of the library: requests, and the statuses of its functions. */
#ifndef PPSIM_TOOLS_LIBRARY_REQUEST_H
#define PPSIM_TOOLS_LIBRARY_REQUEST_H

#include "tools/library/ppsim.h"
#include "tools/ppsim/base/command.h"
#include "tools/ppsim/base/console.h"

#include <locale.h>

struct ppsim_request {
    const pp_command *command;
    char **word; /* [words]: "ppsim", the command's name, options, their values, and words */
    size_t words, word_capacity;
    pp_console_input *input; /* [inputs]; owns names and contents */
    size_t inputs, input_capacity;
    bool keeps_files;
    const volatile sig_atomic_t *stop;
    void (*progress)(void *context, const char *line);
    void *context;
};

/* Numbers are read and written with a point, whatever locale the program has chosen. */
typedef struct ppsim_plain {
    locale_t plain, before;
} ppsim_plain;

ppsim_plain ppsim_plain_begin(void);
void ppsim_plain_end(const ppsim_plain *locales);

/* A console for a run of the request, which has its inputs and functions. */
pp_console ppsim_console_of(const ppsim_request *request);
/* Takes them away again: the request may be freed afterwards. */
void ppsim_console_leave(pp_console *console);

/* Writes what `err` says into *error, unless that is NULL. Returns its status. */
ppsim_status ppsim_report(const pp_err *err, ppsim_error *error);
/* The same if `err` has a status; else clears *error. */
ppsim_status ppsim_finish(const pp_err *err, ppsim_error *error);

#endif
