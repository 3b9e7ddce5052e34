// SPDX-License-Identifier: Apache-2.0
// Asks a machine's GPUs everything that collsim promises of them, and writes one file about it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/gpu/phases.hpp"

namespace collsim::bench {
namespace {

constexpr Phase phases[] = {
    {"facts", "the machine", 60, report_facts},
    {"correctness", "every byte of every algorithm", 300, report_correctness},
    {"safety", "broken schedules end soon, with a diagnosis", 60, report_safety},
    {"paced", "emulated links against the simulation", 60, report_paced},
    {"native", "unpaced, against the simulation", 60, report_native},
    {"bandwidth", "the interpreter against a plain copy", 60, report_bandwidth},
    {"nccl", "NCCL doing the same", 300, report_nccl},
    {"several", "a rank on each GPU, against the simulation", 300, report_several},
    {"small", "a few small cases, for compute-sanitizer; only when asked for", 300, report_small},
};

const Phase* find_phase(std::string_view name) {
  for (const Phase& phase : phases)
    if (name == phase.name) return &phase;
  return nullptr;
}

constexpr int wrong_usage = 2;

struct Options {
  std::string output = "gpu-report.md";
  std::vector<std::string> phases;    // empty: all but `small`
  std::vector<std::string> appended;  // files to be put at the end
  std::string source;                 // what was built: a commit
  std::string only;                   // run this phase here, part to standard output
  bool wants_help = false;
  bool wants_list = false;
};

void print_usage(std::FILE* to) {
  std::fprintf(to,
               "usage: gpu_report [OPTIONS]\n"
               "\n"
               "  --output FILE     the results, as Markdown; gpu-report.md by default\n"
               "  --phases A,B,...  only these (facts is always among them)\n"
               "  --append FILE     put this file's text at the end; may be given several times\n"
               "  --source TEXT     what was built, to be written down: a commit\n"
               "  --only PHASE      run one phase in this very process and print what it finds\n"
               "  --list            the phases\n"
               "  --help            this text\n"
               "\n"
               "exit code: 0 all is well, 1 something is not, 2 wrong arguments, 3 no GPU\n");
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// "", or what is wrong with the arguments.
std::string parse(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--help" || name == "-h") {
      options.wants_help = true;
      continue;
    }
    if (name == "--list") {
      options.wants_list = true;
      continue;
    }
    const bool takes_value = name == "--output" || name == "--phases" || name == "--append" ||
                             name == "--source" || name == "--only";
    if (!takes_value) return "no argument \"" + name + "\" is known";
    if (i + 1 == count) return name + " needs a value";
    const std::string value = arguments[++i];
    if (value.empty()) return name + " needs a value";
    if (name == "--output") options.output = value;
    if (name == "--phases") options.phases = split(value);
    if (name == "--append") options.appended.push_back(value);
    if (name == "--source") options.source = value;
    if (name == "--only") options.only = value;
  }
  std::vector<std::string> named = options.phases;
  if (!options.only.empty()) named.push_back(options.only);
  for (const std::string& phase : named)
    if (!find_phase(phase)) return "there is no phase \"" + phase + "\"; --list shows them";
  return "";
}

Verdict run_here(const Phase& phase, std::FILE* file) {
  Part part(file);
  return phase.run(part);
}

// This program again, for one phase, writing into `part`.
pid_t start(const Phase& phase, const std::string& part) {
  const pid_t child = fork();
  if (child != 0) return child;
  if (std::freopen(part.c_str(), "w", stdout) == nullptr) _exit(1);
  execl("/proc/self/exe", "gpu_report", "--only", phase.name, static_cast<char*>(nullptr));
  _exit(1);
}

struct Ended {
  int code = -1;  // -1: it crashed or was killed; then `how` says how
  std::string how;
  double took_s = 0;
};

Ended wait_for(pid_t child, int limit_s) {
  const auto begin = std::chrono::steady_clock::now();
  const auto took = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  int status = 0;
  bool was_killed = false;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (took() > limit_s && !was_killed) {
      kill(child, SIGKILL);
      was_killed = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (was_killed)
    return {-1, "took longer than " + std::to_string(limit_s) + " s and was stopped", took()};
  if (WIFSIGNALED(status))
    return {-1, std::string("crashed: ") + strsignal(WTERMSIG(status)), took()};
  return {WEXITSTATUS(status), "", took()};
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const char* word_for(const Ended& ended) {
  switch (ended.code) {
    case static_cast<int>(Verdict::passed): return "passed";
    case static_cast<int>(Verdict::impossible): return "could not be done here";
    default: return "FAILED";
  }
}

class Report {
 public:
  explicit Report(const Options& options) : options_(options), part_(options.output + ".part") {}
  ~Report() { static_cast<void>(std::remove(part_.c_str())); }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  int run() {
    const Phase& facts = phases[0];
    const Ended machine = run_phase(facts);
    if (machine.code == static_cast<int>(Verdict::impossible)) return machine.code;
    std::string summary = "| phase | | s |\n|---|---|---|\n";
    bool all_is_well = machine.code == 0;
    std::string parts =
        machine.code == 0 ? "" : "The machine could not be described: " + machine.how + "\n";
    parts += text_of(part_);
    for (const Phase* phase : chosen()) {
      const Ended ended = run_phase(*phase);
      char row[200];
      std::snprintf(row, sizeof row, "| %s: %s | %s | %.0f |\n", phase->name, phase->summary,
                    word_for(ended), ended.took_s);
      summary += row;
      parts += "\n" + text_of(part_);
      if (!ended.how.empty())
        parts += "\n**The phase " + std::string(phase->name) + " " + ended.how + ".**\n";
      all_is_well =
          all_is_well && (ended.code == 0 || ended.code == static_cast<int>(Verdict::impossible));
    }
    for (const std::string& file : options_.appended) parts += "\n" + text_of(file);
    return write(summary, parts) && all_is_well ? 0 : 1;
  }

 private:
  [[nodiscard]] std::vector<const Phase*> chosen() const {
    std::vector<const Phase*> list;
    for (const Phase& phase : std::span(phases).subspan(1)) {
      const bool is_named = std::find(options_.phases.begin(), options_.phases.end(), phase.name) !=
                            options_.phases.end();
      const bool is_usual = std::string_view(phase.name) != "small";
      if (options_.phases.empty() ? is_usual : is_named) list.push_back(&phase);
    }
    return list;
  }

  [[nodiscard]] Ended run_phase(const Phase& phase) const {
    std::fprintf(stderr, "gpu_report: %s: %s\n", phase.name, phase.summary);
    const pid_t child = start(phase, part_);
    if (child < 0) return {-1, "could not be started", 0};
    return wait_for(child, phase.limit_s);
  }

  [[nodiscard]] bool write(const std::string& summary, const std::string& parts) const {
    std::ofstream out(options_.output);
    out << "# GPU report\n\nWritten by `./dev gpu`."
        << (options_.source.empty() ? "" : " Source: " + options_.source + ".") << "\n\n"
        << parts << "\n## Summary\n\n"
        << summary;
    out.close();
    if (!out) {
      std::fprintf(stderr, "gpu_report: cannot write %s\n", options_.output.c_str());
      return false;
    }
    std::fprintf(stderr, "gpu_report: results are in %s\n", options_.output.c_str());
    return true;
  }

  const Options& options_;
  std::string part_;
};

int main_of(int count, char** arguments) {
  Options options;
  const std::string problem = parse(count, arguments, options);
  if (!problem.empty()) {
    std::fprintf(stderr, "gpu_report: %s\n", problem.c_str());
    print_usage(stderr);
    return wrong_usage;
  }
  if (options.wants_help) return print_usage(stdout), 0;
  if (options.wants_list) {
    for (const Phase& phase : phases) std::printf("%-12s %s\n", phase.name, phase.summary);
    return 0;
  }
  if (!options.only.empty()) return static_cast<int>(run_here(*find_phase(options.only), stdout));
  return Report(options).run();
}

}  // namespace
}  // namespace collsim::bench

int main(int count, char** arguments) {
  return collsim::bench::main_of(count, arguments);
}
