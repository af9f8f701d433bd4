#include "time_zone.h"

#include <atomic>

#include <absl/time/internal/cctz/include/cctz/time_zone.h>

namespace cctz = absl::time_internal::cctz;

struct time_zone_rules {
  std::atomic<cctz::time_zone> zone;
};

time_zone_rules *time_zone_rules_make(void) { return new time_zone_rules{cctz::utc_time_zone()}; }

bool time_zone_rules_read(time_zone_rules *rules, const char *path) {
  cctz::time_zone zone;
  if (!cctz::load_time_zone(path, &zone)) return false;
  rules->zone.store(zone, std::memory_order_release);
  return true;
}

int32_t time_zone_offset(const time_zone_rules *rules, int64_t time) {
  return rules->zone.load(std::memory_order_acquire).lookup(cctz::time_point<cctz::seconds>(cctz::seconds(time))).offset;
}

int64_t time_zone_time(const time_zone_rules *rules, int64_t local) {
  return cctz::convert(cctz::civil_second() + local, rules->zone.load(std::memory_order_acquire)).time_since_epoch().count();
}
