/* train/fit_crew.h - the threads that the episodes of a head are shared out to (library internal). */
#ifndef MO_FIT_CREW_H
#define MO_FIT_CREW_H

#include "train/fit_episodes.h"

/* own: in the caller's context, with all of its threads inside an op. member [n], or none: each in a context of one
 * thread that borrows the rows, opened by its thread. */
typedef struct mo_fit_crew {
    mo_fitting own, *member;
    int n;
} mo_fit_crew;

/* For these rows. Release in any case, before them. False on failure. */
bool mo_fit_crew_create(mo_tensor *Z, mo_fit_crew *crew);
void mo_fit_crew_release(mo_fit_crew *crew);
/* All batches of the job under the head of crew->own, with its settings; the same bits whoever takes which. False on
 * failure, which is raised: of several that of the first batch. */
bool mo_fit_crew_run(mo_fit_crew *crew, const mo_fit_job *job);

#endif
