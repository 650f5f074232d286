/* tools/bench/probe/probe.c - the program gpu_probe. */
#include "tools/bench/probe/probe.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 900, DIM = 512, WARM_CUBE = 4096, WARM_PRODUCTS = 200 };

/* Computes products until the device's clocks have risen. */
static void warm(const probe *p) {
    int64_t n = p->dry ? 16 : WARM_CUBE;
    float *A = probe_values(p, n * n, 1), *C = probe_memory(p, (size_t)(n * n) * sizeof *C);
    seam_gemm g = {
        .m = n, .n = n, .k = n, .A = A, .B = A, .C = C, .lda = n, .ldb = n, .ldc = n, .batch = 1, .alpha = 1};
    for (int i = 0; i < (p->dry ? 1 : WARM_PRODUCTS); i++)
        seam_multiply(p->s, &g);
    const char *reason = seam_wait(p->s);
    if (reason)
        probe_stop("products to warm up", reason);
    seam_release(p->s, A);
    seam_release(p->s, C);
}

int main(int count, char **arguments) {
    char text[512], libraries[256];
    probe p = {.dry = count == 2 && !strcmp(arguments[1], "--dry-run")};
    p.rows = p.dry ? 32 : ROWS;
    p.d = p.dry ? 16 : DIM;
    if (count > 2 || (count == 2 && !p.dry)) {
        fprintf(stderr, "usage: gpu_probe [--dry-run]\n");
        return 2;
    }
    const char *reason = seam_describe(text, sizeof text);
    if (!reason)
        reason = seam_open(&p.s, &(seam_choice){0}, libraries, sizeof libraries);
    if (reason)
        probe_stop("device", reason);
    seam_libraries(libraries, sizeof libraries);
    printf("{\"what\":\"device\",\"device\":\"%s\",\"libraries\":\"%s\"}\n", text, libraries);
    warm(&p);
    probe_launches(&p);
    probe_factorizations(&p);
    probe_products(&p);
    probe_values_kept(&p);
    probe_rows(&p);
    seam_close(p.s);
    return 0;
}
