/* tools/web/page.c - the requests of the page, each a line of words and what follows it:
 *
 *     topics                                   the lessons of `mochi explain`
 *     explain TOPIC N SEED LINE ANSWER         a lesson; N or SEED -1: its own numbers; rows of a matrix may follow;
 *                                              LINE 0: nothing is answered
 *     write                                    the tape, values and gradients of a program; its statements follow, as
 *                                              in a lesson's head
 *     episode HEAD LAMBDA NS NQ C NG SHIFT     NS + NQ lines "x y class" follow, then NG lines "x y"
 *     solve                                    a 2 x 2 system in three precisions; A, B and X_bar follow, 8 numbers
 *     unroll N RHO K                           gradients through K steps, and without them (unroll.c)
 *     exercises, judge NUMBER                  exercises.c; the formula to judge follows
 *     suite NUMBER ORDER                       the checker on one op of the library
 *
 * Every request has a context of its own, so that an error ends with it. */
#include "tools/web/page.h"

#include "autograd/sample.h"
#include "autograd/tape.h"
#include "models/inside.h"
#include "tensor/library.h"
#include "tools/cli/input.h"
#include "tools/cli/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *own_matrix = ""; /* the reader's matrix for `explain`: rows of text */

enum { MOST_WORDS = 10, MOST_SHOWN = 160, MOST_LINES = 64 };

typedef struct request {
    mo_context *ctx;
    mo_tape *t;
    const char *word[MOST_WORDS]; /* "" after the last */
    const char *rest;             /* the text after the first line */
} request;

static double number_of(const request *r, int word) {
    return strtod(r->word[word], NULL);
}

static json_t *numbers(const double *x, int64_t n) {
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(list, json_number(x[i]));
    return list;
}

/* Returns a float64 tensor's elements as a list, row-major; JSON null if they cannot be read. */
static json_t *elements(mo_context *ctx, mo_tensor *T) {
    double *x = malloc((size_t)(mo_numel(T) + 1) * sizeof *x);
    bool read = x && mo_ok(ctx) && mo_tensor_dtype(T) == MO_F64 &&
                mo_tensor_read(T, x, (size_t)mo_numel(T) * sizeof *x) == MO_OK;
    json_t *list = read ? numbers(x, mo_numel(T)) : json_null();
    free(x);
    return list;
}

/* ---- explain, which has no file and no terminal here ---- */

char *read_text_file(const char *path, size_t *bytes) {
    (void)path;
    *bytes = strlen(own_matrix);
    return strdup(own_matrix);
}

void put_on_terminal(lesson *l, const block *b) {
    (void)l, (void)b;
}

int report_failure(const mo_context *ctx) {
    (void)ctx;
    return EXIT_FAILED;
}

static json_t *list_topics(const request *r) {
    json_t *topics = json_array();
    char name[NAME_BYTES];
    const char *summary;
    (void)r;
    for (const char *const *line = lesson_lines; *line; line++)
        if (lesson_heading(*line, name, &summary))
            json_array_append_new(topics, json_pack("{s:s, s:s}", "name", name, "summary", summary));
    return json_pack("{s:o}", "topics", topics);
}

static json_t *explain(const request *r) {
    char name[NAME_BYTES];
    lesson l = {.ctx = r->ctx, .t = r->t, .topic = name, .json = json_array()};
    for (const char *const *line = lesson_lines; *line && !l.text; line++)
        if (lesson_heading(*line, name, &l.summary) && !strcmp(name, r->word[1]))
            l.text = line + 1;
    if (!l.text) {
        mo_fail(r->ctx, MO_INVALID, "explain: there is no topic %s", r->word[1]);
        return l.json;
    }
    own_matrix = r->rest;
    l.answered = (int)number_of(r, 4);
    l.answer = r->word[5];
    lesson_open_inputs(&l,
        &(lesson_choice){
            .matrix = *r->rest ? "the matrix" : NULL, .n = (int64_t)number_of(r, 2), .seed = (int64_t)number_of(r, 3)});
    lesson_run(&l);
    return json_pack("{s:s, s:o}", "topic", name, "blocks", l.json);
}

/* ---- write: the tape ---- */

typedef struct drawing {
    lesson l;
    const char *line[MOST_LINES];
    mo_tensor *value[MOST_SHOWN];
    mo_tensor *grad[MOST_SHOWN];
    int n;
} drawing;

static int index_of(drawing *d, mo_tensor *T) {
    int i = 0;
    while (i < d->n && d->value[i] != T)
        i++;
    if (i == d->n && d->n < MOST_SHOWN)
        d->value[d->n++] = T;
    return i;
}

