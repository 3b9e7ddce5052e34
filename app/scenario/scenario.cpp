// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include "app/json/value.hpp"
#include "app/scenario/cluster/imported.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/include.hpp"
#include "app/scenario/layer_files.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/model.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/scenario.hpp"
#include "app/scenario/sweep.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

bool is_slug(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || !fits(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return fits(c) || c == '-'; });
}

// "My File_2.json" -> "my-file-2"
std::string slug_of(const std::string& file) {
  const std::string stem = file == "-" ? "stdin" : std::filesystem::path(file).stem().string();
  std::string slug;
  for (const char c : stem) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))
      slug += lower;
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "scenario" : slug;
}

// Where --set brings a key that excludes one of the file, the file need not change.
void explain_null(Diagnostic& mistake, const std::vector<std::string>& set) {
  if (mistake.code != "exclusive-keys" && mistake.code != "conflicting-keys") return;
  if (mistake.pointer.empty()) return;
  const std::string_view part = std::string_view(mistake.pointer).substr(1);
  const std::string path(part.substr(0, part.find('/')));
  const bool concerned = std::any_of(set.begin(), set.end(), [&](const std::string& option) {
    return option.starts_with(path + ".");
  });
  if (concerned)
    mistake.hint += "; --set removes a key with null, such as --set " + path + ".KEY=null";
}

// Those beyond the number that is kept are counted.
void add_all(const Diagnostics& own, Diagnostics& all,
             const std::function<void(Diagnostic&)>& change) {
  std::vector<Diagnostic> kept = own.sorted();
  const std::size_t not_kept = own.size() - kept.size();
  for (Diagnostic& diagnostic : kept) {
    change(diagnostic);
    all.add(std::move(diagnostic));
  }
  for (std::size_t i = 0; i < not_kept; ++i) all.add({});
}

class ScenarioReader {
 public:
  ScenarioReader(JsonValue document, const std::string& file, const LoadOptions& options,
                 Sources& sources, Diagnostics& diagnostics)
      : document_(std::move(document)),
        options_(&options),
        diagnostics_(&diagnostics),
        set_(apply_set_options(document_, options.set, sources, diagnostics)),
        reader_(document_, "", diagnostics) {
    scenario_.file = file;
    load_calibration_file(document_, file, sources, diagnostics);
    load_machine_file(document_, sources);
    scenario_.programs = load_program_files(document_, file, sources, diagnostics);
    load_layer_files(document_, file, sources, diagnostics);
  }

  std::optional<Scenario> read() {
    if (!document_.is_object() || !check_version(document_, false, *diagnostics_))
      return std::nullopt;
    for (const char* key : {"scenario", "$schema", "name", "title", "notes", "include", "cluster",
                            "model", "collective", "workload", "sweep", "measure", "expect"})
      static_cast<void>(reader_.raw(key));
    read_texts();
    const UnknownParts unknown = read_sweep_and_parts();
    read_measure_and_expectations();
    static_cast<void>(reader_.finish());
    const auto clusters = std::make_shared<ClusterCache>();
    resolve(check_points(scenario_, options_->max_checks, unknown, *clusters, *diagnostics_));
    if (!is_cluster_swept()) scenario_.checked_cluster = clusters;
    if (options_->also_check) also_check();
    if (!diagnostics_->empty()) return std::nullopt;
    return std::move(scenario_);
  }

 private:
  void read_texts() {
    static_cast<void>(reader_.text("$schema"));
    scenario_.title = reader_.text("title").value_or("");
    const std::optional<std::string> name = reader_.text("name");
    if (name && !is_slug(*name))
      reader_.wrong(
          "name", "bad-name", quoted(*name) + " is not a valid scenario name",
          slug_of(*name + ".json"),
          "a name has lower-case letters, digits and hyphens, and begins with a letter or digit");
    scenario_.name = name ? *name : slug_of(scenario_.file);
    const JsonValue* notes = reader_.raw("notes");
    if (notes == nullptr) return;
    const JsonValue::Array lines = notes->is_array() ? notes->items() : JsonValue::Array{*notes};
    for (const JsonValue& line : lines) {
      if (line.is_string())
        scenario_.notes.push_back(line.string());
      else
        return void(
            reader_.wrong("notes", "wrong-type", "notes are a string or a list of strings"));
    }
  }

