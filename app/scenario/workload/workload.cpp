// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/workload/workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/scenario/workload/program.hpp"
#include "app/scenario/workload/workload_internal.hpp"
#include "collectives/cost/cost_model.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

SlowRank read_slow_rank(ObjectReader& reader, const JsonValue::Member& member, std::size_t number) {
  constexpr double slowest = 1000;
  SlowRank slow{Rank(number)};
  if (member.value.is_number() && member.value.number() != 0)  // a time of 0 needs no unit
    slow.factor = reader.number(member.key, 1 / slowest, slowest, 1);
  else
    slow.delay = reader.time(member.key, Time{});
  return slow;
}

std::vector<SlowRank> read_slow(ObjectReader& workload, const Cluster* cluster) {
  std::vector<SlowRank> slow;
  const JsonValue* const written = workload.raw("slow");
  if (written == nullptr) return slow;
  ObjectReader reader(*written, workload.pointer_of("slow"), workload.diagnostics());
  const std::size_t ranks = cluster == nullptr ? max_ranks : cluster->topology.rank_count();
  if (written->is_object())
    for (const JsonValue::Member& member : written->members()) {
      const auto number = number_in<std::size_t>(member.key);
      const bool is_rank = number && std::to_string(*number) == member.key && *number < ranks;
      if (is_rank) {
        slow.push_back(read_slow_rank(reader, member, *number));
        continue;
      }
      static_cast<void>(reader.raw(member.key));
      reader.wrong(member.key, "out-of-range", "there is no rank " + quoted(member.key), {},
                   cluster == nullptr ? "write the number of a rank, such as \"3\""
                                      : fmt::format("ranks are 0 to {}", ranks - 1));
    }
  workload.resolve("slow", reader.finish());
  return slow;
}

// "mean" is a share of each piece of work, or a time before the step, as in "slow".
std::optional<Jitter> read_jitter(ObjectReader& workload) {
  const JsonValue* const written = workload.raw("jitter");
  if (written == nullptr) return std::nullopt;
  ObjectReader reader(*written, workload.pointer_of("jitter"), workload.diagnostics());
  constexpr double most = 1000;
  constexpr std::int64_t most_seeds = 1'000'000'000;
  Jitter jitter;
  const JsonValue* const mean = written->is_object() ? written->find("mean") : nullptr;
  if (mean != nullptr && mean->is_number() && mean->number() != 0)
    jitter.share = reader.number("mean", 0, most, 0);
  else
    jitter.delay = reader.time("mean", Time{});
  reader.need({"mean"}, R"(write a share of each piece of work, 0.02, or a time before the step)");
  jitter.seed = static_cast<std::uint64_t>(reader.integer("seed", 0, most_seeds, 1));
  workload.resolve("jitter", reader.finish());
  return jitter;
}

// The scheme that is written; empty: none, or several.
std::string name_of_scheme(ObjectReader& reader) {
  std::vector<std::string> written;
  for (const std::string& name : scheme_names())
    if (reader.raw(name) != nullptr) written.push_back(name);
  if (written.size() == 1) return written.front();
  if (written.size() > 1)
    reader.wrong(written[1], "conflicting-keys",
                 fmt::format("a workload has one scheme, not {}", fmt::join(written, " and ")), {},
                 "keep one; a sweep over \"workload\" compares several");
  return {};
}

// What schemes and explicit programs have in common.
struct CommonKeys {
  std::vector<SlowRank> slow;
  std::optional<Jitter> jitter;
  std::optional<Time> timeout;
  std::optional<FailurePlan> failures;
  std::int64_t slowdown = 0;
  std::optional<int> collectives_at_a_time;
  ProtocolWish protocol;

