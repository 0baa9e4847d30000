/* Size protocols, hosts and tensors: steps made by hand, to the nanosecond. Unless stated
 * otherwise, F = 1 us, B = 2 us, a tensor takes 100 ns and a size message 20 ns. */
#include "sim/analysis/critical_path.h"
#include "sim/engine/comm_engine.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/program/program_new.h"
#include "sim/program/transfer_costs.h"
#include "tests/support/semantics.h"
#include "tests/support/step.h"

#define SHAPE_NS 20
#define SYNC_NS 50
#define READ_NS 30

static const pp_host_costs no_host = { 0 };
static const pp_host_costs slow_host = { 0, SYNC_NS, READ_NS };

static const pp_framework *framework_of(const char *name)
{
    const pp_framework *framework = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_framework_get(name, &framework, &err), err);
    return framework;
}

static pp_exchange_options exchange_of(const char *shapes, pp_host_costs host)
{
    pp_exchange_options exchange = { .shape_message_ns = SHAPE_NS, .host = host };
    pp_err err = { 0 };
    STEP_OK(pp_size_protocol_parse(shapes, &exchange.shapes, &err), err);
    return exchange;
}

/* Simulates 1f1b under `framework`. */
static pp_status try_step(const pp_framework *framework, const pp_exchange_options *exchange,
                          const char *comm, uint32_t p, uint32_t m, step *s, pp_err *err)
{
    pp_err own = { 0 };
    *s = (step){ .order = step_order("1f1b", p, 1, m, 0),
                 .costs = step_costs("F=1us,B=2us,comm=100ns", p, 1, m) };
    STEP_OK(framework->lower(s->order, &s->program, &own), own);
    pp_status status = pp_exchange_lower(framework, exchange, s->costs, s->program, err);
    if (!status)
        STEP_OK(parse_semantics(comm, "", &s->program->comm->semantics, &own), own);
    return status ? status : pp_simulate(s->program, s->costs, &s->timeline, err);
}

static step run_step(const char *framework, const char *shapes, pp_host_costs host, int64_t tensors,
                     uint32_t p, uint32_t m)
{
    pp_exchange_options exchange = exchange_of(shapes, host);
    exchange.tensors = tensors;
    step s;
    pp_err err = { 0 };
    STEP_OK(try_step(framework_of(framework), &exchange, "", p, m, &s, &err), err);
    STEP_OK(pp_report_build("1f1b", framework_of(framework), s.program, s.timeline, s.costs, true,
                            &s.report, &err),
            err);
    for (uint32_t r = 0; r < p; r++) {
        pp_ns sum = s.report->per_rank[r].busy_ns;
        for (int c = 0; c < PP_IDLE_COUNT; c++) {
            ck_assert_int_ge(s.report->per_rank[r].idle_ns[c], 0);
            sum += s.report->per_rank[r].idle_ns[c];
        }
        ck_assert_int_eq(sum, s.report->makespan_ns);
    }
    return s;
}

static pp_ns makespan_of(const char *framework, const char *shapes, pp_host_costs host,
                         int64_t tensors, uint32_t p, uint32_t m)
{
    step s = run_step(framework, shapes, host, tensors, p, m);
    pp_ns makespan_ns = s.report->makespan_ns;
    step_free(&s);
    return makespan_ns;
}

/* With equal lengths, a protocol costs its overhead per transfer times the number of transfers on
 * the critical path, which is 2 (p - 1) for one microbatch. */
