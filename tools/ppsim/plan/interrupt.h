/* SIGINT during a search or a sweep: the first one ends it with what it has so far. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_INTERRUPT_H
#define PPSIM_TOOLS_PPSIM_PLAN_INTERRUPT_H

#include "tools/ppsim/base/console.h"

#include <signal.h>
#include <stdbool.h>

/* Between begin and end the first SIGINT only makes pp_interrupted return true, and a second one
 * ends the program. say: at the first one, print that the points in progress will be finished.
 * `before` keeps the former handler. A thread with a console leaves signals to its program. */
void pp_interrupt_begin(bool say, struct sigaction *before);
void pp_interrupt_end(const struct sigaction *before);
/* console: of the thread that began. Its `stop` is asked instead of the signal; NULL: none. */
bool pp_interrupted(const pp_console *console);
/* Ends the program as SIGINT does without a handler, so that a shell sees the interrupt. */
void pp_interrupt_die(void);

#endif
