/* Workloads: fixed and packed microbatches, lengths from files, replicas, placements, stacks. */
#include "sim/base/alloc.h"
#include "sim/job/lengths.h"
#include "sim/job/parallel.h"
#include "sim/job/recompute.h"
#include "sim/job/software.h"
#include "sim/job/workload.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void free_numbers(int64_t **numbers)
{
    free(*numbers);
}

/* splitmix64 (Steele 2014): the same numbers everywhere */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int64_t *random_lengths(size_t count, int64_t most, uint64_t seed)
{
    int64_t *lengths = pp_alloc_array(count, sizeof *lengths);
    ck_assert_ptr_nonnull(lengths);
    for (size_t i = 0; i < count; i++)
        lengths[i] = 1 + (int64_t)(next_random(&seed) % (uint64_t)most);
    return lengths;
}

static pp_workload packed(const int64_t *lengths, size_t count, int64_t seq, int64_t size,
                          uint32_t replicas, uint32_t multiple)
{
    pp_workload work;
    pp_err err = { 0 };
    ck_assert_msg(pp_workload_pack(lengths, count, seq, size, replicas, multiple, &work, &err) ==
                      PP_OK,
                  "%s: %s", err.where, err.text);
    return work;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sums are those of the lengths, no microbatch is empty or too large, and no sequence is lost or
 * added. */
static void check_consistent(const pp_workload *w, const int64_t *lengths, size_t count,
                             int64_t most_tokens)
{
    size_t used = 0;
    ck_assert_uint_eq(w->length_count, count);
    for (size_t k = 0; k < (size_t)w->replicas * w->microbatches; k++) {
        const pp_microbatch *m = &w->microbatch[k];
        int64_t tokens = 0;
        int64_t squares = 0;
        ck_assert_uint_eq(m->first, used);
        ck_assert_uint_gt(m->count, 0);
        for (size_t i = m->first; i < m->first + m->count; i++) {
            tokens += w->lengths[i];
            squares += w->lengths[i] * w->lengths[i];
        }
        used += m->count;
        ck_assert_int_eq(m->tokens, tokens);
        ck_assert_int_eq(m->square_sum, squares);
        ck_assert_int_le(tokens, most_tokens);
    }
    ck_assert_uint_eq(used, count);
    int64_t *a PP_CLEANUP(free_numbers) = pp_alloc_array(count, sizeof *a);
    int64_t *b PP_CLEANUP(free_numbers) = pp_alloc_array(count, sizeof *b);
    ck_assert(a && b);
    memcpy(a, lengths, count * sizeof *a);
    memcpy(b, w->lengths, count * sizeof *b);
    qsort(a, count, sizeof *a, by_value);
    qsort(b, count, sizeof *b, by_value);
    ck_assert_mem_eq(a, b, count * sizeof *a);
}

START_TEST(fixed_microbatches_have_b_s_tokens_and_b_s_squared)
{
    pp_workload work PP_CLEANUP(pp_workload_free) = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_workload_fixed(64, 4, 2048, &work, &err), PP_OK);
    ck_assert_uint_eq(work.replicas, 1);
    ck_assert_uint_eq(work.microbatches, 64);
    for (int j = 0; j < 64; j++) {
        ck_assert_int_eq(work.microbatch[j].tokens, 8192);
        ck_assert_int_eq(work.microbatch[j].square_sum, INT64_C(4) * 2048 * 2048);
        ck_assert_uint_eq(work.microbatch[j].count, 4);
        ck_assert_int_eq(work.lengths[work.microbatch[j].first + 3], 2048);
    }
}
END_TEST

START_TEST(the_largest_square_sum_fits_64_bits)
{
    pp_workload work PP_CLEANUP(pp_workload_free) = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_workload_fixed(1, 128, PP_LENGTH_MAX, &work, &err), PP_OK);
    ck_assert_int_eq(work.microbatch[0].square_sum, INT64_C(1) << 55);
}
END_TEST

