/* tests/tensor/test_processor.c - making a context on a processor that cannot run the kernels fails with the
 * processor's name, before any kernel has run. */
#include "tensor/cpu/processor.h"
#include "tests/scratch.h"

/* Replaces the library's list of needed instructions by one with a bit that no processor has. */
const unsigned kernels_need = NEED_SSE4_2 | 1u << 31;

TEST(a_processor_is_refused_by_its_name) {
    char name[64];
    processor_name(name, sizeof name);
    assert_true(strlen(name) > 2);
    HELD(mo_context) *ctx = mo_context_create(NULL);
    assert_failed(ctx, MO_UNSUPPORTED, PARTS("context: ", name, "lacks", "-Dcpu=native"));
}

TEST(the_extensions_that_are_lacked_are_named) {
    char text[128] = "";
    assert_false(processor_lacks(0, text, sizeof text));
    assert_string_equal(text, "");
    bool lacked = processor_lacks(NEED_AVX512F, text, sizeof text);
    assert_string_equal(text, lacked ? "AVX-512 F" : "");
}
