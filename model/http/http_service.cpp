// A connection takes one request at a time: the next one is looked at when the last is answered and
// the peer takes in its answers.
#include "model/http/http_service.h"

#include <algorithm>
#include <boost/beast/http.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "model/http/service_texts.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

namespace http = boost::beast::http;

constexpr std::uint64_t kBodyBytesMax = 16UL << 20U;
constexpr std::uint32_t kHeaderBytesMax = 64U << 10U;
/// Of requests behind one that waits for its answer.
constexpr std::size_t kUnreadBytesMax = kBodyBytesMax;

}  // namespace

struct UnderstoodQuery {
  HttpQuery query;
  bool keeps_connection = false;
};

class HttpService::Connection final : public sim::StreamHandler,
                                      public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpService& service, std::uint64_t number, std::unique_ptr<sim::Stream> stream)
      : service_(service),
        number_(number),
        stream_(std::move(stream)),
        last_heard_(++service.heard_) {}
  [[nodiscard]] HttpService& service() { return service_; }
  [[nodiscard]] bool busy() const { return busy_; }
  /// Grows with each time that any client of the service is heard.
  [[nodiscard]] std::uint64_t last_heard() const { return last_heard_; }
  void start() { stream_->set_handler(*this); }

  void on_data(sim::Buffer& received) override {
    last_heard_ = ++service_.heard_;
    if (!busy_ && unread_.empty() && !parser_) {
      const auto text = text_in_front<HttpRequestText>(received);
      if (text != nullptr && text->size() == received.size()) return on_request(text, received);
    }
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
    parser_.reset();
    if (!reading_) read_requests();  // an answer given at once is followed up by the loop below
  }

 private:
  http::request_parser<http::string_body>& parser() {
    HOOKE_CHECK(!busy_, "a request begins when the last is answered");
    if (!parser_) {
      parser_.emplace();
      parser_->body_limit(kBodyBytesMax);
      parser_->header_limit(kHeaderBytesMax);
    }
    return *parser_;
  }
  /// A whole request of a client in this program.
  void on_request(const std::shared_ptr<const HttpRequestText>& text, sim::Buffer& received);
  void handle(const std::shared_ptr<const UnderstoodQuery>& asked);
  void read_requests();
  /// Takes the request out of the parser; `whole`: its body, where the parser has not read that.
  [[nodiscard]] std::shared_ptr<const UnderstoodQuery> take_query(const sim::Value& whole);
  /// The text has a body that no parser has to read. Not understood: a head that is no HTTP, as one is
  /// in which a client writes what a user has given it.
  void understand_head(const HttpRequestText& text);

  HttpService& service_;
  std::uint64_t number_;
  std::unique_ptr<sim::Stream> stream_;
  std::uint64_t last_heard_;
  std::string unread_;
  std::optional<http::request_parser<http::string_body>> parser_;  ///< none between two requests
  /// What `unread_` is a copy of, where it is all that has come and still to be understood.
  std::shared_ptr<const HttpRequestText> unread_text_;
  bool open_ = true;
  bool reading_ = false;
  bool busy_ = false;  ///< a request waits for its answer
  bool keep_ = true;
};

class HttpService::Exchange final : public HttpExchange {
 public:
  Exchange(std::weak_ptr<Connection> connection, std::shared_ptr<const UnderstoodQuery> asked)
      : connection_(std::move(connection)), asked_(std::move(asked)) {}

  [[nodiscard]] const HttpQuery& query() const override { return asked_->query; }
  [[nodiscard]] bool gone() const override { return connection_.expired(); }

