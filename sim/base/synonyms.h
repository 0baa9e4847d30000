/* Names that people type instead of the names in ppsim: "zero-bubble" for zb-h1, "gpt3" for
 * gpt175b, "batch-size" for global-batch-size. All suggestions of look-ups by name come from this
 * one table, sim/base/synonyms.def. */
#ifndef PPSIM_SIM_BASE_SYNONYMS_H
#define PPSIM_SIM_BASE_SYNONYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_LIKENESS_SAME SIZE_MAX

/* Returns how similar a typed name is to an existing one. PP_LIKENESS_SAME: they differ only in
 * case, blanks, '-' and '_', or are synonyms. Smaller values: the number of bytes that they share,
 * if one is a part of the other or the typed one contains a synonym. 0: they are not similar. noun:
 * the kind of name, such as "schedule"; NULL: the table is not used, and only the beginning of a
 * name counts. */
size_t pp_name_likeness(const char *noun, const char *typed, const char *name);

/* Returns true if `typed` is another name of the hardware `name`: "H100" of h100-80g. */
bool pp_hardware_alias(const char *typed, const char *name);
/* Returns true if `typed` is another name of the model `name`: "qwen3-235b" of qwen3-235b-a22b. */
bool pp_model_alias(const char *typed, const char *name);

#endif
