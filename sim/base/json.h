/* JSON in and out, strictly: the only user of Jansson.
 *
 * Reading walks a document with cursors that remember how they were reached, so that every
 * message carries a place: file:line:column for syntax, file#/json/pointer for meaning.
 * Duplicate keys, NaN and numbers that overflow are refused; unknown keys by pp_json_only.
 * Writing builds a tree and prints it with sorted keys and 17 digits. */
#ifndef PPSIM_SIM_BASE_JSON_H
#define PPSIM_SIM_BASE_JSON_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pp_json pp_json; /* one JSON value and all below it */

typedef enum pp_json_kind {
    PP_JSON_NULL,
    PP_JSON_BOOL,
    PP_JSON_INT,
    PP_JSON_REAL,
    PP_JSON_TEXT,
    PP_JSON_ARRAY,
    PP_JSON_OBJECT,
} pp_json_kind;

/* A place inside a document. Valid while the document and the cursor it came from live. */
typedef struct pp_json_at {
    const pp_json *value;
    const struct pp_json_at *parent; /* NULL at the root */
    const char *key;                 /* of the parent object; NULL in an array */
    size_t index;                    /* in the parent array */
    const char *file;                /* root only: name for messages */
} pp_json_at;

/* text: need not end in NUL.  name: for messages.  Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_json_parse(const char *text, size_t bytes, const char *name,
                                      pp_json **json_out, pp_err *err);
/* A whole file, at most 1 GiB. Fails: IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_json_load(const char *path, pp_json **json_out, pp_err *err);
void pp_json_free(pp_json **json); /* for PP_CLEANUP; *json NULL is fine */

pp_json_at pp_json_root(const pp_json *json, const char *file);
pp_json_kind pp_json_kind_at(const pp_json_at *at);
/* Reports `status` INPUT at the place of `at`. */
pp_status pp_json_fail(const pp_json_at *at, pp_err *err, const char *format, ...) PP_PRINTF(3, 4);

/* The root must be an object with "format": format and 1 <= "version" <= version. */
PP_MUST_CHECK pp_status pp_json_check_format(const pp_json_at *root, const char *format,
                                             int version, pp_err *err);
/* keys: ends with NULL. An unknown key is an error that names the nearest known one. */
PP_MUST_CHECK pp_status pp_json_only(const pp_json_at *object, const char *const keys[],
                                     pp_err *err);
/* Present and not null. */
bool pp_json_has(const pp_json_at *object, const char *key);
/* Fails: INPUT when the key is absent or `object` is none. A null value is returned as it is. */
PP_MUST_CHECK pp_status pp_json_get(const pp_json_at *object, const char *key, pp_json_at *at_out,
                                    pp_err *err);
/* The index-th member, in the order of the file; false beyond the last or when it is no object. */
bool pp_json_member(const pp_json_at *object, size_t index, pp_json_at *at_out);
/* count_out: items of the array. Fails: INPUT when `at` is no array. */
PP_MUST_CHECK pp_status pp_json_count(const pp_json_at *at, size_t *count_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_item(const pp_json_at *array, size_t index, pp_json_at *at_out,
                                     pp_err *err);

/* The value at `at`. A range error names the range. text_out: lives as long as the document. */
PP_MUST_CHECK pp_status pp_json_read_int(const pp_json_at *at, int64_t low, int64_t high,
                                         int64_t *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_read_double(const pp_json_at *at, double low, double high,
                                            double *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_read_bool(const pp_json_at *at, bool *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_read_text(const pp_json_at *at, const char **text_out, pp_err *err);
/* The same for a member that must be there. */
PP_MUST_CHECK pp_status pp_json_get_int(const pp_json_at *object, const char *key, int64_t low,
                                        int64_t high, int64_t *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_get_double(const pp_json_at *object, const char *key, double low,
                                           double high, double *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_get_bool(const pp_json_at *object, const char *key, bool *value_out,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_json_get_text(const pp_json_at *object, const char *key,
                                         const char **text_out, pp_err *err);
/* Copies into `buffer`; a longer text is an error. */
PP_MUST_CHECK pp_status pp_json_get_name(const pp_json_at *object, const char *key, char *buffer,
                                         size_t size, pp_err *err);

/* Building. A failed allocation sets `failed`; later calls are harmless; pp_json_print reports it.
 * put and add take over `child`. key and text: UTF-8. */
typedef struct pp_json_build {
    bool failed;
} pp_json_build;

pp_json *pp_json_new_object(pp_json_build *build);
pp_json *pp_json_new_array(pp_json_build *build);
void pp_json_put(pp_json_build *build, pp_json *object, const char *key, pp_json *child);
void pp_json_put_int(pp_json_build *build, pp_json *object, const char *key, int64_t value);
void pp_json_put_double(pp_json_build *build, pp_json *object, const char *key, double value);
void pp_json_put_bool(pp_json_build *build, pp_json *object, const char *key, bool value);
/* text NULL writes null. */
void pp_json_put_text(pp_json_build *build, pp_json *object, const char *key, const char *text);
void pp_json_put_null(pp_json_build *build, pp_json *object, const char *key);
void pp_json_add(pp_json_build *build, pp_json *array, pp_json *child);
void pp_json_add_int(pp_json_build *build, pp_json *array, int64_t value);
void pp_json_add_double(pp_json_build *build, pp_json *array, double value);
void pp_json_add_text(pp_json_build *build, pp_json *array, const char *text);

/* Indented, keys sorted, ends with a newline. text_out: the caller's to free(). Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_json_print(const pp_json_build *build, const pp_json *json,
                                      char **text_out, size_t *bytes_out, pp_err *err);

/* The same on one line. */
PP_MUST_CHECK pp_status pp_json_print_line(const pp_json_build *build, const pp_json *json,
                                           char **text_out, size_t *bytes_out, pp_err *err);

/* Replaces the allocator of the JSON library, for tests that make allocations fail. */
void pp_json_set_alloc(void *(*allocate)(size_t), void (*release)(void *));

#endif
