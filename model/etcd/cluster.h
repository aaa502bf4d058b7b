#pragma once
// The members of an etcd cluster as a client of v3 sees them: the one it was given, those that one
// names, and a change to another when one cannot be reached.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/etcd/errors.h"
#include "model/etcd/v2_members.h"
#include "model/http/http_client.h"

namespace hooke::model {

/// Where an etcd is, and how a client reaches it.
struct EtcdOptions {
  HttpServer server;
  std::string user;                                       ///< empty: without authentication
  std::string password;                                   ///< of `user`
  sim::Duration read_timeout = std::chrono::seconds(60);  ///< of one request, connecting included
  /// Reads are agreed upon as writes are (etcd-io/etcd#741, #20418), and a cluster that
  /// finds no agreement in v2 refuses nothing: the outcome is unknown, as it is in v3.
  bool by_quorum = false;
  /// How a client of v2 deals with the members.
  EtcdV2MembersMaker v2_members = &make_python_etcd_members;
};

class EtcdCluster {
 public:
  EtcdCluster(sim::Ports& ports, HttpServer first);

  /// Adds the members of a list of URLs "http://a:2379, https://b:2379" that are not known yet;
  /// what is no URL is left out.
  void learn(const std::string& urls);
  /// Asks the member that answered last. One that cannot be reached is left for the next one, and a
  /// `repeatable` request also when its outcome is unknown. EtcdConnectionError when none answers.
  HttpResponse exchange(const HttpRequest& request, sim::MonotonicTime deadline, bool repeatable);
  /// The member that answered last.
  [[nodiscard]] const HttpServer& current() const { return members_[current_]->server(); }
  /// Asks the next one from now on.
  void leave() { current_ = (current_ + 1) % members_.size(); }

 private:
  sim::Ports& ports_;
  std::vector<std::unique_ptr<HttpClient>> members_;
  std::size_t current_ = 0;
};

}  // namespace hooke::model
