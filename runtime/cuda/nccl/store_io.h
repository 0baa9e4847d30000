/* Messages of the store over TCP. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_STORE_IO_H
#define PPSIM_RUNTIME_CUDA_NCCL_STORE_IO_H

#include "runtime/cuda/nccl/store_state.h"

typedef enum pp_store_word {
    PP_STORE_HELLO,   /* to rank 0: introduces a process; from rank 0: accepts it */
    PP_STORE_REFUSED, /* from rank 0: refuses a process of this job, with the reason as text */
    PP_STORE_GATHER,  /* to rank 0: a part; from it: all parts */
    PP_STORE_ASK,     /* to rank 0: asks for its clock; from it: the answer */
    PP_STORE_COLLECT, /* a part, forwarded to all others */
    PP_STORE_STOP,    /* likewise */
    PP_STORE_BYE,     /* the last message of a process */
    PP_STORE_WORDS,
} pp_store_word;

/* Header of every message. It has no padding. */
typedef struct pp_store_frame {
    char magic[8];
    uint32_t word, from;
    uint64_t bytes;
} pp_store_frame;

/* Returns the header of a message. */
pp_store_frame pp_store_head(pp_store_word word, uint32_t from, size_t bytes);
/* Returns whether a header may be one of this job. */
bool pp_store_is_head(const pp_store *store, const pp_store_frame *head);
/* Returns the time by which a message of this size has passed, counted from now. Whoever is slower
 * counts as gone, however often a byte of it comes. */
pp_ns pp_store_deadline(const pp_store *store, size_t bytes);
/* Reads what is there, up to `most` bytes, without waiting. Returns false if the other end is gone.
 */
bool pp_store_receive(int from, void *bytes, size_t most, size_t *came_out);
/* Reads `count` bytes until `until_ns`. Returns false if they did not come. */
bool pp_store_read(const pp_store *store, int from, void *bytes, size_t count, pp_ns until_ns);
/* Sends a message, before its deadline. Returns false if it was not taken. */
bool pp_store_say(pp_store *store, int to, pp_store_word word, uint32_t from, const void *bytes,
                  size_t count);

#endif
