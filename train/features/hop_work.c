/* train/features/hop_work.c - the blocks of a hop stack as they are finished. */
#include "train/features/hop_work.h"

#include "tensor/clock.h"
#include "tensor/files/conversion.h"
#include "tensor/files/number_text.h"
#include "tensor/host_array.h"

enum { NOTICE_SECONDS = 5 };

void mo_hop_work_begin(mo_hop_work *w) {
    if (w->s->dtype == MO_F16)
        w->halves = mo_host_array(w->file.ctx, mo_hop_file_rows(&w->file, 0) * w->s->columns, sizeof *w->halves);
}

static void tell_progress(mo_hop_work *w) {
    double now = mo_clock(CLOCK_MONOTONIC), passed = now - w->start;
    if (!w->s->cache.notice || now - w->told < NOTICE_SECONDS || w->finished == w->begun)
        return;
    char line[256];
    double left = passed * (double)(w->blocks - w->finished) / (double)(w->finished - w->begun);
    mo_format(line, sizeof line, "features: %s, %.0f%% of the hop stack written, %.0f s left", w->s->name,
        100 * (double)w->finished / (double)w->blocks, left);
    w->s->cache.notice(line, w->s->cache.state);
    w->told = now;
}

bool mo_hop_finish_block(mo_hop_work *w, int64_t side, int64_t hop, int64_t b, const float *rows) {
    int64_t n = w->halves ? mo_hop_file_rows(&w->file, b) * w->file.columns : 0;
    for (int64_t i = 0; i < n; i++)
        w->halves[i] = double_to_half(rows[i]);
    bool fine = mo_hop_file_write(&w->file, side, hop, b, w->halves ? (const void *)w->halves : rows);
    w->finished += fine;
    tell_progress(w);
    return fine;
}
