/* train/fit/fit_crew.h - the threads that the episodes of a head are shared out to (library internal). */
#ifndef MO_FIT_CREW_H
#define MO_FIT_CREW_H

#include "train/fit/fit_episodes.h"

/* own: fits in the caller's context, with all of its threads inside an op. member [n] (n may be 0): each fits in a
 * context of one thread that borrows the rows, opened by that thread. */
typedef struct mo_fit_crew {
    mo_fitting own, *member;
    int n;
} mo_fit_crew;

/* Makes a crew for the rows Z; release it in any case, before Z. Returns false on failure. */
bool mo_fit_crew_create(mo_tensor *Z, mo_fit_crew *crew);
void mo_fit_crew_release(mo_fit_crew *crew);
/* Runs all batches of the job under the head of crew->own, with its settings; the bits do not depend on which member
 * takes a batch. Returns false on failure and raises the error of the first failed batch. */
bool mo_fit_crew_run(mo_fit_crew *crew, const mo_fit_job *job);

#endif
