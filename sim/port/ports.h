#pragma once
// Everything one process may touch. Protocol code receives this by reference and reaches the
// outside in no other way; there is no question it could ask that tells which world it is in.

#include "sim/port/clock.h"
#include "sim/port/executor.h"
#include "sim/port/fault_point.h"
#include "sim/port/file_system.h"
#include "sim/port/network.h"
#include "sim/port/process_host.h"
#include "sim/port/random.h"
#include "sim/port/trace.h"

namespace hooke::sim {

struct Ports {
  Clock& clock;
  Executor& executor;
  Network& network;
  ProcessHost& processes;
  FileSystem& files;
  Random& random;
  Trace& trace;
  FaultPoint& fault_point;
};

}  // namespace hooke::sim
