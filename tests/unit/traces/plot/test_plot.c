/* Pictures show what was simulated, and everything that scripts name is in their data. */
#include "tests/support/step.h"
#include "traces/plot/registry.h"
#include "traces/read/chrome_read.h"
#include "traces/read/memory_read.h"

#define COMM_NS 100000

static const pp_format *format(const char *name)
{
    const pp_format *found = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_get(name, &found, &err), err);
    return found;
}

static void write_trace(const step *s, const char *name, pp_text *text)
{
    pp_err err = { 0 };
    const pp_export data = { .program = s->program, .timeline = s->timeline, .costs = s->costs };
    STEP_OK(format(name)->trace(&data, text, &err), err);
}

static pp_track read_chrome(const char *text, size_t bytes)
{
    pp_track track = { 0 };
    pp_err err = { 0 };
    ck_assert(pp_chrome_recognise(text, bytes));
    STEP_OK(pp_chrome_read(text, bytes, "trace", &track, &err), err);
    return track;
}

static pp_track track_of(const step *s)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    write_trace(s, "chrome", &text);
    return read_chrome(text.data, text.bytes);
}

static step with_memory(const char *schedule, uint32_t ranks, uint32_t microbatches)
{
    pp_memory_costs memory;
    pp_err err = { 0 };
    step s = { .order = step_order(schedule, ranks, 1, microbatches, 0) };
    s.costs = step_costs("F=1ms,B=2ms,comm=0", ranks, 1, microbatches);
    STEP_OK(pp_memory_costs_parse("F=1GiB,I=-512MiB,W=-512MiB", &memory, &err), err);
    pp_costs_set_memory(s.costs, &memory);
    step_simulate(&s);
    return s;
}

START_TEST(a_trace_is_read_back_to_the_nanosecond)
{
    step s PP_CLEANUP(step_free) =
        step_of(step_order("zbv", 4, 2, 8, 0), "F=1000001ns,I=999ns,W=77777ns,comm=1003ns");
    pp_track track PP_CLEANUP(pp_track_free) = track_of(&s);
    ck_assert_uint_eq(track.ranks, 4);
    ck_assert_uint_eq(track.box_count, s.program->count);
    for (uint32_t r = 0; r < 4; r++) {
        for (size_t i = s.program->rank_begin[r]; i < s.program->rank_begin[r + 1]; i++) {
            const pp_box *box = &track.box[i]; /* both are ordered by rank, then by time */
            ck_assert_uint_eq(box->rank, r);
            ck_assert_int_eq(box->start_ns, s.timeline->start_ns[i]);
            ck_assert_int_eq(box->end_ns, s.timeline->end_ns[i]);
            ck_assert_uint_eq(box->op.kind, s.program->op[i].kind);
            ck_assert_uint_eq(box->op.stage, s.program->op[i].stage);
            ck_assert_uint_eq(box->op.microbatch, s.program->op[i].microbatch);
        }
    }
}
END_TEST

/* The stages of a rank are numbered in their order, whatever their numbers are. */
START_TEST(stages_of_a_rank_are_its_chunks)
{
    step s PP_CLEANUP(step_free) =
        step_of(step_order("zbv", 4, 2, 8, 0), "F=1ms,I=1ms,W=1ms,comm=0.1ms");
    pp_track track PP_CLEANUP(pp_track_free) = track_of(&s);
    ck_assert_uint_eq(track.chunks, 2);
    for (size_t i = 0; i < track.box_count; i++)
        ck_assert_uint_eq(track.box[i].chunk, track.box[i].op.stage >= 4);
}
END_TEST

/* Busy time and waits fill a rank until its last op ends. */
START_TEST(waits_fill_the_gaps)
{
    step s PP_CLEANUP(step_free) =
        step_of(step_order("1f1b", 4, 1, 8, 0), "F=1ms,B=2ms,comm=0.1ms");
    pp_track track PP_CLEANUP(pp_track_free) = track_of(&s);
    pp_ns sum_ns[4] = { 0 };
    ck_assert_uint_gt(track.gap_count, 0);
    for (size_t i = 0; i < track.box_count; i++)
        sum_ns[track.box[i].rank] += track.box[i].end_ns - track.box[i].start_ns;
    for (size_t i = 0; i < track.gap_count; i++)
        sum_ns[track.gap[i].rank] += track.gap[i].end_ns - track.gap[i].start_ns;
    for (uint32_t r = 0; r < 4; r++)
        ck_assert_int_eq(sum_ns[r], s.report->per_rank[r].last_end_ns);
}
END_TEST