  UnknownParts read_sweep_and_parts() {
    Sweep sweep;
    if (const JsonValue* written = document_.find("sweep"))
      sweep = read_sweep(*written, options_->max_points, *diagnostics_);
    scenario_.axes = std::move(sweep.axes);
    for (const SetOption& option : set_) check_not_swept(option);

    UnknownParts unknown;
    scenario_.document = JsonValue::object();
    scenario_.document.place = document_.place;
    unknown.paths = std::move(sweep.broken);
    for (const char* part : {"cluster", "collective", "workload", "model"})
      read_part(part, unknown);
    check_what_is_run(unknown);
    return unknown;
  }

  // A wrong axis leaves open what its path should have had.
  void read_part(const char* name, const UnknownParts& unknown) {
    if (const JsonValue* part = document_.find(name))
      scenario_.document.set(name, *part);
    else if (std::string_view(name) == "cluster" && !is_set_by_sweep(name, unknown))
      reader_.need({name});
  }

  [[nodiscard]] bool is_set_by_sweep(const char* name, const UnknownParts& unknown) const {
    for (const Axis& axis : scenario_.axes)
      for (const std::string& path : axis.paths)
        if (lies_in(path, name)) return true;
    return unknown.any_in(name);
  }

  // One collective or a workload.
  void check_what_is_run(const UnknownParts& unknown) {
    const bool collective = reader_.has("collective") || is_set_by_sweep("collective", unknown);
    const bool workload = reader_.has("workload") || is_set_by_sweep("workload", unknown);
    reader_.at_most_one_of({"collective", "workload"});
    if (!collective && !workload)
      reader_.need({"collective"}, "or \"workload\", for a training step");
    if (!workload || options_->workloads) return;
    const JsonValue* const written = document_.find("workload");
    diagnostics_->add(
        {.code = "no-workloads",
         .message = "this command takes a collective, not a training step",
         .place = written != nullptr ? written->place : document_.place,
         .pointer = "/workload",
         .hint = "run, explain, check, trace, show --expand and validate take workloads"});
  }

  [[nodiscard]] bool is_cluster_swept() const {
    return std::ranges::any_of(scenario_.axes, [](const Axis& axis) {
      return std::ranges::any_of(axis.paths,
                                 [](const std::string& path) { return lies_in(path, "cluster"); });
    });
  }

  void check_not_swept(const SetOption& option) {
    for (const Axis& axis : scenario_.axes)
      for (const std::string& path : axis.paths) {
        if (!lies_in(option.path, path)) continue;
        const bool alone = axis.paths.size() == 1;
        diagnostics_->add({.code = "set-and-swept",
                           .message = quoted(path) + " is swept, so --set would change nothing",
                           .place = option.place,
                           .hint = alone
                                       ? fmt::format("--set sweep.{0}=null as well sweeps it no "
                                                     "more; --set 'sweep.{0}=[...]' alone "
                                                     "replaces the axis",
                                                     path)
                                       : "use one of the two: --set 'sweep={}' removes the sweep"});
      }
  }

  void read_measure_and_expectations() {
    if (const JsonValue* measure = document_.find("measure"))
      scenario_.measure = read_measure(*measure, *diagnostics_, measure_);
    const JsonValue* expect = document_.find("expect");
    scenario_.expect = expect != nullptr ? *expect : JsonValue::array();
    if (expect == nullptr) return;
    if (!expect->is_array())
      return void(
          reader_.wrong("expect", "wrong-type",
                        "expectations are a list, not " + std::string(expect->kind_name()), {},
                        "write \"expect\": [{\"metric\": \"time\", \"at_least\": \"N/B\"}]"));
    for (std::size_t i = 0; i < expect->items().size(); ++i) {
      const JsonValue& item = expect->items()[i];
      if (item.is_object()) continue;
      diagnostics_->add(
          {.code = "wrong-type",
           .message = "an expectation is an object, not " + std::string(item.kind_name()),
           .place = item.place,
           .pointer = pointer_to("/expect", i),
           .hint = "write {\"metric\": \"time\", \"at_least\": \"N/B\"}"});
    }
  }

  void also_check() {
    const JsonValue& expect = scenario_.expect;
    const auto is_object = [](const JsonValue& item) { return item.is_object(); };
    if (!expect.is_array() || !std::all_of(expect.items().begin(), expect.items().end(), is_object))
      return;
    Diagnostics found;
    options_->also_check(scenario_, found);
    const bool all_known = diagnostics_->empty();
    for (Diagnostic& mistake : found.sorted()) {
      // What names values and paths that could not be read may be right.
      const bool names_values = mistake.code == "not-swept" || mistake.code == "unknown-path" ||
                                mistake.pointer.find("/when") != std::string::npos;
      if (all_known || !names_values) diagnostics_->add(std::move(mistake));
    }
  }

