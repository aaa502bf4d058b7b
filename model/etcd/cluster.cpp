// Which member is asked.
#include "model/etcd/cluster.h"

#include <algorithm>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {

EtcdCluster::EtcdCluster(sim::Ports& ports, HttpServer first) : ports_(ports) {
  members_.push_back(std::make_unique<HttpClient>(ports, std::move(first)));
}

void EtcdCluster::learn(const std::string& urls) {
  HOOKE_CHECK(!members_.empty(), "a cluster has a member");
  for (HttpServer& server : servers_of(urls, members_.front()->server())) {
    const bool known = std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
      return member->server().endpoint == server.endpoint;
    });
    if (!known) members_.push_back(std::make_unique<HttpClient>(ports_, std::move(server)));
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
