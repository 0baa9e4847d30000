/* Shows on a terminal how long a search has taken, and the best so far. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_PROGRESS_H
#define PPSIM_TOOLS_PPSIM_BASE_PROGRESS_H

#include "tools/ppsim/base/console.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* One line of stderr, which a thread of its own writes. Nothing is written to a pipe, nor in the
 * first second. */
typedef struct pp_progress_line {
    const pp_console *console; /* what is shown goes there, without a thread; NULL: to stderr */
    bool runs;                 /* the thread was started */
    bool shown, ended;
    int64_t begin_ns, end_ns;
    char best[160];
    pthread_t thread;
    pthread_mutex_t lock; /* protects `ended` and `best` */
    pthread_cond_t end;
} pp_progress_line;

/* begin_ns: when the command began; end_ns: when its budget ends, 0: it has none. The line must
 * stay in its place until it ends. */
void pp_progress_line_begin(pp_progress_line *line, int64_t begin_ns, int64_t end_ns);
/* best: what is shown from now on, such as "step 9.4 s (zbv, tp 8)". Any thread may call it. */
void pp_progress_line_set(pp_progress_line *line, const char *best);
/* Removes the line until it is shown again, since something else is written. */
void pp_progress_line_hide(pp_progress_line *line);
/* Removes the line. Does nothing for a line that is all zero or has ended. */
void pp_progress_line_end(pp_progress_line *line);

#endif