START_TEST(a_message_costs_its_overhead_per_transfer_on_the_path)
{
    for (uint32_t p = 2; p <= 5; p++) {
        const pp_ns transfers = 2 * ((pp_ns)p - 1);
        const pp_ns compute_ns = 3000 * (pp_ns)p;
        /* Megatron syncs after every call; the message adds itself, one sync and one read. */
        pp_ns plan_ns = makespan_of("megatron", "plan", slow_host, 1, p, 1);
        ck_assert_int_eq(plan_ns, compute_ns + transfers * (100 + SYNC_NS));
        ck_assert_int_eq(makespan_of("megatron", "message", slow_host, 1, p, 1),
                         plan_ns + transfers * (SHAPE_NS + SYNC_NS + READ_NS));
        /* DeepSpeed: activations only, no sync. */
        plan_ns = makespan_of("deepspeed", "plan", slow_host, 1, p, 1);
        ck_assert_int_eq(plan_ns, compute_ns + transfers * 100);
        ck_assert_int_eq(makespan_of("deepspeed", "message", slow_host, 1, p, 1),
                         plan_ns + transfers / 2 * (SHAPE_NS + READ_NS));
        /* So does our runtime. */
        ck_assert_int_eq(makespan_of("ppsim", "message", slow_host, 1, p, 1),
                         plan_ns + transfers / 2 * (SHAPE_NS + READ_NS));
        /* Colossal-AI: two rounds, each read, both ways. */
        ck_assert_int_eq(makespan_of("colossalai", "message", slow_host, 1, p, 1),
                         plan_ns + transfers * 2 * (SHAPE_NS + READ_NS));
        /* One read on the first stage; those of the others pass while they wait. */
        ck_assert_int_eq(
            makespan_of("megatron", "local", (pp_host_costs){ 0, 0, READ_NS }, 1, p, 1),
            plan_ns + READ_NS);
    }
}
END_TEST

/* Reading the rank's own copy of the data does not wait for its device: only the first read delays
 * it. */
START_TEST(reading_ones_own_copy_overlaps_compute)
{
    const pp_host_costs reads = { .read_ns = READ_NS };
    for (uint32_t m = 1; m <= 8; m *= 2)
        ck_assert_int_eq(makespan_of("deepspeed", "local", reads, 1, 3, m),
                         makespan_of("deepspeed", "plan", reads, 1, 3, m) + READ_NS);
}
END_TEST

/* Rank 0 posts the send of its second activation and syncs before it posts the receive of its first
 * gradient: the sync ends when rank 1 has received the activation. F 1, tensor 1.1, F -2.1, B -4.1;
 * tensor -4.2, sync -4.25, gradient -4.35. */
START_TEST(a_sync_waits_for_what_no_rank_waited_for)
{
    step s = { .order = step_order("gpipe", 2, 1, 2, 0),
               .costs = step_costs("F=1us,B=2us,comm=100ns", 2, 1, 2) };
    static const pp_transfer_kind down[] = { PP_SEND_F, PP_RECV_F };
    static const pp_transfer_kind up[] = { PP_RECV_B, PP_SEND_B };
    pp_comm_builder *b = NULL;
    uint32_t group[2][2][2]; /* rank, backward, microbatch */
    pp_err err = { 0 };
    STEP_OK(pp_program_from_order(s.order, &s.program, &err), err);
    STEP_OK(pp_comm_builder_new(s.program, &b, &err), err);
    for (uint32_t r = 0; r < 2; r++) {
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t g = group[r][k / 2][k % 2] = pp_comm_open(b, r);
            pp_comm_add(b, g, k < 2 ? down[r] : up[r], r, s.order->ops[k].microbatch);
        }
    }
    pp_comm_run(b, 0, 0);
    pp_comm_exchange(b, group[0][0][0]);
    pp_comm_run(b, 0, 1);
    pp_comm_post(b, group[0][0][1]);
    pp_comm_sync(b, 0);
    pp_comm_exchange(b, group[0][1][0]);
    pp_comm_run(b, 0, 2);
    pp_comm_exchange(b, group[0][1][1]);
    pp_comm_run(b, 0, 3);
    pp_comm_exchange(b, group[1][0][0]);
    pp_comm_run(b, 1, 4);
    pp_comm_run(b, 1, 6);
    pp_comm_exchange(b, group[1][0][1]);
    pp_comm_exchange(b, group[1][1][0]);
    pp_comm_run(b, 1, 5);
    pp_comm_run(b, 1, 7);
    pp_comm_exchange(b, group[1][1][1]);
    STEP_OK(pp_comm_finish(b, false, s.program, &err), err);
    s.program->comm->semantics.host = slow_host;
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    ck_assert_int_eq(s.timeline->start_ns[2], 4350);
    pp_comm_builder_free(&b);
    step_free(&s);
}
END_TEST