/* If ranks communicate, a transfer is drawn at the time at which the engine had it. */
START_TEST(transfers_lie_where_the_engine_put_them)
{
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 4, 1, 8, 0) };
    const pp_framework *torch = NULL;
    pp_err err = { 0 };
    s.costs = step_costs("F=1ms,B=2ms,comm=0.3ms", 4, 1, 8);
    STEP_OK(pp_framework_get("torch", &torch, &err), err);
    STEP_OK(pp_framework_lower(torch, s.order, s.costs, NULL, &s.program, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    pp_track track PP_CLEANUP(pp_track_free) = track_of(&s);
    const pp_comm *comm = s.program->comm;
    ck_assert_uint_eq(track.transfer_count, 2 * 3 * 8);
    for (size_t i = 0; i < track.transfer_count; i++) {
        const pp_recorded_transfer *transfer = &track.transfer[i];
        size_t t = 0;
        while (t < comm->transfer_count &&
               !(comm->transfer[t].rank == transfer->from &&
                 comm->transfer[t].peer == transfer->to &&
                 comm->transfer[t].microbatch == transfer->microbatch &&
                 comm->transfer[t].kind == (transfer->forward ? PP_SEND_F : PP_SEND_B)))
            t++;
        ck_assert_uint_lt(t, comm->transfer_count);
        ck_assert_int_eq(transfer->end_ns, s.timeline->comm->end_ns[comm->transfer[t].match]);
        ck_assert_int_eq(transfer->end_ns - transfer->start_ns, 300000);
    }
}
END_TEST

/* The path goes from 0 to the end of the step without a gap: each op begins when the one before it
 * on the path ends, or when its tensor has arrived. */
static void check_path(const step *s)
{
    pp_track track PP_CLEANUP(pp_track_free) = track_of(s);
    ck_assert_uint_gt(track.path_count, 4);
    ck_assert_int_eq(track.box[track.path[0]].end_ns, s->report->makespan_ns);
    ck_assert_int_eq(track.box[track.path[track.path_count - 1]].start_ns, 0);
    for (size_t k = 1; k < track.path_count; k++) {
        const pp_box *from = &track.box[track.path[k]];
        const pp_box *to = &track.box[track.path[k - 1]];
        ck_assert_int_eq(to->start_ns, from->end_ns + (from->rank == to->rank ? 0 : COMM_NS));
    }
}

START_TEST(the_critical_path_spans_the_step)
{
    static const char *const names[] = { "gpipe", "1f1b",   "zb-h1",    "zb-h2",
                                         "zbv",   "v-half", "dualpipev" };
    const pp_schedule *schedule = pp_schedule_find(names[_i]);
    uint32_t v = schedule->chunks ? (uint32_t)schedule->chunks : 1;
    step s PP_CLEANUP(step_free) =
        step_of(step_order(names[_i], 4, v, 8, 0), "F=1ms,I=1.1ms,W=0.7ms,FB=2.3ms,comm=0.1ms");
    check_path(&s);
}
END_TEST

/* The pair waits for the input of its backward. */
START_TEST(the_critical_path_enters_pairs_by_either_half)
{
    static const char rows[] = "0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n";
    pp_order *order = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_read(rows, strlen(rows), "f.csv", &order, &err), err);
    step s PP_CLEANUP(step_free) = step_of(order, "F=1ms,B=2ms,FB=5ms,comm=0.1ms");
    check_path(&s);
}
END_TEST

