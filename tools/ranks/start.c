/* tools/ranks/start.c - joins the processes that mpirun or a scheduler started; it recognises them by environment
 * variables. Only such processes load MPI, through the shared object ranks_mpi.so: loading it takes a tenth of the
 * program's start, and a program built with MPI also runs without it. */
#include "tools/ranks/ranks.h"

#include "tensor/platform.h"
#include "tools/cli/digest.h"
#include "tools/cli/memory.h"
#include "tools/ranks/ranks_place.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the environment ---- */

/* What the environment says: the number of processes, and the variable that holds it; 0 and NULL if none does. */
typedef struct started {
    int size;
    const char *name;
} started;

static started read_environment(void) {
    /* The variables of Open MPI; of MPICH and Slurm's PMI-2; of Slurm's PMIx, which also sets PMIX_RANK. */
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    size_t n = sizeof sizes / sizeof *sizes - !getenv("PMIX_RANK");
    for (size_t i = 0; i < n; i++) {
        const char *size = getenv(sizes[i]);
        if (size && strtol(size, NULL, 10) > 0)
            return (started){(int)strtol(size, NULL, 10), sizes[i]};
    }
    return (started){0, NULL};
}

/* Returns the first number that one of the n environment variables holds; 0 if none does. */
static int first_number(const char *const *name, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *rank = getenv(name[i]);
        if (rank && strtol(rank, NULL, 10) >= 0)
            return (int)strtol(rank, NULL, 10);
    }
    return 0;
}

int ranks_local(void) {
    /* The variables of Open MPI; Intel MPI and MPICH; MVAPICH; Slurm without an mpirun. */
    return first_number((const char *const[]){"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                            "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"},
        4);
}

int ranks_global(void) {
    return first_number((const char *const[]){"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}, 4);
}

/* ---- the shared object ---- */

/* Finds ranks_mpi.so at RANKS_INSTALLED or RANKS_BUILT, paths relative to the program's folder. Returns false if it is
 * at neither. */
static bool find_engine(char *path, size_t bytes) {
    static const char *const places[] = {RANKS_INSTALLED, RANKS_BUILT};
    char folder[4096];
    if (!mo_program_path(folder, sizeof folder))
        return false;
    *strrchr(folder, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bool whole = *places[i] == '/';
        int length = snprintf(path, bytes, "%s%s%s", whole ? "" : folder, whole ? "" : "/", places[i]);
        if (length > 0 && (size_t)length < bytes && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* Returns NULL after one line on standard error. */
static const ranks_engine *load_engine(const char *path, const char *command) {
    /* global, as modules of Open MPI look up its symbols in the process */
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    const ranks_engine *engine = object ? dlsym(object, "mo_ranks_engine") : NULL;
    if (!object)
        fprintf(stderr, "%s: MPI cannot be loaded: %s; start one process, without mpirun, or install MPI\n", command,
            dlerror());
    else if (!engine || engine->abi != RANKS_ENGINE_ABI) {
        fprintf(stderr, "%s: %s is of another version of mochi\n", command, path);
        engine = NULL;
    }
    return engine;
}

/* ---- joining ---- */

static char *digest_text(mo_context *ctx, const char *path) {
    json_t *digest = file_digest(ctx, path);
    char *text = needed(strdup(json_is_string(digest) ? json_string_value(digest) : ""));
    json_decref(digest);
    return text;
}

/* Returns the digests of this program and of the shared object that sends messages. */
static char *digest_code(const char *engine) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    char *program = digest_text(ctx, "/proc/self/exe"), *messages = digest_text(ctx, engine), *text;
    needed(asprintf(&text, "%s %s", program, messages) < 0 ? NULL : text);
    free(program);
    free(messages);
    mo_context_release(ctx);
    return text;
}

/* Returns false and prints one line if several processes were started, but MPI sees each one alone. */
static bool join_ranks(
    ranks_group *ranks, const ranks_engine *engine, const char *path, started told, const char *command) {
    engine->begin(&ranks->rank, &ranks->size);
    if (ranks->size == 1) {
        engine->end();
        if (told.size > 1)
            fprintf(stderr,
                "%s: started as one of %d processes (%s), but MPI sees only this one: start it with the mpirun of the "
                "MPI that it was built with\n",
                command, told.size, told.name);
        return told.size <= 1;
    }
    ranks->send = engine->send;
    ranks->receive = engine->receive;
    ranks->state = (void *)engine;
    ranks->parted = needed(calloc(1, sizeof *ranks->parted));
    ranks->program = digest_code(path);
    return true;
}

bool ranks_open(ranks_group *ranks, const char *command) {
    char path[8192];
    started told = read_environment();
    *ranks = (ranks_group){.size = 1};
    if (told.size == 1 || (told.size == 0 && !getenv("PMIX_RANK")))
        return true;
    if (find_engine(path, sizeof path)) {
        const ranks_engine *engine = load_engine(path, command);
        return engine && join_ranks(ranks, engine, path, told, command);
    }
    if (told.size > 1) /* each process would do the whole work and write the same files */
        fprintf(stderr,
            "%s: started as one of %d processes (%s), but this build works in one process, without MPI: start it "
            "without mpirun, or build it where MPI is (Debian package libopenmpi-dev; -Dmpi=enabled)\n",
            command, told.size, told.name);
    return told.size <= 1;
}

void ranks_close(ranks_group *ranks) {
    if (ranks->size == 1)
        return;
    const ranks_engine *engine = ranks->state;
    engine->end();
    free(ranks->parted);
    free((char *)ranks->program);
}
