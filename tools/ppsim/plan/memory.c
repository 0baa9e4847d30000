/* Prints a table of what fills the memory of each rank. If there are many ranks, it shows the
 * first, the last and the fullest ones. */
#include "tools/ppsim/plan/memory.h"

#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/report/op_words.h"
#include "tools/ppsim/report/report_print.h"

#include <inttypes.h>

#define RANKS_HEAD 12u /* of a long table, which also has the last four and the fullest */
#define RANKS_TAIL 4u
#define COLUMNS_MAX 8u /* in 80 characters; one less if a second op is shown */

typedef struct memory_table {
    const pp_report *report;
    const char *unit;
    double unit_bytes;
    bool shown[PP_MEMORY_COUNT];
    bool rest; /* components that are not shown are summed up */
    bool over; /* a rank exceeds its limit */
} memory_table;

/* Chooses the unit in which the fullest rank has at least 1. */
static void set_unit(memory_table *table)
{
    static const char *const names[] = { "GiB", "MiB", "KiB" };
    static const double bytes[] = { 1 << 30, 1 << 20, 1 << 10 };
    size_t i = 0;
    while (i < 2 && (double)table->report->peak_memory_bytes < bytes[i])
        i++;
    table->unit = names[i];
    table->unit_bytes = bytes[i];
}

/* Chooses the components to show: all that any rank has, or the largest ones if these are too
 * many. */
static void set_columns(memory_table *table)
{
    const size_t room = COLUMNS_MAX - table->over;
    int64_t most[PP_MEMORY_COUNT] = { 0 };
    size_t used = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        for (uint32_t r = 0; r < table->report->ranks; r++) {
            const int64_t bytes = table->report->per_rank[r].memory.bytes[c];
            most[c] = bytes > most[c] ? bytes : most[c];
        }
        table->shown[c] = most[c] > 0;
        used += table->shown[c];
    }
    for (table->rest = used > room; used + table->rest > room; used--) {
        int least = 0;
        for (int c = 1; c < PP_MEMORY_COUNT; c++) {
            if (table->shown[c] && (!table->shown[least] || most[c] < most[least]))
                least = c;
        }
        table->shown[least] = false;
    }
}

static void print_head(const memory_table *table, pp_text *text)
{
    static const char *const names[PP_MEMORY_COUNT] = {
        [PP_MEMORY_PARAMETERS] = "params",  [PP_MEMORY_GRADIENTS] = "grads",
        [PP_MEMORY_OPTIMIZER] = "optim",    [PP_MEMORY_ACTIVATIONS] = "activ",
        [PP_MEMORY_WEIGHT_STASH] = "stash", [PP_MEMORY_RECOMPUTE] = "recomp",
        [PP_MEMORY_RECV_BUFFERS] = "recv",  [PP_MEMORY_SEND_BUFFERS] = "send",
        [PP_MEMORY_LOGITS] = "logits",      [PP_MEMORY_TEMPORARIES] = "temp",
        [PP_MEMORY_OUTPUTS] = "output",     [PP_MEMORY_WORKSPACE] = "work",
        [PP_MEMORY_COMM_LIBRARY] = "comm",
    };
    pp_text_add(text, "memory of a GPU at its rank's peak, %s (* the fullest)\nrank   total",
                table->unit);
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        if (table->shown[c])
            pp_text_add(text, " %6s", names[c]);
    }
    pp_text_add(text, "%s  at op%s\n", table->rest ? "   rest" : "",
                table->over ? "   over at" : "");
}

static void print_rank(const memory_table *table, uint32_t r, pp_text *text)
{
    const pp_rank_report *rank = &table->report->per_rank[r];
    int64_t rest_bytes = 0;
    char token[32];
    pp_text_add(text, "%4" PRIu32 "%c%7.2f", r, r == table->report->peak_memory_rank ? '*' : ' ',
                (double)rank->memory.total_bytes / table->unit_bytes);
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        if (table->shown[c])
            pp_text_add(text, " %6.2f", (double)rank->memory.bytes[c] / table->unit_bytes);
        else
            rest_bytes += rank->memory.bytes[c];
    }
    if (table->rest)
        pp_text_add(text, " %6.2f", (double)rest_bytes / table->unit_bytes);
    pp_text_add(text, "  %-*s", table->over ? 6 : 0,
                pp_op_print(rank->peak_op, token, sizeof token));
    if (table->over)
        pp_text_add(text, "  %s",
                    rank->over_bytes ? pp_op_print(rank->over_op, token, sizeof token) : "-");
    pp_text_add(text, "\n");
}

void pp_plan_memory_print(const pp_report *report, pp_text *text)
{
    uint32_t first = 0;
    memory_table table = { .report = report, .over = pp_report_first_over(report, &first) };
    const bool brief = report->ranks > RANKS_HEAD + RANKS_TAIL;
    if (!report->has_memory)
        return;
    set_unit(&table);
    set_columns(&table);
    print_head(&table, text);
    for (uint32_t r = 0; r < report->ranks; r++) {
        if (!brief || r < RANKS_HEAD || r >= report->ranks - RANKS_TAIL ||
            r == report->peak_memory_rank)
            print_rank(&table, r, text);
        else if (r == RANKS_HEAD)
            pp_text_add(text, "     ...%s\n", table.over ? "" : " (--json has all)");
    }
    pp_text_add(text, PP_OP_LEGEND);
    if (table.over)
        pp_text_add(text, "over at: the first op during which the rank exceeds its limit\n");
    if (table.shown[PP_MEMORY_WORKSPACE])
        pp_text_add(text, "work: buffers of GEMMs and dummy weight gradients, kept all the time\n");
    if (table.rest)
        pp_text_add(text, "rest: the smaller components%s\n",
                    table.over ? "" : "; --json has them");
}

void pp_plan_miss_print(void *context, const pp_report *nearest)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    (void)context;
    pp_plan_memory_print(nearest, &text);
    pp_over_limit_print(nearest, &text);
    pp_colour_strip(&text);
    if (!text.failed && text.bytes)
        pp_remark("%s comes closest to the limit:\n%.*s", nearest->schedule, (int)text.bytes - 1,
                  text.data);
}
