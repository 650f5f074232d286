/* tools/core.c - chooses faster OpenBLAS kernels where OpenBLAS's own choice is slow (cores.h).
 *
 * OPENBLAS_CORETYPE overrides the choice, but must be set before the library is loaded: hence the program executes
 * itself a second time. The set variable prevents a third time; if the user set it, nothing is changed. */
#include "tools/core.h"

#include "tools/memory.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CORE_VARIABLE "OPENBLAS_CORETYPE"
#define CHOICE_VARIABLE "MOCHI_BLAS_CHOICE" /* for `mochi doctor`: OpenBLAS's own choice, in the second process */

/* The first processor of /proc/cpuinfo; empty on a system without that file, or on another architecture than x86. */
typedef struct processor {
    char vendor[32], flags[4096]; /* a space before and after each flag */
    int family;
} processor;

static processor read_processor(void) {
    processor p = {0};
    char line[sizeof p.flags];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file) && *line != '\n') {
        sscanf(line, "vendor_id : %31s", p.vendor);
        sscanf(line, "cpu family : %d", &p.family);
        if (!strncmp(line, "flags", 5))
            snprintf(p.flags, sizeof p.flags, "%s ", strchr(line, ':') ? strchr(line, ':') + 1 : "");
    }
    if (file)
        fclose(file);
    return p;
}

static bool has_flags(const processor *p, const char *flags) {
    char copy[128], *rest = copy;
    snprintf(copy, sizeof copy, "%s", flags);
    for (char *flag; (flag = strsep(&rest, " "));) {
        char word[64];
        snprintf(word, sizeof word, " %s ", flag);
        if (!strstr(p->flags, word))
            return false;
    }
    return true;
}

/* Returns the kernels to ask for; NULL: OpenBLAS's own choice. */
static const char *better_core(void) {
    static const struct {
        const char *core, *vendor;
        int family;
        const char *flags;
    } rows[] = {
#include "tools/cores.h"
    };
    const processor p = read_processor();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(p.vendor, rows[i].vendor) && (!rows[i].family || p.family == rows[i].family) &&
            has_flags(&p, rows[i].flags))
            return rows[i].core;
    return NULL;
}

const char *blas_core(void) {
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_get_corename");
    char *(*corename)(void);
    memcpy(&corename, &symbol, sizeof corename);
    return symbol ? corename() : NULL;
}

void choose_blas_core(char **argv) {
    const char *core = getenv(CORE_VARIABLE) ? NULL : blas_core(), *better = core ? better_core() : NULL;
    if (!better || !strcasecmp(core, better))
        return;
    if (setenv(CHOICE_VARIABLE, core, 1) != 0 || setenv(CORE_VARIABLE, better, 1) != 0)
        end_out_of_memory();       /* other kernels would change the result, so do not go on */
    execv("/proc/self/exe", argv); /* if it fails, the program goes on with the current kernels */
}

const char *blas_core_of_openblas(void) {
    return getenv(CORE_VARIABLE) ? getenv(CHOICE_VARIABLE) : blas_core();
}
