/* Grows and frees the lists of a picture. */
#include "traces/plot/draw/picture.h"

#include "sim/base/list.h"

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

PP_LIST_ADD(pp_picture_add_bar, pp_picture, bar, pp_bar)
PP_LIST_ADD(pp_picture_add_spread, pp_picture, spread, pp_spread)
PP_LIST_ADD(pp_picture_add_curve, pp_picture, curve, pp_curve)
PP_LIST_ADD(pp_picture_add_fitted, pp_picture, fitted, pp_fitted)
PP_LIST_ADD(pp_picture_add_front, pp_picture, front, pp_front)
PP_LIST_ADD(pp_picture_add_trade, pp_picture, trade, pp_trade)
PP_LIST_ADD(pp_picture_add_tick, pp_picture, tick, pp_tick)
PP_LIST_ADD(pp_picture_add_cell, pp_picture, cell, pp_cell)

void pp_picture_add_track(pp_picture *picture, pp_track *track)
{
    if (picture->tracks < PP_PICTURE_TRACKS)
        picture->track[picture->tracks] = *track;
    else
        pp_track_free(track);
    *track = (pp_track){ 0 };
    picture->tracks++;
}
