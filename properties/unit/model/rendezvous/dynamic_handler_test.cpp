// What happens between handlers of one job that a scenario cannot set up: settings that differ,
// equal descriptors, equal writes, a write that failed.
#include <gmock/gmock.h>

#include <algorithm>

#include "model/rendezvous/c10d_factory.h"
#include "properties/unit/model/rendezvous/dynamic_handlers.h"

namespace hooke::model {
namespace {

/// Three nodes, one after the other: one is content with two, the next wants three, the last two.
class SteppedOver : public DynamicHandlers {
 protected:
  /// How many of them got into a round.
  int joined(Variant variant) {
    serve("c10d");
    int joined = 0;
    const std::int64_t least[] = {2, 3, 2};
    for (int i = 0; i < 3; ++i) {
      RendezvousParameters own = parameters(least[i], 9);
      own.variant = variant;
      node(std::string(1, static_cast<char>('a' + i)), own,
           [&, i](Ports& ports, RendezvousHandler& handler) {
             sleep(ports, i * 3s);
             try {
               handler.next_rendezvous();
               ++joined;
             } catch (const RendezvousTimeoutError&) {  // no agent has begun the last call
             }
             sleep(ports, 60s);
           });
    }
    run(3);
    return joined;
  }
};

TEST_F(SteppedOver, the_least_number_never_starts_the_last_call) {
  EXPECT_EQ(joined(Variant::torch_2_x), 0);
}

TEST_F(SteppedOver, it_still_starts_the_last_call_of_the_hardened_variant) {
  EXPECT_EQ(joined(Variant::hardened), 3);
}

TEST_F(DynamicHandlers, a_node_that_is_alone_by_its_settings_waits_a_little_too_before_it_joins) {
  serve("c10d");
  std::vector<sim::Duration> spans;
  for (const std::string name : {"a", "b", "c", "d", "e"}) {
    RendezvousParameters own = parameters(1, 1);
    own.run_id = name;
    node(name, own, [&](Ports& ports, RendezvousHandler& handler) {
      const sim::MonotonicTime began = ports.clock.monotonic_now();
      handler.next_rendezvous();
      spans.push_back(ports.clock.monotonic_now() - began);
    });
  }
  run(5);
  const auto [shortest, longest] = std::minmax_element(spans.begin(), spans.end());
  EXPECT_GT(*longest - *shortest, 50ms);
  EXPECT_LT(*longest - *shortest, 301ms);
}

TEST_F(DynamicHandlers, a_host_closes_the_rendezvous_store_before_that_of_the_workers) {
  backend_ = "c10d";
  RendezvousParameters own = parameters(1, 1);
  own.endpoint = "a:29400";
  own.config["is_host"] = "1";
  node("a", own, [](Ports&, RendezvousHandler& handler) {
    // Of two ports: the workers' store is one of its own.
    EXPECT_NE(handler.next_rendezvous().bootstrap.value().master_port, kPort.value);
    EXPECT_TRUE(handler.shutdown());
  });
  run(1);
  const std::vector<std::string> stopped = world_.events.starting_with("store.stopped");
  ASSERT_EQ(stopped.size(), 2U);
  EXPECT_TRUE(stopped.front().ends_with("port=29400")) << stopped.front();
}

TEST_F(DynamicHandlers, two_of_one_process_are_two_nodes) {
  serve("c10d");
  const RendezvousParameters own = parameters(1, 2);
  node("a", own, [&](Ports& ports, RendezvousHandler& first) {
    const auto second = RendezvousRegistry::with_builtins().create(ports, own);
    first.next_rendezvous();
    bool is_over = false;
    ports.executor.spawn("second", [&] {
      EXPECT_THROW(second->next_rendezvous(), RendezvousClosedError);
      is_over = true;
    });
    sleep(ports, 5s);
    EXPECT_EQ(first.num_nodes_waiting(), 1);
    first.set_closed();
    while (!is_over) sleep(ports, 1s);
  });
  run(1);
}

TEST_F(DynamicHandlers, a_waiting_agent_misses_no_last_call_however_short_where_hardened) {
  serve("c10d");
  RendezvousParameters own = parameters(1, 2);
  own.variant = Variant::hardened;
  own.config["last_call_timeout"] = "1ms";
  std::vector<std::int64_t> sizes;
  node("a", own, [&](Ports& ports, RendezvousHandler& handler) {
    handler.next_rendezvous();
    while (handler.num_nodes_waiting() == 0) sleep(ports, 100ms);
    sizes.push_back(handler.next_rendezvous().world_size);
    sleep(ports, 60s);
  });
  node("b", own, [&](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 5s);
    sizes.push_back(handler.next_rendezvous().world_size);
    sleep(ports, 60s);
  });
  run(2);
  EXPECT_THAT(sizes, testing::ElementsAre(2, 2));
}

TEST_F(DynamicHandlers, that_cannot_ask_at_first_have_no_longer_to_join_where_hardened) {
  serve("etcd-v2");
  RendezvousParameters own = parameters(2, 2);
  own.variant = Variant::hardened;
  node("a", own, [&](Ports& ports, RendezvousHandler& handler) {
    world_.inject(world::FaultKind::service_error, [&](world::Fault& fault) {
      fault.node = *world_.world->find_node("s");
      fault.port = kPort;
      fault.duration = 40s;
    });
    const sim::MonotonicTime began = ports.clock.monotonic_now();
    EXPECT_THROW(static_cast<void>(handler.next_rendezvous()), RendezvousTimeoutError);
    EXPECT_GT(ports.clock.monotonic_now() - began, 60s);
    EXPECT_LT(ports.clock.monotonic_now() - began, 65s) << "not 60 s after the 40 s";
  });
  run(1);
}

TEST_F(DynamicHandlers, of_equal_names_and_numbers_are_one_participant) {
  serve("c10d");
  std::vector<std::int64_t> sizes, ranks;
  for (const char* name : {"a", "b"}) {  // each is process 100 of its node, as in a container
    RendezvousParameters of_both = parameters(1, 2);
    of_both.local_addr = "container";
    of_both.variant = Variant::torch_1_13;  // which needs nothing more of a name than that
    node(name, of_both, [&](Ports&, RendezvousHandler& handler) {
      const RendezvousInfo info = handler.next_rendezvous();
      sizes.push_back(info.world_size);
      ranks.push_back(info.rank);
    });
  }
  run(2);
  EXPECT_THAT(sizes, testing::ElementsAre(1, 1));
  EXPECT_THAT(ranks, testing::ElementsAre(0, 0));
}

TEST_F(DynamicHandlers, of_equal_names_and_numbers_are_two_participants_where_hardened) {
  serve("c10d");
  std::vector<std::int64_t> sizes, ranks;
  for (const char* name : {"a", "b"}) {
    RendezvousParameters of_both = parameters(2, 2);
    of_both.local_addr = "container";
    of_both.variant = Variant::hardened;
    node(name, of_both, [&](Ports&, RendezvousHandler& handler) {
      const RendezvousInfo info = handler.next_rendezvous();
      sizes.push_back(info.world_size);
      ranks.push_back(info.rank);
    });
  }
  run(2);
  EXPECT_THAT(sizes, testing::ElementsAre(2, 2));
  EXPECT_THAT(ranks, testing::UnorderedElementsAre(0, 1));
}

TEST_F(DynamicHandlers, an_agent_that_comes_back_under_its_old_name_leaves_the_old_seat) {
  serve("c10d");
  std::vector<std::int64_t> rounds;
  RendezvousParameters of_both = parameters(2, 2);
  of_both.local_addr = "container";
  RendezvousParameters peer = parameters(2, 2);
  of_both.variant = peer.variant = Variant::torch_1_13;
  node("b", peer, [&](Ports& ports, RendezvousHandler& handler) {
    rounds.push_back(handler.next_rendezvous().round);
    while (handler.num_nodes_waiting() == 0) sleep(ports, 1s);
    rounds.push_back(handler.next_rendezvous().round);
  });
  node("a", of_both, [&](Ports&, RendezvousHandler& handler) {
    rounds.push_back(handler.next_rendezvous().round);
  });
  // The successor has the address and the number of the one before it, which is gone by then.
  node("c", of_both, [&](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 5s);
    rounds.push_back(handler.next_rendezvous().round);
  });
  run(3);
  EXPECT_THAT(rounds, testing::UnorderedElementsAre(0, 0, 1, 1))
      << "at once, although the old seat's last sign of life was 4 s ago";
}

