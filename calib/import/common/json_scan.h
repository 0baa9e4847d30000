/* Goes through JSON without building it: recordings of PyTorch's profiler have millions of events
 * of which a few are wanted. Strict about syntax; nothing is allocated. */
#ifndef PPSIM_CALIB_IMPORT_COMMON_JSON_SCAN_H
#define PPSIM_CALIB_IMPORT_COMMON_JSON_SCAN_H

#include "sim/base/span.h"
#include "sim/base/status.h"

typedef struct pp_scan {
    const char *begin, *at, *end;
    const char *fault; /* what is wrong at `at`; NULL: nothing. Every call does nothing then */
} pp_scan;

typedef enum pp_scan_kind {
    PP_SCAN_OBJECT,
    PP_SCAN_ARRAY,
    PP_SCAN_TEXT,
    PP_SCAN_NUMBER,
    PP_SCAN_WORD, /* true, false, null */
    PP_SCAN_NONE, /* a fault */
} pp_scan_kind;

pp_scan pp_scan_of(const char *text, size_t bytes);
/* The next value's kind; nothing is consumed but white space. */
pp_scan_kind pp_scan_peek(pp_scan *scan);
/* Enters an object or array; then, item by item, until false:
 *   bool first = true; while (pp_scan_key(&scan, &first, &key)) { ...consume the value... } */
bool pp_scan_enter(pp_scan *scan, char open);
bool pp_scan_key(pp_scan *scan, bool *first, pp_span *key_out);
bool pp_scan_item(pp_scan *scan, bool *first);
/* Consume a value. text_out: as it stands between the quotes, escapes included. value_out: NaN
 * beyond what a double holds. */
bool pp_scan_text(pp_scan *scan, pp_span *text_out);
bool pp_scan_number(pp_scan *scan, double *value_out);
bool pp_scan_skip(pp_scan *scan);
/* Consumes what is there and says whether it was a number, or a text. */
bool pp_scan_if_number(pp_scan *scan, double *value_out);
bool pp_scan_if_text(pp_scan *scan, pp_span *text_out);
/* Nothing but white space may follow. */
bool pp_scan_end(pp_scan *scan);
/* INPUT with file:line:column when there was a fault. */
PP_MUST_CHECK pp_status pp_scan_check(const pp_scan *scan, const char *file, pp_err *err);

#endif
