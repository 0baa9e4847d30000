/* What an import leaves out of a file: one note per reason, with how often and where. */
#ifndef PPSIM_CALIB_IMPORT_COMMON_SKIPS_H
#define PPSIM_CALIB_IMPORT_COMMON_SKIPS_H

#include "calib/samples/samples.h"

enum { PP_SKIPS_MAX = 64 };

typedef struct pp_skip {
    char reason[160];
    size_t first, last, count; /* lines, or 0 */
} pp_skip;

/* All zero is empty. The owner frees it with pp_skips_free. */
typedef struct pp_skips {
    pp_skip *note;
    size_t count, capacity;
    size_t beyond; /* number of notes whose reason came after PP_SKIPS_MAX others */
    bool failed;   /* memory ran out: reported by pp_skips_finish */
} pp_skips;

/* Notes that something was left out, for the reason that is printed. line: the line of the file
 * that the note is about; 0: the whole file. */
void pp_skip_add(pp_skips *notes, size_t line, const char *format, ...) PP_PRINTF(3, 4);
void pp_skips_free(pp_skips *notes);
/* Moves the notes to samples->skipped. When no sample was read, fails with INPUT: `nothing` and
 * the first note. */
PP_MUST_CHECK pp_status pp_skips_finish(const pp_skips *notes, const char *file,
                                        const char *nothing, pp_samples *samples, pp_err *err);

/* Returns the part of `path` after its last slash, so that profiles hold no directories. */
const char *pp_file_name(const char *path);

#endif
