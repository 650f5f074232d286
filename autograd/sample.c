/* autograd/sample.c - values for the samples: drawn on the host from a seed, in float64, so that float32 samples have
 * the same values. */
#include "autograd/sample.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const draws[] = {
    "", "positive", "distinct", "spd", "symmetric", "triangular", "general", "index", "sorted", "mask", "constant"};

/* Reads the word at *text and moves *text behind it. Returns false if the word is malformed. */
static bool read_input(const char **text, mo_sample_input *in) {
    const char *at = *text;
    size_t letters = 0;
    char *end;
    *in = (mo_sample_input){0};
    while (isalpha((unsigned char)at[letters]))
        letters++;
    while (strlen(draws[in->draw]) != letters || memcmp(draws[in->draw], at, letters) != 0)
        if (++in->draw > MO_DRAW_CONSTANT)
            return false;
    at += letters;
    if (*at == '<') {
        in->limit = strtoll(at + 1, &end, 10);
        at = end;
        if (*at++ != '>')
            return false;
    }
    if (*at++ != '[')
        return false;
    while (*at != ']') {
        if (in->ndim == MO_MAX_AXES || (in->ndim > 0 && *at++ != ','))
            return false;
        in->shape[in->ndim++] = strtoll(at, &end, 10);
        if (end == at || in->shape[in->ndim - 1] < 0)
            return false;
        at = end;
    }
    *text = at + 1;
    return true;
}

int mo_sample_inputs(mo_context *ctx, const mo_op *op, const mo_sample *s, mo_sample_input in[MO_MAX_SAMPLE_INPUTS]) {
    int n = 0;
    for (const char *at = s->in ? s->in : ""; *at; n++) {
        if (n == MO_MAX_SAMPLE_INPUTS || !read_input(&at, &in[n])) {
            mo_fail(ctx, MO_INVALID,
                "op %s, sample %s: expected at most %d inputs such as \"[3, 4] spd[4, 4] index<7>[3]\", found \"%s\"",
                op->name, s->name, MO_MAX_SAMPLE_INPUTS, s->in);
            return -1;
        }
        at += strspn(at, " ");
    }
    return n;
}

int mo_n_samples(const mo_op *op) {
    int n = op->n_samples;
    while (n > 0 && op->samples[n - 1].error)
        n--;
    return n;
}

int mo_op_least_inputs(const mo_op *op) {
    return op->n_in ? op->n_in : 1;
}

int mo_op_most_inputs(const mo_op *op) {
    return op->max_in ? op->max_in : mo_op_least_inputs(op);
}

int mo_op_outputs(const mo_op *op) {
    return op->n_out ? op->n_out : 1;
}

bool mo_draw_is_differentiable(mo_draw draw) {
    return draw < MO_DRAW_INDEX;
}

/* The matrices of an input: batch of them, each n x m. */
static void matrix_sizes(const mo_sample_input *in, int64_t *batch, int64_t *n, int64_t *m) {
    *n = in->ndim > 1 ? in->shape[in->ndim - 2] : 1;
    *m = in->ndim > 0 ? in->shape[in->ndim - 1] : 1;
    *batch = 1;
    for (int i = 0; i < in->ndim - 2; i++)
        *batch *= in->shape[i];
}

static void draw_elements(const mo_sample_input *in, mo_random *r, double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (in->draw == MO_DRAW_POSITIVE) {
            x[i] = 0.5 + 1.5 * mo_random_uniform(r);
        } else if (in->draw == MO_DRAW_DISTINCT) { /* an inside-out shuffle of the grid, kept half a gap away from 0 */
            int64_t j = mo_random_below(r, i + 1);
            x[i] = x[j];
            x[j] = 0.1 * (double)(i - n / 2) + 0.05 + 0.01 * (double)in->limit;
        } else {
            do
                x[i] = mo_random_normal(r);
            while (fabs(x[i]) < 1e-2);
        }
    }
}

/* x := Q diag(w) Q^T with Q a product of Householder reflections. w: SPD 1 .. 5 in equal steps; symmetric -2 .. 2.3 in
 * unequal steps. u is workspace for n numbers. */
static void draw_symmetric(mo_draw draw, mo_random *r, double *x, double *u, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double s = n > 1 ? (double)i / (double)(n - 1) : 0;
        for (int64_t j = 0; j < n; j++)
            x[i * n + j] = i != j ? 0 : draw == MO_DRAW_SPD ? 1 + 4 * s : -2 + 4 * s + 0.3 * s * s;
    }
    for (int k = 0; k < 3; k++) {
        double norm = 0;
        for (int64_t i = 0; i < n; i++) {
            u[i] = mo_random_normal(r);
            norm += u[i] * u[i];
        }
        for (int side = 0; side < 2; side++) /* H X H, H = I - 2 u u^T / u^T u */
            for (int64_t j = 0; j < n; j++) {
                double dot = 0;
                for (int64_t i = 0; i < n; i++)
                    dot += u[i] * (side ? x[j * n + i] : x[i * n + j]);
                for (int64_t i = 0; i < n; i++)
                    *(side ? &x[j * n + i] : &x[i * n + j]) -= 2 * dot / norm * u[i];
            }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            x[i * n + j] = x[j * n + i] = 0.5 * (x[i * n + j] + x[j * n + i]);
}