START_TEST(memory_is_the_same_in_all_traces)
{
    step s PP_CLEANUP(step_free) = with_memory("1f1b", 3, 4);
    pp_track chrome PP_CLEANUP(pp_track_free) = track_of(&s);
    pp_track csv PP_CLEANUP(pp_track_free) = { 0 };
    pp_track json PP_CLEANUP(pp_track_free) = { 0 };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text other PP_CLEANUP(pp_text_free) = { 0 };
    pp_json *tree PP_CLEANUP(pp_json_free) = NULL;
    pp_err err = { 0 };
    write_trace(&s, "memory-csv", &text);
    ck_assert(pp_memory_csv_recognise(text.data, text.bytes));
    STEP_OK(pp_memory_csv_read(text.data, "m.csv", &csv, &err), err);
    write_trace(&s, "memory-json", &other);
    STEP_OK(pp_json_parse(other.data, other.bytes, "m.json", &tree, &err), err);
    pp_json_at root = pp_json_root(tree, "m.json");
    STEP_OK(pp_memory_json_read(&root, &json, &err), err);
    ck_assert_uint_gt(csv.sample_count, 3 * 4);
    ck_assert_uint_eq(csv.sample_count, chrome.sample_count);
    ck_assert_uint_eq(csv.sample_count, json.sample_count);
    for (size_t i = 0; i < csv.sample_count; i++) {
        const pp_memory_sample_row *samples[] = { &csv.sample[i], &chrome.sample[i],
                                                  &json.sample[i] };
        for (size_t k = 1; k < 3; k++) {
            ck_assert_int_eq(samples[k]->at_ns, samples[0]->at_ns);
            ck_assert_uint_eq(samples[k]->rank, samples[0]->rank);
            ck_assert_mem_eq(samples[k]->bytes, samples[0]->bytes, sizeof samples[0]->bytes);
        }
    }
}
END_TEST

/* The data for all kinds of pictures. */
static pp_picture whole_picture(size_t tracks)
{
    pp_picture picture = { .last_rank = UINT32_MAX,
                           .memory_limit_bytes = (int64_t)4 << 30,
                           .data_name = "x.dat" };
    pp_err err = { 0 };
    for (size_t i = 0; i < tracks; i++) {
        step s PP_CLEANUP(step_free) = with_memory("1f1b", 12, 14);
        pp_track track = track_of(&s);
        pp_picture_add_track(&picture, &track);
    }
    for (int i = 0; i < 11; i++) {
        pp_curve *curve = pp_picture_add_curve(&picture, &err);
        pp_fitted *point = pp_picture_add_fitted(&picture, &err);
        ck_assert(curve && point);
        *curve = (pp_curve){ .name = "it's", .axis = "bytes", .most_error = 10 };
        *point = (pp_fitted){ (size_t)i, 1024, 1e-3, 1.01e-3, 0.9e-3, 1.1e-3 };
        pp_bar *bar = pp_picture_add_bar(&picture, &err);
        pp_spread *spread = pp_picture_add_spread(&picture, &err);
        ck_assert(bar && spread);
        *bar = (pp_bar){ .name = "it's", .step_ns = 1000, .peak_bytes = 5000 };
        *spread = (pp_spread){ .name = "it's",
                               .step_ns = 1000,
                               .jitter = { .spec = { .scenarios = 100 },
                                           .min_ns = 900,
                                           .p50_ns = 1000,
                                           .p95_ns = 1100,
                                           .p99_ns = 1200,
                                           .max_ns = 1300,
                                           .mean_ns = 1010 } };
    }
    for (uint32_t i = 0; i < 12; i++) {
        pp_cell *cell = pp_picture_add_cell(&picture, &err);
        pp_tick *tick = pp_picture_add_tick(&picture, &err);
        pp_trade *trade = pp_picture_add_trade(&picture, &err);
        ck_assert(cell && tick && trade);
        *cell = (pp_cell){ i % 6, i / 6, (pp_cell_state)(i % PP_CELL_COUNT), 7.5 * i, "it\"s" };
        *tick = (pp_tick){ i >= 6, "it's" };
        *trade = (pp_trade){ .front = i / 6,
                             .peak_bytes = 900 - 100 * (i % 6),
                             .limit_bytes = 999 - 100 * (i % 6),
                             .cost_s = 1 + i,
                             .least_s = 0.5,
                             .tp = 2,
                             .vpp = 1,
                             .micro_batch = 1,
                             .recompute = "none" };
        snprintf(trade->schedule, sizeof trade->schedule, "%.*s", 1 + (int)i, "zbvzbvzbvzbv");
    }
    for (int i = 0; i < 2; i++) {
        pp_front *front = pp_picture_add_front(&picture, &err);
        ck_assert(front);
        *front = (pp_front){ .name = "it's", .model = "m", .gpus = 8 };
    }
    return picture;
}

