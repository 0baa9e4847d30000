/* JSON by Jansson: strict parsing, cursors that give messages their JSON Pointer (RFC 6901), and a
 * builder that remembers a failed allocation until the end. */
#include "sim/base/json.h"

#include "sim/base/file.h"
#include "sim/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* pp_json is json_t under another name, so that only this file includes Jansson's headers. */
static json_t *raw(pp_json *json)
{
    return (json_t *)(void *)json;
}

static const json_t *peek(const pp_json *json)
{
    return (const json_t *)(const void *)json;
}

static pp_json *wrap(json_t *json)
{
    return (pp_json *)(void *)json;
}

pp_status pp_json_parse(const char *text, size_t bytes, const char *name, pp_json **json_out,
                        pp_err *err)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    json_error_t at;
    json_error_t ignored;
    errno = 0;
    json_t *json = json_loadb(text, bytes, flags, &at);
    if (json) {
        *json_out = wrap(json);
        return PP_OK;
    }
    /* If an allocation fails, Jansson reports an empty text or a syntax error. The syntax error is
     * recognised because errno is ENOMEM or because a second attempt succeeds. */
    bool shortage = errno == ENOMEM || at.line < 0 || !at.text[0];
    json = json_loadb(text, bytes, flags, &ignored);
    if (json || shortage) {
        json_decref(json);
        return pp_err_nomem(err);
    }
    char where[256];
    snprintf(where, sizeof where, "%.200s:%d:%d", name, at.line, at.column);
    return pp_err_set(err, PP_INPUT, where, "not valid JSON: %s", at.text);
}

pp_status pp_json_load(const char *path, pp_json **json_out, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_file_read(path, &text, &bytes, err);
    if (status)
        return status;
    return pp_json_parse(text, bytes, path, json_out, err);
}

void pp_json_free(pp_json **json)
{
    json_decref(raw(*json));
    *json = NULL;
}

pp_json_at pp_json_root(const pp_json *json, const char *file)
{
    return (pp_json_at){ .value = json, .file = file };
}

pp_json_kind pp_json_kind_at(const pp_json_at *at)
{
    switch (json_typeof(peek(at->value))) {
    case JSON_OBJECT:
        return PP_JSON_OBJECT;
    case JSON_ARRAY:
        return PP_JSON_ARRAY;
    case JSON_STRING:
        return PP_JSON_TEXT;
    case JSON_INTEGER:
        return PP_JSON_INT;
    case JSON_REAL:
        return PP_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return PP_JSON_BOOL;
    case JSON_NULL:
        break;
    }
    return PP_JSON_NULL;
}

/* RFC 6901: ~ and / inside a key are written ~0 and ~1. */
static void print_key(const char *key, char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < 40 && key[i] && used + 2 < size; i++) {
        bool escaped = key[i] == '~' || key[i] == '/';
        buffer[used++] = escaped ? '~' : key[i];
        if (escaped)
            buffer[used++] = key[i] == '~' ? '0' : '1';
    }
    buffer[used] = '\0';
}

static size_t print_place(const pp_json_at *at, char *buffer, size_t size)
{
    char key[84];
    size_t used;
    if (!at->parent) {
        int n = snprintf(buffer, size, "%.160s#", at->file ? at->file : "");
        return n < 0 ? 0 : (size_t)n;
    }
    used = print_place(at->parent, buffer, size);
    if (used >= size)
        return used;
    if (at->key)
        print_key(at->key, key, sizeof key);
    int n = at->key ? snprintf(buffer + used, size - used, "/%s", key)
                    : snprintf(buffer + used, size - used, "/%zu", at->index);
    return used + (n < 0 ? 0 : (size_t)n);
}

pp_status pp_json_fail(const pp_json_at *at, pp_err *err, const char *format, ...)
{
    char where[256];
    char text[900];
    print_place(at, where, sizeof where);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return pp_err_set(err, PP_INPUT, where, "%s", text);
}

static const char *kind_name(const pp_json_at *at)
{
    static const char *const names[] = { "null",     "a boolean", "a whole number", "a real number",
                                         "a string", "an array",  "an object" };
    return names[pp_json_kind_at(at)];
}

static pp_status need_kind(const pp_json_at *at, pp_json_kind kind, const char *name, pp_err *err)
{
    if (pp_json_kind_at(at) == kind)
        return PP_OK;
    return pp_json_fail(at, err, "must be %s, not %s", name, kind_name(at));
}

pp_status pp_json_check_format(const pp_json_at *root, const char *format, int version, pp_err *err)
{
    const char *found;
    int64_t number;
    pp_status status = pp_json_get_text(root, "format", &found, err);
    if (status)
        return status;
    pp_json_at at;
    if ((status = pp_json_get(root, "format", &at, err)))
        return status;
    if (strcmp(found, format) != 0)
        return pp_json_fail(&at, err, "must be \"%s\", is \"%.64s\"", format, found);
    if ((status = pp_json_get_int(root, "version", 1, INT64_MAX, &number, err)))
        return status;
    if (number > version) {
        if ((status = pp_json_get(root, "version", &at, err)))
            return status;
        return pp_json_fail(&at, err,
                            "version %" PRId64
                            " is newer than version %d, the newest that this ppsim reads; update "
                            "ppsim",
                            number, version);
    }
    return PP_OK;
}

