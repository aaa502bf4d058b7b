#pragma once
// A port of a machine is open to all of its users. What starts or ends processes for a client must
// know that the client may do so anyway.

namespace hooke::real {

/// The other end of a connected TCP or local socket is open in a process of this machine that
/// belongs to this process' user or to root. By SO_PEERCRED (unix(7)) or the kernel's table of TCP
/// sockets (proc_pid_net(5)). False when it cannot be told, a peer that has closed its end among
/// it.
[[nodiscard]] bool peer_is_of_this_user(int socket);

}  // namespace hooke::real
