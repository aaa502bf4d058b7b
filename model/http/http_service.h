#pragma once
// HTTP/1.1 as a server: every request becomes an exchange, which may be answered at once, later, or
// in two parts. The parser is Boost.Beast's; the bytes go over the network port.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/http/understood_text.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// What a client asks.
struct HttpQuery {
  std::string method;  ///< "GET", "PUT" …
  std::string path;    ///< without the query, escapes resolved
  /// Of the query, and of the body where that is a form; the query counts where both have a name.
  std::map<std::string, std::string> parameters;
  std::string body;
  std::string authorization;  ///< the header of that name, empty without it
  /// The body as a client in the same program gave it, where it did so; `body` is empty then.
  sim::Value whole{};
  [[nodiscard]] const std::string& text() const { return whole.empty() ? body : whole.bytes(); }
};

using HttpHeaders = std::map<std::string, std::string>;

/// One request and the way back to its client. Answering a client that has gone does nothing.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  [[nodiscard]] virtual const HttpQuery& query() const = 0;
  /// Once. JSON unless `headers` names another Content-Type.
  virtual void answer(int status, const std::string& body, const HttpHeaders& headers = {}) = 0;
  /// Likewise; a client in the same program gets the very value (HttpResponse::whole).
  virtual void answer(int status, const sim::Value& body, const HttpHeaders& headers) {
    answer(status, body.bytes(), headers);
  }
  /// The answer's status and headers now, its body piece by piece, the last one with finish().
  virtual void begin(int status, const HttpHeaders& headers = {}) = 0;
  virtual void send(const std::string& piece) = 0;
  virtual void finish(const std::string& piece = "") = 0;
  /// Likewise; a client in the same program gets the very value (HttpFeed).
  virtual void finish(const sim::Value& piece) { finish(piece.bytes()); }
  /// The client does not wait any more.
  [[nodiscard]] virtual bool gone() const = 0;
};

class HttpService final : public sim::AcceptHandler {
 public:
  /// Called on the event loop: must not block.
  using Handler = std::function<void(const std::shared_ptr<HttpExchange>&)>;

  /// How many clients may be connected where the service is a part of a process that needs its
  /// descriptors for something else. A further one takes the place of the one that has been silent
  /// for longest and waits for no answer, or is turned away.
  static constexpr std::size_t kFewConnections = 64;

  /// Where a port can be reached from and by how many.
  struct Reach {
    bool loopback = false;  ///< from this machine alone
    std::size_t connections_max = std::numeric_limits<std::size_t>::max();
  };
  /// std::runtime_error when the port (0: any) is taken.
  HttpService(sim::Ports& ports, sim::PortNumber port, Handler handler, Reach reach);
  HttpService(sim::Ports& ports, sim::PortNumber port, Handler handler)
      : HttpService(ports, port, std::move(handler), Reach()) {}
  /// On a socket file, which goes with the service, for kFewConnections. std::runtime_error when
  /// the path is taken or cannot be.
  HttpService(sim::Ports& ports, const std::string& socket_file, Handler handler);
  ~HttpService() override;
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  [[nodiscard]] sim::PortNumber port() const { return listener_->local().port; }
  void on_accept(std::unique_ptr<sim::Stream> stream) override;

 private:
  class Connection;
  class Exchange;
  /// A head that was told.
  struct ToldHead {
    int status;
    HttpHeaders headers;
    std::size_t body_bytes;
    sim::Value text;
  };
  /// The head of an answer with a body of that size: the same bytes where it was told lately.
  const sim::Value& head_for(int status, const HttpHeaders& headers, std::size_t body_bytes);
  /// False when every connection waits for an answer.
  bool make_room();

  sim::Ports& ports_;
  Handler handler_;
  std::string socket_file_;  ///< empty: it is a port
  std::unique_ptr<sim::Listener> listener_;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::uint64_t next_connection_ = 1;
  std::uint64_t heard_ = 0;  ///< how often a client was heard
  std::size_t connections_max_;
  std::vector<ToldHead> told_heads_;  ///< the latest few
  std::size_t next_told_head_ = 0;    ///< whose place the next one takes
};

}  // namespace hooke::model