/* gnuplot takes the first data set whose name begins with the word. */
static void check_sets(const char *script, const char *data)
{
    size_t sets = 0;
    for (const char *at = script; (at = strstr(at, "index '")); sets++) {
        char name[64];
        size_t found = 0;
        at += strlen("index '");
        ck_assert_int_eq(sscanf(at, "%63[^']", name), 1);
        for (const char *set = data; (set = strstr(set, "# ")); set += 2)
            found += strncmp(set + 2, name, strlen(name)) == 0;
        ck_assert_msg(found == 1, "%zu data sets begin with '%s'", found, name);
    }
    ck_assert_uint_gt(sets, 0);
}

START_TEST(scripts_name_the_data_that_is_there)
{
    const pp_plot *plot = pp_plot_at((size_t)_i);
    for (size_t tracks = 1; tracks <= PP_PICTURE_TRACKS; tracks++) {
        pp_picture picture PP_CLEANUP(pp_picture_free) = whole_picture(tracks);
        pp_text script PP_CLEANUP(pp_text_free) = { 0 };
        pp_text data PP_CLEANUP(pp_text_free) = { 0 };
        pp_text again PP_CLEANUP(pp_text_free) = { 0 };
        pp_text same PP_CLEANUP(pp_text_free) = { 0 };
        pp_err err = { 0 };
        if (!plot->fits(&picture))
            continue;
        STEP_OK(pp_plot_draw(plot, &picture, &script, &data, &err), err);
        STEP_OK(pp_plot_draw(plot, &picture, &again, &same, &err), err);
        ck_assert_str_eq(script.data, again.data);
        ck_assert_str_eq(data.data, same.data);
        check_sets(script.data, data.data);
        return;
    }
    ck_abort_msg("%s fits no picture", plot->name);
}
END_TEST

START_TEST(nothing_fits_an_empty_picture)
{
    pp_picture picture = { .last_rank = UINT32_MAX };
    const pp_plot *plot = NULL;
    pp_err err = { 0 };
    for (size_t i = 0; i < pp_plot_count(); i++)
        ck_assert(!pp_plot_at(i)->fits(&picture));
    ck_assert_int_eq(pp_plot_choose(NULL, &picture, &plot, &err), PP_USAGE);
}
END_TEST

static pp_text script_of(pp_picture *picture, const char *kind, pp_text *data)
{
    const pp_plot *plot = NULL;
    pp_text script = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_plot_choose(kind, picture, &plot, &err), err);
    STEP_OK(pp_plot_draw(plot, picture, &script, data, &err), err);
    return script;
}

/* Numbers of microbatches are drawn only if all of them fit. */
START_TEST(labels_need_room)
{
    static const struct {
        int width, height;
        const char *has, *lacks;
    } cases[] = { { 4000, 800, " F13\n", NULL },
                  { 1300, 800, " 13\n", " F13\n" },
                  { 640, 800, NULL, "# black" },
                  { 4000, 200, NULL, "# black" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pp_picture picture PP_CLEANUP(pp_picture_free) = whole_picture(1);
        pp_text data PP_CLEANUP(pp_text_free) = { 0 };
        picture.width = cases[i].width;
        picture.height = cases[i].height;
        pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "timeline", &data);
        if (cases[i].has)
            ck_assert_msg(strstr(data.data, cases[i].has) != NULL, "%d wide", cases[i].width);
        if (cases[i].lacks)
            ck_assert_msg(!strstr(data.data, cases[i].lacks), "%d wide", cases[i].width);
    }
}
END_TEST

/* The area of the polygons of a data set, in ms times rows. Each begins at the bottom of a row and
 * goes along the upper edge of a layer. */
static double area_of(const char *data, const char *name)
{
    double sum = 0;
    double last[2] = { 0, 0 };
    double bottom = 0;
    bool first = true;
    char head[64];
    snprintf(head, sizeof head, "# %s\n", name);
    const char *line = strstr(data, head);
    ck_assert_msg(line != NULL, "no %s", name);
    for (line = strchr(line, '\n') + 1; *line && (*line != '\n' || line[1] != '\n');
         line = strchr(line, '\n') + 1) {
        double at[2];
        if (*line == '\n') {
            first = true;
            continue;
        }
        ck_assert_int_eq(sscanf(line, "%lf %lf", &at[0], &at[1]), 2);
        bottom = first ? at[1] : bottom;
        if (!first)
            sum += (at[0] - last[0]) * (bottom - (at[1] + last[1]) / 2);
        memcpy(last, at, sizeof at);
        first = false;
    }
    return sum / 0.8; /* the height of a row */
}

