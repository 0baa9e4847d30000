/* The plug-in interface of formats: readers and writers of schedules and timelines. A format is one
 * file in traces/format/ and one line in traces/formats.def, or belongs to a target
 * (traces/target/). */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_FORMAT_H
#define PPSIM_TRACES_FORMAT_EXPORT_FORMAT_H

#include "sim/base/text.h"
#include "traces/format/export/export.h"

/* What a file can hold: identifier, text for messages. */
#define PP_HOLDS_MAP(X)                                                    \
    X(ORDER, "the order of the ops")                                       \
    X(COMM, "communication as written")                                    \
    X(SETTINGS, "model, partition, microbatches and settings of the plan") \
    X(COSTS, "costs")                                                      \
    X(REPLICAS, "the orders of the other replicas")                        \
    X(TIMES, "start and end of every op")                                  \
    X(TRANSFERS, "transfers")                                              \
    X(IDLE, "waits and their causes")                                      \
    X(MEMORY, "memory over time")

typedef enum pp_holds_bit {
#define PP_HOLDS_ENUM(name, words) PP_HOLDS_BIT_##name,
    PP_HOLDS_MAP(PP_HOLDS_ENUM)
#undef PP_HOLDS_ENUM
} pp_holds_bit;

typedef enum pp_holds {
#define PP_HOLDS_ENUM(name, words) PP_HOLDS_##name = 1 << PP_HOLDS_BIT_##name,
    PP_HOLDS_MAP(PP_HOLDS_ENUM)
#undef PP_HOLDS_ENUM
} pp_holds;

/* A second file that a format writes next to the first. */
typedef struct pp_companion {
    const char *suffix; /* appended to the path of the first: ".json"; NULL: there is no second */
    pp_text text;
} pp_companion;

typedef struct pp_format {
    const char *name;
    const char *summary; /* one line, for lists */
    unsigned holds;      /* the pp_holds bits of what it writes */
    /* Appends the schedule to `text` (option --emit). NULL: this is not a format of schedules.
     * Fails: INFEASIBLE when the format cannot hold it (with the reason), NOMEM. */
    pp_status (*emit)(const pp_export *data, pp_text *text, pp_companion *companion, pp_err *err);
    /* Appends the timeline to `text` (option --trace). NULL: this is not a format of timelines.
     * Fails: INFEASIBLE when something is missing (with the reason), NOMEM. */
    pp_status (*trace)(const pp_export *data, pp_text *text, pp_err *err);
    /* Returns whether `text` looks like this format. NULL: the format is only written. */
    bool (*recognise)(const char *text, size_t bytes);
    /* Reads a schedule. `file` names it in errors. order_out receives an order that pp_order_check
     * accepts; the caller frees it. Fails: INPUT with file:line:column, NOMEM. */
    pp_status (*read)(const char *text, size_t bytes, const char *file, pp_order **order_out,
                      pp_err *err);
} pp_format;

#endif
