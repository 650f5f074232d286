/* train/ranks/description.c - what descriptions of runs and evaluations have in common. */
#include "train/ranks/description.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

json_t *mo_json_figure(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

mo_description mo_describe_model(mo_model *model) {
    mo_setting list[MO_MAX_SETTINGS];
    int n = mo_model_settings(model, list);
    mo_description d = mo_description_of(json_pack("{s:s}", "kind", model->encoder.name));
    for (int i = 0; i < n; i++)
        mo_describe(&d, list[i].key, list[i].word ? json_string(list[i].word) : mo_json_figure(list[i].number));
    return d;
}

const char *mo_hash_digits(const mo_graph *graph, char digits[40]) {
    snprintf(digits, 40, "%016" PRIx64 "%016" PRIx64, graph->hash[1], graph->hash[0]);
    return digits;
}
