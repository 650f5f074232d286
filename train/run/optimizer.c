/* train/run/optimizer.c - AdamW (Loshchilov and Hutter 2019) with the gradient clipped by its global norm.
 *
 *     g <- g min(1, clip / (|g| + 1e-6)),   |g|^2 = sum over all parameters
 *     p <- p - lr weight_decay p                                      decoupled decay, of every parameter
 *     m <- beta1 m + (1 - beta1) g,   v <- beta2 v + (1 - beta2) g^2
 *     p <- p - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
 * and SGD with momentum (Sutskever et al. 2013), where m <- momentum m + g and p <- p - lr m after the same decay.
 * The norm is a sum of per-parameter sums in a fixed order, so it does not depend on threads. */
#include "train/run/optimizer.h"

#include "ops/fits/adamw.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(mo_adamw_options, member)
const mo_field mo_adamw_fields[] = {
    {MO_FIELD_POSITIVE, "lr", "RATE", AT(lr), "learning rate at the start of the cosine schedule"},
    {MO_FIELD_REAL, "lr_min", "RATE", AT(lr_min), "learning rate at the end of the schedule, at most --lr"},
    {MO_FIELD_REAL, "beta1", NULL, AT(beta1)},
    {MO_FIELD_REAL, "beta2", NULL, AT(beta2)},
    {MO_FIELD_REAL, "epsilon", NULL, AT(epsilon)},
    {MO_FIELD_REAL, "weight_decay", "D", AT(weight_decay), "decoupled weight decay of all parameters", 0, 1e6},
    {MO_FIELD_REAL, "clip", "NORM", AT(clip), "clip the gradient to this norm; 0: no clipping"},
    {MO_FIELDS_END},
};
#undef AT

/* Half a cosine from lr down to lr_min (Loshchilov and Hutter 2017). */
double mo_cosine(double lr, double lr_min, int64_t step, int64_t steps) {
    if (steps < 1)
        return lr;
    return lr_min + (lr - lr_min) * (1 + cos(3.14159265358979323846 * (double)step / (double)steps)) / 2;
}

/* If beta1, beta2 and epsilon are all zero, sets AdamW's usual values. */
static mo_adamw_options with_defaults(mo_adamw_options o) {
    if (o.beta1 == 0 && o.beta2 == 0 && o.epsilon == 0) {
        o.beta1 = 0.9;
        o.beta2 = 0.999;
        o.epsilon = 1e-8;
    }
    return o;
}

static bool check_adamw_options(mo_context *ctx, const mo_adamw_options *o) {
    if (!(o->beta1 >= 0 && o->beta1 < 1) || !(o->beta2 >= 0 && o->beta2 < 1))
        mo_fail(ctx, MO_INVALID, "adamw: betas %g and %g, expected 0 or more and below 1", o->beta1, o->beta2);
    else if (!(o->epsilon > 0 && o->epsilon < INFINITY))
        mo_fail(ctx, MO_INVALID, "adamw: epsilon is %g, expected more than 0", o->epsilon);
    return mo_ok(ctx);
}

