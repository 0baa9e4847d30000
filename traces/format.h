/* Readers and writers of schedules and timelines: one file in traces/format/ and one line in
 * traces/formats.def each. */
#ifndef PPSIM_TRACES_FORMAT_H
#define PPSIM_TRACES_FORMAT_H

#include "sim/plan.h"
#include "sim/text.h"

/* All that a writer may draw on. Borrowed; what a format does not need may be NULL. */
typedef struct pp_export {
    const pp_plan *plan;       /* names, partition, costs */
    const pp_order *order;     /* of the replica shown */
    const pp_program *program; /* lowered */
    const pp_timeline *timeline;
    const pp_costs *costs;
    const pp_report *report;
    int columns;   /* width for text formats; 0: 80 */
    bool measured; /* the timeline was executed, not predicted */
} pp_export;

/* A second file that belongs to the first; suffix NULL: none. */
typedef struct pp_companion {
    const char *suffix; /* appended to the path: ".json" */
    pp_text text;
} pp_companion;

typedef struct pp_format {
    const char *name;
    const char *summary;
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
