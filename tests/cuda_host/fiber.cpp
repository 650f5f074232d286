/* tests/cuda_host/fiber.cpp - switching stacks: sixteen instructions on x86-64, ucontext elsewhere. */
#include "tests/cuda_host/fiber.h"

#include "tests/cuda_host/violation.h"

#include <cstdint>
#include <sys/mman.h>

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
static constexpr std::size_t stack_bytes = 256 << 10; /* large, as instrumented code has larger frames */
#else
static constexpr std::size_t stack_bytes = 64 << 10;
#endif
static constexpr std::size_t page = 4096;

#if defined __x86_64__
extern "C" void cuda_host_switch(void **from, void *to);
asm(R"(
    .text
    .globl cuda_host_switch
    .hidden cuda_host_switch
    .type cuda_host_switch, @function
cuda_host_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cuda_host_switch, . - cuda_host_switch
)");
#else
#include <ucontext.h>
static void cuda_host_switch(void **from, void *to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, static_cast<ucontext_t *>(to));
}
#endif

namespace cuda_host {

/* leaving and entered tell AddressSanitizer of a switch, before and after it. */
static void leaving([[maybe_unused]] fiber *from, [[maybe_unused]] fiber *to) {
#if defined __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->shadow, to->stack, to->bytes);
#endif
}

static void arrived([[maybe_unused]] void *shadow, [[maybe_unused]] fiber *from) {
#if defined __SANITIZE_ADDRESS__
    const void *stack;
    std::size_t bytes;
    __sanitizer_finish_switch_fiber(shadow, &stack, &bytes);
    if (from && !from->stack) { /* the host thread's stack, which only the sanitizer knows */
        from->stack = const_cast<void *>(stack);
        from->bytes = bytes;
    }
#endif
}

fiber *fiber_create(void (*body)()) {
    void *map =
        mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(map, page, PROT_NONE) != 0)
        violation("no memory for the stack of a thread");
    fiber *f = new fiber;
    f->stack = static_cast<char *>(map) + page;
    f->bytes = stack_bytes;
#if defined __x86_64__
    /* The stack as cuda_host_switch leaves it: six registers and the return address; one more word aligns the stack as
     * after a call. */
    void **top = reinterpret_cast<void **>(static_cast<char *>(f->stack) + stack_bytes) - 8;
    top[6] = reinterpret_cast<void *>(body);
    f->pointer = top;
#else
    ucontext_t *start = new ucontext_t;
    getcontext(start);
    start->uc_stack.ss_sp = f->stack;
    start->uc_stack.ss_size = f->bytes;
    start->uc_link = nullptr;
    makecontext(start, body, 0);
    f->pointer = start;
#endif
    return f;
}

void fiber_switch(fiber *from, fiber *to) {
    leaving(from, to);
    cuda_host_switch(&from->pointer, to->pointer);
    arrived(from->shadow, nullptr);
}

void fiber_entered(fiber *from) {
    arrived(nullptr, from);
}

} // namespace cuda_host