static bool create_moments(mo_optimizer *o, mo_tensor *const *parameters) {
    mo_context *ctx = o->ctx;
    size_t bytes = (size_t)o->n * sizeof *o->parameter;
    o->parameter = mo_host_alloc(ctx, bytes);
    o->m = mo_host_alloc(ctx, bytes);
    o->v = mo_host_alloc(ctx, bytes);
    o->dense = mo_host_alloc(ctx, bytes);
    o->gradient = mo_host_alloc(ctx, bytes);
    o->views = mo_host_alloc(ctx, 4 * (size_t)o->n * sizeof *o->views);
    o->squares = mo_tensor_create(ctx, MO_F64, 1, (int64_t[]){o->n});
    o->scale = mo_tensor_create(ctx, MO_F64, 1, (int64_t[]){2});
    o->factors = mo_tensor_create(ctx, MO_F64, 1, (int64_t[]){MO_ADAMW_FACTORS});
    for (int i = 0; i < o->n && mo_ok(ctx); i++) {
        mo_tensor *P = parameters[i];
        if (mo_is_null(P) || P->dtype != o->real || !mo_is_contiguous(P)) {
            mo_fail(ctx, MO_INVALID, "%s: parameter %d is %s, expected contiguous %s", o->method, i,
                mo_is_null(P) ? "null" : mo_dtype_name(P->dtype), mo_dtype_name(o->real));
            break;
        }
        if (!P->storage) {
            mo_fail_freed(P, "%s", o->method);
            break;
        }
        if (P->tape || P->ctx != ctx) {
            mo_fail(ctx, MO_MISMATCH, "%s: parameter %d belongs to %s", o->method, i,
                P->tape ? "a tape, which frees it" : "another context");
            break;
        }
        for (int j = 0; j < i && mo_ok(ctx); j++)
            if (o->parameter[j] == P)
                mo_fail(ctx, MO_INVALID, "%s: parameters %d and %d are one tensor, %s, which would be stepped twice",
                    o->method, j, i, mo_tensor_name(P));
        if (!mo_ok(ctx))
            break;
        o->parameter[i] = P;
        mo_tensor_hold(P);
        o->m[i] = mo_tensor_create(ctx, P->dtype, P->ndim, P->shape);
        o->v[i] = mo_tensor_create(ctx, P->dtype, P->ndim, P->shape);
    }
    return mo_ok(ctx);
}

/* Makes an optimizer of either method, after checking the options that both methods have. */
static mo_optimizer *create(
    mo_context *ctx, const char *method, mo_tensor *const *parameters, int n, const mo_adamw_options *options) {
    if (mo_ok(ctx) && !(options->weight_decay >= 0 && options->weight_decay < INFINITY))
        mo_fail(ctx, MO_INVALID, "%s: weight_decay is %g, expected 0 or more", method, options->weight_decay);
    if (mo_ok(ctx) && !(options->clip >= 0 && options->clip < INFINITY))
        mo_fail(ctx, MO_INVALID, "%s: clip is %g, expected 0 (none) or more", method, options->clip);
    if (!mo_given(ctx, method, "parameters", parameters))
        return NULL;
    if (n < 1 || mo_is_null(parameters[0]) || !mo_dtype_is_real(parameters[0]->dtype)) {
        mo_fail(ctx, MO_INVALID, "%s: expected parameters in float32 or float64", method);
        return NULL;
    }
    mo_optimizer *o = mo_host_alloc(ctx, sizeof *o);
    if (!o)
        return NULL;
    *o = (mo_optimizer){.ctx = ctx, .method = method, .options = *options, .n = n, .real = parameters[0]->dtype};
    if (create_moments(o, parameters))
        return o;
    mo_optimizer_release(o);
    return NULL;
}

mo_optimizer *mo_adamw_create(mo_context *ctx, mo_tensor *const *parameters, int n, const mo_adamw_options *options) {
    if (!mo_given(ctx, "adamw", "options", options))
        return NULL;
    mo_adamw_options o = with_defaults(*options);
    return check_adamw_options(ctx, &o) ? create(ctx, "adamw", parameters, n, &o) : NULL;
}

mo_optimizer *mo_sgd_create(mo_context *ctx, mo_tensor *const *parameters, int n, const mo_sgd_options *options) {
    if (!mo_given(ctx, "sgd", "options", options))
        return NULL;
    if (!(options->momentum >= 0 && options->momentum < 1)) {
        mo_fail(ctx, MO_INVALID, "sgd: momentum is %g, expected 0 or more and below 1", options->momentum);
        return NULL;
    }
    const mo_adamw_options o = {
        .beta1 = options->momentum, .weight_decay = options->weight_decay, .clip = options->clip};
    mo_optimizer *made = create(ctx, "sgd", parameters, n, &o);
    if (made)
        made->sgd = true;
    return made;
}

