/* tools/web/wasi/fcntl.h - no descriptor is duplicated. */
#include_next <fcntl.h>
#define F_DUPFD_CLOEXEC (-1)
