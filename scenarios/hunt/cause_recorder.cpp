// The slice is taken from the chain of causes, then read as a story: in the order of time, with
// what repeats itself told once.
#include "scenarios/hunt/cause_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "model/observe/worker_store_events.h"
#include "scenarios/simulated/timeline.h"
#include "sim/world/world_events.h"

namespace hooke::hunt {
namespace {

/// More would be no story; the middle of a long chain repeats itself.
constexpr std::size_t kLinesMax = 40;
/// The last doings of each agent that a violation names.
constexpr std::size_t kLastDoings = 3;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

/// The machines of which a witness speaks: "node a", "nodes a and b", "a[7]".
std::set<std::string> named_in(const std::string& witness, const std::vector<std::string>& names) {
  std::set<std::string> out;
  std::set<std::string> words;
  std::string word;
  std::string before;
  for (const char c : witness + " ") {
    if (is_name_character(c)) {
      word += c;
      continue;
    }
    // A node may be called "a": as a word of the language that is no name.
    if (before == "node" || word.size() > 1) words.insert(word);
    if (!word.empty()) before = word;
    word.clear();
  }
  for (const std::string& name : names) {
    if (words.contains(name)) out.insert(name);
  }
  return out;
}

/// The machine whose agent this takes off the lists or out of the job; empty: none.
std::string parted_by(const sim::Event& event, const std::string& node) {
  if (event.type == &model::events::rendezvous_evicted) {
    // A node is called by its host, its process and a count: "b.cluster_100_0".
    const std::string_view descriptor = event.field("descriptor").text();
    const std::string_view host_and_process = descriptor.substr(0, descriptor.rfind('_'));
    const std::string_view host = host_and_process.substr(0, host_and_process.rfind('_'));
    return std::string(host.substr(0, host.find('.')));
  }
  const bool leaves = event.type == &model::events::rendezvous_left ||
                      event.type == &model::events::job_given_up ||
                      event.type == &model::events::rendezvous_closed;
  return leaves ? node : "";
}

/// Equal lines of one node, whether or not others are between them, become one line.
std::vector<CauseLine> fold(const std::vector<CauseLine>& lines) {
  std::vector<CauseLine> out;
  for (const CauseLine& line : lines) {
    const auto same = std::find_if(out.rbegin(), out.rend(), [&](const CauseLine& earlier) {
      return earlier.node == line.node && earlier.what == line.what;
    });
    // Only what comes again at once is noise; an agent that does something else in between tells
    // of two things.
    const bool others = std::any_of(
        out.rbegin(), same, [&](const CauseLine& between) { return between.node == line.node; });
    if (same == out.rend() || others) {
      out.push_back(line);
    } else {
      same->times += line.times;
      same->until = line.at;
    }
  }
  return out;
}

/// The kind of a line: without its numbers, for rounds and sizes differ each time.
std::string kind_of_line(const CauseLine& line) {
  std::string kind;
  for (const char c : line.what) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) kind += c;
  }
  return kind;
}

CauseLine gap(const CauseLine& first, const CauseLine& last, const std::string& what) {
  return {first.at, {}, what, 1, last.at};
}

/// What goes round in circles is told once: the first turn, how many more there were, and the last.
std::vector<CauseLine> unroll(const std::vector<CauseLine>& lines) {
  constexpr std::size_t kLongestTurn = 16;
  std::vector<std::string> kinds;
  kinds.reserve(lines.size());
  for (const CauseLine& line : lines) kinds.push_back(kind_of_line(line));
  const auto turns_from = [&](std::size_t first, std::size_t length) {
    std::size_t end = first + length;
    while (end < lines.size() && kinds[end] == kinds[end - length]) ++end;
    return (end - first) / length;
  };
  std::vector<CauseLine> out;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t length = 0;
    std::size_t turns = 0;
    for (std::size_t each = 1; each <= kLongestTurn && turns < 3; ++each) {
      length = each;
      turns = turns_from(i, each);
    }
    if (turns < 3) {
      out.push_back(lines[i++]);
      continue;
    }
    const auto first = lines.begin() + static_cast<std::ptrdiff_t>(i);
    const auto turn = static_cast<std::ptrdiff_t>(length);
    const auto last = first + turn * static_cast<std::ptrdiff_t>(turns - 1);
    out.insert(out.end(), first, first + turn);
    out.push_back(
        gap(*(first + turn), *(last - 1), fmt::format("… and so on, {} times in all …", turns)));
    out.insert(out.end(), last, last + turn);
    i += length * turns;
  }
  return out;
}

