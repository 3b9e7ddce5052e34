// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "collectives/execute.hpp"
#include "validate/cuda/gpus.hpp"
#include "validate/cuda/nccl_gpus.hpp"
#include "validate/cuda/nccl_library.hpp"
#include "validate/data_check.hpp"
#include "validate/in_child.hpp"

namespace collsim {
namespace {

using Clock = std::chrono::steady_clock;

std::string count_of(int count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

NoMeasurement unavailable(const std::string& reason) {
  return {NoMeasurement::Why::unavailable, reason};
}

// As many GPUs as the collective has ranks.
std::vector<Gpu> gpus_for(const Collective& collective) {
  std::vector<Gpu> gpus = find_gpus();
  const auto ranks = static_cast<std::size_t>(collective.size());
  if (ranks > gpus.size())
    throw unavailable("NCCL has one rank per GPU: " + count_of(collective.size(), "rank") +
                      " cannot be compared with it on " +
                      count_of(static_cast<int>(gpus.size()), "GPU"));
  gpus.resize(ranks);
  return gpus;
}

std::vector<int> devices_of(const std::vector<Gpu>& gpus) {
  std::vector<int> devices(gpus.size());
  std::transform(gpus.begin(), gpus.end(), devices.begin(),
                 [](const Gpu& gpu) { return gpu.device; });
  return devices;
}

class NcclRun {
 public:
  NcclRun(const RunCase& run_case, const RunOptions& options, NcclChoice choice)
      : collective_(run_case.schedule().collective()),
        options_(options),
        patience_s_(nccl_patience_s(collective_, options.patience_s)),
        iterations_(std::max(1, options.iterations)) {
    if (run_case.paced) throw unavailable("NCCL cannot be paced: it always runs at full speed");
    work_ = nccl_work(collective_);
    const std::vector<Gpu> gpus = gpus_for(collective_);
    if (work_.calls.empty())
      throw unavailable("there is nothing to measure: without elements NCCL does nothing");
    const auto settings_notes =
        apply(nccl_settings(run_case.schedule(), run_case.protocol, choice));
    NcclSearch search = load_nccl();
    if (!search.library) throw unavailable(search.problem);
    note("NCCL " + nccl_version_text(search.library->version) + " (" + search.library->path + ")");
    note(settings_notes);
    note(work_.notes);
    measured_.device = names_of(gpus, gpus.size());
    gpus_.emplace(*search.library, collective_, work_, devices_of(gpus));
  }

  RunOutcome run() {
    gpus_->start_marks(static_cast<std::size_t>(iterations_) + 1);
    if (options_.check) check();
    warm_up();
    time_by_events();
    time_as_nccl_tests();
    if (const auto expected = gpus_->expected_us()) note("NCCL expects " + in_us(*expected / 1e6));
    if (options_.timeline) note("NCCL does not report its steps: no timeline");
    return std::move(measured_);
  }

 private:
  void note(const std::string& text) { measured_.notes.push_back(text); }
  void note(const std::vector<std::string>& texts) {
    measured_.notes.insert(measured_.notes.end(), texts.begin(), texts.end());
  }

  void check() {
    const auto inputs = make_test_inputs(collective_, options_.seed);
    gpus_->fill(inputs);
    run_times(1);
    measured_.data = DataVerdict::right;
    for (int position = 0; position < collective_.size(); ++position) {
      measured_.wrong_data =
          nccl_difference(collective_, inputs, position, gpus_->output(position));
      if (measured_.wrong_data.empty()) continue;
      measured_.data = DataVerdict::wrong;
      break;
    }
    if (nccl_rounds(collective_)) {
      char text[200];
      std::snprintf(
          text, sizeof text,
          "NCCL's average rounds differently: differences up to %.2g of the value were allowed",
          nccl_tolerance(collective_));
      note(text);
    }
  }

  // The first call connects the ranks, which takes long and must not be timed.
  void warm_up() {
    if (!options_.check) gpus_->fill(make_test_inputs(collective_, options_.seed));
    run_times(std::max(1, options_.warmup));
  }

  void run_times(int times) {
    for (int i = 0; i < times; ++i) {
      gpus_->start_marks(1);
      gpus_->launch();
      gpus_->wait_for(gpus_->mark(), patience_s_);
    }
  }

  void time_by_events() {
    gpus_->start_marks(static_cast<std::size_t>(iterations_) + 1);
    gpus_->launch();  // so that the first mark, too, has work before it
    gpus_->mark();
    for (int i = 0; i < iterations_; ++i) {
      gpus_->launch();
      gpus_->mark();
    }
    for (std::size_t i = 0; i <= static_cast<std::size_t>(iterations_); ++i)
      gpus_->wait_for(i, patience_s_);
    for (std::size_t i = 0; i < static_cast<std::size_t>(iterations_); ++i)
      measured_.times_s.push_back(gpus_->seconds_between(i, i + 1));
  }

  void time_as_nccl_tests() {
    gpus_->start_marks(1);
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < iterations_; ++i) gpus_->launch();
    const double launching_s = seconds_since(begin);
    gpus_->wait_for(gpus_->mark(), patience_s_ * iterations_);
    const double all_s = seconds_since(begin);
    note("nccl-tests' method (the host's clock around " + count_of(iterations_, "call") +
         " in a row) gives " + in_us(all_s / iterations_) + " per call");
    constexpr double most = 0.5;  // then launching sets the pace of some calls at least
    if (launching_s > most * all_s)
      measured_.doubt = "launching the calls from one thread took " + in_us(launching_s) + " of " +
                        in_us(all_s) + ": these are times of the CPU";
  }

  const Collective collective_;
  const RunOptions options_;
  double patience_s_;
  int iterations_;
  NcclWork work_;
  std::optional<NcclGpus> gpus_;
  Measurement measured_;
};

}  // namespace

std::optional<std::string> nccl_unavailable() {
  constexpr double limit_s = 60;
  const RunOutcome outcome = run_in_child(
      []() -> RunOutcome {
        try {
          static_cast<void>(find_gpus());
        } catch (const NoMeasurement& none) {
          return none;
        }
        NcclSearch search = load_nccl();
        if (!search.library) return unavailable(search.problem);
        return Measurement{};
      },
      limit_s);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) return none->reason;
  return std::nullopt;
}

RunOutcome run_on_nccl(const RunCase& run_case, const RunOptions& options, NcclChoice choice) {
  try {
    return NcclRun(run_case, options, choice).run();
  } catch (const NoMeasurement& none) {
    return none;
  }
}

RunOutcome run_on_nccl(const RunCase& run_case, const RunOptions& options) {
  return run_on_nccl(run_case, options, NcclChoice::as_scheduled);
}

RunOutcome run_on_free_nccl(const RunCase& run_case, const RunOptions& options) {
  return run_on_nccl(run_case, options, NcclChoice::free);
}

}  // namespace collsim
