/* tools/train/ranks_mpi.c - messages between the processes of a run by MPI. An error of MPI ends all of them: that is
 * MPI's own default. */
#include "tools/digest.h"
#include "tools/memory.h"
#include "tools/train/ranks.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 21 };

static const size_t largest_part = (size_t)1 << 30; /* MPI counts in int */

static void ranks_send(void *state, int to, const void *data, size_t bytes) {
    (void)state;
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < largest_part ? bytes - at : largest_part;
        MPI_Send((const char *)data + at, (int)part, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    }
}

static void ranks_receive(void *state, int from, void *data, size_t bytes) {
    (void)state;
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < largest_part ? bytes - at : largest_part;
        MPI_Recv((char *)data + at, (int)part, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The digests of this program and of the library that it runs with; "" if they cannot be read. */
static char *digest_program(void) {
    Dl_info library = {0};
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    dladdr((void *)mo_trainer_create, &library);
    json_t *program = file_digest(ctx, "/proc/self/exe");
    json_t *code = file_digest(ctx, library.dli_fname ? library.dli_fname : "/proc/self/exe");
    char text[160] = "";
    if (json_is_string(program) && json_is_string(code))
        snprintf(text, sizeof text, "%s %s", json_string_value(program), json_string_value(code));
    json_decref(program);
    json_decref(code);
    mo_context_release(ctx);
    return needed(strdup(text));
}

/* The names of the processors, one per rank, at rank 0; NULL elsewhere. */
static const char *const *gather_hosts(const mo_ranks *ranks) {
    char mine[MPI_MAX_PROCESSOR_NAME] = "", *all = NULL;
    const char **host = NULL;
    int length;
    MPI_Get_processor_name(mine, &length);
    if (!ranks->rank) {
        host = needed(calloc((size_t)ranks->size, sizeof *host));
        all = needed(calloc((size_t)ranks->size, sizeof mine));
        for (int r = 0; r < ranks->size; r++)
            host[r] = all + (size_t)r * sizeof mine;
    }
    MPI_Gather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, 0, MPI_COMM_WORLD);
    return host;
}

bool ranks_open(mo_ranks *ranks) {
    const char *name;
    int size = ranks_in_environment(&name);
    *ranks = (mo_ranks){.size = 1};
    if (size == 1 && !getenv("PMIX_RANK"))
        return true; /* MPI takes a while to begin */
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks->size);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    if (ranks->size == 1) {
        MPI_Finalize();
        if (size > 1)
            fprintf(stderr,
                "mochi train: started as one of %d processes (%s), of which MPI sees one: start it with the mpirun of "
                "the MPI that it was built with\n",
                size, name);
        return size == 1;
    }
    ranks->program = digest_program();
    ranks->host = gather_hosts(ranks);
    ranks->send = ranks_send;
    ranks->receive = ranks_receive;
    return true;
}

void ranks_close(mo_ranks *ranks) {
    if (ranks->size == 1)
        return;
    MPI_Barrier(MPI_COMM_WORLD); /* mpirun ends all processes once one has failed; rank 0 may be writing */
    MPI_Finalize();
    free((char *)ranks->program);
    if (ranks->host)
        free((char *)ranks->host[0]);
    free((void *)ranks->host);
}