  [[nodiscard]] bool any_slow() const { return !slow.empty() || jitter; }
  [[nodiscard]] TrainingStep applied_to(TrainingStep step, const Topology& network) const {
    const std::vector<SlowRank> all =
        jitter ? with_jitter(slow, *jitter, step.workload.group()) : slow;
    if (!all.empty()) step.workload = slowed(step.workload, all);
    if (collectives_at_a_time) {
      step.room = TrainingStep::Room{*collectives_at_a_time, step.workload};
      step.workload = with_calls_at_a_time(step.workload, *collectives_at_a_time);
    }
    step.timeout = timeout;
    step.failures = failures;
    step.slowdown = slowdown;
    step.protocol = protocol_of(protocol, step.workload, network);
    return step;
  }
};

CommonKeys read_common_keys(ObjectReader& reader, const Cluster* cluster,
                            const std::optional<TrainingDevice>& device) {
  const int ranks = cluster == nullptr ? 0 : static_cast<int>(cluster->topology.rank_count());
  CommonKeys common{read_slow(reader, cluster), read_jitter(reader), reader.time("timeout"),
                    read_failures(reader, ranks)};
  if (device) {
    common.slowdown = device->slowdown;
    common.collectives_at_a_time = device->collectives_at_a_time;
  }
  common.protocol = read_protocol_wish(reader, cluster == nullptr ? nullptr : &cluster->topology);
  if (common.timeout == Time{})
    reader.wrong("timeout", "out-of-range", "with a time-out of 0 every rank gives up at once");
  return common;
}

// Where the cluster has protocols, so that none is one of several.
void show_protocol(const TrainingStep& step, JsonValue& resolved) {
  if (step.protocol) resolved.set("protocol", to_string(step.protocol->protocol));
}

// The steps of a job that goes on with fewer ranks.
void read_smaller_steps(FailurePlan& plan, const std::string& scheme, const JsonValue& written,
                        SchemeContext context, ObjectReader& workload, const CommonKeys& common) {
  for (auto& [ranks, step] : plan.of_ranks) {
    context.some = ranks;
    Diagnostics own;
    JsonValue resolved;
    auto smaller =
        read_scheme(scheme, written, workload.pointer_of(scheme), context, own, resolved);
    if (smaller)
      step = std::make_shared<const TrainingStep>(
          common.applied_to(std::move(*smaller), context.cluster->topology));
    else if (!own.empty())
      workload.wrong("failures", "does-not-fit",
                     fmt::format("{} cannot go on: {}", count_text(ranks, "rank"),
                                 own.sorted().front().message),
                     {}, own.sorted().front().hint);
  }
}

std::optional<TrainingStep> read_program_step(const JsonValue& workload, const std::string& pointer,
                                              const WorkloadContext& context,
                                              Diagnostics& diagnostics, JsonValue& resolved) {
  ObjectReader reader(workload, pointer, diagnostics);
  const auto program = read_program(reader, context.cluster);
  const std::optional<TrainingDevice> device = read_device(reader, context.cluster, false);
  const CommonKeys common = read_common_keys(reader, context.cluster, device);
  for (const std::string& other : scheme_names())
    if (reader.raw(other) != nullptr && !context.varies)
      reader.wrong(other, "conflicting-keys", "a workload is a scheme or a program", {},
                   "keep one; \"model\" and schemes go together");
  if (context.varies) static_cast<void>(reader.raw("model"));
  if (common.failures && !common.failures->of_ranks.empty())
    reader.wrong("failures", "not-applicable",
                 "a program says what each rank does, and so cannot go on with others", {},
                 "omit \"ranks\", or use a scheme");
  resolved = reader.finish();
  if (!program || !diagnostics.empty()) return std::nullopt;
  TrainingStep step = common.applied_to(
      {.scheme = "program", .workload = make_workload(program), .program = program},
      context.cluster->topology);
  if (std::ranges::max(program->memory) > 0)
    step.memory = StepMemory{.most_bytes = program->memory,
                             .device = memory_of_device(device, context.cluster)};
  show_protocol(step, resolved);
  return step;
}

// "model", and what follows from it besides times and bytes.
struct TrainedModel {
  Model model;
  TrainingLayout layout;
  std::optional<TransformerReading> transformer;
  std::optional<TrainingDevice> device;
  bool device_is_right = true;  // its mistakes are told, which may be why something is missing
};

