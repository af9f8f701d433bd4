// The four rules of a machine (deploy/docs/machine-contract.md) in C++11, for ESPHome, Arduino and others.
// Tests/Kiosk/EndToEnd/test_machine_files.py compiles and tests this file.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

struct JuiceMachine {
  // Set these. `write` stores a number so that it survives a power cut, and returns true only after
  // that. `say` publishes on made/<machine>. `begin` starts the pumps and returns at once.
  std::function<bool(uint32_t)> write;
  std::function<void(uint32_t job, const std::string &status, const std::string &reason)> say;
  std::function<void()> begin;

  uint32_t last = 0;     // the stored number; read it before the machine connects
  uint32_t pouring = 0;  // the current job, or 0
  std::string waits;     // the reason why it waits for a person, or empty
  std::string known = "unknown", why;  // the state of the last job

  // Call on a message on make/<machine>.
  void make(uint32_t job) {
    if (job <= last) return again(job);
    if (pouring || !write(job)) return;  // not begun: the kiosk repeats the job
    last = pouring = job;
    say(job, "started", "");
    begin();
  }

  // Call on a message on make/<machine>/cancel.
  void cancel(uint32_t job) {
    if (job <= last) return again(job);
    if (!write(job)) return;
    last = job, known = "cancelled", why = "";
    say(job, known, why);
  }

  // Call when the job waits for a person, such as one who puts a cup into the machine.
  void wait(const std::string &reason) {
    if (!pouring) return;
    waits = reason;
    say(pouring, "waiting", waits);
  }

  // Call when the job goes on.
  void resume() {
    if (!pouring || waits.empty()) return;
    waits = "";
    say(pouring, "started", "");
  }

  // Call when the pumps have stopped: "done", or "failed" with a short reason.
  void end(const std::string &status, const std::string &reason = "") {
    if (!pouring) return;
    if (pouring == last) known = status, why = reason;
    say(pouring, status, reason);
    pouring = 0, waits = "";
  }

 private:
  void again(uint32_t job) {
    if (job == pouring) return waits.empty() ? say(job, "started", "") : say(job, "waiting", waits);
    if (job == last) return say(job, known, why);
    say(job, "unknown", "");
  }
};
