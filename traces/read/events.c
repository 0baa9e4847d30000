#include "traces/read/events.h"

#include "sim/base/alloc.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK = 1 << 16 };

typedef struct scanner {
    const char *path;
    pp_event_take *event, *member;
    void *context;
    char *item; /* text since the last separator that counts */
    size_t used, capacity;
    size_t line, item_line;
    int depth;  /* of brackets */
    int events; /* depth inside the array of events; 0: not there */
    bool in_string, escaped, too_long, ended;
} scanner;

static void free_scanner(scanner *s)
{
    free(s->item);
}

static void close_gz(gzFile *file)
{
    if (*file)
        gzclose(*file);
}

static pp_status fail(const scanner *s, pp_err *err, const char *words)
{
    char where[256];
    snprintf(where, sizeof where, "%.200s:%zu", s->path, s->line);
    return pp_err_set(err, PP_INPUT, where, "%s", words);
}

static void clear(scanner *s)
{
    s->used = 0;
    s->too_long = false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static pp_status keep(scanner *s, char c, pp_err *err)
{
    if (s->used == 0) {
        if (is_blank(c))
            return PP_OK;
        s->item_line = s->line;
    }
    if (s->used == PP_EVENT_BYTES_MAX) {
        s->too_long = true;
        return s->events ? fail(s, err, "an event is longer than 1 MiB") : PP_OK;
    }
    void *item = s->item;
    pp_status status = pp_reserve(&item, &s->capacity, s->used + 1, 1, err);
    if (status)
        return status;
    s->item = item;
    s->item[s->used++] = c;
    return PP_OK;
}

static pp_status take_member(scanner *s, pp_err *err)
{
    pp_status status = PP_OK;
    if (s->used && !s->too_long && s->member)
        status = s->member(s->context, s->item, s->used, s->item_line, err);
    clear(s);
    return status;
}

static bool is_event_key(const scanner *s)
{
    static const char key[] = "\"traceEvents\"";
    if (s->used < sizeof key || memcmp(s->item, key, sizeof key - 1) != 0)
        return false;
    for (size_t i = sizeof key - 1; i < s->used; i++) {
        if (s->item[i] != ':' && !is_blank(s->item[i]))
            return false;
    }
    return true;
}

static pp_status open_bracket(scanner *s, char c, pp_err *err)
{
    bool first = s->depth == 0;
    if (first && (c == '[' || c == '{')) {
        s->depth = 1;
        s->events = c == '[' ? 1 : 0;
        return PP_OK;
    }
    if (s->depth == 1 && !s->events && c == '[' && is_event_key(s)) {
        s->depth = s->events = 2;
        clear(s);
        return PP_OK;
    }
    s->depth++;
    return keep(s, c, err);
}

static pp_status close_bracket(scanner *s, char c, pp_err *err)
{
    pp_status status = PP_OK;
    s->depth--;
    if (s->events && s->depth < s->events) {
        s->events = 0;
        s->ended = s->depth == 0;
        clear(s);
        return PP_OK;
    }
    if (s->depth == 0) {
        s->ended = true;
        return take_member(s, err);
    }
    if ((status = keep(s, c, err)))
        return status;
    if (s->events && s->depth == s->events) {
        status = s->event(s->context, s->item, s->used, s->item_line, err);
        clear(s);
    }
    return status;
}

static pp_status take_byte(scanner *s, char c, pp_err *err)
{
    s->line += c == '\n';
    if (s->in_string) {
        s->in_string = s->escaped || c != '"';
        s->escaped = !s->escaped && c == '\\';
        return keep(s, c, err);
    }
    if (s->ended)
        return is_blank(c) ? PP_OK : fail(s, err, "more stands behind its end");
    if (s->depth == 0 && c != '{' && c != '[')
        return is_blank(c) ? PP_OK : fail(s, err, "is no Trace Event file");
    if (c == '{' || c == '[')
        return open_bracket(s, c, err);
    if (c == '}' || c == ']')
        return close_bracket(s, c, err);
    if (c == ',' && s->depth == 1 && !s->events)
        return take_member(s, err);
    if (c == ',' && s->events && s->depth == s->events)
        return PP_OK;
    s->in_string = c == '"';
    return keep(s, c, err);
}

/* Reads what is not compressed too. */
static pp_status open_file(const char *path, gzFile *file_out, pp_err *err)
{
    errno = 0;
    *file_out = gzopen(path, "rb");
    if (*file_out)
        return PP_OK;
    return errno ? pp_err_set(err, PP_IO, path, "%s", strerror(errno)) : pp_err_nomem(err);
}

static pp_status check_file(gzFile file, const char *path, pp_err *err)
{
    int code = Z_OK;
    const char *words = gzerror(file, &code);
    size_t length = strlen(path);
    if (code == Z_ERRNO)
        return pp_err_set(err, PP_IO, path, "%s", strerror(errno));
    if (code == Z_OK || code == Z_STREAM_END)
        return PP_OK;
    if (strncmp(words, path, length) == 0 && strncmp(words + length, ": ", 2) == 0)
        words += length + 2; /* zlib says it too */
    return pp_err_set(err, PP_INPUT, path, "the compressed file is damaged: %s", words);
}

static bool holds(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

pp_status pp_events_recognise(const char *path, bool *is_out, pp_err *err)
{
    char text[4096];
    gzFile file PP_CLEANUP(close_gz) = NULL;
    pp_status status = open_file(path, &file, err);
    if (status)
        return status;
    int count = gzread(file, text, sizeof text - 1);
    if ((status = check_file(file, path, err)))
        return status;
    text[count] = '\0';
    size_t blank = strspn(text, " \t\r\n");
    *is_out = text[blank] == '[' || (text[blank] == '{' && (holds(text, "\"traceEvents\"") ||
                                                            holds(text, "\"schemaVersion\"") ||
                                                            holds(text, "\"displayTimeUnit\"")));
    return PP_OK;
}

pp_status pp_events_read(const char *path, pp_event_take *event, pp_event_take *member,
                         void *context, pp_err *err)
{
    scanner s PP_CLEANUP(free_scanner) = {
        .path = path, .event = event, .member = member, .context = context, .line = 1
    };
    char chunk[CHUNK];
    gzFile file PP_CLEANUP(close_gz) = NULL;
    pp_status status = open_file(path, &file, err);
    if (status)
        return status;
    int count;
    while ((count = gzread(file, chunk, sizeof chunk)) > 0) {
        for (int i = 0; i < count; i++) {
            if ((status = take_byte(&s, chunk[i], err)))
                return status;
        }
    }
    if ((status = check_file(file, path, err)))
        return status;
    return s.ended ? PP_OK : fail(&s, err, s.depth ? "is cut off" : "is empty");
}

pp_status pp_event_time(const pp_json_at *event, const char *key, double low_us, pp_ns *ns_out,
                        pp_err *err)
{
    double us = 0;
    pp_status status = pp_json_get_double(event, key, low_us, PP_EVENT_US_MAX, &us, err);
    if (status)
        return status;
    double whole_us = floor(us);
    *ns_out = (pp_ns)whole_us * 1000 + (pp_ns)floor((us - whole_us) * 1000 + 0.5);
    return PP_OK;
}
