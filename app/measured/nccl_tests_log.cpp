// SPDX-License-Identifier: Apache-2.0
#include "app/measured/nccl_tests_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/measured/log_line.hpp"
#include "app/measured/log_run.hpp"
#include "app/scenario/foreign_file.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_damaged = 5;  // shown
constexpr std::size_t longest_cut_word = 12;
constexpr std::size_t most_rows = 100'000;  // of a log
constexpr std::size_t most_rank_lines = 1'000'000;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The word that ends in "_perf", where a program of the tests is run or named.
std::string program_in(std::string_view text) {
  const std::size_t at = text.find("_perf");
  if (at == std::string_view::npos) return {};
  std::size_t begin = at;
  while (begin > 0 &&
         ((text[begin - 1] >= 'a' && text[begin - 1] <= 'z') || text[begin - 1] == '_'))
    --begin;
  return std::string(text.substr(begin, at - begin));
}

// What follows an option: "-g 8", "-g8", "--ngpus 8", "--ngpus=8".
std::optional<std::int64_t> option_in(const Words& words, std::string_view letter,
                                      std::string_view name) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if ((word == letter || word == name) && i + 1 < words.size()) return integer_in(words[i + 1]);
    for (const std::string_view begin : {letter, name}) {
      if (begin.empty() || !word.starts_with(begin)) continue;
      std::string_view rest = word.substr(begin.size());
      if (rest.starts_with('=')) rest.remove_prefix(1);
      if (const auto number = integer_in(rest)) return number;
    }
  }
  return std::nullopt;
}

class LogReader {
 public:
  explicit LogReader(std::string_view text) : text_(plain_log(text)) {}

