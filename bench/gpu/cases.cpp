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
  return concat(
      to_string(collective.operation), " ", choice.name, ", ", collective.size(), " ranks, ",
      collective.count, " ", to_string(collective.type), " ", to_string(collective.reduction),
      ", chunks ", choice.chunks, ", channels ", choice.channels, ", slots ",
      (choice.slots ? std::to_string(*choice.slots) : "free"),
      (collective.in_place ? ", in place" : ""), (protocol == Protocol::ll ? ", ll" : ", simple"));
}

Ran run_case(const RunCase& run_case, const RunOptions& options) {
  RunOptions on_one_gpu = options;
  on_one_gpu.gpus = 1;
  return run_on_gpus(run_case, on_one_gpu);
}

Ran run_on_gpus(const RunCase& run_case, const RunOptions& options) {
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
