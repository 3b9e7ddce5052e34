// SPDX-License-Identifier: Apache-2.0
#include "collectives/instruction.hpp"

namespace collsim {

const char* to_string(Op op) {
  switch (op) {
    case Op::send: return "send";
    case Op::receive: return "receive";
    case Op::receive_send: return "receive_send";
    case Op::receive_reduce: return "receive_reduce";
    case Op::receive_reduce_send: return "receive_reduce_send";
    case Op::receive_reduce_store_send: return "receive_reduce_store_send";
    case Op::copy: return "copy";
    case Op::copy_send: return "copy_send";
    case Op::local_reduce: return "local_reduce";
    case Op::signal: return "signal";
    case Op::wait: return "wait";
  }
  return "?";
}

}  // namespace collsim
