// A fault belongs to the entry that is its cause. What an entry does later (sched.health_kill) or
// through another cause belongs to the last entry that does such things.
#include "reports/fault_words.h"

#include "scenarios/format/vocabulary.h"
#include "scenarios/outcome/trigger.h"
#include "sim/world/world_events.h"

namespace hooke::report {

namespace wev = world::events;

void FaultWords::see(const sim::Event& event) {
  if (event.type == &scenario::events::timeline_acted) {
    const std::string what(event.field("what").text());
    acted_[event.id.value] = what;
    if (const scenario::Word* const word = scenario::find_word(what); word != nullptr)
      last_[std::string(word->kind)] = what;
  } else if (event.type == &wev::fault_injected) {
    named_[event.field("fault").number()] = find(event.field("kind").text(), event.parent.value);
  }
}

std::string FaultWords::find(std::string_view kind, std::uint64_t parent) const {
  if (const auto entry = acted_.find(parent); entry != acted_.end()) {
    const scenario::Word* const word = scenario::find_word(entry->second);
    if (word != nullptr && word->kind == kind) return entry->second;
  }
  if (const auto last = last_.find(kind); last != last_.end()) return last->second;
  std::string word(kind);
  if (const std::size_t bar = word.find('_'); bar != std::string::npos) word[bar] = '.';
  return scenario::find_word(word) == nullptr ? std::string(kind) : word;
}

std::string FaultWords::of(const sim::Event& event) const {
  const auto known = named_.find(event.field("fault").number());
  return known == named_.end() ? find(event.field("kind").text(), 0) : known->second;
}

}  // namespace hooke::report
