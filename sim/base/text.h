/* Small helpers for names and for the "did you mean" of messages. */
#ifndef PPSIM_SIM_BASE_TEXT_H
#define PPSIM_SIM_BASE_TEXT_H

#include "sim/base/status.h"

#include <stddef.h>

/* Finds the name that is closest to `text` among those offered one by one. */
typedef struct pp_text_search {
    const char *text;
    const char *nearest; /* NULL: none offered so far is close */
    size_t distance;     /* of `nearest`; if that is NULL, the distance that names must undercut */
} pp_text_search;

pp_text_search pp_text_search_begin(const char *text);
/* name is not copied. */
void pp_text_search_offer(pp_text_search *search, const char *name);

#define PP_TEXT_HINT_BYTES 96

/* What stands between a hint and the clause that follows: ";", or nothing after a question mark. */
const char *pp_text_hint_end(const char *hint);

/* ", did you mean 'NAME'?", or "" when no name is close. Returns `hint`. */
const char *pp_text_search_hint(const pp_text_search *search, char hint[PP_TEXT_HINT_BYTES]);

/* The entry of `names` (ends with NULL) that is closest to `text`, or NULL when none is close. */
const char *pp_text_nearest(const char *text, const char *const names[]);
/* The hint for the entry of `names` that is closest to `text`. Returns `hint`. */
const char *pp_text_nearest_hint(const char *text, const char *const names[],
                                 char hint[PP_TEXT_HINT_BYTES]);

/* The number of bytes of the UTF-8 sequence at `c`; 0 when it is not valid. */
size_t pp_text_sequence(const char *c);

/* A growing text. All zero is an empty one. */
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