START_TEST(limits_of_fixed_workloads_are_errors)
{
    static const struct {
        uint32_t microbatches;
        int64_t size, seq;
    } cases[] = {
        { 0, 1, 1 },
        { (1u << 24) + 1, 1, 1 },
        { 1, 0, 1 },
        { 1, 1, 0 },
        { 1, -1, 1 },
        { 1, 1, -5 },
        { 1, 1, (1 << 24) + 1 },
        { 1, 129, 1 << 24 },
        { 1, INT64_MAX, 2 },
        { 1, 2, INT64_MAX },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 10, "as often as main loops");
    pp_workload work;
    pp_err err = { 0 };
    ck_assert_int_eq(
        pp_workload_fixed(cases[_i].microbatches, cases[_i].size, cases[_i].seq, &work, &err),
        PP_INPUT);
    ck_assert(*err.text);
}
END_TEST

/* By hand: 6 opens a bin; 5 does not fit 10 - 6 and opens another; 4 goes into the first; ... */
START_TEST(first_fit_goes_back_to_the_first_bin_with_room)
{
    static const int64_t lengths[] = { 6, 5, 4, 5, 3, 10, 7 };
    static const int64_t expected[] = { 6, 4, 5, 5, 3, 7, 10 };
    static const size_t counts[] = { 2, 2, 2, 1 };
    pp_workload w PP_CLEANUP(pp_workload_free) = packed(lengths, 7, 10, 1, 1, 1);
    ck_assert_uint_eq(w.microbatches, 4);
    for (int k = 0; k < 4; k++)
        ck_assert_uint_eq(w.microbatch[k].count, counts[k]);
    ck_assert_mem_eq(w.lengths, expected, sizeof expected);
}
END_TEST

/* Packed {512,512} costs less attention than {1024}: same T, half the Q. */
START_TEST(packing_keeps_tokens_and_lowers_squares)
{
    static const int64_t halves[] = { 512, 512 };
    pp_workload w PP_CLEANUP(pp_workload_free) = packed(halves, 2, 1024, 1, 1, 1);
    ck_assert_uint_eq(w.microbatches, 1);
    ck_assert_int_eq(w.microbatch[0].tokens, 1024);
    ck_assert_int_eq(w.microbatch[0].square_sum, 1024 * 1024 / 2);
}
END_TEST

/* First fit by its definition, in n^2 steps. */
static size_t plain_first_fit(const int64_t *lengths, size_t count, int64_t seq, size_t *bin_of)
{
    size_t bins = 0;
    int64_t *room PP_CLEANUP(free_numbers) = pp_alloc_array(count, sizeof *room);
    ck_assert_ptr_nonnull(room);
    for (size_t i = 0; i < count; i++) {
        size_t b = 0;
        while (b < bins && room[b] < lengths[i])
            b++;
        if (b == bins)
            room[bins++] = seq;
        room[b] -= lengths[i];
        bin_of[i] = b;
    }
    return bins;
}

START_TEST(the_tree_packs_as_first_fit_by_definition)
{
    size_t count = (size_t)(1 + 37 * _i);
    int64_t *lengths PP_CLEANUP(free_numbers) = random_lengths(count, 40 + 20 * _i, (uint64_t)_i);
    size_t *bin_of = pp_alloc_array(count, sizeof *bin_of);
    ck_assert_ptr_nonnull(bin_of);
    size_t bins = plain_first_fit(lengths, count, 40 + 20 * _i, bin_of);
    pp_workload w PP_CLEANUP(pp_workload_free) = packed(lengths, count, 40 + 20 * _i, 1, 1, 1);
    ck_assert_uint_eq(w.microbatches, bins);
    for (size_t b = 0; b < bins; b++) {
        size_t at = w.microbatch[b].first;
        for (size_t i = 0; i < count; i++) {
            if (bin_of[i] == b)
                ck_assert_int_eq(w.lengths[at++], lengths[i]);
        }
        ck_assert_uint_eq(at, w.microbatch[b].first + w.microbatch[b].count);
    }
    free(bin_of);
}
END_TEST