void read_transformer_model(ObjectReader& workload, const JsonValue& written, TrainedModel& read) {
  ObjectReader reader(written, workload.pointer_of("model"), workload.diagnostics());
  read.transformer = read_transformer(reader, read.layout);
  workload.resolve("model", reader.finish());
  if (!read.device)
    workload.wrong("", "missing-key",
                   "a transformer's times follow from a device, which is missing", {},
                   R"(add "device": {"flops": "312TFLOP/s", "efficiency": 0.5})");
  if (read.device && read.device_is_right && read.transformer->transformer.has_8_bits &&
      !(read.device->device.flops_of_8_bits > 0))
    workload.wrong("", "missing-key",
                   "what this device computes in 8 bits is not known, and the model's dtype is "
                   "float8",
                   {}, R"(add "device": {"flops_float8": "1979TFLOP/s"}, its peak)");
  const JsonValue* const device = workload.raw("device");
  const bool says_flops = device != nullptr && device->find("flops") != nullptr;
  if (read.device && read.device_is_right && !says_flops &&
      size_of(read.transformer->transformer.type) > 2)
    workload.wrong(
        "", "missing-key",
        fmt::format("what this device computes in {} is not known: its flops are those "
                    "of 16 bits",
                    element_type_word(read.transformer->transformer.type)),
        {},
        R"(add "device": {"flops": ...}: the peak for this type, "19.5TFLOP/s" of an A100, )"
        R"("67TFLOP/s" of an H100)");
  if (!workload.diagnostics().empty()) return;
  try {
    read.model =
        model_of(read.transformer->transformer, read.device->device, read.layout.tensor_group());
  } catch (const Error& error) {
    workload.wrong("model", error);
  }
}

// Schemes without microbatches take all sequences of a replica at once.
bool takes_global_batch(const TransformerReading& read, const TrainingStep& step,
                        ObjectReader& workload) {
  if (!read.microbatches || *read.microbatches == step.microbatches.value_or(1)) return true;
  workload.wrong("model", "not-applicable",
                 fmt::format("{} has no microbatches, and the model's global batch asks for {} of "
                             "each replica",
                             step.scheme, *read.microbatches),
                 {},
                 "omit \"global_batch\"; train, pipeline, tensor, ddp and fsdp have microbatches");
  return false;
}

TrainedModel read_model_of(ObjectReader& workload, const Cluster* cluster,
                           const TrainingLayout& layout) {
  TrainedModel read{.layout = layout};
  workload.need({"model"});
  const JsonValue* const written = workload.raw("model");
  const bool is_transformer =
      written != nullptr && written->is_object() && written->find("transformer") != nullptr;
  const std::size_t mistakes = workload.diagnostics().size();
  read.device = read_device(workload, cluster, is_transformer);
  read.device_is_right = workload.diagnostics().size() == mistakes;
  if (is_transformer) {
    read_transformer_model(workload, *written, read);
  } else if (written != nullptr) {
    JsonValue resolved;
    read.model = read_trained_model(*written, workload.pointer_of("model"), workload.diagnostics(),
                                    resolved);
    workload.resolve("model", std::move(resolved));
  }
  return read;
}

}  // namespace

WorkloadReport check(const TrainingStep& step) {
  WorkloadReport report = check(asked_for(step));
  if (!step.room || (report.fault && !concerns_data_only(*report.fault))) return report;
  WorkloadReport in_turns =
      check(step.room->unlimited, {.collectives_at_a_time = step.room->collectives});
  if (in_turns.fault) report.fault = std::move(in_turns.fault);
  return report;
}

// Pipelines and tensor groups share out layers.
void forward_is_of_layers(const std::string& scheme, const Model& model, ObjectReader& workload) {
  const bool shares_out = scheme == "pipeline" || scheme == "tensor" || scheme == "train";
  if (!shares_out || model.forward == Time{}) return;
  ObjectReader reader(*workload.raw("model"), workload.pointer_of("model"), workload.diagnostics());
  reader.wrong("forward", "not-applicable",
               "\"forward\" of the model, outside of all layers, is on no rank of \"" + scheme +
                   "\", which shares out layers",
               {}, "give it to a layer");
}

