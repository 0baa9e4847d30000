/* Any bytes as a recording, compressed or not, are refused with a message, or give the timeline of
 * a whole order; the steps of its ranks follow the same rules. */
#include "sim/order/order_check.h"
#include "tests/fuzz/scratch.h"
#include "traces/read/events.h"
#include "traces/read/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const pp_recording *r)
{
    pp_err err = { 0 };
    pp_ns first_ns = INT64_MAX;
    need(pp_order_check(r->order, "fuzz", &err) == PP_OK);
    need(r->steps > 0 && r->early_ns >= 0 && r->program->count > 0);
    for (size_t i = 0; i < r->program->count; i++) {
        need(r->timeline->end_ns[i] >= r->timeline->start_ns[i]);
        first_ns = r->timeline->start_ns[i] < first_ns ? r->timeline->start_ns[i] : first_ns;
    }
    need(first_ns >= 0);
    for (size_t i = 0; i < r->recorded.waits.count; i++) /* a wait before the first op has no step,
                                                            too */
        first_ns =
            r->recorded.waits.item[i].at_ns < first_ns ? r->recorded.waits.item[i].at_ns : first_ns;
    need(first_ns == 0);
}

static void need_words(pp_status status, const pp_err *err)
{
    need((status == PP_INPUT || status == PP_INFEASIBLE || status == PP_NOMEM) && err->text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *path = scratch_of(data, bytes);
    bool is = false;
    pp_err err = { 0 };
    pp_status status = pp_events_recognise(path, &is, &err);
    if (status)
        need_words(status, &err);
    for (int k = 0; k < 2; k++) {
        pp_recording recording PP_CLEANUP(pp_recording_free) = { 0 };
        status = pp_recording_read(&path, 1, k ? 0 : SIZE_MAX, &recording, &err);
        if (status)
            need_words(status, &err);
        else
            check(&recording);
    }
    pp_window *windows = NULL;
    size_t count = 0;
    bool everywhere = false;
    status = pp_recording_windows(path, 0, 0, &windows, &count, &everywhere, &err);
    if (status)
        need_words(status, &err);
    for (size_t w = 0; w < count && !status; w++)
        need(windows[w].begin_ns <= windows[w].end_ns);
    free(windows);
    return 0;
}
