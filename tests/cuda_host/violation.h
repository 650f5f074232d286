/* tests/cuda_host/violation.h - errors that give wrong numbers, a hang or a crash on a real device end the process
 * here, with one line that names the error. */
#ifndef CUDA_HOST_VIOLATION_H
#define CUDA_HOST_VIOLATION_H

namespace cuda_host {

/* Writes "cuda-host: <text>, in <what runs on the device>" to standard error and aborts. */
[[noreturn]] void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace cuda_host

#endif