/// A rendezvous that could not be closed while its store cut everybody off.
class FailedClosing : public DynamicHandlers {
 protected:
  /// Whether a question about waiting nodes has closed it afterwards.
  bool closed_by_a_question(Variant variant) {
    serve("etcd-v2");
    RendezvousParameters hasty = parameters(1, 1);
    hasty.config["read_timeout"] = "2s";
    hasty.variant = variant;
    bool closed = false;
    node("a", hasty, [&](Ports& ports, RendezvousHandler& handler) {
      handler.next_rendezvous();
      EXPECT_FALSE(handler.is_closed());  // known well enough not to be read again
      world_.inject(world::FaultKind::service_error, [&](world::Fault& fault) {
        fault.node = *world_.world->find_node("s");
        fault.port = kPort;
        fault.duration = 60s;
      });
      EXPECT_THROW(handler.set_closed(), RendezvousConnectionError);
      sleep(ports, 120s);
      handler.num_nodes_waiting();
      closed = handler.is_closed();
    });
    run(1);
    return closed;
  }
};

TEST_F(FailedClosing, is_made_good_by_the_next_question) {
  EXPECT_TRUE(closed_by_a_question(Variant::torch_2_x));
}

TEST_F(FailedClosing, is_forgotten_in_the_hardened_variant) {
  EXPECT_FALSE(closed_by_a_question(Variant::hardened));
}

