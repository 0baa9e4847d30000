/* What an import leaves out, counted by reason. A linear search is enough, since
 * there are at most PP_SKIPS_MAX reasons. */
#include "calib/import/common/skips.h"

#include "sim/base/alloc.h"
#include "sim/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pp_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void pp_skip_add(pp_skips *notes, size_t line, const char *format, ...)
{
    char reason[sizeof notes->note->reason];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    for (size_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->note[i].reason, reason) == 0) {
            notes->note[i].last = line;
            notes->note[i].count++;
            return;
        }
    }
    if (notes->count == PP_SKIPS_MAX) {
        notes->beyond++;
        return;
    }
    void *all = notes->note;
    if (pp_grow(&all, &notes->capacity, notes->count + 1, sizeof *notes->note, NULL)) {
        notes->failed = true;
        return;
    }
    notes->note = all;
    pp_skip *note = &notes->note[notes->count++];
    *note = (pp_skip){ .first = line, .last = line, .count = 1 };
    memcpy(note->reason, reason, sizeof reason);
}

void pp_skips_free(pp_skips *notes)
{
    free(notes->note);
    *notes = (pp_skips){ 0 };
}

static bool has_samples(const pp_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (samples->series[i].count)
            return true;
    }
    return false;
}

pp_status pp_skips_finish(const pp_skips *notes, const char *file, const char *nothing,
                          pp_samples *samples, pp_err *err)
{
    char where[256];
    if (notes->failed)
        return pp_err_nomem(err);
    if (!has_samples(samples)) {
        const pp_skip *first = notes->count ? &notes->note[0] : NULL;
        snprintf(where, sizeof where, "%.200s:%zu", file, first && first->first ? first->first : 1);
        return pp_err_set(err, PP_INPUT, where, "%s%s%s", nothing, first ? "; skipped: " : "",
                          first ? first->reason : "");
    }
    pp_text text = { 0 };
    const char *name = pp_file_name(file); /* the notes are stored in profiles */
    for (size_t i = 0; i < notes->count; i++) {
        const pp_skip *note = &notes->note[i];
        pp_text_add(&text, "%.200s", name);
        if (note->first)
            pp_text_add(&text, ":%zu", note->first);
        pp_text_add(&text, ": %s", note->reason);
        if (note->count > 1 && note->last)
            pp_text_add(&text, " (%zu times, the last in line %zu)", note->count, note->last);
        else if (note->count > 1)
            pp_text_add(&text, " (%zu times)", note->count);
        pp_text_add(&text, "\n");
    }
    if (notes->beyond)
        pp_text_add(&text, "%.200s: %zu more, for other reasons\n", name, notes->beyond);
    pp_status status = pp_text_check(&text, err);
    if (status || !text.data) {
        pp_text_free(&text);
        return status;
    }
    samples->skipped = text.data;
    return PP_OK;
}
