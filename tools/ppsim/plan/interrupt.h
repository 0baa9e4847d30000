/* SIGINT during a search: the first ends the search with what it has found so far. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_INTERRUPT_H
#define PPSIM_TOOLS_PPSIM_PLAN_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* Between begin and end the first SIGINT only makes pp_interrupted return true; the search ends
 * with the best result so far. A second SIGINT ends the program. `before` keeps the former handler.
 */
void pp_interrupt_begin(struct sigaction *before);
void pp_interrupt_end(const struct sigaction *before);
bool pp_interrupted(void);

#endif
