/* Replaces libcudart, libcublasLt and libnccl in tests: memory of the GPU is memory of
 * the host, a stream is a thread, and NCCL's messages go through files in shared memory, from chunk
 * to chunk, so that a send ends when it was received. It records every call, refuses wrong use, and
 * fails on demand:
 *
 *   STANDIN_GPUS=4             number of GPUs; 0: none
 *   STANDIN_DRIVER=13000       CUDA version of the driver; 0: there is none
 *   STANDIN_NCCL=23203         the library's version
 *   STANDIN_ALGORITHMS=0       cuBLASLt has none
 *   STANDIN_ENDLESS=7          that launch of a kernel never ends
 *   STANDIN_FAIL=cudaMalloc:2,ncclSend:7    these calls fail
 *   STANDIN_LOG=FILE           a line per call, and "fails NAME" before one that fails
 *   STANDIN_GROUP_US=2000      least time of a group of messages
 *   STANDIN_MIB_US=10000       a GPU's copies and sends take at least this long per MiB
 *   STANDIN_START_US=30000     they begin this late; their begin and that of products is recorded
 *   STANDIN_PRODUCT_US=200000  least time of a product
 *   STANDIN_MEMORY=33554432    bytes of a GPU
 *   STANDIN_CLOCK=own          time passes only when all threads wait for it (standin_clock.c)
 *   STANDIN_SM=80              compute capability of a GPU; default 90
 *
 * Wrong use is reported on stderr and ends the process with status 70. */
#ifndef PPSIM_TESTS_CUDA_STANDIN_H
#define PPSIM_TESTS_CUDA_STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct standin_stream standin_stream;

/* Returns true if this call of `name` must fail. Also records the call. */
bool standin_fails(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void standin_forget(void); /* the calls up to now: STANDIN_FAIL counts from here */
void standin_wrong(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
long standin_setting(const char *name, long otherwise);
int standin_device(void); /* of this thread */
/* Returns true if less than `us` microseconds have passed since *since_us, which the first call
 * sets.
 */
bool standin_is_early(int64_t *since_us, long us);
long standin_copy_us(size_t bytes);    /* by STANDIN_MIB_US */
void standin_begins(const char *what); /* recorded if STANDIN_START_US is set */

/* Adds work to a stream, in order. run: returns false if the work is not over yet, and is called
 * again. */
void standin_enqueue(standin_stream *stream, bool (*run)(void *work), void (*drop)(void *work),
                     void *work);
int standin_device_of(const standin_stream *stream);
/* `busy` is set while the owner of the stream is in a call; no CUDA call may use the stream
 * then. */
void standin_guard(standin_stream *stream, const bool *busy);

/* The clock for streams and waiting callers. A stream joins, and leaves at its end. Whenever it
 * gets work, or has completed some, it calls change and states whether it has more. Before it tries
 * its work, it takes the number that `try` returns; if the work is not over yet, it passes this
 * number to `stuck`. */
int standin_clock_join(void);
void standin_clock_leave(int number);
void standin_clock_change(int number, bool works);
uint64_t standin_clock_try(void);
void standin_clock_get_on(void); /* called by work that has made progress but is not over yet */
void standin_clock_stuck(int number, uint64_t at);
/* Called repeatedly while the host waits for that stream. Returns false if the machine's clock is
 * used. */
bool standin_clock_wait(int number);
void standin_clock_look(void); /* called when the host queries an event that is not over */
int64_t standin_mark_ns(void); /* the time; every call returns a later one */

/* Returns true if all of it is memory of the GPU. */
bool standin_is_on_gpu(const void *at, size_t bytes, int device);

#endif
