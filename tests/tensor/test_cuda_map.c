/* tests/tensor/test_cuda_map.c - elementwise kernels, copies and fills on CUDA are the CPU's bit by bit, whether a
 * thread takes elements one by one or 16 bytes at a time: few and many elements, views that begin at the second one,
 * rows with gaps, transposed and broadcast views, NaN; and every function is the same function both ways. Skipped if
 * there is no CUDA device. */
#include "tensor/storage.h"
#include "tests/device.h"
#include "tests/scratch.h"

#include <math.h>

enum { ROOM = 4112, VIEWS = 4, MANY = (1 << 20) + 1203 };
enum { Y, X1, X2, C };

/* The views of y, x1, x2 and c: where they begin, and their strides. */
typedef struct layout {
    int ndim;
    int64_t shape[2];
    struct {
        int64_t first, stride[2];
    } of[VIEWS];
} layout;

static const layout matrices[] = {
    {2, {8, 12}, {{0, {12, 1}}, {0, {12, 1}}, {0, {0, 1}}, {0, {1, 0}}}},    /* a row, a column */
    {2, {8, 12}, {{0, {16, 1}}, {4, {20, 1}}, {8, {1, 0}}, {0, {0, 1}}}},    /* windows of aligned rows */
    {2, {8, 12}, {{0, {12, 1}}, {0, {13, 1}}, {0, {12, 1}}, {0, {12, 1}}}},  /* of rows that are not */
    {2, {8, 12}, {{0, {12, 1}}, {1, {16, 1}}, {0, {0, 1}}, {0, {12, 1}}}},   /* one column further */
    {2, {5, 13}, {{0, {16, 1}}, {0, {16, 1}}, {0, {16, 1}}, {0, {16, 1}}}},  /* a length that is no group's */
    {2, {12, 8}, {{0, {8, 1}}, {0, {1, 12}}, {0, {8, 1}}, {0, {1, 12}}}},    /* transposed */
    {2, {12, 8}, {{0, {1, 12}}, {0, {1, 12}}, {0, {1, 12}}, {0, {1, 12}}}},  /* all transposed */
    {2, {16, 16}, {{0, {32, 2}}, {0, {16, 1}}, {0, {16, 1}}, {0, {16, 1}}}}, /* every second element of y */
    {2, {16, 16}, {{0, {16, 1}}, {0, {16, 1}}, {0, {32, 2}}, {0, {0, 0}}}},  /* of x2; c is one value */
    {2, {300, 13}, {{0, {13, 1}}, {0, {13, 1}}, {0, {0, 0}}, {0, {13, 1}}}}, /* rows that are one axis */
};

/* n elements, each view from its first or second element on (a bit of `second`) or one value for all (of `same`). */
static layout line(int64_t n, unsigned second, unsigned same) {
    layout l = {1, {n, 1}, {{0, {0, 0}}}};
    for (unsigned v = 0; v < VIEWS; v++) {
        l.of[v].first = second >> v & 1;
        l.of[v].stride[0] = !(same >> v & 1);
    }
    return l;
}

/* Memory of one device: the views' rooms, and bytes for c. */
typedef struct rooms {
    mo_context *ctx;
    mo_tensor *of[VIEWS], *bytes;
} rooms;

static void write_values(mo_tensor *T, mo_dtype dtype, int64_t n, uint64_t stream) {
    double *x = malloc((size_t)n * sizeof *x);
    float *narrow = malloc((size_t)n * sizeof *narrow);
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 1, -1, 0.3, 1.7};
    assert_true(x && narrow);
    mo_random r = mo_random_at(47, MO_PURPOSE_CHECK, stream);
    for (int64_t i = 0; i < n; i++) {
        x[i] = mo_random_normal(&r);
        if (i % 7 == 3)
            x[i] = odd[(uint64_t)(i / 7) * (stream + 1) % 9];
        narrow[i] = (float)x[i];
    }
    const void *values = dtype == MO_F64 ? (void *)x : narrow;
    assert_int_equal(mo_tensor_write(T, values, (size_t)n * mo_dtype_size(dtype)), MO_OK);
    free(x);
    free(narrow);
}

static rooms make_rooms(mo_context *ctx, mo_dtype dtype, int64_t n) {
    rooms r = {.ctx = ctx, .bytes = mo_tensor_create(ctx, MO_U8, 1, &n)};
    unsigned char *flags = malloc((size_t)n);
    assert_non_null(flags);
    for (int64_t i = 0; i < n; i++)
        flags[i] = (unsigned char)(i * i % 3);
    assert_int_equal(mo_tensor_write(r.bytes, flags, (size_t)n), MO_OK);
    free(flags);
    for (int v = 0; v < VIEWS; v++) {
        r.of[v] = mo_tensor_create(ctx, dtype, 1, &n);
        write_values(r.of[v], dtype, n, (uint64_t)v);
    }
    return r;
}

