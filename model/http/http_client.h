#pragma once
// HTTP/1.1 as a client needs it: one exchange at a time on a connection that is kept, or
// one answer that goes on. The parser is Boost.Beast's; the bytes go over the network port, so that
// it runs in any world.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "model/http/understood_text.h"
#include "sim/port/ports.h"

namespace hooke::model {

struct HttpRequest {
  std::string method;  ///< "GET", "PUT", "POST", "DELETE"
  std::string target;  ///< path and query, already escaped
  std::string body;
  std::string content_type;   ///< of the body; empty: none is named
  std::string authorization;  ///< value of that header; empty: none is sent
  /// The body instead of `body`: a service in the same program gets the very value.
  sim::Value whole{};
};

struct HttpResponse {
  int status = 0;
  std::shared_ptr<const HttpFields> headers{};  ///< null: none are known
  std::string body{};                           ///< where it came in pieces; else empty
  sim::Value whole{};  ///< the body as the server gave it, where it came in one piece; else empty
  /// The last header of that name, which is in lower case; null: there is none.
  [[nodiscard]] const std::string* header(std::string_view name) const;
  [[nodiscard]] const std::string& text() const { return whole.empty() ? body : whole.bytes(); }
};

/// An exchange came to no answer.
class HttpError : public std::runtime_error {
 public:
  explicit HttpError(const sim::Failure& failure, bool answer_begun = false);
  [[nodiscard]] sim::Fault fault() const { return fault_; }
  /// The request may have been carried out all the same.
  [[nodiscard]] bool outcome_unknown() const { return unknown_; }
  /// The head of an answer has come, and the rest of it has not.
  [[nodiscard]] bool answer_begun() const { return answer_begun_; }

 private:
  sim::Fault fault_;
  bool unknown_;
  bool answer_begun_;
};

/// Where a server is and how it is spoken to.
struct HttpServer {
  sim::Endpoint endpoint;
  std::optional<sim::TlsOptions> tls;  ///< set: https
  /// A caught signal ends the wait for an answer, and a connection is waited for 5 s at most.
  bool interruptible = false;
  /// Unless interruptible: the fiber in which a caught signal is raised out of the wait for an
  /// answer (SignalException), as in the main thread of a client in Python. nullopt: in none.
  std::optional<sim::FiberId> main_thread = std::nullopt;
};

/// "a b/c" as part of a target: whatever is neither unreserved nor one of `kept` is escaped.
std::string percent_encoded(std::string_view text, std::string_view kept = "/");
/// Likewise, at the end of `out`.
void append_percent_encoded(std::string& out, std::string_view text, std::string_view kept = "/");

class HttpClient {
 public:
  HttpClient(sim::Ports& ports, HttpServer server);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] const HttpServer& server() const { return server_; }
  /// Connects unless connected, sends, and waits for the whole answer. HttpError: the connection
  /// fails (given up then, the next exchange makes a new one), the answer is no HTTP or longer than
  /// 64 MiB (malformed), or `deadline` passes.
  HttpResponse exchange(const HttpRequest& request, sim::MonotonicTime deadline);

 private:
  sim::Ports& ports_;
  HttpServer server_;
  std::unique_ptr<sim::Stream> stream_;
  HttpRequest asked_;      ///< the last request
  sim::Value asked_text_;  ///< and its bytes; empty before the first
};

class HttpAnswer;

/// An answer that is read while it comes in: a watch. It has a connection of its own.
class HttpFeed {
 public:
  /// Connects and sends. HttpError.
  HttpFeed(sim::Ports& ports, const HttpServer& server, const HttpRequest& request,
           sim::MonotonicTime deadline);
  ~HttpFeed();
  HttpFeed(const HttpFeed&) = delete;
  HttpFeed& operator=(const HttpFeed&) = delete;

  /// The next piece of the answer's body, as it came; nullopt at its end. HttpError, with timed_out
  /// when `deadline` passes: it may be asked again then.
  std::optional<sim::Value> next(sim::MonotonicTime deadline);
  /// All pieces until its end, without its headers. HttpError.
  HttpResponse rest(sim::MonotonicTime deadline);
  /// 0 before the first piece.
  [[nodiscard]] int status() const;

 private:
  std::unique_ptr<sim::Stream> stream_;
  std::unique_ptr<HttpAnswer> answer_;
};

}  // namespace hooke::model
