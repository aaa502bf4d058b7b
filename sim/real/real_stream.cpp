// Sockets are edge-triggered: each direction goes on until it would block.
#include "sim/real/real_stream.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "sim/port/check.h"
#include "sim/real/peer_user.h"
#include "sim/real/real_network.h"

namespace hooke::real {
namespace {

constexpr std::size_t kReadBytes = 64UL * 1024;
/// A handler with more unsent answers than this is not fed.
constexpr std::size_t kUnsentBytesMax = 256UL * 1024;
/// Reads of one connection before others get their turn.
constexpr int kReadsPerTurn = 16;

std::array<char, kReadBytes>& scratch() {
  thread_local std::array<char, kReadBytes> bytes;
  return bytes;
}

}  // namespace

RealStream::RealStream(RealNetwork& network, Descriptor socket)
    : network_(network),
      socket_(std::move(socket)),
      local_(network_.local_of(socket_.get())),
      peer_(network_.peer_of(socket_.get())) {
  HOOKE_CHECK(socket_.get() >= 0, "a stream has a socket");
  watch_ = network_.loop().watch(socket_.get(), *this);
}

RealStream::~RealStream() {
  if (destroyed_ != nullptr) *destroyed_ = true;
  network_.loop().forget(socket_.get(), watch_);
  if (!broken_ && unsent() != 0) network_.linger(std::move(socket_), out_.substr(sent_));
}

sim::Outcome<sim::Done> RealStream::write(sim::Buffer bytes) {
  if (broken_) return sim::Failure{sim::Fault::connection_reset, "write", false};
  if (finish_when_sent_) return sim::Failure{sim::Fault::closed, "write", false};
  HOOKE_CHECK(sent_ <= out_.size(), "no more is sent than was written");
  if (sent_ == out_.size()) {
    out_.clear();
    sent_ = 0;
  }
  const std::size_t before = out_.size();
  out_.resize(before + bytes.size());
  bytes.peek(0, bytes.size(), out_.data() + before);
  flush();
  if (broken_) return sim::Failure{sim::Fault::connection_reset, "write", false};
  if (backed_up()) starved_ = true;
  return sim::Done{};
}

bool RealStream::backed_up() const {
  return unsent() > kUnsentBytesMax;
}

bool RealStream::peer_is_of_this_user() const {
  return real::peer_is_of_this_user(socket_.get());
}

void RealStream::flush() {
  HOOKE_CHECK(sent_ <= out_.size(), "no more is sent than was written");
  while (!broken_ && sent_ < out_.size()) {
    const ssize_t count =
        send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
      HOOKE_CHECK(sent_ <= out_.size(), "no more is sent than was written");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (sent_ > kUnsentBytesMax) {
        out_.erase(0, sent_);
        sent_ = 0;
      }
      return;
    } else if (errno != EINTR) {
      break_off();
    }
  }
  if (out_.capacity() > kUnsentBytesMax) std::string().swap(out_);
  out_.clear();
  sent_ = 0;
  if (finish_when_sent_ && !broken_) shutdown(socket_.get(), SHUT_WR);
}

ssize_t RealStream::receive() {
  HOOKE_CHECK(!broken_ && !ended_, "nothing is received after the end");
  if (drained_) {
    errno = EAGAIN;
    return -1;
  }
  HOOKE_CHECK(socket_.get() >= 0, "bytes are received from an open socket");
  const ssize_t count = recv(socket_.get(), scratch().data(), kReadBytes, 0);
  HOOKE_CHECK(count <= static_cast<ssize_t>(kReadBytes), "no more comes than there is room for");
  // A short read has emptied the socket, and what comes after it is told anew (epoll(7)); an end
  // that was told before is only found by reading on.
  const bool was_short = count > 0 && static_cast<std::size_t>(count) < kReadBytes;
  drained_ = (was_short && !hung_up_) || (count < 0 && errno != EINTR);
  return count;
}

sim::Outcome<sim::Buffer> RealStream::read(std::optional<sim::MonotonicTime> deadline) {
  HOOKE_CHECK(handler_ == nullptr, "bytes go to a handler for good, once there is one");
  for (bool in_time = true;;) {
    const ssize_t count = broken_ || ended_ ? 0 : receive();
    if (count > 0) {
      return sim::Buffer(std::string(scratch().data(), static_cast<std::size_t>(count)));
    }
    if (broken_) return sim::Failure{sim::Fault::connection_reset, "read", false};
    if (count == 0) {
      ended_ = true;
      return sim::Buffer();
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      break_off();
      continue;
    }
    if (!in_time) {
      reader_.reset();
      return sim::Failure{sim::Fault::timed_out, "read", false};
    }
    const sim::ParkTicket ticket = network_.executor().ticket();
    reader_ = ticket;
    in_time = network_.executor().park(ticket, deadline) == sim::Wake::woken;
    drained_ = false;
  }
}

void RealStream::set_handler(sim::StreamHandler& handler) {
  handler_ = &handler;
  network_.loop().again(watch_, EPOLLIN);
}

void RealStream::on_ready(std::uint32_t events) {
  drained_ = false;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hung_up_ = true;
  if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0 && unsent() != 0) flush();
  if (handler_ == nullptr) {
    if (reader_ && (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
      static_cast<void>(network_.executor().wake(*std::exchange(reader_, std::nullopt)));
    }
    return;
  }
  const bool readable = (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;
  const bool fed_again = starved_ && !backed_up();
  if (readable || fed_again) feed_handler();
}

void RealStream::feed_handler() {
  HOOKE_CHECK(handler_ != nullptr && destroyed_ == nullptr, "a handler is fed by one at a time");
  bool gone = false;
  destroyed_ = &gone;
  if (std::exchange(starved_, backed_up()) && !starved_ && !ended_) handler_->on_data(received_);
  if (gone) return;
  for (int turn = 0; !ended_ && !backed_up(); ++turn) {
    if (turn == kReadsPerTurn) {
      network_.loop().again(watch_, EPOLLIN);
      break;
    }
    const ssize_t count = broken_ ? 0 : receive();
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count > 0) {
      received_.append(std::string(scratch().data(), static_cast<std::size_t>(count)));
      handler_->on_data(received_);
    } else {
      if (count < 0) break_off();
      ended_ = true;
      broken_ ? handler_->on_reset() : handler_->on_end();
    }
    if (gone) return;
  }
  destroyed_ = nullptr;
}

void RealStream::finish_writing() {
  if (std::exchange(finish_when_sent_, true) || broken_) return;
  flush();
}

void RealStream::reset() {
  if (broken_) return;
  HOOKE_CHECK(socket_.get() >= 0, "a stream that is reset has a socket");
  const linger abort_at_close{1, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &abort_at_close, sizeof(abort_at_close));
  network_.loop().forget(socket_.get(), watch_);
  socket_.close();
  break_off();
  ended_ = true;
  if (reader_) static_cast<void>(network_.executor().wake(*std::exchange(reader_, std::nullopt)));
}

}  // namespace hooke::real
