/* SIGINT during a search. The handler sets a flag that the search polls, and is installed for one
 * signal only (SA_RESETHAND), so that a second one ends the program. */
#include "tools/ppsim/plan/interrupt.h"

#include <stddef.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

bool pp_interrupted(void)
{
    return interrupted;
}

void pp_interrupt_begin(struct sigaction *before)
{
    struct sigaction now = { .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&now.sa_mask);
    sigaction(SIGINT, &now, before);
}

void pp_interrupt_end(const struct sigaction *before)
{
    sigaction(SIGINT, before, NULL);
}
