/* train/run/replay.c - captures steps by the shape of their episodes: the first two episodes of a shape run directly,
 * which brings the tape's memory to its size; the third is captured; later ones copy their inputs over the capture's
 * inputs and replay the capture.
 *
 * An episode's inputs are copied to tensors that stay in place. Inputs that no tape holds, the frozen features, stay in
 * place anyway and are not copied. No memory is freed while the trainer lives, as that would make every capture stale.
 * If memory has moved, the capture is made again; work that cannot be captured runs directly, without an error. */
#include "train/run/trainer.h"

#include "autograd/tape.h"

#include <string.h>

enum { SHAPES = 64, TRIES = 3, WARM = 2, INPUTS = 2 * MO_MAX_ROWS + 10 };

/* form: type and shape of each input, all zero for an absent one; data: its address if no tape holds it. */
typedef struct captured {
    int place, n;
    mo_view form[INPUTS];
    int64_t seen, tries;
    mo_episode e; /* the capture's inputs; those from a tape are copied to `own` */
    mo_tensor *own[INPUTS];
    bool has_inputs;
    mo_capture *capture;
    int64_t step; /* the captured step */
} captured;

typedef struct mo_replay {
    mo_context *ctx;
    int64_t episodes;
    int n;
    captured shape[SHAPES];
} mo_replay;

/* ---- shapes ---- */

/* Lists pointers to the tensors of an episode, absent ones too; returns their number. */
static int list_inputs(mo_episode *e, mo_tensor **list[INPUTS]) {
    mo_tensor **all[] = {&e->support[0], &e->query[0], &e->support[1], &e->query[1], &e->support_label,
        &e->support_weight, &e->class_weight, &e->query_label, &e->segment, &e->centres};
    int n = INPUTS - 2 * MO_MAX_ROWS;
    memcpy(list, all, sizeof all);
    for (int i = 0; i < e->n_rows; i++) {
        list[n++] = &e->rows[i].tensor;
        list[n++] = &e->rows[i].index;
    }
    return n;
}

static mo_view form_of(const mo_tensor *T) {
    mo_view form = mo_is_null(T) ? (mo_view){0} : mo_tensor_view(T);
    if (!mo_is_null(T) && T->tape)
        form.data = NULL;
    return form;
}

static bool same_input_form(const mo_view *a, const mo_view *b) {
    return a->dtype == b->dtype && a->ndim == b->ndim && a->data == b->data &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static captured describe_episode(int place, const mo_episode *e) {
    captured s = {.place = place};
    mo_tensor **at[INPUTS];
    if (!e)
        return s;
    s.e = *e;
    s.n = list_inputs(&s.e, at);
    for (int i = 0; i < s.n; i++)
        s.form[i] = form_of(*at[i]);
    return s;
}

static bool same_shape(const captured *a, const captured *b) {
    const mo_episode *x = &a->e, *y = &b->e; /* a capture contains the assortativity as a constant */
    bool same = a->place == b->place && a->n == b->n && x->n_rows == y->n_rows && x->task == y->task &&
                x->classes == y->classes && x->max_rows == y->max_rows && x->assortativity == y->assortativity;
    for (int i = 0; same && i < a->n; i++)
        same = same_input_form(&a->form[i], &b->form[i]);
    return same;
}

/* The entry of the episode's shape, made if the shape is new; NULL if there are too many shapes. */
static captured *find_captured(mo_replay *r, int place, const mo_episode *e) {
    captured now = describe_episode(place, e);
    for (int i = 0; i < r->n; i++)
        if (same_shape(&r->shape[i], &now))
            return &r->shape[i];
    if (r->n == SHAPES)
        return NULL;
    r->shape[r->n] = now;
    return &r->shape[r->n++];
}

/* ---- inputs ---- */

/* Copies the inputs that lie on the tape to tensors of this entry, made at the first call. */
static bool take_inputs(mo_replay *r, captured *s, const mo_episode *e) {
    mo_context *ctx = r->ctx;
    mo_episode given = e ? *e : (mo_episode){0};
    mo_tensor **from[INPUTS], **to[INPUTS];
    int n = e ? list_inputs(&given, from) : 0;
    if (!s->has_inputs)
        s->e = given;
    list_inputs(&s->e, to);
    for (int i = 0; i < n && mo_ok(ctx); i++) {
        if (mo_is_null(*from[i]) || !(*from[i])->tape)
            continue;
        if (!s->own[i])
            s->own[i] = mo_tensor_create(ctx, s->form[i].dtype, s->form[i].ndim, s->form[i].shape);
        *to[i] = s->own[i];
        if (mo_ok(ctx))
            mo_tensor_copy(*to[i], *from[i]);
    }
    s->has_inputs = mo_ok(ctx);
    return s->has_inputs;
}

/* ---- work ---- */

/* Clears the failure of a capture: the work then runs directly and raises its own errors. */
static bool forgive_capture(mo_replay *r, captured *s) {
    mo_clear_error(r->ctx);
    s->tries++;
    return false;
}

static bool capture_step(mo_replay *r, captured *s, mo_trainer *trainer) {
    mo_context *ctx = r->ctx;
    mo_capture_release(s->capture);
    s->capture = NULL;
    if (s->tries == TRIES || mo_capture_begin(ctx, r->episodes) != MO_OK)
        return mo_ok(ctx) ? false : forgive_capture(r, s);
    mo_queue_work(trainer, s->place, s->n ? &s->e : NULL);
    mo_tape_reset(trainer->tape);
    s->capture = mo_capture_end(ctx);
    s->step = trainer->step;
    return s->capture ? true : forgive_capture(r, s);
}

/* Returns whether the work was replayed; if not, it is still to be done, on *e. own: memory for the copied inputs. */
static bool replays(mo_trainer *trainer, int place, const mo_episode **e, mo_episode *own) {
    mo_replay *r = trainer->replay;
    captured *s = r && mo_ok(r->ctx) ? find_captured(r, place, *e) : NULL;
    if (!s || s->seen++ < WARM || s->tries == TRIES || (!take_inputs(r, s, *e) && !forgive_capture(r, s)))
        return false;
    *own = s->e; /* resetting the tape frees the tensors of e */
    *e = *e ? own : NULL;
    mo_tape_reset(trainer->tape);
    return (s->capture && mo_capture_replay(s->capture, trainer->step - s->step)) ||
           (mo_ok(r->ctx) && capture_step(r, s, trainer) && mo_capture_replay(s->capture, 0));
}

void mo_run_or_replay(mo_trainer *trainer, int place, const mo_episode *e) {
    mo_episode own;
    if (replays(trainer, place, &e, &own))
        trainer->report.replayed += e != NULL;
    else if (mo_ok(trainer->ctx))
        mo_queue_work(trainer, place, e);
}

/* ---- replay ---- */

void mo_replay_release(mo_replay *r) {
    for (int i = 0; r && i < r->n; i++) {
        mo_capture_release(r->shape[i].capture);
        for (int j = 0; j < r->shape[i].n; j++)
            mo_tensor_release(r->shape[i].own[j]);
    }
    if (r)
        mo_host_free(r->ctx, r, sizeof *r);
}

mo_replay *mo_replay_create(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    mo_replay *r = mo_require_capture(ctx, "train") ? mo_host_alloc(ctx, sizeof *r) : NULL;
    if (r)
        *r = (mo_replay){.ctx = ctx, .episodes = trainer->options.episodes_per_step};
    return r;
}
