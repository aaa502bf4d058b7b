// Every parameter that the word knows.
#include "fault_entry.h"

namespace hooke::scenario {

TimelineEntry fault_entry(const Word& word, const std::string& node, Duration at, Duration lasts,
                          std::int64_t amount) {
  const unsigned parameters = word.required | word.optional;
  TimelineEntry entry;
  entry.what = word.name;
  entry.trigger.at = at;
  if ((parameters & (kNode | kPaths)) != 0) entry.from = {node};
  if ((parameters & kFor) != 0) entry.duration = lasts;
  if ((parameters & kBy) != 0) entry.span = std::chrono::seconds(amount);
  if ((parameters & kAmount) != 0) entry.amount = amount;
  if ((parameters & kText) != 0) entry.text = entry.what == "thread.dies" ? "keep_alive" : node;
  if (entry.what == "net.loss") entry.amount = amount * 1000;
  if (entry.what == "net.bandwidth") entry.amount = amount * 1'000'000;
  if (entry.what == "port.busy") entry.amount = 29400;
  return entry;
}

}  // namespace hooke::scenario