std::optional<TrainingStep> read_workload(const JsonValue& workload, const std::string& pointer,
                                          const WorkloadContext& context, Diagnostics& diagnostics,
                                          JsonValue& resolved) {
  if (workload.find("program") != nullptr)
    return read_program_step(workload, pointer, context, diagnostics, resolved);
  ObjectReader reader(workload, pointer, diagnostics);
  static_cast<void>(reader.raw("slow"));
  const std::string scheme = name_of_scheme(reader);
  SchemeContext all{.cluster = context.cluster, .varies = context.varies};
  const auto there = all.ranks() > 0 ? std::int64_t{all.ranks()} : std::int64_t{max_ranks};
  if (const auto some = reader.integer("ranks", 1, there)) all.some = static_cast<int>(*some);
  const TrainingLayout layout =
      layout_of(scheme, scheme.empty() ? nullptr : reader.raw(scheme), all.ranks());
  const TrainedModel trained = read_model_of(reader, context.cluster, layout);
  CommonKeys common = read_common_keys(reader, context.cluster, trained.device);
  std::optional<TrainingStep> step;
  if (!scheme.empty()) {
    JsonValue of_scheme;
    forward_is_of_layers(scheme, trained.model, reader);
    all.model = &trained.model;
    all.any_slow = common.any_slow();
    if (trained.transformer) all.microbatches = trained.transformer->microbatches;
    step = read_scheme(scheme, *reader.raw(scheme), reader.pointer_of(scheme), all, diagnostics,
                       of_scheme);
    reader.resolve(scheme, std::move(of_scheme));
    if (step && common.failures)
      read_smaller_steps(*common.failures, scheme, *reader.raw(scheme), all, reader, common);
  }
  if (workload.find("algorithm") != nullptr && reader.raw("algorithm") != nullptr)
    reader.wrong("algorithm", "unknown-key", "\"algorithm\" belongs inside the scheme", {},
                 fmt::format("write \"workload\": {{\"{}\": {{\"algorithm\": ...}}}}",
                             scheme.empty() ? "ddp" : scheme));
  resolved = reader.finish();
  const bool says_nothing = workload.is_object() && workload.members().empty();
  if (scheme.empty() && (diagnostics.empty() || says_nothing))
    diagnostics.add(
        {.code = "missing-key",
         .message = "the workload does not say how the model is trained",
         .place = workload.place,
         .pointer = pointer,
         .hint = fmt::format("add one of {}, program", fmt::join(scheme_names(), ", "))});
  if (!diagnostics.empty() || !step) return std::nullopt;
  if (trained.transformer && !takes_global_batch(*trained.transformer, *step, reader))
    return std::nullopt;
  if (trained.transformer) {
    step->work = work_of(*trained.transformer, *trained.device, layout, *step);
    step->memory = memory_of(*trained.transformer, *trained.device, layout, *step);
  } else if ((step->memory = memory_of(trained.model, layout, *step))) {
    step->memory->device = memory_of_device(trained.device, context.cluster);
  }
  step = common.applied_to(std::move(*step), context.cluster->topology);
  show_protocol(*step, resolved);
  return step;
}

JsonValue laid_over(const JsonValue& value, const JsonValue& written) {
  if (!value.is_object() || !written.is_object()) return value;
  JsonValue result = written;
  const std::vector<std::string>& schemes = scheme_names();
  const auto is_there = [&](const std::string& name) { return value.find(name) != nullptr; };
  if (std::any_of(schemes.begin(), schemes.end(), is_there))
    for (const std::string& name : schemes) result.erase(name);
  for (const JsonValue::Member& member : value.members())
    result.set(member.key, member.value, member.key_place);
  return result;
}

}  // namespace collsim
