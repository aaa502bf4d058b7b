// A connection takes one request at a time: the next one is looked at when the last is answered and
// the peer takes in its answers.
#include "model/http/http_service.h"

#include <array>
#include <boost/beast/http.hpp>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

namespace http = boost::beast::http;

constexpr std::uint64_t kBodyBytesMax = 16UL << 20U;
constexpr std::uint32_t kHeaderBytesMax = 64U << 10U;
/// Of requests behind one that waits for its answer.
constexpr std::size_t kUnreadBytesMax = kBodyBytesMax;

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// Resolves %XX, and "+" where that stands for a blank. What is no escape stays as it is.
std::string unescaped(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  // Most texts are states of a rendezvous in Base64, whose pluses are escaped.
  const bool has_plus = text.find('+') != std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t special = has_plus ? text.find_first_of("%+", i) : text.find('%', i);
    out.append(text.substr(i, special - i));
    i = std::min(special, text.size());
    if (i == text.size()) break;
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high && low) {
        out += static_cast<char>(*high << 4U | *low);
        i += 2;
        continue;
      }
    }
    out += text[i] == '+' && plus_is_blank ? ' ' : text[i];
  }
  HOOKE_CHECK(out.size() <= text.size(), "an escape is no shorter than what it stands for");
  return out;
}

void add_parameters(std::string_view text, std::map<std::string, std::string>& out) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.empty()) continue;
    out.emplace(unescaped(pair.substr(0, equals), true),
                unescaped(pair.substr(std::min(pair.size(), equals + 1)), true));
  }
}

void append_decimal(std::string& out, std::size_t number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end.ptr);
}

/// The first lines of an answer, `last` behind them.
std::string head_of(int status, const HttpHeaders& headers, std::string_view last) {
  HOOKE_CHECK(status >= 100 && status < 600, "an answer has a status of HTTP");
  constexpr std::string_view kType = "Content-Type";
  constexpr std::size_t kBytesMostly = 300;
  std::string out;
  out.reserve(kBytesMostly);
  const auto add = [&out](std::string_view text) -> auto& {
    return out.append(text);
  };
  add("HTTP/1.1 ");
  append_decimal(out, static_cast<std::size_t>(status));
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  add(" ").append(reason.data(), reason.size()).append("\r\n", 2);
  // In the order of the names.
  bool has_type = headers.contains(std::string(kType));
  const auto add_type = [&] {
    if (std::exchange(has_type, true)) return;
    add("Content-Type: application/json\r\n");
  };
  for (const auto& [name, value] : headers) {
    if (name > kType) add_type();
    add(name).append(": ", 2).append(value).append("\r\n", 2);
  }
  add_type();
  add(last);
  return out;
}

/// The same of an answer with a body of that size.
std::string head_of(int status, const HttpHeaders& headers, std::size_t body_bytes) {
  std::string out = head_of(status, headers, "Content-Length: ");
  append_decimal(out, body_bytes);
  return out.append("\r\n\r\n", 4);
}

/// The line before a piece of a chunked body.
std::string chunk_line(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  HOOKE_CHECK(bytes > 0, "a piece that ends no body has bytes");
  std::string size;
  for (std::size_t left = bytes; left > 0; left >>= 4U) {
    size.insert(size.begin(), kDigits[left & 15U]);
  }
  return size + "\r\n";
}

/// One piece of a chunked body; nothing for an empty one, which would end it.
std::string chunk_of(const std::string& piece) {
  return piece.empty() ? "" : chunk_line(piece.size()) + piece + "\r\n";
}

}  // namespace

