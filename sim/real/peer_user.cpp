// The peer's socket is a line of /proc/net/tcp or tcp6 with the two ends exchanged: ends in
// hexadecimal, the address in words of the machine's byte order, then among others the state, the
// owner and the inode of the socket.
#include "sim/real/peer_user.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "sim/port/check.h"

namespace hooke::real {
namespace {

/// IPv4 as IPv6 knows it, so that a socket of either family can meet one of the other.
struct End {
  std::array<unsigned char, 16> address{};
  std::uint16_t port = 0;
  friend bool operator==(const End&, const End&) = default;
};

constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

End mapped(const void* v4, std::uint16_t port) {
  End out;
  std::memcpy(out.address.data(), kMapped.data(), kMapped.size());
  std::memcpy(out.address.data() + kMapped.size(), v4, 4);
  out.port = port;
  return out;
}

std::optional<End> end_of(const sockaddr_storage& bytes) {
  if (bytes.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(bytes);
    return mapped(&v4.sin_addr, ntohs(v4.sin_port));
  }
  if (bytes.ss_family != AF_INET6) return std::nullopt;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(bytes);
  End out;
  std::memcpy(out.address.data(), &v6.sin6_addr, out.address.size());
  out.port = ntohs(v6.sin6_port);
  return out;
}

/// "0100007F:7247" or the same with four words.
std::optional<End> end_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i) {
    words[i] = static_cast<std::uint32_t>(std::strtoul(text.substr(8 * i, 8).c_str(), nullptr, 16));
  }
  const auto port = static_cast<std::uint16_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 16));
  if (colon == 8) return mapped(words.data(), port);
  End out;
  std::memcpy(out.address.data(), words.data(), out.address.size());
  out.port = port;
  return out;
}

bool trusted(uid_t user) {
  return user == geteuid() || user == 0;
}

/// A line of the table with these ends that is an open connection of a trusted user. A socket that
/// its process has closed has no inode, and counts as one of root.
bool lists_trusted(const char* table, const End& local, const End& remote) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, from, to, state, queues, timer, retransmits, timeout;
    std::uint64_t user = 0, inode = 0;
    words >> number >> from >> to >> state >> queues >> timer >> retransmits >> user >> timeout >>
        inode;
    if (!words || state != "01" || inode == 0) continue;
    if (end_of(from) == local && end_of(to) == remote) return trusted(static_cast<uid_t>(user));
  }
  return false;
}

}  // namespace

bool peer_is_of_this_user(int socket) {
  HOOKE_CHECK(socket >= 0, "a peer is that of an open socket");
  sockaddr_storage here{}, there{};
  socklen_t here_bytes = sizeof(here), there_bytes = sizeof(there);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_bytes) != 0 ||
      getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_bytes) != 0) {
    return false;
  }
  if (here.ss_family == AF_UNIX) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && trusted(peer.uid);
  }
  HOOKE_CHECK(here_bytes <= sizeof(here) && there_bytes <= sizeof(there),
              "an end has room in its storage");
  const auto mine = end_of(here), theirs = end_of(there);
  if (!mine || !theirs) return false;
  return lists_trusted("/proc/net/tcp", *theirs, *mine) ||
         lists_trusted("/proc/net/tcp6", *theirs, *mine);
}

}  // namespace hooke::real
