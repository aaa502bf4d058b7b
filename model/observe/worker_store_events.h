#pragma once
// What workers ask of their store, where a scenario wants it on the trace (see trace_events.h): a
// store keeps the last value of a key, and not which worker of which round wrote it.

#include <string_view>

#include "sim/port/trace.h"

namespace hooke::model::events {

/// A worker's request is about to be sent. `round`: that of the worker; `newest_round`: the latest
/// one of the job that an agent has joined, `round` where that is not known. `operation`: set, add,
/// compare_set, append, multi_set, delete_key, get, multi_get, wait, check, num_keys. `key`: as the
/// server has it, or several with blanks between. `value`: what is written, or added; a text that
/// is long or not plain is given by its size.
inline constexpr sim::EventType worker_store_asked{
    "worker.store_asked",
    {"run_id", "rank", "round", "newest_round", "operation", "key", "value"},
    "A worker is about to send a request to its store. round: that of the worker; newest_round: "
    "the latest of the job that an agent has joined. operation: set, add, compare_set, append, "
    "multi_set, delete_key, get, multi_get, wait, check, num_keys."};
/// The answer has come, or it is known that none will. `result`: what was read, "ok", "timed out",
/// "failed: " and why. There is none for a worker that ended before: what it asked may have been
/// carried out. `took`: since it asked, on the monotonic clock of its machine.
inline constexpr sim::EventType worker_store_answered{
    "worker.store_answered",
    {"run_id", "rank", "round", "newest_round", "operation", "key", "result", "took"},
    "The answer of the store has come, or it is known that none will. result: what was read, ok, "
    "timed out, or failed and why. took: since the worker asked."};

/// Whether these requests change what a store keeps. An addition of 0 reads.
inline bool is_store_write(std::string_view operation, std::string_view value) {
  if (operation == "add") return value != "0";
  return operation == "set" || operation == "compare_set" || operation == "append" ||
         operation == "multi_set" || operation == "delete_key";
}

/// Whether a worker asks for a change of the store after a later round of its job has begun.
inline bool is_late_write(const sim::Event& event) {
  return event.type == &worker_store_asked &&
         event.field("newest_round").number() > event.field("round").number() &&
         is_store_write(event.field("operation").text(), event.field("value").text());
}

}  // namespace hooke::model::events
