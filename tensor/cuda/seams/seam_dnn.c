/* tensor/cuda/seams/seam_dnn.c - a wide layer in bf16 as one node, by cuDNN's operation graphs.
 *
 * To cuDNN matrices are row-major, so the column-major C of seam_gemm is C^T = op(B)^T op(A)^T, [n, m]:
 *     forward: P = X W,  C = relu(P + bias + addend) in float32, rounded = C in bf16;
 *     adjoint: C = [rounded > 0] o (X W).
 * cuDNN compiles the kernel of a graph when it is first asked for, in about half a second. Its kernels for dynamic
 * shapes serve every number of rows, so that a run whose episodes differ compiles a few: one for each kind of layer and
 * each power of two of rows, whose engine follows from that power. So a shape has the same kernel in every process.
 *
 * cuDNN is opened at its first use, not linked: its libraries are large, many machines lack them, and there
 * seam_multiply's other ways compute the layer. */
#include "tensor/cuda/seams/seam_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef MO_CUDNN /* built with its headers */
#include <cudnn.h>

#define TEXT_OF(x) #x
#define LIBRARY_OF(major) "libcudnn.so." TEXT_OF(major)

typedef cudnnBackendDescriptor_t descriptor;

/* The functions that we call. */
typedef struct library {
    void *object;
    size_t (*version)(void);
    cudnnStatus_t (*create)(cudnnHandle_t *);
    cudnnStatus_t (*destroy)(cudnnHandle_t);
    cudnnStatus_t (*set_stream)(cudnnHandle_t, cudaStream_t);
    cudnnStatus_t (*make)(cudnnBackendDescriptorType_t, descriptor *);
    cudnnStatus_t (*release)(descriptor);
    cudnnStatus_t (*set)(descriptor, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, const void *);
    cudnnStatus_t (*get)(
        descriptor, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, int64_t *, void *);
    cudnnStatus_t (*finalize)(descriptor);
    cudnnStatus_t (*execute)(cudnnHandle_t, descriptor, descriptor);
} library;

static bool find_functions(library *l) {
    const seam_function functions[] = {
        {"cudnnGetVersion", &l->version},
        {"cudnnCreate", &l->create},
        {"cudnnDestroy", &l->destroy},
        {"cudnnSetStream", &l->set_stream},
        {"cudnnBackendCreateDescriptor", &l->make},
        {"cudnnBackendDestroyDescriptor", &l->release},
        {"cudnnBackendSetAttribute", &l->set},
        {"cudnnBackendGetAttribute", &l->get},
        {"cudnnBackendFinalize", &l->finalize},
        {"cudnnBackendExecute", &l->execute},
    };
    l->object = seam_library_open(LIBRARY_OF(CUDNN_MAJOR), functions, sizeof functions / sizeof *functions);
    return l->object;
}

/* ---- plans ---- */

enum { MOST_MADE = 40, MOST_CONFIGURATIONS = 8, KINDS = 64, SETS = 128, WAYS = 4 };

/* What decides the kernel; rows is n, or the power of two that stands for it. */
typedef struct layer_key {
    int64_t rows, m, k, lda, ldb, ldc, ld_addend, ld_rounded, flags;
} layer_key;

/* The descriptors of a graph, which live as long as its plan. fine: none has been refused. */
typedef struct graph {
    const library *l;
    descriptor made[MOST_MADE], operations, plan;
    int count;
    bool fine;
} graph;

/* Layers that differ in the number of rows, up to a power of two. */
typedef struct kind {
    layer_key key;
    int64_t engine;
    graph first; /* the graph whose number of rows is the power of two itself; the kernel was compiled for it */
    descriptor kernels;
} kind;

typedef struct plan {
    layer_key key;
    bool known;
    uint64_t used; /* time of the last use */
    graph of;
} plan;

struct seam_dnn {
    library l;
    cudnnHandle_t handle;
    kind kinds[KINDS];
    int count;
    uint64_t asked;
    plan plans[SETS][WAYS];
};

/* ---- descriptors ---- */

static descriptor make(graph *g, cudnnBackendDescriptorType_t type) {
    descriptor d = NULL;
    g->fine = g->fine && g->count < MOST_MADE && !g->l->make(type, &d);
    if (g->fine)
        g->made[g->count++] = d;
    return d;
}

