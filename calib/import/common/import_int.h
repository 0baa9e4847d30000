/* What several importers share: lines, words, numbers, and notes of what was skipped. */
#ifndef PPSIM_CALIB_IMPORT_COMMON_IMPORT_INT_H
#define PPSIM_CALIB_IMPORT_COMMON_IMPORT_INT_H

#include "calib/import/imports.h"

/* A piece of the text; not NUL-ended. */
typedef struct pp_span {
    const char *at;
    size_t bytes;
} pp_span;

bool pp_span_is(pp_span span, const char *text);
bool pp_span_begins(pp_span span, const char *text);
/* Where `text` begins in the span, or NULL. */
const char *pp_span_find(pp_span span, const char *text);
/* All of it, without sign. A file's numbers beyond `high` are refused. */
bool pp_span_int(pp_span span, int64_t high, int64_t *value_out);
/* All of it: digits, at most one point, an exponent; no sign, no hexadecimal, no NaN. */
bool pp_span_real(pp_span span, double *value_out);
/* Cuts the next word off `rest`; false at its end. Blanks, tabs and carriage returns part words. */
bool pp_span_word(pp_span *rest, pp_span *word_out);
/* Into a buffer, cut to fit; what is not printable ASCII becomes '?'. */
void pp_span_copy(pp_span span, char *buffer, size_t size);
/* The part of `path` behind its last slash: no directories of one machine end up in a profile. */
const char *pp_file_name(const char *path);

/* Goes through the lines of a text. */
typedef struct pp_lines {
    const char *next, *end;
    size_t number; /* of `line`, from 1 */
    pp_span line;  /* without its end */
} pp_lines;

pp_lines pp_lines_of(const char *text, size_t bytes);
bool pp_lines_next(pp_lines *lines);

/* What was left out: one entry per reason. Owner frees with pp_skips_free. */
enum { PP_SKIPS_MAX = 64 };
typedef struct pp_skip {
    char reason[160];
    size_t first, last, count; /* lines, or 0 */
} pp_skip;
typedef struct pp_skips {
    pp_skip *note;
    size_t count, capacity;
    size_t beyond; /* that had another reason than the first PP_SKIPS_MAX */
    bool failed;   /* memory ran out: reported by pp_skips_finish */
} pp_skips;

/* line 0: about the file as a whole. */
void pp_skip_add(pp_skips *notes, size_t line, const char *format, ...) PP_PRINTF(3, 4);
void pp_skips_free(pp_skips *notes);
/* Moves the notes to samples->skipped. When no sample was read, fails with INPUT: `nothing` and
 * the first note. */
PP_MUST_CHECK pp_status pp_skips_finish(const pp_skips *notes, const char *file,
                                        const char *nothing, pp_samples *samples, pp_err *err);

#endif
