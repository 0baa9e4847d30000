/* Allocation of what pictures show. */
#include "traces/plot/draw/picture.h"

#include "sim/base/alloc.h"

#include <stdlib.h>

void pp_picture_free(pp_picture *picture)
{
    for (size_t i = 0; i < PP_PICTURE_TRACKS; i++)
        pp_track_free(&picture->track[i]);
    free(picture->bar);
    free(picture->spread);
    free(picture->curve);
    free(picture->fitted);
    free(picture->front);
    free(picture->trade);
    free(picture->tick);
    free(picture->cell);
    *picture = (pp_picture){ 0 };
}

/* pp_picture_add_<list>: one for each list. */
#define PP_ADD(list, type)                                                                      \
    type *pp_picture_add_##list(pp_picture *in, pp_err *err)                                    \
    {                                                                                           \
        void *grown = in->list;                                                                 \
        if (pp_grow(&grown, &in->list##_capacity, in->list##_count + 1, sizeof *in->list, err)) \
            return NULL;                                                                        \
        in->list = grown;                                                                       \
        return &in->list[in->list##_count++];                                                   \
    }
PP_ADD(bar, pp_bar)
PP_ADD(spread, pp_spread)
PP_ADD(curve, pp_curve)
PP_ADD(fitted, pp_fitted)
PP_ADD(front, pp_front)
PP_ADD(trade, pp_trade)
PP_ADD(tick, pp_tick)
PP_ADD(cell, pp_cell)
#undef PP_ADD

void pp_picture_add_track(pp_picture *picture, pp_track *track)
{
    if (picture->tracks < PP_PICTURE_TRACKS)
        picture->track[picture->tracks] = *track;
    else
        pp_track_free(track);
    *track = (pp_track){ 0 };
    picture->tracks++;
}
