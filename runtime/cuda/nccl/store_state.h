/* The state of the store of a process, and how its threads wait. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_STORE_STATE_H
#define PPSIM_RUNTIME_CUDA_NCCL_STORE_STATE_H

#include "runtime/cuda/nccl/store_place.h"

#include <pthread.h>
#include <stdatomic.h>

/* A part of a gather or collect that was received. The owner frees `bytes`. */
typedef struct pp_store_part {
    char *bytes;
    size_t count;
    bool there;
} pp_store_part;

typedef struct pp_store {
    const pp_module_services *services;
    const volatile sig_atomic_t *stop;
    pp_store_place place;
    uint32_t ranks;
    atomic_bool stopped;

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t moved;
    const void **gathered; /* [ranks]: in one process: what each rank contributes */
    uint32_t here;
    uint64_t round;

    /* Several processes. */
    int *peer;  /* [ranks]: sockets; rank 0 has all, the others that of rank 0; -1: none */
    int door;   /* rank 0: listening socket, until all have joined; -1: none */
    bool *left; /* [ranks]: has sent BYE; used by the listener */
    pthread_mutex_t writing;
    pthread_t listener;
    bool listens;
    atomic_bool closing;
    pp_store_part *gather, *collect; /* [ranks] */
    pp_store_part all;               /* all parts, as rank 0 sent them */
    pp_ns answer_ns;                 /* time of rank 0's clock */
    bool answered, alarm;
} pp_store;

/* Returns whether this process or another has ended the run. */
bool pp_store_stopped(const pp_store *store);
/* Waits until something arrives, 20 ms at most. The lock is held. */
void pp_store_nap(pp_store *store);
/* Wakes all waiting threads. The lock is not held. */
void pp_store_wake(pp_store *store);

#endif
