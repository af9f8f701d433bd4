// Injects faults into one program, which is started with this in LD_PRELOAD. Two files select the
// faults for as long as they exist:
//
// - FAULTS with "<call> <errno>": this call (write, sync or link) fails on each file whose name
//   contains "ledger"; with errno 0 it hangs. SQLite writes with pwrite and syncs with fdatasync or
//   fsync.
// - CLOCK with "<seconds>": the offset of the wall clock. Timers are not affected.
//
// Two variables are numbers:
//
// - CLOCK_STATE: the result of ntp_adjtime, 0 for a synchronised clock and 5 for another one;
//   without it, the kernel's
// - SYNC_MILLISECONDS: additional time of each sync, as on an SD card
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int read_order(const char *variable, const char *format, void *first, void *second) {
  const char *path = getenv(variable);
  int saved = errno;
  FILE *file = path ? fopen(path, "re") : NULL;
  int count = file ? fscanf(file, format, first, second) : 0;
  if (file) fclose(file);
  errno = saved;
  return count;
}

static int fails_on(const char *call, const char *name) {
  char wanted[32];
  int code = 0;
  if (!strstr(name, "ledger")) return 0;
  while (read_order("FAULTS", "%31s %d", wanted, &code) == 2 && !strcmp(wanted, call)) {
    if (code) {
      errno = code;
      return 1;
    }
    usleep(1000);
  }
  return 0;
}

static int fails(const char *call, int descriptor) {
  char path[64], name[4096];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(path, name, sizeof name - 1);
  name[length < 0 ? 0 : length] = 0;
  return fails_on(call, name);
}

static void wait_for_disk(void) {
  const char *text = getenv("SYNC_MILLISECONDS");
  long milliseconds = text ? atol(text) : 0;
  struct timespec time = {.tv_sec = milliseconds / 1000,
                          .tv_nsec = milliseconds % 1000 * 1000000};
  if (milliseconds) nanosleep(&time, NULL);
}

int fsync(int descriptor) {
  wait_for_disk();
  return fails("sync", descriptor) ? -1 : NEXT(fsync)(descriptor);
}

int fdatasync(int descriptor) {
  wait_for_disk();
  return fails("sync", descriptor) ? -1 : NEXT(fdatasync)(descriptor);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  return fails("write", descriptor) ? -1 : NEXT(pwrite64)(descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return fails("write", descriptor) ? -1 : NEXT(pwrite)(descriptor, bytes, count, offset);
}

int link(const char *path, const char *other) {
  return fails_on("link", other) ? -1 : NEXT(link)(path, other);
}

static time_t clock_offset(void) {
  long seconds = 0;
  read_order("CLOCK", "%ld", &seconds, NULL);
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = NEXT(clock_gettime)(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += clock_offset();
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  int result = NEXT(gettimeofday)(time, zone);
  time->tv_sec += clock_offset();
  return result;
}

int ntp_adjtime(struct timex *time) {
  const char *state = getenv("CLOCK_STATE");
  return state ? atoi(state) : NEXT(ntp_adjtime)(time);
}