static json_t *list_nodes(drawing *d) {
    json_t *nodes = json_array();
    for (int64_t i = 0; i < d->l.t->n_nodes; i++) {
        const mo_node *node = d->l.t->nodes[i];
        json_t *in = json_array(), *out = json_array();
        for (int k = 0; k < node->n_in; k++)
            json_array_append_new(in, json_integer(index_of(d, node->in[k])));
        for (int k = 0; k < node->n_out; k++)
            json_array_append_new(out, json_integer(index_of(d, node->out[k])));
        json_array_append_new(nodes,
            json_pack("{s:s, s:o, s:o, s:i}", "op", node->op->name, "in", in, "out", out, "saved", node->n_saved));
    }
    return nodes;
}

static const named_value *name_of(const drawing *d, const mo_tensor *T) {
    for (int i = 0; i < d->l.n_named; i++)
        if (d->l.named[i].value == T)
            return &d->l.named[i];
    return NULL;
}

static void take_gradients(drawing *d, mo_tensor *loss) {
    mo_tensor *xs[MOST_SHOWN], *grads[MOST_SHOWN];
    int n = 0;
    for (int i = 0; i < d->n; i++)
        if (mo_needs_grad(d->value[i]))
            xs[n++] = d->value[i];
    if (!mo_ok(d->l.ctx) || mo_grad(d->l.t, &loss, NULL, 1, xs, grads, n, MO_RETAIN) != MO_OK)
        return;
    for (int i = d->n; i-- > 0;)
        if (mo_needs_grad(d->value[i]))
            d->grad[i] = grads[--n];
}

static json_t *list_values(drawing *d, const mo_tensor *loss) {
    json_t *values = json_array();
    for (int i = 0; i < d->n; i++) {
        mo_tensor *T = d->value[i];
        matrix slope;
        const named_value *name = name_of(d, T);
        bool fits = mo_numel(T) <= MOST_VALUES && mo_ndim(T) <= 2;
        json_t *o = json_pack("{s:s, s:i, s:i, s:b, s:b, s:o, s:o}", "name",
            name        ? name->name
            : T == loss ? "loss"
                        : "",
            "rows", mo_ndim(T) > 1 ? (int)mo_dim(T, -2) : 1, "columns", mo_ndim(T) ? (int)mo_dim(T, -1) : 1, "leaf",
            T->node == NULL, "loss", T == loss, "value", elements(d->l.ctx, T), "grad",
            d->grad[i] ? elements(d->l.ctx, d->grad[i]) : json_null());
        if (name && d->grad[i] && fits && lesson_differences(&d->l, name->name, T, SPACE_ALL, &slope))
            json_object_set_new(o, "differences", numbers(slope.values, slope.rows * slope.columns));
        json_array_append_new(values, o);
    }
    return values;
}

/* Lists, for each value, 1 if a backward that retains nothing frees it, else 0. */
static json_t *list_freed(drawing *d, mo_tensor *loss) {
    json_t *freed = json_array();
    mo_backward(d->l.t, loss);
    for (int i = 0; i < d->n; i++)
        json_array_append_new(freed, json_integer(!d->value[i]->storage));
    return freed;
}

static json_t *write_tape(const request *r) {
    drawing d = {.l = {.ctx = r->ctx, .t = r->t, .topic = "the program"}};
    char *text = strdup(r->rest), *rest = text, *line;
    for (int n = 0; n < MOST_LINES - 1 && (line = strsep(&rest, "\n"));)
        if (*line)
            d.line[n++] = line;
    d.l.text = d.line;
    d.l.n = 2;
    lesson_open_inputs(&d.l, &(lesson_choice){.n = -1, .seed = -1});
    d.l.n = d.l.n_inputs && mo_ndim(d.l.in[0]) == 2 ? (int)mo_dim(d.l.in[0], 0) : 1; /* the order of I */
    mo_tensor *loss = lesson_forward(&d.l);
    json_t *answer = json_pack("{s:o}", "nodes", list_nodes(&d));
    if (mo_ok(r->ctx) && r->t->n_nodes)
        index_of(&d, loss);
    const int64_t forward = mo_context_counters(r->ctx).factorizations;
    take_gradients(&d, loss);
    json_object_set_new(answer, "factorizations", json_integer(forward));
    json_object_set_new(answer, "again", json_integer(mo_context_counters(r->ctx).factorizations - forward));
    json_object_set_new(answer, "values", list_values(&d, loss));
    if (mo_ok(r->ctx))
        json_object_set_new(answer, "freed", list_freed(&d, loss));
    free(text);
    return answer;
}

/* ---- episode: a head on points of the plane ---- */

/* Reads n numbers into x. Returns the text after them. */
static const char *read_rows(const char *at, double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        char *end;
        x[i] = strtod(at, &end);
        at = end;
    }
    return at;
}