static void release_rooms(rooms *r) {
    for (int v = 0; v < VIEWS; v++)
        mo_tensor_release(r->of[v]);
    mo_tensor_release(r->bytes);
}

static mo_view view_in(mo_tensor *room, const layout *l, int v) {
    mo_view view = mo_tensor_view(room);
    view.data = (char *)view.data + l->of[v].first * (int64_t)mo_dtype_size(view.dtype);
    view.ndim = l->ndim;
    memcpy(view.shape, l->shape, sizeof l->shape);
    memcpy(view.stride, l->of[v].stride, sizeof l->of[v].stride);
    return view;
}

/* The work of a case, by its number: functions of one and of two operands first. */
enum { MAPS1 = MO_MAP_GELU_CURVE + 1, MAPS = MAPS1 + MO_MAP_POWER + 1, WHERE = MAPS, WHERE_BYTES, COPY, FILL, WORKS };

static void work(const rooms *r, const layout *l, int which) {
    const mo_kernels *k = mo_kernels_of(r->ctx, mo_tensor_view(r->of[Y]).dtype);
    mo_view y = view_in(r->of[Y], l, Y), x1 = view_in(r->of[X1], l, X1), x2 = view_in(r->of[X2], l, X2);
    mo_view c = view_in(which == WHERE ? r->of[C] : r->bytes, l, C);
    if (which < MAPS1)
        k->map1(r->ctx, (mo_map1)which, 0.3, 1.7, &x1, &y);
    else if (which < MAPS)
        k->map2(r->ctx, (mo_map2)(which - MAPS1), &x1, &x2, &y);
    else if (which == COPY)
        r->ctx->backend->copy(r->ctx, &x1, &y);
    else if (which == FILL)
        r->ctx->backend->fill(r->ctx, -0.3, &y);
    else
        k->where(r->ctx, &c, &x1, &x2, &y);
}

/* The whole room of y after the work, with -7 where nothing was written. */
static void results(const rooms *r, const layout *l, int which, void *out, size_t bytes) {
    mo_tensor_fill(r->of[Y], -7);
    work(r, l, which);
    if (mo_tensor_read(r->of[Y], out, bytes) != MO_OK)
        fail_msg("%s", mo_context_status(r->ctx)->message);
}

static double value_of(const void *x, mo_dtype dtype, int64_t i) {
    return dtype == MO_F64 ? ((const double *)x)[i] : ((const float *)x)[i];
}

/* Equal bits; any NaN is NaN. */
static void assert_same(const void *got, const void *want, mo_dtype dtype, int64_t n, const layout *l, int which) {
    size_t size = mo_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        double a = value_of(got, dtype, i), b = value_of(want, dtype, i);
        if (memcmp((const char *)got + (size_t)i * size, (const char *)want + (size_t)i * size, size) != 0 &&
            !(isnan(a) && isnan(b)))
            fail_msg("work %d, %s [%d, %d], strides %d %d: value %d is %.17g, expected %.17g", which,
                mo_dtype_name(dtype), (int)l->shape[0], (int)l->shape[1], (int)l->of[X1].stride[0],
                (int)l->of[X1].stride[1], (int)i, a, b);
    }
}

static unsigned char got[ROOM * 8], want[ROOM * 8];

static void compare(const rooms *cuda, const rooms *cpu, mo_dtype dtype, const layout *l, int which) {
    size_t bytes = ROOM * mo_dtype_size(dtype);
    results(cuda, l, which, got, bytes);
    results(cpu, l, which, want, bytes);
    assert_same(got, want, dtype, ROOM, l, which);
}

/* Runs the check in both float types, on rooms of n elements of both devices. */
static void on_both(int64_t n, void (*check)(const rooms *cuda, const rooms *cpu, mo_dtype dtype)) {
    mo_context *device = device_context(MO_CUDA), *host = device_context(MO_CPU);
    for (int wide = 0; wide < 2; wide++) {
        mo_dtype dtype = wide ? MO_F64 : MO_F32;
        rooms cuda = make_rooms(device, dtype, n), cpu = make_rooms(host, dtype, n);
        check(&cuda, &cpu, dtype);
        release_rooms(&cuda);
        release_rooms(&cpu);
    }
    assert_int_equal(mo_context_release(device), MO_OK);
    assert_int_equal(mo_context_release(host), MO_OK);
}

static const int works_at_any_layout[] = {MO_MAP_RELU, MAPS1 + MO_MAP_SUB, WHERE, WHERE_BYTES, COPY, FILL};
enum { ANY_LAYOUT = sizeof works_at_any_layout / sizeof *works_at_any_layout };

