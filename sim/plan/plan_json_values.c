/* Reads values of the plan file that may be null. */
#include "sim/plan/plan_json_values.h"

pp_status pp_plan_read_name(const pp_json_at *object, const char *key, char *buffer, size_t size,
                            pp_err *err)
{
    buffer[0] = '\0';
    return pp_json_get_optional_name(object, key, buffer, size, err);
}

pp_status pp_plan_read_known(const pp_json_at *object, const char *key, int64_t high,
                             int64_t *value_out, pp_err *err)
{
    *value_out = 0;
    return pp_json_has(object, key) ? pp_json_get_int(object, key, 1, high, value_out, err) : PP_OK;
}