  std::vector<LogRun> read() {
    std::uint32_t number = 0;
    const std::string_view all = text_;
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t end = std::min(all.find('\n', begin), all.size());
      ++number;
      take_line(all.substr(begin, end - begin), number);
      begin = end + 1;
    }
    finish_run();
    return std::move(runs_);
  }

 private:
  void take_line(std::string_view line, std::uint32_t number) {
    number_ = number;
    if (const std::optional<DebugLine> debug = find_debug_line(line)) {
      take_cut_line(*debug);
      run_.debug.take(debug->text);
      return;
    }
    line = without_tags(line);
    if (line.empty()) return;
    if (take_rest_of_row(line)) return;
    split_words(line, words_);
    if (!take_numbers(line)) take_text(line);
  }

  // --- rows ------------------------------------------------------------------------------------

  // Whether it is a row, or what a debug line left of one.
  bool take_numbers(std::string_view line) {
    const char first = line.front();
    const bool of_a_rest = pending_ && first == '.';
    if (!is_digit(first) && first != '-' && first != 'N' && !of_a_rest) return false;
    if (pending_ && are_values(words_)) {
      add_to_pending();
      return true;
    }
    if (!is_digit(first)) return false;
    const std::optional<RowHead> head = read_row_head(words_);
    if (!head) return tell_damaged(line);
    finish_pending(true);
    row_words_.assign(words_.begin() + static_cast<std::ptrdiff_t>(head->words), words_.end());
    if (std::optional<LogRow> row = finish_row(head->row, row_words_, run_.header))
      add_row(std::move(*row));
    else if (row_words_.size() < words_of_a_row() && (row_words_.empty() || are_values(row_words_)))
      begin_pending(*head);
    else
      damaged(fmt::format("line {}: not the columns of a row: {}", number_,
                          shortened(printable(line), 80)));
    return true;
  }

  // The size of a row with something else behind it than columns.
  bool tell_damaged(std::string_view line) {
    const auto is_count = [](std::string_view word) {  // also one that is too large
      return std::all_of(word.begin(), word.end(), is_digit);
    };
    if (!run_.header.seen || words_.size() < 4 || !is_count(words_[0]) || !is_count(words_[1]))
      return false;
    damaged(fmt::format("line {}: not the columns of a row: {}", number_,
                        shortened(printable(line), 80)));
    return true;
  }

  // A debug line in the middle of a row: what stood before it belongs to the row.
  void take_cut_line(const DebugLine& debug) {
    const std::string_view before = without_tags(debug.before);
    split_words(before, words_);
    glued_ = glued_value(debug.prefix);
    if (!glued_.empty() && (pending_ || !words_.empty())) words_.push_back(glued_);
    if (words_.empty()) return begin_of_row("", digits_before(debug.prefix));
    if (!is_digit(words_.front().front())) return;
    if (pending_ && are_values(words_)) {
      add_to_pending();
    } else {
      const std::optional<RowHead> head = read_row_head(words_);
      const bool whole_head = head && (head->words > 3 || !run_.header.reduction);
      if (!whole_head) return begin_of_row(before, debug.prefix.substr(0, longest_cut_word));
      finish_pending(true);
      row_words_.assign(words_.begin() + static_cast<std::ptrdiff_t>(head->words), words_.end());
      begin_pending(*head);
    }
    if (pending_ && glued_.empty()) pending_digits_ = digits_before(debug.prefix);
  }

  // What of "27host:1:2" may be the first digits of a number that the debug line runs into.
  static std::string_view digits_before(std::string_view prefix) {
    const auto is_of_number = [](char c) { return is_digit(c) || c == '.' || c == '-'; };
    const auto end = std::find_if_not(prefix.begin(), prefix.end(), is_of_number);
    return prefix.substr(0, static_cast<std::size_t>(end - prefix.begin()));
  }

  // A row that was cut before its times: what stood there, once the header has said what rows are,
  // and the word behind it, which begins like the row's next and goes on as the debug line.
  void begin_of_row(std::string_view text, std::string_view word) {
    if (!run_.header.seen || (text.empty() && word.empty())) return;
    if (!text.empty()) finish_pending(true);
    cut_head_ = text;
    cut_word_ = word;
  }

  // Whether the line is the rest of it.
  bool take_rest_of_row(std::string_view line) {
    const std::string_view head = std::exchange(cut_head_, {});
    const std::string_view word = std::exchange(cut_word_, {});
    if ((head.empty() && word.empty()) || !run_.header.seen) return false;
    split_words(head, words_);
    const std::size_t of_head = words_.size();
    split_words(line, words_);
    const std::size_t of_line = words_.size(), whole = words_of_a_head() + words_of_a_row();
    for (std::size_t length = word.size() + 1; length-- > 0;)
      for (const std::string_view gap : {"", " "}) {
        const std::size_t more = length > 0 ? 1 : 0,
                          less = gap.empty() && of_head + more > 0 ? 1 : 0;
        if (of_head + more + of_line - less != whole) continue;
        const std::string joined = std::string(head)
                                       .append(length > 0 ? " " : "")
                                       .append(word.substr(0, length))
                                       .append(gap)
                                       .append(line);
        if (std::optional<LogRow> row = whole_row(joined)) {
          add_row(std::move(*row));
          return true;
        }
      }
    split_words(head, words_);
    // Else it is the number of a line, a time or the name of a host.
    if (words_.size() > 1 && integer_in(words_[0]) && integer_in(words_[1]))
      damaged(fmt::format("line {}: a row that is cut behind \"{}\"", number_,
                          shortened(printable(head), 40)));
    return false;
  }

  [[nodiscard]] std::optional<LogRow> whole_row(const std::string& text) {
    split_words(text, words_);
    const std::optional<RowHead> head = read_row_head(words_);
    if (!head || !element_bytes(known_element_type(head->row.type)) || head->row.count == 0 ||
        head->row.size % head->row.count != 0)
      return std::nullopt;
    const std::string& reduction = head->row.reduction;
    if (run_.header.reduction && reduction != "none" && known_reduction(reduction).empty())
      return std::nullopt;
    row_words_.assign(words_.begin() + static_cast<std::ptrdiff_t>(head->words), words_.end());
    if (row_words_.size() != words_of_a_row()) return std::nullopt;
    return finish_cut_row(head->row, row_words_, run_.header);
  }

  // The end of a row that ran into the name of a host: "-1" of "-1node7:12:34".  Where the host's
  // name may begin with a digit itself, only what a row ends with is taken.
  [[nodiscard]] std::string_view glued_value(std::string_view prefix) const {
    const std::string_view none = {};
    if (prefix.starts_with("-1")) return prefix.substr(0, 2);
    if (pending_ && prefix.starts_with("N/A")) return prefix.substr(0, 3);
    const bool one_missing =
        pending_ && !words_.empty() &&
        (pending_values_.size() + words_.size() + 1) % run_.header.half.size() ==
            (run_.header.root ? 1 : 0);
    return one_missing && prefix.starts_with('0') ? prefix.substr(0, 1) : none;
  }

  // Size, count, type and, where there is one, reduction; and what is behind them.
  [[nodiscard]] std::size_t words_of_a_head() const { return run_.header.reduction ? 4 : 3; }
  [[nodiscard]] std::size_t words_of_a_row() const {
    const std::size_t halves = run_.header.halves ? 2 : 1;
    return (run_.header.root ? 1 : 0) + halves * run_.header.half.size();
  }

  void begin_pending(const RowHead& head) {
    pending_ = head.row;
    pending_->line = number_;
    pending_values_ = row_words_;
    pending_line_ = number_;
    pending_cuts_.clear();
    pending_digits_ = {};
  }

  void add_to_pending() {
    pending_cuts_.push_back({pending_values_.size(), std::exchange(pending_digits_, {})});
    pending_values_.insert(pending_values_.end(), words_.begin(), words_.end());
    finish_pending(false);
  }

  // As its parts stand, or with one number put together that was cut in two.
  [[nodiscard]] std::optional<LogRow> row_of_parts() const {
    if (pending_cuts_.empty()) return finish_row(*pending_, pending_values_, run_.header);
    const auto loses_a_sign = [](const Cut& cut) { return cut.digits.starts_with('-'); };
    if (std::none_of(pending_cuts_.begin(), pending_cuts_.end(), loses_a_sign))
      if (auto row = finish_cut_row(*pending_, pending_values_, run_.header)) return row;
    for (const auto& [at, digits] : pending_cuts_) {
      std::string number;
      for (std::size_t length = digits.size(); length > 0; --length) {
        Words words = pending_values_;
        number = std::string(digits.substr(0, length)).append(words[at]);
        words[at] = number;
        if (auto row = finish_cut_row(*pending_, words, run_.header)) return row;
        words[at] = pending_values_[at];
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), digits.substr(0, length));
        if (auto row = finish_cut_row(*pending_, words, run_.header)) return row;
      }
      if (at == 0) continue;
      Words words = pending_values_;
      number = std::string(words[at - 1]).append(words[at]);
      words[at - 1] = number;
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
      if (auto row = finish_cut_row(*pending_, words, run_.header)) return row;
    }
    return std::nullopt;
  }

  // Both halves are there, or (`last`) no more of it will come.
  void finish_pending(bool last) {
    if (!pending_) return;
    const std::size_t whole = words_of_a_row();
    if (!last && pending_values_.size() < whole) return;
    std::optional<LogRow> row = row_of_parts();
    const std::size_t found = pending_values_.size();
    pending_.reset();  // before add_row(), which may finish a run and what is pending in it
    pending_values_.clear();
    const std::uint32_t line = std::exchange(number_, pending_line_);
    if (row)
      add_row(std::move(*row));
    else if (found < whole)
      damaged(fmt::format("line {}: a row that is cut: {} of {} columns behind its size and type",
                          pending_line_, found, whole));
    else
      damaged(fmt::format("line {}: a row that is cut, of which algbw is not size / time",
                          pending_line_));
    number_ = line;
  }

  void add_row(LogRow row) {
    if (rows_ == most_rows)
      damaged(fmt::format("line {}: more rows than {} are not read", number_, most_rows));
    if (rows_++ >= most_rows) return;
    row.line = number_;
    if (run_.has_average) begin_run();
    if (run_.rows.empty()) run_.line = number_;
    run_.rows.push_back(std::move(row));
  }

  void damaged(std::string what) {
    if (run_.damaged.empty()) run_.damaged_line = number_;
    if (run_.damaged.size() == most_damaged) what = "and more";
    if (run_.damaged.size() <= most_damaged) run_.damaged.push_back(std::move(what));
  }

  // --- everything else -------------------------------------------------------------------------

  void take_text(std::string_view line) {
    if (const std::optional<LogHeader> header = read_log_header(words_)) {
      if (run_.has_begun()) begin_run();
      run_.header = *header;
    } else if (contains(line, "nThread ") && contains(line, "nGpus ")) {
      take_parameters(line);
    } else if (contains(line, "Collective test starting:")) {
      begin_named_run();
      take_name(line);
    } else if (contains(line, "ests version ") && contains(line, "nccl-library=")) {
      begin_named_run();
      const auto code = integer_after(line, "nccl-library=");
      run_.version = library_of_code(code.value_or(0), contains(line, "rccl") ? "RCCL" : "NCCL");
    } else if (contains(line, "Rank ") && contains(line, " device ")) {
      take_rank();
    } else if (contains(line, "Out of bounds values")) {
      run_.out_of_bounds = integer_after(line, ":");
    } else if (contains(line, "Avg bus bandwidth")) {
      finish_pending(true);
      run_.has_average = true;
    } else if (contains(line, "NCCL failure") || contains(line, "CUDA failure") ||
               contains(line, "Test failure")) {
      if (run_.failure.empty()) run_.failure = shortened(printable(line), 160);
      if (run_.failure_line == 0) run_.failure_line = number_;
    } else if (contains(line, "CCL version")) {
      run_.debug.take(line);
    } else if (contains(line, "_perf")) {
      take_command(line);
    } else if (line.starts_with("...") && run_.header.seen) {
      run_.elided = run_.elided || !run_.has_average;
    }
  }

  void begin_named_run() {
    if (run_.has_begun()) begin_run();
  }

  void take_name(std::string_view line) {
    const std::string name(trimmed(line.substr(line.find(':') + 1)));
    run_.operation = known_operation(name);
    if (run_.operation.empty()) run_.unknown_operation = program_in(name);
  }

  void take_parameters(std::string_view line) {
    begin_named_run();
    run_.threads = integer_after(line, "nThread ");
    run_.gpus = integer_after(line, "nGpus ");
    run_.warmup = integer_after(line, "warmup iters:");
    const std::size_t warmup = line.find("warmup iters:");
    const std::size_t behind = warmup == std::string_view::npos ? 0 : warmup + 13;
    run_.iterations = integer_after(line.substr(behind), "iters:");
    run_.validation = integer_after(line, "validation:");
  }

  void take_command(std::string_view line) {
    const std::string name = program_in(line);
    if (name.empty() || contains(line, "concluded")) return;
    begin_named_run();
    run_.command_operation = known_operation(name + "_perf");
    if (run_.command_operation.empty()) run_.unknown_operation = name;
    // Options behind the program are its own, those before are the launcher's.
    const std::size_t at = line.find("_perf");
    split_words(line.substr(at), words_);
    if (!run_.gpus) run_.gpus = option_in(words_, "-g", "--ngpus");
    if (!run_.threads) run_.threads = option_in(words_, "-t", "--nthreads");
    split_words(line.substr(0, at), words_);
    if (contains(line.substr(0, at), "srun")) run_.nodes_asked = option_in(words_, "-N", "--nodes");
  }

  // "#  Rank  0 Group  0 Pid    880 on HOST device  0 [0xa4] NAME"; Group, Pid and "on HOST" may be
  // missing.
  void take_rank() {
    if (run_.has_begun()) begin_run();
    if (run_.ranks.size() >= most_rank_lines) return;
    LogRun::RankLine rank;
    std::size_t name = words_.size();
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      const std::string_view word = words_[i], next = words_[i + 1];
      if (word == "Rank" || word == "#Rank") rank.rank = integer_in(next).value_or(-1);
      if (word == "Group") rank.group = integer_in(next).value_or(0);
      if (word == "Pid") rank.pid = next;
      if (word == "on" && next != "device") rank.host = next;
      if (word != "device") continue;
      rank.device = integer_in(next).value_or(-1);
      name = i + 2;
      break;
    }
    while (name < words_.size() && words_[name].starts_with('[') && !words_[name].ends_with(']'))
      ++name;  // "[ 0x1]"
    for (++name; name < words_.size(); ++name)
      rank.gpu += (rank.gpu.empty() ? "" : " ") + std::string(words_[name]);
    if (rank.rank >= 0) run_.ranks.push_back(std::move(rank));
  }

  // --- runs ------------------------------------------------------------------------------------

  void begin_run() {
    finish_run();
    run_ = {};
  }

  void finish_run() {
    finish_pending(true);
    runs_.push_back(std::move(run_));
  }

  std::string text_;
  std::vector<LogRun> runs_;
  LogRun run_;
  Words words_, row_words_, pending_values_;
  std::string_view glued_;
  std::optional<LogRow> pending_;  // a row whose end has not come yet
  // Before which of its values another line stood, and what digits that line began with.
  struct Cut {
    std::size_t at;
    std::string_view digits;
  };
  std::vector<Cut> pending_cuts_;
  std::string_view cut_head_, cut_word_;
  std::string_view pending_digits_;
  std::uint32_t pending_line_ = 0, number_ = 0;
  std::size_t rows_ = 0;
};