START_TEST(every_replica_gets_equally_many_and_m_is_a_multiple)
{
    uint64_t seed = (uint64_t)_i;
    for (int round = 0; round < 50; round++) {
        size_t count = 300 + next_random(&seed) % 200;
        int64_t size = 1 + (int64_t)(next_random(&seed) % 3);
        uint32_t replicas = 1 + (uint32_t)(next_random(&seed) % 5);
        uint32_t multiple = 1 + (uint32_t)(next_random(&seed) % 8);
        int64_t *lengths PP_CLEANUP(free_numbers) = random_lengths(count, 700, seed);
        pp_workload w PP_CLEANUP(pp_workload_free) =
            packed(lengths, count, 1024, size, replicas, multiple);
        ck_assert_uint_eq(w.replicas, replicas);
        ck_assert_uint_eq(w.microbatches % multiple, 0);
        check_consistent(&w, lengths, count, 1024 * size);
    }
}
END_TEST

/* By hand: bins {4,5} {6,2,2} {7} {5,5}, multiple 3: 6 microbatches, so both bins of 10 are cut. */
START_TEST(the_fullest_bins_are_split_between_sequences)
{
    static const int64_t lengths[] = { 4, 5, 6, 2, 7, 2, 5, 5 };
    static const int64_t tokens[] = { 9, 6, 4, 7, 5, 5 };
    pp_workload w PP_CLEANUP(pp_workload_free) = packed(lengths, 8, 10, 1, 1, 3);
    ck_assert_uint_eq(w.microbatches, 6);
    for (int k = 0; k < 6; k++)
        ck_assert_int_eq(w.microbatch[k].tokens, tokens[k]);
}
END_TEST

START_TEST(a_multiple_beyond_the_sequences_is_given_up)
{
    static const int64_t lengths[] = { 8, 8, 8 };
    pp_workload w PP_CLEANUP(pp_workload_free) = packed(lengths, 3, 8, 1, 1, 4);
    ck_assert_uint_eq(w.microbatches, 3);
}
END_TEST

START_TEST(microbatches_go_to_replicas_in_turn)
{
    static const int64_t lengths[] = { 8, 7, 6, 5 };
    pp_workload w PP_CLEANUP(pp_workload_free) = packed(lengths, 4, 8, 1, 2, 1);
    static const int64_t expected[] = { 8, 6, 7, 5 }; /* replica 0: 8, 6; replica 1: 7, 5 */
    ck_assert_uint_eq(w.microbatches, 2);
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(w.microbatch[k].tokens, expected[k]);
}
END_TEST

START_TEST(packing_refuses_what_it_cannot_pack)
{
    static const int64_t lengths[] = { 8, 8, 9, 0 };
    static const struct {
        size_t first, count;
        int64_t seq, size;
        uint32_t replicas, multiple;
        const char *text;
    } cases[] = {
        { 0, 3, 8, 1, 1, 1, "sequence 3 has 9 tokens" },
        { 3, 1, 8, 1, 1, 1, "at least 1" },
        { 0, 2, 8, 1, 3, 1, "2 sequences fill 2 bins" },
        { 0, 3, 9, 1, 2, 1, "3 sequences fill 3 bins" },
        { 0, 0, 8, 1, 1, 1, "must have 1 to" },
        { 0, 2, 8, 0, 1, 1, "from 1 to" },
        { 0, 2, 0, 1, 1, 1, "from 1 to" },
        { 0, 2, 8, (1 << 24), 1, 1, NULL },
        { 0, 2, 8, (1 << 24) + 1, 1, 1, "from 1 to" },
        { 0, 2, 8, 1, 0, 1, "replicas" },
        { 0, 2, 8, 1, UINT32_MAX, 1, "replicas" },
        { 0, 2, 8, 1, 1, 0, "multiple" },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 12, "as often as main loops");
    pp_workload work PP_CLEANUP(pp_workload_free) = { 0 };
    pp_err err = { 0 };
    pp_status status =
        pp_workload_pack(lengths + cases[_i].first, cases[_i].count, cases[_i].seq, cases[_i].size,
                         cases[_i].replicas, cases[_i].multiple, &work, &err);
    bool too_few = cases[_i].text && strstr(cases[_i].text, "fill");
    ck_assert_int_eq(status, too_few ? PP_USAGE : cases[_i].text ? PP_INPUT : PP_OK);
    if (cases[_i].text)
        ck_assert_msg(strstr(err.text, cases[_i].text) != NULL, "%s", err.text);
}
END_TEST