static void check_layouts(const rooms *cuda, const rooms *cpu, mo_dtype dtype) {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 4097};
    static const unsigned changed[][2] = {{0, 0}, {1 << Y, 0}, {1 << X1, 0}, {1 << X2, 0}, {1 << C, 0}, {15, 0},
        {0, 1 << X1}, {0, 1 << X2}, {0, 1 << C}, {1 << X2, 1 << X2}, {0, 1 << X1 | 1 << X2 | 1 << C}};
    for (int w = 0; w < ANY_LAYOUT; w++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t k = 0; k < sizeof changed / sizeof *changed; k++) {
                layout l = line(sizes[i], changed[k][0], changed[k][1]);
                compare(cuda, cpu, dtype, &l, works_at_any_layout[w]);
            }
        for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
            compare(cuda, cpu, dtype, &matrices[i], works_at_any_layout[w]);
    }
}

TEST(every_layout_is_the_cpus) {
    on_both(ROOM, check_layouts);
}

/* Whether a device rounds the function as the CPU does: no product that may be added without rounding, no series. */
static bool is_exact(int which) {
    static const mo_map1 exact[] = {MO_MAP_NEG, MO_MAP_SQRT, MO_MAP_RELU, MO_MAP_ABS, MO_MAP_SQUARE, MO_MAP_SIGN,
        MO_MAP_STEP, MO_MAP_CLAMP, MO_MAP_CLAMP_MASK, MO_MAP_LEAKY_RELU, MO_MAP_LEAKY_STEP};
    bool found = which >= MAPS1 && which != MAPS1 + MO_MAP_POWER;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        found = found || which == (int)exact[i];
    return found;
}

static void check_functions(const rooms *cuda, const rooms *cpu, mo_dtype dtype) {
    static unsigned char single[ROOM * 8];
    size_t size = mo_dtype_size(dtype);
    for (int which = 0; which < WORKS; which++) {
        layout grouped = line(ROOM - 1, 0, 0), apart = line(ROOM - 1, 1 << Y, 0);
        results(cuda, &grouped, which, got, ROOM * size);
        results(cuda, &apart, which, single, ROOM * size);
        assert_same(got, single + size, dtype, ROOM - 1, &grouped, which);
        if (is_exact(which))
            compare(cuda, cpu, dtype, &grouped, which);
    }
}

TEST(every_function_is_the_same_in_groups) {
    on_both(ROOM, check_functions);
}

static void check_many(const rooms *cuda, const rooms *cpu, mo_dtype dtype) {
    size_t bytes = MANY * mo_dtype_size(dtype);
    void *out[] = {malloc(bytes), malloc(bytes)};
    assert_true(out[0] && out[1]);
    layout l = line(MANY - 2, 0, 0);
    results(cuda, &l, MAPS1 + MO_MAP_SUB, out[0], bytes);
    results(cpu, &l, MAPS1 + MO_MAP_SUB, out[1], bytes);
    assert_same(out[0], out[1], dtype, MANY, &l, MAPS1 + MO_MAP_SUB);
    free(out[0]);
    free(out[1]);
}

/* More groups than threads at once: two a thread, and some threads one. */
TEST(threads_with_two_groups_take_every_element) {
    on_both(MANY, check_many);
}

static void check_words(const rooms *cuda, const rooms *cpu, mo_dtype dtype) {
    static const mo_dtype stored[] = {MO_BF16, MO_U8, MO_I64};
    static const layout windows = {2, {6, 16}, {{0, {16, 1}}, {32, {32, 1}}, {0, {0, 0}}, {0, {0, 0}}}};
    size_t bytes = ROOM * mo_dtype_size(dtype);
    for (int d = 0; d < 3; d++)
        for (int which = COPY; which <= FILL; which++) {
            const rooms *on[] = {cuda, cpu};
            void *out[] = {got, want};
            for (int k = 0; k < 2; k++) {
                mo_view x = view_in(on[k]->of[X1], &windows, X1), y = view_in(on[k]->of[Y], &windows, Y);
                x.dtype = y.dtype = stored[d];
                mo_tensor_fill(on[k]->of[Y], -7);
                if (which == COPY)
                    on[k]->ctx->backend->copy(on[k]->ctx, &x, &y);
                else
                    on[k]->ctx->backend->fill(on[k]->ctx, 200.5, &y);
                assert_int_equal(mo_tensor_read(on[k]->of[Y], out[k], bytes), MO_OK);
            }
            assert_memory_equal(got, want, bytes);
        }
}

TEST(words_of_any_size_are_moved_and_filled) {
    on_both(ROOM, check_words);
}
