/* tools/web/platform.c - what the engine asks of an operating system, where there is none: WebAssembly in a page. One
 * thread, blocks of malloc, no files and no shared objects. Every refusal is an error of the context that says so. */
#include "tools/web/page.h"

#include "models/inside.h"
#include "tensor/cpu/fast/blas_guard.h"
#include "tensor/cpu/fast/threads.h"
#include "tensor/files/file.h"
#include "tools/input.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- threads, as tensor/cpu/fast/threads.h has them ---- */

int team_most(void) {
    return 1;
}

bool team_is_lost(void) {
    return false;
}

int team_start(int threads) {
    (void)threads;
    return 0;
}

int contention_threads(contention *c, int threads) {
    (void)c;
    return threads;
}

bool blas_guard_holds(void) {
    return true;
}

int blas_guard_reserve(int threads) {
    return threads;
}

/* ---- memory ---- */

enum { PAGE = 2 << 20, MOST_BLOCKS = 64 };

static void *blocks[MOST_BLOCKS];

void *mmap(void *at, size_t bytes, int protection, int flags, int file, long long offset) {
    int i = 0;
    (void)at, (void)protection, (void)flags, (void)offset;
    while (i < MOST_BLOCKS && blocks[i])
        i++;
    if (file >= 0 || i == MOST_BLOCKS || !(blocks[i] = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE)))
        return MAP_FAILED;
    memset(blocks[i], 0, bytes);
    return blocks[i];
}

/* Frees a whole block; memory inside a block stays allocated. */
int munmap(void *at, size_t bytes) {
    (void)bytes;
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (at && blocks[i] == at) {
            free(at);
            blocks[i] = NULL;
        }
    return 0;
}

/* ---- files ---- */

char *read_text_file(const char *path, size_t *bytes) {
    (void)path;
    *bytes = strlen(page_matrix);
    return strdup(page_matrix);
}

static void refuse_file(mo_context *ctx, const char *what) {
    mo_fail(ctx, MO_UNSUPPORTED, "%s: a page has no files", what);
}

mo_tensor *mo_npy_read(mo_context *ctx, const char *path) {
    refuse_file(ctx, path);
    return mo_null_tensor(ctx);
}

const void *mo_plugin_open(
    mo_context *ctx, const char *label, const char *symbol, mo_plugin expected, const char *path, void **object) {
    (void)symbol, (void)expected, (void)path;
    *object = NULL;
    refuse_file(ctx, label);
    return NULL;
}

/* ---- the terminal ---- */

void put_on_terminal(lesson *l, const block *b) {
    (void)l, (void)b;
}

int report_failure(const mo_context *ctx) {
    (void)ctx;
    return EXIT_FAILED;
}