/* The options ask for more than the file has; the message is worded for one. */
START_TEST(too_few_sequences_are_wrong_usage)
{
    const int64_t length = 7;
    pp_workload work PP_CLEANUP(pp_workload_free) = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_workload_pack(&length, 1, 8, 1, 2, 1, &work, &err), PP_USAGE);
    ck_assert_str_eq(err.where, "lengths");
    ck_assert_msg(strstr(err.text, "1 sequence fills 1 bin;") != NULL, "%s", err.text);
}
END_TEST

START_TEST(a_workload_says_how_many_bins_were_split)
{
    const int64_t lengths[] = { 4, 4, 4, 4, 8 };
    pp_workload w PP_CLEANUP(pp_workload_free) = packed(lengths, 5, 8, 1, 1, 1);
    ck_assert_uint_eq(w.first_fit_bins, 3);
    ck_assert_uint_eq(w.bins, 3);
    pp_workload split PP_CLEANUP(pp_workload_free) = packed(lengths, 5, 8, 1, 1, 4);
    ck_assert_uint_eq(split.first_fit_bins, 3);
    ck_assert_uint_eq(split.bins, 4);
}
END_TEST

/* n log n: a quadratic first fit takes minutes here. Half of the bins are never filled. */
START_TEST(four_hundred_thousand_sequences_pack_in_seconds)
{
    size_t count = 400000;
    int64_t *lengths PP_CLEANUP(free_numbers) = random_lengths(count, 4096, 7);
    for (size_t i = 0; i < count; i += 2)
        lengths[i] = 4000; /* leaves 96 */
    clock_t start = clock();
    pp_workload w PP_CLEANUP(pp_workload_free) = packed(lengths, count, 4096, 1, 8, 64);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    check_consistent(&w, lengths, count, 4096);
    ck_assert_msg(seconds < 5, "%g s", seconds);
}
END_TEST

/* ---- lengths -------------------------------------------------------------------------------- */

START_TEST(lengths_are_read_from_lines_and_from_json)
{
    static const char *const texts[] = {
        "5\n7\n9\n", "5\n7\n9",          "# head\n\n 5\r\n\t7 # seven\n9 \n\n",
        "[5,7,9]",   "\n [ 5, 7, 9 ]\n",
    };
    _Static_assert(sizeof texts / sizeof texts[0] == 5, "as often as main loops");
    pp_lengths read PP_CLEANUP(pp_lengths_free) = { 0 };
    pp_err err = { 0 };
    ck_assert_msg(pp_lengths_parse(texts[_i], strlen(texts[_i]), "l.txt", &read, &err) == PP_OK,
                  "%s: %s", err.where, err.text);
    static const int64_t expected[] = { 5, 7, 9 };
    ck_assert_uint_eq(read.count, 3);
    ck_assert_mem_eq(read.length, expected, sizeof expected);
    ck_assert_ptr_null(read.group_end);
}
END_TEST

START_TEST(bad_lengths_are_refused_with_line_and_column)
{
    static const struct {
        const char *text, *where;
    } cases[] = {
        { "", "l.txt" },
        { "# nothing\n", "l.txt" },
        { "5\n0\n", "l.txt:2:1" },
        { "5\n  -1\n", "l.txt:2:3" },
        { "5 6\n", "l.txt:1:3" },
        { "5.5\n", "l.txt:1:2" },
        { "5\n\n\nx\n", "l.txt:4:1" },
        { "16777217\n", "l.txt:1:1" },
        { "99999999999999999999999\n", "l.txt:1:1" },
        { "[5,", "l.txt:1:3" },
        { "[5,0]", "l.txt#/1" },
        { "[5,\"6\"]", "l.txt#/1" },
        { "[5,16777217]", "l.txt#/1" },
        { "[]", "l.txt" },
        { "{\"a\":[1]}", "l.txt#" },
        { "[[5],[]]", "l.txt#/1" },
        { "[[5],6]", "l.txt#/1" },
        { "[5,[6]]", "l.txt#/1" },
        { "[[5,0]]", "l.txt#/0/1" },
        { "[[[5]]]", "l.txt#/0/0" },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 20, "as often as main loops");
    pp_lengths read = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_lengths_parse(cases[_i].text, strlen(cases[_i].text), "l.txt", &read, &err),
                     PP_INPUT);
    ck_assert_str_eq(err.where, cases[_i].where);
    ck_assert_ptr_null(read.length);
}
END_TEST