SourceRange place_of_line(std::uint32_t source, const Sources& sources, std::uint32_t line) {
  const std::string& text = sources.text(source);
  std::size_t begin = 0;
  for (std::uint32_t at = 1; at < line && begin != std::string::npos; ++at) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos || line == 0) return {source, 0, 0};
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return {source, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

void report_failure(const LogRun& run, std::uint32_t source, const Sources& sources,
                    Diagnostics& diagnostics) {
  diagnostics.add({.code = "run-failed",
                   .message = "the run failed before its first row: " + run.failure,
                   .place = place_of_line(source, sources, run.failure_line),
                   .hint = "NCCL_DEBUG=INFO says more"});
}

// What the lines of NCCL_DEBUG say, for those who have nothing else.
std::string debug_text(const std::vector<LogRun>& runs) {
  std::size_t lines = 0;
  std::string facts;
  for (const LogRun& run : runs) {
    lines += run.debug.lines();
    if (!run.debug.library().empty()) facts += "; " + run.debug.library();
    if (run.debug.ranks()) facts += "; " + count_text(*run.debug.ranks(), "rank");
    if (run.debug.nodes()) facts += "; " + count_text(*run.debug.nodes(), "node");
  }
  if (lines == 0) return {};
  return fmt::format(", only {} of NCCL_DEBUG{}",
                     lines == 1 ? "a line" : with_commas(std::to_string(lines)) + " lines", facts);
}

void report_no_rows(const std::vector<LogRun>& runs, std::uint32_t source, const Sources& sources,
                    Diagnostics& diagnostics) {
  std::string message = "no row of nccl-tests is in this text";
  std::string hint = "a row is: size, count, type, redop, root, time, algbw, busbw, #wrong";
  SourceRange place{source, 0, 0};
  const std::string debug = debug_text(runs);
  if (!debug.empty()) hint = "give what a program of nccl-tests printed, such as all_reduce_perf";
  const auto foreign = foreign_file(sources.text(source));
  if (debug.empty() && foreign && !foreign->is_log) {
    message = fmt::format("this is {}, not a log of nccl-tests", foreign->what);
    hint = foreign->hint;
  }
  for (const LogRun& run : runs) {
    if (run.damaged.empty()) continue;
    message = "no whole row of nccl-tests is in this text";
    hint = run.damaged.front();
    place = place_of_line(source, sources, run.damaged_line);
    break;
  }
  diagnostics.add({.code = "no-rows", .message = message + debug, .place = place, .hint = hint});
}

}  // namespace

