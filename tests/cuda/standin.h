/* Takes the place of libcudart, libcublasLt and libnccl in tests: memory of the GPU is memory of
 * the host, a stream is a thread, and NCCL's messages go through files in shared memory, from chunk
 * to chunk, so that a send ends when it was received. It records every call, refuses wrong use, and
 * fails on demand:
 *
 *   STANDIN_GPUS=4             how many there are; 0: none
 *   STANDIN_DRIVER=13000       what the driver knows; 0: there is none
 *   STANDIN_NCCL=23203         the library's version
 *   STANDIN_ALGORITHMS=0       cuBLASLt has none
 *   STANDIN_ENDLESS=7          that launch of a kernel never ends
 *   STANDIN_FAIL=cudaMalloc:2,ncclSend:7    these calls fail
 *   STANDIN_LOG=FILE           a line per call, and "fails NAME" in front of one that does
 *   STANDIN_GROUP_US=2000      no group of messages takes less
 *   STANDIN_MIB_US=10000       what a GPU copies, or sends, takes so long per MiB, or longer
 *   STANDIN_START_US=30000     that begins so late; its begin, and that of products, is recorded
 *   STANDIN_PRODUCT_US=200000  no product takes less
 *   STANDIN_MEMORY=33554432    bytes of a GPU
 *   STANDIN_SM=80              its compute capability; 90 unless told
 *
 * Wrong use is told on stderr and ends the process with status 70. */
#ifndef PPSIM_TESTS_CUDA_STANDIN_H
#define PPSIM_TESTS_CUDA_STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct standin_stream standin_stream;

/* Should this call of `name` fail? Records it, too. */
bool standin_fails(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void standin_forget(void); /* the calls up to now: STANDIN_FAIL counts from here */
void standin_wrong(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
long standin_setting(const char *name, long otherwise);
int standin_device(void); /* of this thread */
/* Is it since *since, set by the first call, less than so many microseconds? */
bool standin_is_early(struct timespec *since, long us);
long standin_copy_us(size_t bytes);    /* by STANDIN_MIB_US */
void standin_begins(const char *what); /* recorded where STANDIN_START_US is set */

/* Work of a stream, in order. run: false: not over yet, ask again. */
void standin_enqueue(standin_stream *stream, bool (*run)(void *work), void (*drop)(void *work),
                     void *work);
int standin_device_of(const standin_stream *stream);
/* What a stream belongs to; while it is busy with a call no CUDA call may use the stream. */
void standin_guard(standin_stream *stream, const bool *busy);

/* Is it memory of the GPU, all of it? */
bool standin_is_on_gpu(const void *at, size_t bytes, int device);

#endif
