/* tests/tensor/test_arena.c - the free list: no overlap, merging, reuse, and one slab after a reset. */
#include "tensor/arena.h"
#include "tests/scratch.h"

enum { BLOCKS = 400 };

TEST_OF(random_blocks_never_overlap_and_all_merge_again, mo_context *ctx) {
    mo_arena *arena = mo_arena_create(ctx);
    mo_storage *S[BLOCKS] = {0};
    mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, 0);
    for (int round = 0; round < 20000; round++) {
        int i = (int)mo_random_below(&r, BLOCKS);
        if (S[i]) {
            unsigned char *data = S[i]->data;
            for (size_t j = 0; j < S[i]->bytes; j++)
                assert_int_equal(data[j], (unsigned char)(i * 7)); /* the bytes are still those written: no other block
                                                                    * overlaps */
            mo_storage_release(S[i]);
            S[i] = NULL;
        } else {
            size_t bytes = (size_t)mo_random_below(&r, mo_random_below(&r, 100) ? 3000 : 300000);
            S[i] = mo_arena_storage(arena, bytes);
            assert_non_null(S[i]);
            assert_int_equal((uintptr_t)S[i]->data % 64, 0);
            memset(S[i]->data, i * 7, bytes);
        }
    }
    for (int i = 0; i < BLOCKS; i++)
        mo_storage_release(S[i]);
    mo_arena_reset(arena);
    int64_t before = mo_context_counters(ctx).allocations;
    mo_storage *whole = mo_arena_storage(arena, 1 << 20); /* the whole first slab, which is only free again if all of
                                                           * its blocks merged */
    assert_non_null(whole);
    assert_int_equal(mo_context_counters(ctx).allocations, before);
    mo_storage_release(whole);
    mo_arena_release(arena);
    assert_true(mo_ok(ctx));
}

TEST_OF(the_same_requests_ask_the_system_for_nothing_more, mo_context *ctx) {
    mo_arena *arena = mo_arena_create(ctx);
    int64_t after[4];
    for (int round = 0; round < 4; round++) {
        mo_storage *S[64];
        for (int i = 0; i < 64; i++)
            S[i] = mo_arena_storage(arena, (size_t)(i * 40000 % 700000));
        for (int i = 0; i < 64; i++)
            mo_storage_release(S[i * 29 % 64]);
        mo_arena_reset(arena);
        after[round] = mo_context_counters(ctx).allocations;
    }
    assert_int_equal(after[1], after[0]);
    assert_int_equal(after[3], after[0]);
    mo_arena_release(arena);
}

TEST_OF(freed_memory_is_used_again_within_a_round, mo_context *ctx) {
    mo_arena *arena = mo_arena_create(ctx);
    int64_t base = mo_context_counters(ctx).bytes_live;
    for (int i = 0; i < 10000; i++)
        mo_storage_release(mo_arena_storage(arena, 500000));
    assert_true(mo_context_counters(ctx).bytes_live - base < 2 << 20);
    assert_int_equal(mo_context_counters(ctx).tape_live, 0);
    assert_int_equal(mo_context_counters(ctx).tape_peak, (500000 + 63) / 64 * 64); /* rounded up to 64 bytes */
    mo_context_reset_peaks(ctx);
    assert_int_equal(mo_context_counters(ctx).tape_peak, 0);
    mo_arena_release(arena);
}

TEST_OF(large_tensors_take_their_own_size, mo_context *ctx) {
    enum { LARGE_BLOCKS = 5, BYTES = 40 << 20 };
    mo_arena *arena = mo_arena_create(ctx);
    int64_t base = mo_context_counters(ctx).bytes_live;
    mo_storage *S[LARGE_BLOCKS];
    for (int i = 0; i < LARGE_BLOCKS; i++)
        S[i] = mo_arena_storage(arena, BYTES);
    assert_true(mo_context_counters(ctx).bytes_live - base < (int64_t)LARGE_BLOCKS * BYTES + (1 << 20));
    for (int i = 0; i < LARGE_BLOCKS; i++)
        mo_storage_release(S[i]);
    mo_arena_release(arena);
}

TEST_OF(a_request_without_end_is_an_error, mo_context *ctx) {
    mo_arena *arena = mo_arena_create(ctx);
    assert_null(mo_arena_storage(arena, SIZE_MAX - 5));
    assert_int_equal(mo_context_status(ctx)->code, MO_MEMORY);
    mo_arena_release(arena);
}
