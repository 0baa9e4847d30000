/* Colour as escape sequences of ECMA-48 ("select graphic rendition"), in bold and the first eight
 * colours, which every terminal theme keeps readable. Texts hold the sequences from the start; the
 * function that writes them takes them out unless they are wanted. */
#include "tools/ppsim/base/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *pp_colour_begin(pp_colour colour)
{
    static const char *const sequences[] = {
        [PP_COLOUR_NONE] = "",
        [PP_COLOUR_ANSWER] = "\033[1m",
        [PP_COLOUR_GOOD] = "\033[32m",
        [PP_COLOUR_BAD] = "\033[31m",
    };
    return sequences[colour];
}

const char *pp_colour_end(pp_colour colour)
{
    return colour == PP_COLOUR_NONE ? "" : "\033[0m";
}

size_t pp_colour_sequence(const char *c)
{
    if (c[0] != '\033' || c[1] != '[')
        return 0;
    const size_t digits = strspn(c + 2, "0123456789;");
    return c[2 + digits] == 'm' ? digits + 3 : 0;
}

void pp_colour_strip(pp_text *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < text->bytes;) {
        const size_t skipped = pp_colour_sequence(text->data + i);
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
    const char *refused = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    /* mpirun gives its processes a terminal even if its own output is a file */
    const bool is_mpirun = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
    return (!refused || !*refused) && terminal && strcmp(terminal, "dumb") != 0 && !is_mpirun &&
           isatty(STDOUT_FILENO) == 1;
}
