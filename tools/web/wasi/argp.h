/* tools/web/wasi/argp.h - there is no command line. */
struct argp_state;
