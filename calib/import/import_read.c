/* Reads a file of measurements by the import that it names, or by the first one that recognises its
 * content, and appends what it holds to the samples of earlier files. */
#include "calib/import/import_read.h"

#include "calib/import/common/skips.h"
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "sim/base/text.h"
#include "traces/read/gzip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the text is UTF-16, which PowerShell writes when output is redirected. */
static bool is_utf16(const char *text, size_t bytes)
{
    return bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
}

static pp_status recognise(const char *text, size_t bytes, const char *file,
                           const pp_import **import_out, pp_err *err)
{
    pp_text known = { 0 };
    for (size_t i = 0; i < pp_import_count(); i++) {
        if (pp_import_at(i)->recognise(text, bytes)) {
            *import_out = pp_import_at(i);
            return PP_OK;
        }
    }
    for (size_t i = 0; i < pp_import_count(); i++)
        pp_text_add(&known, "%s%s", i ? ", " : "", pp_import_at(i)->name);
    pp_status status = pp_text_check(&known, err);
    if (!status)
        status = pp_err_set(
            err, PP_INPUT, file, "%s; formats that can be imported: %s. FORMAT=FILE chooses one",
            bytes ? "is not in a known format of measurements" : "is empty", known.data);
    pp_text_free(&known);
    return status;
}

static pp_status join_skipped(pp_samples *samples, const char *more, pp_err *err)
{
    if (!more)
        return PP_OK;
    size_t before = samples->skipped ? strlen(samples->skipped) : 0;
    size_t added = strlen(more);
    char *joined = realloc(samples->skipped, before + added + 1);
    if (!joined)
        return pp_err_nomem(err);
    memcpy(joined + before, more, added + 1);
    samples->skipped = joined;
    return PP_OK;
}

/* A profile has one device: adds a note if the files name different devices, or some name none. */
static pp_status note_device(const pp_samples *from, const char *file, pp_samples *samples,
                             pp_err *err)
{
    char note[512];
    const char *name = pp_file_name(file);
    if (samples->count == 0 || strcmp(samples->device, from->device) == 0)
        return PP_OK;
    if (samples->device[0] && from->device[0])
        snprintf(note, sizeof note, "%.200s: was measured on %.100s, other files on %.100s\n", name,
                 from->device, samples->device);
    else if (from->device[0])
        snprintf(note, sizeof note,
                 "%.200s: was measured on %.100s; the files before it do not name their device\n",
                 name, from->device);
    else
        snprintf(note, sizeof note,
                 "%.200s: does not name the device it was measured on; other files were measured "
                 "on %.100s\n",
                 name, samples->device);
    return join_skipped(samples, note, err);
}

/* Moves the series of `from` to the end of `samples`; none is moved if it fails. */
static pp_status merge(pp_samples *from, const char *file, pp_samples *samples, pp_err *err)
{
    void *all = samples->series;
    pp_status status = pp_grow(&all, &samples->capacity, samples->count + from->count,
                               sizeof *samples->series, err);
    if (status)
        return status;
    samples->series = all;
    if ((status = note_device(from, file, samples, err)) ||
        (status = join_skipped(samples, from->skipped, err)))
        return status;
    if (!samples->device[0])
        memcpy(samples->device, from->device, sizeof samples->device);
    if (from->count)
        memcpy(samples->series + samples->count, from->series, from->count * sizeof *from->series);
    samples->count += from->count;
    from->count = 0;
    return PP_OK;
}

pp_status pp_import_read(const pp_import *import, const char *text, size_t bytes, const char *file,
                         pp_samples *samples, pp_err *err)
{
    pp_samples found PP_CLEANUP(pp_samples_free) = { 0 };
    char *unpacked PP_CLEANUP(pp_free_text) = NULL;
    pp_status status = PP_OK;
    if (pp_gzip_recognise(text, bytes)) {
        status = pp_gunzip(text, bytes, PP_FILE_BYTES_MAX, file, &unpacked, &bytes, err);
        text = unpacked;
    }
    if (!status && is_utf16(text, bytes))
        status =
            pp_err_set(err, PP_INPUT, file, "is UTF-16; convert it with iconv -f UTF-16 -t UTF-8");
    if (!status && !import)
        status = recognise(text, bytes, file, &import, err);
    if (!status)
        status = import->read(text, bytes, file, &found, err);
    return status ? status : merge(&found, file, samples, err);
}

pp_status pp_import_argument(const char *argument, pp_samples *samples, pp_err *err)
{
    const char *path = argument;
    const pp_import *import = NULL;
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < pp_import_count() && !import; i++) {
        size_t length = strlen(pp_import_at(i)->name);
        if (strncmp(argument, pp_import_at(i)->name, length) == 0 && argument[length] == '=') {
            import = pp_import_at(i);
            path = argument + length + 1;
        }
    }
    pp_status status = pp_file_read(path, &text, &bytes, err);
    return status ? status : pp_import_read(import, text, bytes, path, samples, err);
}
