/* Writes the list of the longest waits of ppsim.report (docs/reference/formats.md). */
#include "sim/analysis/waits_json.h"

pp_json *pp_blocked_write(const pp_blocked_list *list, pp_json_build *build)
{
    pp_json *array = pp_json_new_array(build);
    for (size_t i = 0; i < list->count; i++) {
        const pp_blocked *one = &list->item[i];
        pp_json *object = pp_json_new_object(build);
        pp_json_put_int(build, object, "rank", one->rank);
        pp_json_put_text(build, object, "op", one->op);
        pp_json_put_int(build, object, "at_ns", one->at_ns);
        pp_json_put_int(build, object, "waits_ns", one->waits_ns);
        pp_json_put_text(build, object, "cause", pp_idle_key(one->cause));
        pp_json_put_text(build, object, "blocked_by", one->by[0] ? one->by : NULL);
        if (one->by[0])
            pp_json_put_int(build, object, "blocked_by_rank", one->by_rank);
        else
            pp_json_put_null(build, object, "blocked_by_rank");
        pp_json_add(build, array, object);
    }
    return array;
}
