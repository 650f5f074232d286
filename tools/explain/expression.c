/* tools/explain/expression.c - computes a formula of a lesson, or one that a reader types, such as "A^-T X_bar" or
 * "-sym(U A^T) / lambda", on the lesson's values by the library's ops.
 *
 *     sum     = ["-"] product {("+" | "-") product}
 *     product = power {["o" | "∘" | "*" | "/"] power}     without a sign: the matrix product
 *     power   = base {"^T" | "'" | "’" | ".T" | "^-1" | "^-T" | "^2" | "^3"}    a phone types ’, NumPy's users .T
 *     base    = number | value | function power | function "(" sum {"," sum} ")" | "(" sum ")" | "<" sum "," sum ">"
 *
 * A value is a name that the lesson has shown, a gradient that its lines have given (NAME_bar), a size n or m, or I
 * [n, n]. Functions are in functions.c. "o" multiplies and "/" divides elementwise; a scalar combines with any
 * matrix. */
#include "tools/explain/lesson.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    lesson *l;
    const char *at, *asked; /* asked: the name that the formula defines, and so cannot use */
    mo_tensor *second;      /* the second result of a function that has two */
    char *why;
    size_t bytes;
} reader;

static mo_tensor *take_sum(reader *r);
static mo_tensor *take_power(reader *r);

/* Writes the reason why the formula cannot be read, unless there is one already. Returns NULL. */
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

static bool take_text(reader *r, const char *text) {
    bool found = next(r) && !strncmp(r->at, text, strlen(text));
    r->at += found ? strlen(text) : 0;
    return found;
}

/* ---- names ---- */

/* Returns the value of a name: a shown value, a given gradient, a size, or I. NULL if the name has no value. */
static mo_tensor *find_value(reader *r, const char *name) {
    lesson *l = r->l;
    size_t length = strlen(name), end = strlen("_bar");
    if (!strcmp(name, r->asked))
        return NULL;
    for (int i = 0; i < l->n_named; i++)
        if (!strcmp(l->named[i].name, name))
            return l->named[i].value;
    for (int i = 0; i < l->n_named && length > end && !strcmp(name + length - end, "_bar"); i++)
        if (l->named[i].told && strlen(l->named[i].name) == length - end &&
            !strncmp(l->named[i].name, name, length - end))
            return l->named[i].gradient;
    if (!strcmp(name, "I"))
        return mo_eye(l->t, MO_F64, l->n);
    return strcmp(name, "n") != 0 && strcmp(name, "m") != 0 ? NULL
                                                            : mo_scalar(l->t, MO_F64, *name == 'n' ? l->n : l->m);
}

/* Parses "(X, Y, ..)" into X. Returns false unless there are n arguments. */
static bool take_arguments(reader *r, int n, mo_tensor **X) {
    bool fine = take(r, '(');
    for (int i = 0; i < n && fine; i++)
        fine = (X[i] = take_sum(r)) && take(r, i + 1 < n ? ',' : ')');
    if (!fine)
        refuse(r, "expected %.*s", n == 2 ? "(X, Y)" : n == 3 ? "(X, Y, Z)" : "(X, Y, Z, W)", 20);
    return fine;
}

static mo_tensor *take_function(reader *r, const lesson_function *f) {
    mo_tape *t = r->l->t;
    mo_tensor *X[4], *first;
    if (f->of_two)
        return take_arguments(r, 2, X) ? f->of_two(t, X[0], X[1]) : NULL;
    if (f->of_more)
        return take_arguments(r, f->arguments, X) ? f->of_more(t, X) : NULL;
    if (!(X[0] = take_power(r)))
        return NULL;
    if (f->of_one)
        return f->of_one(t, X[0]);
    f->two_results(t, X[0], &first, &r->second);
    return first;
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
    for (const lesson_function *f = lesson_functions; f->name; f++)
        if (!strcmp(name, f->name)) {
            r->at += n;
            return take_function(r, f);
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
        if (end == r->at)
            return refuse(r, "expected a number at '%.*s'", r->at, 20);
        r->at = end;
        return mo_scalar(t, MO_F64, number);
    }
    return isalpha((unsigned char)*r->at) ? take_name(r) : refuse(r, "expected a value at '%.*s'", r->at, 20);
}

static mo_tensor *take_power(reader *r) {
    static const char *const exponents[] = {"-T", "-1", "T", "2", "3"};
    mo_tape *t = r->l->t;
    mo_tensor *X = take_base(r);
    while (X) {
        int kind = 0;
        if (take_text(r, "'") || take_text(r, "’") || take_text(r, ".T")) {
            X = transposed(t, X);
            continue;
        }
        if (!take(r, '^'))
            break;
        while (kind < 5 && strncmp(r->at, exponents[kind], strlen(exponents[kind])) != 0)
            kind++;
        if (kind == 5)
            return refuse(r, "expected ^T, ^-1, ^-T, ^2 or ^3, found '^%.*s'", r->at, 10);
        r->at += strlen(exponents[kind]);
        if (kind >= 3)
            X = kind == 3 ? mo_square(t, X) : mo_mul(t, X, mo_square(t, X));
        else
            X = kind == 2 ? transposed(t, X) : inverse(t, kind == 0 ? transposed(t, X) : X);
    }
    return X;
}

/* Returns whether the next token starts a factor of the product. */
static bool goes_on(reader *r) {
    return next(r) && (isalnum((unsigned char)*r->at) || strchr("(<.", *r->at));
}

static mo_tensor *take_product(reader *r) {
    mo_tape *t = r->l->t;
    mo_tensor *X = take_power(r);
    while (X) {
        bool ring = take_text(r, "∘");
        if (!ring && !goes_on(r) && !(*r->at && strchr("*/", *r->at)))
            break;
        bool elementwise = ring || (*r->at == 'o' && !isalnum((unsigned char)r->at[1]) && r->at[1] != '_'),
             divides = !ring && *r->at == '/';
        if (!ring && (elementwise || strchr("*/", *r->at)))
            r->at++;
        mo_tensor *Y = take_power(r);
        if (!Y)
            return NULL;
        bool scalar = mo_numel(X) == 1 || mo_numel(Y) == 1;
        if (scalar && mo_ndim(Y) && mo_ndim(X))
            *(mo_numel(X) == 1 ? &X : &Y) = total(t, mo_numel(X) == 1 ? X : Y); /* the operand that is a scalar, without
                                                                                 * its axes */
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

mo_tensor *lesson_evaluate(
    lesson *l, const char *formula, const char *asked, mo_tensor **second, char *why, size_t bytes) {
    reader r = {.l = l, .at = formula, .asked = asked, .why = why, .bytes = bytes};
    why[0] = '\0';
    mo_tensor *X = take_sum(&r);
    if (X && next(&r))
        X = refuse(&r, "expected an end at '%.*s'", r.at, 20);
    if (second)
        *second = r.second;
    return X;
}