  void resolve(PointReading first) {
    JsonValue& resolved = scenario_.resolved;
    resolved = JsonValue::object();
    resolved.place = document_.place;
    const auto keep = [&](const char* key) {
      if (const JsonValue* written = document_.find(key)) resolved.set(key, *written);
    };
    resolved.set("scenario", 1);
    keep("scenario");
    resolved.set("name", scenario_.name);
    keep("name");
    keep("title");
    if (const JsonValue* notes = document_.find("notes")) {
      JsonValue lines = notes->is_array() ? *notes : JsonValue(JsonValue::Array{*notes});
      lines.place = notes->place;
      resolved.set("notes", std::move(lines));
    }
    resolved.set("cluster", std::move(first.cluster));
    resolved.set("model", std::move(first.model));
    if (document_.find("workload") == nullptr && first.workload.is_null())
      resolved.set("collective", std::move(first.collective));
    else
      resolved.set("workload", std::move(first.workload));
    keep("sweep");
    if (document_.find("measure") != nullptr) resolved.set("measure", std::move(measure_));
    keep("expect");
  }

  JsonValue document_;
  const LoadOptions* options_;
  Diagnostics* diagnostics_;
  std::vector<SetOption> set_;
  ObjectReader reader_;
  Scenario scenario_;
  JsonValue measure_;
};

}  // namespace

void Case::choose_algorithm(std::string_view name) {
  choice.name = name;
  schedule.reset();
  if (!open.dims) return;
  choice.dims.clear();
  if (is_policy(name)) return;
  const Algorithm& algorithm = find_algorithm(collective.operation, name);
  if (algorithm.knobs.dims)
    choice.dims = natural_dims(algorithm, cluster->topology, collective.group);
}

Case with_schedule(Case one_case) {
  COLLSIM_CHECK(!is_policy(one_case.choice.name), "an algorithm must be chosen first");
  if (!one_case.schedule) one_case.schedule = make_schedule(one_case.collective, one_case.choice);
  const Schedule& schedule = *one_case.schedule;
  COLLSIM_CHECK(
      schedule.collective().count == one_case.collective.count &&
          schedule.collective().operation == one_case.collective.operation &&
          (one_case.choice.name.empty() || schedule.algorithm() == one_case.choice.name) &&
          schedule.channels() == one_case.choice.channels &&
          schedule.slots() == one_case.choice.slots,
      "a case whose choice changed keeps the schedule that it had");
  return one_case;
}

std::string to_text(const Params& params) {
  std::string text;
  for (const auto& [path, value] : params)
    text += (text.empty() ? "" : ", ") + path + " = " + plain_text(value);
  return text;
}

std::size_t Scenario::points() const {
  std::size_t count = 1;
  for (const Axis& axis : axes) count *= axis.points.size();
  return count;
}

Params Scenario::params(std::size_t point) const {
  std::size_t stride = points();
  Params params;
  for (const Axis& axis : axes) {
    stride /= axis.points.size();
    const std::vector<JsonValue>& values = axis.points[point / stride % axis.points.size()];
    for (std::size_t i = 0; i < axis.paths.size(); ++i)
      params.emplace_back(axis.paths[i], values[i]);
  }
  return params;
}

std::optional<Scenario> load_scenario(JsonValue document, const std::string& file,
                                      const LoadOptions& options, Sources& sources,
                                      Diagnostics& diagnostics) {
  // Mistakes of other files are none of this one.
  Diagnostics own;
  std::optional<Scenario> scenario =
      ScenarioReader(std::move(document), file, options, sources, own).read();
  add_all(own, diagnostics, [&](Diagnostic& mistake) { explain_null(mistake, options.set); });
  return scenario;
}

std::optional<Scenario> load_scenario(const std::string& file, const LoadOptions& options,
                                      Sources& sources, Diagnostics& diagnostics) {
  Diagnostics own;
  std::optional<JsonValue> document = read_with_includes(file, sources, own);
  std::optional<Scenario> scenario;
  if (document) scenario = load_scenario(std::move(*document), file, options, sources, own);
  add_all(own, diagnostics, [](Diagnostic&) {});
  if (!own.empty()) return std::nullopt;
  return scenario;
}

}  // namespace collsim
