/* Makes one system call fail, or kills the process at it: the n-th that touches a file below FAULT_ROOT.
 *
 * cc -shared -fPIC -o shim.so shim.c -ldl; LD_PRELOAD=shim.so FAULT_ROOT=/tmp/x program
 * The program calls fault_arm(n, errno), n from 1, errno 0 to kill; fault_arm(0, 0) only counts, for fault_count(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls, target;
static atomic_int failure, armed;

void fault_arm(long nth, int error) {
    calls = 0;
    target = nth;
    failure = error;
    armed = 1;
}
long fault_count(void) {
    return calls;
}
void fault_disarm(void) {
    armed = 0;
}

static int below(const char *path) {
    const char *root = getenv("FAULT_ROOT");
    return root && path && strncmp(path, root, strlen(root)) == 0;
}
static int below_fd(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return below(path);
}
/* Whether this call is to fail; errno says how. */
static int fails(int touches) {
    if (!armed || !touches || atomic_fetch_add(&calls, 1) + 1 != target)
        return 0;
    if (failure == 0) {
        kill(getpid(), SIGKILL);
        for (;;)
            pause();
    }
    errno = failure;
    return 1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define MODE(flags, last) mode_t mode = 0; if ((flags) & (O_CREAT | __O_TMPFILE)) { va_list rest; va_start(rest, last); mode = va_arg(rest, mode_t); va_end(rest); }

#define OPEN(name) int name(const char *path, int flags, ...) { REAL(name); int saved = errno; int touches = below(path); errno = saved; MODE(flags, flags) return fails(touches) ? -1 : real(path, flags, mode); }
OPEN(open)
OPEN(open64)
#define OPENAT(name) int name(int at, const char *path, int flags, ...) { REAL(name); int touches = path[0] == '/' ? below(path) : at != AT_FDCWD && below_fd(at); MODE(flags, flags) return fails(touches) ? -1 : real(at, path, flags, mode); }
OPENAT(openat)
OPENAT(openat64)

#define BY_FD(type, name, declared, given) type name declared { REAL(name); return fails(below_fd(fd)) ? -1 : real given; }
BY_FD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
BY_FD(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
BY_FD(int, fsync, (int fd), (fd))
BY_FD(int, flock, (int fd, int how), (fd, how))
BY_FD(off64_t, lseek64, (int fd, off64_t to, int from), (fd, to, from))
BY_FD(int, fstat, (int fd, struct stat *found), (fd, found))
BY_FD(int, fstat64, (int fd, struct stat64 *found), (fd, found))
BY_FD(int, ftruncate64, (int fd, off64_t size), (fd, size))

#define BY_PATH(name, declared, given) int name declared { REAL(name); return fails(below(path)) ? -1 : real given; }
BY_PATH(unlink, (const char *path), (path))
BY_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
BY_PATH(rmdir, (const char *path), (path))
BY_PATH(rename, (const char *path, const char *to), (path, to))
BY_PATH(stat, (const char *path, struct stat *found), (path, found))
BY_PATH(stat64, (const char *path, struct stat64 *found), (path, found))
BY_PATH(lstat, (const char *path, struct stat *found), (path, found))
BY_PATH(lstat64, (const char *path, struct stat64 *found), (path, found))

int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat);
    int touches = path[0] == '/' ? below(path) : at != AT_FDCWD && below_fd(at);
    return fails(touches) ? -1 : real(at, path, flags);
}

#define FCNTL(name) int name(int fd, int command, ...) { REAL(name); va_list rest; va_start(rest, command); void *value = va_arg(rest, void *); va_end(rest); return fails(below_fd(fd)) ? -1 : real(fd, command, value); }
FCNTL(fcntl)
FCNTL(fcntl64)