pp_status pp_json_only(const pp_json_at *object, const char *const keys[], pp_err *err)
{
    pp_status status = need_kind(object, PP_JSON_OBJECT, "an object", err);
    if (status)
        return status;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)peek(object->value), key, value) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (keys[i])
            continue;
        const char *near = pp_text_nearest(key, keys);
        return pp_json_fail(object, err, "unknown key \"%.64s\"%s%s%s", key,
                            near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    return PP_OK;
}

bool pp_json_has(const pp_json_at *object, const char *key)
{
    const json_t *value = json_object_get(peek(object->value), key);
    return value && !json_is_null(value);
}

pp_status pp_json_get(const pp_json_at *object, const char *key, pp_json_at *at_out, pp_err *err)
{
    pp_status status = need_kind(object, PP_JSON_OBJECT, "an object", err);
    if (status)
        return status;
    json_t *value = json_object_get(peek(object->value), key);
    if (!value)
        return pp_json_fail(object, err, "the key \"%s\" is missing", key);
    *at_out = (pp_json_at){ .value = wrap(value), .parent = object, .key = key };
    return PP_OK;
}

bool pp_json_member(const pp_json_at *object, size_t index, pp_json_at *at_out)
{
    json_t *raw_object = (json_t *)(uintptr_t)peek(object->value);
    void *iterator = json_object_iter(raw_object);
    for (size_t i = 0; i < index && iterator; i++)
        iterator = json_object_iter_next(raw_object, iterator);
    if (!iterator)
        return false;
    *at_out = (pp_json_at){ .value = wrap(json_object_iter_value(iterator)),
                            .parent = object,
                            .key = json_object_iter_key(iterator) };
    return true;
}

pp_status pp_json_count(const pp_json_at *at, size_t *count_out, pp_err *err)
{
    pp_status status = need_kind(at, PP_JSON_ARRAY, "an array", err);
    if (!status)
        *count_out = json_array_size(peek(at->value));
    return status;
}

pp_status pp_json_item(const pp_json_at *array, size_t index, pp_json_at *at_out, pp_err *err)
{
    json_t *value = json_array_get(peek(array->value), index);
    if (!value)
        return pp_json_fail(array, err, "has no item %zu", index);
    *at_out = (pp_json_at){ .value = wrap(value), .parent = array, .index = index };
    return PP_OK;
}

pp_status pp_json_read_int(const pp_json_at *at, int64_t low, int64_t high, int64_t *value_out,
                           pp_err *err)
{
    pp_status status = need_kind(at, PP_JSON_INT, "a whole number", err);
    if (status)
        return status;
    int64_t value = json_integer_value(peek(at->value));
    if (value < low || value > high)
        return pp_json_fail(at, err, "must be from %" PRId64 " to %" PRId64 ", not %" PRId64, low,
                            high, value);
    *value_out = value;
    return PP_OK;
}

pp_status pp_json_read_double(const pp_json_at *at, double low, double high, double *value_out,
                              pp_err *err)
{
    if (!json_is_number(peek(at->value)))
        return pp_json_fail(at, err, "must be a number, not %s", kind_name(at));
    double value = json_number_value(peek(at->value));
    if (!(value >= low && value <= high))
        return pp_json_fail(at, err, "must be from %g to %g, not %g", low, high, value);
    *value_out = value;
    return PP_OK;
}

pp_status pp_json_read_bool(const pp_json_at *at, bool *value_out, pp_err *err)
{
    pp_status status = need_kind(at, PP_JSON_BOOL, "true or false", err);
    if (!status)
        *value_out = json_is_true(peek(at->value));
    return status;
}

pp_status pp_json_read_text(const pp_json_at *at, const char **text_out, pp_err *err)
{
    pp_status status = need_kind(at, PP_JSON_TEXT, "a string", err);
    if (!status)
        *text_out = json_string_value(peek(at->value));
    return status;
}

pp_status pp_json_get_int(const pp_json_at *object, const char *key, int64_t low, int64_t high,
                          int64_t *value_out, pp_err *err)
{
    pp_json_at at;
    pp_status status = pp_json_get(object, key, &at, err);
    return status ? status : pp_json_read_int(&at, low, high, value_out, err);
}

pp_status pp_json_get_double(const pp_json_at *object, const char *key, double low, double high,
                             double *value_out, pp_err *err)
{
    pp_json_at at;
    pp_status status = pp_json_get(object, key, &at, err);
    return status ? status : pp_json_read_double(&at, low, high, value_out, err);
}

pp_status pp_json_get_bool(const pp_json_at *object, const char *key, bool *value_out, pp_err *err)
{
    pp_json_at at;
    pp_status status = pp_json_get(object, key, &at, err);
    return status ? status : pp_json_read_bool(&at, value_out, err);
}

