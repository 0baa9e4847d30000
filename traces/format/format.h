/* Readers and writers of schedules and timelines: one file in traces/format/ and one line in
 * traces/formats.def each, and those of traces/targets.def. */
#ifndef PPSIM_TRACES_FORMAT_FORMAT_H
#define PPSIM_TRACES_FORMAT_FORMAT_H

#include "sim/analysis/waits.h"
#include "sim/base/text.h"
#include "sim/plan/plan.h"

/* What a file can hold; words for people. */
#define PP_HOLDS_MAP(X)                                                    \
    X(ORDER, "the order of the ops")                                       \
    X(COMM, "communication as written")                                    \
    X(SETTINGS, "model, partition, microbatches and settings of the plan") \
    X(COSTS, "costs")                                                      \
    X(REPLICAS, "the orders of other replicas than the one shown")         \
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

/* A tensor went from one rank to another. */
typedef struct pp_recorded_transfer {
    pp_ns start_ns, end_ns;
    uint32_t from, to;
    uint32_t microbatch;
    uint16_t stage; /* that made it */
    bool forward;
} pp_recorded_transfer;

/* `bytes` hold on `rank` from `at_ns` on; several of one instant: the last holds on. */
typedef struct pp_memory_sample_row {
    pp_ns at_ns;
    uint32_t rank;
    int64_t bytes[PP_MEMORY_COUNT];
} pp_memory_sample_row;

/* What a file said of its timeline, where no costs say it. All in the order of the file. */
typedef struct pp_recorded {
    pp_recorded_transfer *hop;
    size_t hop_count;
    pp_memory_sample_row *level;
    size_t level_count;
    pp_blocked_list waits;
} pp_recorded;

/* All that a writer may draw on. Borrowed; what a format does not need may be NULL. */
typedef struct pp_export {
    const pp_plan *plan;       /* names, partition, costs */
    const pp_order *order;     /* of the replica shown */
    const pp_program *program; /* lowered */
    const pp_timeline *timeline;
    const pp_costs *costs;
    const pp_report *report;
    const pp_recorded *recorded;    /* in place of costs */
    const char *recorded_framework; /* as the recording names it; "": it does not */
    const char *path;               /* that it is written to; NULL or "-": stdout */
    uint32_t first_rank, ranks;     /* of --trace: these are written; ranks 0: all */
    int columns;                    /* width for text formats; 0: 80 */
    bool
        written; /* the program communicates as a file said, not as an framework lowers the order */
    bool measured; /* the timeline was executed, not predicted */
    bool compiled; /* the runtime compiles its stages (torch.compile) */
} pp_export;

static inline bool pp_export_shows(const pp_export *data, uint32_t rank)
{
    return data->ranks == 0 || (rank >= data->first_rank && rank - data->first_rank < data->ranks);
}

/* A second file that belongs to the first; suffix NULL: none. */
typedef struct pp_companion {
    const char *suffix; /* appended to the path: ".json" */
    pp_text text;
} pp_companion;

typedef struct pp_format {
    const char *name;
    const char *summary;
    unsigned holds; /* pp_holds of what it writes */
    /* --emit NAME=FILE: the schedule. NULL: it is no schedule format.
     * Fails: INFEASIBLE when the format cannot say it (with the reason), NOMEM. */
    pp_status (*emit)(const pp_export *data, pp_text *text, pp_companion *companion, pp_err *err);
    /* --trace NAME=FILE: the timeline. NULL: it is no timeline format. */
    pp_status (*trace)(const pp_export *data, pp_text *text, pp_err *err);
    /* Does `text` look like this format? NULL: it cannot be read. */
    bool (*recognise)(const char *text, size_t bytes);
    /* order_out: checked. Fails: INPUT with file:line:column, NOMEM. */
    pp_status (*read)(const char *text, size_t bytes, const char *file, pp_order **order_out,
                      pp_err *err);
} pp_format;

size_t pp_format_count(void);
const pp_format *pp_format_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_format_get(const char *name, const pp_format **format_out, pp_err *err);

/* Reads a schedule in whichever format recognises it. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_format_read(const char *text, size_t bytes, const char *file,
                                       pp_order **order_out, pp_err *err);

#endif
