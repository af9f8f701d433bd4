// Replaces ESPHome for the lambdas of config/machines/esphome.yaml, which esphome.py inserts at GLOBALS
// and LAMBDAS. Reads events from standard input, one per line, and prints the device's actions.
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>

#include "juice_machine.h"

#define id(name) name
#define LAMBDA(name, ...) auto name(__VA_ARGS__)

namespace switch_ {
struct Switch {
  void turn_on();
  void turn_off();
};
}  // namespace switch_

// The payload; each name occurs at most once.
struct JsonObjectConst {
  std::map<std::string, int> *numbers;
  int number;
  JsonObjectConst operator[](const char *name) const {
    auto found = numbers->find(name);
    return {numbers, found == numbers->end() ? 0 : found->second};
  }
  template <typename Number> operator Number() const { return Number(number); }
  size_t size() const { return numbers->size() - numbers->count("job") - numbers->count("quantity"); }
};

// The flash memory: a value is stored only by sync(), and not if the memory is worn out.
static std::string file;
static uint32_t pending;
static bool is_worn = false;

struct ESPPreferenceObject {
  bool load(uint32_t *value) { return bool(std::ifstream(file) >> *value); }
  bool save(const uint32_t *value) {
    pending = *value;
    return true;
  }
};

struct {
  template <typename Value> ESPPreferenceObject make_preference(uint32_t) { return {}; }
  bool sync() { return !is_worn && bool(std::ofstream(file) << pending << std::flush); }
} static preferences, *global_preferences = &preferences;

struct {
  void publish(const std::string &topic, const std::string &payload, int qos, bool retain) {
    printf("publish %s %d %d %s\n", topic.c_str(), qos, retain, payload.c_str());
  }
} static broker;

struct {
  bool state = false;
} static empty, emergency, no_cup;

static switch_::Switch pumps_[5], *pump0 = pumps_, *pump1 = pumps_ + 1, *pump2 = pumps_ + 2,
                                  *pump3 = pumps_ + 3, *pump4 = pumps_ + 4;

void switch_::Switch::turn_on() { printf("pump %d 1\n", int(this - pumps_)); }
void switch_::Switch::turn_off() { printf("pump %d 0\n", int(this - pumps_)); }

struct Pour {
  void execute();
} static pour;

GLOBALS

void Pour::execute() {
  std::ifstream written(file);
  printf("pour %s", std::string(std::istreambuf_iterator<char>(written), {}).c_str());
  for (int time : milliseconds) printf(" %d", time);
  printf("\n");
}

LAMBDAS

// Runs a lambda of a script, and prints its value if it has one.
template <typename Lambda> void report(Lambda lambda) {
  if constexpr (std::is_void_v<decltype(lambda())>) lambda();
  else printf("value %d\n", int(lambda()));
}

void step(int number, int iteration, const std::string &reason) {
  switch (number) {
STEPS
  }
}

int main(int, char **arguments) {
  file = arguments[1];
  on_boot();
  std::string line, word;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::map<std::string, int> numbers;
    words >> word;
    std::string name;
    for (int number; words >> name >> number;) numbers[name] = number;
    if (word == "make") on_make({&numbers, 0});
    if (word == "cancel") on_cancel({&numbers, 0});
    if (word == "empty") empty.state = numbers["is"];
    if (word == "emergency") emergency.state = numbers["is"];
    if (word == "no_cup") no_cup.state = numbers["is"];
    if (word == "step") {
      std::istringstream arguments(line.substr(4));
      int number, iteration;
      arguments >> number >> iteration;
      std::string reason;
      std::getline(arguments >> std::ws, reason);
      step(number, iteration, reason);
    }
    if (word == "wear") is_worn = numbers["is"];
    if (word == "forget") on_forget();
    if (word == "status") broker.publish("status", status(), 1, true);
    printf(".\n");
    fflush(stdout);
  }
}
