/* Any bytes: traces and candidates are refused with a message, or every suitable kind of picture
 * draws them. */
#include "sim/base/alloc.h"
#include "tools/ppsim/plot/candidates.h"
#include "traces/plot/registry.h"
#include "traces/read/chrome_read.h"
#include "traces/read/memory_read.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

static pp_status read_json(const char *text, size_t bytes, pp_track *track, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    if (pp_chrome_recognise(text, bytes))
        return pp_chrome_read(text, bytes, "fuzz", track, err);
    pp_status status = pp_json_parse(text, bytes, "fuzz", &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, "fuzz");
    return pp_memory_json_read(&root, track, err);
}

static pp_status read_any(const char *text, size_t bytes, pp_picture *picture, pp_err *err)
{
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    if (pp_candidates_recognise(text, bytes))
        return pp_candidates_read(text, "fuzz", picture, err);
    pp_status status = pp_memory_csv_recognise(text, bytes)
                           ? pp_memory_csv_read(text, "fuzz", &track, err)
                           : read_json(text, bytes, &track, err);
    if (!status)
        pp_picture_add_track(picture, &track);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_picture picture PP_CLEANUP(pp_picture_free) = { .inputs = 1, .data_name = "fuzz.dat" };
    pp_err err = { 0 };
    char *text PP_CLEANUP(pp_free_text) = pp_alloc_array(bytes + 1, 1);
    require(text != NULL);
    memcpy(text, data, bytes);
    pp_status status = read_any(text, bytes, &picture, &err);
    if (status) {
        require(status == PP_INPUT && *err.text);
        return 0;
    }
    picture.last_rank = picture.tracks && picture.track[0].ranks > 64 ? 64 : UINT32_MAX;
    for (size_t i = 0; i < pp_plot_count(); i++) {
        pp_text script PP_CLEANUP(pp_text_free) = { 0 };
        pp_text numbers PP_CLEANUP(pp_text_free) = { 0 };
        if (!pp_plot_at(i)->fits(&picture))
            continue;
        err = (pp_err){ 0 };
        status = pp_plot_draw(pp_plot_at(i), &picture, &script, &numbers, &err);
        require(status == PP_USAGE ? *err.text != '\0' : status == PP_OK && numbers.bytes > 0);
    }
    return 0;
}
