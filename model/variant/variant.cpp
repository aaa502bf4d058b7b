// Names of the protocol variants, as they appear in scenarios, and the release of each change. No
// other file compares releases.
#include "model/variant/variant.h"

#include <array>
#include <compare>

namespace hooke::model {
namespace {

struct Release {
  int major;
  int minor;
  friend auto operator<=>(const Release&, const Release&) = default;
};

struct Named {
  Variant variant;
  std::string_view name;
  Release release;  ///< whose wire it speaks
};

constexpr std::array<Named, 8> kVariants{{
    {Variant::torch_1_13, "torch-1.13", {1, 13}},
    {Variant::torch_2_0, "torch-2.0", {2, 0}},
    {Variant::torch_2_4, "torch-2.4", {2, 4}},
    {Variant::torch_2_6, "torch-2.6", {2, 6}},
    {Variant::torch_2_9, "torch-2.9", {2, 9}},
    {Variant::torch_2_12, "torch-2.12", {2, 12}},
    {Variant::torch_2_x, "torch-2.x", {2, 13}},
    {Variant::hardened, "hardened", {2, 13}},
}};
constexpr std::string_view kNewest = "torch-2.13";

static_assert(
    [] {
      for (std::size_t i = 0; i < kVariants.size(); ++i) {
        if (static_cast<std::size_t>(kVariants[i].variant) != i) return false;
      }
      return true;
    }(),
    "the table has the order of the variants");

constexpr const Named& entry(Variant variant) {
  return kVariants[static_cast<std::size_t>(variant)];
}
constexpr bool since(Variant variant, Release release) {
  return entry(variant).release >= release;
}
constexpr bool until(Variant variant, Release release) {
  return entry(variant).release <= release;
}

}  // namespace

std::string_view to_string(Variant variant) {
  return entry(variant).name;
}

std::optional<Variant> variant_from(std::string_view name) {
  for (const Named& known : kVariants) {
    if (known.name == name) return known.variant;
  }
  if (name == kNewest) return Variant::torch_2_x;
  return std::nullopt;
}

std::vector<std::string> variant_names() {
  std::vector<std::string> out{std::string(to_string(Variant::torch_2_x))};
  for (const Named& known : kVariants) {
    if (known.variant == Variant::hardened) out.emplace_back(kNewest);
    if (known.variant != Variant::torch_2_x) out.emplace_back(known.name);
  }
  return out;
}

bool share_a_job(Variant one, Variant other) {
  for (const auto predicate :
       {names_nodes_by_address, keeps_spares, writes_times_with_a_zone, checks_store_connections}) {
    if (predicate(one) != predicate(other)) return false;
  }
  return true;
}

bool names_nodes_by_address(Variant variant) {
  return since(variant, {2, 0});
}

bool resolves_the_endpoint(Variant variant) {
  return since(variant, {2, 0});
}

bool keeps_spares(Variant variant) {
  return since(variant, {2, 3});
}

bool writes_times_with_a_zone(Variant variant) {
  return since(variant, {2, 6});
}

bool bears_a_missing_deadline(Variant variant) {
  return since(variant, {2, 6});
}

bool reads_keep_alive_settings(Variant variant) {
  return since(variant, {2, 7});
}

bool rendezvous_says_where_workers_meet(Variant variant) {
  return since(variant, {2, 4});
}

bool hides_the_local_address(Variant variant) {
  return since(variant, {2, 4}) && until(variant, {2, 4});
}

bool serves_the_workers_store(Variant variant) {
  return since(variant, {2, 5});
}

bool prefixes_keys_with_the_restart_count(Variant variant) {
  return until(variant, {2, 5});
}

bool later_rank_zero_fails(Variant variant) {
  return since(variant, {2, 6}) && until(variant, {2, 12});
}

bool checks_store_connections(Variant variant) {
  return since(variant, {2, 2});
}

bool backs_off_from_the_store(Variant variant) {
  return since(variant, {2, 5});
}

bool counts_users_of_a_file_store(Variant variant) {
  return since(variant, {2, 0});
}

bool waits_for_others_after_a_failure(Variant variant) {
  return until(variant, {2, 0});
}

bool counts_in_barriers(Variant variant) {
  return since(variant, {2, 4});
}

bool knows_identical_workers(Variant variant) {
  return since(variant, {2, 6});
}

bool closes_on_a_signal(Variant variant) {
  return since(variant, {2, 3}) && until(variant, {2, 7});
}

bool is_silent_in_the_exit_barrier(Variant variant) {
  return since(variant, {2, 4}) && until(variant, {2, 11});
}

bool has_a_shutdown_timeout(Variant variant) {
  return since(variant, {2, 12});
}

bool gives_up_the_uninterruptible(Variant variant) {
  return since(variant, {2, 13});
}

bool waits_without_limit_for_the_killed(Variant variant) {
  return until(variant, {2, 12});
}

bool records_durations(Variant variant) {
  return since(variant, {2, 4});
}

bool chooses_an_event_log_handler(Variant variant) {
  return since(variant, {2, 8});
}

bool starts_workers_in_sessions(Variant variant) {
  return since(variant, {2, 2});
}

bool names_async_errors_after_torch(Variant variant) {
  return since(variant, {2, 2});
}

bool has_a_line_prefix(Variant variant) {
  return since(variant, {2, 2});
}

bool may_log_nowhere(Variant variant) {
  return since(variant, {2, 3});
}

bool makes_the_log_directory_first(Variant variant) {
  return variant != Variant::hardened && since(variant, {2, 3});
}

bool makes_the_log_directory_with_the_agent(Variant variant) {
  return variant != Variant::hardened && until(variant, {2, 2});
}

bool says_error_traits(Variant variant) {
  return since(variant, {2, 10});
}

bool lists_failures_of_the_stop(Variant variant) {
  return since(variant, {2, 10});
}

bool tells_workers_its_signals(Variant variant) {
  return since(variant, {2, 10});
}

bool forgets_timers_of_the_dead(Variant variant) {
  return since(variant, {2, 4});
}

bool tries_the_timer_again(Variant variant) {
  return since(variant, {2, 7});
}

bool puts_the_timer_where_temporary_files_are(Variant variant) {
  return since(variant, {2, 11});
}

bool stands_alone_on_a_free_port(Variant variant) {
  return since(variant, {2, 1});
}

}  // namespace hooke::model
