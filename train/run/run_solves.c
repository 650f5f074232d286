/* train/run/run_solves.c - the health of a step's linear systems: the smallest reciprocal condition and the largest
 * residual ratio of all solves that the heads of its episodes have recorded.
 *
 * The figures are read from the recorded graph before backward consumes it, by an inverse in float64 of every matrix;
 * nothing of the step changes. */
#include "train/run/trainer.h"

#include "autograd/tape.h"
#include "ops/rules/condition.h"

#include <math.h>
#include <string.h>

/* The largest entry of X, of any shape. */
static double largest_of(mo_tape *t, mo_tensor *X) {
    return mo_item(mo_max(t, mo_reshape(t, X, 1, (int64_t[]){-1}), MO_ALL, MO_DROP_AXES));
}

static void note_solve(mo_trainer *trainer, const mo_node *node, bool spd) {
    mo_tape *t = trainer->tape;
    mo_solve_figures *f = &trainer->solves;
    mo_tensor *A = mo_stop_gradient(t, node->in[0]);
    mo_scope scope = mo_scope_open(t);
    mo_tensor *rcond = mo_condition_of(t, A, spd, true).rcond;
    mo_tensor *ratio = mo_residual_ratio(t, spd ? mo_mirrored(t, A) : A, node->out[0], node->in[1]);
    double smallest = -largest_of(t, mo_neg(t, rcond)), largest = largest_of(t, ratio);
    mo_scope_close(t, &scope, NULL, 0);
    f->rcond = f->matrices ? fmin(f->rcond, smallest) : smallest;
    f->residual = f->matrices ? fmax(f->residual, largest) : largest;
    f->matrices += mo_numel(A) / (mo_dim(A, -1) * mo_dim(A, -1));
}

static void note_solves(mo_trainer *trainer, void *state) {
    const mo_tape *t = trainer->tape;
    (void)state;
    if (trainer->place == trainer->first)
        trainer->solves = (mo_solve_figures){0};
    for (int64_t i = 0; i < t->n_nodes && mo_ok(trainer->ctx); i++) {
        const mo_node *node = t->nodes[i];
        bool spd = !strcmp(node->op->name, "solve_spd");
        if ((spd || !strcmp(node->op->name, "solve")) && node->n_in == 2 && mo_numel(node->in[0]))
            note_solve(trainer, node, spd);
    }
}

void mo_watch_solves(mo_trainer *trainer) {
    static const mo_watcher solve_health = {.on = {[MO_RECORDED] = note_solves}};
    mo_watch(trainer, &solve_health, NULL);
}
