// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/cases.hpp"

#include <utility>

#include "topo/error.hpp"
#include "validate/cuda/cuda_backend.hpp"

namespace collsim::bench {

Collective collective_of(Operation operation, int ranks, Bytes bytes) {
  Collective collective;
  collective.operation = operation;
  collective.count = bytes / size_of(collective.type);
  collective.group = first_ranks(static_cast<std::size_t>(ranks));
  return collective;
}

std::string to_text(const Collective& collective, const AlgorithmChoice& choice,
                    Protocol protocol) {
  return std::string(to_string(collective.operation)) + " " + choice.name + ", " +
         std::to_string(collective.size()) + " ranks, " + std::to_string(collective.count) + " " +
         std::string(to_string(collective.type)) + " " +
         std::string(to_string(collective.reduction)) + ", chunks " +
         std::to_string(choice.chunks) + ", channels " + std::to_string(choice.channels) +
         ", slots " + (choice.slots ? std::to_string(*choice.slots) : "free") +
         (collective.in_place ? ", in place" : "") +
         (protocol == Protocol::ll ? ", ll" : ", simple");
}

std::string size_text(Bytes bytes) {
  constexpr Bytes kib = 1024, mib = 1024 * kib;
  if (bytes >= mib && bytes % mib == 0) return std::to_string(bytes / mib) + " MiB";
  if (bytes >= kib && bytes % kib == 0) return std::to_string(bytes / kib) + " KiB";
  return std::to_string(bytes) + " B";
}

Ran run_case(const RunCase& run_case, const RunOptions& options) {
  try {
    RunOutcome outcome = run_on_cuda(run_case, options);
    if (auto* none = std::get_if<NoMeasurement>(&outcome)) return {{}, none->reason};
    auto& measured = std::get<Measurement>(outcome);
    if (options.check && measured.data != DataVerdict::right)
      return {{}, "wrong data: " + measured.wrong_data};
    return {std::move(measured), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

}  // namespace collsim::bench
