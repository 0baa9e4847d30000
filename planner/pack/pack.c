/* Packs one batch: tries packings, numbers of microbatches and orders of the microbatches, each
 * judged by the simulated step, and then moves and swaps sequences from the best of them. The cost
 * is that of the simulations, at most a few hundred before the moves. Method:
 * docs/explanation/planning-packing.md. */
#include "planner/pack/pack.h"

#include "planner/pack/pack_improve.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS_MAX 12
#define CUTS_MAX ((uint64_t)1 << 28) /* sequences examined while microbatches are cut */

void pp_packed_free(pp_packed **packed)
{
    if (!*packed)
        return;
    pp_grouping_free(&(*packed)->grouping);
    free((*packed)->row);
    free(*packed);
    *packed = NULL;
}

/* The failure of first fit shows what is wrong with the lengths. USAGE is not passed on: it only
 * means that there is no first-fit packing. */
static pp_status open_case(pp_pack_case *c, pp_packer *packer, const pp_pack_task *task,
                           pp_err *why, pp_err *err)
{
    pp_status status = pp_pack_case_open(c, packer, task, err);
    if (status)
        return status;
    status = pp_group_first_fit(c, &c->first_fit, why);
    if (status && status != PP_USAGE) {
        *err = *why;
        return status;
    }
    c->ff = status ? 0 : c->first_fit.microbatches;
    return PP_OK;
}

static pp_status add_row(pp_packed *packed, pp_pack_row row, pp_err *err)
{
    void *grown = packed->row;
    pp_status status =
        pp_grow(&grown, &packed->capacity, packed->count + 1, sizeof *packed->row, err);
    if (status)
        return status;
    packed->row = grown;
    packed->row[packed->count++] = row;
    return PP_OK;
}

/* Prefers the faster row, then the one that needs fewer bytes; the first one on ties. */
static bool beats(const pp_pack_row *a, const pp_pack_row *b)
{
    return a->step_ns != b->step_ns ? a->step_ns < b->step_ns : a->peak_bytes < b->peak_bytes;
}

/* Takes over the grouping if it is the best so far. */
static pp_status enter(const pp_pack_case *c, pp_packed *packed, pp_pack_row row,
                       const pp_pack_verdict *verdict, pp_grouping *grouping, pp_err *err)
{
    row.microbatches = grouping->microbatches;
    row.fits = verdict->short_bytes <= 0;
    row.step_ns = verdict->step_ns;
    row.mean_step_ns = verdict->mean_step_ns;
    row.bubble_fraction = verdict->bubble_fraction;
    row.peak_bytes = verdict->peak_bytes;
    if (!row.fits)
        row.reason = verdict->reason;
    pp_status status = add_row(packed, row, err);
    if (status || !row.fits || !c->task->packings[row.method.packing] ||
        (packed->best != SIZE_MAX && !beats(&row, &packed->row[packed->best])))
        return status;
    packed->best = packed->count - 1;
    pp_grouping_free(&packed->grouping);
    packed->grouping = *grouping;
    *grouping = (pp_grouping){ 0 };
    return PP_OK;
}

/* True if a packing that was asked for was simulated. */
static bool is_tried(const pp_pack_task *task, const pp_packed *packed)
{
    for (size_t i = 0; i < packed->count; i++) {
        if (packed->row[i].peak_bytes && task->packings[packed->row[i].method.packing])
            return true;
    }
    return false;
}

/* True if something fits and the packings have used up their part of the budget, or if all of it is
 * used up, and nothing that was tried fits. Without a budget all packings are tried then. */
static bool is_enough(const pp_pack_case *c, pp_packed *packed)
{
    if (packed->best != SIZE_MAX)
        return pp_pack_is_over(c, 2);
    packed->stopped |= !c->task->coarse && is_tried(c->task, packed) && pp_pack_is_over(c, 1);
    return packed->stopped;
}