void mo_optimizer_release(mo_optimizer *o) {
    if (!o)
        return;
    size_t bytes = (size_t)o->n * sizeof *o->parameter;
    mo_context_wait(o->ctx); /* a queued check can still read this optimizer */
    for (int i = 0; i < o->n; i++) {
        if (o->parameter && o->parameter[i])
            mo_tensor_let_go(o->parameter[i]);
        mo_tensor_release(o->m ? o->m[i] : NULL);
        mo_tensor_release(o->v ? o->v[i] : NULL);
        mo_tensor_release(o->dense ? o->dense[i] : NULL);
    }
    mo_tensor_release(o->squares);
    mo_tensor_release(o->scale);
    mo_tensor_release(o->factors);
    mo_host_free(o->ctx, o->views, 4 * (size_t)o->n * sizeof *o->views);
    mo_host_free(o->ctx, o->parameter, bytes);
    mo_host_free(o->ctx, o->m, bytes);
    mo_host_free(o->ctx, o->v, bytes);
    mo_host_free(o->ctx, o->dense, bytes);
    mo_host_free(o->ctx, o->gradient, bytes);
    mo_host_free(o->ctx, o, sizeof *o);
}

static bool check_gradient(const mo_optimizer *o, int i, const mo_tensor *G) {
    const mo_tensor *P = o->parameter[i];
    char want[160], got[160];
    if (mo_is_null(G))
        return mo_fail(o->ctx, MO_INVALID, "%s: the gradient of %s, parameter %d, is null, expected %s %s", o->method,
            mo_tensor_name(P), i, mo_shape_string(P, want, sizeof want), mo_dtype_name(P->dtype));
    if (P->freed || !P->storage)
        mo_fail_freed(P, "%s: the parameter", o->method);
    else if (!mo_same_form(G, P))
        mo_fail(o->ctx, MO_MISMATCH, "%s: the gradient of %s is %s %s, expected %s %s", o->method, mo_tensor_name(P),
            mo_shape_string(G, got, sizeof got), mo_dtype_name(G->dtype), mo_shape_string(P, want, sizeof want),
            mo_dtype_name(P->dtype));
    return mo_ok(o->ctx);
}

/* Reports a failed check of the norm, once the device has run it. */
static void fail_norm(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)before;
    const mo_optimizer *o = note->check.caller;
    mo_fail(ctx, MO_NUMERICAL, "%s: step %lld: the norm of the gradient is %g in %s, expected it finite", o->method,
        (long long)(note->check.limit + note->ahead), sqrt(found.real), mo_tensor_name(o->parameter[position]));
}

/* Writes |g| over all parameters and the clip factor to o->scale; if |g| is not finite, the error names the first
 * parameter whose sum of squares is not. */
static void find_norm(mo_optimizer *o) {
    mo_gradient_norm(o->options.clip, o->gradient, o->n, o->views, o->squares, o->scale);
    mo_check check = {.condition = MO_VALUES_FINITE,
        .values = mo_tensor_view(o->squares),
        .limit = o->step,
        .raise = fail_norm,
        .caller = o};
    mo_check_values(o->ctx, &check);
}

/* The kernels read row-major memory, so a gradient with other strides is copied. The copies are made before the first
 * parameter changes, so that a failure changes none. */
static void copy_strided(mo_optimizer *o, int i, mo_tensor *G) {
    o->gradient[i] = G;
    if (mo_is_contiguous(G))
        return;
    if (!o->dense[i])
        o->dense[i] = mo_tensor_create(o->ctx, o->real, G->ndim, G->shape);
    if (mo_ok(o->ctx))
        mo_tensor_copy(o->dense[i], G);
    o->gradient[i] = o->dense[i];
}

static void adamw_update(mo_optimizer *o) {
    mo_adamw_apply(&(mo_adamw_update){.n = o->n,
        .gradient = o->gradient,
        .m = o->m,
        .v = o->v,
        .parameter = o->parameter,
        .factors = o->factors,
        .scale = o->scale,
        .views = o->views});
}

