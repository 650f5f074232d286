/* tests/train/test_hop_spread.c - a hop stack whose rows several ranks compute together has the bytes of one process's,
 * after an interruption too; a rank that fails ends all. The ranks are threads (fake_ranks.h), whose sends wait. */
#include "tests/drawn_graphs.h"
#include "tests/folder.h"
#include "tests/train/fake_ranks.h"
#include "train/ranks/spread.h"

enum {
    NODES = 2 * MO_SPREAD_ROWS + 4321,
    EDGES = NODES,
    ATTRIBUTES = 5,
    WIDE = 64,
    NARROW = 16
}; /* the last two: columns; a hop is two blocks of the file, or one */

/* Nodes of one end are drawn in favour of the low ones, so that ranks of equal work have unequal rows. */
static mo_graph *draw_large(mo_context *ctx, bool attributed) {
    int64_t *u = calloc(EDGES, sizeof *u), *v = calloc(EDGES, sizeof *v);
    mo_random r = mo_random_at(7, MO_PURPOSE_CHECK, 1);
    for (int64_t e = 0; e < EDGES; e++) {
        double x = mo_random_uniform(&r);
        u[e] = (int64_t)(x * x * (NODES - 1));
        v[e] = mo_random_below(&r, NODES - 1);
    }
    mo_graph *graph = mo_graph_from_edges(ctx, "large", NODES, EDGES, u, v);
    expect_ok(ctx);
    graph->hash[0] = 99;
    graph->hash[1] = attributed;
    if (attributed) {
        graph->features = ATTRIBUTES;
        graph->feature_nnz = NODES;
        graph->feature_pointer = calloc(NODES + 1, sizeof(int64_t));
        graph->feature_column = calloc(NODES, sizeof(int32_t));
        graph->feature_value = calloc(NODES, sizeof(float));
        for (int64_t i = 0; i < NODES; i++) {
            graph->feature_pointer[i + 1] = i + 1;
            graph->feature_column[i] = (int32_t)(i % 7 % ATTRIBUTES);
            graph->feature_value[i] = (float)mo_random_normal(&r);
        }
    }
    free(u);
    free(v);
    return graph;
}

typedef struct member {
    mo_ranks ranks;
    mo_feature_options options;
    bool attributed, cached;
    float *x; /* what it reads of the stack */
    int64_t n;
    double residual;
    mo_code code;
    char message[1024];
} member;

static void *open_features(void *state) {
    member *m = state;
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    mo_graph *graph = draw_large(ctx, m->attributed);
    m->options.ranks = &m->ranks;
    mo_features *f = mo_features_open(graph, &m->options);
    mo_tensor *hops = f ? mo_arrays_find(f->arrays, "hops") : mo_null_tensor(ctx);
    m->n = f ? mo_numel(hops) : 0;
    m->x = calloc((size_t)m->n + 1, sizeof *m->x);
    if (f) {
        if (mo_tensor_dtype(hops) == MO_F32)
            mo_tensor_read(hops, m->x, (size_t)m->n * sizeof *m->x);
        m->cached = f->from_cache;
        m->residual = f->svd_residual;
    }
    m->code = mo_context_status(ctx)->code;
    snprintf(m->message, sizeof m->message, "%s", mo_context_status(ctx)->message);
    mo_features_release(f);
    mo_graph_release(graph);
    mo_context_release(ctx);
    return NULL;
}

/* Opens the features on `size` ranks, each with its own cache folder. */
static void open_on_ranks(member *m, int size, bool attributed, const char *const *folder, int width, mo_dtype stack) {
    static fake_world world;
    fake_world_open(&world);
    world.patient = true;
    for (int r = 0; r < size; r++) {
        m[r] = (member){.ranks = fake_ranks(&world, r, size), .options = plain, .attributed = attributed};
        m[r].options.dim = width;
        m[r].options.power_iterations = 1;
        m[r].options.place = MO_FEATURES_ON_DISK;
        m[r].options.cache = folder[r];
        m[r].options.stack = stack;
    }
    fake_world_run(&world, size, open_features, m, sizeof *m);
}

static void close_members(member *m, int size) {
    for (int r = 0; r < size; r++)
        free(m[r].x);
}

/* The bytes of the only stack in a folder, which is then removed. */
static char *take_stack(const char *folder, size_t *bytes) {
    char path[1024];
    assert_int_equal(folder_files(folder, ".stack", path), 1);
    assert_int_equal(folder_files(folder, "", NULL), 1);
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *x = malloc(*bytes);
    assert_int_equal(fread(x, 1, *bytes, file), *bytes);
    fclose(file);
    folder_remove(folder);
    return x;
}

static void fill_folders(const char **folder, const char *path) {
    for (int r = 0; r < MOST_RANKS; r++)
        folder[r] = path;
}

