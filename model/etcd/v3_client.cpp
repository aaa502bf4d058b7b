// In the gateway's JSON bytes are Base64, 64-bit numbers are texts, and zeroes are left out.
#include "model/etcd/v3_client.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "model/etcd/json_text.h"
#include "model/store/base64.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;

constexpr int kAttempts = 3;
/// Pause before a cluster without a leader is asked again.
constexpr sim::Duration kLeaderPause = std::chrono::milliseconds(50);

[[noreturn]] void no_etcd(const std::string& what) {
  throw EtcdConnectionError("the answer is not etcd's: " + what, true);
}

std::string base64(const std::string& bytes) {
  return base64_encode(sim::Value(bytes)).bytes();
}

std::int64_t number_in(const json& document, const char* name) {
  if (!document.is_object()) no_etcd(std::string("no object with a ") + name);
  const auto found = document.find(name);
  if (found == document.end()) return 0;
  // Revisions are counted on from, and back: each number has one before it and one behind it.
  const auto refused = [name](const std::string& text) {
    no_etcd(std::string(name) + " is \"" + text + "\"");
  };
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t number = 0;
  if (found->is_number_integer()) {
    number = found->get<std::int64_t>();
  } else {
    const auto& text = found->get_ref<const std::string&>();
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size()) refused(text);
  }
  if (number == Limits::min() || number == Limits::max()) refused(std::to_string(number));
  return number;
}

/// Many agents read them.
sim::Value bytes_in(const json& document, const char* name) {
  return base64_decode(sim::Value(std::make_shared<StoredText>(document.value(name, ""))));
}

/// What the answer to a range says.
EtcdV3Read read_of(const json& answer) {
  EtcdV3Read read;
  if (answer.contains("header")) read.revision = number_in(answer["header"], "revision");
  if (const auto entries = answer.find("kvs"); entries != answer.end() && !entries->empty()) {
    const json& entry = entries->front();
    read.entry = {bytes_in(entry, "value"), number_in(entry, "mod_revision")};
  }
  return read;
}

/// What `use` makes of a JSON answer; whatever in it is not as it should be is no etcd's.
template <class Use>
auto understood(const sim::Value& text, Use use) {
  const json document = json_or_discarded(text.bytes());
  if (!document.is_object()) no_etcd("no JSON object");
  try {
    return use(document);
  } catch (const json::exception& error) {
    no_etcd(error.what());
  } catch (const Base64Error& error) {
    no_etcd(error.what());
  }
}

EtcdV3TransactionAnswer transaction_answer_of(const json& answer) {
  EtcdV3TransactionAnswer out;
  out.succeeded = answer.value("succeeded", false);
  out.revision = number_in(answer.at("header"), "revision");
  if (!out.succeeded) out.entry = read_of(answer.at("responses").at(0).at("response_range")).entry;
  return out;
}

/// A server in the same program tells many clients the same: its text is understood once in each
/// `way`, and so does nothing but the text count in how.
template <class Said>
Said said_in(const sim::Value& text, int way, Said (*how)(const json&)) {
  const auto* const told = dynamic_cast<const StoredText*>(text.payload().get());
  if (told == nullptr) return understood(text, how);
  std::shared_ptr<const void>& reading = told->reading(way);
  if (reading == nullptr) reading = std::make_shared<const Said>(understood(text, how));
  return *static_cast<const Said*>(reading.get());
}

/// Throws what an answer with an error in it says.
void check_refusal(int status, const std::string& body) {
  if (status == 200) return;
  const json document = json_or_discarded(body);
  if (!document.is_object() || !document.contains("code") || !document["code"].is_number()) {
    const std::string told = "HTTP status " + std::to_string(status);
    if (status == 404) no_etcd(told + ": it serves no /v3 gateway");
    constexpr std::size_t kShown = 200;
    throw EtcdError(status, "etcd: " + told + ": " + body.substr(0, kShown));
  }
  const auto message = document.find("error");
  throw EtcdError(
      document["code"].get<int>(),
      "etcd: " + (message != document.end() && message->is_string() ? message->get<std::string>()
                                                                    : "refused"));
}

/// The key right after all those that begin with `prefix`.
std::string end_of(std::string prefix) {
  HOOKE_CHECK(!prefix.empty(), "a listing is of what begins with some text");
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

}  // namespace

