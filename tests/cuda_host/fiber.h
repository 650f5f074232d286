/* tests/cuda_host/fiber.h - stacks that one host thread switches between, for the threads of a block. */
#ifndef CUDA_HOST_FIBER_H
#define CUDA_HOST_FIBER_H

#include <cstddef>

namespace cuda_host {

struct fiber {
    void *pointer = nullptr; /* its stack pointer while it waits */
    void *stack = nullptr;   /* lowest byte; NULL: the host thread's own stack */
    std::size_t bytes = 0;
    void *shadow = nullptr; /* AddressSanitizer's record of it */
};

/* A fiber that begins in `body`, which never returns, at the first switch to it. Lives as long as the process. */
fiber *fiber_create(void (*body)());
/* Continues `to`; returns when something switches back to `from`, the fiber this runs on. */
void fiber_switch(fiber *from, fiber *to);
/* A body calls it first: `from` is the fiber that switched to it. */
void fiber_entered(fiber *from);

} // namespace cuda_host

#endif
