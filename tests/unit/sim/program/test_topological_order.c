/* The topological order is that of passes over all ranks, also where ranks wait in lists. */
#include "sim/program/topological_order.h"
#include "tests/support/step.h"

/* What the order is by definition: passes that examine every rank. [program->count] */
static uint32_t *order_by_passes(const pp_program *program)
{
    uint32_t *order = calloc(program->count, sizeof *order);
    bool *sorted = calloc(program->count, sizeof *sorted);
    size_t *next = calloc(program->ranks, sizeof *next);
    ck_assert(order && sorted && next);
    memcpy(next, program->rank_begin, program->ranks * sizeof *next);
    for (size_t done = 0; done < program->count;) {
        for (uint32_t r = 0; r < program->ranks; r++) {
            for (; next[r] < program->rank_begin[r + 1]; next[r]++) {
                const uint32_t source = program->source[next[r]];
                if (source != PP_NO_SOURCE && !sorted[source])
                    break;
                sorted[next[r]] = true;
                order[done++] = (uint32_t)next[r];
            }
        }
    }
    free(sorted);
    free(next);
    return order;
}

static const struct {
    const char *name;
    uint32_t ranks, chunks, microbatches;
} rows[] = { { "1f1b", 1, 1, 3 },        { "1f1b", 4, 1, 32 },   { "1f1b", 64, 1, 1 },
             { "1f1b", 65, 1, 1 },       { "1f1b", 500, 1, 2 },  { "gpipe", 200, 1, 3 },
             { "zb-h1", 129, 1, 2 },     { "zbv", 130, 2, 3 },   { "interleaved", 96, 3, 96 },
             { "dualpipe", 90, 1, 180 }, { "gpipe", 4200, 1, 1 } };

START_TEST(the_order_is_that_of_passes_over_all_ranks)
{
    step s = step_of(
        step_order(rows[_i].name, rows[_i].ranks, rows[_i].chunks, rows[_i].microbatches, 0),
        "F=1us,I=1us,W=1us,comm=0");
    uint32_t *order = order_by_passes(s.program);
    for (size_t k = 0; k < s.program->count; k++)
        ck_assert_msg(s.program->topological_order[k] == order[k], "%s: place %zu has %u, not %u",
                      rows[_i].name, k, s.program->topological_order[k], order[k]);
    free(order);
    step_free(&s);
}
END_TEST

/* A cycle is found after lists were begun, too: the last F of the last rank needs the last B of
 * rank 0, which needs it. */
START_TEST(a_cycle_behind_many_ranks_is_reported)
{
    enum { P = 200 };
    step s = step_of(step_order("gpipe", P, 1, 2, 0), "F=1us,B=1us,comm=0");
    pp_err err = { 0 };
    s.program->source[s.program->rank_begin[P - 1] + 1] = (uint32_t)(s.program->rank_begin[1] - 1);
    ck_assert_int_eq(pp_program_sort_topologically(s.program, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "the schedule cannot finish: rank ") != NULL, "%s", err.text);
    step_free(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topological_order");
    TCase *tc = tcase_create("topological_order");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, the_order_is_that_of_passes_over_all_ranks, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tc, a_cycle_behind_many_ranks_is_reported);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
