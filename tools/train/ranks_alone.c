/* tools/train/ranks_alone.c - in a build without MPI, one of several processes is refused: all would write the same
 * run. */
#include "tools/train/ranks.h"

#include <stdio.h>

bool ranks_open(mo_ranks *ranks) {
    const char *name;
    int size = ranks_in_environment(&name);
    *ranks = (mo_ranks){.size = 1};
    if (size == 1)
        return true;
    fprintf(stderr,
        "mochi train: started as one of %d processes (%s), but this build trains in one process, without MPI: start it "
        "without mpirun, or build it where MPI is (Debian package libopenmpi-dev; -Dmpi=enabled)\n",
        size, name);
    return false;
}

void ranks_close(mo_ranks *ranks) {
    (void)ranks;
}
