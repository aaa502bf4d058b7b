// How the texts of --rdzv-conf are read as values.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

RendezvousParameters with(const std::string& value) {
  RendezvousParameters parameters;
  parameters.config["key"] = value;
  return parameters;
}

TEST(RendezvousParameters, are_true_or_false_by_pytorchs_words_in_any_case) {
  for (const char* yes : {"1", "true", "True", "t", "T", "yes", "YES", "y", "Y"}) {
    EXPECT_EQ(with(yes).get_as_bool("key"), true) << yes;
  }
  for (const char* no : {"0", "false", "False", "f", "F", "no", "NO", "n", "N"}) {
    EXPECT_EQ(with(no).get_as_bool("key"), false) << no;
  }
  for (const char* neither : {"", "2", "on", "off", "yes ", "truth"}) {
    EXPECT_THROW(static_cast<void>(with(neither).get_as_bool("key")), std::invalid_argument)
        << neither;
  }
  EXPECT_EQ(with("1").get_as_bool("other"), std::nullopt);
}

TEST(RendezvousParameters, are_numbers_as_python_reads_them) {
  EXPECT_EQ(with(" +1_000 ").get_as_int("key"), 1000);
  EXPECT_EQ(with("-3").get_as_int("key"), -3);
  for (const char* none : {"", "1.5", "5s", "ten", "_1", "1_", "1__0", "+-5"}) {
    EXPECT_THROW(static_cast<void>(with(none).get_as_int("key")), std::invalid_argument) << none;
  }
}

TEST(RendezvousParameters, are_seconds_unless_a_unit_says_otherwise) {
  EXPECT_EQ(with("5").get_as_seconds("key"), sim::Duration(5s));
  EXPECT_EQ(with("5s").get_as_seconds("key"), sim::Duration(5s));
  EXPECT_EQ(with("500ms").get_as_seconds("key"), sim::Duration(500ms));
  EXPECT_THROW(static_cast<void>(with("5m").get_as_seconds("key")), std::invalid_argument);
  EXPECT_EQ(with("3000000000").get_as_seconds("key"), sim::Duration(3'000'000'000s));
  for (const char* too_long : {"9300000000", "-9300000000", "9223372036854775807", "4000000000s"}) {
    EXPECT_THROW(static_cast<void>(with(too_long).get_as_seconds("key")), std::invalid_argument)
        << too_long;
  }
}

TEST(RendezvousParameters, refuse_a_keep_alive_that_never_pauses) {
  RendezvousParameters parameters;
  parameters.variant = Variant::torch_2_x;
  for (const char* never : {"0", "-1", "0ms"}) {
    parameters.config["keep_alive_interval"] = never;
    EXPECT_THROW(static_cast<void>(dynamic_settings(parameters)), std::invalid_argument) << never;
  }
  parameters.config["keep_alive_interval"] = "1ms";
  EXPECT_EQ(dynamic_settings(parameters).keep_alive_interval, sim::Duration(1ms));
}

TEST(RendezvousParameters, refuse_a_keep_alive_threshold_that_no_clock_can_hold) {
  RendezvousParameters parameters;
  parameters.variant = Variant::torch_2_x;
  parameters.config["keep_alive_interval"] = "3000000000";
  for (const char* attempts : {"2", "-2", "9223372036854775807", "-9223372036854775808"}) {
    parameters.config["keep_alive_max_attempt"] = attempts;
    EXPECT_THROW(static_cast<void>(dynamic_settings(parameters)), std::invalid_argument)
        << attempts;
  }
  parameters.config["keep_alive_max_attempt"] = "1";
  EXPECT_EQ(dynamic_settings(parameters).keep_alive_max_attempt, 1);
}

}  // namespace
}  // namespace hooke::model
