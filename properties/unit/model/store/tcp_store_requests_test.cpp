// What a server remembers of the questions it is asked again and again.
#include "model/store/tcp_store_requests.h"

#include <gtest/gtest.h>

#include <string>

#include "raw_store.h"

namespace hooke::model {
namespace {

constexpr Variant kDialect = Variant::torch_2_x;

void learn(FamiliarRequests& familiar, const std::string& bytes) {
  sim::Buffer received(bytes);
  const std::string text(FamiliarRequests::text_of(received));
  auto request = take_request(received, kDialect);
  ASSERT_TRUE(request.has_value());
  familiar.remember(text, kDialect, std::move(*request));
}

bool knows(const FamiliarRequests& familiar, const std::string& bytes, Variant dialect = kDialect) {
  return familiar.find(sim::Buffer(bytes), dialect) != nullptr;
}

TEST(FamiliarRequests, AQuestionIsKnownByAllOfItsBytesAndItsDialect) {
  FamiliarRequests familiar;
  const std::string asks = bytes_of(Message(Query::get).text("/k"));
  learn(familiar, asks);
  const Request* const found = familiar.find(sim::Buffer(asks), kDialect);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->query, Query::get);
  EXPECT_EQ(found->key, "/k");
  EXPECT_FALSE(knows(familiar, asks, Variant::torch_1_13));
  EXPECT_FALSE(knows(familiar, asks.substr(0, asks.size() - 1)));
  EXPECT_FALSE(knows(familiar, asks + asks));
  EXPECT_FALSE(knows(familiar, ""));
}

TEST(FamiliarRequests, WhatChangesTheStoreIsNotRemembered) {
  FamiliarRequests familiar;
  for (const std::string& bytes : {bytes_of(Message(Query::set).text("/k").u64(1).u8(7)),
                                   bytes_of(Message(Query::add).text("/k").i64(1)),
                                   bytes_of(Message(Query::delete_key).text("/k"))}) {
    learn(familiar, bytes);
    EXPECT_FALSE(knows(familiar, bytes));
  }
}

TEST(FamiliarRequests, LongQuestionsAreNotKeptAndOldOnesMakeRoom) {
  FamiliarRequests familiar;
  const std::string large = bytes_of(Message(Query::get).text(std::string(300, 'k')));
  learn(familiar, large);
  EXPECT_FALSE(knows(familiar, large));
  const auto question = [](int i) { return bytes_of(Message(Query::get).text(std::to_string(i))); };
  for (int i = 0; i < 5; ++i) learn(familiar, question(i));
  EXPECT_FALSE(knows(familiar, question(0)));
  EXPECT_TRUE(knows(familiar, question(1)));
  EXPECT_TRUE(knows(familiar, question(4)));
}

TEST(FamiliarRequests, AKnownQuestionThatComesInTwoPartsIsAnsweredAndSoIsTheNext) {
  talk([](sim::Ports& ports) {
    RawClient client(ports);
    client.send(set("/a", "1") + set("/b", "2"));
    const std::string asks = wait_for({"/a", "/b"});
    EXPECT_EQ(client.call(asks), kStop);
    for (std::size_t cut = 1; cut < asks.size(); ++cut) {
      EXPECT_EQ(client.call(asks.substr(0, cut)), "");
      EXPECT_EQ(client.call(asks.substr(cut)), kStop) << "cut at " << cut;
      EXPECT_EQ(client.call(wait_for({"/b"})), kStop) << "cut at " << cut;
      EXPECT_EQ(client.call(get("/b")), value_text("2"));
    }
  });
}

}  // namespace
}  // namespace hooke::model
