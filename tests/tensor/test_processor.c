/* tests/tensor/test_processor.c - making a context on a processor that cannot run the kernels fails with the
 * processor's name, before any kernel has run. */
#include "tensor/cpu/processor.h"
#include "tests/scratch.h"

/* Replaces the library's level by one that no processor has. */
const processor_level kernels_need = LEVEL_AVX512 + 1;

TEST(a_processor_is_refused_by_its_name) {
    char name[64];
    processor_name(name, sizeof name);
    assert_true(strlen(name) > 2);
    HELD(mo_context) *ctx = mo_context_create(NULL);
    assert_failed(ctx, MO_UNSUPPORTED, PARTS("context: ", name, "lacks", "-Dcpu=native"));
}

TEST(the_extensions_that_are_lacked_are_named) {
    assert_null(processor_lacks(LEVEL_ANY));
    const char *lacked = processor_lacks(LEVEL_AVX512);
    assert_true(!lacked || strstr(lacked, "AVX") || strstr(lacked, "SSE") || strstr(lacked, "x86-64"));
}
