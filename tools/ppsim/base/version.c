/* ppsim --version: the libraries and programs that this build was made with, from the table that
 * cmake/Features.cmake writes. */
#include "tools/ppsim/base/version.h"

#include "tools/ppsim/base/words.h"

#include <stdbool.h>
#include <stdio.h>

#define WORDS_COLUMN 24

typedef struct part {
    const char *name;
    bool here;
    const char *version; /* version that the build found */
    const char *licence; /* SPDX where there is one */
    const char *use;
} part;

static const part parts[] = {
#include "tools/ppsim/base/parts.inc" /* made by cmake/Features.cmake */
};

void pp_version_print(pp_text *text)
{
    pp_text_add(text,
                "ppsim %s\nlicence GPL-3.0-or-later with permission to link CUDA libraries\n\n",
                PPSIM_VERSION);
    pp_text_add(text, "part      here version  its licence: what it is for\n");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char words[256];
        snprintf(words, sizeof words, "%s: %s", parts[i].licence, parts[i].use);
        pp_text_add(text, "%-9s %-4s %-8s ", parts[i].name, parts[i].here ? "yes" : "no",
                    parts[i].version);
        pp_print_words(text, words, WORDS_COLUMN, WORDS_COLUMN);
    }
}
