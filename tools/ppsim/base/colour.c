/* Colour as escape sequences of ECMA-48 ("select graphic rendition"), in bold and the first eight
 * colours, which every terminal theme keeps readable. Texts hold marks from the start, a byte that
 * is not in UTF-8 and a digit, so that no sequence in a name or a file is taken for colour. The
 * function that writes them takes them out, or puts the sequences in their place. */
#include "tools/ppsim/base/colour.h"

#include "tools/ppsim/base/console.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK '\377'

/* The end of any colour, and the beginning of each. */
static const struct {
    const char *mark, *sequence;
} colours[] = {
    [PP_COLOUR_NONE] = { "\3770", "\033[0m" },
    [PP_COLOUR_ANSWER] = { "\3771", "\033[1m" },
    [PP_COLOUR_GOOD] = { "\3772", "\033[32m" },
    [PP_COLOUR_BAD] = { "\3773", "\033[31m" },
};

const char *pp_colour_begin(pp_colour colour)
{
    return colour == PP_COLOUR_NONE ? "" : colours[colour].mark;
}

const char *pp_colour_end(pp_colour colour)
{
    return colour == PP_COLOUR_NONE ? "" : colours[PP_COLOUR_NONE].mark;
}

size_t pp_colour_mark(const char *c)
{
    return c[0] == MARK && c[1] >= '0' && c[1] <= '3' ? 2 : 0;
}

const char *pp_colour_sequence(const char *mark)
{
    return colours[mark[1] - '0'].sequence;
}

void pp_colour_strip(pp_text *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < text->bytes;) {
        const size_t skipped = pp_colour_mark(text->data + i);
        if (!skipped)
            text->data[kept++] = text->data[i];
        i += skipped ? skipped : 1;
    }
    text->bytes = kept;
    if (text->data)
        text->data[kept] = '\0';
}

bool pp_colour_is_wanted(void)
{
    if (pp_console_current())
        return false;
    const char *refused = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    /* mpirun gives its processes a terminal even if its own output is a file */
    const bool is_mpirun = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
    return (!refused || !*refused) && terminal && strcmp(terminal, "dumb") != 0 && !is_mpirun &&
           isatty(STDOUT_FILENO) == 1;
}
