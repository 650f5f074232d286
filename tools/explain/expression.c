/* tools/explain/expression.c - a formula of a lesson, or one that a reader types, such as "A^-T X_bar" or "-sym(U A^T)
 * / lambda", computed on the lesson's own values by the library's ops.
 *
 *     sum     = ["-"] product {("+" | "-") product}
 *     product = power {["o" | "*" | "/"] power}           a product without a sign is one of matrices
 *     power   = base {"^T" | "^-1" | "^-T" | "^2" | "^3"}
 *     base    = number | value | function power | "(" sum ")" | "<" sum "," sum ">"
 *
 * Values are those that the lesson has shown, and the gradients that it has told (NAME_bar). "o" multiplies and "/"
 * divides elementwise; a scalar goes with every matrix. */
#include "tools/explain/lesson.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    lesson *l;
    const char *at, *asked; /* asked: the name whose formula is wanted, which is no value of its own formula */
    char *why;
    size_t bytes;
} reader;

static mo_tensor *take_sum(reader *r);
static mo_tensor *take_power(reader *r);

/* Keeps the first reason. */
static mo_tensor *refuse(reader *r, const char *format, const char *word, int length) {
    if (!r->why[0])
        snprintf(r->why, r->bytes, format, length, word);
    return NULL;
}

static char next(reader *r) {
    r->at += strspn(r->at, " \t\r\n");
    return *r->at;
}

static bool take(reader *r, char sign) {
    bool found = next(r) == sign;
    r->at += found;
    return found;
}

/* ---- functions and exponents ---- */

static mo_tensor *diagonal_matrix(mo_tape *t, mo_tensor *v) {
    if (mo_ndim(v) == 2 && mo_dim(v, 1) == 1)
        v = mo_reshape(t, v, 1, (int64_t[]){mo_dim(v, 0)});
    return mo_diagonal_embed(t, v);
}

static mo_tensor *total(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_ALL, MO_DROP_AXES);
}

static mo_tensor *inverse(mo_tape *t, mo_tensor *A) {
    return mo_solve(t, A, mo_eye(t, MO_F64, mo_dim(A, -1)));
}

