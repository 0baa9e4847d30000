/* Any text: pp_layout_parse refuses it with a message, or gives stages that print to a layout of
 * the same stages. */
#include "sim/plan/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

/* The first two bytes are layers and MTP modules, the rest the layout. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2 || bytes > 4096)
        return 0;
    char layout[4096];
    memcpy(layout, data + 2, bytes - 2);
    layout[bytes - 2] = '\0';
    pp_stage *stages = NULL;
    pp_stage *again = NULL;
    uint32_t count = 0;
    uint32_t count_again = 0;
    pp_err err = { 0 };
    pp_status status = pp_layout_parse(layout, data[0], data[1], &stages, &count, &err);
    if (status) {
        require(status == PP_USAGE || status == PP_NOMEM);
        require(*err.text && !stages);
        return 0;
    }
    pp_text text = { 0 };
    pp_layout_print(stages, count, &text);
    require(pp_layout_parse(text.data, data[0], data[1], &again, &count_again, &err) == PP_OK);
    require(count == count_again && memcmp(stages, again, count * sizeof *stages) == 0);
    pp_text_free(&text);
    free(stages);
    free(again);
    return 0;
}