/* Changes the factors so that the same formula is SGD: m <- beta1 m + g, v stays 0, epsilon is 1. */
static void use_sgd(double *factor, double lr) {
    factor[MO_ADAMW_REST1] = factor[MO_ADAMW_EPSILON] = 1;
    factor[MO_ADAMW_REST2] = factor[MO_ADAMW_ROOT] = 0;
    factor[MO_ADAMW_RATE] = lr;
}

/* Everything that changes from step to step lies on the device, so that a captured step can be replayed. */
mo_code mo_optimizer_advance(mo_optimizer *o, double lr) {
    if (!o)
        return MO_INVALID;
    mo_context *ctx = o->ctx;
    const mo_adamw_options *c = &o->options;
    if (mo_ok(ctx) && !(lr >= 0 && lr < INFINITY))
        mo_fail(ctx, MO_INVALID, "%s: the rate is %g, expected 0 or more", o->method, lr);
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
    double t = (double)(o->step + 1), correction1 = 1 - pow(c->beta1, t), correction2 = 1 - pow(c->beta2, t);
    double factor[MO_ADAMW_FACTORS] = {
        [MO_ADAMW_BETA1] = c->beta1,
        [MO_ADAMW_BETA2] = c->beta2,
        [MO_ADAMW_REST1] = 1 - c->beta1,
        [MO_ADAMW_REST2] = 1 - c->beta2,
        [MO_ADAMW_KEEP] = 1 - lr * c->weight_decay,
        [MO_ADAMW_RATE] = lr / correction1,
        [MO_ADAMW_ROOT] = 1 / sqrt(correction2),
        [MO_ADAMW_EPSILON] = c->epsilon,
    };
    if (o->sgd)
        use_sgd(factor, lr);
    if (mo_tensor_write(o->factors, factor, sizeof factor) == MO_OK)
        o->step++;
    return mo_code_of(ctx);
}

mo_code mo_optimizer_apply(mo_optimizer *o, mo_tensor *const *grads) {
    if (!o)
        return MO_INVALID;
    mo_context *ctx = o->ctx;
    if (!mo_given(ctx, o->method, "grads", grads))
        return mo_code_of(ctx);
    for (int i = 0; i < o->n && mo_ok(ctx); i++)
        check_gradient(o, i, grads[i]);
    for (int i = 0; i < o->n && mo_ok(ctx); i++)
        copy_strided(o, i, grads[i]);
    if (mo_ok(ctx))
        find_norm(o);
    if (mo_ok(ctx))
        adamw_update(o);
    return mo_code_of(ctx);
}

mo_code mo_optimizer_norm(mo_optimizer *o, double *norm) {
    double scale[2] = {NAN};
    if (mo_tensor_read(o->scale, scale, sizeof scale) == MO_OK)
        *norm = scale[0];
    return mo_code_of(o->ctx);
}

mo_code mo_optimizer_step(mo_optimizer *o, mo_tensor *const *grads, double lr, double *norm) {
    if (!o)
        return MO_INVALID;
    mo_context *ctx = o->ctx;
    if (mo_optimizer_advance(o, lr) != MO_OK)
        return mo_code_of(ctx);
    mo_optimizer_apply(o, grads);
    if (norm)
        mo_optimizer_norm(o, norm);
    if (!mo_ok(ctx)) /* the step has changed no parameter */
        o->step--;
    return mo_code_of(ctx);
}

int64_t mo_optimizer_steps(const mo_optimizer *o) {
    return o ? o->step : 0;
}

mo_code mo_optimizer_set_steps(mo_optimizer *o, int64_t steps) {
    if (!o)
        return MO_INVALID;
    if (steps < 0)
        mo_fail(o->ctx, MO_INVALID, "%s: %lld steps taken, expected 0 or more", o->method, (long long)steps);
    else if (mo_ok(o->ctx))
        o->step = steps;
    return mo_code_of(o->ctx);
}

mo_tensor *mo_optimizer_moment(mo_optimizer *o, int i, int order) {
    if (!o || i < 0 || i >= o->n || order < 1 || order > 2)
        return NULL;
    return order == 1 ? o->m[i] : o->v[i];
}
