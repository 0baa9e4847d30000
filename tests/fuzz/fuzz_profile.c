/* Any bytes: pp_profile_parse refuses them with a message, or gives a profile that is written and
 * read back to the same bytes, and whose fits predict a time, or say why not. */
#include "calib/profile/profile.h"
#include "calib/profile/profile_read.h"
#include "calib/profile/profile_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

static pp_profile *read_profile(const char *text, size_t bytes)
{
    pp_profile *profile = NULL;
    pp_err err = { 0 };
    pp_status status = pp_profile_parse(text, bytes, "profile.json", &profile, &err);
    if (status) {
        require(status == PP_INPUT || status == PP_NOMEM);
        require(err.status == status && *err.text && !profile);
    }
    return profile;
}

static char *write_profile(pp_profile *profile, size_t *bytes_out)
{
    char *text = NULL;
    pp_err err = { 0 };
    require(pp_profile_write(profile, &text, bytes_out, &err) == PP_OK);
    return text;
}

static void predict_all(const pp_profile *profile)
{
    for (size_t i = 0; i < profile->count; i++) {
        const pp_profile_entry *e = &profile->entry[i];
        const pp_series *series = &profile->samples.series[e->series[0]];
        for (size_t k = 0; e->fitted && k < series->count; k++) {
            pp_fit_value value;
            pp_err err = { 0 };
            pp_status status =
                pp_fit_predict(&e->choice.fit, series, &series->sample[k], &value, &err);
            require(status ? *err.text != 0 : value.seconds > 0 && isfinite(value.seconds));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_profile *profile = read_profile((const char *)data, bytes);
    if (!profile)
        return 0;
    predict_all(profile);
    size_t first_bytes = 0;
    size_t second_bytes = 0;
    char *first = write_profile(profile, &first_bytes);
    pp_profile *again = read_profile(first, first_bytes);
    require(again != NULL);
    char *second = write_profile(again, &second_bytes);
    require(first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0);
    free(first);
    free(second);
    pp_profile_free(&profile);
    pp_profile_free(&again);
    return 0;
}
