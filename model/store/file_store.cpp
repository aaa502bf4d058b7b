// A record is u32 key length, key, u32 value length, value. Replaying all of them gives the map.
#include "model/store/file_store.h"

#include <map>
#include <utility>

#include "model/store/decimal.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr sim::Duration kPoll = 10ms;
constexpr std::size_t kLengthBytes = 4;
/// What stands before a key that is gone.
constexpr char kDeleted = '-';
/// Users that have the store open, and those that had. A user's keys begin with a slash.
constexpr const char* kUsers = "refcount/";
constexpr const char* kFormerUsers = "cleanup/";

void put_text(std::string& out, const std::string& text) {
  HOOKE_CHECK(text.size() <= 0xffffffffU, "a length fits the field that holds it");
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>(text.size() >> shift & 0xffU);
  }
  out += text;
}

class FileStore final : public Store {
 public:
  FileStore(sim::Ports& ports, std::string path, FileStoreUser user)
      : ports_(ports), path_(std::move(path)), user_(user) {
    if (user_ == FileStoreUser::counted) add_to(kUsers, 1);
  }

  /// A file that is gone is not made again. PyTorch's ends the process where the file cannot be
  /// written; nothing depends on the count of a store without a known number of users.
  ~FileStore() override {
    if (user_ == FileStoreUser::onlooker || !ports_.files.exists(path_)) return;
    try {
      add_to(kFormerUsers, 1);
      if (user_ == FileStoreUser::counted) add_to(kUsers, -1);
    } catch (const StoreError&) {
    } catch (const sim::Killed&) {
      // The process has died while it waited for the lock: it has counted as much as it had.
    }
  }
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  void set(const std::string& key, Value value) override {
    const auto lock = writing();
    append_record('/' + key, value.bytes());
  }

  Value get(const std::string& key) override {
    await({key}, timeout_, "Timeout waiting for key: ");
    HOOKE_CHECK(entries_.contains('/' + key), "a wait that ends in time has found its key");
    return Value(entries_.at('/' + key));
  }

