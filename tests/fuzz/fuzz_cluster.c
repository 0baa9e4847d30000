/* Any bytes: pp_cluster_parse refuses them with a message, leaves them to another reader, or
 * returns classes with ranks, and links between two of them. */
#include "planner/study/cluster.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_cluster cluster = { .classes = 0 };
    uint32_t ranks = 0;
    pp_err err = { 0 };
    pp_status status = pp_cluster_parse((const char *)data, bytes, "c.json", &cluster, &err);
    if (status) {
        require(status == PP_INPUT && *err.text && !cluster.classes);
        return 0;
    }
    require(cluster.classes <= PP_CLUSTER_CLASSES_MAX && !cluster.name[0] == !cluster.classes);
    for (uint32_t k = 0; k < cluster.classes; k++) {
        require(cluster.class[k].ranks >= 1);
        ranks += cluster.class[k].ranks;
    }
    require(cluster.links <= PP_CLUSTER_LINKS_MAX);
    for (uint32_t k = 0; k < cluster.links; k++)
        require(cluster.link[k].rank < cluster.link[k].other && cluster.link[k].other < ranks &&
                cluster.link[k].value > 0);
    return 0;
}
