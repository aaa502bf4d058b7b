// Which member is asked.
#include "model/etcd/cluster.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::uint16_t kDefaultPort = 2379;

/// "http://host:port" or "https://[::1]:port", with the TLS files and the interruptions of the
/// member that named it.
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
  HOOKE_CHECK(!url.empty(), "a member has a host");
  server.endpoint = {std::string(url), sim::PortNumber{port}};
  return server;
}

}  // namespace

EtcdCluster::EtcdCluster(sim::Ports& ports, HttpServer first) : ports_(ports) {
  members_.push_back(std::make_unique<HttpClient>(ports, std::move(first)));
}

void EtcdCluster::learn(const std::string& urls) {
  std::string_view left = urls;
  while (!left.empty()) {
    const std::size_t comma = left.find(',');
    std::string_view url = left.substr(0, comma);
    left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
    while (url.starts_with(' ')) url.remove_prefix(1);
    HOOKE_CHECK(!members_.empty(), "a cluster has a member");
    const auto server = server_of(url, members_.front()->server());
    if (!server) continue;
    const bool known = std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
      return member->server().endpoint == server->endpoint;
    });
    if (!known) members_.push_back(std::make_unique<HttpClient>(ports_, *server));
  }
}

HttpResponse EtcdCluster::exchange(const HttpRequest& request, sim::MonotonicTime deadline,
                                   bool repeatable) {
  // Once more than there are members: the first may just have closed a connection that was kept.
  for (std::size_t tries = members_.size() + 1;; --tries) {
    HOOKE_CHECK(current_ < members_.size() && tries >= 1,
                "the member that is asked is one of the cluster");
    HttpClient& member = *members_[current_];
    try {
      return member.exchange(request, deadline);
    } catch (const HttpError& error) {
      const bool again = !error.outcome_unknown() || repeatable;
      const bool in_time =
          error.fault() != sim::Fault::timed_out && ports_.clock.monotonic_now() < deadline;
      if (!again || !in_time || tries == 1) {
        const sim::Endpoint& at = member.server().endpoint;
        throw EtcdConnectionError(
            "etcd at " + at.host + ":" + std::to_string(at.port.value) + ": " + error.what(),
            error.outcome_unknown());
      }
      leave();
    }
  }
}

}  // namespace hooke::model
