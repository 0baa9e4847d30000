/* SIGINT during a search or a sweep. The handler sets a flag that these poll, and is installed for
 * one signal only (SA_RESETHAND), so that a second one ends the program. */
#include "tools/ppsim/plan/interrupt.h"

#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static void interrupt_and_say(int signal_number)
{
    static const char words[] =
        "\nppsim: interrupted; finishing the points in progress (^C again ends at once)\n";
    interrupt(signal_number);
    ssize_t ignored = write(STDERR_FILENO, words, sizeof words - 1);
    (void)ignored;
}

bool pp_interrupted(const pp_console *console)
{
    return console ? console->stop && *console->stop : interrupted;
}

void pp_interrupt_begin(bool say, struct sigaction *before)
{
    struct sigaction now = { .sa_handler = say ? interrupt_and_say : interrupt,
                             .sa_flags = (int)SA_RESETHAND };
    if (pp_console_current())
        return;
    sigemptyset(&now.sa_mask);
    sigaction(SIGINT, &now, before);
}

void pp_interrupt_end(const struct sigaction *before)
{
    if (!pp_console_current())
        sigaction(SIGINT, before, NULL);
}

void pp_interrupt_die(void)
{
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
}
