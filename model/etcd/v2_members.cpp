// Lists of members, and python-etcd's way through them.
#include "model/etcd/v2_members.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "model/etcd/errors.h"
#include "model/observe/python_error.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::uint16_t kDefaultPort = 2379;
/// How often urllib3 sends a request again (Retry.DEFAULT).
constexpr int kRetries = 3;

/// "http://host:port" or "https://[::1]:port".
std::optional<HttpServer> server_of(std::string_view url, const HttpServer& named_by) {
  const std::string_view kPlain = "http://", kSecure = "https://";
  HttpServer server;
  server.interruptible = named_by.interruptible;
  server.main_thread = named_by.main_thread;
  if (url.starts_with(kSecure)) {
    server.tls = named_by.tls.value_or(sim::TlsOptions{});
    url.remove_prefix(kSecure.size());
  } else if (url.starts_with(kPlain)) {
    url.remove_prefix(kPlain.size());
  } else {
    return std::nullopt;
  }
  url = url.substr(0, url.find('/'));
  std::uint16_t port = kDefaultPort;
  const std::size_t colon = url.rfind(':');
  if (colon != std::string_view::npos && !url.ends_with(']')) {
    const std::string_view digits = url.substr(colon + 1);
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) return std::nullopt;
    url = url.substr(0, colon);
  }
  if (url.starts_with('[') && url.ends_with(']')) url = url.substr(1, url.size() - 2);
  if (url.empty()) return std::nullopt;
  server.endpoint = {std::string(url), sim::PortNumber{port}};
  return server;
}

/// python-etcd compares URLs.
bool is_same(const HttpServer& one, const HttpServer& other) {
  return one.endpoint == other.endpoint && one.tls.has_value() == other.tls.has_value();
}

class PythonEtcdMembers final : public EtcdV2Members {
 public:
  PythonEtcdMembers(sim::Ports& ports, HttpServer first)
      : ports_(ports), current_(std::move(first)) {}

  void learn(const HttpRequest& machines, sim::Duration read_timeout) override;
  Answer exchange(const HttpRequest& request, sim::Duration read_timeout) override;
  std::optional<HttpResponse> watch(const HttpRequest& request,
                                    sim::MonotonicTime deadline) override;

 private:
  /// Calls up to four times; notes in `in_doubt` when a call that failed may have had an effect.
  template <class Call>
  auto insisted(bool& in_doubt, Call call) -> decltype(call());
  HttpResponse sent(const HttpRequest& request, sim::Duration read_timeout);
  std::optional<HttpResponse> watched(const HttpRequest& request, sim::Duration timeout);
  std::vector<HttpServer> machines(bool in_doubt);
  void next_server(const HttpError& error, bool in_doubt);
  /// False when it is not on the list.
  bool remove_current();
  HttpClient& client_of(const HttpServer& server);

  sim::Ports& ports_;
  HttpServer current_;              ///< Client._base_uri
  std::vector<HttpServer> others_;  ///< Client._machines_cache
  HttpRequest machines_;
  sim::Duration read_timeout_{};
  std::vector<std::unique_ptr<HttpClient>> clients_;  ///< urllib3's pools
};

void PythonEtcdMembers::learn(const HttpRequest& request, sim::Duration read_timeout) {
  machines_ = request;
  read_timeout_ = read_timeout;
  std::vector<HttpServer> named = machines(false);
  // Python keeps them in a set for a moment: each once, in an order that differs from process to
  // process.
  others_.clear();
  while (!named.empty()) {
    const std::size_t taken =
        named.size() == 1 ? 0 : ports_.random.below("etcd.order_of_machines", named.size());
    const HttpServer server = named[taken];
    std::erase_if(named, [&](const HttpServer& other) { return is_same(other, server); });
    others_.push_back(server);
  }
  static_cast<void>(remove_current());
  HOOKE_CHECK(std::none_of(others_.begin(), others_.end(),
                           [&](const HttpServer& other) { return is_same(other, current_); }),
              "the member that is asked is none of the others");
}

EtcdV2Members::Answer PythonEtcdMembers::exchange(const HttpRequest& request,
                                                  sim::Duration read_timeout) {
  Answer answer;
  for (;;) {
    try {
      answer.response = insisted(answer.in_doubt, [&] { return sent(request, read_timeout); });
      return answer;
    } catch (const HttpError& error) {
      next_server(error, answer.in_doubt);
    }
  }
}

