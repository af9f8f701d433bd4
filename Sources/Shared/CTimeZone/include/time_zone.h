// The rules of time zones from zone files (RFC 9636), with cctz, which is a part of Abseil. C++ only inside.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

// The rules of one file, never freed. All threads may use and replace them.
typedef struct time_zone_rules time_zone_rules;

// Makes the rules of UTC.
time_zone_rules *_Nonnull time_zone_rules_make(void);

// Replaces the rules by those of a zone file. Returns false, and keeps the old ones, if there is no such file or
// it is damaged. cctz reads each absolute path once: to read a changed file, write the path in another way,
// such as with more slashes. It never frees what it has read: 40 kB at most.
bool time_zone_rules_read(time_zone_rules *_Nonnull rules, const char *_Nonnull path);

// Returns the seconds by which the clock is ahead of UTC at a time in seconds since 1970-01-01T00:00:00Z.
int32_t time_zone_offset(const time_zone_rules *_Nonnull rules, int64_t time);

// Returns the first time at which the clock shows `local`, seconds since 1970-01-01T00:00:00 on the clock; the
// time of the change if the clock is set forward past it.
int64_t time_zone_time(const time_zone_rules *_Nonnull rules, int64_t local);

#ifdef __cplusplus
}
#endif
