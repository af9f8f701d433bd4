// Panels that order as fast as they receive answers, and measure the latency.
//
// A closed loop keeps a number of orders in flight; each answer releases the next order. It reads
// all available bytes and writes once for each read, to use as little as possible of the processor,
// which it shares with the contenders. It is the same for all contenders. An order counts only if
// its answer is correct and arrives once.
//
// Usage: load --port N [OPTION N]…
//
// - --orders: number of timed orders, after --warm-up others; ends earlier after --seconds
// - --in-flight: orders in flight at any time
// - --panels: topics that orders go to, over --connections connections
// - --displays: connections that receive the stock
// - --first: number that is the id of the first order
// - --menu: number of juices, from j0 on, instead of the built-in seven
// - --echo: the answer is the order itself
// - --give-up: maximum time to wait for an answer in milliseconds; without it, each must arrive
// - --pid: process id of the contender, whose processor time is reported, as is that of --broker
//
// Prints one JSON object: times in microseconds, of the orders answered after the warm-up.
#define _GNU_SOURCE
#include "wire.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BASE "kiosk/k1/order/"

static const char *const juices[] = {"strawberry", "banana", "kiwi", "pineapple",
                                     "strawberry_banana", "mango", "mango_kiwi"};
enum { juice_count = sizeof juices / sizeof *juices };

static struct {
  long port, orders, seconds, warm_up, in_flight, panels, connections, displays, first, menu, echo,
      give_up, pid, broker;
} options = {.orders = 20000, .seconds = 3600, .in_flight = 64, .panels = 8, .connections = 1};

typedef enum { unsent, waiting, answered, given_up } State;

typedef struct {
  int64_t sent;
  State state;
} Order;

// Processor time used, in nanoseconds and clock ticks.
typedef struct {
  int64_t contender, broker, load, user, system;
} Usage;

static Connection *connections;
static Order *orders;
static uint8_t *tickets;
static uint32_t *latencies;
static long order_count, sent_count, done_count, timed_count, pending, confirmed, repeated, wrong,
    unanswered, late, subscribed;
static int64_t now, started, ended;
static Usage usage_before, usage_after;

enum { most_tickets = 1 << 27 };

static int64_t nanoseconds(clockid_t clock) {
  struct timespec time;
  if (clock_gettime(clock, &time)) return 0;
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int64_t processor_time(long pid) {
  clockid_t clock;
  return pid && clock_getcpuclockid((pid_t)pid, &clock) == 0 ? nanoseconds(clock) : 0;
}

static Usage usage(void) {
  Usage used = {.contender = processor_time(options.pid), .broker = processor_time(options.broker),
                .load = nanoseconds(CLOCK_PROCESS_CPUTIME_ID)};
  char name[64], text[1024];
  snprintf(name, sizeof name, "/proc/%ld/stat", options.pid);
  FILE *file = options.pid ? fopen(name, "re") : NULL;
  if (!file) return used;
  size_t count = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[count] = 0;
  // The second field is a name, which may contain any character but ends with the last parenthesis.
  char *rest = strrchr(text, ')');
  if (rest) {
    sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &used.user, &used.system);
  }
  return used;
}

// MARK: Orders

static const char *juice(long number) {
  static char name[32];
  if (!options.menu) return juices[number % juice_count];
  snprintf(name, sizeof name, "j%ld", number % options.menu);
  return name;
}

static int payload(long number, char *text, size_t size) {
  return snprintf(text, size, "{\"id\":\"%ld\",\"juice\":\"%s\"}", options.first + number,
                  juice(number));
}

static void send_order(void) {
  long number = sent_count++;
  long panel = number % options.panels;
  Connection *connection = &connections[panel % options.connections];
  char topic[64], text[128];
  snprintf(topic, sizeof topic, BASE "p%ld", panel);
  wire_publish(connection, topic, text, (size_t)payload(number, text, sizeof text));
  orders[number] = (Order){.sent = 0, .state = waiting};
  pending++;
}

// An order counts as sent when the write that carries it begins.
static void send_orders(void) {
  static long stamped;
  while (pending < options.in_flight && sent_count < order_count) send_order();
  int64_t time = nanoseconds(CLOCK_MONOTONIC);
  while (stamped < sent_count) orders[stamped++].sent = time;
  for (long i = 0; i < options.connections; i++) {
    if (connections[i].out_count) wire_flush(&connections[i]);
  }
}

