/* tools/given.c - the options that a command line gave. */
#include "tools/given.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_end(const struct argp_option *o) {
    return !o->name && !o->key && !o->doc && !o->group;
}

void note_given(given_options *g, int key) {
    for (int i = 0; i < MAX_GIVEN && !is_end(&g->table[i]); i++)
        g->given[i] |= g->table[i].name && g->table[i].key == key;
}

bool is_given(const given_options *g, const char *name) {
    int i = 0;
    while (!is_end(&g->table[i]) && !(g->table[i].name && !strcmp(g->table[i].name, name)))
        i++;
    assert(i < MAX_GIVEN && !is_end(&g->table[i])); /* the table must have every name */
    return g->given[i];
}

void refuse_given(const given_options *g, const char *name, bool useless, const char *why) {
    if (!is_given(g, name) || !useless)
        return;
    if (!g->silent)
        fprintf(stderr, "%s: --%s: %s\n", g->command, name, why);
    exit(EXIT_USAGE);
}

void refuse_math_on_cpu(const given_options *g, const mo_context_options *device) {
    refuse_given(g, "math", device->device == MO_CPU && device->math == MO_MATH_TF32,
        "expected --device cuda: products on the cpu are of fp32 or bf16");
}

void take_math_of_run(const given_options *g, const char *run, mo_math kept, mo_context_options *device) {
    char why[4200];
    snprintf(why, sizeof why, "the run in %s has \"%s\", found \"%s\"; a resumed run keeps its settings", run,
        math_names[kept], math_names[device->math]);
    refuse_given(g, "math", device->math != kept, why);
    device->math = kept;
}
