// Which node is ordered before which, and which time-outs are refused.
#include "model/rendezvous/core/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace hooke::model {
namespace {

TEST(NodeDesc, is_ordered_by_address_then_pid_then_local_id) {
  EXPECT_LT((NodeDesc{"a", 9, 9}), (NodeDesc{"b", 1, 1}));
  EXPECT_LT((NodeDesc{"a", 1, 9}), (NodeDesc{"a", 2, 1}));
  EXPECT_LT((NodeDesc{"a", 1, 1}), (NodeDesc{"a", 1, 2}));
  EXPECT_EQ((NodeDesc{"a", 1, 1}), (NodeDesc{"a", 1, 1}));
}

TEST(NodeDesc, compares_numbers_as_numbers_and_not_as_text) {
  EXPECT_LT((NodeDesc{"a", 9, 0}), (NodeDesc{"a", 10, 0}));
  EXPECT_LT((NodeDesc{"a", 1, 9}), (NodeDesc{"a", 1, 10}));
  EXPECT_LT((NodeDesc{"a", -1, 0}), (NodeDesc{"a", 0, 0}));
}

TEST(NodeDesc, orders_addresses_by_code_point) {
  EXPECT_LT((NodeDesc{"Z", 1, 0}), (NodeDesc{"a", 1, 0}));
  EXPECT_LT((NodeDesc{"node-10", 1, 0}), (NodeDesc{"node-9", 1, 0}));
  EXPECT_LT((NodeDesc{"z", 1, 0}), (NodeDesc{"\xc3\xa9", 1, 0})) << "z before e with an accent";
  EXPECT_LT((NodeDesc{"\xef\xbf\xbf", 1, 0}), (NodeDesc{"\xf0\x90\x80\x80", 1, 0}))
      << "U+FFFF before U+10000, which UTF-16 order would turn round";
  EXPECT_LT((NodeDesc{"node", 1, 0}), (NodeDesc{"node-1", 1, 0})) << "a prefix comes first";
}

RC_GTEST_PROP(NodeDesc, has_the_order_of_the_tuple_of_its_fields,
              (std::string a, std::int8_t b, std::int8_t c, std::string d, std::int8_t e,
               std::int8_t f)) {
  const NodeDesc one{a, b, c};
  const NodeDesc other{*rc::gen::element(a, d), e, f};
  const auto bytes = [](const std::string& text) {
    return std::vector<unsigned char>(text.begin(), text.end());
  };
  const auto key = [&bytes](const NodeDesc& node) {
    return std::make_tuple(bytes(node.addr), node.pid, node.local_id);
  };
  RC_ASSERT((one < other) == (key(one) < key(other)));
  RC_ASSERT((one == other) == (key(one) == key(other)));
}

TEST(NodeDesc, is_written_as_address_pid_and_local_id) {
  EXPECT_EQ((NodeDesc{"node-a.example", 4242, 1}).text(), "node-a.example_4242_1");
}

std::string refusal(const RendezvousTimeout& timeout) {
  try {
    timeout.validate();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(RendezvousTimeout, has_the_defaults_of_pytorch) {
  const RendezvousTimeout timeout;
  EXPECT_EQ(timeout.join, std::chrono::seconds(600));
  EXPECT_EQ(timeout.last_call, std::chrono::seconds(30));
  EXPECT_EQ(timeout.close, std::chrono::seconds(30));
  EXPECT_EQ(timeout.heartbeat, std::chrono::seconds(5));
  EXPECT_EQ(refusal(timeout), "");
}

TEST(RendezvousTimeout, that_is_not_positive_is_refused_by_name_and_value) {
  struct Case {
    sim::Duration RendezvousTimeout::*span;
    const char* name;
  };
  for (const Case& wrong :
       {Case{&RendezvousTimeout::join, "join"}, Case{&RendezvousTimeout::last_call, "last call"},
        Case{&RendezvousTimeout::close, "close"},
        Case{&RendezvousTimeout::heartbeat, "heartbeat"}}) {
    RendezvousTimeout timeout;
    timeout.*wrong.span = sim::Duration(1);
    EXPECT_EQ(refusal(timeout), "") << wrong.name;
    for (const int value : {0, -7}) {
      timeout.*wrong.span = sim::Duration(value);
      EXPECT_NE(refusal(timeout).find(std::string("the ") + wrong.name + " timeout"),
                std::string::npos)
          << refusal(timeout);
      EXPECT_NE(refusal(timeout).find(" " + std::to_string(value) + " "), std::string::npos)
          << refusal(timeout);
    }
  }
}

TEST(RendezvousTimeout, is_checked_in_the_order_join_last_call_close_heartbeat) {
  RendezvousTimeout timeout{sim::Duration(0), sim::Duration(0), sim::Duration(0), sim::Duration(0)};
  EXPECT_NE(refusal(timeout).find("join"), std::string::npos);
  timeout.join = sim::Duration(1);
  EXPECT_NE(refusal(timeout).find("last call"), std::string::npos);
  timeout.last_call = sim::Duration(1);
  EXPECT_NE(refusal(timeout).find("close"), std::string::npos);
  timeout.close = sim::Duration(1);
  EXPECT_NE(refusal(timeout).find("heartbeat"), std::string::npos);
}

}  // namespace
}  // namespace hooke::model
