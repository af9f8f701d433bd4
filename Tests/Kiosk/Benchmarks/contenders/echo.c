// The floor: the cost of a service in C on libmosquitto that only answers; with --ledger, that also
// stores each order in a transaction of its own; with --events, that also publishes one event per
// order, as the contract requires.
//
// Usage: echo PORT [--nodelay] [--events] [--ledger FILE [--commits N]]
//
// With --commits it uses no broker: it prints the median of N transactions, in microseconds.
#include <mosquitto.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;
static sqlite3_stmt *begin, *insert, *commit;
static int has_events;

static void fail(const char *what) {
  fprintf(stderr, "echo: %s\n", what);
  exit(1);
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL)) fail(sqlite3_errmsg(database));
  return statement;
}

static void run(sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(database));
  sqlite3_reset(statement);
}

static void open_ledger(const char *path) {
  if (sqlite3_open(path, &database) ||
      sqlite3_exec(database,
                   "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                   "CREATE TABLE orders (number INTEGER PRIMARY KEY, topic TEXT, payload TEXT)",
                   NULL, NULL, NULL)) {
    fail(sqlite3_errmsg(database));
  }
  begin = prepare("BEGIN IMMEDIATE");
  insert = prepare("INSERT INTO orders (topic, payload) VALUES (?, ?)");
  commit = prepare("COMMIT");
}

static void store(const char *topic, const char *payload, int length) {
  run(begin);
  sqlite3_bind_text(insert, 1, topic, -1, SQLITE_STATIC);
  sqlite3_bind_text(insert, 2, payload, length, SQLITE_STATIC);
  run(insert);
  run(commit);
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double microseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int time_commits(int count) {
  static const char payload[] = "{\"id\":\"1234567\",\"juice\":\"strawberry_banana\"}";
  double *times = calloc((size_t)count + 1, sizeof *times);
  if (!times || !database) return 1;
  for (int i = 0; i < count; i++) {
    double before = microseconds();
    store("kiosk/k1/order/p1", payload, sizeof payload - 1);
    times[i] = microseconds() - before;
  }
  qsort(times, (size_t)count, sizeof *times, compare);
  printf("%.1f\n", times[count / 2]);
  return 0;
}

static void connected(struct mosquitto *client, void *data, int code) {
  (void)data;
  if (code) fail(mosquitto_connack_string(code));
  mosquitto_subscribe(client, NULL, "kiosk/k1/order/+", 1);
}

static void subscribed(
    struct mosquitto *client, void *data, int id, int count, const int *granted) {
  (void)client, (void)data, (void)id, (void)count, (void)granted;
  puts("online");
}

static void received(
    struct mosquitto *client, void *data, const struct mosquitto_message *message) {
  (void)data;
  char topic[256];
  if (database) store(message->topic, message->payload, message->payloadlen);
  snprintf(topic, sizeof topic, "%s/result", message->topic);
  mosquitto_publish(client, NULL, topic, message->payloadlen, message->payload, 1, false);
  if (has_events) {
    mosquitto_publish(
        client, NULL, "kiosk/k1/event", message->payloadlen, message->payload, 1, false);
  }
}

int main(int count, char **arguments) {
  int is_nodelay = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 2; i < count; i++) {
    if (!strcmp(arguments[i], "--nodelay")) is_nodelay = 1;
    else if (!strcmp(arguments[i], "--events")) has_events = 1;
    else if (!strcmp(arguments[i], "--ledger") && i + 1 < count) open_ledger(arguments[++i]);
    else if (!strcmp(arguments[i], "--commits") && i + 1 < count) {
      return time_commits(atoi(arguments[i + 1]));
    }
  }
  mosquitto_lib_init();
  struct mosquitto *client = mosquitto_new("echo", true, NULL);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, is_nodelay);
  // By default the library holds the 21st answer back until one is acknowledged.
  mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, 65535);
  mosquitto_connect_callback_set(client, connected);
  mosquitto_subscribe_callback_set(client, subscribed);
  mosquitto_message_callback_set(client, received);
  if (count < 2 || mosquitto_connect(client, "127.0.0.1", atoi(arguments[1]), 60)) {
    fail("no broker");
  }
  return mosquitto_loop_forever(client, -1, 1);
}