static void expect_bytes_of_one(scratch *s, int width, mo_dtype stack, int first, int step) {
    const char *folder[MOST_RANKS];
    char path[512];
    size_t bytes, several;
    member m[5];
    snprintf(path, sizeof path, "%s", scratch_path(s, "one"));
    fill_folders(folder, path);
    open_on_ranks(m, 1, false, folder, width, stack);
    assert_int_equal(m[0].code, MO_OK);
    double residual = m[0].residual;
    close_members(m, 1);
    char *one = take_stack(path, &bytes);
    for (int W = first; W <= 4; W += step) { /* more than there are blocks of rows, at last */
        open_on_ranks(m, W, false, folder, width, stack);
        for (int r = 0; r < W; r++) {
            if (m[r].code)
                fail_msg("rank %d of %d: %s", r, W, m[r].message);
            assert_false(m[r].cached);
            assert_true(m[r].residual == residual);
            assert_memory_equal(m[r].x, m[0].x, (size_t)m[0].n * sizeof(float));
        }
        close_members(m, W);
        char *x = take_stack(path, &several);
        assert_int_equal(several, bytes);
        assert_memory_equal(x, one, bytes);
        free(x);
    }
    free(one);
}

static void any_number_of_ranks_writes_the_same_file(void **state) {
    expect_bytes_of_one(*state, WIDE, MO_F32, 2, 2);
}

static void any_number_of_ranks_writes_the_same_halves(void **state) {
    expect_bytes_of_one(*state, NARROW, MO_F16, 3, 2);
}

/* The SVD of attributes sums over nodes rank by rank. */
static void attributes_agree_to_rounding(void **state) {
    const char *folder[MOST_RANKS];
    char path[512];
    member one, m[3];
    snprintf(path, sizeof path, "%s", scratch_path(*state, "attributes"));
    fill_folders(folder, path);
    open_on_ranks(&one, 1, true, folder, NARROW, MO_F32);
    open_on_ranks(m, 3, true, folder, NARROW, MO_F32);
    assert_int_equal(one.code + m[0].code + m[1].code + m[2].code, 0);
    assert_int_equal(folder_files(path, ".stack", NULL), 2); /* under keys of their own */
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < one.n; i++) {
        norm += (double)one.x[i] * one.x[i];
        difference += ((double)one.x[i] - m[0].x[i]) * ((double)one.x[i] - m[0].x[i]);
    }
    print_message("%lld values of 3 ranks differ from those of one by %.1e of their norm\n", (long long)one.n,
        sqrt(difference / norm));
    assert_true(difference <= 1e-10 * norm);
    close_members(&one, 1);
    close_members(m, 3);
    folder_remove(path);
}

/* As after an interruption: the last blocks have no checksum. */
static void an_interrupted_run_goes_on_with_other_ranks(void **state) {
    const char *folder[MOST_RANKS];
    char path[512], stack[1024], partial[1100];
    size_t bytes, again;
    member m[3];
    snprintf(path, sizeof path, "%s", scratch_path(*state, "interrupted"));
    fill_folders(folder, path);
    for (int lost = 1; lost <= 3; lost += 2) { /* the checksums of one block, and of more than a hop */
        open_on_ranks(m, 2, false, folder, NARROW, MO_F32);
        close_members(m, 2);
        assert_int_equal(folder_files(path, ".stack", stack), 1);
        FILE *file = fopen(stack, "r+b");
        fseek(file, 0, SEEK_END);
        bytes = (size_t)ftell(file);
        char *whole = malloc(bytes);
        rewind(file);
        assert_int_equal(fread(whole, 1, bytes, file), bytes);
        fseek(file, -8L * lost, SEEK_END);
        for (int i = 0; i < 8 * lost; i++)
            fputc(0, file);
        fclose(file);
        snprintf(partial, sizeof partial, "%s.partial", stack);
        assert_int_equal(rename(stack, partial), 0);
        open_on_ranks(m, 3, false, folder, NARROW, MO_F32);
        assert_int_equal(m[0].code + m[1].code + m[2].code, 0);
        assert_false(m[2].cached);
        close_members(m, 3);
        open_on_ranks(m, 2, false, folder, NARROW, MO_F32);
        assert_true(m[0].cached && m[1].cached);
        close_members(m, 2);
        char *x = take_stack(path, &again);
        assert_int_equal(again, bytes);
        assert_memory_equal(x, whole, bytes);
        free(x);
        free(whole);
    }
}

static void a_rank_that_fails_ends_all(void **state) {
    const char *folder[MOST_RANKS];
    char path[512], other[512];
    member m[4];
    snprintf(path, sizeof path, "%s", scratch_path(*state, "shared"));
    snprintf(other, sizeof other, "%s", scratch_path(*state, "apart"));
    for (int failing = 0; failing < 4; failing += 1 + failing) {
        fill_folders(folder, path);
        folder[failing] = failing ? other : "/proc/none"; /* another file system: the file of rank 0 is not there */
        open_on_ranks(m, 4, false, folder, NARROW, MO_F32);
        for (int r = 0; r < 4; r++) {
            assert_int_equal(m[r].code, MO_IO);
            assert_int_equal(m[r].n, 0);
        }
        char name[32];
        snprintf(name, sizeof name, "rank %d of 4: ", failing); /* the last has no rows */
        assert_non_null(strstr(m[failing ? 0 : 1].message, name));
        close_members(m, 4);
        folder_remove(path);
        folder_remove(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_writes_the_same_file),
        cmocka_unit_test(any_number_of_ranks_writes_the_same_halves),
        cmocka_unit_test(attributes_agree_to_rounding),
        cmocka_unit_test(an_interrupted_run_goes_on_with_other_ranks),
        cmocka_unit_test(a_rank_that_fails_ends_all),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