  void answer(int status, const std::string& body, const HttpHeaders& headers) override {
    answer(status, sim::Value(body), headers);
  }
  void answer(int status, const sim::Value& body, const HttpHeaders& headers) override {
    go_on(Stage::asked, Stage::answered);
    const auto connection = connection_.lock();
    if (connection == nullptr) return;
    sim::Buffer bytes;
    bytes.append(connection->service().head_for(status, headers, body.size()));
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
  std::shared_ptr<const UnderstoodQuery> asked_;
  Stage stage_ = Stage::asked;
};

std::shared_ptr<const UnderstoodQuery> HttpService::Connection::take_query(
    const sim::Value& whole) {
  auto& message = parser_->get();
  HOOKE_CHECK(whole.empty() ? parser_->is_done() : parser_->is_header_done(),
              "a query is read when its request is whole");
  auto asked = std::make_shared<UnderstoodQuery>();
  asked->keeps_connection = message.keep_alive();
  HttpQuery& out = asked->query;
  out.method = std::string(message.method_string());
  add_target({message.target().data(), message.target().size()}, out);
  out.body = std::move(message.body());
  out.authorization = std::string(message[http::field::authorization]);
  const std::string type(message[http::field::content_type]);
  out.whole = whole;
  if (type.starts_with("application/x-www-form-urlencoded")) {
    add_parameters(out.text(), out);
  }
  return asked;
}

void HttpService::Connection::understand_head(const HttpRequestText& text) {
  boost::system::error_code error;
  const std::string& head = text.head();
  const std::size_t read =
      parser().put(boost::beast::net::const_buffer(head.data(), head.size()), error);
  const bool is_head = !error && read == head.size() && parser_->is_header_done() &&
                       parser_->content_length() == text.body().size();
  if (is_head) text.understand(take_query(text.body()));
  parser_.reset();
}

void HttpService::Connection::on_request(const std::shared_ptr<const HttpRequestText>& text,
                                         sim::Buffer& received) {
  const auto self = shared_from_this();  // an answer may end the connection
  const std::size_t body_bytes = text->body().size();
  const bool is_value = body_bytes > 0 && body_bytes <= kBodyBytesMax;
  if (is_value && text->reading() == nullptr && !stream_->backed_up()) understand_head(*text);
  if (text->reading() != nullptr && !stream_->backed_up()) {
    received.drop(text->size());
    reading_ = true;
    handle(text->reading());
    reading_ = false;
    return;
  }
  unread_ = received.take_bytes(text->size());
  unread_text_ = text;
  read_requests();
}

void HttpService::Connection::handle(const std::shared_ptr<const UnderstoodQuery>& asked) {
  HOOKE_CHECK(open_ && !busy_, "a request is taken when the last is answered");
  busy_ = true;
  keep_ = asked->keeps_connection;
  service_.handler_(std::make_shared<Exchange>(weak_from_this(), asked));
}

void HttpService::Connection::read_requests() {
  HOOKE_CHECK(!reading_, "requests are read one after the other");
  reading_ = true;
  boost::system::error_code error;
  std::size_t done = 0;
  while (open_ && !busy_ && done < unread_.size() && !stream_->backed_up()) {
    auto& parser = this->parser();
    done += parser.put(
        boost::beast::net::const_buffer(unread_.data() + done, unread_.size() - done), error);
    const bool header_only = !error && parser.is_header_done() && !parser.eager();
    if (header_only && parser.content_length().value_or(0) > kBodyBytesMax) {
      error = http::error::body_limit;  // before Beast makes room for it
    }
    if (header_only) parser.eager(true);
    if (error && error != http::error::need_more) {
      const std::string why = error.message();
      send(head_of(400, {{"Content-Type", "text/plain"}}, why.size()).append(why));
      stream_->finish_writing();
      return drop();
    }
    if (!parser.is_done()) {
      if (error == http::error::need_more) break;
      continue;
    }
    const auto asked = take_query({});
    if (unread_text_ != nullptr && done == unread_text_->size()) unread_text_->understand(asked);
    unread_text_ = nullptr;
    handle(asked);
  }
  if (!busy_ && parser_) unread_text_ = nullptr;  // the beginning of a request is none
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

const sim::Value& HttpService::head_for(int status, const HttpHeaders& headers,
                                        std::size_t body_bytes) {
  constexpr std::size_t kFew = 4;
  HOOKE_CHECK(next_told_head_ < kFew && told_heads_.size() <= kFew, "few heads are kept");
  const auto told = std::find_if(told_heads_.begin(), told_heads_.end(), [&](const ToldHead& one) {
    return one.status == status && one.body_bytes == body_bytes && one.headers == headers;
  });
  if (told != told_heads_.end()) return told->text;
  if (told_heads_.size() < kFew) told_heads_.emplace_back();
  ToldHead& next = told_heads_[next_told_head_];
  next_told_head_ = (next_told_head_ + 1) % kFew;
  next = {status, headers, body_bytes,
          sim::Value(std::make_shared<HttpHeadText>(head_of(status, headers, body_bytes)))};
  return next.text;
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
