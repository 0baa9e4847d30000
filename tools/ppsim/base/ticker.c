/* Shows the progress of long work: one line on a terminal, overwritten a few times per second. It
 * prints nothing to a pipe. */
#include "tools/ppsim/base/ticker.h"

#include "runtime/core/clock.h"

#include <stdio.h>
#include <unistd.h>

#define SHOW_EVERY_NS 200000000

pp_ticker pp_ticker_begin(const char *unit, size_t before)
{
    return (pp_ticker){ .unit = unit,
                        .before = before,
                        .shows = isatty(STDERR_FILENO) == 1,
                        .begin_ns = pp_clock_now_ns() };
}

void pp_ticker_show(pp_ticker *ticker, const char *what, size_t done, size_t total)
{
    const int64_t now_ns = pp_clock_now_ns();
    if (!ticker->shows || now_ns - ticker->shown_ns < SHOW_EVERY_NS)
        return;
    const double seconds = (double)(now_ns - ticker->begin_ns) * 1e-9;
    const double rate =
        done > ticker->before && seconds > 0 ? (double)(done - ticker->before) / seconds : 0;
    ticker->shown_ns = now_ns;
    fprintf(stderr, "\r\033[K%s%s%zu of %zu %s", what, *what ? ": " : "", done, total,
            ticker->unit);
    if (rate > 0)
        fprintf(stderr, ", %.1f %s/s, %.0f s left", rate, ticker->unit,
                (double)(total - done) / rate);
}

void pp_ticker_end(const pp_ticker *ticker)
{
    if (ticker->shown_ns)
        fputs("\r\033[K", stderr);
}