/* Tries a given grouping in every order of its microbatches. */
static pp_status try_orders(const pp_pack_case *c, pp_packing packing, const pp_grouping *grouping,
                            pp_packed *packed, pp_err *err)
{
    const int first = packing == PP_PACKING_EQUAL ? PP_SORTING_ASCENDING : PP_SORTING_GIVEN;
    const bool one = packing == PP_PACKING_RAMPED || !c->task->packings[packing];
    const int last = one ? PP_SORTING_GIVEN : PP_SORTING_TENT;
    for (int k = first; k <= last; k++) {
        const bool plain = k == PP_SORTING_GIVEN || k == PP_SORTING_TENT;
        const bool today = packing == PP_PACKING_FIRST_FIT && k == PP_SORTING_GIVEN;
        if (!today && ((c->task->coarse && !plain) || is_enough(c, packed)))
            continue;
        const pp_pack_row row = { .method = { .packing = packing, .sorting = (pp_sorting)k } };
        pp_grouping sorted PP_CLEANUP(pp_grouping_free) = { 0 };
        pp_pack_verdict verdict;
        pp_status status = pp_grouping_copy(grouping, &sorted, err);
        if (status || (status = pp_grouping_sort(c, row.method.sorting, &sorted, err)) ||
            (status = pp_pack_judge(c->packer, c->task->lengths, &sorted, &verdict, err)))
            return status;
        if (today)
            packed->today = packed->count;
        if ((status = enter(c, packed, row, &verdict, &sorted, err)))
            return status;
    }
    return PP_OK;
}

/* Takes over `grouping`; for a packing that does not exist, adds a row with the reason. */
static pp_status try_grouping(const pp_pack_case *c, pp_packing packing, pp_status made,
                              const pp_err *why, pp_grouping *grouping, pp_packed *packed,
                              pp_err *err)
{
    pp_status status = PP_OK;
    if (made == PP_USAGE) {
        const pp_pack_row row = { .method.packing = packing, .reason = pp_reason_refused(why) };
        return add_row(packed, row, err);
    }
    if (made)
        *err = *why;
    status = made ? made : try_orders(c, packing, grouping, packed, err);
    pp_grouping_free(grouping);
    return status;
}

/* Lists the numbers of microbatches that are tried, in ascending order. */
static size_t sweep(const pp_pack_case *c, uint32_t counts[COUNTS_MAX])
{
    static const double all[] = { 0, 1, 1.125, 1.25, 1.5, 2, 3, 4, 6, 8, 12 };
    static const double few[] = { 1, 1.125, 1.25, 1.5, 2 };
    const double *factors = c->task->coarse ? few : all;
    const size_t factor_count =
        c->task->coarse ? sizeof few / sizeof *few : sizeof all / sizeof *all;
    const uint32_t base = c->ff ? c->ff : c->fewest;
    const uint64_t most = c->task->count / c->packer->replicas;
    const uint32_t step = c->packer->multiple_of;
    size_t count = 0;
    for (size_t k = 0; k < factor_count; k++) {
        uint64_t m = (uint64_t)(base * factors[k]);
        m = m < c->fewest ? c->fewest : m;
        m = (m + step - 1) / step * step;
        if (m <= most && m * c->packer->replicas <= (uint64_t)PP_MICROBATCHES_MAX &&
            (!count || m > counts[count - 1]))
            counts[count++] = (uint32_t)m;
    }
    return count;
}

static pp_status try_dealt(const pp_pack_case *c, uint32_t m, pp_packed *packed, pp_err *err)
{
    static const double firsts[] = { 0.5, 0.25, 0.125, 0.0625, 0.03125 };
    const size_t stride = c->task->coarse ? 2 : 1;
    pp_status status = PP_OK;
    pp_grouping grouping = { 0 };
    pp_err why = pp_err_like(err);
    if (c->task->packings[PP_PACKING_EQUAL]) {
        pp_status made = pp_group_equal(c, m, &grouping, &why);
        status = try_grouping(c, PP_PACKING_EQUAL, made, &why, &grouping, packed, err);
    }
    for (size_t k = 0; k < sizeof firsts / sizeof *firsts && !status; k += stride) {
        if (!c->task->packings[PP_PACKING_RAMPED] || is_enough(c, packed))
            break;
        pp_status made = pp_group_ramped(c, m, firsts[k], &grouping, &why);
        status = try_grouping(c, PP_PACKING_RAMPED, made, &why, &grouping, packed, err);
    }
    return status;
}

