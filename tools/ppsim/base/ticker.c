/* Shows the progress of long work: one line on a terminal, overwritten a few times per second. It
 * prints nothing to a pipe. */
#include "tools/ppsim/base/ticker.h"

#include "runtime/core/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SHOW_EVERY_NS 200000000

/* A line that is longer than the terminal is wide would be continued in the next one, where it is
 * not removed. */
void pp_ticker_line(const char *text)
{
    struct winsize size;
    size_t bytes = strlen(text);
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && bytes >= size.ws_col) {
        bytes = size.ws_col - 1U;
        while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80) /* within a character */
            bytes--;
    }
    fprintf(stderr, "\r\033[K%.*s", (int)bytes, text);
}

pp_ticker pp_ticker_begin(const char *unit, size_t before)
{
    return (pp_ticker){ .unit = unit,
                        .before = before,
                        .console = pp_console_current(),
                        .shows = pp_console_current() || isatty(STDERR_FILENO) == 1,
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
    char left[96] = "";
    char line[512];
    if (rate > 0)
        snprintf(left, sizeof left, ", %.1f %s/s, %.0f s left", rate, ticker->unit,
                 (double)(total - done) / rate);
    snprintf(line, sizeof line, "%.300s%s%zu of %zu %s%s", what, *what ? ": " : "", done, total,
             ticker->unit, left);
    if (ticker->console)
        pp_console_progress(ticker->console, line);
    else
        pp_ticker_line(line);
}

void pp_ticker_end(const pp_ticker *ticker)
{
    if (ticker->shown_ns && !ticker->console)
        pp_ticker_line("");
}