class HttpService::Connection final : public sim::StreamHandler,
                                      public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpService& service, std::uint64_t number, std::unique_ptr<sim::Stream> stream)
      : service_(service),
        number_(number),
        stream_(std::move(stream)),
        last_heard_(++service.heard_) {
    begin_request();
  }
  [[nodiscard]] bool busy() const { return busy_; }
  /// Grows with each time that any client of the service is heard.
  [[nodiscard]] std::uint64_t last_heard() const { return last_heard_; }
  void start() { stream_->set_handler(*this); }

  void on_data(sim::Buffer& received) override {
    last_heard_ = ++service_.heard_;
    std::string more = received.take_bytes(received.size());
    unread_.empty() ? void(unread_ = std::move(more)) : void(unread_ += more);
    const auto self = shared_from_this();  // an answer may end the connection
    if (busy_ && unread_.size() > kUnreadBytesMax) return drop();
    if (!busy_) read_requests();
  }
  void on_end() override { drop(); }
  void drop() {
    open_ = false;
    HOOKE_CHECK(service_.connections_.contains(number_), "a connection is dropped once");
    service_.connections_.erase(number_);
  }

  void send(std::string bytes) { send(sim::Buffer(std::move(bytes))); }
  void send(sim::Buffer bytes) { static_cast<void>(stream_->write(std::move(bytes))); }
  /// The request is answered; the next one may come.
  void answered() {
    HOOKE_CHECK(busy_, "a request is answered once");
    busy_ = false;
    if (!keep_) {
      stream_->finish_writing();
      return drop();
    }
    begin_request();
    if (!reading_) read_requests();  // an answer given at once is followed up by the loop below
  }

 private:
  void begin_request() {
    HOOKE_CHECK(!busy_, "a request begins when the last is answered");
    parser_.emplace();
    parser_->body_limit(kBodyBytesMax);
    parser_->header_limit(kHeaderBytesMax);
  }
  void read_requests();
  /// Takes the request out of the parser.
  [[nodiscard]] HttpQuery query();

  HttpService& service_;
  std::uint64_t number_;
  std::unique_ptr<sim::Stream> stream_;
  std::uint64_t last_heard_;
  std::string unread_;
  std::optional<http::request_parser<http::string_body>> parser_;
  bool open_ = true;
  bool reading_ = false;
  bool busy_ = false;  ///< a request waits for its answer
  bool keep_ = true;
};

class HttpService::Exchange final : public HttpExchange {
 public:
  Exchange(std::weak_ptr<Connection> connection, HttpQuery query)
      : connection_(std::move(connection)), query_(std::move(query)) {}

  [[nodiscard]] const HttpQuery& query() const override { return query_; }
  [[nodiscard]] bool gone() const override { return connection_.expired(); }

  void answer(int status, const std::string& body, const HttpHeaders& headers) override {
    go_on(Stage::asked, Stage::answered);
    const auto connection = connection_.lock();
    if (connection == nullptr) return;
    connection->send(head_of(status, headers, body.size()).append(body));
    connection->answered();
  }
  void answer(int status, const sim::Value& body, const HttpHeaders& headers) override {
    go_on(Stage::asked, Stage::answered);
    const auto connection = connection_.lock();
    if (connection == nullptr) return;
    sim::Buffer bytes(head_of(status, headers, body.size()));
    bytes.append(body);
    connection->send(std::move(bytes));
    connection->answered();
  }
  void begin(int status, const HttpHeaders& headers) override {
    go_on(Stage::asked, Stage::begun);
    if (const auto connection = connection_.lock()) {
      connection->send(head_of(status, headers, "Transfer-Encoding: chunked\r\n\r\n"));
    }
  }
  void send(const std::string& piece) override {
    go_on(Stage::begun, Stage::begun);
    const auto connection = connection_.lock();
    if (connection != nullptr) connection->send(chunk_of(piece));
  }
  void finish(const std::string& piece) override {
    go_on(Stage::begun, Stage::answered);
    const auto connection = connection_.lock();
    if (connection == nullptr) return;
    connection->send(chunk_of(piece) + "0\r\n\r\n");
    connection->answered();
  }
  void finish(const sim::Value& piece) override {
    if (piece.empty()) return finish(std::string());
    go_on(Stage::begun, Stage::answered);
    const auto connection = connection_.lock();
    if (connection == nullptr) return;
    sim::Buffer bytes(chunk_line(piece.size()));
    bytes.append(piece);
    bytes.append(std::string("\r\n0\r\n\r\n"));
    connection->send(std::move(bytes));
    connection->answered();
  }

 private:
  enum class Stage : unsigned char { asked, begun, answered };
  /// Also where the client has gone, which hears nothing of it.
  void go_on(Stage from, Stage to) {
    HOOKE_CHECK(stage_ == from, "an answer begins once and ends once, with its pieces in between");
    stage_ = to;
  }

  std::weak_ptr<Connection> connection_;
  HttpQuery query_;
  Stage stage_ = Stage::asked;
};

HttpQuery HttpService::Connection::query() {
  auto& message = parser_->get();
  const std::string target(message.target());
  const std::size_t mark = std::min(target.find('?'), target.size());
  HOOKE_CHECK(parser_->is_done(), "a query is read when its request is whole");
  HttpQuery out;
  out.method = std::string(message.method_string());
  out.path = unescaped(std::string_view(target).substr(0, mark), false);
  out.body = std::move(message.body());
  out.authorization = std::string(message[http::field::authorization]);
  add_parameters(std::string_view(target).substr(std::min(target.size(), mark + 1)),
                 out.parameters);
  const std::string type(message[http::field::content_type]);
  if (type.starts_with("application/x-www-form-urlencoded")) {
    add_parameters(out.body, out.parameters);
  }
  return out;
}

