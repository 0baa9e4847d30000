/* Allocation of what pictures show. */
#include "traces/plot/draw/picture.h"

#include "traces/read/list.h"

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

PP_LIST_ADD(picture, bar, pp_bar)
PP_LIST_ADD(picture, spread, pp_spread)
PP_LIST_ADD(picture, curve, pp_curve)
PP_LIST_ADD(picture, fitted, pp_fitted)
PP_LIST_ADD(picture, front, pp_front)
PP_LIST_ADD(picture, trade, pp_trade)
PP_LIST_ADD(picture, tick, pp_tick)
PP_LIST_ADD(picture, cell, pp_cell)

void pp_picture_add_track(pp_picture *picture, pp_track *track)
{
    if (picture->tracks < PP_PICTURE_TRACKS)
        picture->track[picture->tracks] = *track;
    else
        pp_track_free(track);
    *track = (pp_track){ 0 };
    picture->tracks++;
}
