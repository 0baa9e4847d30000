/* ppsim --version: what this build was made of. */
#include "tools/tool.h"

typedef struct part {
    const char *name;
    bool here;
    const char *version; /* when it was built */
    const char *licence; /* SPDX where there is one */
    const char *use;
} part;

static const part parts[] = {
#include "tools/parts.inc" /* made by cmake/Features.cmake */
};

void pp_version_print(pp_text *text)
{
    pp_text_add(text,
                "ppsim %s\nlicence GPL-3.0-or-later with permission to link CUDA libraries\n\n"
                "%-9s %-4s %-8s %-38s %s\n",
                PPSIM_VERSION, "part", "here", "version", "its licence", "for");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        pp_text_add(text, "%-9s %-4s %-8s %-38s %s\n", parts[i].name, parts[i].here ? "yes" : "no",
                    parts[i].version, parts[i].licence, parts[i].use);
}
