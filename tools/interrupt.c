/* tools/interrupt.c - the signals that ask a command to end. */
#include "tools/interrupt.h"

#include <stddef.h>

static volatile sig_atomic_t first_signal; /* a signal handler can return its result only through a global */

static void note_signal(int number) {
    if (!first_signal)
        first_signal = number;
}

void catch_interrupts(int flags) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND | flags}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

const volatile sig_atomic_t *interruption(void) {
    return &first_signal;
}

int interrupted_code(void) {
    return 128 + first_signal;
}