static const char *member(const char *text, size_t length, const char *name) {
  const char *found = memmem(text, length, name, strlen(name));
  return found ? found + strlen(name) : NULL;
}

static int is_right(long number, const char *text, size_t length) {
  char wanted[128];
  if (options.echo) {
    size_t count = (size_t)payload(number, wanted, sizeof wanted);
    return count == length && memcmp(wanted, text, length) == 0;
  }
  size_t count = (size_t)snprintf(wanted, sizeof wanted, "\"juice\":\"%s\"", juice(number));
  const char *ticket = member(text, length, "\"ticket\":");
  if (!ticket || !memmem(text, length, "\"status\":\"ready\"", 16) ||
      !memmem(text, length, wanted, count)) {
    return 0;
  }
  long value = atol(ticket);
  if (value < 1 || value >= most_tickets) return 0;
  uint8_t bit = (uint8_t)(1 << (value & 7));
  int is_new = !(tickets[value >> 3] & bit);
  tickets[value >> 3] |= bit;
  return is_new;
}

static void finish(long number, State state) {
  orders[number].state = state;
  pending--;
  done_count++;
  if (done_count == options.warm_up) {
    usage_before = usage();
    started = nanoseconds(CLOCK_MONOTONIC);
  } else if (done_count > options.warm_up && !ended) {
    if (state == answered) latencies[timed_count++] = (uint32_t)(now - orders[number].sent);
    if (done_count == options.warm_up + options.orders ||
        now - started > options.seconds * 1000000000LL) {
      ended = now;
      usage_after = usage();
      // The loop was full up to here. The remaining orders are awaited but not timed.
      order_count = sent_count;
    }
  }
}

static void received(const char *text, size_t length) {
  const char *id = member(text, length, "\"id\":\"");
  long number = id ? atol(id) - options.first : -1;
  if (number < 0 || number >= sent_count) {
    // An answer for an earlier run, which arrived too late there.
    if (options.give_up) late++;
    else wrong++;
  } else if (orders[number].state == waiting) {
    if (!is_right(number, text, length)) {
      if (!wrong++) fprintf(stderr, "load: not an answer: %.*s\n", (int)length, text);
    }
    finish(number, answered);
  } else if (orders[number].state == given_up) {
    orders[number].state = answered;
    unanswered--;
    late++;
  } else {
    repeated++;
  }
}

static void has_arrived(void) { now = nanoseconds(CLOCK_MONOTONIC); }

static void was_confirmed(void) { confirmed++; }

static void was_subscribed(void) { subscribed++; }

// MARK: Loop

static int receive(Connection *connection, int flags) {
  static const Handlers handlers = {has_arrived, received, was_confirmed, was_subscribed};
  return wire_receive(connection, flags, &handlers);
}

// The panels' connections come first, followed by the displays'.
static void open_connection(long index) {
  Connection *connection = &connections[index];
  char text[64];
  snprintf(text, sizeof text, "load-%d-%ld", getpid(), index);
  wire_open(connection, (int)options.port, text);
  long wanted = subscribed;
  if (index >= options.connections) {
    wire_subscribe(connection, "kiosk/k1/stock/#", 0);
    wanted++;
  } else {
    for (long panel = index; panel < options.panels; panel += options.connections) {
      snprintf(text, sizeof text, BASE "p%ld/result", panel);
      wire_subscribe(connection, text, 1);
      wanted++;
    }
  }
  wire_flush(connection);
  while (subscribed < wanted) receive(connection, 0);
}

static void give_up_old_ones(void) {
  static long oldest;
  now = nanoseconds(CLOCK_MONOTONIC);
  while (oldest < sent_count) {
    if (orders[oldest].state == waiting) {
      if (now - orders[oldest].sent < options.give_up * 1000000LL) break;
      unanswered++;
      finish(oldest, given_up);
    }
    oldest++;
  }
}

