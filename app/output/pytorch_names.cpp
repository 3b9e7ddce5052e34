// SPDX-License-Identifier: Apache-2.0
#include "app/output/pytorch_names.hpp"

namespace collsim {

std::string_view pytorch_name(Operation operation) {
  switch (operation) {
    case Operation::broadcast: return "broadcast";
    case Operation::reduce: return "reduce";
    case Operation::all_reduce: return "allreduce";
    case Operation::all_gather: return "_allgather_base";
    case Operation::reduce_scatter: return "_reduce_scatter_base";
    case Operation::gather: return "gather";
    case Operation::scatter: return "scatter";
    case Operation::all_to_all: return "all_to_all";
    case Operation::barrier: return "barrier";
    case Operation::send_recv: return "send_recv";
  }
  return "unknown";
}

std::string_view pytorch_name(ElementType type) {
  switch (type) {
    case ElementType::i8: return "Char";
    case ElementType::u8: return "Byte";
    case ElementType::i32: return "Int";
    case ElementType::u32: return "UInt32";
    case ElementType::i64: return "Long";
    case ElementType::u64: return "UInt64";
    case ElementType::f16: return "Half";
    case ElementType::bf16: return "BFloat16";
    case ElementType::f32: return "Float";
    case ElementType::f64: return "Double";
  }
  return "unknown";
}

}  // namespace collsim
