/* Look-up by name in a table of plug-ins. The tables have at most a few dozen entries, so every
 * look-up compares the names one after the other. */
#include "sim/base/registry.h"

#include "sim/base/text.h"

#include <string.h>
#include <strings.h>

size_t pp_registry_find(const pp_registry *registry, const char *name)
{
    size_t index = 0;
    while (index < registry->count && strcmp(registry->name(index), name) != 0)
        index++;
    return index;
}

/* The only entry whose name differs in case alone, or registry->count. */
static size_t find_any_case(const pp_registry *registry, const char *name)
{
    size_t found = registry->count;
    for (size_t i = 0; i < registry->count; i++) {
        if (strcasecmp(registry->name(i), name) != 0)
            continue;
        if (found < registry->count)
            return registry->count;
        found = i;
    }
    return found;
}

pp_status pp_registry_get(const pp_registry *registry, const char *name, size_t *index_out,
                          pp_err *err)
{
    size_t found = pp_registry_find(registry, name);
    if (found == registry->count)
        found = find_any_case(registry, name);
    if (found < registry->count) {
        *index_out = found;
        return PP_OK;
    }
    pp_text_search search = pp_text_search_begin(registry->noun, name);
    for (size_t i = 0; i < registry->count; i++)
        pp_text_search_offer(&search, registry->name(i));
    char hint[PP_TEXT_HINT_BYTES];
    pp_text_search_hint(&search, hint);
    return pp_err_set(err, PP_USAGE, pp_err_name(err, registry->field),
                      "there is no %s '%.64s'%s%s%s%s%s", registry->noun, name, hint,
                      registry->all ? pp_text_hint_end(hint) : "", registry->all ? " " : "",
                      registry->all ? pp_err_name(err, registry->all) : "",
                      registry->all ? " shows all" : "");
}
