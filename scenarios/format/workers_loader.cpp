// One reader per kind of step, in a table; then programs, and whose they are.
#include "scenarios/format/workers_loader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "scenarios/format/cluster_loader.h"
#include "scenarios/format/vocabulary.h"

namespace hooke::scenario {
namespace {

constexpr std::int64_t kRepeatsMax = 1'000'000'000;

/// Reads the value of a step's own key.
using ReadStep = void (*)(const Place& entry, const Place& value, WorkerStep& step);

/// One of `words`.
void read_word(const Place& value, const std::string& what, const std::vector<std::string>& words,
               WorkerStep& step) {
  step.text = value.text();
  if (std::find(words.begin(), words.end(), step.text) == words.end()) {
    value.refuse_word(what, step.text, words);
  }
}

void read_signal(const Place&, const Place& value, WorkerStep& step) {
  const auto signal = signal_named(value.text());
  if (!signal) value.refuse_value("a signal such as \"SIGKILL\"");
  step.code = static_cast<int>(*signal);
}

void read_true(const Place&, const Place& value, WorkerStep&) {
  if (!value.truth()) value.refuse_value("true");
}

void read_span(const Place&, const Place& value, WorkerStep& step) {
  step.span = value.duration();
}

void read_text(const Place&, const Place& value, WorkerStep& step) {
  step.text = value.text();
}

void read_name(const Place&, const Place& value, WorkerStep& step) {
  step.text = value.text();
  if (step.text.empty()) value.refuse_value("a name");
}

void read_port(const Place&, const Place& value, WorkerStep& step) {
  step.count = value.integer(1, 65'535);
}

void read_acquire(const Place& entry, const Place& value, WorkerStep& step) {
  step.text = value.text();
  step.span = entry.at("after").duration();
  step.code = static_cast<int>(sim::Signal::kill);
}

void read_sees(const Place& entry, const Place& value, WorkerStep& step) {
  read_word(value, "what a worker is", {"alive", "silent", "ended", "unknown"}, step);
  step.count = entry.at("rank").integer(0, kRepeatsMax);
}

void read_job(const Place& entry, const Place& value, WorkerStep& step) {
  read_word(value, "the status of a job",
            {"unknown", "no state", "gathering", "last call", "complete", "closed"}, step);
  step.count = entry.at("world_size").integer(0, kRepeatsMax);
}

struct StepKey {
  const char* name;
  ReadStep read;
};

/// In the order of WorkerStep::Kind.
constexpr std::array kStepKeys{
    StepKey{"run", read_span},
    StepKey{"exit", [](const Place&, const Place& value,
                       WorkerStep& step) { step.code = value.integer(0, 255); }},
    StepKey{"signal", read_signal},
    StepKey{"hang", read_true},
    StepKey{"init", read_true},
    StepKey{"collective", [](const Place&, const Place& value,
                             WorkerStep& step) { step.count = value.integer(1, kRepeatsMax); }},
    StepKey{"acquire", read_acquire},
    StepKey{"release", read_text},
    StepKey{"scribble", read_text},
    StepKey{"hold_timer", read_span},
    StepKey{"beat",
            [](const Place&, const Place& value, WorkerStep& step) {
              read_word(value, "a step of heartbeats", {"start", "pause", "stop"}, step);
            }},
    StepKey{"destroy",
            [](const Place&, const Place& value, WorkerStep& step) {
              read_word(value, "what a worker holds",
                        {"all", "process group", "heartbeats", "timers"}, step);
            }},
    StepKey{"raise", read_name},
    StepKey{"await", read_name},
    StepKey{"start_timer", read_name},
    StepKey{"stop_timer", read_name},
    StepKey{"serve", read_port},
    StepKey{"child", read_port},
    StepKey{"error", read_name},
    StepKey{"sees", read_sees},
    StepKey{"job", read_job}};
static_assert(kStepKeys.size() == static_cast<std::size_t>(WorkerStep::Kind::job) + 1);

std::vector<std::string> step_names() {
  std::vector<std::string> names;
  for (const StepKey& key : kStepKeys) names.emplace_back(key.name);
  return names;
}

/// Keys that only some steps have beside their own.
void load_step_options(const Place& place, WorkerStep& step) {
  if (place.has("work")) {
    if (step.kind != WorkerStep::Kind::collective)
      place.at("work").refuse_value("no work but for a collective");
    step.span = place.at("work").duration();
  }
  for (const char* key : {"after", "by"}) {
    if (place.has(key) && step.kind != WorkerStep::Kind::acquire)
      place.at(key).refuse_value("nothing but for an acquire");
  }
  if (place.has("rank") && step.kind != WorkerStep::Kind::sees)
    place.at("rank").refuse_value("no rank but of a worker that is seen");
  if (place.has("world_size") && step.kind != WorkerStep::Kind::job)
    place.at("world_size").refuse_value("no number of workers but of a job that is looked at");
  if (place.has("by")) {
    const auto signal = signal_named(place.at("by").text());
    if (!signal) place.at("by").refuse_value("a signal such as \"SIGTERM\"");
    step.code = static_cast<int>(*signal);
  }
}

WorkerStep load_step(const Place& place) {
  std::vector<std::string> keys = step_names();
  keys.insert(keys.end(), {"work", "after", "by", "rank", "world_size"});
  place.object(keys);
  WorkerStep step;
  int found = 0;
  for (std::size_t i = 0; i < kStepKeys.size(); ++i) {
    if (!place.has(kStepKeys[i].name)) continue;
    ++found;
    step.kind = static_cast<WorkerStep::Kind>(i);
    kStepKeys[i].read(place, place.at(kStepKeys[i].name), step);
  }
  if (found != 1) {
    std::string list;
    for (const StepKey& key : kStepKeys) list += (list.empty() ? "" : ", ") + std::string(key.name);
    place.refuse_value("exactly one of " + list);
  }
  load_step_options(place, step);
  return step;
}

WorkerProgram load_program(const Place& place) {
  WorkerProgram out;
  for (const Place& item : place.items()) out.push_back(load_step(item));
  return out;
}

/// Keys are "node" and "node/local_rank", each also with "/*" behind it.
void check_override(const std::string& key, const Place& place, const NodeNames& names,
                    std::int64_t workers_per_node) {
  std::string_view rest = key;
  if (rest.ends_with("/*")) rest.remove_suffix(2);
  const std::size_t slash = rest.find('/');
  const std::string id(rest.substr(0, slash));
  if (!names.contains(id)) names.refuse(place, "a node of the cluster before the slash", id);
  if (slash != std::string_view::npos) {
    const std::string_view rank = rest.substr(slash + 1);
    std::int64_t number = -1;
    const auto end = std::from_chars(rank.data(), rank.data() + rank.size(), number);
    const bool known = end.ec == std::errc() && number >= 0 && number < workers_per_node &&
                       std::to_string(number) == rank;
    if (!known) {
      place.refuse("a key \"node\", \"node/local_rank\" or one of them with \"/*\"",
                   "\"" + key + "\"");
    }
  }
}

}  // namespace

WorkersPlan load_workers(const Place& place, const NodeNames& names) {
  place.object({"per_node", "program", "peer_abort", "slow_stop", "trace_store", "overrides"});
  WorkersPlan plan;
  if (place.has("per_node")) plan.per_node = place.at("per_node").integer(1, kWorkersPerNodeMax);
  plan.program = load_program(place.at("program"));
  if (place.has("peer_abort")) {
    const Place abort = place.at("peer_abort");
    if (abort.json() == "never") {
      plan.peer_abort.reset();
    } else {
      plan.peer_abort = abort.duration();
    }
  }
  if (place.has("slow_stop")) plan.slow_stop = place.at("slow_stop").duration();
  if (place.has("trace_store")) plan.trace_store = place.at("trace_store").truth();
  if (!place.has("overrides")) return plan;
  for (const auto& [key, value] : place.at("overrides").members()) {
    check_override(key, value, names, plan.per_node);
    plan.overrides[key] = load_program(value);
  }
  return plan;
}

}  // namespace hooke::scenario
