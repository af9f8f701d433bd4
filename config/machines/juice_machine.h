// The four rules that a machine keeps (deploy/docs/machines.md), for ESPHome, Arduino and whatever else
// speaks C++11. Tests/Kiosk/EndToEnd/test_machine_files.py compiles this file and tries it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

struct JuiceMachine {
  // What you give it. `write` puts a number where it outlives a power cut, and returns true only when
  // it is there. `say` publishes on made/<machine>. `begin` starts the pumps, and returns at once.
  std::function<bool(uint32_t)> write;
  std::function<void(uint32_t job, const std::string &status, const std::string &reason)> say;
  std::function<void()> begin;

  uint32_t last = 0;     // the number that was written; read it before the machine connects
  uint32_t pouring = 0;  // what it has in hand; 0: nothing
  std::string known = "unknown", why;  // what became of the last one

  // make/<machine> has come.
  void make(uint32_t job) {
    if (job <= last) return again(job);
    if (pouring || !write(job)) return;  // not begun: the kiosk says it again
    last = pouring = job;
    say(job, "started", "");
    begin();
  }

  // make/<machine>/cancel has come.
  void cancel(uint32_t job) {
    if (job <= last) return again(job);
    if (!write(job)) return;
    last = job, known = "cancelled", why = "";
    say(job, known, why);
  }

  // The pumps have stopped: "done", or "failed" with a reason in a word or two.
  void end(const std::string &status, const std::string &reason = "") {
    if (!pouring) return;
    if (pouring == last) known = status, why = reason;
    say(pouring, status, reason);
    pouring = 0;
  }

 private:
  void again(uint32_t job) {
    if (job == pouring) return say(job, "started", "");
    if (job == last) return say(job, known, why);
    say(job, "unknown", "");
  }
};
