#pragma once
// Errors that a scenario has an agent raise at a fault point, by the class that PyTorch's code would
// raise there. The classes themselves belong to the parts that raise them: model/launch throws them.

#include <array>
#include <string_view>

namespace hooke::model::raised {

/// Of torch/distributed/elastic/rendezvous/api.py.
inline constexpr std::string_view kConnection = "RendezvousConnectionError";
inline constexpr std::string_view kTimeout = "RendezvousTimeoutError";
inline constexpr std::string_view kState = "RendezvousStateError";
inline constexpr std::string_view kClosed = "RendezvousClosedError";
inline constexpr std::string_view kGracefulExit = "RendezvousGracefulExitError";
/// Of the store's client (torch/csrc/distributed/c10d/exception.h): a wait that lasts too long, and a
/// connection that fails.
inline constexpr std::string_view kStoreTimeout = "DistStoreError";
inline constexpr std::string_view kStoreNetwork = "DistNetworkError";
/// Python's: of files and processes, and everything else.
inline constexpr std::string_view kSystem = "OSError";
inline constexpr std::string_view kRuntime = "RuntimeError";

inline constexpr std::array kAll{kConnection,   kTimeout,      kState,  kClosed, kGracefulExit,
                                 kStoreTimeout, kStoreNetwork, kSystem, kRuntime};

}  // namespace hooke::model::raised