static json_t *episode(const request *r) {
    const double lambda = number_of(r, 2), shift = number_of(r, 7);
    const int64_t ns = (int64_t)number_of(r, 3), nq = (int64_t)number_of(r, 4), C = (int64_t)number_of(r, 5),
                  ng = (int64_t)number_of(r, 6), n = ns + nq;
    mo_tape *t = r->t;
    const mo_head *head = mo_find_head(r->word[1]);
    double *x = calloc((size_t)(3 * n + 2 * ng + 2 * n + n * C + 1), sizeof *x);
    if (!head || n < 1 || n > 400 || ng > 20000 || C < 2 || !x) {
        mo_fail(r->ctx, MO_INVALID, "episode: head %s, %d points", r->word[1], (int)n);
        free(x);
        return json_object();
    }
    double *points = x + 3 * n + 2 * ng, *labels = points + 2 * n, *grid = x + 3 * n;
    read_rows(read_rows(r->rest, x, 3 * n), grid, 2 * ng);
    for (int64_t i = 0; i < n; i++) {
        points[2 * i] = x[3 * i] + shift;
        points[2 * i + 1] = x[3 * i + 1] + shift;
        labels[i * C + (int64_t)x[3 * i + 2]] = 1;
    }
    for (int64_t i = 0; i < 2 * ng; i++)
        grid[i] += shift;
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS], *bars[2] = {NULL, NULL};
    mo_tensor *Z[] = {mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){ns, 2}, points)),
        mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){nq, 2}, points + 2 * ns))};
    mo_tensor *Ys = mo_from(t, MO_F64, 2, (int64_t[]){ns, C}, labels);
    mo_tensor *Yq = mo_from(t, MO_F64, 2, (int64_t[]){nq, C}, labels + ns * C);
    mo_head_start(t, head, MO_F64, 2, &lambda, 0, parameters);
    mo_tensor *logits = mo_keep(mo_head_apply(t, head, Z[0], Ys, Z[1], parameters));
    mo_tensor *loss = mo_keep(mo_softmax_cross_entropy(t, logits, Yq, 0));
    mo_gradients(t, loss, Z, bars, 2);
    json_t *answer = json_object();
    if (mo_ok(r->ctx)) {
        mo_tensor *G = mo_from(t, MO_F64, 2, (int64_t[]){ng, 2}, grid);
        mo_tape_set_mode(t, MO_EVAL);
        mo_tensor *field = mo_head_apply(t, head, Z[0], Ys, G, parameters);
        json_object_set_new(answer, "loss", json_number(mo_item(loss)));
        json_object_set_new(answer, "logits", elements(r->ctx, logits));
        json_object_set_new(answer, "support_bar", elements(r->ctx, bars[0]));
        json_object_set_new(answer, "query_bar", elements(r->ctx, bars[1]));
        json_object_set_new(answer, "grid", elements(r->ctx, field));
    }
    free(x);
    return answer;
}

/* ---- solve: one small system in three precisions ---- */

typedef struct small_system {
    mo_tensor *A, *B, *X_bar; /* float64 */
} small_system;

/* Solves T X = R by a float32 factorization, then refines `steps` times: X += T^-1 (R - T X), with the residual in
 * float64. */
static mo_tensor *solve_roughly(mo_tape *t, mo_tensor *T, mo_tensor *R, int steps) {
    mo_tensor *rough = mo_cast(t, T, MO_F32), *X = mo_cast(t, mo_solve(t, rough, mo_cast(t, R, MO_F32)), MO_F64);
    for (int i = 0; i < steps; i++) {
        mo_tensor *residual = mo_cast(t, mo_sub(t, R, mo_matmul(t, T, X)), MO_F32);
        X = mo_add(t, X, mo_cast(t, mo_solve(t, rough, residual), MO_F64));
    }
    return X;
}

/* Returns X, B_bar = A^-T X_bar and A_bar = -B_bar X^T; steps < 0: all in float64, by the tape. */
static json_t *solve_in(mo_tape *t, const small_system *s, int steps) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *X, *bars[2];
    if (steps < 0) {
        X = mo_keep(mo_solve(t, s->A, s->B));
        mo_tensor *loss = mo_sum(t, mo_mul(t, X, s->X_bar), MO_ALL, MO_DROP_AXES);
        mo_gradients(t, mo_ok(ctx) ? loss : mo_null_tensor(ctx), (mo_tensor *[]){s->A, s->B}, bars, 2);
    } else {
        X = solve_roughly(t, s->A, s->B, steps);
        bars[1] = solve_roughly(t, mo_contiguous(t, mo_transpose(t, s->A)), s->X_bar, steps);
        bars[0] = mo_neg(t, mo_matmul(t, bars[1], mo_transpose(t, X)));
    }
    json_t *answer = !mo_ok(ctx) ? json_null()
                                 : json_pack("{s:o, s:o, s:o}", "X", elements(ctx, X), "A_bar", elements(ctx, bars[0]),
                                       "B_bar", elements(ctx, bars[1]));
    mo_clear_error(ctx); /* a nearly singular matrix gives no value: the answer has null */
    return answer;
}