START_TEST(the_critical_path_counts_what_lies_on_it)
{
    static const struct {
        const char *framework, *shapes;
        pp_critical of_each; /* p - 1 times */
        pp_critical once;
    } rows[] = {
        { "megatron", "plan", { .syncs = 2, .tensors = 2 }, { 0 } },
        { "megatron", "message", { .syncs = 4, .reads = 2, .messages = 2, .tensors = 2 }, { 0 } },
        { "deepspeed", "message", { .reads = 1, .messages = 1, .tensors = 2 }, { 0 } },
        { "ppsim", "message", { .reads = 1, .messages = 1, .tensors = 2 }, { 0 } },
        { "colossalai", "message", { .reads = 4, .messages = 4, .tensors = 2 }, { 0 } },
        { "deepspeed", "local", { .tensors = 2 }, { .reads = 1 } },
        { "deepspeed", "plan", { .tensors = 2 }, { 0 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint32_t p = 2; p <= 4; p++) {
            step s = run_step(rows[i].framework, rows[i].shapes, slow_host, 1, p, 1);
            pp_critical c;
            pp_critical_path(s.program, s.timeline, &c);
            ck_assert_uint_eq(c.syncs, rows[i].of_each.syncs * (p - 1));
            ck_assert_uint_eq(c.reads, rows[i].of_each.reads * (p - 1) + rows[i].once.reads);
            ck_assert_uint_eq(c.messages, rows[i].of_each.messages * (p - 1));
            ck_assert_uint_eq(c.tensors, rows[i].of_each.tensors * (p - 1));
            step_free(&s);
        }
    }
}
END_TEST

/* Rank 1 waits 1000 for data; 20 for the shape; 50 + 30 until its host has synced and read; 100 for
 * the tensor; 50 for the sync after it; then F and B until 4250. Then 20 for the shape, 50 for the
 * sync, 30 until rank 0 has read it, 100 for the tensor. */
START_TEST(waiting_for_the_host_has_a_cause_of_its_own)
{
    step s = run_step("megatron", "message", slow_host, 1, 2, 1);
    const pp_rank_report *rank = &s.report->per_rank[1];
    ck_assert_int_eq(s.report->makespan_ns, 6500);
    ck_assert_int_eq(rank->first_start_ns, 1250);
    ck_assert_int_eq(rank->idle_ns[PP_IDLE_LINK], 2 * (20 + 100));
    ck_assert_int_eq(rank->idle_ns[PP_IDLE_HOST], READ_NS);
    ck_assert_int_eq(rank->idle_ns[PP_IDLE_SYNC], 3 * SYNC_NS);
    ck_assert_int_eq(rank->idle_ns[PP_IDLE_BUFFER], READ_NS);
    ck_assert_int_eq(rank->idle_ns[PP_IDLE_DATA], 1000 + (6500 - 4450)); /* + the tail */
    step_free(&s);
}
END_TEST

/* launch = 2 us, longer than F. Host of rank 0: F 2, send 4, receive 6, B 8; of rank 1: receive 2,
 * F 4, B 6, send 8. F 2-3, tensor 4-4.1, F 4.1-5.1, B 6-8, tensor 8-8.1, B 8.1-10.1. */
START_TEST(nothing_starts_before_its_host_has_issued_it)
{
    const pp_host_costs launch = { .launch_ns = 2000 };
    step s = run_step("colossalai", "plan", launch, 1, 2, 1);
    ck_assert_int_eq(s.report->makespan_ns, 10100);
    ck_assert_int_eq(s.report->per_rank[0].first_start_ns, 2000);
    ck_assert_int_eq(s.report->per_rank[0].idle_ns[PP_IDLE_HOST], 2000 + 1000 + 1900);
    ck_assert_int_eq(s.report->per_rank[1].first_start_ns, 4100);
    ck_assert_int_eq(s.report->per_rank[1].idle_ns[PP_IDLE_HOST], 2000 + 900);
    step_free(&s);
    /* Synced after each exchange: F 2, tensor 4-4.1, F 6.1, B 8.1-10.1, tensor -10.2, B 12.2. */
    ck_assert_int_eq(makespan_of("megatron", "plan", launch, 1, 2, 1), 14200);
}
END_TEST

/* A host that is fast enough runs ahead, and only its first launches cost time; one that syncs
 * after every exchange pays for the launch each time. */
START_TEST(a_sync_ends_running_ahead)
{
    const pp_host_costs launch = { .launch_ns = 10 };
    step ahead = run_step("colossalai", "plan", launch, 1, 4, 16);
    step bound = run_step("megatron", "plan", launch, 1, 4, 16);
    pp_ns free_ns = makespan_of("megatron", "plan", no_host, 1, 4, 16);
    ck_assert_int_eq(free_ns, makespan_of("colossalai", "plan", no_host, 1, 4, 16));
    ck_assert_int_eq(ahead.report->makespan_ns, free_ns + 10);
    ck_assert_int_gt(bound.report->makespan_ns, free_ns + 16 * 2 * 10);
    step_free(&ahead);
    step_free(&bound);
}
END_TEST

/* Without durations of a host the syncs of batch_p2p_sync change nothing. */
START_TEST(syncs_without_cost_change_nothing)
{
    step s = { .order = step_order("1f1b", 4, 1, 8, 0),
               .costs = step_costs("F=1us,B=2us,comm=100ns", 4, 1, 8) };
    const pp_framework *megatron = framework_of("megatron");
    pp_err err = { 0 };
    STEP_OK(megatron->lower(s.order, &s.program, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    ck_assert_int_eq(pp_timeline_makespan(s.timeline),
                     makespan_of("megatron", "plan", no_host, 2, 4, 8));
    step_free(&s);
}
END_TEST

static size_t messages_in(const char *framework, const char *shapes, uint32_t m)
{
    step s = run_step(framework, shapes, no_host, 1, 3, m);
    size_t messages = 0;
    for (size_t t = 0; t < s.program->comm->transfer_count; t++)
        messages += pp_transfer_is_shape((pp_transfer_kind)s.program->comm->transfer[t].kind);
    step_free(&s);
    return messages;
}

/* Two boundaries, both ends of each message. */
START_TEST(protocols_send_the_messages_of_their_framework)
{
    ck_assert_uint_eq(messages_in("megatron", "message", 5), 2 * 2 * 2 * 5);
    ck_assert_uint_eq(messages_in("megatron", "cached", 5), 2 * 2 * 2);
    ck_assert_uint_eq(messages_in("deepspeed", "message", 5), 2 * 2 * 5);
    ck_assert_uint_eq(messages_in("deepspeed", "cached", 5), 2 * 2);
    ck_assert_uint_eq(messages_in("ppsim", "message", 5), 2 * 2 * 5);
    ck_assert_uint_eq(messages_in("ppsim", "cached", 5), 2 * 2);
    ck_assert_uint_eq(messages_in("colossalai", "message", 5), 2 * 2 * 2 * 2 * 5);
    ck_assert_uint_eq(messages_in("colossalai", "cached", 5), 2 * 2 * 2 * 2);
    ck_assert_uint_eq(messages_in("torch", "cached", 5), 2 * 2 * 2);
    ck_assert_uint_eq(messages_in("torch", "local", 5), 0);
}
END_TEST

static pp_status with_setting(const pp_size_protocol_support *setting, bool ungrouped,
                              const char *comm, uint32_t p, pp_err *err)
{
    pp_framework framework = *framework_of("megatron");
    pp_exchange_options exchange = exchange_of("message", no_host);
    framework.size_protocols = setting;
    exchange.ungrouped = ungrouped;
    step s;
    pp_status status = try_step(&framework, &exchange, comm, p, 2 * p, &s, err);
    step_free(&s);
    return status;
}

/* Megatron-LM#5100: the order send_prev, recv_prev, send_next, recv_next on all ranks hangs if a
 * message needs its receive and there are no groups; the order by parity does not. */
START_TEST(the_order_of_shape_messages_decides_whether_they_hang)
{
    static const uint32_t ranks[] = { 2, 3, 4, 8 };
    for (size_t i = 0; i < 4; i++) {
        pp_err err = { 0 };
        uint32_t p = ranks[i];
        ck_assert_int_eq(with_setting(&pp_size_protocols_megatron, true, "rendezvous", p, &err),
                         PP_INFEASIBLE);
        ck_assert_msg(strstr(err.text, "hangs: ") && strstr(err.text, "RECV_FS"), "%s", err.text);
        err = (pp_err){ 0 };
        STEP_OK(with_setting(&pp_size_protocols_megatron_parity, true, "rendezvous", p, &err), err);
        STEP_OK(with_setting(&pp_size_protocols_megatron, false, "batched", p, &err), err);
        STEP_OK(with_setting(&pp_size_protocols_megatron_parity, false, "batched", p, &err), err);
        pp_exchange_options own = exchange_of("message", no_host);
        own.ungrouped = true;
        step s;
        STEP_OK(
            try_step(framework_of("megatron-unbatched"), &own, "rendezvous", p, 2 * p, &s, &err),
            err);
        step_free(&s);
        /* 24 bytes fit a buffer of 24. */
        STEP_OK(with_setting(&pp_size_protocols_megatron, true, "eager:24B", p, &err), err);
        ck_assert_int_eq(with_setting(&pp_size_protocols_megatron, true, "eager:23B", p, &err),
                         PP_INFEASIBLE);
    }
}
END_TEST

static void refused_for(const char *framework, const char *schedule, uint32_t chunks,
                        const char *shapes, const char *words)
{
    pp_exchange_options exchange = exchange_of(shapes, no_host);
    step s = { 0 };
    pp_err err = { 0 };
    s.order = step_order(schedule, 2, chunks, 4, 0);
    STEP_OK(framework_of(framework)->lower(s.order, &s.program, &err), err);
    size_t transfers = s.program->comm ? s.program->comm->transfer_count : 0;
    ck_assert_int_eq(pp_exchange_lower(framework_of(framework), &exchange, NULL, s.program, &err),
                     PP_USAGE);
    ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
    ck_assert_uint_eq(s.program->comm ? s.program->comm->transfer_count : 0, transfers);
    step_free(&s);
}

static void refused(const char *framework, const char *shapes, const char *words)
{
    refused_for(framework, "1f1b", 1, shapes, words);
}

START_TEST(what_a_framework_cannot_do_is_refused)
{
    refused("torch", "message", "one shape for all");
    refused("torch", "message", "cached, padded");
    refused("neuronx", "message", "compiled into its graphs");
    refused("neuronx", "cached", "compiled into its graphs");
    refused("zero-bubble", "message", "set once");
    refused_for("dualpipe", "dualpipev", 2, "cached", "set once");
    refused_for("colossalai", "interleaved", 2, "message", "does not model where");
    refused_for("colossalai", "interleaved", 2, "cached", "does not model where");
    refused("torch-defer-recv", "message", "one shape for all");
    refused("xla", "message", "compiled into its graphs");
    refused("xla-fused", "cached", "compiled into its graphs");
    refused("ideal", "message", "only dependencies");
    refused("ideal", "local", "only dependencies");
}
END_TEST

/* Microbatch 2 differs, on the way from stage 0 to 1 only. */
START_TEST(a_cached_shape_that_changes_is_an_error_with_its_place)
{
    for (int bytes = 0; bytes < 2; bytes++) {
        pp_exchange_options exchange = exchange_of("cached", no_host);
        step s = { .order = step_order("1f1b", 3, 1, 4, 0) };
        pp_err err = { 0 };
        STEP_OK(pp_costs_new(3, 3, 4, 2, &s.costs, &err), err);
        for (size_t i = 0; i < 6; i++) {
            s.costs->message_bytes[i] = bytes ? 4096 : 0;
            s.costs->send_f_ns[i] =
                bytes ? 100 + (pp_ns)i : 100; /* measured ones differ a little */
        }
        s.costs->has_memory = bytes;
        s.costs->class_of[2] = 1;
        STEP_OK(framework_of("megatron")->lower(s.order, &s.program, &err), err);
        STEP_OK(pp_exchange_lower(framework_of("megatron"), &exchange, s.costs, s.program, &err),
                err);
        pp_program_free(&s.program);
        STEP_OK(framework_of("megatron")->lower(s.order, &s.program, &err), err);
        *(bytes ? &s.costs->message_bytes[3] : &s.costs->send_f_ns[3]) = 2048;
        ck_assert_int_eq(
            pp_exchange_lower(framework_of("megatron"), &exchange, s.costs, s.program, &err),
            PP_INFEASIBLE);
        ck_assert_msg(
            strstr(err.text, "mismatched sizes: microbatch 2 arrives at stage 1 with 2048"), "%s",
            err.text);
        pp_program_free(&s.program);
        STEP_OK(framework_of("ppsim")->lower(s.order, &s.program, &err), err); /* sends it again */
        STEP_OK(pp_exchange_lower(framework_of("ppsim"), &exchange, s.costs, s.program, &err), err);
        step_free(&s);
    }
}
END_TEST

/* A tensor of 100 ns, 20 of them fixed, in three parts: 27 + 27 + 26 in addition to the fixed
 * part. */
START_TEST(several_tensors_pay_for_each_message)
{
    ck_assert_int_eq(makespan_of("deepspeed", "plan", no_host, 3, 2, 1), 6000 + 2 * (3 * 20 + 80));
    ck_assert_int_eq(makespan_of("megatron", "plan", no_host, 3, 2, 1), 6000 + 2 * 100);
    ck_assert_int_eq(makespan_of("colossalai", "plan", no_host, 3, 2, 1), 6000 + 2 * 100);
    step s = run_step("deepspeed", "message", no_host, 3, 2, 1); /* one message for all three */
    const pp_comm *comm = s.program->comm;
    ck_assert_uint_eq(comm->transfer_count, 2 * (3 + 3 + 1));
    s.costs->has_memory = true;
    s.costs->message_bytes[0] = 91;
    int64_t bytes[2] = { 0 }; /* tensors, messages */
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        bool shape = pp_transfer_is_shape((pp_transfer_kind)own->kind);
        bytes[shape] += pp_comm_bytes(comm, s.costs, own);
        ck_assert(shape || pp_comm_bytes(comm, s.costs, own) == 30 + (own->part == 0));
    }
    ck_assert_int_eq(bytes[0], 2 * 2 * 91);
    ck_assert_int_eq(bytes[1], 2 * 1024);
    step_free(&s);
}
END_TEST

/* Two tensors of one boundary that meet crosswise. */
START_TEST(tensors_meet_in_their_order)
{
    for (uint8_t crosswise = 0; crosswise < 2; crosswise++) {
        step s = { .order = step_order("gpipe", 2, 1, 1, 0) };
        pp_comm_builder *b = NULL;
        pp_err err = { 0 };
        STEP_OK(pp_program_from_order(s.order, &s.program, &err), err);
        STEP_OK(pp_comm_builder_new(s.program, &b, &err), err);
        for (uint8_t k = 0; k < 2; k++) {
            uint32_t send = pp_comm_open(b, 0);
            pp_comm_add_part(b, send, PP_SEND_F, 0, 0, k);
            pp_comm_exchange(b, send);
            uint32_t receive = pp_comm_open(b, 1);
            pp_comm_add_part(b, receive, PP_RECV_F, 1, 0, k ^ crosswise);
            pp_comm_exchange(b, receive);
        }
        ck_assert_int_eq(pp_comm_finish(b, true, s.program, &err),
                         crosswise ? PP_INFEASIBLE : PP_OK);
        pp_comm_builder_free(&b);
        step_free(&s);
    }
}
END_TEST

/* Reading and splitting without cost change no step, whatever the framework and placement. */
START_TEST(a_pass_without_cost_changes_nothing)
{
    static const struct {
        const char *framework, *schedule;
        uint32_t chunks;
    } rows[] = {
        { "dualpipe", "dualpipe", 1 },
        { "dualpipe", "dualpipev", 2 },
        { "zero-bubble", "zbv", 2 },
        { "torch", "interleaved-zb", 2 },
        { "torch-defer-recv", "1f1b", 1 },
        { "megatron-unbatched", "1f1b", 1 },
        { "megatron-overlap", "interleaved", 2 },
        { "neuronx", "interleaved", 2 },
        { "xla", "gpipe", 1 },
        { "ppsim", "zb-h1", 1 },
        { "colossalai", "interleaved", 2 },
        { "deepspeed", "1f1b", 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pp_framework *framework = framework_of(rows[i].framework);
        pp_ns before_ns = 0;
        for (int64_t pass = 0; pass < 3; pass++) {
            pp_exchange_options exchange = exchange_of(pass ? "local" : "plan", no_host);
            exchange.tensors = pass == 2 ? 3 : 1;
            exchange.shape_message_ns = 0;
            step s = { .order = step_order(rows[i].schedule, 4, rows[i].chunks, 8, 0) };
            pp_err err = { 0 };
            STEP_OK(pp_costs_uniform(&(pp_uniform_costs){ 1000, 1000, 1000, -1, 99, 2500 }, 4,
                                     s.order->stages, 8, &s.costs, &err),
                    err);
            STEP_OK(framework->lower(s.order, &s.program, &err), err);
            STEP_OK(pp_exchange_lower(framework, &exchange, s.costs, s.program, &err), err);
            STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
            if (!pass)
                before_ns = pp_timeline_makespan(s.timeline);
            ck_assert_msg(pp_timeline_makespan(s.timeline) == before_ns, "%s %s, pass %d",
                          rows[i].framework, rows[i].schedule, (int)pass);
            step_free(&s);
        }
    }
}
END_TEST

/* Messages and the number of tensors change no byte of the buffers that tensors take, whoever holds
 * them: on post (megatron), a pool per direction (deepspeed), per microbatch (torch). */
START_TEST(buffers_hold_tensors_not_messages)
{
    static const char *const rows[][2] = { { "megatron", "message" },
                                           { "deepspeed", "message" },
                                           { "torch", "cached" },
                                           { "colossalai", "message" } };
    for (size_t i = 0; i < 4; i++) {
        int64_t expected[2] = { 0 };
        for (int64_t tensors = 0; tensors < 4; tensors++) {
            const pp_framework *framework = framework_of(rows[i][0]);
            pp_exchange_options exchange = exchange_of(tensors ? rows[i][1] : "plan", no_host);
            exchange.tensors = tensors;
            step s = { .order = step_order("1f1b", 3, 1, 6, 0),
                       .costs = step_costs("F=1us,B=2us,comm=100ns", 3, 1, 6) };
            pp_err err = { 0 };
            s.costs->has_memory = true;
            s.costs->message_bytes[0] = s.costs->message_bytes[1] = 900;
            STEP_OK(pp_framework_lower(framework, s.order, NULL, NULL, &s.program, &err), err);
            STEP_OK(pp_exchange_lower(framework, &exchange, s.costs, s.program, &err), err);
            STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
            STEP_OK(pp_report_build("1f1b", framework_of(rows[i][0]), s.program, s.timeline,
                                    s.costs, true, &s.report, &err),
                    err);
            const pp_rank_report *rank = &s.report->per_rank[1];
            if (!tensors) {
                expected[0] = rank->peak_recv_bytes;
                expected[1] = rank->peak_send_bytes;
                ck_assert_int_gt(expected[0], 0);
            }
            ck_assert_int_eq(rank->peak_recv_bytes, expected[0]);
            ck_assert_int_eq(rank->peak_send_bytes, expected[1]);
            step_free(&s);
        }
    }
}
END_TEST

/* The pass keeps what it does not handle: neuronx's transfers stay collectives and are never
 * buffered. */
START_TEST(collectives_stay_collectives)
{
    step s = run_step("neuronx", "local", no_host, 1, 2, 2);
    ck_assert(s.program->comm->collective);
    step_free(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shapes");
    TCase *tc = tcase_create("shapes");
    tcase_add_test(tc, a_message_costs_its_overhead_per_transfer_on_the_path);
    tcase_add_test(tc, reading_ones_own_copy_overlaps_compute);
    tcase_add_test(tc, a_sync_waits_for_what_no_rank_waited_for);
    tcase_add_test(tc, the_critical_path_counts_what_lies_on_it);
    tcase_add_test(tc, waiting_for_the_host_has_a_cause_of_its_own);
    tcase_add_test(tc, nothing_starts_before_its_host_has_issued_it);
    tcase_add_test(tc, a_sync_ends_running_ahead);
    tcase_add_test(tc, syncs_without_cost_change_nothing);
    tcase_add_test(tc, protocols_send_the_messages_of_their_framework);
    tcase_add_test(tc, the_order_of_shape_messages_decides_whether_they_hang);
    tcase_add_test(tc, what_a_framework_cannot_do_is_refused);
    tcase_add_test(tc, a_cached_shape_that_changes_is_an_error_with_its_place);
    tcase_add_test(tc, several_tensors_pay_for_each_message);
    tcase_add_test(tc, tensors_meet_in_their_order);
    tcase_add_test(tc, a_pass_without_cost_changes_nothing);
    tcase_add_test(tc, buffers_hold_tensors_not_messages);
    tcase_add_test(tc, collectives_stay_collectives);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
