// Records the times of system calls in a program that is started with this in LD_PRELOAD. At the
// program's end, writes them to the file STAMPS, one line for each call: its name, its object,
// start and end in nanoseconds, and its result. A stamp costs 50 ns; a tracer costs more than the
// call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most_stamps = 1 << 20, most_files = 1024 };

static struct {
  const char *call;
  char kind;
  long begin, end, result;
} stamps[most_stamps];
static atomic_int stamp_count;
static char kinds[most_files];

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

// w for the ledger's log, l for its other files, s for a socket, - for anything else.
static char kind(int file) {
  if (file < 0 || file >= most_files) return '-';
  if (!kinds[file]) {
    char link[64], name[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    name[length < 0 ? 0 : length] = 0;
    kinds[file] = strstr(name, "sqlite-wal") ? 'w' : strstr(name, "sqlite") ? 'l'
                  : !strncmp(name, "socket:", 7) ? 's' : '-';
  }
  return kinds[file];
}

static void stamp(const char *call, int file, long begin, long result) {
  int number = atomic_fetch_add(&stamp_count, 1);
  if (number >= most_stamps) return;
  stamps[number].begin = begin;
  stamps[number].end = now();
  stamps[number].call = call;
  stamps[number].kind = kind(file);
  stamps[number].result = result;
}

// Looked up once, because dlsym costs more than a call.
#define STAMPED(type, name, file, parameters, ...)                                                 \
  type name parameters {                                                                           \
    static type(*next) parameters;                                                                 \
    if (!next) next = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                 \
    long begin = now();                                                                            \
    type result = next(__VA_ARGS__);                                                               \
    stamp(#name, file, begin, (long)result);                                                       \
    return result;                                                                                 \
  }

STAMPED(ssize_t, read, file, (int file, void *bytes, size_t count), file, bytes, count)
STAMPED(ssize_t, recv, file, (int file, void *bytes, size_t count, int flags), file, bytes, count,
        flags)
STAMPED(ssize_t, write, file, (int file, const void *bytes, size_t count), file, bytes, count)
STAMPED(ssize_t, pwrite64, file, (int file, const void *bytes, size_t count, off64_t offset), file,
        bytes, count, offset)
STAMPED(ssize_t, send, file, (int file, const void *bytes, size_t count, int flags), file, bytes,
        count, flags)
STAMPED(ssize_t, sendmsg, file, (int file, const struct msghdr *message, int flags), file, message,
        flags)
STAMPED(int, fdatasync, file, (int file), file)
STAMPED(int, fsync, file, (int file), file)
STAMPED(int, poll, -1, (struct pollfd * files, nfds_t count, int timeout), files, count, timeout)

int close(int file) {
  static int (*next)(int);
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "close");
  if (file >= 0 && file < most_files) kinds[file] = 0;
  return next(file);
}

__attribute__((destructor)) static void report(void) {
  FILE *file = getenv("STAMPS") ? fopen(getenv("STAMPS"), "w") : NULL;
  if (!file) return;
  int count = stamp_count < most_stamps ? stamp_count : most_stamps;
  for (int i = 0; i < count; i++) {
    fprintf(file, "%s %c %ld %ld %ld\n", stamps[i].call, stamps[i].kind, stamps[i].begin,
            stamps[i].end, stamps[i].result);
  }
  fclose(file);
}
