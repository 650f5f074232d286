/* tests/data_at_hand.h - the folder in which tests find data sets in their original formats. */
#ifndef DATA_AT_HAND_H
#define DATA_AT_HAND_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns a folder laid out like $MOCHI_DATA: the data sets below MOCHI_SHARED (default ../shared) or, if that is
 * absent, the few that come with the tests. */
static inline const char *data_at_hand(void) {
    static char folder[512];
    const char *shared = getenv("MOCHI_SHARED");
    snprintf(folder, sizeof folder, "%s/data", shared ? shared : "../shared");
    return access(folder, R_OK) == 0 ? folder : "tests/sources";
}

#endif