/* Ops too narrow to be drawn become shares of columns, and nothing is lost. 1f1b with m
 * microbatches and equal stages has m F of 1 ms and m B of 2 ms on a rank, which waits (p - 1) 3
 * ms. */
START_TEST(dense_ops_keep_their_time)
{
    step s PP_CLEANUP(step_free) = with_memory("1f1b", 4, 1000);
    pp_picture picture PP_CLEANUP(pp_picture_free) = { .last_rank = UINT32_MAX,
                                                       .data_name = "x.dat" };
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    pp_track track = track_of(&s);
    pp_picture_add_track(&picture, &track);
    pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "timeline", &data);
    ck_assert_ptr_nonnull(strstr(script.data, "time (s)"));
    /* The polygons of F lie over the lower part of those of B. */
    double forward = area_of(data.data, "share F");
    double both = area_of(data.data, "share B");
    ck_assert_double_eq_tol(forward, 4 * 1.0, 0.04);
    ck_assert_double_eq_tol(both - forward, 4 * 2.0, 0.08);
    ck_assert_ptr_null(strstr(data.data, "# transfers"));
    ck_assert_uint_lt(data.bytes, 300000); /* the data of 8000 ops */
    check_sets(script.data, data.data);
}
END_TEST

/* Returns how often words appear in a text. */
static size_t times_in(const char *text, const char *words)
{
    size_t count = 0;
    for (; (text = strstr(text, words)); text++)
        count++;
    return count;
}

/* F has no stripe, I one above, W one below, B both: kinds differ without colour. */
START_TEST(kinds_differ_by_stripes)
{
    static const struct {
        const char *schedule, *set;
        size_t above, below;
    } cases[] = { { "zb-h1", "op F0", 0, 0 },
                  { "zb-h1", "op I0", 1, 0 },
                  { "zb-h1", "op W0", 0, 1 },
                  { "1f1b", "op B0", 1, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        step s PP_CLEANUP(step_free) = with_memory(cases[i].schedule, 4, 8);
        pp_picture picture PP_CLEANUP(pp_picture_free) = { .last_rank = UINT32_MAX,
                                                           .data_name = "x.dat" };
        pp_text data PP_CLEANUP(pp_text_free) = { 0 };
        char words[2][48];
        pp_track track = track_of(&s);
        pp_picture_add_track(&picture, &track);
        pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "timeline", &data);
        snprintf(words[0], sizeof words[0], "'%s' using 1:($3+", cases[i].set);
        snprintf(words[1], sizeof words[1], "'%s' using 1:($4-", cases[i].set);
        ck_assert_uint_eq(times_in(script.data, words[0]), cases[i].above);
        ck_assert_uint_eq(times_in(script.data, words[1]), cases[i].below);
    }
}
END_TEST

/* Dense ops in rows of a few pixels have one mixed colour, by their time. */
START_TEST(low_rows_of_dense_ops_are_mixed)
{
    step s PP_CLEANUP(step_free) = with_memory("1f1b", 4, 1000);
    pp_picture picture PP_CLEANUP(pp_picture_free) = {
        .last_rank = UINT32_MAX, .data_name = "x.dat", .width = 600, .height = 300
    };
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    pp_track track = track_of(&s);
    pp_picture_add_track(&picture, &track);
    pp_text high PP_CLEANUP(pp_text_free) = script_of(&picture, "timeline", &data);
    ck_assert_ptr_null(strstr(high.data, "'mixed'"));
    pp_text_free(&data);
    for (size_t i = 0; i < picture.track[0].box_count; i++) /* ranks 0 to 3 become 37 to 40 */
        picture.track[0].box[i].rank += 37;
    picture.track[0].ranks += 37;
    pp_text low PP_CLEANUP(pp_text_free) = script_of(&picture, "timeline", &data);
    ck_assert_ptr_nonnull(strstr(low.data, "'mixed'"));
    ck_assert_ptr_null(strstr(low.data, "share"));
    const char *rank = strstr(data.data, " 36.");
    double at[4] = { 0 };
    unsigned colour = 0;
    ck_assert_ptr_nonnull(rank);
    while (rank && colour == 0) { /* the first box in which ops run */
        const char *line = rank;
        while (line > data.data && line[-1] != '\n')
            line--;
        ck_assert_int_eq(
            sscanf(line, "%lf %lf %lf %lf %u", &at[0], &at[1], &at[2], &at[3], &colour), 5);
        colour = at[0] > 1 ? colour : 0; /* the middle of the step */
        rank = strstr(rank + 1, " 36.");
    }
    /* A third of the time F, two thirds B, and little idle time. */
    ck_assert_int_lt(abs((int)(colour >> 16) - (0x2f + 2 * 0x1c) / 3), 9);
    ck_assert_int_lt(abs((int)(colour >> 8 & 0xff) - (0x62 + 2 * 0x84) / 3), 9);
    ck_assert_int_lt(abs((int)(colour & 0xff) - (0xbd + 2 * 0x48) / 3), 9);
}
END_TEST

