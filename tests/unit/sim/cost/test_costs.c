/* Costs given by hand or in a file are exact, and errors in them are named with their place. */
#include "sim/cost/costs.h"
#include "sim/cost/costs_json.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call, err) ck_assert_msg((call) == PP_OK, "%s: %s", (err).where, (err).text)

static pp_status read_text(const char *text, uint32_t ranks, uint32_t stages, uint32_t microbatches,
                           pp_costs **costs_out, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_json_parse(text, strlen(text), "c.json", &json, err);
    if (status)
        return status;
    const pp_json_at root = pp_json_root(json, "c.json");
    return pp_costs_read(&root, ranks, stages, microbatches, costs_out, err);
}

static char *write_text(const pp_costs *costs)
{
    pp_json_build build = { false };
    pp_err err = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    pp_json *json = pp_costs_write(costs, &build);
    OK(pp_json_print(&build, json, &text, &bytes, &err), err);
    pp_json_free(&json);
    return text;
}

START_TEST(uniform_costs_are_exact)
{
    pp_uniform_costs u;
    pp_costs *c = NULL;
    pp_err err = { 0 };
    OK(pp_uniform_costs_parse("F=18.522ms,I=18.086ms,W=9.337ms,comm=0.601ms", &u, &err), err);
    ck_assert_int_eq(u.f_ns, 18522000);
    ck_assert_int_eq(u.b_ns, -1);
    ck_assert_int_eq(u.comm_ns, 601000);
    OK(pp_costs_uniform(&u, 4, 8, 16, &c, &err), err);
    ck_assert_int_eq(c->b_ns[pp_cost_index(c, 7, 15)], 18086000 + 9337000);
    ck_assert_int_eq(c->send_f_ns[6], 601000);
    ck_assert_int_eq(c->send_f_ns[7], 0);
    ck_assert_int_eq(c->send_b_ns[0], 0);
    ck_assert_uint_eq(c->classes, 1);
    pp_costs_free(&c);
    OK(pp_uniform_costs_parse("B=5ns,F=1ns", &u, &err), err);
    ck_assert_int_eq(u.i_ns, 2);
    ck_assert_int_eq(u.w_ns, 3);
    ck_assert_int_eq(u.b_ns, 5);
    OK(pp_uniform_costs_parse("F=1s,I=1s,W=2s,B=3s", &u, &err), err);
    ck_assert_int_eq(u.b_ns, 3000000000);
}
END_TEST

START_TEST(bad_uniform_costs_are_wrong_usage)
{
    static const char *const texts[] = {
        "",
        "F",
        "F=",
        "F=1",
        "F=1ms",
        "F=1ms,I=1ms",
        "F=1ms,W=1s",
        "I=1s,W=1s",
        "F=1ms,X=1s",
        "F=1s,F=1s,B=1s",
        "F=1s,I=1s,W=1s,B=3s",
        "F=1s,B=1s,",
        "F=-1s,B=1s",
        "F=1s,,B=1s",
        "=1s,F=1s",
        "F=1parsec,B=1s",
        "F=0.1ns,B=1s",
        "F=1s,B=99999999999s",
        "F=1s,B=1s,comm=1s,comm=1s",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pp_uniform_costs u;
        pp_err err = { 0 };
        ck_assert_msg(pp_uniform_costs_parse(texts[i], &u, &err) == PP_USAGE, "'%s'", texts[i]);
        ck_assert_msg(strncmp(err.where, "costs", 5) == 0 && err.text[0], "'%s'", texts[i]);
    }
}
END_TEST