/* docs/reference/formats.md: each inner array is a microbatch, and they go to the replicas in
 * turn. */
START_TEST(a_grouping_is_kept_as_it_is)
{
    pp_lengths read PP_CLEANUP(pp_lengths_free) = { 0 };
    pp_workload work PP_CLEANUP(pp_workload_free) = { 0 };
    static const char text[] = "[[5,7],[9],[1,2,3],[4]]";
    static const int64_t tokens[] = { 12, 6, 9, 4 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_lengths_parse(text, strlen(text), "l", &read, &err), PP_OK);
    ck_assert_uint_eq(read.count, 7);
    ck_assert_uint_eq(read.group_count, 4);
    ck_assert_int_eq(
        pp_workload_group(read.length, read.group_end, read.group_count, 9, 2, &work, &err), PP_OK);
    ck_assert_uint_eq(work.microbatches, 2);
    for (size_t k = 0; k < 4; k++)
        ck_assert_int_eq(work.microbatch[k].tokens, tokens[k]);
    ck_assert_int_eq(work.microbatch[1].square_sum, 14);
    ck_assert_uint_eq(work.microbatch[1].count, 3);
    ck_assert_int_eq(work.lengths[work.microbatch[1].first + 2], 3);
    ck_assert_int_eq(
        pp_workload_group(read.length, read.group_end, read.group_count, 9, 3, &work, &err),
        PP_USAGE);
    ck_assert_int_eq(
        pp_workload_group(read.length, read.group_end, read.group_count, 8, 2, &work, &err),
        PP_INPUT);
}
END_TEST

START_TEST(a_byte_zero_is_no_end_of_the_lengths)
{
    pp_lengths read = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_lengths_parse("5\n6\0\n7", 6, "l.txt", &read, &err), PP_INPUT);
    ck_assert_str_eq(err.where, "l.txt:2:2");
}
END_TEST

/* ---- job ------------------------------------------------------------------------------------ */

/* Placement loop is s mod p; v goes there and back. */
START_TEST(stages_lie_on_ranks_as_the_placement_says)
{
    static const uint32_t loop[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2 };
    static const uint32_t v[] = { 0, 1, 2, 2, 1, 0, 0, 1, 2 };
    for (uint32_t s = 0; s < 9; s++) {
        ck_assert_uint_eq(pp_placement_rank(PP_PLACE_LOOP, s, 3), loop[s]);
        ck_assert_uint_eq(pp_placement_rank(PP_PLACE_V, s, 3), v[s]);
    }
    ck_assert_str_eq(pp_placement_name(PP_PLACE_LOOP), "loop");
    ck_assert_str_eq(pp_placement_name(PP_PLACE_V), "v");
}
END_TEST

START_TEST(gpus_are_pp_tp_cp_dp_and_ep_lies_inside)
{
    const pp_parallel parallel = { .pp = 8, .tp = 8, .cp = 2, .dp = 3, .ep = 6, .vpp = 4 };
    ck_assert_int_eq(pp_parallel_gpus(&parallel), 384);
}
END_TEST

/* A limit of 10, and lengths below, at and above it: what truncation and splitting make of them, in
 * groups of 1, 3 and 1. */