static const struct function {
    const char *name;
    mo_tensor *(*of)(mo_tape *t, mo_tensor *X);
} functions[] = {{"sym", symmetric_part}, {"tril", mo_tril}, {"triu", mo_triu}, {"stril", strict_lower_part},
    {"Phi", half_lower_part}, {"copyltu", mirrored_lower_part}, {"diag", diagonal_matrix}, {"trace", mo_trace},
    {"sum", total}, {"log", mo_log}, {"exp", mo_exp}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* The value of a name: shown, or the told gradient of one. NULL: there is none. */
static mo_tensor *find_value(reader *r, const char *name) {
    lesson *l = r->l;
    size_t length = strlen(name), end = strlen("_bar");
    if (!strcmp(name, r->asked))
        return NULL;
    for (int i = 0; i < l->n_named; i++)
        if (!strcmp(l->named[i].name, name))
            return mo_stop_gradient(l->t, l->named[i].value);
    for (int i = 0; i < l->n_named && length > end && !strcmp(name + length - end, "_bar"); i++)
        if (l->named[i].told && strlen(l->named[i].name) == length - end &&
            !strncmp(l->named[i].name, name, length - end))
            return mo_stop_gradient(l->t, l->named[i].gradient);
    return NULL;
}

static mo_tensor *take_name(reader *r) {
    size_t n = 0;
    char name[NAME_BYTES];
    while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_')
        n++;
    snprintf(name, sizeof name, "%.*s", (int)n, r->at);
    mo_tensor *value = find_value(r, name);
    if (value) {
        r->at += n;
        return value;
    }
    for (int i = 0; i < FUNCTIONS; i++)
        if (!strcmp(name, functions[i].name)) {
            r->at += n;
            mo_tensor *X = take_power(r);
            return X ? functions[i].of(r->l->t, X) : NULL;
        }
    return refuse(r,
        strcmp(name, r->asked) ? "'%.*s' is no value that the lesson has shown" : "'%.*s' is what is asked for", name,
        (int)strlen(name));
}

static mo_tensor *take_base(reader *r) {
    mo_tape *t = r->l->t;
    char *end;
    if (take(r, '(')) {
        mo_tensor *X = take_sum(r);
        return X && !take(r, ')') ? refuse(r, "expected ) before '%.*s'", r->at, 20) : X;
    }
    if (take(r, '<')) {
        mo_tensor *A = take_sum(r), *B = A && take(r, ',') ? take_sum(r) : NULL;
        return B && take(r, '>') ? inner(t, A, B) : refuse(r, "expected <A, B> at '%.*s'", r->at, 20);
    }
    if (isdigit((unsigned char)next(r)) || *r->at == '.') {
        double number = strtod(r->at, &end);
        r->at = end;
        return mo_scalar(t, MO_F64, number);
    }
    return isalpha((unsigned char)*r->at) ? take_name(r) : refuse(r, "expected a value at '%.*s'", r->at, 20);
}

static mo_tensor *take_power(reader *r) {
    static const char *const exponents[] = {"-T", "-1", "T", "2", "3"};
    mo_tensor *X = take_base(r);
    while (X && take(r, '^')) {
        int kind = 0;
        while (kind < 5 && strncmp(r->at, exponents[kind], strlen(exponents[kind])) != 0)
            kind++;
        if (kind == 5)
            return refuse(r, "expected ^T, ^-1, ^-T, ^2 or ^3, found '^%.*s'", r->at, 10);
        r->at += strlen(exponents[kind]);
        mo_tape *t = r->l->t;
        if (kind >= 3)
            X = kind == 3 ? mo_square(t, X) : mo_mul(t, X, mo_square(t, X));
        else
            X = kind == 2 ? transposed(t, X) : inverse(t, kind == 0 ? transposed(t, X) : X);
    }
    return X;
}

/* Whether what follows is a factor of the product. */
static bool goes_on(reader *r) {
    return next(r) && (isalnum((unsigned char)*r->at) || strchr("(<.", *r->at));
}

static mo_tensor *take_product(reader *r) {
    mo_tape *t = r->l->t;
    mo_tensor *X = take_power(r);
    while (X && (goes_on(r) || strchr("*/", *r->at)) && *r->at) {
        bool elementwise = *r->at == 'o' && !isalnum((unsigned char)r->at[1]) && r->at[1] != '_',
             divides = *r->at == '/';
        if (elementwise || strchr("*/", *r->at))
            r->at++;
        mo_tensor *Y = take_power(r);
        if (!Y)
            return NULL;
        bool scalar = mo_numel(X) == 1 || mo_numel(Y) == 1;
        if (scalar && mo_ndim(Y) && mo_ndim(X))
            *(mo_numel(X) == 1 ? &X : &Y) = total(t, mo_numel(X) == 1 ? X : Y); /* as a scalar */
        X = divides ? mo_div(t, X, Y) : elementwise || scalar ? mo_mul(t, X, Y) : mo_matmul(t, X, Y);
    }
    return X;
}

static mo_tensor *take_sum(reader *r) {
    mo_tape *t = r->l->t;
    bool negative = take(r, '-');
    mo_tensor *X = take_product(r);
    X = X && negative ? mo_neg(t, X) : X;
    while (X && (next(r) == '+' || *r->at == '-')) {
        bool minus = *r->at++ == '-';
        mo_tensor *Y = take_product(r);
        if (!Y)
            return NULL;
        X = minus ? mo_sub(t, X, Y) : mo_add(t, X, Y);
    }
    return X;
}

mo_tensor *lesson_compute(lesson *l, const char *formula, size_t n) {
    char text[256], why[200] = "";
    snprintf(text, sizeof text, "%.*s", (int)n, formula);
    reader r = {.l = l, .at = text, .asked = "", .why = why, .bytes = sizeof why};
    mo_tensor *X = take_sum(&r);
    if (X && next(&r))
        X = refuse(&r, "expected an end at '%.*s'", r.at, 20);
    if (!X && mo_ok(l->ctx))
        mo_fail(l->ctx, MO_INVALID, "explain: %s: %s", text, why);
    return X ? X : mo_null_tensor(l->ctx);
}

bool lesson_evaluate(lesson *l, const char *formula, const char *asked, matrix *m, char *why, size_t bytes) {
    reader r = {.l = l, .at = formula, .asked = asked, .why = why, .bytes = bytes};
    why[0] = '\0';
    mo_tensor *X = take_sum(&r);
    if (X && next(&r))
        X = refuse(&r, "expected an end at '%.*s'", r.at, 20);
    bool done = X && read_matrix(l, asked, X, m);
    if (!mo_ok(l->ctx)) {
        snprintf(why, bytes, "%s", mo_context_status(l->ctx)->message);
        mo_clear_error(l->ctx);
    }
    return done;
}
