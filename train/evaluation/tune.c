/* train/evaluation/tune.c - a head's regularisation, and the values of it that tuning tries. */
#include "train/evaluation/evaluation.h"

#include <math.h>
#include <string.h>

/* Returns whether a parameter is a share: a scalar between 0 and 1, such as a shrinkage. */
static bool is_share(const mo_head_parameter *p) {
    return p->ndim == 0 && p->low >= 0 && p->low < p->high && p->high <= 1;
}

int mo_regularisation(const mo_head *head) {
    int share = -1;
    for (int i = head ? head->n_parameters - 1 : -1; i >= 0; i--) {
        const mo_head_parameter *p = &head->parameters[i];
        if (p->ndim == 0 && !strcmp(p->name, "lambda"))
            return i;
        if (is_share(p))
            share = i;
    }
    return share;
}

/* For a share: a fixed grid. For a penalty: six decades about the scale of the rows, in finer steps for a head that
 * leaves rows out in closed form. */
int mo_tuned_values(const mo_head *head, double scale, double values[MO_TUNED_VALUES + 1]) {
    static const double shares[] = {0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9};
    int at = mo_regularisation(head), n = 0;
    const mo_head_parameter *p = at >= 0 ? &head->parameters[at] : NULL;
    bool share = p && is_share(p);
    int step = head->leave_one_out || share ? 1 : 2;
    for (int i = 0; p && i < (share ? 8 : MO_TUNED_VALUES); i += step) {
        double value = share ? p->low + shares[i] * (p->high - p->low) : scale * pow(10, 0.5 * i - 4);
        if (!(p->low < p->high) || (value >= p->low && value <= p->high))
            values[n++] = value;
    }
    values[n] = NAN;
    return n;
}