std::string operation_in_name(const std::string& file) {
  struct Name {
    std::string_view part, operation;
  };
  constexpr std::array<Name, 9> names = {{{"allreduce", "all-reduce"},
                                          {"allgather", "all-gather"},
                                          {"reducescatter", "reduce-scatter"},
                                          {"alltoall", "all-to-all"},
                                          {"broadcast", "broadcast"},
                                          {"bcast", "broadcast"},
                                          {"sendrecv", "send-recv"},
                                          {"gather", "gather"},
                                          {"scatter", "scatter"}}};
  const std::size_t slash = file.rfind('/');
  std::string bare;
  for (const char c : lower(slash == std::string::npos ? file : file.substr(slash + 1)))
    if (c != '-' && c != '_') bare += c;
  for (const auto& [part, operation] : names)
    if (contains(bare, part)) return std::string(operation);
  return {};
}

std::vector<MeasuredTable> read_nccl_tests_log(std::uint32_t source, const Sources& sources,
                                               Diagnostics& diagnostics) {
  const std::vector<LogRun> runs = LogReader(sources.text(source)).read();
  const std::string& file = sources.name(source);
  const std::string of_file = operation_in_name(file);
  std::vector<MeasuredTable> tables;
  const LogRun* failed = nullptr;
  for (const LogRun& run : runs) {
    if (run.rows.empty() && !run.failure.empty()) failed = &run;
    for (MeasuredTable& table : tables_of(run, file, of_file)) tables.push_back(std::move(table));
  }
  if (tables.empty() && failed != nullptr)
    report_failure(*failed, source, sources, diagnostics);
  else if (tables.empty())
    report_no_rows(runs, source, sources, diagnostics);
  else if (failed != nullptr)
    tables.back().notes.push_back(fmt::format("another run in this text failed, at line {}: {}",
                                              failed->failure_line, failed->failure));
  return tables;
}

}  // namespace collsim