TEST_F(DynamicHandlers,
       with_something_to_write_for_a_state_that_is_gone_fail_for_ever) {  // S-24, R-43
  serve("etcd-v2");
  int failures = 0;
  node("a", parameters(1, 1), [&](Ports& ports, RendezvousHandler& handler) {
    handler.next_rendezvous();
    static_cast<void>(handler.is_closed());
    world_.inject(world::FaultKind::process_signal, [&](world::Fault& fault) {
      fault.node = *world_.world->find_node("s");
      fault.pid = server_;
      fault.signal = sim::Signal::kill;
    });
    const std::function<void()> calls[] = {[&] { handler.set_closed(); },
                                           [&] { handler.num_nodes_waiting(); },
                                           [&] { handler.next_rendezvous(); }};
    for (const auto& call : calls) {
      try {
        call();
      } catch (const RendezvousConnectionError&) {
        ++failures;
      }
      if (failures == 1) {  // up again, and empty
        world_.start_again(*world_.world->find_node("s"), "server");
        sleep(ports, 1h);
      }
    }
    EXPECT_FALSE(handler.shutdown());
  });
  world_.run_for(2h);
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(failures, 3);
}

TEST_F(DynamicHandlers, two_agents_that_write_equal_bytes_have_both_written) {  // R-38, S-5
  serve("c10d");
  int wins = 0;
  node("a", parameters(1, 1), [&](Ports& ports, RendezvousHandler&) {
    C10dBackend one(create_c10d_store(ports, parameters(1, 1)).store, "x");
    C10dBackend other(create_c10d_store(ports, parameters(1, 1)).store, "x");
    const sim::Value bytes(std::string("the same"));
    for (C10dBackend* backend : {&one, &other}) {
      const auto result = backend->set_state(bytes, std::nullopt);
      wins += result && result->has_set ? 1 : 0;
    }
  });
  run(1);
  EXPECT_EQ(wins, 2);
}

TEST_F(DynamicHandlers, over_files_without_a_path_have_temporary_ones_of_their_own) {
  serve("c10d");
  bool shared = true;
  node("a", parameters(1, 1), [&](Ports& ports, RendezvousHandler&) {
    RendezvousParameters of_file = parameters(1, 1);
    of_file.endpoint.clear();
    of_file.config["store_type"] = " File ";
    const auto one = create_c10d_store(ports, of_file).store;
    const auto other = create_c10d_store(ports, of_file).store;
    one->set("k", sim::Value("v"));
    shared = other->check({"k"}) || !one->check({"k"});
  });
  run(1);
  EXPECT_FALSE(shared);
}

