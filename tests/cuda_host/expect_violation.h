/* tests/cuda_host/expect_violation.h - asserts that a misuse ends its process with one line. */
#ifndef CUDA_HOST_EXPECT_VIOLATION_H
#define CUDA_HOST_EXPECT_VIOLATION_H

#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

/* Runs misuse in a process of its own, which must abort after a line that holds the text. */
static inline void expect_violation(const char *text, void (*misuse)()) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    std::fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        misuse();
        _exit(0);
    }
    close(ends[1]);
    char line[4096];
    std::size_t n = 0;
    for (ssize_t got; (got = read(ends[0], line + n, sizeof line - 1 - n)) > 0;)
        n += (std::size_t)got;
    line[n] = 0;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!std::strstr(line, text) || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fail_msg("expected \"%s\", got status %d and \"%s\"", text, status, line);
}

#endif
