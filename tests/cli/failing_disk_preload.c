/* tests/cli/failing_disk_preload.c - preloads failing_disk.c into a program; the environment says which calls fail.
 *
 * DISK_UNDER=FOLDER: only calls on files in FOLDER count. DISK_FAULT=N with DISK_AT=K: call K gets fault N of
 * failing_disk.h; with DISK_ALWAYS all later calls do too. DISK_CALLS=FILE: a program that ends by exit writes to FILE
 * how many calls it counted and how many were faulty, and then the calls. */
#include "tests/failing_disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long number_of(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void plan_faults(void) {
    const char *under = getenv("DISK_UNDER");
    unsetenv("LD_PRELOAD"); /* not for programs that this one starts */
    if (under)
        disk_begin(&(disk_plan){.under = under,
            .fault = (enum disk_fault)number_of("DISK_FAULT"),
            .at = number_of("DISK_AT"),
            .always = number_of("DISK_ALWAYS")});
}

__attribute__((destructor)) static void write_calls(void) {
    const char *path = getenv("DISK_CALLS");
    long n = disk_end();
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file && (fprintf(file, "%ld %ld\n%s", n, disk_met(), disk_calls()) < 0 || fclose(file) != 0))
        _exit(126);
}
