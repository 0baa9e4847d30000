/* FNV-1a with 64 bits (Fowler, Noll, Vo; http://www.isthe.com/chongo/tech/comp/fnv): protects
 * against mistakes and spreads keys over buckets, but not against an adversary. */
#ifndef PPSIM_SIM_BASE_HASH_H
#define PPSIM_SIM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define PP_HASH_START UINT64_C(14695981039346656037)

static inline uint64_t pp_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

/* The eight bytes of `value`, the lowest first on every machine. */
static inline uint64_t pp_hash_number(uint64_t hash, uint64_t value)
{
    for (int k = 0; k < 8; k++)
        hash = (hash ^ ((value >> (8 * k)) & 0xff)) * UINT64_C(1099511628211);
    return hash;
}

#endif