static void set(graph *g, descriptor d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
    const void *value) {
    g->fine = g->fine && !g->l->set(d, name, type, n, value);
}

static void set_part(graph *g, descriptor d, cudnnBackendAttributeName_t name, descriptor part) {
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &part);
}

static void finish(graph *g, descriptor d) {
    g->fine = g->fine && !g->l->finalize(d);
}

static void release_graph(graph *g) {
    while (g->count)
        g->l->release(g->made[--g->count]);
    *g = (graph){0};
}

/* ---- a layer as a graph ---- */

/* The numbers under which an execution gives the addresses; INSIDE and later ones have none. */
enum { X_AT = 1, W_AT, BIAS_AT, ADDEND_AT, C_AT, ROUNDED_AT, INSIDE };

/* A matrix [rows, columns] with its strides; float32, or bf16. at >= INSIDE: a value that no memory holds. */
typedef struct matrix {
    int64_t at, rows, columns, row, column;
    bool bf16;
} matrix;

static descriptor tensor(graph *g, matrix m) {
    cudnnDataType_t type = m.bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    int64_t size[] = {1, m.rows, m.columns}, stride[] = {m.rows * m.row, m.row, m.column};
    int64_t alignment = m.at == BIAS_AT ? 4 : 16;
    bool inside = m.at >= INSIDE;
    if (m.row < m.column)
        stride[0] = m.columns * m.column;
    descriptor d = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, size);
    set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 3, stride);
    set(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &m.at);
    set(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    set(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &inside);
    finish(g, d);
    return d;
}

