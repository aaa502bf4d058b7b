// Both generations of the helpers, and the search for ranks that stayed away from a barrier.
#include "model/store/store_helpers.h"

#include <array>
#include <charconv>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

std::vector<std::string> numbered(const std::string& prefix, std::int64_t count) {
  HOOKE_CHECK(count >= 0, "a world has no negative size");
  std::vector<std::string> keys;
  keys.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

/// As Python writes a number of seconds: whole ones without a fraction.
std::string seconds_text(sim::Duration span) {
  const double seconds = std::chrono::duration<double>(span).count();
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), seconds);
  HOOKE_CHECK(error == std::errc(), "the shortest form of a double is shorter");
  return {text.data(), end};
}

/// Content of keys whose existence is all that counts.
const char* const kIgnored = "<val_ignored>";

/// After this many missing ranks rank 0 looks no further.
constexpr std::size_t kMissingMax = 16;

class MissingRanks {
 public:
  MissingRanks(Store& store, std::int64_t world_size, const std::string& prefix,
               const BarrierTracing& tracing)
      : store_(store), world_size_(world_size), prefix_(prefix), tracing_(tracing) {}

  /// The missing ranks, as text; nullopt when rank 0, which would know, does not say.
  std::optional<std::string> find() {
    const std::string gate = prefix_ + "/TRACING_GATE";
    store_.set(trace_of(tracing_.rank), Value(kIgnored));
    if (tracing_.rank == 0) {
      const std::string missing = look_for_traces();
      store_.set(gate, Value(kIgnored));
      return missing;
    }
    try {
      store_.wait({gate});
    } catch (const StoreTimeoutError&) {
      return std::nullopt;
    }
    return "[<check rank 0 (" + name_of(0) + ") for missing rank info>]";
  }

 private:
  std::string look_for_traces() {
    HOOKE_CHECK(tracing_.rank == 0, "rank 0 alone looks for the others");
    std::string missing;
    std::size_t count = 0;
    for (std::int64_t rank = 1; rank < world_size_ && count < kMissingMax; ++rank) {
      try {
        store_.wait({trace_of(rank)}, count == 0 ? tracing_.timeout : std::chrono::milliseconds(1));
      } catch (const StoreTimeoutError&) {
        missing += (count++ == 0 ? "" : ", ") + name_of(rank);
      }
    }
    HOOKE_CHECK(count <= kMissingMax, "ranks that are missing are named up to a limit");
    return missing;
  }
  [[nodiscard]] std::string trace_of(std::int64_t rank) const {
    return prefix_ + std::to_string(rank) + "/TRACE";
  }
  [[nodiscard]] std::string name_of(std::int64_t rank) const {
    return tracing_.name_of ? tracing_.name_of(rank) : std::to_string(rank);
  }

  Store& store_;
  std::int64_t world_size_;
  const std::string& prefix_;
  const BarrierTracing& tracing_;
};

}  // namespace

std::string barrier_count(const std::string& prefix) {
  return prefix + "/num_members";
}

std::string barrier_sign(const std::string& prefix) {
  return prefix + "/last_member";
}

void give_barrier_sign(Store& store, const std::string& prefix) {
  store.set(barrier_sign(prefix), Value(kIgnored));
}

std::string arrive(Store& store, std::int64_t world_size, const std::string& prefix) {
  if (store.add(barrier_count(prefix), 1) == world_size) give_barrier_sign(store, prefix);
  return barrier_sign(prefix);
}

std::vector<Value> get_all(Store& store, std::int64_t rank, const std::string& prefix,
                           std::int64_t world_size) {
  std::vector<Value> values = store.multi_get(numbered(prefix, world_size));
  HOOKE_CHECK(static_cast<std::int64_t>(values.size()) == world_size,
              "there is one value for each rank");
  const std::string sign = arrive(store, world_size, prefix + "/finished");
  if (rank == 0) store.wait({sign});
  return values;
}

std::vector<Value> synchronize(Store& store, Value data, std::int64_t rank, std::int64_t world_size,
                               const std::string& prefix, sim::Duration timeout) {
  StoreTimeoutScope scope(store, timeout);
  store.set(prefix + std::to_string(rank), std::move(data));
  std::vector<Value> values = get_all(store, rank, prefix, world_size);
  scope.restore();
  return values;
}

void barrier(Store& store, std::int64_t world_size, const std::string& prefix,
             sim::Duration timeout, const std::optional<BarrierTracing>& tracing) {
  StoreTimeoutScope scope(store, timeout);
  const std::string sign = arrive(store, world_size, prefix);
  try {
    store.wait({sign});
  } catch (const StoreTimeoutError&) {
    if (!tracing) throw;
    const auto missing = MissingRanks(store, world_size, prefix, *tracing).find();
    if (!missing) throw;
    throw StoreTimeoutError("Timed out waiting on barrier on rank " +
                            std::to_string(tracing->rank) + ", for key prefix: " + prefix +
                            " (world_size=" + std::to_string(world_size) + ", missing_ranks=[" +
                            *missing + "], timeout=" + seconds_text(timeout) + ")");
  }
  scope.restore();
}

std::vector<Value> synchronize_1_13(Store& store, Value data, std::int64_t rank,
                                    std::int64_t world_size, const std::string& prefix,
                                    sim::Duration timeout) {
  store.set_timeout(timeout);
  const std::string mine = prefix + std::to_string(rank);
  store.set(mine, std::move(data));
  std::vector<Value> values;
  for (const std::string& key : numbered(prefix, world_size)) values.push_back(store.get(key));
  HOOKE_CHECK(static_cast<std::int64_t>(values.size()) == world_size,
              "there is one value for each rank");
  store.set(mine + ".FIN", Value("FIN"));
  if (rank == 0) {
    for (const std::string& key : numbered(prefix, world_size))
      static_cast<void>(store.get(key + ".FIN"));
  }
  return values;
}

void barrier_1_13(Store& store, std::int64_t rank, std::int64_t world_size,
                  const std::string& prefix, sim::Duration timeout) {
  static_cast<void>(
      synchronize_1_13(store, Value(std::to_string(rank)), rank, world_size, prefix, timeout));
}

}  // namespace hooke::model
