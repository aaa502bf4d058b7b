// Each predicate at the release in which it changed.
#include "model/variant/variant.h"

#include <gmock/gmock.h>

namespace hooke::model {
namespace {

using testing::Contains;
using testing::ElementsAre;

constexpr Variant kReleases[] = {Variant::torch_1_13, Variant::torch_2_0, Variant::torch_2_4,
                                 Variant::torch_2_6,  Variant::torch_2_9, Variant::torch_2_12,
                                 Variant::torch_2_x};

struct Boundary {
  const char* name;
  bool (*predicate)(Variant);
  std::optional<Variant> first;  ///< of the releases that can be chosen; none: from 1.13 on
  std::optional<Variant> last;   ///< none: up to the newest and `hardened`
};

#define HOOKE_BOUNDARY(predicate, first, last) \
  Boundary {                                   \
#predicate, predicate, first, last         \
  }
const Boundary kBoundaries[] = {
    HOOKE_BOUNDARY(names_nodes_by_address, Variant::torch_2_0, std::nullopt),
    HOOKE_BOUNDARY(resolves_the_endpoint, Variant::torch_2_0, std::nullopt),
    HOOKE_BOUNDARY(keeps_spares, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(writes_times_with_a_zone, Variant::torch_2_6, std::nullopt),
    HOOKE_BOUNDARY(bears_a_missing_deadline, Variant::torch_2_6, std::nullopt),
    HOOKE_BOUNDARY(reads_keep_alive_settings, Variant::torch_2_9, std::nullopt),
    HOOKE_BOUNDARY(rendezvous_says_where_workers_meet, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(hides_the_local_address, Variant::torch_2_4, Variant::torch_2_4),
    HOOKE_BOUNDARY(serves_the_workers_store, Variant::torch_2_6, std::nullopt),
    HOOKE_BOUNDARY(prefixes_keys_with_the_restart_count, std::nullopt, Variant::torch_2_4),
    HOOKE_BOUNDARY(later_rank_zero_fails, Variant::torch_2_6, Variant::torch_2_12),
    HOOKE_BOUNDARY(checks_store_connections, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(backs_off_from_the_store, Variant::torch_2_6, std::nullopt),
    HOOKE_BOUNDARY(counts_users_of_a_file_store, Variant::torch_2_0, std::nullopt),
    HOOKE_BOUNDARY(waits_for_others_after_a_failure, std::nullopt, Variant::torch_2_0),
    HOOKE_BOUNDARY(counts_in_barriers, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(knows_identical_workers, Variant::torch_2_6, std::nullopt),
    HOOKE_BOUNDARY(closes_on_a_signal, Variant::torch_2_4, Variant::torch_2_6),
    HOOKE_BOUNDARY(is_silent_in_the_exit_barrier, Variant::torch_2_4, Variant::torch_2_9),
    HOOKE_BOUNDARY(has_a_shutdown_timeout, Variant::torch_2_12, std::nullopt),
    HOOKE_BOUNDARY(gives_up_the_uninterruptible, Variant::torch_2_x, std::nullopt),
    HOOKE_BOUNDARY(waits_without_limit_for_the_killed, std::nullopt, Variant::torch_2_12),
    HOOKE_BOUNDARY(records_durations, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(chooses_an_event_log_handler, Variant::torch_2_9, std::nullopt),
    HOOKE_BOUNDARY(starts_workers_in_sessions, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(names_async_errors_after_torch, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(has_a_line_prefix, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(may_log_nowhere, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(says_error_traits, Variant::torch_2_12, std::nullopt),
    HOOKE_BOUNDARY(lists_failures_of_the_stop, Variant::torch_2_12, std::nullopt),
    HOOKE_BOUNDARY(tells_workers_its_signals, Variant::torch_2_12, std::nullopt),
    HOOKE_BOUNDARY(forgets_timers_of_the_dead, Variant::torch_2_4, std::nullopt),
    HOOKE_BOUNDARY(tries_the_timer_again, Variant::torch_2_9, std::nullopt),
    HOOKE_BOUNDARY(puts_the_timer_where_temporary_files_are, Variant::torch_2_12, std::nullopt),
    HOOKE_BOUNDARY(stands_alone_on_a_free_port, Variant::torch_2_4, std::nullopt),
};
#undef HOOKE_BOUNDARY

TEST(Releases, change_what_they_do_where_pytorch_did) {
  for (const Boundary& boundary : kBoundaries) {
    for (const Variant variant : kReleases) {
      const bool expected = (!boundary.first || variant >= *boundary.first) &&
                            (!boundary.last || variant <= *boundary.last);
      EXPECT_EQ(boundary.predicate(variant), expected) << boundary.name << to_string(variant);
    }
    EXPECT_EQ(boundary.predicate(Variant::hardened), boundary.predicate(Variant::torch_2_x))
        << boundary.name;
  }
}

TEST(Releases, are_known_by_their_names) {
  EXPECT_THAT(variant_names(),
              ElementsAre("torch-2.x", "torch-1.13", "torch-2.0", "torch-2.4", "torch-2.6",
                          "torch-2.9", "torch-2.12", "torch-2.13", "hardened"));
  for (const std::string& name : variant_names()) {
    const auto variant = variant_from(name);
    ASSERT_TRUE(variant.has_value()) << name;
    EXPECT_THAT(variant_names(), Contains(std::string(to_string(*variant))));
  }
  EXPECT_EQ(variant_from("torch-2.13"), Variant::torch_2_x);
  EXPECT_EQ(to_string(Variant::torch_2_x), "torch-2.x");
  EXPECT_EQ(variant_from("torch-2.5"), std::nullopt);
  EXPECT_EQ(variant_from(""), std::nullopt);
}

TEST(Releases, share_a_job_that_write_the_same_state_and_speak_to_the_same_store) {
  for (const Variant one : {Variant::torch_1_13, Variant::torch_2_0, Variant::torch_2_4}) {
    for (const Variant other : kReleases) EXPECT_EQ(share_a_job(one, other), one == other);
    EXPECT_FALSE(share_a_job(one, Variant::hardened));
  }
  for (const Variant one : {Variant::torch_2_6, Variant::torch_2_9, Variant::torch_2_12}) {
    EXPECT_TRUE(share_a_job(one, Variant::torch_2_x));
    EXPECT_TRUE(share_a_job(Variant::hardened, one));
  }
}

}  // namespace
}  // namespace hooke::model
