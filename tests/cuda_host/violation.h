/* tests/cuda_host/violation.h - an error that on a real device would give wrong numbers, a hang or a crash ends the
 * process with one line that names it. */
#ifndef CUDA_HOST_VIOLATION_H
#define CUDA_HOST_VIOLATION_H

namespace cuda_host {

/* Writes "cuda-host: <text>, in <kernel, block, thread>" to standard error, and aborts. */
[[noreturn]] void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace cuda_host

#endif