static int compare(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static double percentile(double part) {
  long index = (long)(part * (double)timed_count);
  return timed_count ? latencies[index < timed_count ? index : timed_count - 1] / 1000.0 : 0;
}

static void report(void) {
  double seconds = (double)(ended - started) / 1e9;
  double count = timed_count ? (double)timed_count : 1;
  double total = (double)(usage_after.contender - usage_before.contender) / 1e3 / count;
  double ticks = (double)(usage_after.user - usage_before.user + usage_after.system -
                          usage_before.system);
  double system =
      ticks > 0 ? total * (double)(usage_after.system - usage_before.system) / ticks : 0;
  qsort(latencies, (size_t)timed_count, sizeof *latencies, compare);
  printf("{\"in_flight\":%ld,\"orders\":%ld,\"sent\":%ld,\"confirmed\":%ld,\"wrong\":%ld,"
         "\"repeated\":%ld,\"unanswered\":%ld,\"late\":%ld,\"seconds\":%.6f,\"throughput\":%.1f,"
         "\"p50\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f,\"cpu\":%.2f,\"cpu_user\":%.2f,"
         "\"cpu_system\":%.2f,\"cpu_broker\":%.2f,\"cpu_load\":%.2f}\n",
         options.in_flight, timed_count, sent_count, confirmed, wrong, repeated, unanswered, late,
         seconds, (double)timed_count / seconds, percentile(0.5), percentile(0.99),
         percentile(0.999), percentile(1), total, total - system, system,
         (double)(usage_after.broker - usage_before.broker) / 1e3 / count,
         (double)(usage_after.load - usage_before.load) / 1e3 / count);
}

static void read_options(int count, char **arguments) {
  static const struct {
    const char *name;
    long *value;
  } known[] = {{"port", &options.port}, {"orders", &options.orders},
               {"seconds", &options.seconds}, {"warm-up", &options.warm_up},
               {"in-flight", &options.in_flight}, {"panels", &options.panels},
               {"connections", &options.connections},
               {"displays", &options.displays}, {"first", &options.first},
               {"menu", &options.menu}, {"give-up", &options.give_up}, {"pid", &options.pid},
               {"broker", &options.broker}, {"echo", &options.echo}};
  enum { known_count = sizeof known / sizeof *known };
  struct option long_options[known_count + 1] = {0};
  for (int i = 0; i < known_count; i++) {
    int has_value = known[i].value != &options.echo;
    long_options[i] = (struct option){known[i].name, has_value, NULL, i};
  }
  int found;
  while ((found = getopt_long(count, arguments, "", long_options, NULL)) != -1) {
    if (found == '?') exit(64);
    *known[found].value = optarg ? atol(optarg) : 1;
  }
  if (!options.port || options.in_flight < 1 || options.panels < options.connections) exit(64);
}

int main(int count, char **arguments) {
  read_options(count, arguments);
  order_count = options.warm_up + options.orders + options.in_flight;
  long connection_count = options.connections + options.displays;
  connections = calloc((size_t)connection_count, sizeof *connections);
  orders = calloc((size_t)order_count, sizeof *orders);
  latencies = calloc((size_t)order_count, sizeof *latencies);
  tickets = calloc(most_tickets / 8, 1);
  if (!connections || !orders || !latencies || !tickets) fail("memory");

  for (long i = 0; i < connection_count; i++) open_connection(i);

  // A single connection blocks in read; several, or --give-up, need poll.
  int is_alone = connection_count == 1 && !options.give_up;
  int poll = epoll_create1(0);
  for (long i = 0; i < connection_count; i++) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = (uint64_t)i}};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].socket, &event)) fail("epoll");
  }
  if (!options.warm_up) {
    usage_before = usage();
    started = nanoseconds(CLOCK_MONOTONIC);
  }
  send_orders();
  while (done_count < order_count || confirmed < sent_count) {
    if (is_alone) {
      receive(&connections[0], 0);
    } else {
      struct epoll_event events[64];
      int ready = epoll_wait(poll, events, 64, options.give_up ? 100 : -1);
      for (int i = 0; i < ready; i++) receive(&connections[events[i].data.u64], MSG_DONTWAIT);
      if (options.give_up) give_up_old_ones();
    }
    send_orders();
  }
  // All PUBACKs of this side are sent. A repeated answer would have arrived before.
  report();
  return wrong || (repeated && !options.give_up) || (unanswered && !options.give_up) ? 2 : 0;
}
