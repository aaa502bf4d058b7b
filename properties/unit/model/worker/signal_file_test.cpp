// Signals of one's own through a shared file.
#include "model/worker/signal_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "model/observe/python_error.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;
using testing::ElementsAre;
using testing::HasSubstr;
using world::sleep;

constexpr const char* kPath = "/shared";

std::vector<std::string> names(const std::vector<FileSignal>& signals) {
  std::vector<std::string> out;
  for (const FileSignal& each : signals) {
    out.push_back(each.name + " " + std::to_string(each.number) + " of " + each.from);
  }
  return out;
}

class SignalFileTest : public testing::Test {
 protected:
  void work(const std::function<void(Ports&)>& body) {
    world_.start(node_, "worker " + std::to_string(++programs_), [=](Ports& ports) {
      body(ports);
      return 0;
    });
  }
  template <class Body>
  static std::string raised(Body&& body) {
    try {
      body();
    } catch (const EscapedPythonError& error) {
      return error.what();
    }
    return "nothing";
  }

  world::TestWorld world_;
  sim::NodeId node_ = world_.node("a");
  int programs_ = 0;
};

TEST_F(SignalFileTest, everybody_sees_every_signal_once_in_one_order) {
  std::vector<std::vector<std::string>> seen(3);
  for (int i = 0; i < 3; ++i) {
    work([&seen, i](Ports& ports) {
      SignalFile file(ports, kPath, "job", std::to_string(i));
      for (int k = 0; k < 2; ++k) {
        sleep(ports, std::chrono::milliseconds(10 * (i + 1)));
        file.raise("step");
      }
      sleep(ports, 1s);
      seen[static_cast<std::size_t>(i)] = names(file.look());
      EXPECT_TRUE(file.look().empty());
    });
  }
  world_.run();
  EXPECT_EQ(seen[0].size(), 6U);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[0].front(), "step 1 of 0");
}

TEST_F(SignalFileTest, a_wait_ends_with_its_signal_and_keeps_the_others_for_later) {
  std::vector<std::string> got;
  std::vector<sim::Duration> when;
  work([](Ports& ports) {
    SignalFile file(ports, kPath, "job", "0");
    sleep(ports, 2s);
    file.raise("stop");
    file.raise("checkpoint");
  });
  work([&](Ports& ports) {
    SignalFile file(ports, kPath, "job", "1");
    EXPECT_FALSE(file.wait("checkpoint", world::in(ports, 1s)).has_value());
    got.push_back(file.wait("checkpoint", world::in(ports, 5s)).value().name);
    when.push_back(world_.now());
    got.push_back(file.wait("stop", world::in(ports, 5s)).value().name);
    EXPECT_FALSE(file.wait("stop", world::in(ports, 1s)).has_value()) << "it was raised once";
  });
  world_.run();
  EXPECT_THAT(got, ElementsAre("checkpoint", "stop"));
  ASSERT_EQ(when.size(), 1U);
  EXPECT_LE(when[0], 2200ms);
}

TEST_F(SignalFileTest, other_scopes_and_strangers_do_not_disturb) {
  std::vector<std::string> seen;
  work([&](Ports& ports) {
    SignalFile(ports, kPath, "job/0", "0").raise("old");
    static_cast<void>(ports.files.append(kPath, "what is this\n{\"scope\": \"job/1\", \"na"));
    SignalFile file(ports, kPath, "job/1", "0");
    file.raise("new");
    static_cast<void>(ports.files.append(kPath, std::string(100'000, 'x') + "\n"));
    file.raise("newer");
    seen = names(file.look());
  });
  world_.run();
  EXPECT_THAT(seen, ElementsAre("new 1 of 0", "newer 2 of 0"));
  EXPECT_EQ(world_.events.count("file_signal.refused"), 3U);
}

TEST_F(SignalFileTest, what_cannot_be_raised_is_told_and_not_seen) {
  std::vector<std::string> errors;
  work([&](Ports& ports) {
    SignalFile file(ports, kPath, "job", "0");
    errors.push_back(raised([&] { file.raise(""); }));
    errors.push_back(raised([&] { file.raise(std::string(5000, 'n')); }));
    const auto lock = ports.files.lock(kPath, true, true, std::nullopt);
    EXPECT_TRUE(lock.ok());
    SignalFile other(ports, kPath, "job", "1");
    errors.push_back(raised([&] { other.raise("late"); }));
    EXPECT_TRUE(file.look().empty());
  });
  world_.run();
  EXPECT_THAT(errors,
              ElementsAre("ValueError: a signal must have a name", HasSubstr("is longer than 4096"),
                          "TimeoutError: /shared: timed out"));
}

TEST(FileSignal, what_is_wrong_is_named) {
  const auto refusal = [](const std::string& line) -> std::string {
    try {
      static_cast<void>(parse_file_signal(line));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("x"), HasSubstr("no JSON at byte 1"));
  EXPECT_THAT(refusal("1"), HasSubstr("a JSON object was expected"));
  EXPECT_THAT(refusal("{}"), HasSubstr("/scope must be a text"));
  EXPECT_THAT(refusal(R"({"scope": "", "name": "", "from": "", "number": 1})"),
              HasSubstr("/name must not be empty"));
  EXPECT_THAT(refusal(R"({"scope": "", "name": "n", "from": "", "number": -1})"),
              HasSubstr("/number must be a whole number"));
  EXPECT_THAT(refusal(R"({"scope": "", "name": "n", "from": "", "number": 1e999})"),
              HasSubstr("a number is too large"));
}

RC_GTEST_PROP(FileSignal, comes_back_as_it_was_written, (std::uint64_t number)) {
  const auto text = [] { return *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)); };
  const FileSignal signal{text(), "n" + text(), text(), number};
  RC_ASSERT(parse_file_signal(encode_file_signal(signal)) == signal);
}

}  // namespace
}  // namespace hooke::model
