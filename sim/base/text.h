/* Small helpers for names and for the "did you mean" of messages. */
#ifndef PPSIM_SIM_BASE_TEXT_H
#define PPSIM_SIM_BASE_TEXT_H

#include "sim/base/status.h"

#include <stddef.h>

#define PP_TEXT_NEAREST_MAX 4

/* Finds the names that are closest to `text` among those offered one by one: first those that mean
 * the same, then those that one is a part of the other, then the one with the fewest different
 * letters. */
typedef struct pp_text_search {
    const char *noun; /* the kind of name, such as "schedule"; NULL: synonyms are not used */
    const char *text;
    const char *nearest[PP_TEXT_NEAREST_MAX];
    size_t count;
    size_t distance; /* of `nearest`; without one, the distance that names must undercut */
    size_t alike;    /* similarity of the names (pp_name_likeness); 0: compared by their letters
                        only */
} pp_text_search;

pp_text_search pp_text_search_begin(const char *noun, const char *text);
/* name is not copied. */
void pp_text_search_offer(pp_text_search *search, const char *name);

#define PP_TEXT_HINT_BYTES 256

/* The punctuation between a hint and the clause that follows: ";", or nothing after a question
 * mark. */
const char *pp_text_hint_end(const char *hint);

/* ", did you mean 'NAME' or 'OTHER'?", or "" when no name is close. Returns `hint`. */
const char *pp_text_search_hint(const pp_text_search *search, char hint[PP_TEXT_HINT_BYTES]);

/* The entry of `names` (ends with NULL) that is closest to `text`, or NULL when none is close. */
const char *pp_text_nearest(const char *text, const char *const names[]);
/* The hint for the entries of `names` that are closest to `text`; noun as in pp_text_search.
 * Returns `hint`. */
const char *pp_text_nearest_hint(const char *noun, const char *text, const char *const names[],
                                 char hint[PP_TEXT_HINT_BYTES]);

/* The number of bytes of the UTF-8 sequence at `c`; 0 when it is not valid. */
size_t pp_text_sequence(const char *c);

/* A text that can grow. All zero is an empty text. */
typedef struct pp_text {
    char *data; /* NULL until something was added, then NUL-terminated */
    size_t bytes, capacity;
    int failed; /* an allocation failed, so that data is incomplete */
} pp_text;

void pp_text_add(pp_text *text, const char *format, ...) PP_PRINTF(2, 3);
void pp_text_add_bytes(pp_text *text, const char *bytes, size_t count);
void pp_text_free(pp_text *text);
/* Fails: NOMEM when an earlier addition failed. */
PP_MUST_CHECK pp_status pp_text_check(const pp_text *text, pp_err *err);

#endif