/// The beginning and the end of a long story.
std::vector<CauseLine> abridge(std::vector<CauseLine> lines) {
  if (lines.size() <= kLinesMax) return lines;
  const std::size_t head = kLinesMax / 3;
  const std::size_t left_out = lines.size() - kLinesMax + 1;
  const auto first = lines.begin() + static_cast<std::ptrdiff_t>(head);
  const auto last = first + static_cast<std::ptrdiff_t>(left_out);
  *first = gap(*first, *(last - 1), fmt::format("… {} more lines …", left_out));
  lines.erase(first + 1, last);
  return lines;
}

}  // namespace

void CauseRecorder::on_event(const sim::Event& event) {
  if (parents_.size() <= event.id.value) parents_.resize(event.id.value + 1);
  parents_[event.id.value] = event.parent.value;
  std::string phrase = phrase_(event);
  Line line;
  line.event = event.id.value;
  line.fault = event.type == &scenario::events::timeline_acted;
  if (line.fault) {
    last_fault_ = event.at;
    const std::string target(event.field("target").text());
    line.told.what =
        "*** " + std::string(event.field("what").text()) + (target.empty() ? "" : " " + target);
  } else {
    line.told.what = std::move(phrase);
    if (line.told.what.empty()) return;
    if (event.type == &world::events::core_healed) line.fault = true;
    // How the world carries out what the timeline has just been said to do.
    const bool carried_out =
        event.type == &world::events::fault_injected || event.type == &world::events::node_crashed;
    if (carried_out && event.at == last_fault_) return;
    line.late = model::events::is_late_write(event);
    if (event.node.value < node_names_.size()) line.told.node = node_names_[event.node.value];
    line.parted = parted_by(event, line.told.node);
  }
  line.told.at = line.told.until = event.at;
  lines_.push_back(std::move(line));
}

std::vector<std::size_t> CauseRecorder::ancestry(std::uint64_t event) const {
  std::vector<std::size_t> out;
  while (event != 0 && event < parents_.size()) {
    const auto line =
        std::lower_bound(lines_.begin(), lines_.end(), event,
                         [](const Line& each, std::uint64_t id) { return each.event < id; });
    if (line != lines_.end() && line->event == event) {
      out.push_back(static_cast<std::size_t>(line - lines_.begin()));
    }
    event = parents_[event];
  }
  return out;
}

const properties::Violation* violation_of(const scenario::RunReport& report,
                                          const FailureKind& target) {
  const auto found = std::find_if(
      report.violations.begin(), report.violations.end(),
      [&](const properties::Violation& violation) { return kind_of(violation) == target; });
  return found == report.violations.end() ? nullptr : &*found;
}

CausalStory CauseRecorder::story_of(const properties::Violation& violation) const {
  const auto end = static_cast<std::size_t>(
      std::partition_point(lines_.begin(), lines_.end(),
                           [&](const auto& line) { return line.told.at <= violation.at; }) -
      lines_.begin());
  std::set<std::size_t> slice;
  const auto add = [&](std::uint64_t event) {
    const std::vector<std::size_t> ancestors = ancestry(event);
    slice.insert(ancestors.begin(), ancestors.end());
  };
  if (violation.event != sim::kNoEvent) add(violation.event.value);
  const std::set<std::string> named = named_in(violation.witness, node_names_);
  for (const std::string& node : named) {
    std::size_t doings = 0;
    for (std::size_t i = end; i-- > 0 && doings < kLastDoings;) {
      if (lines_[i].told.node != node) continue;
      add(lines_[i].event);
      ++doings;
    }
  }
  for (std::size_t i = 0; i < end; ++i) {
    // A late write is no cause of its reader's event: the store is between them.
    if (lines_[i].fault || lines_[i].late || named.contains(lines_[i].parted)) slice.insert(i);
  }
  CausalStory story{violation.witness, violation.at, {}};
  std::vector<CauseLine> told;
  for (const std::size_t i : slice) {
    if (i < end) told.push_back(lines_[i].told);
  }
  story.lines = abridge(unroll(fold(told)));
  return story;
}

std::optional<CausalStory> causes_of_failure(const scenario::Scenario& scenario,
                                             const ExplainOptions& options,
                                             const RunScenario& run) {
  CauseRecorder recorder(options.phrase, scenario.machine_names());
  scenario::RunOptions run_options;
  run_options.determinism_check = false;
  run_options.plugins = options.plugins;
  run_options.sinks.push_back(&recorder);
  const scenario::RunReport report = run(scenario, run_options);
  const properties::Violation* const violation = violation_of(report, options.target);
  if (violation == nullptr) return std::nullopt;

  return recorder.story_of(*violation);
}

}  // namespace hooke::hunt