std::optional<HttpResponse> PythonEtcdMembers::watch(const HttpRequest& request,
                                                     sim::MonotonicTime deadline) {
  const sim::Duration timeout = deadline - ports_.clock.monotonic_now();
  bool in_doubt = false;
  for (;;) {
    try {
      return insisted(in_doubt, [&] { return watched(request, timeout); });
    } catch (const HttpError& error) {
      next_server(error, in_doubt);
    }
  }
}

template <class Call>
auto PythonEtcdMembers::insisted(bool& in_doubt, Call call) -> decltype(call()) {
  for (int left = kRetries;; --left) {
    try {
      return call();
    } catch (const HttpError& error) {
      in_doubt = in_doubt || error.outcome_unknown();
      HOOKE_CHECK(left >= 0, "a request is sent again as often as urllib3 does, and no more");
      if (left == 0 || error.answer_begun()) throw;
    }
  }
}

HttpResponse PythonEtcdMembers::sent(const HttpRequest& request, sim::Duration read_timeout) {
  return client_of(current_).exchange(request, ports_.clock.monotonic_now() + read_timeout);
}

/// Etcd sends the head of the answer at once: what has none is a failure, what has no body yet has
/// seen no change.
std::optional<HttpResponse> PythonEtcdMembers::watched(const HttpRequest& request,
                                                       sim::Duration timeout) {
  const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout;
  HttpFeed feed(ports_, current_, request, deadline);
  try {
    return feed.rest(deadline);
  } catch (const HttpError& error) {
    if (error.answer_begun() && error.fault() == sim::Fault::timed_out) return std::nullopt;
    throw;
  }
}

std::vector<HttpServer> PythonEtcdMembers::machines(bool in_doubt) {
  for (;;) {
    try {
      bool ignored = false;
      const HttpResponse response =
          insisted(ignored, [&] { return sent(machines_, read_timeout_); });
      return servers_of(machines_in(response), current_);
    } catch (const HttpError& error) {
      if (others_.empty()) {
        throw EtcdConnectionError("etcd at " + current_.endpoint.host + ":" +
                                      std::to_string(current_.endpoint.port.value) + ": " +
                                      error.what(),
                                  in_doubt);
      }
      current_ = others_.front();
      others_.erase(others_.begin());
    }
  }
}

void PythonEtcdMembers::next_server(const HttpError& error, bool in_doubt) {
  if (others_.empty()) {
    throw EtcdConnectionError("no more machines in the cluster; etcd at " + current_.endpoint.host +
                                  ":" + std::to_string(current_.endpoint.port.value) + ": " +
                                  error.what(),
                              in_doubt);
  }
  current_ = others_.back();
  others_.pop_back();
  others_ = machines(in_doubt);
  if (!remove_current()) throw EscapedPythonError("ValueError", "list.remove(x): x not in list");
}

bool PythonEtcdMembers::remove_current() {
  const auto found = std::find_if(others_.begin(), others_.end(), [&](const HttpServer& server) {
    return is_same(server, current_);
  });
  if (found == others_.end()) return false;
  others_.erase(found);
  return true;
}

HttpClient& PythonEtcdMembers::client_of(const HttpServer& server) {
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const auto& client) {
    return is_same(client->server(), server);
  });
  if (found != clients_.end()) return **found;
  clients_.push_back(std::make_unique<HttpClient>(ports_, server));
  HOOKE_CHECK(is_same(clients_.back()->server(), server), "a client is asked for its own server");
  return *clients_.back();
}

}  // namespace

std::vector<HttpServer> servers_of(const std::string& urls, const HttpServer& named_by) {
  std::vector<HttpServer> out;
  std::string_view left = urls;
  while (!left.empty()) {
    const std::size_t comma = left.find(',');
    std::string_view url = left.substr(0, comma);
    left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
    while (url.starts_with(' ')) url.remove_prefix(1);
    if (auto server = server_of(url, named_by)) out.push_back(std::move(*server));
  }
  return out;
}

const std::string& machines_in(const HttpResponse& response) {
  const bool is_list = response.status == 200 || response.status == 201;
  if (is_list) return response.text();
  const std::string what =
      response.status == 404
          ? "it serves no v2 API (from 3.4 on only with --enable-v2, from 3.6 on not at all)"
          : "HTTP status " + std::to_string(response.status) + ", and no list of members";
  throw EtcdConnectionError("the answer is not etcd's: " + what, true);
}

std::unique_ptr<EtcdV2Members> make_python_etcd_members(sim::Ports& ports,
                                                        const HttpServer& first) {
  return std::make_unique<PythonEtcdMembers>(ports, first);
}

}  // namespace hooke::model