  std::int64_t add(const std::string& key, std::int64_t delta) override {
    return add_to('/' + key, delta);
  }

  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    const auto lock = writing();
    replay();
    const auto found = entries_.find('/' + key);
    const bool present = found != entries_.end();
    const bool matches = present ? found->second == expected.bytes() : expected.empty();
    if (!matches) return present ? Value(found->second) : expected;
    append_record('/' + key, desired.bytes());
    return desired;
  }

  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    await(keys, timeout.value_or(timeout_), "Wait timeout, keys: ");
  }

  bool check(const std::vector<std::string>& keys) override {
    const auto lock = reading(timeout_);
    replay();
    return have(keys);
  }

  void append(const std::string& key, Value value) override {
    const auto lock = writing();
    replay();
    const auto found = entries_.find('/' + key);
    append_record('/' + key,
                  (found == entries_.end() ? std::string() : found->second) + value.bytes());
  }

  bool delete_key(const std::string& key) override {
    const auto lock = locked(true, false, timeout_);
    append_record(std::string(1, kDeleted) + '/' + key, "");
    return true;
  }

  std::int64_t num_keys() override {
    const auto lock = reading(timeout_);
    replay();
    return static_cast<std::int64_t>(entries_.size());
  }

  [[nodiscard]] sim::Duration timeout() const override { return timeout_; }
  void set_timeout(sim::Duration timeout) override { timeout_ = timeout; }

 private:
  using Lock = std::unique_ptr<sim::FileLock>;

  [[nodiscard]] Lock writing() { return locked(true, true, timeout_); }
  [[nodiscard]] Lock reading(sim::Duration timeout) { return locked(false, false, timeout); }

  std::int64_t add_to(const std::string& key, std::int64_t delta) {
    const auto lock = writing();
    replay();
    std::int64_t number = 0;
    if (const auto found = entries_.find(key); found != entries_.end()) {
      const auto old = leading_number(found->second);
      if (!old) throw StoreError("the value of \"" + key + "\" is no number");
      number = *old;
    }
    number = wrapping_sum(number, delta);
    append_record(key, std::to_string(number));
    return number;
  }

  /// A reader of a file that is not there yet waits for it, as PyTorch's does.
  Lock locked(bool exclusive, bool create, sim::Duration timeout) {
    const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout;
    for (;;) {
      auto lock = ports_.files.lock(path_, exclusive, create, deadline);
      HOOKE_CHECK(!lock || lock.value() != nullptr, "a lock that was taken is held");
      if (lock) return std::move(lock).value();
      const sim::Failure& failure = lock.failure();
      const bool in_time = ports_.clock.monotonic_now() < deadline;
      if (failure.fault != sim::Fault::not_found || create || !in_time) {
        if (failure.fault == sim::Fault::timed_out) throw StoreTimeoutError(failure.detail);
        throw StoreError(failure.detail);
      }
      pause();
    }
  }

  void pause() { ports_.executor.sleep_until(ports_.clock.monotonic_now() + kPoll); }

  [[nodiscard]] bool have(const std::vector<std::string>& keys) const {
    for (const std::string& key : keys) {
      if (!entries_.contains('/' + key)) return false;
    }
    return true;
  }

  void await(const std::vector<std::string>& keys, sim::Duration timeout, const char* complaint) {
    // Rounded up to whole seconds, as PyTorch counts them.
    HOOKE_CHECK(complaint != nullptr, "a wait that fails says so");
    const sim::Duration span = (timeout + 1s) / 1s * sim::Duration(1s);
    const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + span;
    for (;;) {
      {
        const auto lock = reading(deadline - ports_.clock.monotonic_now());
        replay();
      }
      if (have(keys)) return;
      if (ports_.clock.monotonic_now() >= deadline) {
        std::string names;
        for (const std::string& key : keys) names += (names.empty() ? "" : ", ") + key;
        throw StoreTimeoutError(complaint + names);
      }
      pause();
    }
  }

  /// Takes in what others have written since the last look.
  void replay() {
    for (;;) {
      const auto more = ports_.files.read_from(path_, read_ + pending_.size());
      if (!more) throw StoreError(more.failure().detail);
      if (more.value().empty()) break;
      pending_ += more.value();
      HOOKE_CHECK(!pending_.empty(), "what was read is there");
      take_records();
    }
    if (pending_.empty()) return;
    throw StoreError(path_ + ": byte " + std::to_string(read_) +
                     ": expected a whole record, got the end of the file");
  }

  void take_records() {
    std::size_t at = 0;
    for (std::size_t end = 0;; at = end) {
      end = at;
      const auto key = take_text(end);
      if (!key) break;
      const auto value = take_text(end);
      if (!value) break;
      if (!key->empty() && key->front() == kDeleted) {
        entries_.erase(key->substr(1));
      } else {
        entries_[*key] = *value;
      }
    }
    HOOKE_CHECK(at <= pending_.size(), "no more is taken in than was read");
    pending_.erase(0, at);
    read_ += at;
  }

  /// The text at `at` of what is pending, and `at` behind it; nullopt when it is not all there.
  std::optional<std::string> take_text(std::size_t& at) const {
    if (pending_.size() - at < kLengthBytes) return std::nullopt;
    std::size_t length = 0;
    for (unsigned i = 0; i < kLengthBytes; ++i) {
      length |= std::size_t{static_cast<unsigned char>(pending_[at + i])} << (8U * i);
    }
    if (pending_.size() - at - kLengthBytes < length) return std::nullopt;
    std::string text = pending_.substr(at + kLengthBytes, length);
    at += kLengthBytes + length;
    HOOKE_CHECK(at <= pending_.size(), "a text ends where its length says");
    return text;
  }

  void append_record(const std::string& key, const std::string& value) {
    HOOKE_CHECK(!key.empty(), "a record has a key");
    std::string record;
    put_text(record, key);
    put_text(record, value);
    HOOKE_CHECK(record.size() == 2 * kLengthBytes + key.size() + value.size(),
                "a record is as long as its parts");
    const auto written = ports_.files.append(path_, record);
    if (!written) throw StoreError(written.failure().detail, true);
  }

  sim::Ports& ports_;
  std::string path_;
  FileStoreUser user_;
  sim::Duration timeout_ = 300s;
  std::map<std::string, std::string> entries_;
  std::uint64_t read_ = 0;  ///< bytes of the file that are in entries_
  std::string pending_;     ///< read, and not a whole record yet
};

}  // namespace

std::shared_ptr<Store> open_file_store(sim::Ports& ports, std::string path, FileStoreUser user) {
  return std::make_shared<FileStore>(ports, std::move(path), user);
}

}  // namespace hooke::model
