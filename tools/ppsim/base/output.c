/* Prints products to stdout or -o FILE, compressed if the name ends in .gz, and remarks to
 * stderr. In a thread that has a console (console.h) all of it goes there, with the same bytes. */
#include "tools/ppsim/base/output.h"

#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/base/escape.h"
#include "traces/read/gzip.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pp_status pp_print_stdout(const char *text, size_t bytes, pp_err *err)
{
    pp_text shown PP_CLEANUP(pp_text_free) = { 0 };
    pp_escape_add(&shown, text, bytes, "\n\t", pp_colour_is_wanted());
    pp_status status = pp_text_check(&shown, err);
    if (status)
        return status;
    if (pp_console_current())
        return pp_console_write(pp_console_current(), "-", shown.data, shown.bytes, err);
    if (fwrite(shown.data, 1, shown.bytes, stdout) == shown.bytes && fflush(stdout) == 0)
        return PP_OK;
    if (errno == EPIPE) /* the command continues: files and exit status are the same */
        return PP_OK;
    return pp_err_set(err, PP_IO, "stdout", "%s", strerror(errno));
}

static bool keeps_files(void)
{
    return pp_console_current() && pp_console_current()->keeps_files;
}

pp_status pp_output_write(const char *path, const char *text, size_t bytes, pp_err *err)
{
    return keeps_files() ? pp_console_write(pp_console_current(), path, text, bytes, err)
                         : pp_file_write(path, text, bytes, err);
}

pp_status pp_output_stage(const char *path, const char *text, size_t bytes,
                          pp_staged_file *staged_out, pp_err *err)
{
    if (!keeps_files())
        return pp_file_stage(path, text, bytes, staged_out, err);
    *staged_out = (pp_staged_file){ .target = pp_copy_text(path) };
    return staged_out->target ? PP_OK : pp_err_nomem(err);
}

pp_status pp_output_commit(pp_staged_file *staged, const char *text, size_t bytes, pp_err *err)
{
    return keeps_files() ? pp_console_write(pp_console_current(), staged->target, text, bytes, err)
                         : pp_file_commit(staged, text, bytes, err);
}

pp_status pp_write_text(const char *path, const char *text, size_t bytes, pp_err *err)
{
    char *packed PP_CLEANUP(pp_free_text) = NULL;
    if (pp_gzip_named(path)) {
        pp_status status = pp_gzip(text, bytes, &packed, &bytes, err);
        return status ? status : pp_output_write(path, packed, bytes, err);
    }
    return strcmp(path, "-") == 0 ? pp_print_stdout(text, bytes, err)
                                  : pp_output_write(path, text, bytes, err);
}

/* What --emit and --trace write to stdout. */
typedef enum stdout_export { NO_EXPORT, TIMELINE, OTHER_EXPORT } stdout_export;

static stdout_export export_to_stdout(const pp_args *args)
{
    static const char *const options[] = { "--emit", "--trace" };
    stdout_export found = NO_EXPORT;
    for (size_t o = 0; o < 2; o++) {
        const char *request;
        for (size_t i = 0; (request = pp_args_each(args, options[o], i)); i++) {
            const char *equals = strchr(request, '=');
            if (!equals || strcmp(equals, "=-") != 0)
                continue;
            if (o == 0 || strncmp(request, "text=", 5) != 0 || pp_args_has(args, "--json"))
                return OTHER_EXPORT;
            found = TIMELINE;
        }
    }
    return found;
}

/* Keeps an answer as it would be printed. */
static pp_status keep(pp_text *answer, const char *text, size_t bytes, pp_err *err)
{
    pp_escape_add(answer, text, bytes, "\n\t", false);
    return pp_text_check(answer, err);
}

bool pp_prints_words(const pp_args *args)
{
    return pp_console_current() || !pp_args_has(args, "--json");
}

pp_status pp_print_product(const pp_args *args, const char *text, size_t bytes, pp_err *err)
{
    const char *path = pp_args_text(args, "-o");
    const stdout_export exported = path ? NO_EXPORT : export_to_stdout(args);
    if (exported == OTHER_EXPORT)
        return PP_OK; /* programs read one product */
    pp_status status = exported == TIMELINE ? pp_print_stdout("\n", 1, err) : PP_OK;
    return status ? status : pp_write_text(path ? path : "-", text, bytes, err);
}

pp_status pp_print_answer(const pp_args *args, pp_text *text, pp_err *err)
{
    const char *path = pp_args_text(args, "-o");
    pp_status status = pp_text_check(text, err);
    if (status)
        return status;
    const bool to_file = path && strcmp(path, "-") != 0;
    if (pp_console_current()) { /* the JSON is the product */
        pp_colour_strip(text);
        return keep(&pp_console_current()->words, text->data ? text->data : "", text->bytes, err);
    }
    if (to_file || !pp_colour_is_wanted())
        pp_colour_strip(text);
    if (!to_file)
        return pp_print_product(args, text->data, text->bytes, err);
    pp_text shown PP_CLEANUP(pp_text_free) = { 0 };
    pp_escape_add(&shown, text->data, text->bytes, "\n\t", false); /* somebody will show it */
    status = pp_text_check(&shown, err);
    return status ? status : pp_write_text(path, shown.data, shown.bytes, err);
}

pp_status pp_print_json(const pp_args *args, const pp_json_build *build, const pp_json *json,
                        pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_json_print(build, json, &text, &bytes, err);
    if (!status && pp_console_current())
        status = keep(&pp_console_current()->json, text, bytes, err);
    if (!status && pp_console_current() && !pp_args_has(args, "-o"))
        return PP_OK;
    return status ? status : pp_print_product(args, text, bytes, err);
}

pp_status pp_print_beside(bool is_json, const pp_text *text, pp_err *err)
{
    pp_console *console = pp_console_current();
    pp_status status = pp_text_check(text, err);
    if (status || !console)
        return status ? status : pp_print_stdout(text->data, text->bytes, err);
    return keep(is_json ? &console->json : &console->words, text->data ? text->data : "",
                text->bytes, err);
}

/* Adds a line to the remarks of a console. Several threads of a sweep may do so. */
static void note(pp_console *console, const char *words)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pp_text_add(&console->remarks, "%s\n", words);
    pthread_mutex_unlock(&lock);
}

/* Prints what follows "ppsim: " on stderr. Without memory it is left out. */
static void say(const char *words, const char *kept)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_escape_add(&text, words, strlen(words), kept, false);
    if (pp_console_current()) {
        note(pp_console_current(), text.failed || !text.data ? "" : text.data);
        return;
    }
    fprintf(stderr, "ppsim: %s\n", text.failed || !text.data ? "" : text.data);
}

void pp_complain(const pp_err *err)
{
    char words[sizeof err->where + sizeof err->text + 2];
    snprintf(words, sizeof words, "%s%s%s", err->where, err->where[0] ? ": " : "",
             err->text[0] ? err->text : pp_status_text(err->status));
    say(words, "\t");
}

void pp_remark(const char *format, ...)
{
    char *words PP_CLEANUP(pp_free_text) = NULL;
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    const int bytes = vsnprintf(NULL, 0, format, args);
    words = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
    if (words) {
        vsnprintf(words, (size_t)bytes + 1, format, again);
        say(words, "\n\t");
    }
    va_end(again);
    va_end(args);
}