pp_status pp_json_get_text(const pp_json_at *object, const char *key, const char **text_out,
                           pp_err *err)
{
    pp_json_at at;
    pp_status status = pp_json_get(object, key, &at, err);
    return status ? status : pp_json_read_text(&at, text_out, err);
}

pp_status pp_json_get_name(const pp_json_at *object, const char *key, char *buffer, size_t size,
                           pp_err *err)
{
    pp_json_at at;
    const char *text;
    pp_status status = pp_json_get(object, key, &at, err);
    if (status || (status = pp_json_read_text(&at, &text, err)))
        return status;
    if (strlen(text) >= size)
        return pp_json_fail(&at, err, "is longer than %zu bytes", size - 1);
    memcpy(buffer, text, strlen(text) + 1);
    return PP_OK;
}

pp_status pp_json_get_optional_name(const pp_json_at *object, const char *key, char *buffer,
                                    size_t size, pp_err *err)
{
    return pp_json_has(object, key) ? pp_json_get_name(object, key, buffer, size, err) : PP_OK;
}

static pp_json *made(pp_json_build *build, json_t *json)
{
    if (!json)
        build->failed = true;
    return wrap(json);
}

/* Replaces bytes that are not UTF-8, which a command line may contain, by '?'. NULL: no memory. */
static pp_json *new_text(const char *text)
{
    json_t *json = json_string(text);
    if (json)
        return wrap(json);
    char *ascii PP_CLEANUP(pp_free_text) = pp_copy_text(text);
    for (char *c = ascii; c && *c; c++) {
        if ((unsigned char)*c > 127)
            *c = '?';
    }
    return wrap(ascii ? json_string(ascii) : NULL);
}

pp_json *pp_json_new_object(pp_json_build *build)
{
    return made(build, json_object());
}

pp_json *pp_json_new_array(pp_json_build *build)
{
    return made(build, json_array());
}

void pp_json_put(pp_json_build *build, pp_json *object, const char *key, pp_json *child)
{
    if (json_object_set_new(raw(object), key, raw(child)))
        build->failed = true;
}

void pp_json_put_int(pp_json_build *build, pp_json *object, const char *key, int64_t value)
{
    pp_json_put(build, object, key, wrap(json_integer(value)));
}

void pp_json_put_double(pp_json_build *build, pp_json *object, const char *key, double value)
{
    pp_json_put(build, object, key, wrap(isfinite(value) ? json_real(value) : json_null()));
}

void pp_json_put_bool(pp_json_build *build, pp_json *object, const char *key, bool value)
{
    pp_json_put(build, object, key, wrap(json_boolean(value)));
}

void pp_json_put_text(pp_json_build *build, pp_json *object, const char *key, const char *text)
{
    pp_json_put(build, object, key, text ? new_text(text) : wrap(json_null()));
}

void pp_json_put_null(pp_json_build *build, pp_json *object, const char *key)
{
    pp_json_put(build, object, key, wrap(json_null()));
}

void pp_json_drop(pp_json *object, const char *key)
{
    (void)json_object_del(raw(object), key);
}

void pp_json_add(pp_json_build *build, pp_json *array, pp_json *child)
{
    if (json_array_append_new(raw(array), raw(child)))
        build->failed = true;
}

void pp_json_add_int(pp_json_build *build, pp_json *array, int64_t value)
{
    pp_json_add(build, array, wrap(json_integer(value)));
}

void pp_json_add_double(pp_json_build *build, pp_json *array, double value)
{
    pp_json_add(build, array, wrap(isfinite(value) ? json_real(value) : json_null()));
}

void pp_json_add_text(pp_json_build *build, pp_json *array, const char *text)
{
    pp_json_add(build, array, new_text(text));
}

static pp_status print(const pp_json_build *build, const pp_json *json, size_t layout,
                       char **text_out, size_t *bytes_out, pp_err *err)
{
    if (build->failed || !json)
        return pp_err_nomem(err);
    const size_t flags = layout | JSON_SORT_KEYS | JSON_REAL_PRECISION(17);
    size_t bytes = json_dumpb(peek(json), NULL, 0, flags);
    char *text = bytes ? malloc(bytes + 2) : NULL;
    if (!text || json_dumpb(peek(json), text, bytes, flags) != bytes) {
        free(text);
        return pp_err_nomem(err);
    }
    text[bytes] = '\n';
    text[bytes + 1] = '\0';
    *text_out = text;
    *bytes_out = bytes + 1;
    return PP_OK;
}

pp_status pp_json_print(const pp_json_build *build, const pp_json *json, char **text_out,
                        size_t *bytes_out, pp_err *err)
{
    return print(build, json, JSON_INDENT(1), text_out, bytes_out, err);
}

pp_status pp_json_print_line(const pp_json_build *build, const pp_json *json, char **text_out,
                             size_t *bytes_out, pp_err *err)
{
    return print(build, json, JSON_COMPACT, text_out, bytes_out, err);
}

void pp_json_set_alloc(void *(*allocate)(size_t), void (*release)(void *))
{
    json_set_alloc_funcs(allocate, release);
}