EtcdV3Client::EtcdV3Client(sim::Ports& ports, EtcdOptions options)
    : ports_(ports), options_(std::move(options)), cluster_(ports, options_.server) {
  if (!options_.user.empty()) authenticate();
  const sim::Value members = post("/v3/cluster/member/list", "{}", true);
  understood(members, [&](const json& answer) {
    for (const json& member : answer.value("members", json::array())) {
      for (const json& url : member.value("clientURLs", json::array())) {
        cluster_.learn(url.get<std::string>());
      }
    }
  });
}

EtcdV3Read EtcdV3Client::get(const std::string& key, std::int64_t revision) {
  if (revision == 0 && options_.by_quorum) return get_agreed(key);
  std::string body = R"({"key":")" + base64(key);
  if (revision != 0) body.append(R"(","revision":")").append(std::to_string(revision));
  return said_in(post("/v3/kv/range", body.append(R"("})"), true), StoredText::kAsEtcdRange,
                 read_of);
}

EtcdV3Read EtcdV3Client::get_agreed(const std::string& key) {
  if (agreed_key_ != key) {
    agreed_read_ = sim::Value(std::make_shared<EtcdV3Transaction>(EtcdV3Transaction::reading(key)));
    agreed_key_ = key;
  }
  EtcdV3TransactionAnswer told = answer_to(agreed_read_, true);
  if (told.succeeded) no_etcd("what has no revision has happened");
  return {std::move(told.entry), told.revision};
}

std::map<std::string, sim::Value> EtcdV3Client::list(const std::string& prefix) {
  const json body{{"key", base64(prefix)}, {"range_end", base64(end_of(prefix))}};
  return understood(post("/v3/kv/range", json_text(body), true), [&](const json& answer) {
    std::map<std::string, sim::Value> out;
    for (const json& entry : answer.value("kvs", json::array())) {
      const std::string key = bytes_in(entry, "key").bytes();
      if (key.starts_with(prefix)) out[key.substr(prefix.size())] = bytes_in(entry, "value");
    }
    return out;
  });
}

void EtcdV3Client::put(const std::string& key, const sim::Value& value) {
  const json body{{"key", base64(key)}, {"value", base64_encode(value).bytes()}};
  for (int attempt = 1;; ++attempt) {
    try {
      static_cast<void>(post("/v3/kv/put", json_text(body), !options_.by_quorum));
      return;
    } catch (const EtcdConnectionError& error) {
      if (!options_.by_quorum || !error.outcome_unknown() || attempt == kAttempts) throw;
    }
    const EtcdV3Entry now = get(key).entry;
    if (now.exists() && now.value == value) return;
  }
}

EtcdV3Write EtcdV3Client::put_if(const std::string& key, const sim::Value& value,
                                 std::int64_t revision, std::int64_t lease,
                                 const sim::Value* there) {
  for (int attempt = 1;; ++attempt) {
    try {
      EtcdV3Write write = transact(key, value, revision, lease, there);
      write.in_doubt = !write.written && attempt > 1;
      return write;
    } catch (const EtcdConnectionError& error) {
      if (!error.outcome_unknown() || attempt == kAttempts) throw;
    }
    HOOKE_CHECK(attempt < kAttempts, "a write is tried no more often than it may be");
    // Over a slow path others may write faster than their writes can be read.
    const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + options_.read_timeout;
    EtcdV3Read now = get(key);
    if (now.entry.revision == revision) continue;
    auto written = since(
        key, revision, now.entry, [&](const sim::Value& bytes) { return bytes == value; },
        deadline);
    if (written) return {true, false, std::move(*written)};
    return {false, true, std::move(now.entry)};
  }
}

EtcdV3Entry EtcdV3Client::before(const std::string& key, std::int64_t revision) {
  try {
    return get(key, revision - 1).entry;
  } catch (const EtcdError& error) {
    if (error.code() != kCompacted) throw;
    throw EtcdForgottenError("etcd has forgotten the writer of " + key);
  }
}

EtcdV3Write EtcdV3Client::transact(const std::string& key, const sim::Value& value,
                                   std::int64_t revision, std::int64_t lease,
                                   const sim::Value* there) {
  EtcdV3Transaction::Put put{key, value, lease, revision};
  if (there != nullptr) put.there = *there;
  EtcdV3TransactionAnswer told =
      answer_to(sim::Value(std::make_shared<EtcdV3Transaction>(put)), false);
  EtcdV3Write write;
  write.written = told.succeeded;
  write.present = told.succeeded ? EtcdV3Entry{value, told.revision} : std::move(told.entry);
  return write;
}

