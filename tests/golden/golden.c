/* tests/golden/golden.c - golden [DIR]: checks every file of a folder of stored vectors (tests/golden), in float64 and
 * float32, on the device that MOCHI_DEVICE names. */
#include "tests/golden/golden.h"
#include "tests/device.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *file;
    void (*check)(golden *g);
} checks[] = {
    {"batched_matmul", golden_batched_matmul},
    {"encoder", golden_encoder},
    {"encoder_pp", golden_encoder},
    {"logreg", golden_logistic},
    {"ops", golden_ops},
    {"peer", golden_peer},
    {"ridge", golden_ridge},
    {"solve", golden_solve},
    {"step", golden_step},
    {"svd", golden_svd},
    {"xent", golden_xent},
};

enum { CHECKS = sizeof checks / sizeof *checks };

typedef struct totals {
    int passed, failed, skipped;
} totals;

static void check_file(mo_context *ctx, const char *path, int which, totals *sum) {
    mo_arrays *file = mo_npz_read(ctx, path);
    if (!file) {
        printf("FAIL %s: %s\n", path, mo_context_status(ctx)->message);
        mo_clear_error(ctx);
        sum->failed++;
        return;
    }
    for (int real = MO_F64; real >= MO_F32; real--) {
        golden g = {.ctx = ctx, .file = file, .file_name = checks[which].file, .real = (mo_dtype)real};
        g.t = mo_tape_create(ctx, MO_RECORD);
        checks[which].check(&g);
        golden_end_case(&g, "");
        mo_tape_release(g.t);
        printf("%-16s %s: %d passed, %d failed\n", g.file_name, mo_dtype_name(g.real), g.passed, g.failed);
        sum->passed += g.passed;
        sum->failed += g.failed;
        sum->skipped += g.skipped;
    }
    mo_arrays_release(file);
}

static void check_entry(mo_context *ctx, const char *dir, const char *name, totals *sum) {
    char path[8192];
    const char *dot = strrchr(name, '.');
    if (!dot || strcmp(dot, ".npz") != 0)
        return;
    for (int i = 0; i < CHECKS; i++)
        if (strlen(checks[i].file) == (size_t)(dot - name) && !strncmp(name, checks[i].file, (size_t)(dot - name))) {
            snprintf(path, sizeof path, "%s/%s", dir, name);
            check_file(ctx, path, i, sum);
            return;
        }
    printf("%s: skipped, the library has no such part\n", name);
    sum->skipped++;
}

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : "tests/golden";
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, alphasort);
    if (n < 0) {
        printf("golden: no folder %s\n", dir);
        return 1;
    }
    mo_context *ctx = device_context(test_device());
    totals sum = {0};
    for (int i = 0; i < n; i++) {
        check_entry(ctx, dir, entries[i]->d_name, &sum);
        free(entries[i]);
    }
    free(entries);
    mo_context_release(ctx);
    printf("%d passed, %d failed\n", sum.passed, sum.failed);
    return sum.failed || !sum.passed;
}