START_TEST(memory_costs_have_two_units)
{
    pp_memory_costs m;
    pp_err err = { 0 };
    OK(pp_memory_costs_parse("F=1,I=-0.5,W=-0.5", &m, &err), err);
    ck_assert(!m.in_bytes);
    ck_assert_double_eq(m.w, -0.5);
    OK(pp_memory_costs_parse("F=2,I=-1.3,W=-0.7", &m, &err), err);
    OK(pp_memory_costs_parse("F=1,B=-1", &m, &err), err);
    ck_assert_double_eq(m.i, -0.5);
    OK(pp_memory_costs_parse("F=1GiB,I=-768MiB,W=-256MiB", &m, &err), err);
    ck_assert(m.in_bytes);
    ck_assert_int_eq(m.w_bytes, -((int64_t)256 << 20));
    ck_assert_double_eq(m.f, 1);
    ck_assert_double_eq(m.i, -0.75);
    OK(pp_memory_costs_parse("F=100B,I=-100B,W=0", &m, &err), err);
    ck_assert_int_eq(m.i_bytes, -100);
    ck_assert_int_eq(m.w_bytes, 0);
}
END_TEST

START_TEST(bad_memory_costs_are_wrong_usage)
{
    static const char *const texts[] = {
        "",
        "F=1",
        "F=1,I=-1",
        "F=1,I=-0.5,W=-0.4",
        "F=-1,I=0.5,W=0.5",
        "F=0,I=0,W=0",
        "F=1,I=1,W=-2",
        "F=1GiB,I=-1,W=0",
        "F=1,I=-1GiB,W=0",
        "F=nan,I=-1,W=0",
        "F=1e999,I=-1,W=0",
        "F=0x1,I=-1,W=0",
        "F=1,I=--1,W=0",
        "F=1,B=-1,W=0",
        "F=1,I=-1,W=0,comm=1",
        "F=1GiB,I=-1GiB,W=-1B",
        "F=1.5B,I=-1.5B,W=0",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pp_memory_costs m;
        pp_err err = { 0 };
        ck_assert_msg(pp_memory_costs_parse(texts[i], &m, &err) == PP_USAGE, "'%s'", texts[i]);
    }
}
END_TEST

START_TEST(equal_microbatches_share_a_class)
{
    pp_costs *c = NULL;
    pp_err err = { 0 };
    OK(read_text("{\"format\":\"ppsim.costs\",\"version\":1,\"stages\":2,\"microbatches\":4,"
                 "\"forward_ns\":[[1,2,1,2],5],\"backward_ns\":[7,[8,9,8,8]],\"comm_ns\":3}",
                 2, 2, 4, &c, &err),
       err);
    ck_assert_uint_eq(c->classes, 3);
    ck_assert_uint_eq(c->class_of[0], 0);
    ck_assert_uint_eq(c->class_of[1], 1);
    ck_assert_uint_eq(c->class_of[2], 0);
    ck_assert_uint_eq(c->class_of[3], 2);
    ck_assert_int_eq(c->f_ns[pp_cost_index(c, 0, 3)], 2);
    ck_assert_int_eq(c->f_ns[pp_cost_index(c, 1, 3)], 5);
    ck_assert_int_eq(c->b_ns[pp_cost_index(c, 1, 1)], 9);
    ck_assert_int_eq(c->i_ns[pp_cost_index(c, 1, 1)], 4);
    ck_assert_int_eq(c->w_ns[pp_cost_index(c, 1, 1)], 5);
    ck_assert_int_eq(c->send_b_ns[pp_cost_index(c, 1, 0)], 3);
    ck_assert_int_eq(c->send_b_ns[pp_cost_index(c, 0, 0)], 0);
    pp_costs_free(&c);
}
END_TEST

/* Pairs split classes, too; without the key there are none. */
START_TEST(pairs_have_times_of_their_own)
{
    pp_costs *c = NULL;
    pp_uniform_costs u;
    pp_err err = { 0 };
    OK(read_text("{\"format\":\"ppsim.costs\",\"version\":1,\"forward_ns\":1,\"backward_ns\":3,"
                 "\"pair_ns\":[[3,4,3],5]}",
                 2, 2, 3, &c, &err),
       err);
    ck_assert(c->has_pairs);
    ck_assert_uint_eq(c->classes, 2);
    ck_assert_int_eq(c->pair_ns[pp_cost_index(c, 0, 1)], 4);
    ck_assert_int_eq(c->pair_ns[pp_cost_index(c, 0, 2)], 3);
    ck_assert_int_eq(c->pair_ns[pp_cost_index(c, 1, 2)], 5);
    pp_costs_free(&c);
    OK(pp_uniform_costs_parse("F=1us,B=3us", &u, &err), err);
    OK(pp_costs_uniform(&u, 2, 2, 3, &c, &err), err);
    ck_assert(!c->has_pairs);
    pp_costs_free(&c);
    OK(pp_uniform_costs_parse("F=1us,B=3us,FB=3500ns", &u, &err), err);
    OK(pp_costs_uniform(&u, 2, 2, 3, &c, &err), err);
    ck_assert(c->has_pairs);
    ck_assert_int_eq(c->pair_ns[1], 3500);
    pp_costs_free(&c);
}
END_TEST

