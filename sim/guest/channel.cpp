// Messages over sockets that keep their boundaries.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sim/guest/zygote.h"
#include "sim/port/check.h"

namespace hooke::guest {
namespace {

/// Above what Linux lets a packet be by default.
constexpr std::size_t kPacketMax = std::size_t{1} << 20U;

[[noreturn]] void fail(const char* what) {
  throw GuestError(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

void send_message(int socket, const Message& message, const std::vector<int>& descriptors) {
  HOOKE_CHECK(socket >= 0, "a message goes over a socket that is open");
  std::string bytes = encode(message);
  HOOKE_CHECK(!bytes.empty(), "an empty packet would tell of the end");
  iovec piece{bytes.data(), bytes.size()};
  msghdr packet{};
  packet.msg_iov = &piece;
  packet.msg_iovlen = 1;
  std::vector<char> control(CMSG_SPACE(sizeof(int) * descriptors.size()));
  if (!descriptors.empty()) {
    packet.msg_control = control.data();
    packet.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&packet);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
  }
  for (;;) {
    if (sendmsg(socket, &packet, MSG_NOSIGNAL) >= 0) return;
    if (errno == EPIPE || errno == ECONNRESET) return;  // the next receive tells of the end
    if (errno != EINTR) fail("sending to a guest");
  }
}

Received receive_message(int socket, std::chrono::milliseconds limit, Message& message) {
  HOOKE_CHECK(socket >= 0, "a guest is listened to on a socket that is open");
  HOOKE_CHECK(limit >= std::chrono::milliseconds::zero(), "no guest is waited for without an end");
  static thread_local std::vector<char> buffer(kPacketMax);
  for (;;) {
    pollfd watched{socket, POLLIN, 0};
    const int ready = poll(&watched, 1, static_cast<int>(limit.count()));
    if (ready == 0) return Received::silence;
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) fail("waiting for a guest");
    const ssize_t count = recv(socket, buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != ECONNRESET) fail("listening to a guest");
    if (count <= 0) return Received::end;
    HOOKE_CHECK(static_cast<std::size_t>(count) <= buffer.size(), "a packet fits its buffer");
    message = decode({buffer.data(), static_cast<std::size_t>(count)});
    return Received::message;
  }
}

std::string contents(const real::Descriptor& file) {
  HOOKE_CHECK(file.get() >= 0, "a guest has a file for what it writes");
  std::string out;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t count =
        pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(out.size()));
    if (count <= 0) return out;
    out.append(piece.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace hooke::guest
