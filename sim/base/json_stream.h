/* Reads JSON value by value, without building a tree: recordings of PyTorch's profiler have
 * millions of events of which a few are wanted. The text lies in memory, or a source brings it
 * piece by piece so that a file of any size takes the memory of one value.
 *
 *     if (pp_json_stream_enter(&s, '{'))
 *         while (pp_json_stream_key(&s, &key))
 *             ... consume the value ...
 *     status = pp_json_stream_check(&s, file, err);
 *
 * After a fault every call returns false and does nothing else, so that one check at the end is
 * enough. What is not checked: within texts, escapes, control characters and UTF-8; keys that occur
 * twice. NaN, nan, Infinity and inf, with or without a minus, are numbers, as PyTorch writes them.
 *
 * The text of a source ends at any byte. Who reads from one sets a mark before each piece
 * that has to be at hand as a whole, and reads the piece again when it was not. A piece of more
 * than PP_JSON_PIECE_MAX is a fault:
 *
 *     do {
 *         pp_json_stream_mark(&s);
 *         ... consume the piece ...
 *     } while (pp_json_stream_retry(&s)); */
#ifndef PPSIM_SIM_BASE_JSON_STREAM_H
#define PPSIM_SIM_BASE_JSON_STREAM_H

#include "sim/base/span.h"
#include "sim/base/status.h"

#define PP_JSON_DEPTH_MAX 1024              /* brackets within each other */
#define PP_JSON_PIECE_MAX ((size_t)1 << 25) /* bytes of a source that are at hand at a time */

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
    char *buffer;            /* of the text that a source brought; NULL: there is no source */
    const char *begin, *end; /* of the text at hand */
    pp_json_source source;   /* NULL: it brings no more */
    void *context;
    pp_err *err;
    pp_status status; /* of the source */
    size_t capacity;
    size_t passed;           /* bytes of the text before `begin` */
    const char *counted;     /* newlines before here are counted */
    size_t line, line_begin; /* the line of `counted`, and the number of bytes before it */
    size_t depth;
    struct {
        char close; /* the bracket that ends it */
        bool begun; /* a member or item was read */
    } open[PP_JSON_DEPTH_MAX];
} pp_json_stream;

/* Of a text in memory, which is not copied: it outlives the stream and all spans. */
pp_json_stream pp_json_stream_of(const char *text, size_t bytes);
/* Of a text that `source` brings; err receives its errors and outlives the stream, which the caller
 * closes. Spans are valid until the next mark, retry, or skip without a mark. */
pp_json_stream pp_json_stream_open(pp_json_source source, void *context, pp_err *err);
void pp_json_stream_close(pp_json_stream *s); /* for PP_CLEANUP */

/* Marks what comes next, which stays at hand until the next mark. */
void pp_json_stream_mark(pp_json_stream *s);
/* Returns true when the text at hand ended after the mark: the stream is at the mark again, with
 * more text, if there is more. */
bool pp_json_stream_retry(pp_json_stream *s);
/* Goes back to the mark and removes it. There is no fault, or it is the end of the text at hand,
 * which is removed, too. */
void pp_json_stream_rewind(pp_json_stream *s);

/* Returns what the next value is; consumes nothing but white space. */
pp_json_token pp_json_stream_peek(pp_json_stream *s);
/* Enters an object ('{') or a list ('['). */
bool pp_json_stream_enter(pp_json_stream *s, char bracket);
/* Go to the next member of the object, or item of the list, that was entered last. Return false
 * behind the last one, when it was left. */
bool pp_json_stream_key(pp_json_stream *s, pp_span *key_out);
bool pp_json_stream_item(pp_json_stream *s);

/* Consume any value, and return whether it was a number, or a text. value_out: NaN where it is not
 * finite, or beyond what a double holds. text_out: as it stands between the quotes, with its
 * escapes. */
bool pp_json_stream_if_number(pp_json_stream *s, double *value_out);
bool pp_json_stream_if_text(pp_json_stream *s, pp_span *text_out);
/* Consumes any value. Without a mark, the value may be longer than what is at hand, also than
 * PP_JSON_PIECE_MAX. */
bool pp_json_stream_skip(pp_json_stream *s);
/* Returns whether all brackets are closed and nothing but white space follows. */
bool pp_json_stream_end(pp_json_stream *s);

/* The line of `at` in the text at hand, from 1. Calls go forward in the text. */
size_t pp_json_stream_line(pp_json_stream *s, const char *at);
/* Prints "file:line:column" of `at` in the text at hand, for messages. As pp_json_stream_line,
 * calls go forward. Returns buffer. */
const char *pp_json_stream_place(pp_json_stream *s, const char *at, const char *file, char *buffer,
                                 size_t size);
/* Fails: INPUT with file:line:column after a fault; as the source. */
PP_MUST_CHECK pp_status pp_json_stream_check(pp_json_stream *s, const char *file, pp_err *err);

#endif