/* A file that was written is the same when it is written again, in its shortest form. */
START_TEST(write_then_read_is_exact)
{
    static const char *const texts[] = {
        "{\"format\":\"ppsim.costs\",\"version\":1,\"forward_ns\":1,\"backward_ns\":3}",
        "{\"format\":\"ppsim.costs\",\"version\":1,\"forward_ns\":[1,2],\"input_ns\":2,"
        "\"weight_ns\":[3,3],\"backward_ns\":4,\"send_forward_ns\":[6,0],\"send_backward_ns\":[0,7]"
        ","
        "\"step\":{\"optimizer_ns\":[4,5],\"fixed_ns\":6,\"tokens\":0.1,\"model_flops\":1e21}}",
        "{\"format\":\"ppsim.costs\",\"version\":1,\"forward_ns\":[[1,2,3],[4,5,6]],\"input_ns\":2,"
        "\"weight_ns\":3,\"memory\":{\"activation_bytes\":[[9,8,9],7],\"stash_bytes\":[1,2],"
        "\"temporary_bytes\":[5,6],\"output_bytes\":[0,4],\"message_bytes\":9007199254740992,"
        "\"parameter_bytes\":[1,2],\"gradient_bytes\":3}}",
        "{\"format\":\"ppsim.costs\",\"version\":1,\"forward_ns\":1,\"backward_ns\":3,\"pair_ns\":"
        "[[3,4,3],5]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pp_costs *first = NULL, *second = NULL;
        pp_err err = { 0 };
        OK(read_text(texts[i], 2, 2, 3, &first, &err), err);
        char *once = write_text(first);
        OK(read_text(once, 2, 2, 3, &second, &err), err);
        char *twice = write_text(second);
        ck_assert_str_eq(once, twice);
        ck_assert_uint_eq(first->classes, second->classes);
        ck_assert_mem_eq(first->class_of, second->class_of, 3 * sizeof *first->class_of);
        ck_assert_mem_eq(first->b_ns, second->b_ns, 2 * first->classes * sizeof *first->b_ns);
        ck_assert_int_eq(first->has_memory, second->has_memory);
        ck_assert_int_eq(first->has_pairs, second->has_pairs);
        ck_assert_mem_eq(first->pair_ns, second->pair_ns,
                         2 * first->classes * sizeof *first->pair_ns);
        ck_assert_double_eq(first->tokens, second->tokens);
        free(once);
        free(twice);
        pp_costs_free(&first);
        pp_costs_free(&second);
    }
}
END_TEST

START_TEST(writer_uses_the_shortest_shape)
{
    pp_costs *c = NULL;
    pp_err err = { 0 };
    OK(read_text("{\"format\":\"ppsim.costs\",\"version\":1,\"forward_ns\":[[1,1],[1,1],[1,1]],"
                 "\"input_ns\":[1,2,2],\"weight_ns\":[[1,2],1,1],\"send_forward_ns\":[5,5,0]}",
                 3, 3, 2, &c, &err),
       err);
    char *text = write_text(c);
    ck_assert_ptr_nonnull(strstr(text, "\"forward_ns\": 1,"));
    ck_assert_ptr_nonnull(strstr(text, "\"send_forward_ns\": 5,"));
    ck_assert_ptr_null(strstr(text, "backward_ns\": ["));
    ck_assert_uint_eq(c->classes, 2);
    free(text);
    pp_costs_free(&c);
}
END_TEST

