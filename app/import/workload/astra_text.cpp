// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "app/import/workload/workload_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

// What is known of a parallelism policy, the first word of the file.
struct AstraPolicy {
  std::string_view name;
  enum class Shares : std::uint8_t { no_model, all, some } shares;  // how many ranks a model
  bool forward_only = false;
  bool micro = false;          // the collective of the weights' gradients alone, and no times
  bool inputs_first = false;   // of the backward pass: gradients of inputs before those of weights
  std::string_view refused{};  // why it is not read; empty: it is
};

constexpr std::string_view odd_order =
    "the order in which its layers wait for each other is in ASTRA-sim, not in the file";
constexpr std::array<AstraPolicy, 11> policies = {{
    {"MICRO", AstraPolicy::Shares::no_model, false, true},
    {"DATA", AstraPolicy::Shares::no_model},
    {"MODEL", AstraPolicy::Shares::all},
    {"HYBRID_DATA_MODEL", AstraPolicy::Shares::some},
    {"HYBRID_MODEL_DATA", AstraPolicy::Shares::some},
    {"HYBRID_TRANSFORMER", AstraPolicy::Shares::some, false, false, true},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", AstraPolicy::Shares::some, false, false, true},
    {"DISTRIBUTED_INFERENCE", AstraPolicy::Shares::all, true},
    {"HYBRID_DLRM", AstraPolicy::Shares::some, false, false, false, odd_order},
    {"HYBRID_DLRM_ENHANCED", AstraPolicy::Shares::some, false, false, false, odd_order},
    {"HYBRID_CUSTOMIZED", AstraPolicy::Shares::some, false, false, false, odd_order},
}};

const AstraPolicy* policy_named(std::string_view word) {
  const auto found = std::find_if(policies.begin(), policies.end(),
                                  [&](const AstraPolicy& policy) { return policy.name == word; });
  return found == policies.end() ? nullptr : &*found;
}