static descriptor product(graph *g, descriptor X, descriptor W, descriptor P) {
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    descriptor how = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    finish(g, how);
    descriptor d = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_part(g, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, X);
    set_part(g, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, W);
    set_part(g, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, P);
    set_part(g, d, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    finish(g, d);
    return d;
}

/* y = f(x), or f(x, b). Of the adjoint of relu, x_bar = f(x, y_bar): b is y_bar, and y is x_bar. */
static descriptor pointwise(graph *g, cudnnPointwiseMode_t f, descriptor x, descriptor b, descriptor y) {
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    bool adjoint = f == CUDNN_POINTWISE_RELU_BWD;
    descriptor how = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &f);
    set(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
    finish(g, how);
    descriptor d = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_part(g, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_part(g, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b)
        set_part(g, d, adjoint ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC : CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    set_part(g, d, adjoint ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    finish(g, d);
    return d;
}

/* Adds the operations of the layer to g, with `rows` in place of its n. */
static void describe(graph *g, const seam_gemm *c, int64_t rows) {
    descriptor op[5];
    int n = 0;
    matrix inside = {INSIDE, rows, c->m, c->m, 1, false}, C = {C_AT, rows, c->m, c->ldc, 1, false};
    matrix X = {X_AT, rows, c->k, c->ldb, 1, true};
    matrix W = {W_AT, c->k, c->m, c->transposed_a ? 1 : c->lda, c->transposed_a ? c->lda : 1, true};
    descriptor value = tensor(g, inside), out = tensor(g, C);
    descriptor rounded = tensor(g, (matrix){ROUNDED_AT, rows, c->m, c->ld_rounded, 1, true});
    op[n++] = product(g, tensor(g, X), tensor(g, W), value);
    const matrix added[] = {{BIAS_AT, 1, c->m, c->m, 1, false}, {ADDEND_AT, rows, c->m, c->ld_addend, 1, false}};
    for (int i = 0; i < 2; i++)
        if (i ? c->addend : c->bias) {
            inside.at++;
            descriptor sum = tensor(g, inside);
            op[n++] = pointwise(g, CUDNN_POINTWISE_ADD, value, tensor(g, added[i]), sum);
            value = sum;
        }
    if (c->relu) {
        op[n++] = pointwise(g, CUDNN_POINTWISE_RELU_FWD, value, NULL, out);
        op[n++] = pointwise(g, CUDNN_POINTWISE_IDENTITY, out, NULL, rounded);
    } else {
        op[n++] = pointwise(g, CUDNN_POINTWISE_RELU_BWD, rounded, value, out);
    }
    const bool dynamic = true;
    g->operations = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(g, g->operations, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, op);
    set(g, g->operations, CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, CUDNN_TYPE_BOOLEAN, 1, &dynamic);
}

static graph layer_graph(const struct seam_dnn *d, const seam_gemm *c, int64_t rows) {
    graph g = {.l = &d->l, .fine = true};
    describe(&g, c, rows);
    set(&g, g.operations, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &d->handle);
    finish(&g, g.operations);
    return g;
}

/* ---- the engine ---- */

/* The engine of a configuration, -1 if it may give other bits the next time. */
static int64_t engine_of(graph *g, descriptor configuration) {
    descriptor engine = make(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendNumericalNote_t note[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0, notes = 0, index = -1;
    g->fine =
        g->fine &&
        !g->l->get(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine) &&
        !g->l->get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &index) &&
        !g->l->get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT,
            &notes, note);
    for (int64_t i = 0; i < notes && g->fine; i++)
        if (note[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
            return -1;
    return g->fine ? index : -1;
}

/* The first engine that cuDNN's heuristics name for the graph; -1: none. */
static int64_t find_engine(graph *g) {
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    descriptor found[MOST_CONFIGURATIONS], search = make(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t count = 0, engine = -1;
    set_part(g, search, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g->operations);
    set(g, search, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    finish(g, search);
    for (int i = 0; i < MOST_CONFIGURATIONS; i++)
        found[i] = make(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    g->fine = g->fine && !g->l->get(search, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                             MOST_CONFIGURATIONS, &count, found);
    for (int64_t i = 0; i < count && engine < 0 && g->fine; i++)
        engine = engine_of(g, found[i]);
    return engine;
}

/* Makes the plan of the graph by an engine, with its kernel from `kernels` where it is there. */
static void make_plan(const struct seam_dnn *d, graph *g, int64_t index, descriptor kernels) {
    descriptor engine = make(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    set_part(g, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, g->operations);
    set(g, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    finish(g, engine);
    descriptor configuration = make(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    set_part(g, configuration, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    finish(g, configuration);
    g->plan = make(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &d->handle);
    set_part(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    set_part(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_KERNEL_CACHE, kernels);
    finish(g, g->plan);
    int64_t bytes = 0, count = 0;
    g->fine = g->fine &&
              !g->l->get(g->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes) &&
              bytes <= SEAM_PRODUCT_WORKSPACE;
}

/* ---- the tables ---- */

static layer_key key_of(const seam_gemm *c, int64_t rows) {
    return (layer_key){rows, c->m, c->k, c->lda, c->ldb, c->ldc, c->addend ? c->ld_addend : 0, c->ld_rounded,
        c->transposed_a + 2 * c->relu + 4 * (c->bias != NULL)};
}

static int64_t power_above(int64_t n) {
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* The kind of the layer, with its kernel; NULL if cuDNN has none. */
static kind *find_kind(struct seam_dnn *d, const seam_gemm *c) {
    int64_t rows = power_above(c->n);
    layer_key key = key_of(c, rows);
    for (int i = 0; i < d->count; i++)
        if (memcmp(&d->kinds[i].key, &key, sizeof key) == 0)
            return d->kinds[i].first.fine ? &d->kinds[i] : NULL;
    if (d->count == KINDS)
        return NULL;
    kind *k = &d->kinds[d->count++];
    *k = (kind){.key = key, .first = layer_graph(d, c, rows)};
    graph *g = &k->first;
    k->engine = find_engine(g);
    k->kernels = make(g, CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR);
    set_part(g, k->kernels, CUDNN_ATTR_KERNEL_CACHE_OPERATION_GRAPH, g->operations);
    finish(g, k->kernels);
    g->fine = g->fine && k->engine >= 0;
    if (g->fine)
        make_plan(d, g, k->engine, k->kernels);
    return g->fine ? k : NULL;
}

static plan *plan_place(struct seam_dnn *d, const layer_key *key) {
    const int64_t *word = (const int64_t *)key;
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof *key / sizeof *word; i++)
        h = (h ^ (uint64_t)word[i]) * 0x100000001b3;
    plan *set_of = d->plans[(h ^ h >> 32) % SETS], *oldest = set_of;
    for (int i = 0; i < WAYS; i++) {
        if (set_of[i].known && memcmp(&set_of[i].key, key, sizeof *key) == 0)
            return &set_of[i];
        if (set_of[i].used < oldest->used)
            oldest = &set_of[i];
    }
    if (oldest->known)
        release_graph(&oldest->of);
    *oldest = (plan){.key = *key};
    return oldest;
}

/* The plan of this shape, made at its first use; NULL if cuDNN has none. Nothing is made in a capture. */
static graph *find_plan(seam *s, struct seam_dnn *d, const seam_gemm *c) {
    layer_key key = key_of(c, c->n);
    plan *p = plan_place(d, &key);
    p->used = ++d->asked;
    if (!p->known && !s->capturing) {
        kind *k = find_kind(d, c);
        p->known = true;
        if (k) {
            p->of = layer_graph(d, c, c->n);
            make_plan(d, &p->of, k->engine, k->kernels);
        }
    }
    return p->known && p->of.fine ? &p->of : NULL;
}

/* ---- the library ---- */

static void close_dnn(struct seam_dnn *d) {
    for (int i = 0; i < SETS * WAYS; i++)
        release_graph(&d->plans[i / WAYS][i % WAYS].of);
    for (int i = 0; i < d->count; i++)
        release_graph(&d->kinds[i].first);
    if (d->handle)
        d->l.destroy(d->handle);
    seam_library_close(d->l.object);
    free(d);
}

/* cuDNN with a handle on our stream; NULL, in every call, if it is not installed. */
static struct seam_dnn *open_dnn(seam *s) {
    if (s->looked_for_dnn)
        return s->dnn;
    if (s->capturing) /* opening allocates memory */
        return NULL;
    s->looked_for_dnn = true;
    struct seam_dnn *d = calloc(1, sizeof *d);
    if (d && find_functions(&d->l) && d->l.create(&d->handle) == CUDNN_STATUS_SUCCESS &&
        d->l.set_stream(d->handle, s->stream) == CUDNN_STATUS_SUCCESS)
        s->dnn = d;
    else if (d)
        close_dnn(d);
    return s->dnn;
}

/* The plan of a layer that cuDNN computes; NULL: not this one. */
static graph *layer_plan(seam *s, const seam_gemm *c) {
    uintptr_t addresses = (uintptr_t)c->A | (uintptr_t)c->B | (uintptr_t)c->C | (uintptr_t)c->addend;
    bool may = c->input == SEAM_BF16 && !c->transposed_b && c->batch == 1 && c->alpha == 1 &&
               (addresses | (uintptr_t)c->rounded) % 16 == 0;
    struct seam_dnn *d = may ? open_dnn(s) : NULL;
    return d ? find_plan(s, d, c) : NULL;
}

bool seam_has_layer(seam *s, const seam_gemm *c) {
    return layer_plan(s, c);
}

const char *seam_queue_layer(seam *s, const seam_gemm *c) {
    static const int64_t numbers[] = {X_AT, W_AT, C_AT, ROUNDED_AT, BIAS_AT, ADDEND_AT};
    graph *of = layer_plan(s, c);
    if (!of)
        return "cuDNN has no engine for the layer";
    graph run = {.l = of->l, .fine = true};
    int64_t number[6];
    const void *address[6] = {c->B, c->A, c->C, c->rounded, c->bias, c->addend};
    int n = 0;
    for (int i = 0; i < 6; i++)
        if (address[i])
            number[n] = numbers[i], address[n++] = address[i];
    descriptor pack = make(&run, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(&run, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, number);
    set(&run, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, address);
    set(&run, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &s->blas_workspace);
    finish(&run, pack);
    bool queued = run.fine && !of->l->execute(s->dnn->handle, of->plan, pack);
    release_graph(&run);
    return queued ? NULL : "cuDNN failed to queue the layer";
}

void seam_close_dnn(seam *s) {
    if (s->dnn)
        close_dnn(s->dnn);
}

void seam_describe_dnn(char *text, size_t bytes) {
    library l = {0};
    size_t v = find_functions(&l) ? l.version() : 0;
    if (v)
        snprintf(text, bytes, ", cuDNN %zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
    else
        snprintf(text, bytes, ", no cuDNN");
    seam_library_close(l.object);
}

#else
struct seam_dnn;

bool seam_has_layer(seam *s, const seam_gemm *c) {
    return s && c && false;
}

const char *seam_queue_layer(seam *s, const seam_gemm *c) {
    return s && c ? "built without cuDNN" : NULL;
}

void seam_close_dnn(seam *s) {
    (void)s;
}

void seam_describe_dnn(char *text, size_t bytes) {
    snprintf(text, bytes, ", built without cuDNN");
}
#endif
