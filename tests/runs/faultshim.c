/* Preloaded: count the system calls that change files below a folder, and let the n-th fail.

   mgae_arm(root, at, error): the at-th call sets errno, or with error 0 kills the process.
   mgae_calls(): how many there were since. Reads are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static int calls, at, error;

void mgae_arm(const char *folder, int n, int number) {
    snprintf(root, sizeof root, "%s", folder);
    calls = 0, at = n, error = number;
}

int mgae_calls(void) { return calls; }

static int strike(const char *path) {
    if (!root[0] || strncmp(path, root, strlen(root))) return 0;
    if (++calls != at) return 0;
    if (!error) kill(getpid(), SIGKILL);
    errno = error;
    return 1;
}

static int strike_fd(int fd, const char *name) {
    char link[64], path[2 * PATH_MAX];
    if (!root[0] || (name && name[0] == '/')) return root[0] ? strike(name) : 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = fd == AT_FDCWD ? readlink("/proc/self/cwd", path, PATH_MAX - 1)
                                  : readlink(link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = 0;
    if (name) snprintf(path + size, sizeof path - size, "/%s", name);
    return strike(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define CHANGES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define MODE(flags) \
    mode_t mode = 0; \
    if (flags & O_CREAT) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
#define OPEN(name) \
    int name(const char *path, int flags, ...) { MODE(flags) \
        return (flags & CHANGES) && strike_fd(AT_FDCWD, path) ? -1 : REAL(name)(path, flags, mode); }
#define OPENAT(name) \
    int name(int fd, const char *path, int flags, ...) { MODE(flags) \
        return (flags & CHANGES) && strike_fd(fd, path) ? -1 : REAL(name)(fd, path, flags, mode); }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)

#define ON_FD(type, name, params, args) \
    type name params { if (strike_fd(fd, NULL)) return -1; return REAL(name) args; }
ON_FD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
ON_FD(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t from), (fd, data, size, from))
ON_FD(ssize_t, pwrite64, (int fd, const void *data, size_t size, off_t from), (fd, data, size, from))
ON_FD(ssize_t, writev, (int fd, const struct iovec *data, int count), (fd, data, count))
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, (int fd, off_t size), (fd, size))
ON_FD(int, fchmod, (int fd, mode_t mode), (fd, mode))

#define ON_PATH(name, params, args) \
    int name params { if (strike_fd(AT_FDCWD, path)) return -1; return REAL(name) args; }
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(rmdir, (const char *path), (path))
ON_PATH(unlink, (const char *path), (path))
ON_PATH(chmod, (const char *path, mode_t mode), (path, mode))
ON_PATH(rename, (const char *path, const char *to), (path, to))

int unlinkat(int fd, const char *path, int flags) {
    return strike_fd(fd, path) ? -1 : REAL(unlinkat)(fd, path, flags);
}