static void draw_matrix(const mo_sample_input *in, mo_random *r, double *x, double *u, int64_t n, int64_t m) {
    if ((in->draw == MO_DRAW_SPD || in->draw == MO_DRAW_SYMMETRIC) && n == m) {
        draw_symmetric(in->draw, r, x, u, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double v = 0.5 * mo_random_normal(r);
            if (in->draw == MO_DRAW_TRIANGULAR && j > i)
                v = 0;
            x[i * m + j] = i == j ? 2 + fabs(v) : v;
        }
}

/* Fills x[0 .. total - 1]; the next `total` numbers of x are workspace. */
static void draw_real(const mo_sample_input *in, mo_random *r, double *x, int64_t total) {
    int64_t batch, n, m;
    switch (in->draw) {
    case MO_DRAW_SPD:
    case MO_DRAW_SYMMETRIC:
    case MO_DRAW_TRIANGULAR:
    case MO_DRAW_GENERAL:
        matrix_sizes(in, &batch, &n, &m);
        for (int64_t b = 0; b < batch; b++)
            draw_matrix(in, r, x + b * n * m, x + total, n, m);
        break;
    default:
        draw_elements(in, r, x, total);
    }
}

static void draw_integers(const mo_sample_input *in, mo_random *r, int64_t *x, int64_t n) {
    int64_t limit = in->limit > 0 ? in->limit : in->draw == MO_DRAW_MASK ? 2 : 1;
    for (int64_t i = 0; i < n; i++)
        x[i] = mo_random_below(r, limit + (in->draw == MO_DRAW_SORTED));
    if (in->draw != MO_DRAW_SORTED || n == 0)
        return;
    for (int64_t i = 1; i < n; i++) /* insertion sort: samples are small */
        for (int64_t j = i; j > 0 && x[j] < x[j - 1]; j--) {
            int64_t swap = x[j];
            x[j] = x[j - 1];
            x[j - 1] = swap;
        }
    x[0] = 0;
    x[n - 1] = in->limit;
}

mo_tensor *mo_sample_tensor(mo_context *ctx, const mo_sample_input *in, mo_dtype real, mo_random *r) {
    int64_t n = 1;
    for (int i = 0; i < in->ndim; i++)
        n *= in->shape[i];
    union {
        double *real;
        int64_t *integer;
        float *single;
        uint8_t *byte;
        void *any;
    } x = {.any = malloc((size_t)n * 2 * sizeof(double) + 1)};
    if (!x.any) {
        mo_fail(ctx, MO_MEMORY, "sample: out of memory");
        return mo_null_tensor(ctx);
    }
    mo_dtype dtype = real;
    if (in->draw == MO_DRAW_INDEX || in->draw == MO_DRAW_SORTED || in->draw == MO_DRAW_MASK) {
        dtype = in->draw == MO_DRAW_MASK ? MO_U8 : MO_I64;
        draw_integers(in, r, x.integer, n);
        for (int64_t i = 0; dtype == MO_U8 && i < n; i++)
            x.byte[i] = (uint8_t)x.integer[i];
    } else {
        draw_real(in, r, x.real, n);
        for (int64_t i = 0; real == MO_F32 && i < n; i++)
            x.single[i] = (float)x.real[i];
    }
    mo_tensor *T = mo_tensor_create_from(ctx, dtype, in->ndim, in->shape, x.any);
    free(x.any);
    return mo_draw_is_differentiable(in->draw) ? mo_require_grad(T) : T;
}

void mo_sample_direction(const mo_sample_input *in, mo_random *r, double *v, int64_t total) {
    int64_t batch, n, m;
    double norm = 0;
    matrix_sizes(in, &batch, &n, &m);
    for (int64_t i = 0; i < total; i++)
        v[i] = mo_random_normal(r);
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i + 1; j < m; j++) {
                double *upper = &v[(b * n + i) * m + j];
                if (in->draw == MO_DRAW_TRIANGULAR)
                    *upper = 0;
                else if ((in->draw == MO_DRAW_SPD || in->draw == MO_DRAW_SYMMETRIC) && n == m)
                    *upper = v[(b * n + j) * m + i];
            }
    for (int64_t i = 0; i < total; i++)
        norm += v[i] * v[i];
    for (int64_t i = 0; i < total; i++)
        v[i] /= norm > 0 ? sqrt(norm) : 1;
}