TEST_F(DynamicHandlers, that_restart_at_once_need_as_many_rounds_of_writes_as_they_are) {
  serve("c10d");
  constexpr int kNodes = 12;
  world::EventLines lines;
  world_.trace.add_sink(lines);
  int restarts = 0;
  for (const auto when : {10s, 20s, 30s}) world_.at(when, [&] { ++restarts; });
  for (int i = 0; i < kNodes; ++i) {
    RendezvousParameters of_all = parameters(kNodes, kNodes);
    of_all.variant = Variant::torch_1_13;
    node("n" + std::to_string(i), of_all, [&](Ports& ports, RendezvousHandler& handler) {
      // PyTorch spreads attempts in round 0 only, and the first restart is one of those.
      for (const int restart : {1, 2, 3}) {
        handler.next_rendezvous();
        while (restarts < restart) sleep(ports, 1ms);
      }
    });
  }
  run(kNodes);
  int lost = 0;
  for (const std::string& line : lines.starting_with("rendezvous.cost")) {
    if (line.find(" round=2 ") == std::string::npos) continue;
    lost += std::stoi(line.substr(line.find("conflicts=") + 10));
  }
  EXPECT_GE(lost, kNodes * (kNodes - 1) / 4) << "of writes, and each is as large as the state";
}

TEST_F(DynamicHandlers, say_that_they_are_about_to_wait_beside_a_full_round_of_others) {
  serve("c10d");
  RendezvousParameters hardened = parameters(2, 2);
  hardened.variant = Variant::hardened;
  hardened.config["keep_alive_interval"] = "1";
  int told = 0;
  for (const char* name : {"a", "b"}) {
    node(name, hardened, [&](Ports& ports, RendezvousHandler& handler) {
      handler.when_waiting([] { ADD_FAILURE() << "there was a seat"; });
      handler.next_rendezvous();
      sleep(ports, 20s);
    });
  }
  node("c", hardened, [&](Ports& ports, RendezvousHandler& handler) {
    handler.when_waiting([&] { ++told; });
    sleep(ports, 10s);
    EXPECT_ANY_THROW(static_cast<void>(handler.next_rendezvous()));
  });
  run(3);
  EXPECT_EQ(told, 1);
}

TEST_F(DynamicHandlers, lose_no_write_to_what_they_do_about_to_wait) {
  serve("c10d");
  RendezvousParameters hardened = parameters(2, 2);
  hardened.variant = Variant::hardened;
  hardened.config["keep_alive_interval"] = "1";
  for (const char* name : {"a", "b"}) {
    node(name, hardened, [&](Ports& ports, RendezvousHandler& handler) {
      handler.next_rendezvous();
      sleep(ports, 20s);
    });
  }
  int told = 0;
  node("c", hardened, [&](Ports& ports, RendezvousHandler& handler) {
    handler.when_waiting([&] {
      ++told;
      sleep(ports, 1500ms);  // in which both others beat
    });
    sleep(ports, 10s);
    EXPECT_ANY_THROW(static_cast<void>(handler.next_rendezvous()));
  });
  run(3);
  EXPECT_EQ(told, 1);
}

TEST_F(DynamicHandlers, a_time_out_meant_for_another_backend_is_ignored_in_silence) {
  serve("c10d");
  RendezvousParameters hasty = parameters(2, 2);
  hasty.config["timeout"] = "5";
  sim::Duration took{};
  node("a", hasty, [&](Ports& ports, RendezvousHandler& handler) {
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    EXPECT_THROW(handler.next_rendezvous(), RendezvousTimeoutError);
    took = ports.clock.monotonic_now() - begin;
  });
  run(1);
  EXPECT_GE(took, 60s) << "the time to join, and not the five seconds";
}

}  // namespace
}  // namespace hooke::model
