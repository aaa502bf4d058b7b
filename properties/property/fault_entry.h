#pragma once
// One line of a timeline for any word of the vocabulary, out of a few numbers.

#include <cstdint>
#include <string>

#include "scenarios/scenario.h"
#include "scenarios/vocabulary.h"

namespace hooke::scenario {

/// `amount`, from 1 on: how much, in what is usual for the word; seconds where it takes a span.
TimelineEntry fault_entry(const Word& word, const std::string& node, Duration at, Duration lasts,
                          std::int64_t amount);

}  // namespace hooke::scenario
