/* tests/cuda_host/fiber.h - fibers: stacks between which one host thread switches, for the threads of a block. */
#ifndef CUDA_HOST_FIBER_H
#define CUDA_HOST_FIBER_H

#include <cstddef>

namespace cuda_host {

struct fiber {
    void *pointer = nullptr; /* the stack pointer while the fiber waits */
    void *stack = nullptr;   /* lowest byte of the stack; NULL: the host thread's own stack */
    std::size_t bytes = 0;
    void *shadow = nullptr; /* AddressSanitizer's record of the stack */
};

/* Returns a fiber whose first switch begins `body`, which never returns. It lives as long as the process. */
fiber *fiber_create(void (*body)());
/* Continues `to`; returns when another fiber switches back to `from`, the running fiber. */
void fiber_switch(fiber *from, fiber *to);
/* `body` must call it first; from: the fiber that switched to it. */
void fiber_entered(fiber *from);

} // namespace cuda_host

#endif
