/* Loaded by LD_PRELOAD: intercepts every call that changes or opens a file below a folder.

   cut_below(folder, at, presses, copy): resets the count of calls. From call number `at` (from 1; 0: never),
   `presses` calls raise SIGINT, and wait until code that polls for signals has polled again. `copy` is called
   before each call, when the folder is what a kill would leave.
   cut_calls(): number of calls; cut_name(i): name of call i. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMost = 100000 };
static char folder[PATH_MAX];
static long cut_at, cut_presses, calls;
static const char* names[kMost];
static void (*copy)(long);
static int inside;

void cut_below(const char* path, long at, long presses, void (*copy_folder)(long)) {
  folder[0] = 0;
  if (path != NULL) strncpy(folder, path, sizeof folder - 1);
  cut_at = at;
  cut_presses = presses;
  calls = 0;
  copy = copy_folder;
}
long cut_calls(void) { return calls; }
const char* cut_name(long i) { return names[i]; }

static void at_path(const char* name, const char* path) {
  if (folder[0] == 0 || path == NULL || inside || strncmp(path, folder, strlen(folder)) != 0) return;
  if (calls < kMost) names[calls] = name;
  ++calls;
  inside = 1;
  if (copy != NULL) copy(calls);
  if (cut_at > 0 && calls >= cut_at && calls < cut_at + cut_presses) {
    raise(SIGINT);
    usleep(60000);
  }
  inside = 0;
}

static void at_file(const char* name, int fd) {
  char link[64], path[PATH_MAX];
  if (folder[0] == 0 || inside) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  at_path(name, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define OPEN(name)                                   \
  int name(const char* path, int flags, ...) {       \
    va_list more;                                    \
    va_start(more, flags);                           \
    const mode_t mode = (mode_t)va_arg(more, int);   \
    va_end(more);                                    \
    at_path("open", path);                           \
    return NEXT(name)(path, flags, mode);            \
  }
OPEN(open)
OPEN(open64)
ssize_t write(int fd, const void* bytes, size_t size) {
  at_file("write", fd);
  return NEXT(write)(fd, bytes, size);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  at_file("pwrite", fd);
  return NEXT(pwrite)(fd, bytes, size, offset);
}
int ftruncate(int fd, off_t size) {
  at_file("ftruncate", fd);
  return NEXT(ftruncate)(fd, size);
}
int fsync(int fd) {
  at_file("fsync", fd);
  return NEXT(fsync)(fd);
}
int close(int fd) {
  at_file("close", fd);
  return NEXT(close)(fd);
}
int rename(const char* from, const char* to) {
  at_path("rename", to);
  return NEXT(rename)(from, to);
}
int link(const char* from, const char* to) {
  at_path("link", to);
  return NEXT(link)(from, to);
}
int unlink(const char* path) {
  at_path("unlink", path);
  return NEXT(unlink)(path);
}
int remove(const char* path) {
  at_path("remove", path);
  return NEXT(remove)(path);
}
