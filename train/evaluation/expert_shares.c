/* train/evaluation/expert_shares.c - the shares of the experts in a readout of nodes or graphs, in words. */
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"

#include <stdio.h>
#include <string.h>

enum { SMALL = 5 /* percent; smaller shares are summed as "others" */ };

const char *mo_expert_words(const char *name) {
    static const char *const words[][2] = {
        {"T", "trained embedding"},
        {"Xc", "own attributes"},
        {"PX", "neighbours' attributes"},
        {"HX", "attributes unlike the neighbours'"},
        {"A1", "neighbours in common"},
        {"S", "place in the graph"},
        {"H", "what lies two steps away"},
        {"Tg", "trained embedding, by nearness"},
        {"st", "size and shape"},
        {"lab", "node labels and degrees"},
        {"at", "node attributes"},
        {"atx", "node attributes with labels"},
        {"wl", "subtrees in common"},
        {"cl", "a line through the own columns"},
        {"cg", "own columns, by nearness"},
        {"al", "a line through all columns"},
        {"ag", "all columns, by nearness"},
        {"sum", "a sum of all of these"},
    };
    for (size_t i = 0; name && i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i][0], name))
            return words[i][1];
    return name;
}

int mo_expert_count(const mo_source *source) {
    return mo_own_experts(source->task, source->inductive, NULL) + mo_example_kernels_count(source->kernels);
}

const char *mo_expert_name(const mo_source *source, int e) {
    const char *const *own;
    int n = mo_own_experts(source->task, source->inductive, &own);
    return e < n ? own[e] : e < mo_expert_count(source) ? mo_example_kernels_name(source->kernels, e - n) : "sum";
}

int mo_shares_of(mo_tape *t, const mo_source *source, mo_tensor *share, mo_expert_share out[MO_MAX_EXPERTS]) {
    double of_expert[MO_MAX_EXPERTS];
    int E = share && !mo_is_null(share) ? (int)mo_dim(share, 0) : 0;
    mo_tensor *sum = E ? mo_sum(t, mo_cast(t, share, MO_F64), MO_AXIS(1), MO_DROP_AXES) : NULL;
    if (!sum || mo_tensor_read(sum, of_expert, (size_t)E * sizeof *of_expert) != MO_OK)
        return 0;
    for (int e = 0; e < E; e++) {
        out[e].name = mo_expert_name(source, e);
        out[e].share = of_expert[e];
    }
    return E;
}

void mo_describe_shares(const mo_expert_share *share, int n, char *text, size_t bytes) {
    bool said[MO_MAX_EXPERTS] = {false};
    double left = 1;
    size_t at = 0;
    if (!text || !bytes)
        return;
    text[0] = 0;
    n = share ? n : 0;
    for (int k = 0; k < n && k < MO_MAX_EXPERTS && at < bytes; k++) {
        int most = -1;
        for (int e = 0; e < n; e++)
            if (!said[e] && (most < 0 || share[e].share > share[most].share))
                most = e;
        if (100 * share[most].share < SMALL)
            break;
        at += (size_t)snprintf(text + at, bytes - at, "%s%s %.0f%%", k ? ", " : "", mo_expert_words(share[most].name),
            100 * share[most].share);
        said[most] = true;
        left -= share[most].share;
    }
    if (n && 100 * left >= 1 && at < bytes)
        snprintf(text + at, bytes - at, "%sothers %.0f%%", at ? ", " : "", 100 * left);
}
