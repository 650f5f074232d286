/* tools/cli/interrupt.c - the signals that ask a command to end. */
#include "tools/cli/interrupt.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t first_signal; /* a signal handler can return its result only through a global */

static void note_signal(int number) {
    if (!first_signal)
        first_signal = number;
}

static const char *last_words; /* the line that say_interrupted was given */

static void say_and_end(int number) {
    ssize_t written = write(STDERR_FILENO, last_words, strlen(last_words));
    (void)written;
    raise(number); /* kills the process when this handler returns, since SA_RESETHAND is set */
}

/* Sets the handler of the signals that the process does not ignore. */
static void handle(void (*handler)(int number), int flags) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND | flags}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

void say_interrupted(const char *line) {
    last_words = line;
    handle(say_and_end, 0);
}

void catch_interrupts(int flags) {
    handle(note_signal, flags);
}

const volatile sig_atomic_t *interruption(void) {
    return &first_signal;
}

int interrupted_code(void) {
    return 128 + first_signal;
}