START_TEST(a_part_shows_that_part_alone)
{
    pp_picture picture PP_CLEANUP(pp_picture_free) = whole_picture(1);
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    picture.first_rank = 2;
    picture.last_rank = 3;
    picture.from_ns = 5000000;
    picture.to_ns = 8000000;
    pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "timeline", &data);
    ck_assert_ptr_nonnull(strstr(script.data, "set xrange [5:8]\n"));
    ck_assert_ptr_nonnull(strstr(script.data, "set yrange [3.5:1.5]\n"));
    const char *at = strstr(data.data, "# op F0\n");
    ck_assert_ptr_nonnull(at);
    int rows = 0;
    double start;
    double end;
    double low;
    double high;
    for (at = strchr(at, '\n') + 1;
         sscanf(at, "%lf %lf %lf %lf", &start, &end, &low, &high) == 4 && *at != '\n';
         at = strchr(at, '\n') + 1, rows++)
        ck_assert(start >= 5 && end <= 8 && low > 1.5 && high < 3.5);
    ck_assert_int_gt(rows, 0);
}
END_TEST

/* gnuplot expands nothing in single quotes, where a quote is written twice. */
START_TEST(names_cannot_leave_their_quotes)
{
    pp_picture picture PP_CLEANUP(pp_picture_free) = whole_picture(1);
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    picture.data_name = "a'b `c` \"d.dat";
    snprintf(picture.track[0].name, sizeof picture.track[0].name, "'; system('x')\n!");
    pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "timeline", &data);
    ck_assert_ptr_nonnull(strstr(script.data, "\ndata = './a''b `c` \"d.dat'\n"));
    ck_assert_ptr_nonnull(strstr(script.data, "\nset label '''; system(''x'') !: makespan"));
}
END_TEST

/* Returns the scenarios of a data set, in percent: each bar has its share of a bin of `wide`. */
static double sum_of(const char *data, const char *name, double wide)
{
    double sum = 0;
    double at[3];
    char head[64];
    snprintf(head, sizeof head, "# %s\n", name);
    const char *line = strstr(data, head);
    ck_assert_msg(line != NULL, "no %s", name);
    for (line = strchr(line, '\n') + 1; sscanf(line, "%lf %lf %lf", &at[0], &at[1], &at[2]) == 3;
         line = strchr(line, '\n') + 1) {
        sum += at[2] * (at[1] - at[0]) / wide;
        if (line[strcspn(line, "\n") + 1] == '\n' || !line[strcspn(line, "\n") + 1])
            break;
    }
    return sum;
}

/* All scenarios are in the histogram: 95 % up to the p95, and 5 % beyond it. One case has the
 * quantiles of every 5 %, with several scenarios of one time; the other is of an older report. */
