#pragma once
// The members of a cluster as a client of etcd's v2 API sees them: which one is asked, how often,
// and which one next. PyTorch leaves that to python-etcd and urllib3; a client that takes other
// decisions brings its own part.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/http/http_client.h"

namespace hooke::model {

class EtcdV2Members {
 public:
  struct Answer {
    HttpResponse response;
    /// The request was sent before without an answer, and may have been carried out then.
    bool in_doubt = false;
  };

  virtual ~EtcdV2Members() = default;
  /// Asks with `machines` which members there are, and remembers the request and its time-out for
  /// later looks. EtcdConnectionError.
  virtual void learn(const HttpRequest& machines, sim::Duration read_timeout) = 0;
  /// EtcdConnectionError when no member answers. What etcd refuses is an answer.
  virtual Answer exchange(const HttpRequest& request, sim::Duration read_timeout) = 0;
  /// Sends a request that etcd answers at the next change. nullopt when none comes until
  /// `deadline`. EtcdConnectionError.
  virtual std::optional<HttpResponse> watch(const HttpRequest& request,
                                            sim::MonotonicTime deadline) = 0;
};

/// Makes the members that are known from `first`; nothing is sent yet.
using EtcdV2MembersMaker = std::unique_ptr<EtcdV2Members> (*)(sim::Ports& ports,
                                                              const HttpServer& first);

/// The servers of a list of URLs "http://a:2379, https://b:2379", with the TLS files and the
/// interruptions of the member that named them; what is no URL is left out.
std::vector<HttpServer> servers_of(const std::string& urls, const HttpServer& named_by);
/// The list of URLs in an answer to GET /v2/machines. EtcdConnectionError for any other answer.
const std::string& machines_in(const HttpResponse& response);

/// As python-etcd 0.4.5 does over urllib3 (etcd/client.py:_wrap_request, Client.machines;
/// urllib3/util/retry.py:Retry.DEFAULT). urllib3 sends a request to a member up to four times,
/// writes included, without a pause and each with its own read time-out; only an answer that breaks
/// off or stands still after its head is not asked for again. Then python-etcd turns to another
/// member and asks it for the list of members; the one that was left is on it again. When no other
/// is known the request has failed (EtcdConnectionError). A member that does not name itself is
/// Python's ValueError (EscapedPythonError). One difference: connecting and waiting for the head of
/// the answer share one time-out.
std::unique_ptr<EtcdV2Members> make_python_etcd_members(sim::Ports& ports, const HttpServer& first);

}  // namespace hooke::model
