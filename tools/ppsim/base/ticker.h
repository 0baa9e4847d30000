/* Shows the progress of long work in one line of a terminal. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_TICKER_H
#define PPSIM_TOOLS_PPSIM_BASE_TICKER_H

#include "tools/ppsim/base/console.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The progress of long work, shown on a terminal with its rate and the time left. Nothing is
 * printed to a pipe. */
typedef struct pp_ticker {
    const char *unit;          /* plural name of a unit, such as "points" */
    size_t before;             /* units that were done before the ticker began */
    const pp_console *console; /* what is shown goes there; NULL: to stderr */
    bool shows;
    int64_t begin_ns, shown_ns;
} pp_ticker;

pp_ticker pp_ticker_begin(const char *unit, size_t before);
/* Prints "what: 3 of 10 points, 1.2 points/s, 6 s left", at most a few times per second. `what` may
 * be "". */
void pp_ticker_show(pp_ticker *ticker, const char *what, size_t done, size_t total);
void pp_ticker_end(const pp_ticker *ticker); /* removes the line */
/* Writes a line in place of the one that is shown, as much of it as the terminal is wide. */
void pp_ticker_line(const char *text);

#endif
