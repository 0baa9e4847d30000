/* Reads and writes JSON strictly. json.c is the only user of Jansson.
 *
 * A document is read with cursors that remember how they were reached, so that every message names
 * a place: file:line:column for syntax, file#/json/pointer for meaning. Duplicate keys, NaN and
 * numbers that overflow are refused; pp_json_only refuses unknown keys.
 * To write, build a tree and print it; keys are sorted and numbers have 17 digits. */
#ifndef PPSIM_SIM_BASE_JSON_H
#define PPSIM_SIM_BASE_JSON_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pp_json pp_json; /* a JSON value with all values inside it */

typedef enum pp_json_kind {
    PP_JSON_NULL,
    PP_JSON_BOOL,
    PP_JSON_INT,
    PP_JSON_REAL,
    PP_JSON_TEXT,
    PP_JSON_ARRAY,
    PP_JSON_OBJECT,
} pp_json_kind;

/* A cursor: a place inside a document. It is valid as long as the document and the cursor from
 * which it was made. */
typedef struct pp_json_at {
    const pp_json *value;
    const struct pp_json_at *parent; /* NULL at the root */
    const char *key;                 /* key in the parent object; NULL in an array */
    size_t index;                    /* index in the parent array */
    const char *file;                /* name of the file in messages; only at the root */
} pp_json_at;

/* Parses a document. The text need not end in NUL. name: what messages call the file.
 * Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_json_parse(const char *text, size_t bytes, const char *name,
                                      pp_json **json_out, pp_err *err);
/* Parses a file of at most PP_FILE_BYTES_MAX (1 GiB). Fails: IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_json_load(const char *path, pp_json **json_out, pp_err *err);
void pp_json_free(pp_json **json); /* for PP_CLEANUP; *json NULL is fine */

pp_json_at pp_json_root(const pp_json *json, const char *file);
pp_json_kind pp_json_kind_at(const pp_json_at *at);
/* Reports an error at the place of `at` and returns INPUT. */
pp_status pp_json_fail(const pp_json_at *at, pp_err *err, const char *format, ...) PP_PRINTF(3, 4);

/* Checks that the root is an object with this "format" and with 1 <= "version" <= version.
 * Fails: INPUT. */
PP_MUST_CHECK pp_status pp_json_check_format(const pp_json_at *root, const char *format,
                                             int version, pp_err *err);
/* Checks that `object` has no keys but `keys`, which end with NULL.
 * Fails: INPUT with the nearest known key. */
PP_MUST_CHECK pp_status pp_json_only(const pp_json_at *object, const char *const keys[],
                                     pp_err *err);
/* Returns true if `object` has the key and its value is not null. */
bool pp_json_has(const pp_json_at *object, const char *key);
/* The member `key`, which may be null. Fails: INPUT when it is absent or `object` is not an object.
 */
PP_MUST_CHECK pp_status pp_json_get(const pp_json_at *object, const char *key, pp_json_at *at_out,
                                    pp_err *err);
/* The index-th member in the order of the file. Returns false beyond the last one, or when `object`
 * is not an object. */
bool pp_json_member(const pp_json_at *object, size_t index, pp_json_at *at_out);
/* The number of items of an array. Fails: INPUT when `at` is not an array. */
PP_MUST_CHECK pp_status pp_json_count(const pp_json_at *at, size_t *count_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_item(const pp_json_at *array, size_t index, pp_json_at *at_out,
                                     pp_err *err);

/* Read the value at `at`.
 * Fails: INPUT when it has another type or is outside [low, high]. *text_out lives as long as the
 * document. */
PP_MUST_CHECK pp_status pp_json_read_int(const pp_json_at *at, int64_t low, int64_t high,
                                         int64_t *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_read_double(const pp_json_at *at, double low, double high,
                                            double *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_read_bool(const pp_json_at *at, bool *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_read_text(const pp_json_at *at, const char **text_out, pp_err *err);
/* Read the value of a member. Fails: INPUT also when it is absent. */
PP_MUST_CHECK pp_status pp_json_get_int(const pp_json_at *object, const char *key, int64_t low,
                                        int64_t high, int64_t *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_get_double(const pp_json_at *object, const char *key, double low,
                                           double high, double *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_json_get_bool(const pp_json_at *object, const char *key, bool *value_out,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_json_get_text(const pp_json_at *object, const char *key,
                                         const char **text_out, pp_err *err);
/* Copies a member's text into `buffer`. Fails: INPUT when it does not fit. */
PP_MUST_CHECK pp_status pp_json_get_name(const pp_json_at *object, const char *key, char *buffer,
                                         size_t size, pp_err *err);
/* Like pp_json_get_name; a member that is absent or null leaves `buffer` as it is. */
PP_MUST_CHECK pp_status pp_json_get_optional_name(const pp_json_at *object, const char *key,
                                                  char *buffer, size_t size, pp_err *err);

/* State of building a tree. A failed allocation sets `failed`; later calls then do nothing, and
 * pp_json_print reports it. pp_json_put and pp_json_add take ownership of `child`. Keys and texts
 * are UTF-8. */
typedef struct pp_json_build {
    bool failed;
} pp_json_build;

pp_json *pp_json_new_object(pp_json_build *build);
pp_json *pp_json_new_array(pp_json_build *build);
void pp_json_put(pp_json_build *build, pp_json *object, const char *key, pp_json *child);
void pp_json_put_int(pp_json_build *build, pp_json *object, const char *key, int64_t value);
void pp_json_put_double(pp_json_build *build, pp_json *object, const char *key, double value);
void pp_json_put_bool(pp_json_build *build, pp_json *object, const char *key, bool value);
/* text: NULL writes null. */
void pp_json_put_text(pp_json_build *build, pp_json *object, const char *key, const char *text);
void pp_json_put_null(pp_json_build *build, pp_json *object, const char *key);
/* Removes a member, if there is one. */
void pp_json_drop(pp_json *object, const char *key);
void pp_json_add(pp_json_build *build, pp_json *array, pp_json *child);
void pp_json_add_int(pp_json_build *build, pp_json *array, int64_t value);
void pp_json_add_double(pp_json_build *build, pp_json *array, double value);
void pp_json_add_text(pp_json_build *build, pp_json *array, const char *text);

/* Prints with indentation, sorted keys and a final newline. The caller frees *text_out with free().
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_json_print(const pp_json_build *build, const pp_json *json,
                                      char **text_out, size_t *bytes_out, pp_err *err);

/* Like pp_json_print, on one line. */
PP_MUST_CHECK pp_status pp_json_print_line(const pp_json_build *build, const pp_json *json,
                                           char **text_out, size_t *bytes_out, pp_err *err);

/* Replaces the allocator of the JSON library, for tests that make allocations fail. */
void pp_json_set_alloc(void *(*allocate)(size_t), void (*release)(void *));

#endif
