// Messages between agents and a worker pool, whole, in pieces, and broken.
#include "model/worker/pool_wire.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

namespace hooke::model {
namespace {

RC_GTEST_PROP(PoolWire, what_is_said_is_heard_however_it_is_cut,
              (const std::vector<std::vector<std::string>>& given)) {
  std::vector<PoolMessage> said;
  std::string bytes;
  for (const PoolMessage& message : given) {
    if (message.empty()) continue;
    said.push_back(message);
    bytes += encode_pool_message(message);
  }
  std::vector<PoolMessage> heard;
  sim::Buffer received;
  while (!bytes.empty()) {
    const auto part = *rc::gen::inRange<std::size_t>(1, bytes.size() + 1);
    received.append(bytes.substr(0, part));
    bytes.erase(0, part);
    while (auto message = take_pool_message(received)) heard.push_back(*message);
  }
  RC_ASSERT(heard == said);
  RC_ASSERT(received.empty());
}

TEST(PoolWire, what_passes_the_limits_is_refused_before_it_is_there) {
  for (const std::string& bytes :
       {std::string("\0\0\0\0", 4), std::string("\xff\xff\xff\xff", 4), std::string("\0\1\0\1", 4),
        std::string("\0\0\0\1\xff\0\0\0", 8)}) {
    sim::Buffer received{bytes};
    EXPECT_THROW(static_cast<void>(take_pool_message(received)), std::invalid_argument);
  }
  EXPECT_THROW(static_cast<void>(encode_pool_message({std::string(kPoolMessageBytesMax, 'x')})),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(encode_pool_message(PoolMessage(kPoolTextsMax + 1))),
               std::invalid_argument);
}

TEST(PoolWire, a_number_is_one_within_its_bounds) {
  EXPECT_EQ(pool_number("7", 0, 7), 7);
  for (const char* text : {"", "8", "-1", "7 ", "x", "99999999999999999999"})
    EXPECT_THROW(static_cast<void>(pool_number(text, 0, 7)), std::invalid_argument) << text;
}

}  // namespace
}  // namespace hooke::model
