/* tests/data_at_hand.h - the folder in which tests find data sets in the form of their sources. */
#ifndef DATA_AT_HAND_H
#define DATA_AT_HAND_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A folder laid out as $MOCHI_DATA: the folder of all data sets below MOCHI_SHARED (default ../shared), or, if it is
 * absent, the few that come with the tests. */
static inline const char *data_at_hand(void) {
    static char folder[512];
    const char *shared = getenv("MOCHI_SHARED");
    snprintf(folder, sizeof folder, "%s/data", shared ? shared : "../shared");
    return access(folder, R_OK) == 0 ? folder : "tests/sources";
}

#endif