EtcdV3TransactionAnswer EtcdV3Client::answer_to(const sim::Value& transaction, bool repeatable) {
  HttpRequest asked = request("/v3/kv/txn", "");
  asked.whole = transaction;
  return said_in(answer(std::move(asked), repeatable), StoredText::kAsEtcdTransaction,
                 transaction_answer_of);
}

bool EtcdV3Client::remove(const std::string& key) {
  const json body{{"key", base64(key)}};
  return understood(post("/v3/kv/deleterange", json_text(body), false),
                    [](const json& answer) { return number_in(answer, "deleted") > 0; });
}

std::int64_t EtcdV3Client::grant(sim::Duration ttl) {
  HOOKE_CHECK(ttl >= std::chrono::seconds(1), "a lease is asked for in whole seconds");
  const json body{{"TTL", std::to_string(ttl / std::chrono::seconds(1))}};
  // A lease too many ends by itself.
  return understood(post("/v3/lease/grant", json_text(body), true), [](const json& answer) {
    const std::int64_t lease = number_in(answer, "ID");
    if (lease <= 0) no_etcd("a lease with the number " + std::to_string(lease));
    return lease;
  });
}

bool EtcdV3Client::renew(std::int64_t lease) {
  HOOKE_CHECK(lease > 0, "a lease that is renewed was granted");
  const json body{{"ID", std::to_string(lease)}};
  return understood(post("/v3/lease/keepalive", json_text(body), true), [](const json& answer) {
    return number_in(answer.value("result", json::object()), "TTL") > 0;
  });
}

bool EtcdV3Client::watch(const std::string& key, std::int64_t revision,
                         sim::MonotonicTime deadline) {
  const json body{
      {"create_request", {{"key", base64(key)}, {"start_revision", std::to_string(revision)}}}};
  try {
    HttpFeed feed(ports_, cluster_.current(), request("/v3/watch", json_text(body)), deadline);
    std::string text;
    while (const auto piece = feed.next(deadline)) {
      text += piece->bytes();
      check_refusal(feed.status(), text);
      // One JSON text a line.
      for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        const bool told = understood(sim::Value(text.substr(0, end)), [](const json& message) {
          const json result = message.value("result", json::object());
          return result.contains("events") || result.value("canceled", false);
        });
        if (told) return true;
        text.erase(0, end + 1);
      }
    }
    return true;
  } catch (const HttpError& error) {
    if (error.fault() == sim::Fault::timed_out) return false;
    cluster_.leave();
    throw EtcdConnectionError(std::string("watching etcd: ") + error.what(), false);
  }
}

void EtcdV3Client::authenticate() {
  token_.clear();
  const json body{{"name", options_.user}, {"password", options_.password}};
  token_ = understood(post("/v3/auth/authenticate", json_text(body), true),
                      [](const json& answer) { return answer.value("token", ""); });
}

HttpRequest EtcdV3Client::request(const std::string& path, const std::string& body) const {
  HOOKE_CHECK(path.starts_with("/v3/"), "what is asked for is of the v3 API");
  HOOKE_CHECK(body.empty() || (body.starts_with('{') && body.ends_with('}')),
              "a message is an object");
  return {"POST", path, body, "application/json", token_};
}

sim::Value EtcdV3Client::answer(HttpRequest request, bool repeatable) {
  const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + options_.read_timeout;
  for (bool renewed = false;;) {
    HttpResponse response = cluster_.exchange(request, deadline, repeatable);
    std::optional<EtcdError> refused;
    try {
      check_refusal(response.status, response.text());
    } catch (const EtcdError& error) {
      refused = error;
    }
    if (!refused) {
      return response.whole.empty() ? sim::Value(std::move(response.body)) : response.whole;
    }
    if (refused->code() == kUnavailable) {
      const sim::MonotonicTime next = ports_.clock.monotonic_now() + kLeaderPause;
      if (!repeatable || next >= deadline) throw EtcdConnectionError(refused->what(), true);
      ports_.executor.sleep_until(next);
      continue;
    }
    // A session that has ended, as it does after five minutes without use.
    if (refused->code() != kUnauthenticated || token_.empty() || renewed) throw *refused;
    authenticate();
    request.authorization = token_;
    renewed = true;
  }
}

}  // namespace hooke::model
