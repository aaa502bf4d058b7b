// How waits, barriers and queues end, at the level of bytes. Each test is one process that talks
// over raw connections.
#include <gtest/gtest.h>

#include "raw_store.h"

namespace hooke::model {
namespace {

// ---- waiting ------------------------------------------------------------------------------------

/// What a waiter for `keys` gets when somebody else sends `then`.
std::string woken_by(const std::vector<std::string>& keys, const std::string& then) {
  std::string woken;
  talk([&](sim::Ports& ports) {
    RawClient waiter(ports);
    EXPECT_EQ(waiter.call(wait_for(keys)), "");
    RawClient(ports).call(then);
    woken = waiter.receive();
  });
  return woken;
}

TEST(TcpStoreServer, every_way_of_writing_a_key_wakes_its_waiters) {
  for (const std::string& write : {set("/k", "v"), add("/k", 1), append("/k", "v"),
                                   multi_set("/k", "v"), compare_set("/k", "", "v")}) {
    EXPECT_EQ(woken_by({"/k"}, write), kStop) << to_hex(write);
    EXPECT_EQ(woken_by({"/other"}, write), "") << to_hex(write);
  }
}

TEST(TcpStoreServer,
     a_compare_set_that_writes_nothing_wakes_the_clients_that_wait_for_a_missing_key) {
  EXPECT_EQ(woken_by({"/k"}, compare_set("/k", "expected", "desired")), kStop);  // S-27
}

TEST(TcpStoreServer, reading_and_deleting_wake_no_client) {
  for (const std::string& other :
       {get("/k"), bytes_of(Message(Query::delete_key).text("/k")), list_of(Query::check, {"/k"}),
        list_of(Query::multi_get, {"/k"}), bytes_of(Message(Query::list_keys))}) {
    EXPECT_EQ(woken_by({"/k"}, other), "") << to_hex(other);
  }
}

TEST(TcpStoreServer, a_wait_for_several_keys_ends_with_the_last_of_them) {
  EXPECT_EQ(woken_by({"/a", "/b"}, set("/a", "1")), "");
  EXPECT_EQ(woken_by({"/a", "/b"}, set("/a", "1") + set("/a", "2")), "");
  EXPECT_EQ(woken_by({"/a", "/b"}, set("/a", "1") + set("/b", "1")), kStop);
  EXPECT_EQ(woken_by({"/a", "/a"}, set("/a", "1")), kStop);
}

TEST(TcpStoreServer, a_key_that_appeared_and_was_deleted_again_still_counts) {
  const std::string remove = bytes_of(Message(Query::delete_key).text("/a"));
  EXPECT_EQ(woken_by({"/a", "/b"}, set("/a", "1") + remove + set("/b", "1")), kStop);
}

TEST(TcpStoreServer, a_second_wait_replaces_the_count_and_keeps_the_registrations_of_the_first) {
  Texts seen;
  talk([&](sim::Ports& ports) {
    RawClient waiter(ports);
    RawClient writer(ports);
    seen.push_back(waiter.call(wait_for({"/a", "/b"})));
    seen.push_back(waiter.call(wait_for({"/c"})));
    writer.call(set("/a", "1"));  // counts for the second wait
    seen.push_back(waiter.receive());
    writer.call(set("/c", "1"));
    seen.push_back(waiter.receive());
  });
  EXPECT_EQ(seen, (Texts{"", "", kStop, ""}));
}

TEST(TcpStoreServer, a_connection_with_an_open_wait_is_answered_as_any_other) {
  EXPECT_EQ(answers_to({wait_for({"/k"}), add("/n", 1), set("/k", "v"), get("/k")}),
            (Texts{"", number_text(1), kStop, value_text("v")}));
}

TEST(TcpStoreServer, a_client_that_wakes_itself_is_woken_before_it_is_answered) {
  EXPECT_EQ(
      answers_to({wait_for({"/n"}), add("/n", 1), wait_for({"/k"}), compare_set("/k", "", "v")}),
      (Texts{"", kStop + number_text(1), "", kStop + value_text("v")}));
}

TEST(TcpStoreServer, a_cancelled_wait_is_over_and_cancelling_nothing_is_answered_too) {
  Texts seen;
  talk([&](sim::Ports& ports) {
    RawClient waiter(ports);
    seen.push_back(waiter.call(cancel()));
    seen.push_back(waiter.call(wait_for({"/a", "/b"}) + cancel()));
    RawClient(ports).call(set("/a", "1") + set("/b", "1"));
    seen.push_back(waiter.receive());
    seen.push_back(waiter.call(wait_for({"/a"})));
  });
  EXPECT_EQ(seen, (Texts{kCanceled, kCanceled, "", kStop}));
}

TEST(TcpStoreServer, a_client_that_cancels_takes_nothing_from_others_that_wait_for_the_same_key) {
  Texts seen;
  talk([&](sim::Ports& ports) {
    RawClient first(ports);
    RawClient second(ports);
    first.call(wait_for({"/k"}));
    second.call(wait_for({"/k"}));
    first.call(cancel());
    RawClient(ports).call(set("/k", "v"));
    seen = {first.receive(), second.receive()};
  });
  EXPECT_EQ(seen, (Texts{"", kStop}));
}

TEST(TcpStoreServer, a_push_wakes_one_waiter_that_stays_registered) {
  Texts seen;
  talk([&](sim::Ports& ports) {
    RawClient first(ports);
    RawClient second(ports);
    RawClient writer(ports);
    first.call(wait_for({"/q"}));
    second.call(wait_for({"/q"}));
    writer.call(push("/q", "a"));
    seen = {first.receive(), second.receive()};
    first.call(wait_for({"/other"}));
    writer.call(push("/q", "b"));  // ends a wait for something else (S-14)
    seen.push_back(first.receive());
    seen.push_back(second.receive());
    writer.call(push("/q", "c"));
    seen.push_back(second.receive());
  });
  EXPECT_EQ(seen, (Texts{kStop, "", kStop, "", kStop}));
}

TEST(TcpStoreServer, a_queue_with_content_counts_as_present_only_when_all_is_present) {
  Texts seen;
  talk([&](sim::Ports& ports) {
    RawClient waiter(ports);
    RawClient writer(ports);
    writer.call(push("/q", "a"));
    seen.push_back(waiter.call(wait_for({"/q"})));
    seen.push_back(waiter.call(wait_for({"/q", "/k"})));
    writer.call(set("/k", "v"));
    seen.push_back(waiter.receive());  // waits for the queue, which has content (S-14)
    writer.call(push("/q", "b"));
    seen.push_back(waiter.receive());
  });
  EXPECT_EQ(seen, (Texts{kStop, "", "", kStop}));
}

// ---- barrier ------------------------------------------------------------------------------------

TEST(TcpStoreServer, a_barrier_counts_in_a_plain_key_and_ends_with_the_last_arrival) {
  Texts seen;
  talk([&](sim::Ports& ports) {
    RawClient a(ports);
    RawClient b(ports);
    RawClient c(ports);
    seen = {a.call(barrier_at("/b", 3)),
            b.call(barrier_at("/b", 3)),
            c.call(get("/b")),
            c.call(barrier_at("/b", 3)),
            a.receive(),
            b.receive(),
            a.call(get("/b")),
            a.call(barrier_at("/b", 3)),
            b.call(number_of_keys())};
  });
  EXPECT_EQ(seen, (Texts{"", "", value_text("2"), kStop, kStop, kStop, value_text("3"), kStop,
                         number_text(1)}));
}

TEST(TcpStoreServer, a_barrier_for_no_member_is_passed_at_once) {
  EXPECT_EQ(answers_to({barrier_at("/b", 0), barrier_at("/b", -5), get("/b")}),
            (Texts{kStop, kStop, value_text("2")}));
}

TEST(TcpStoreServer, any_write_to_its_counter_releases_a_barrier_early) {  // S-32
  for (const std::string& write : {set("/b", "-7"), add("/b", -3), append("/b", ""),
                                   multi_set("/b", "x"), compare_set("/b", "other", "x")}) {
    std::string released;
    talk([&](sim::Ports& ports) {
      RawClient waiter(ports);
      EXPECT_EQ(waiter.call(barrier_at("/b", 100)), "");
      RawClient(ports).call(write);
      released = waiter.receive();
    });
    EXPECT_EQ(released, kStop) << to_hex(write);
  }
}

TEST(TcpStoreServer, the_first_arrival_does_not_wake_a_client_that_waits_for_the_counter) {  // S-32
  EXPECT_EQ(woken_by({"/b"}, barrier_at("/b", 2)), "");
  EXPECT_EQ(woken_by({"/b"}, barrier_at("/b", 1)), kStop);
}

TEST(TcpStoreServer, a_barrier_that_was_cancelled_stays_counted) {  // S-15
  EXPECT_EQ(answers_to({barrier_at("/b", 2) + cancel(), get("/b"), barrier_at("/b", 2)}),
            (Texts{kCanceled, value_text("1"), kStop}));
}

TEST(TcpStoreServer, a_barrier_at_what_is_no_number_closes_the_connection) {
  EXPECT_EQ(answers_to({set("/b", "text") + barrier_at("/b", 2)}), (Texts{"<end>"}));
}

}  // namespace
}  // namespace hooke::model