START_TEST(bad_costs_are_refused_with_their_place)
{
    static const struct {
        const char *body, *where, *text;
    } cases[] = {
        { "\"forward_ns\":1", "c.json#", "needs \"input_ns\"" },
        { "\"backward_ns\":1", "c.json#", "\"forward_ns\" is missing" },
        { "\"forward_ns\":-1,\"backward_ns\":1", "c.json#/forward_ns", "must be from 0" },
        { "\"forward_ns\":1.5,\"backward_ns\":1", "c.json#/forward_ns", "whole number" },
        { "\"forward_ns\":[1],\"backward_ns\":1", "c.json#/forward_ns", "1 entries" },
        { "\"forward_ns\":[1,[2]],\"backward_ns\":1", "c.json#/forward_ns/1", "microbatch" },
        { "\"forward_ns\":[1,[2,3,\"x\"]],\"backward_ns\":1", "c.json#/forward_ns/1/2", "whole" },
        { "\"forward_ns\":1,\"backward_ns\":1,\"stages\":3", "c.json#/stages", "for 3 stages" },
        { "\"forward_ns\":1,\"backward_ns\":1,\"colour\":3", "c.json#", "unknown key" },
        { "\"forward_ns\":1,\"input_ns\":1", "c.json#", "weight_ns" },
        { "\"forward_ns\":1,\"backward_ns\":1,\"comm_ns\":1,\"send_forward_ns\":1", "c.json#",
          "give only one" },
        { "\"forward_ns\":1,\"backward_ns\":1,\"send_forward_ns\":[1,1]",
          "c.json#/send_forward_ns/1", "must be 0" },
        { "\"forward_ns\":1,\"backward_ns\":1,\"memory\":{}", "c.json#/memory",
          "activation_bytes" },
        { "\"forward_ns\":1,\"backward_ns\":1,\"memory\":{\"activation_bytes\":1,\"stash\":1}",
          "c.json#/memory", "unknown key" },
        { "\"forward_ns\":1,\"backward_ns\":1,\"step\":{\"optimizer_ns\":[1,2,3]}",
          "c.json#/step/optimizer_ns", "per rank" },
        { "\"forward_ns\":1,\"input_ns\":9007199254740992,\"weight_ns\":1", "c.json#", "too long" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400];
        pp_costs *c = NULL;
        pp_err err = { 0 };
        snprintf(text, sizeof text, "{\"format\":\"ppsim.costs\",\"version\":1,%s}", cases[i].body);
        ck_assert_msg(read_text(text, 2, 2, 3, &c, &err) == PP_INPUT, "%s", text);
        ck_assert_ptr_null(c);
        ck_assert_str_eq(err.where, cases[i].where);
        ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s: %s", text, err.text);
    }
}
END_TEST

START_TEST(sizes_have_limits)
{
    pp_costs *c = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_costs_new(0, 1, 1, 1, &c, &err), PP_INPUT);
    ck_assert_int_eq(pp_costs_new(65536, 1, 1, 1, &c, &err), PP_INPUT);
    ck_assert_int_eq(pp_costs_new(1, 65536, 1, 1, &c, &err), PP_INPUT);
    ck_assert_int_eq(pp_costs_new(1, 1, (1u << 24) + 1, 1, &c, &err), PP_INPUT);
    ck_assert_int_eq(pp_costs_new(1, 1, 4, 5, &c, &err), PP_INPUT);
    ck_assert_ptr_null(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("costs_file");
    TCase *tc = tcase_create("costs_file");
    tcase_add_test(tc, uniform_costs_are_exact);
    tcase_add_test(tc, bad_uniform_costs_are_wrong_usage);
    tcase_add_test(tc, memory_costs_have_two_units);
    tcase_add_test(tc, bad_memory_costs_are_wrong_usage);
    tcase_add_test(tc, equal_microbatches_share_a_class);
    tcase_add_test(tc, pairs_have_times_of_their_own);
    tcase_add_test(tc, write_then_read_is_exact);
    tcase_add_test(tc, writer_uses_the_shortest_shape);
    tcase_add_test(tc, bad_costs_are_refused_with_their_place);
    tcase_add_test(tc, sizes_have_limits);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