/* Tries consecutive sequences: as few microbatches as hold them, then more, as sweep lists them. */
static pp_status try_given(const pp_pack_case *c, pp_packed *packed, pp_err *err)
{
    uint32_t counts[COUNTS_MAX];
    const size_t count = c->task->group_count ? 0 : sweep(c, counts);
    pp_status status = PP_OK;
    uint32_t m = 0;
    for (size_t k = 0; k <= count && !status && c->task->packings[PP_PACKING_GIVEN]; k++) {
        pp_grouping grouping = { 0 };
        pp_err why = pp_err_like(err);
        const uint32_t least = k ? counts[k - 1] : 0;
        if (is_enough(c, packed))
            break;
        if (k && (least <= m || (uint64_t)least * c->task->count > CUTS_MAX))
            continue;
        pp_status made = pp_group_given(c, least, &grouping, &why);
        m = made ? m : grouping.microbatches;
        status = try_grouping(c, PP_PACKING_GIVEN, made, &why, &grouping, packed, err);
    }
    return status;
}

static pp_status try_all(const pp_pack_case *c, const pp_err *no_first_fit, pp_packed *packed,
                         pp_err *err)
{
    uint32_t counts[COUNTS_MAX];
    pp_grouping grouping = { 0 };
    const size_t count = sweep(c, counts);
    pp_status status = PP_OK;
    if (c->ff && !(status = pp_grouping_copy(&c->first_fit, &grouping, err)))
        status = try_grouping(c, PP_PACKING_FIRST_FIT, PP_OK, no_first_fit, &grouping, packed, err);
    else if (!c->ff)
        status =
            try_grouping(c, PP_PACKING_FIRST_FIT, PP_USAGE, no_first_fit, &grouping, packed, err);
    for (size_t k = 0; k < count && !status && !is_enough(c, packed); k++)
        status = try_dealt(c, counts[k], packed, err);
    return status ? status : try_given(c, packed, err);
}

/* Reports why nothing fits: the reason of the row that comes nearest, or of the first one if none
 * could be simulated. */
static pp_status none_fits(const pp_packed *packed, pp_err *err)
{
    const pp_pack_row *nearest = &packed->row[0];
    for (size_t i = 1; i < packed->count; i++) {
        const pp_pack_row *row = &packed->row[i];
        if (row->peak_bytes && (!nearest->peak_bytes || row->peak_bytes < nearest->peak_bytes))
            nearest = row;
    }
    char why[PP_REASON_BYTES];
    pp_misfit_print(&nearest->reason, why, sizeof why);
    if (!nearest->microbatches)
        return pp_err_set(err, PP_USAGE, "LENGTHS", "%.190s", why);
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "no packing of this batch fits; the nearest (%s, %" PRIu32
                      " microbatches): %.190s",
                      pp_packing_name(nearest->method.packing), nearest->microbatches, why);
}

static pp_status improve(const pp_pack_case *c, pp_packed *packed, pp_err *err)
{
    pp_grouping grouping PP_CLEANUP(pp_grouping_free) = { 0 };
    pp_pack_verdict verdict;
    if ((!c->task->iterations && !c->task->ops_most && !c->task->stop) || pp_pack_is_over(c, 1))
        return PP_OK;
    pp_pack_row row = { .method = packed->row[packed->best].method };
    row.method.searched = true;
    pp_status status = pp_grouping_copy(&packed->grouping, &grouping, err);
    if (status || (status = pp_pack_improve(c, &grouping, &verdict, &packed->stopped, err)))
        return status;
    return enter(c, packed, row, &verdict, &grouping, err);
}

pp_status pp_pack(pp_packer *packer, const pp_pack_task *task, pp_packed **packed_out, pp_err *err)
{
    pp_pack_case c PP_CLEANUP(pp_pack_case_free) = { .packer = packer };
    pp_packed *packed PP_CLEANUP(pp_packed_free) = pp_alloc_array(1, sizeof *packed);
    pp_err why = pp_err_like(err);
    const int64_t before = packer->simulated;
    if (!packed)
        return pp_err_nomem(err);
    packed->best = packed->today = SIZE_MAX;
    pp_status status = open_case(&c, packer, task, &why, err);
    if (status || (status = try_all(&c, &why, packed, err)))
        return status;
    if (packed->best == SIZE_MAX && packed->stopped)
        return pp_err_set(err, PP_UNDECIDED, pp_err_name(err, PP_FIELD_BUDGET),
                          "the budget ended after %zu packing%s, none of which fits; increase it",
                          packed->count, packed->count == 1 ? "" : "s");
    if (packed->best == SIZE_MAX)
        return none_fits(packed, err);
    if ((status = improve(&c, packed, err)) ||
        (status = pp_packer_bound(packer, task->lengths, task->count, &packed->bound, err)))
        return status;
    packed->simulated = packer->simulated - before;
    *packed_out = packed;
    packed = NULL;
    return PP_OK;
}
