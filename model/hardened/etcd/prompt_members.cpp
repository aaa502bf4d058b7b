#include "model/hardened/etcd/prompt_members.h"

#include "model/etcd/cluster.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

class PromptMembers final : public EtcdV2Members {
 public:
  PromptMembers(sim::Ports& ports, const HttpServer& first)
      : ports_(ports), cluster_(ports, first) {}

  void learn(const HttpRequest& machines, sim::Duration read_timeout) override {
    const HttpResponse response = exchange(machines, read_timeout).response;
    // A member without a leader may still say no; a server that has no v2 API is no member.
    if (response.status == 200 || response.status == 404) cluster_.learn(machines_in(response));
  }

  Answer exchange(const HttpRequest& request, sim::Duration read_timeout) override {
    HOOKE_CHECK(read_timeout > sim::Duration::zero(), "the time-out of an answer is positive");
    const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + read_timeout;
    return {cluster_.exchange(request, deadline, request.method == "GET"), false};
  }

  std::optional<HttpResponse> watch(const HttpRequest& request,
                                    sim::MonotonicTime deadline) override {
    try {
      HttpFeed feed(ports_, cluster_.current(), request, deadline);
      HttpResponse response = feed.rest(deadline);
      // A poll that etcd ends has seen no change.
      if (response.text().empty()) return std::nullopt;
      return response;
    } catch (const HttpError& error) {
      if (error.fault() == sim::Fault::timed_out) return std::nullopt;
      cluster_.leave();
      throw EtcdConnectionError(std::string("watching etcd: ") + error.what(), false);
    }
  }

 private:
  sim::Ports& ports_;
  EtcdCluster cluster_;
};

}  // namespace

std::unique_ptr<EtcdV2Members> make_prompt_members(sim::Ports& ports, const HttpServer& first) {
  return std::make_unique<PromptMembers>(ports, first);
}

}  // namespace hooke::model