START_TEST(a_histogram_holds_all_scenarios)
{
    pp_picture picture PP_CLEANUP(
        pp_picture_free) = { .last_rank = UINT32_MAX, .width = 900, .data_name = "x.dat" };
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_spread *spread = pp_picture_add_spread(&picture, &err);
    ck_assert(spread);
    *spread = (pp_spread){ .name = "zbv",
                           .step_ns = 1000000,
                           .jitter = { .spec = { .scenarios = 100 },
                                       .min_ns = 1000000,
                                       .p50_ns = 1200000,
                                       .p95_ns = 1400000,
                                       .p99_ns = 1450000,
                                       .max_ns = 1500000 } };
    for (int i = 0; i < PP_JITTER_TWENTIETHS && _i == 0; i++)
        spread->jitter.twentieth_ns[i] = i < 10 ? 1200000 : 1200000 + 22222 * (i - 9);
    pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "jitter", &data);
    double low;
    double high;
    ck_assert_int_eq(
        sscanf(strstr(script.data, "set xrange ["), "set xrange [%lf:%lf]", &low, &high), 2);
    double wide = (high - low) / 59; /* 826 pixels in bins of 14 */
    ck_assert_double_eq_tol(sum_of(data.data, "steps 0:", wide), 95, 1.5);
    ck_assert_double_eq_tol(sum_of(data.data, "tail 0:", wide), 5, 1.5);
    ck_assert_double_eq_tol(
        sum_of(data.data, "steps 0:", wide) + sum_of(data.data, "tail 0:", wide), 100, 0.1);
    ck_assert_ptr_nonnull(strstr(script.data, "median 1.200 ms, +20.00 %"));
    ck_assert_ptr_nonnull(strstr(script.data, "p95 1.400 ms, +40.00 %"));
    ck_assert_int_eq(strstr(script.data, "guesses") != NULL, _i == 1);
}
END_TEST

/* A label says in what the setups of its front differ, and nothing else. */
START_TEST(labels_of_setups_say_what_differs)
{
    pp_picture picture PP_CLEANUP(pp_picture_free) = { .last_rank = UINT32_MAX,
                                                       .data_name = "x.dat" };
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_front *front = pp_picture_add_front(&picture, &err);
    ck_assert(front);
    *front = (pp_front){ .name = "llama3-8b on h100-80g, pp 4", .model = "llama3-8b", .gpus = 8 };
    for (int i = 0; i < 2; i++) {
        pp_trade *trade = pp_picture_add_trade(&picture, &err);
        ck_assert(trade);
        *trade = (pp_trade){ .peak_bytes = i ? 20 : 50,
                             .limit_bytes = i ? 49 : 80,
                             .cost_s = i ? 9 : 5,
                             .least_s = 4,
                             .schedule = "zbv",
                             .tp = 2,
                             .vpp = 2,
                             .micro_batch = 1 };
        snprintf(trade->recompute, sizeof trade->recompute, "%s", i ? "full" : "none");
    }
    pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "pareto", &data);
    ck_assert_ptr_nonnull(strstr(script.data, "set label 'no recompute' at"));
    ck_assert_ptr_nonnull(strstr(script.data, "set label 'full recompute' at"));
    ck_assert_ptr_nonnull(strstr(script.data, "All setups: zbv, tp 2, vpp 2, micro-batch 1."));
    ck_assert_ptr_nonnull(strstr(script.data, "llama3-8b on h100-80g, pp 4, 8 GPUs"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("picture");
    TCase *tc = tcase_create("pictures");
    tcase_add_test(tc, a_trace_is_read_back_to_the_nanosecond);
    tcase_add_test(tc, stages_of_a_rank_are_its_chunks);
    tcase_add_test(tc, waits_fill_the_gaps);
    tcase_add_test(tc, transfers_lie_where_the_engine_put_them);
    tcase_add_loop_test(tc, the_critical_path_spans_the_step, 0, 7);
    tcase_add_test(tc, the_critical_path_enters_pairs_by_either_half);
    tcase_add_test(tc, memory_is_the_same_in_all_traces);
    tcase_add_loop_test(tc, scripts_name_the_data_that_is_there, 0, (int)pp_plot_count());
    tcase_add_test(tc, nothing_fits_an_empty_picture);
    tcase_add_test(tc, labels_need_room);
    tcase_add_test(tc, dense_ops_keep_their_time);
    tcase_add_test(tc, kinds_differ_by_stripes);
    tcase_add_test(tc, low_rows_of_dense_ops_are_mixed);
    tcase_add_test(tc, a_part_shows_that_part_alone);
    tcase_add_test(tc, names_cannot_leave_their_quotes);
    tcase_add_loop_test(tc, a_histogram_holds_all_scenarios, 0, 2);
    tcase_add_test(tc, labels_of_setups_say_what_differs);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
