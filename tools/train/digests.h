/* tools/train/digests.h - the digests of a run (train/run/run_digest.c), read and compared. */
#ifndef DIGESTS_H
#define DIGESTS_H

#include "tools/command.h"

typedef struct digests {
    json_t *lines; /* array of {"step": N, "digests": {name: digits}}; owned */
} digests;

/* SAME: all steps of both; END: one has a step more; DIFFER: a digest of a step that both have. */
typedef enum digests_kind { DIGESTS_SAME = 0, DIGESTS_END, DIGESTS_DIFFER } digests_kind;

typedef struct digest_difference {
    digests_kind kind;
    int64_t steps, compared; /* steps, and digests, that are the same before it */
    int64_t step;            /* of the difference */
    int shorter;             /* END: 0 or 1, which ends */
    int apart;               /* DIFFER: number of digests of that step that differ */
    char name[256], digits[2][192];
} digest_difference;

/* Reads FOLDER/digests.jsonl, or the file itself. Returns false after one line on standard error. */
bool read_digests(digests *d, const char *path);
void free_digests(digests *d);
/* Compares step by step from the first one that both have. */
digest_difference compare_digests(const digests *a, const digests *b);

#endif
