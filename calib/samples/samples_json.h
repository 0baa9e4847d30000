/* Measured points as JSON; docs/reference/formats.md (ppsim.samples) describes them. */
#ifndef PPSIM_CALIB_SAMPLES_SAMPLES_JSON_H
#define PPSIM_CALIB_SAMPLES_SAMPLES_JSON_H

#include "calib/samples/samples.h"
#include "sim/base/json.h"

/* Reads the list "series". The caller frees the samples with pp_samples_free.
 * Fails: INPUT with the place (a time that is not positive, an unknown variable), NOMEM. */
PP_MUST_CHECK pp_status pp_samples_read(const pp_json_at *list, pp_samples *samples_out,
                                        pp_err *err);
/* Returns the list that pp_samples_read reads, or NULL when the build failed. */
pp_json *pp_samples_write(const pp_samples *samples, pp_json_build *build);

/* Reads and writes one item of a series' "samples". Fails: INPUT with the place. */
PP_MUST_CHECK pp_status pp_sample_read(const pp_json_at *at, pp_sample *sample_out, pp_err *err);
pp_json *pp_sample_write(const pp_sample *sample, pp_json_build *build);

#endif