void HttpService::Connection::read_requests() {
  HOOKE_CHECK(!reading_, "requests are read one after the other");
  reading_ = true;
  boost::system::error_code error;
  std::size_t done = 0;
  while (open_ && !busy_ && done < unread_.size() && !stream_->backed_up()) {
    done += parser_->put(
        boost::beast::net::const_buffer(unread_.data() + done, unread_.size() - done), error);
    const bool header_only = !error && parser_->is_header_done() && !parser_->eager();
    if (header_only && parser_->content_length().value_or(0) > kBodyBytesMax) {
      error = http::error::body_limit;  // before Beast makes room for it
    }
    if (header_only) parser_->eager(true);
    if (error && error != http::error::need_more) {
      const std::string why = error.message();
      send(head_of(400, {{"Content-Type", "text/plain"}}, why.size()).append(why));
      stream_->finish_writing();
      return drop();
    }
    if (!parser_->is_done()) {
      if (error == http::error::need_more) break;
      continue;
    }
    HOOKE_CHECK(open_ && !busy_, "a request is taken when the last is answered");
    busy_ = true;
    keep_ = parser_->get().keep_alive();
    service_.handler_(std::make_shared<Exchange>(weak_from_this(), query()));
  }
  HOOKE_CHECK(done <= unread_.size(), "no more is understood than was read");
  unread_.erase(0, done);
  reading_ = false;
}

HttpService::HttpService(sim::Ports& ports, sim::PortNumber port, Handler handler, Reach reach)
    : ports_(ports), handler_(std::move(handler)), connections_max_(reach.connections_max) {
  HOOKE_CHECK(reach.connections_max > 0 && handler_ != nullptr, "a service answers some client");
  auto listener = reach.loopback ? ports.network.listen_loopback(port, *this)
                                 : ports.network.listen(port, *this);
  if (!listener) {
    throw std::runtime_error("cannot listen on port " + std::to_string(port.value) + ": " +
                             std::string(to_string(listener.failure().fault)));
  }
  listener_ = std::move(listener).value();
  HOOKE_CHECK(listener_->local().port.value != 0, "a service that others reach has a port");
}

HttpService::HttpService(sim::Ports& ports, const std::string& socket_file, Handler handler)
    : ports_(ports),
      handler_(std::move(handler)),
      socket_file_(socket_file),
      connections_max_(kFewConnections) {
  auto listener = ports.network.listen_local(socket_file, *this);
  if (!listener) {
    const sim::Failure& why = listener.failure();
    const bool is_long = socket_file.size() > sim::kSocketPathBytesMax;
    throw std::runtime_error(
        "cannot listen on " + socket_file + ": " +
        (is_long ? "longer than " + std::to_string(sim::kSocketPathBytesMax) + " bytes"
                 : std::string(to_string(why.fault))));
  }
  listener_ = std::move(listener).value();
}

HttpService::~HttpService() {
  if (!socket_file_.empty()) static_cast<void>(ports_.files.remove_file(socket_file_));
}

bool HttpService::make_room() {
  std::shared_ptr<Connection> idlest;
  for (const auto& [number, connection] : connections_) {
    if (connection->busy()) continue;
    if (idlest == nullptr || connection->last_heard() < idlest->last_heard()) idlest = connection;
  }
  HOOKE_CHECK(idlest == nullptr || !idlest->busy(), "a client that waits for its answer stays");
  if (idlest != nullptr) idlest->drop();
  return idlest != nullptr;
}

void HttpService::on_accept(std::unique_ptr<sim::Stream> stream) {
  HOOKE_CHECK(stream != nullptr, "a connection that is accepted is there");
  HOOKE_CHECK(connections_.size() <= connections_max_, "no more are connected than may be");
  if (connections_.size() == connections_max_ && !make_room()) return stream->reset();
  const std::uint64_t number = next_connection_++;
  const auto connection = std::make_shared<Connection>(*this, number, std::move(stream));
  HOOKE_CHECK(!connections_.contains(number), "a connection that is accepted is a new one");
  connections_[number] = connection;
  connection->start();
}

}  // namespace hooke::model
