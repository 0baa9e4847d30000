/* Arbitrary bytes are either parsed as an instance or refused with a message. For small instances a
 * bound and an order are computed, and the order is not below the bound. */
#include "planner/order/problem_read.h"
#include "planner/order/search.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

static void search(const pp_order_problem *instance)
{
    pp_order_bounds limits;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    const pp_order_search_options budget = { .iterations = 80 };
    pp_err err = { 0 };
    pp_status room = pp_order_problem_check_room(instance, &err);
    require(room == PP_OK || (room == PP_INFEASIBLE && *err.text));
    require(pp_order_bounds_find(instance, &limits, NULL) == PP_OK);
    require(limits.ticks >= 0);
    err = (pp_err){ 0 };
    pp_status status = pp_order_search(instance, limits.ticks, &budget, &found, &err);
    require(status == PP_OK || (status == PP_INFEASIBLE && *err.text));
    require(status == room);
    require(!found || found->makespan >= limits.ticks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_err err = { 0 };
    pp_status status = pp_json_parse((const char *)data, bytes, "i.json", &json, &err);
    if (!status) {
        const pp_json_at root = pp_json_root(json, "i.json");
        status = pp_order_problem_read(&root, &instance, &err);
    }
    if (status) {
        require(status == PP_INPUT || status == PP_NOMEM);
        require(err.status == status && *err.text);
        return 0;
    }
    if (instance->ops <= 600)
        search(instance);
    return 0;
}
