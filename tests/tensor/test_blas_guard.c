/* tests/tensor/test_blas_guard.c - a context finds out whether OpenBLAS takes its buffers from this library. If another
 * library loaded OpenBLAS before, as Debian's NumPy does, it does not. Products must then run on one thread, as two at
 * once in a serial OpenBLAS are sometimes wrong. Usage: test_blas_guard libmochi.so */
#include "tensor/inside.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite.h"

static const char *path;

enum { SAFE, ONE_AT_A_TIME, BROKEN };

static void *symbol_of(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(BROKEN);
    }
    return symbol;
}

/* What the processor's description says of BLAS once the library is loaded, behind OpenBLAS or without. */
static int ask_context(bool behind_openblas) {
    if (behind_openblas && !dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL))
        return BROKEN;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return BROKEN;
    }
    mo_context *(*create)(const mo_context_options *);
    bool (*describe)(mo_device, char *, size_t);
    void (*release)(mo_context *);
    void *symbol[] = {symbol_of(library, "mo_context_create"), symbol_of(library, "mo_device_describe"),
        symbol_of(library, "mo_context_release")};
    memcpy(&create, &symbol[0], sizeof create);
    memcpy(&describe, &symbol[1], sizeof describe);
    memcpy(&release, &symbol[2], sizeof release);
    bool found[2];
    char text[256];
    for (int i = 0; i < 2; i++) { /* the second context must find what the first one found */
        mo_context *ctx = create(&(mo_context_options){.threads = 2});
        found[i] = ctx && describe(MO_CPU, text, sizeof text) && !strstr(text, "one thread at a time");
        release(ctx);
    }
    return found[0] != found[1] ? BROKEN : found[0] ? SAFE : ONE_AT_A_TIME;
}

static int answer_apart(bool behind_openblas) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(ask_context(behind_openblas));
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(openblas_behind_the_library_asks_it_for_buffers) {
    assert_int_equal(answer_apart(false), SAFE);
}

TEST(openblas_before_the_library_is_called_by_one_thread) {
    void *openblas = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!openblas || !dlsym(openblas, "blas_memory_alloc")) {
        skip("no libopenblas.so.0 with an allocator that can be replaced");
    }
    dlclose(openblas);
    assert_int_equal(answer_apart(true), ONE_AT_A_TIME);
}

int main(int argc, char **argv) {
    path = argc == 2 ? argv[1] : "";
    return run_suite();
}
