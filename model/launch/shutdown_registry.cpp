// The built-in manners.
#include "model/launch/shutdown_registry.h"

#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// For so long the others are waited for at most.
constexpr sim::Duration kUsualLimit = std::chrono::seconds(30);

class AtOnce final : public ShutdownManner {
 public:
  bool shut_down(const ShutdownRequest& request) const override {
    return request.handler.shutdown();
  }
  [[nodiscard]] bool looks_at_others() const override { return false; }
};

class Graceful final : public ShutdownManner {
 public:
  explicit Graceful(sim::Duration limit) : limit_(limit) {
    HOOKE_CHECK(limit_ > sim::Duration::zero(), "the others are waited for for a while");
  }
  bool shut_down(const ShutdownRequest& request) const override {
    if (!request.others_are_done) wait_for_others(request.ports, request.handler, limit_);
    return request.handler.shutdown();
  }
  [[nodiscard]] sim::Duration limit() const override { return limit_; }

 private:
  sim::Duration limit_;
};

class Strict final : public ShutdownManner {
 public:
  bool shut_down(const ShutdownRequest& request) const override {
    if (!request.others_are_done) refuse_while_others_work(request.handler);
    return request.handler.shutdown();
  }
};

}  // namespace

ShutdownRegistry ShutdownRegistry::with_builtins() {
  ShutdownRegistry registry;
  registry.add("torch", [](const PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<AtOnce>();
  });
  registry.add("graceful", [](const PluginChoice& choice) {
    choice.allow({"limit"});
    const sim::Duration limit = choice.span("limit", kUsualLimit);
    if (limit <= sim::Duration::zero()) choice.refuse("limit", "more than 0s");
    return std::make_unique<Graceful>(limit);
  });
  registry.add("strict", [](const PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<Strict>();
  });
  return registry;
}

}  // namespace hooke::model