START_TEST(long_sequences_are_cut_or_split_in_their_place)
{
    int64_t lengths[] = { 3, 10, 11, 35, 20 };
    size_t ends[] = { 1, 4, 5 };
    static const int64_t cut[] = { 3, 10, 10, 10, 10 };
    static const int64_t split[] = { 3, 10, 10, 1, 10, 10, 10, 5, 10, 10 };
    static const size_t split_ends[] = { 1, 8, 10 };
    const pp_lengths from = { lengths, 5, ends, 3 };
    pp_lengths to;
    pp_lengths_cut_sum sum;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_lengths_fit(&from, 10, PP_LENGTHS_TRUNCATE, &to, &sum, &err), PP_OK);
    ck_assert_uint_eq(to.count, 5);
    ck_assert_mem_eq(to.length, cut, sizeof cut);
    ck_assert_mem_eq(to.group_end, ends, sizeof ends);
    ck_assert_uint_eq(sum.cut, 3);
    ck_assert_int_eq(sum.tokens, 79);
    ck_assert_int_eq(sum.lost, 1 + 25 + 10);
    pp_lengths_free(&to);
    ck_assert_int_eq(pp_lengths_fit(&from, 10, PP_LENGTHS_SPLIT, &to, &sum, &err), PP_OK);
    ck_assert_uint_eq(to.count, 10);
    ck_assert_mem_eq(to.length, split, sizeof split);
    ck_assert_uint_eq(to.group_count, 3);
    ck_assert_mem_eq(to.group_end, split_ends, sizeof split_ends);
    ck_assert_uint_eq(sum.cut, 3);
    ck_assert_uint_eq(sum.pieces, 2 + 4 + 2);
    ck_assert_int_eq(sum.lost, 0);
    pp_lengths_free(&to);
}
END_TEST

START_TEST(too_many_pieces_are_refused)
{
    int64_t lengths[] = { PP_LENGTH_MAX, 2 };
    const pp_lengths from = { lengths, 2, NULL, 0 };
    pp_lengths to = { 0 };
    pp_lengths_cut_sum sum;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_lengths_fit(&from, 1, PP_LENGTHS_SPLIT, &to, &sum, &err), PP_INPUT);
    ck_assert_ptr_null(to.length);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("workload");
    TCase *tc = tcase_create("workload");
    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, fixed_microbatches_have_b_s_tokens_and_b_s_squared);
    tcase_add_test(tc, the_largest_square_sum_fits_64_bits);
    tcase_add_loop_test(tc, limits_of_fixed_workloads_are_errors, 0, 10);
    tcase_add_test(tc, first_fit_goes_back_to_the_first_bin_with_room);
    tcase_add_test(tc, packing_keeps_tokens_and_lowers_squares);
    tcase_add_loop_test(tc, the_tree_packs_as_first_fit_by_definition, 0, 20);
    tcase_add_loop_test(tc, every_replica_gets_equally_many_and_m_is_a_multiple, 0, 4);
    tcase_add_test(tc, the_fullest_bins_are_split_between_sequences);
    tcase_add_test(tc, a_multiple_beyond_the_sequences_is_given_up);
    tcase_add_test(tc, microbatches_go_to_replicas_in_turn);
    tcase_add_loop_test(tc, packing_refuses_what_it_cannot_pack, 0, 12);
    tcase_add_test(tc, too_few_sequences_are_wrong_usage);
    tcase_add_test(tc, a_workload_says_how_many_bins_were_split);
    tcase_add_test(tc, four_hundred_thousand_sequences_pack_in_seconds);
    tcase_add_loop_test(tc, lengths_are_read_from_lines_and_from_json, 0, 5);
    tcase_add_loop_test(tc, bad_lengths_are_refused_with_line_and_column, 0, 20);
    tcase_add_test(tc, a_grouping_is_kept_as_it_is);
    tcase_add_test(tc, a_byte_zero_is_no_end_of_the_lengths);
    tcase_add_test(tc, stages_lie_on_ranks_as_the_placement_says);
    tcase_add_test(tc, gpus_are_pp_tp_cp_dp_and_ep_lies_inside);
    tcase_add_test(tc, long_sequences_are_cut_or_split_in_their_place);
    tcase_add_test(tc, too_many_pieces_are_refused);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