std::optional<std::int64_t> whole_word(std::string_view word) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (problem != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// One part of a layer: computing, then a collective.
struct AstraPart {
  double us = 0;
  std::optional<Operation> operation;
  Bytes bytes = 0;
  bool of_experts = false;
};
struct AstraLayer {
  AstraPart forward, inputs, weights;
  double update_us = 0;
  bool is_checkpoint = false, starts_over = false;
};

class AstraReader {
 public:
  explicit AstraReader(const WorkloadSource& file) : file_(file), lines_(lines_of(file.text())) {
    while (!lines_.empty() && words_of(lines_.back()).empty()) lines_.pop_back();
  }

  std::optional<ImportedWorkload> read() {
    workload_.format = "ASTRA-sim text workload";
    cycle_us_ = file_.answers->cycle_us > 0 ? file_.answers->cycle_us : 1e-3;
    if (!read_policy() || !read_layers() || !mark_checkpoints()) return std::nullopt;
    find_groups();
    if (!file_.diagnostics->empty()) return std::nullopt;
    tell();
    make();
    const auto is_call = [](const auto& item) { return item.operation.has_value(); };
    if (workload_.questions.empty() &&
        std::none_of(workload_.items.begin(), workload_.items.end(), is_call))
      return file_.refuse("no-collective", "no layer of this workload has a collective");
    return std::move(workload_);
  }

 private:
  Refusal wrong_word(std::string_view word, std::string message, std::string hint = {}) {
    const auto begin = static_cast<std::uint32_t>(word.data() - file_.text().data());
    return file_.wrong({file_.source, begin, begin + static_cast<std::uint32_t>(word.size())},
                       "wrong-word", std::move(message), std::move(hint));
  }

  // POLICY [key: value ...]; "checkpoints: 2 2 11" counts its values first.
  bool read_policy() {
    const std::vector<std::string_view> words = words_of(lines_[0]);
    policy_ = policy_named(words[0]);
    if (!policy_->refused.empty())
      return wrong_word(words[0],
                        fmt::format("workloads of the policy {} are not read", policy_->name),
                        std::string(policy_->refused));
    for (std::size_t i = 1; i < words.size();) {
      std::string_view key = words[i];
      if (key.ends_with(':')) key.remove_suffix(1);
      const auto value = i + 1 < words.size() ? whole_word(words[i + 1]) : std::nullopt;
      if (!value || *value < 0)
        return wrong_word(words[i], fmt::format("\"{}\" needs a number", printable(words[i])));
      i += 2;
      std::vector<std::int64_t>& list = head_[std::string(key)];
      list = {*value};
      if (!key.starts_with("checkpoint")) continue;
      list.clear();
      for (std::int64_t n = 0; n < *value; ++n, ++i) {
        const auto layer = i < words.size() ? whole_word(words[i]) : std::nullopt;
        if (!layer)
          return wrong_word(words[0],
                            fmt::format("\"{}\" has fewer layers than it says, {}", key, *value));
        list.push_back(*layer);
      }
    }
    if (head("pp") <= 1) return true;
    return wrong_word(words[0],
                      fmt::format("this workload is one of {} stages of a pipeline, and the file "
                                  "does not say what it sends to the others",
                                  head("pp")),
                      "write it as a scheme: {\"pipeline\": {...}}");
  }
  [[nodiscard]] std::int64_t head(const char* key, std::int64_t otherwise = 0) const {
    const auto found = head_.find(key);
    return found == head_.end() ? otherwise : found->second.front();
  }

  bool read_layers() {
    const std::vector<std::string_view> words =
        lines_.size() < 2 ? std::vector<std::string_view>{} : words_of(lines_[1]);
    const std::int64_t count = words.empty() ? 0 : whole_word(words[0]).value_or(0);
    const std::size_t there = lines_.size() < 2 ? 0 : lines_.size() - 2;
    if (count < 1)
      return wrong_word(words.empty() ? std::string_view(lines_[0]) : words[0],
                        "the second line must be the number of layers");
    if (std::cmp_not_equal(count, there))
      return wrong_word(
          words[0], fmt::format("the file says {} and has {}", count_text(count, "layer"), there));
    for (std::size_t i = 2; i < lines_.size(); ++i)
      if (!read_layer(words_of(lines_[i]), lines_[i])) return false;
    return true;
  }

  // NAME DEP  TIME COMM BYTES  TIME COMM BYTES  TIME COMM BYTES  UPDATE
  bool read_layer(const std::vector<std::string_view>& words, std::string_view line) {
    constexpr std::size_t fields = 12;
    if (words.size() != fields)
      return wrong_word(line, fmt::format("a layer has {} fields, not {}", fields, words.size()),
                        "name, dependency, three times a time, a collective and its bytes, and "
                        "the time of the update");
    AstraLayer layer;
    const auto update = whole_word(words[11]);
    if (!update || *update < 0) return wrong_word(words[11], "this is no time of an update");
    layer.update_us = static_cast<double>(*update) * cycle_us_;
    if (!read_part(words, 2, layer.forward) || !read_part(words, 5, layer.inputs) ||
        !read_part(words, 8, layer.weights))
      return false;
    layers_.push_back(layer);
    return true;
  }

  bool read_part(const std::vector<std::string_view>& words, std::size_t at, AstraPart& part) {
    constexpr std::int64_t most = std::int64_t{1} << 50U;
    const auto time = whole_word(words[at]), bytes = whole_word(words[at + 2]);
    if (!time || *time < 0) return wrong_word(words[at], "this is no time");
    if (!bytes || *bytes < 0 || *bytes > most)
      return wrong_word(words[at + 2], "this is no number of bytes");
    part.us = static_cast<double>(*time) * cycle_us_;
    part.bytes = *bytes;
    std::string_view word = words[at + 1];
    if (word.ends_with("_EP") && !word.ends_with("_DP_EP")) part.of_experts = true;
    word = word.substr(0, word.find('_'));
    if (word == "NONE") return true;
    if (word == "ALLREDUCEALLTOALL")
      return wrong_word(words[at + 1], "two collectives at once are not read");
    constexpr std::array<std::pair<std::string_view, Operation>, 5> known = {
        {{"ALLREDUCE", Operation::all_reduce},
         {"ALLGATHER", Operation::all_gather},
         {"REDUCESCATTER", Operation::reduce_scatter},
         {"ALLTOALL", Operation::all_to_all},
         {"BROADCAST", Operation::broadcast}}};
    for (const auto& [name, operation] : known)
      if (name == word) part.operation = operation;
    if (!part.operation)
      return wrong_word(words[at + 1],
                        fmt::format("there is no collective {}", quoted(printable(word))),
                        "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL and BROADCAST are "
                        "read");
    if (part.of_experts && head("ep", 1) > 1)
      return wrong_word(words[at + 1],
                        "the file does not say which ranks share the experts of a layer",
                        "write it as a scheme: {\"experts\": {...}}");
    if (*bytes == 0) part.operation.reset();
    return true;
  }

  bool mark_checkpoints() {
    const auto mark = [&](const char* key, bool AstraLayer::*flag) {
      const auto found = head_.find(key);
      if (found == head_.end()) return true;
      for (const std::int64_t layer : found->second) {
        if (std::cmp_greater_equal(layer, layers_.size()) || layer < 0)
          return static_cast<bool>(
              wrong_word(words_of(lines_[0])[0],
                         fmt::format("\"{}\" names layer {}, of {}", key, layer, layers_.size())));
        layers_[static_cast<std::size_t>(layer)].*flag = true;
      }
      return true;
    };
    return mark("checkpoints", &AstraLayer::is_checkpoint) &&
           mark("checkpoint_initiates", &AstraLayer::starts_over);
  }

  void find_groups() {
    workload_.ranks = answered_ranks(file_, head("all_gpus"), 0, workload_);
    if (workload_.ranks > max_workload_ranks)
      file_.refuse("too-large",
                   fmt::format("{} ranks; at most {}", workload_.ranks, max_workload_ranks));
    if (workload_.ranks == 0)
      workload_.questions.emplace_back("the file does not say how many ranks there are: --ranks N");
    std::int64_t shared = answered("--model-ranks", file_.answers->model_ranks,
                                   head("model_parallel_NPU_group"), workload_);
    if (policy_->shares == AstraPolicy::Shares::all) shared = workload_.ranks;
    if (policy_->shares == AstraPolicy::Shares::no_model) shared = 1;
    if (shared == 0 && policy_->shares == AstraPolicy::Shares::some)
      workload_.questions.emplace_back(
          "the file does not say how many ranks share a model: --model-ranks N");
    if (!workload_.questions.empty()) return;
    if (shared > workload_.ranks || workload_.ranks % shared != 0) {
      file_.refuse("odd-group", fmt::format("{} cannot be divided into models on {} each",
                                            count_text(workload_.ranks, "rank"), shared));
      return;
    }
    const auto n = static_cast<int>(shared), all = static_cast<int>(workload_.ranks);
    if (n > 1) model_ = workload_.group_of(0, 1, n);
    if (all / n > 1) data_ = workload_.group_of(0, n, all / n);
    model_size_ = n;
    data_size_ = all / n;
    // A model of one rank, as in DATA: what it has in common with others is all of the ranks.
    if (policy_->shares == AstraPolicy::Shares::no_model) {
      model_ = data_;
      model_size_ = data_size_;
    }
    if (policy_->shares == AstraPolicy::Shares::all) {
      data_ = model_;
      data_size_ = model_size_;
    }
  }

  void tell() {
    if (file_.answers->cycle_us == 0 && !policy_->micro)
      workload_.assumed.emplace_back("a cycle, the file's unit of time, is 1 ns; --cycle says it");
    if (policy_->shares == AstraPolicy::Shares::some)
      workload_.assumed.emplace_back("ranks that share a model are neighbours");
    const auto gathers = [](const AstraLayer& layer) {
      return layer.forward.operation == Operation::all_gather ||
             layer.inputs.operation == Operation::all_gather ||
             layer.weights.operation == Operation::all_gather;
    };
    if (std::any_of(layers_.begin(), layers_.end(), gathers))
      workload_.assumed.emplace_back(
          "the bytes of an ALLGATHER are what one rank puts in, as in ASTRA-sim");
    if (!policy_->micro && !policy_->forward_only)
      workload_.assumed.emplace_back("updates come at the end of the step, after all gradients");
    workload_.notes.push_back(
        fmt::format("{}, {}", policy_->name, count_text(layers_.size(), "layer")));
  }

  // --- the step ----------------------------------------------------------------------------------

  void work(double us) {
    if (us <= 0 && pending_.empty()) return;
    ImportedWorkload::Item item;
    item.us = us;
    item.after = std::exchange(pending_, {});
    workload_.items.push_back(std::move(item));
    main_ = workload_.items.size();
  }

  // On a stream beside the main one; nothing where there is no collective, or one of one rank.
  std::optional<std::size_t> call(const AstraPart& part, bool of_model, const char* stream) {
    const auto group = of_model ? model_ : data_;
    if (!part.operation || !group || part.of_experts) return std::nullopt;
    ImportedWorkload::Item item;
    item.stream = workload_.stream_named(stream);
    item.operation = part.operation;
    item.type = ElementType::u8;
    item.bytes = part.bytes;
    if (part.operation == Operation::all_gather) item.bytes *= of_model ? model_size_ : data_size_;
    item.group = *group;
    item.after = pending_;
    if (main_ > 0) item.after.push_back(main_ - 1);
    workload_.items.push_back(std::move(item));
    return workload_.items.size() - 1;
  }
  // What comes next on the main stream waits for it.
  void wait_for(std::optional<std::size_t> item) {
    if (item) pending_.push_back(*item);
  }

  void forward(const AstraLayer& layer) {
    work(layer.forward.us);
    wait_for(call(layer.forward, true, "model"));
  }

  void backward(const AstraLayer& layer, bool is_first) {
    const auto weights = [&] {
      work(layer.weights.us);
      if (const auto sent = call(layer.weights, false, "gradients")) gradients_.push_back(*sent);
    };
    if (!policy_->inputs_first) weights();
    std::optional<std::size_t> inputs;
    if (!is_first || policy_->inputs_first) {  // nothing is before the first layer
      work(layer.inputs.us);
      inputs = call(layer.inputs, true, "model");
    }
    if (policy_->inputs_first) weights();
    wait_for(inputs);
  }

  void make() {
    if (!workload_.questions.empty()) return;
    if (policy_->micro) {
      for (const AstraLayer& layer : layers_) static_cast<void>(call(layer.weights, false, "main"));
      return;
    }
    for (const AstraLayer& layer : layers_) forward(layer);
    if (policy_->forward_only) return;
    double update = 0;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      if (layers_[i].starts_over) again(i);
      backward(layers_[i], i == 0);
      update += layers_[i].update_us;
    }
    for (const std::size_t sent : gradients_) pending_.push_back(sent);
    work(update);
  }

  // The activations of the layers before this one, from the last checkpoint on.
  void again(std::size_t layer) {
    std::size_t from = layer;
    while (from > 0 && !layers_[from].is_checkpoint) --from;
    for (; from < layer; ++from) forward(layers_[from]);
  }

  const WorkloadSource& file_;
  std::vector<std::string_view> lines_;
  ImportedWorkload workload_;
  const AstraPolicy* policy_ = nullptr;
  std::map<std::string, std::vector<std::int64_t>> head_;
  std::vector<AstraLayer> layers_;
  double cycle_us_ = 0;
  std::optional<std::size_t> model_, data_;  // groups; nothing: of one rank
  int model_size_ = 1, data_size_ = 1;
  std::vector<std::size_t> pending_;  // what the next work waits for
  std::vector<std::size_t> gradients_;
  std::size_t main_ = 0;  // one behind the latest work; 0: none
};

}  // namespace

bool looks_like_astra_text(std::string_view text) {
  constexpr std::size_t longest = 4096;
  const std::string_view head = text.substr(0, longest);
  const auto words = words_of(head.substr(0, head.find_first_of("\r\n")));
  return !words.empty() && policy_named(words[0]) != nullptr;
}

std::optional<ImportedWorkload> read_astra_text(const WorkloadSource& file) {
  return AstraReader(file).read();
}

}  // namespace collsim
