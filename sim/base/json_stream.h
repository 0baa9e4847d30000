/* Reads JSON value by value, without building a tree: recordings of PyTorch's profiler have
 * millions of events, but only a few of them are needed. The text is in memory, or a source
 * supplies it piece by piece, so that a file of any size needs only the memory of one value.
 *
 *     if (pp_json_stream_enter(&s, '{'))
 *         while (pp_json_stream_key(&s, &key))
 *             ... consume the value ...
 *     status = pp_json_stream_check(&s, file, err);
 *
 * After a fault every call returns false and does nothing else, so one check at the end is enough.
 * Not checked are escapes, control characters and UTF-8 inside texts, and keys that occur twice.
 * NaN, nan, Infinity and inf, with or without a minus, are numbers, as PyTorch writes them.
 *
 * The window on the text of a source can end at any byte. The caller therefore sets a mark before
 * each piece that it needs as a whole, and reads the piece again if the window ended within it. A
 * piece of more than PP_JSON_PIECE_MAX bytes is a fault:
 *
 *     do {
 *         pp_json_stream_mark(&s);
 *         ... consume the piece ...
 *     } while (pp_json_stream_retry(&s)); */
#ifndef PPSIM_SIM_BASE_JSON_STREAM_H
#define PPSIM_SIM_BASE_JSON_STREAM_H

#include "sim/base/span.h"
#include "sim/base/status.h"

#define PP_JSON_DEPTH_MAX 1024              /* nested brackets */
#define PP_JSON_PIECE_MAX ((size_t)1 << 25) /* bytes of a source's text in memory at a time */

/* Fills `buffer` with up to `most` bytes; *bytes_out is 0 at the end of the text.
 * pp_json_stream_check returns the status and the error when it fails. */
typedef pp_status (*pp_json_source)(void *context, char *buffer, size_t most, size_t *bytes_out,
                                    pp_err *err);

typedef enum pp_json_token {
    PP_TOKEN_OBJECT,
    PP_TOKEN_ARRAY,
    PP_TOKEN_TEXT,
    PP_TOKEN_NUMBER,
    PP_TOKEN_WORD, /* true, false, null */
    PP_TOKEN_NONE, /* a fault */
} pp_json_token;

/* A place in the text, and the brackets that are open there. */
typedef struct pp_json_mark {
    const char *at; /* NULL: no mark is set */
    size_t depth;
    bool begun;
} pp_json_mark;

/* Made by pp_json_stream_of or pp_json_stream_open. Callers may read the first five members. */
typedef struct pp_json_stream {
    const char *at;    /* the next byte that is not consumed */
    const char *fault; /* what is wrong at `at`; NULL: nothing */
    bool ended;        /* the fault is that the text ends */
    pp_json_mark mark;
    char *buffer;            /* the text from the source; NULL: there is no source */
    const char *begin, *end; /* the window: the part of the text that is in memory */
    pp_json_source source;   /* NULL: no more text follows */
    void *context;
    pp_err *err;
    pp_status status; /* of the source */
    size_t capacity;
    size_t passed;           /* bytes of the text before `begin` */
    const char *counted;     /* newlines before this byte are counted */
    size_t line, line_begin; /* the line of `counted`, and the number of bytes before it */
    size_t depth;
    struct {
        char close; /* the bracket that ends it */
        bool begun; /* a member or item was read */
    } open[PP_JSON_DEPTH_MAX];
} pp_json_stream;

/* A stream over a text in memory. The text is not copied; it must outlive the stream and all
 * spans. */
pp_json_stream pp_json_stream_of(const char *text, size_t bytes);
/* A stream over a text that `source` supplies. err receives the errors of the source and must
 * outlive the stream, which the caller closes. Spans are valid until the next mark, retry, or skip
 * without a mark. */
pp_json_stream pp_json_stream_open(pp_json_source source, void *context, pp_err *err);
void pp_json_stream_close(pp_json_stream *s); /* for PP_CLEANUP */

/* Sets the mark. The text from here on stays in memory until the next mark. */
void pp_json_stream_mark(pp_json_stream *s);
/* Returns true if the window ended after the mark. The stream is then at the mark again, with more
 * text if there is any. */
bool pp_json_stream_retry(pp_json_stream *s);
/* Goes back to the mark and removes it. If the window ended, that fault is removed too; there must
 * be no other fault. */
void pp_json_stream_rewind(pp_json_stream *s);

/* Returns what the next value is; consumes nothing but white space. */
pp_json_token pp_json_stream_peek(pp_json_stream *s);
/* Enters an object ('{') or a list ('['). */
bool pp_json_stream_enter(pp_json_stream *s, char bracket);
/* Go to the next member of the object, or the next item of the list, that was entered last. After
 * the last one they leave the object or list and return false. */
bool pp_json_stream_key(pp_json_stream *s, pp_span *key_out);
bool pp_json_stream_item(pp_json_stream *s);

/* Consume any value, and return true if it was a number, or a text. value_out: NaN if the number is
 * not finite or does not fit a double. text_out: the text between the quotes, with its escapes. */
bool pp_json_stream_if_number(pp_json_stream *s, double *value_out);
bool pp_json_stream_if_text(pp_json_stream *s, pp_span *text_out);
/* Consumes any value. Without a mark, the value may be longer than the window, and even than
 * PP_JSON_PIECE_MAX. */
bool pp_json_stream_skip(pp_json_stream *s);
/* Returns true if all brackets are closed and only white space follows. */
bool pp_json_stream_end(pp_json_stream *s);

/* The line of `at` in the window, counted from 1. Successive calls must go forward in the text. */
size_t pp_json_stream_line(pp_json_stream *s, const char *at);
/* Prints "file:line:column" of `at` in the window, for messages. Like calls of pp_json_stream_line,
 * successive calls must go forward in the text. Returns buffer. */
const char *pp_json_stream_place(pp_json_stream *s, const char *at, const char *file, char *buffer,
                                 size_t size);
/* Fails: INPUT with file:line:column after a fault; otherwise as the source failed. */
PP_MUST_CHECK pp_status pp_json_stream_check(pp_json_stream *s, const char *file, pp_err *err);

#endif
