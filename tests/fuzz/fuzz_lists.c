/* tests/fuzz/fuzz_lists.c - reads any bytes as a pool and as a suite; each is accepted, or refused in one line. */
#include "fuzz_graph.h"

#include "train/lists.h"

static void check_pool(const mo_pool_file *file) {
    double sum = 0;
    for (int i = 0; file && i < file->n; i++)
        if (!file->graph[i][0])
            abort();
    for (int task = 0; file && task < MO_TASKS; task++)
        sum += file->family[task];
    if (file && (!file->n || !(sum > 0) || !(file->link_share >= 0 && file->link_share < 1)))
        abort();
}

static void check_suite(const mo_suite *suite) {
    for (int i = 0; suite && i < suite->n; i++)
        if (!suite->task[i].data[0] || suite->task[i].n_shots < 1 || suite->task[i].shots[0] < 1)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live;
    char path[64];
    int fd = fuzz_file(data, size, path, sizeof path);
    mo_context *ctx = fuzz_start(&live);
    mo_pool_file *file = mo_pool_file_read(ctx, path);
    check_pool(file);
    mo_pool_file_release(file);
    fuzz_finish(ctx, live, file);
    ctx = fuzz_start(&live);
    mo_suite *suite = mo_suite_read(ctx, path);
    check_suite(suite);
    mo_suite_release(suite);
    fuzz_finish(ctx, live, suite);
    close(fd);
    return 0;
}