static json_t *solve(const request *r) {
    double x[8];
    mo_tape *t = r->t;
    read_rows(r->rest, x, 8);
    small_system s = {mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){2, 2}, x)),
        mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){2, 1}, x + 4)),
        mo_from(t, MO_F64, 2, (int64_t[]){2, 1}, x + 6)};
    json_t *f64 = solve_in(t, &s, -1), *f32 = solve_in(t, &s, 0), *refined = solve_in(t, &s, 8);
    return json_pack("{s:o, s:o, s:o}", "f64", f64, "f32", f32, "refined", refined);
}

/* ---- unroll: w <- w - (A w - b), K times ---- */

enum { UNROLL_POINTS = 11 };

static json_t *unroll(const request *r) {
    const int64_t n = (int64_t)number_of(r, 1), most = (int64_t)number_of(r, 3);
    json_t *points = json_array();
    if (n < 2 || n > 30 || most < 1 || most > 400) {
        mo_fail(r->ctx, MO_INVALID, "unroll: n %d, K %d: expected 2 to 30, 1 to 400", (int)n, (int)most);
        return points;
    }
    for (int64_t i = 0, K = 0, before = 0; i < UNROLL_POINTS; i++, before = K) {
        K = 1 + (most - 1) * i / (UNROLL_POINTS - 1);
        if (K == before)
            continue;
        unrolled_steps y = page_unroll(r->ctx, n, number_of(r, 2), 1, K);
        json_array_append_new(
            points, json_pack("{s:i, s:o, s:o, s:o, s:o, s:i, s:i}", "K", (int)K, "w", json_number(y.X), "unrolled",
                        json_number(y.unrolled), "implicit", json_number(y.implicit), "neumann", json_number(y.neumann),
                        "unrolled_bytes", (int)y.unrolled_bytes, "implicit_bytes", (int)y.implicit_bytes));
    }
    return json_pack("{s:o}", "points", points);
}

void *needed(void *memory) {
    if (!memory)
        __builtin_trap(); /* a page then starts the engine anew */
    return memory;
}

/* ---- the checker on an op of the library ---- */

static json_t *check_op(const request *r) {
    mo_register_ops(r->ctx);
    int i = (int)number_of(r, 1), n = mo_n_ops(r->ctx);
    if (i < 0 || i >= n)
        return json_pack("{s:i}", "ops", n);
    const mo_op *op = mo_op_at(r->ctx, i);
    mo_check_result c = mo_check_op(r->ctx, op, (int)number_of(r, 2), 2024);
    return json_pack("{s:i, s:s, s:b, s:i, s:o, s:s}", "ops", n, "op", op->name, "pass", c.pass, "samples", c.samples,
        "error", json_number(c.error), "worst", c.worst);
}

static json_t *list_exercises(const request *r) {
    (void)r;
    return page_exercises();
}

static json_t *judge(const request *r) {
    return page_judge(r->ctx, (int)number_of(r, 1), r->rest);
}

/* ---- requests ---- */

static char *buffer;
static json_t *last;

__attribute__((visibility("default"))) char *page_request(int bytes) {
    free(buffer);
    return buffer = calloc((size_t)bytes + 1, 1);
}

__attribute__((visibility("default"))) const char *page_answer(void) {
    static const struct {
        const char *word;
        json_t *(*answer)(const request *r);
    } verbs[] = {{"topics", list_topics}, {"explain", explain}, {"write", write_tape}, {"episode", episode},
        {"solve", solve}, {"unroll", unroll}, {"exercises", list_exercises}, {"judge", judge}, {"suite", check_op}};
    request r = {.ctx = mo_context_create(&(mo_context_options){.threads = 1})};
    char *end = buffer + strcspn(buffer, "\n"), *at = buffer;
    r.rest = *end ? end + 1 : end;
    *end = '\0';
    for (int i = 0; i < MOST_WORDS; i++) {
        r.word[i] = at;
        if (i == 5 && !strncmp(buffer, "explain", 7)) /* an answer may hold blanks */
            at = end;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    r.t = mo_tape_create(r.ctx, MO_RECORD);
    json_decref(last);
    last = NULL;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && !last; i++)
        if (!strcmp(verbs[i].word, r.word[0]))
            last = verbs[i].answer(&r);
    if (last && !mo_ok(r.ctx)) {
        json_decref(last);
        last = json_pack("{s:s}", "error", mo_context_status(r.ctx)->message);
    }
    if (!last)
        last = json_pack("{s:s}", "error", "no such request");
    mo_tape_release(r.t);
    mo_context_release(r.ctx);
    return json_text(last);
}
