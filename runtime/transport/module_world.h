/* A transport that is implemented in a module: each call is passed on to the table of the module.
 * */
#ifndef PPSIM_RUNTIME_TRANSPORT_MODULE_WORLD_H
#define PPSIM_RUNTIME_TRANSPORT_MODULE_WORLD_H

#include "runtime/module/module.h"

/* The members of pp_transport that call the module of the world. */
#define PP_MODULE_WORLD_CALLS                                                                     \
    .close = pp_module_world_close, .hosts = pp_module_world_hosts, .load = pp_module_world_load, \
    .begin = pp_module_world_begin, .post = pp_module_world_post, .wait = pp_module_world_wait,   \
    .poll = pp_module_world_poll, .all_gather = pp_module_world_all_gather,                       \
    .clock_ahead = pp_module_world_clock_ahead, .abort = pp_module_world_abort,                   \
    .lost = pp_module_world_lost, .alarmed = pp_module_world_alarmed,                             \
    .collect = pp_module_world_collect
/* The members for replicas, of modules that have them. */
uint32_t pp_module_world_replica(const pp_world *world);
pp_status pp_module_world_exchange(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                   void *out, pp_err *err);
pp_status pp_module_world_gather_replicas(pp_world *world, uint32_t rank, const void *mine,
                                          size_t bytes, void *all_out, pp_err *err);
void pp_module_world_close(pp_world *world);
void pp_module_world_hosts(const pp_world *world, uint32_t *first, uint32_t *count);
pp_status pp_module_world_reserve(pp_world *world, const pp_program *program,
                                  const size_t *payload_bytes, pp_err *err);
pp_status pp_module_world_load(pp_world *world, const pp_program *program,
                               const size_t *buffered_bytes, pp_err *err);
pp_status pp_module_world_begin(pp_world *world, uint32_t rank, pp_err *err);
pp_status pp_module_world_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err);
pp_status pp_module_world_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                               pp_err *err);
pp_status pp_module_world_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                               bool *done_out, pp_ns *done_ns, pp_err *err);
pp_status pp_module_world_all_gather(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                     void *all_out, pp_err *err);
pp_status pp_module_world_clock_ahead(pp_world *world, uint32_t rank, pp_ns *ahead_ns,
                                      pp_ns *error_ns, pp_err *err);
void pp_module_world_abort(pp_world *world);
bool pp_module_world_lost(pp_world *world, uint32_t *rank_out);
bool pp_module_world_alarmed(pp_world *world);
pp_status pp_module_world_collect(pp_world *world, const void *mine, size_t bytes,
                                  pp_ns patience_ns, void *all_out, bool *came_out, pp_err *err);

#endif
