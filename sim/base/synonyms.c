/* Compares a typed name with a name that exists: without regard to case, '-', '_' and blanks, and
 * through the table of synonyms. Linear in the table, which only bad input reaches. */
#include "sim/base/synonyms.h"

#include <ctype.h>
#include <string.h>

#define NAME_BYTES 64 /* longer names are cut */
#define PART_LEAST 4  /* least bytes of a name that counts when it is a part of the typed one */

typedef struct synonym {
    const char *noun, *typed, *names; /* the latter two are lists, separated by blanks */
} synonym;

static const synonym synonyms[] = {
#define PP_SYNONYM(noun, typed, names) { noun, typed, names },
#include "sim/base/synonyms.def"
#undef PP_SYNONYM
};

enum { SYNONYMS = sizeof synonyms / sizeof synonyms[0] };

/* Writes the first `bytes` of a name in lower case, without '-', '_' and blanks. */
static void simplify(const char *name, size_t bytes, char out[NAME_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < bytes && used + 1 < NAME_BYTES; i++) {
        if (!strchr("-_ ", name[i]))
            out[used++] = (char)tolower((unsigned char)name[i]);
    }
    out[used] = '\0';
}

/* Compares `word`, in its simple form, with the entries of a list. */
static size_t find_word(const char *list, const char *word)
{
    size_t found = 0;
    while (*list && found != PP_LIKENESS_SAME) {
        char entry[NAME_BYTES];
        const size_t bytes = strcspn(list, " ");
        simplify(list, bytes, entry);
        const size_t length = strlen(entry);
        if (strcmp(entry, word) == 0)
            found = PP_LIKENESS_SAME;
        else if (length >= PART_LEAST && length > found && strstr(word, entry))
            found = length;
        list += bytes + (list[bytes] == ' ');
    }
    return found;
}

/* Returns whether a list has this name. */
static bool lists(const char *list, const char *name)
{
    char word[NAME_BYTES];
    simplify(name, strlen(name), word);
    return find_word(list, word) == PP_LIKENESS_SAME;
}

size_t pp_name_likeness(const char *noun, const char *typed, const char *name)
{
    char word[NAME_BYTES];
    char simple[NAME_BYTES];
    simplify(typed, strlen(typed), word);
    simplify(name, strlen(name), simple);
    const size_t bytes = strlen(word);
    if (!bytes)
        return 0;
    size_t found = strncmp(simple, word, bytes) == 0 ? bytes : 0;
    if (noun || strcmp(simple, word) == 0) {
        const size_t here = find_word(simple, word);
        found = here > found ? here : found;
    }
    for (size_t i = 0; noun && i < SYNONYMS; i++) {
        const synonym *s = &synonyms[i];
        if (strcmp(s->noun, noun) != 0 || !lists(s->names, name))
            continue;
        const size_t here = find_word(s->typed, word);
        found = here > found ? here : found;
    }
    return found;
}

bool pp_hardware_alias(const char *typed, const char *name)
{
    return pp_name_likeness("hardware", typed, name) == PP_LIKENESS_SAME;
}

bool pp_model_alias(const char *typed, const char *name)
{
    for (size_t i = 0; i < SYNONYMS; i++) {
        const synonym *s = &synonyms[i];
        if (strcmp(s->noun, "same model") == 0 && lists(s->names, name) && lists(s->typed, typed))
            return true;
    }
    return false;
}
