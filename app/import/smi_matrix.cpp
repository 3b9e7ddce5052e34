// SPDX-License-Identifier: Apache-2.0
//
// The matrix that `nvidia-smi topo -m` prints, raw or as people paste it: tabs turned to blanks,
// indented, wrapped, between | of a table, with a prompt above and a legend below, cut at the end.
//
//           GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
//   GPU0     X      NV12    PIX     0-23            0               N/A
//   GPU1    NV12     X      SYS     24-47           1               N/A
//   NIC0    PIX     SYS      X
//
// It is read word by word, so line ends do not matter: a row begins with the name of a column, and
// cells are never names.  The matrix is symmetric; what a cut took from one half the other half
// still says. How devices hang on PCIe follows from the cells: PIX one switch, PXB switches below
// one another, PHB and NODE one CPU, SYS different CPUs; between GPUs with NVLink the affinities
// must do.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "app/import/machine_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using Device = ImportedMachine::Device;

// The cells, from near to far; NVLinks have a number besides.
enum class Near : std::uint8_t { self, pix, pxb, phb, node, sys, nvlink, unknown };

struct Cell {
  Near near = Near::unknown;
  int links = 0;
  bool operator==(const Cell&) const = default;
};

std::optional<Cell> cell_of(std::string_view word) {
  if (word == "X") return Cell{Near::self};
  if (word == "PIX") return Cell{Near::pix};
  if (word == "PXB") return Cell{Near::pxb};
  if (word == "PHB") return Cell{Near::phb};
  if (word == "NODE") return Cell{Near::node};
  if (word == "SYS" || word == "SOC") return Cell{Near::sys};
  constexpr int most_links = 100;
  const auto links = number_behind(word, "NV");
  if (links && *links > 0 && *links <= most_links) return Cell{Near::nvlink, *links};
  return std::nullopt;
}

bool is_p2p_word(std::string_view word) {
  return word == "OK" || word == "NS" || word == "CNS" || word == "GNS" || word == "TNS" ||
         word == "DR" || word == "U";
}

struct Word {
  std::string text;
  std::string_view place;
  std::size_t line = 0;
};

// Without the frames of tables.
std::vector<Word> words_of_matrix(std::string_view text, std::size_t most) {
  std::vector<Word> words;
  std::size_t line_number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++line_number;
    for (std::string_view word : words_of(line))
      while (!word.empty() && words.size() < most) {
        const std::string_view part = word.substr(0, word.find('|'));
        word.remove_prefix(std::min(part.size() + 1, word.size()));
        const bool frame = part.find_first_not_of("-:>=+`") == std::string_view::npos;
        if (!part.empty() && !frame) words.push_back({std::string(part), part, line_number});
      }
  }
  return words;
}

struct Row {
  bool read = false;
  std::vector<Cell> cells;
  std::vector<std::string> affinity;
  std::string_view place;
  std::vector<std::string_view> cell_places;
};

// Every cell is looked up among the names of columns.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

class MatrixReader {
 public:
  explicit MatrixReader(const MachineText& file) : file_(file) {}
  std::optional<ImportedMachine> read();

 private:
  bool find_header();
  bool read_header();
  bool read_rows();
  bool read_row(std::size_t row);
  void join_with_next();
  void read_nic_legend();
  bool check();
  bool check_pair(std::size_t a, std::size_t b);
  [[nodiscard]] Cell at(std::size_t a, std::size_t b) const;
  [[nodiscard]] bool is_gpu(std::size_t column) const {
    return number_behind(columns_[column], "GPU").has_value();
  }
  [[nodiscard]] bool is_column(std::string_view word) const { return number_.contains(word); }
  [[nodiscard]] std::string affinity_of(std::size_t row) const;
  void tell_cut();
  bool refuse_cell(const Word& word, std::size_t row);
  // NOLINTNEXTLINE(modernize-use-nodiscard): it is reported whether or not the caller refuses
  Refusal refuse_text() const;

  // What follows from the cells.
  [[nodiscard]] std::vector<std::size_t> classes(Near most) const;
  [[nodiscard]] std::vector<std::size_t> cpu_classes() const;
  void join_by_nvlinks(std::vector<std::size_t>& of) const;
  [[nodiscard]] bool is_cut_off(std::size_t gpu) const;
  void spread_far_nics(const std::vector<std::size_t>& kept, std::vector<std::size_t>& of);
  std::vector<std::size_t> kept_columns();
  void build();
  void build_slots(const std::vector<std::size_t>& kept);
  void add_nvlinks();
  [[nodiscard]] bool has_gpu_numa_ids() const;

  const MachineText& file_;
  std::vector<Word> words_;
  std::size_t next_ = 0;
  std::vector<std::string> columns_;
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> number_;
  bool has_numa_ = false;
  std::vector<Row> rows_;
  std::map<std::string, std::string> nic_names_;
  ImportedMachine machine_;
  std::vector<std::size_t> device_;  // of each column
};

bool MatrixReader::find_header() {
  for (next_ = 0; next_ < words_.size(); ++next_) {
    if (words_[next_].text != "GPU0") continue;
    // Cells follow the name of a row, names that of a column.
    const bool row = next_ + 1 < words_.size() &&
                     (cell_of(words_[next_ + 1].text) || is_p2p_word(words_[next_ + 1].text));
    if (!row) return true;
  }
  return false;
}

bool MatrixReader::read_header() {
  constexpr std::size_t most_columns = 512;
  bool names = true;
  for (; next_ < words_.size(); ++next_) {
    const std::string& word = words_[next_].text;
    if (!columns_.empty() && word == columns_.front()) break;
    std::string_view behind;
    if (next_ + 1 < words_.size()) behind = words_[next_ + 1].text;
    if (word == "CPU" || word == "NUMA" || (word == "GPU" && behind == "NUMA")) names = false;
    has_numa_ = has_numa_ || (word == "NUMA" && behind == "Affinity");
    if (!names || word == "GPU") continue;
    if (columns_.size() >= most_columns || number_.contains(word) || cell_of(word)) break;
    number_.emplace(word, columns_.size());
    columns_.push_back(word);
  }
  return !columns_.empty() && next_ < words_.size() && words_[next_].text == columns_.front();
}

// A cell that a hard line end cut in two.
void MatrixReader::join_with_next() {
  if (next_ + 1 >= words_.size() || words_[next_ + 1].line == words_[next_].line) return;
  Word& behind = words_[next_ + 1];
  if (cell_of(behind.text) || is_column(behind.text)) return;
  std::string joined = words_[next_].text + behind.text;
  if (!cell_of(joined)) return;
  behind.text = std::move(joined);
  ++next_;
}

bool MatrixReader::refuse_cell(const Word& word, std::size_t row) {
  const std::string shown = printable(shortened(word.text, 20));
  if (is_p2p_word(word.text))
    return file_.wrong(
        word.place, "other-format",
        "this is what nvidia-smi topo -p2p prints: which pairs may access each other, not how they "
        "are connected",
        "import the output of nvidia-smi topo -m");
  return file_.wrong(word.place, "bad-cell",
                     fmt::format("row {} has {} of {} cells; \"{}\" is not one", columns_[row],
                                 rows_[row].cells.size(), columns_.size(), shown),
                     "cells are X, NV1, NV2, ..., PIX, PXB, PHB, NODE and SYS");
}

bool MatrixReader::read_row(std::size_t number) {
  Row& row = rows_[number];
  row.read = true;
  row.place = words_[next_++].place;
  for (; next_ < words_.size() && row.cells.size() < columns_.size(); ++next_) {
    join_with_next();
    const Word& word = words_[next_];
    if (is_column(word.text) || word.text == "Legend:") break;
    const auto cell = cell_of(word.text);
    if (!cell) return refuse_cell(word, number);
    row.cells.push_back(*cell);
    row.cell_places.push_back(word.place);
  }
  for (; next_ < words_.size() && !is_column(words_[next_].text); ++next_) {
    const std::string& word = words_[next_].text;
    if (word == "Legend:" || word == "NIC" || word.starts_with('<')) break;
    if (row.affinity.size() < 8) row.affinity.push_back(word);
  }
  return true;
}

bool MatrixReader::read_rows() {
  rows_.resize(columns_.size());
  while (next_ < words_.size()) {
    const auto known = number_.find(words_[next_].text);
    if (known == number_.end() || rows_[known->second].read) return true;
    if (!read_row(known->second)) return false;
  }
  return true;
}

// "NIC0: mlx5_0"
void MatrixReader::read_nic_legend() {
  for (std::size_t i = next_; i + 1 < words_.size(); ++i) {
    std::string_view word = words_[i].text;
    if (!word.ends_with(':')) continue;
    word.remove_suffix(1);
    if (word.starts_with("NIC") && is_column(word))
      nic_names_.emplace(std::string(word), words_[i + 1].text);
  }
}

Cell MatrixReader::at(std::size_t a, std::size_t b) const {
  if (b < rows_[a].cells.size()) return rows_[a].cells[b];
  return a < rows_[b].cells.size() ? rows_[b].cells[a] : Cell{};
}

bool MatrixReader::check_pair(std::size_t a, std::size_t b) {
  const bool both = b < rows_[a].cells.size() && a < rows_[b].cells.size();
  if (both && rows_[a].cells[b] != rows_[b].cells[a]) {
    return file_.wrong(rows_[a].cell_places[b], "not-symmetric",
                       fmt::format("row {} says {} for {}, but row {} says {} for {}", columns_[a],
                                   rows_[a].cell_places[b], columns_[b], columns_[b],
                                   rows_[b].cell_places[a], columns_[a]),
                       "the matrix must be symmetric; perhaps a column was lost or moved");
  }
  if (!is_gpu(a) || !is_gpu(b) || at(a, b).near != Near::unknown) return true;
  return file_.wrong(
      rows_[a].read ? rows_[a].place : rows_[0].place, "cut",
      rows_[a].read ? fmt::format("row {} has {} of {} cells, and nothing else says how it is "
                                  "connected with {}",
                                  columns_[a], rows_[a].cells.size(), columns_.size(), columns_[b])
                    : fmt::format("the rows {} and {} are missing", columns_[a], columns_[b]),
      "paste the whole matrix");
}

bool MatrixReader::check() {
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    const Row& row = rows_[a];
    for (std::size_t b = 0; b < row.cells.size(); ++b) {
      if ((row.cells[b].near == Near::self) == (a == b)) continue;
      return file_.wrong(
          row.cell_places[b], "bad-cell",
          a == b ? fmt::format("row {} has {} for itself, not X", columns_[a], row.cell_places[b])
                 : fmt::format("row {} has X for {}", columns_[a], columns_[b]),
          "perhaps a column was lost or moved");
    }
    for (std::size_t b = 0; b < a; ++b)
      if (!check_pair(a, b)) return false;
  }
  return true;
}

void MatrixReader::tell_cut() {
  std::vector<std::string> missing;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].read && rows_[row].cells.size() < columns_.size())
      machine_.notes.push_back(fmt::format("cut: row {} has {} of {} cells", columns_[row],
                                           rows_[row].cells.size(), columns_.size()));
    if (!rows_[row].read) missing.push_back(columns_[row]);
  }
  for (std::size_t gpu = 1; gpu < rows_.size(); ++gpu)
    if (is_gpu(gpu) && is_gpu(gpu - 1) && is_cut_off(gpu) && rows_[0].affinity.size() > 0)
      machine_.assumed.push_back(fmt::format("CPU of {}: that of {}; the matrix is cut before it",
                                             columns_[gpu], columns_[gpu - 1]));
  if (!missing.empty())
    machine_.notes.push_back(
        fmt::format("cut: the rows of {} are missing; the columns say what "
                    "the rows would",
                    few_of(missing)));
}

void join(std::vector<std::size_t>& classes, std::size_t a, std::size_t b) {
  const std::size_t from = std::max(classes[a], classes[b]), to = std::min(classes[a], classes[b]);
  std::replace(classes.begin(), classes.end(), from, to);
}

// Devices that are at most so far from each other, also by way of others: the first of each class.
std::vector<std::size_t> MatrixReader::classes(Near most) const {
  std::vector<std::size_t> of(columns_.size());
  std::iota(of.begin(), of.end(), std::size_t{0});
  for (std::size_t a = 0; a < of.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const Near near = at(a, b).near;
      if (near != Near::self && near <= most) join(of, a, b);
    }
  return of;
}

std::string MatrixReader::affinity_of(std::size_t row) const {
  const std::vector<std::string>& words = rows_[row].affinity;
  if (has_numa_ && words.size() > 1 && words[1] != "N/A") return "numa " + words[1];
  return words.empty() || words[0] == "N/A" ? "" : words[0];
}

std::vector<std::size_t> MatrixReader::cpu_classes() const {
  std::vector<std::size_t> of = classes(Near::node);
  std::map<std::string, std::size_t> first;
  bool none = true;
  for (std::size_t row = 0; row < of.size(); ++row) {
    const std::string affinity = is_gpu(row) ? affinity_of(row) : "";
    if (affinity.empty()) continue;
    none = false;
    const auto [same, is_new] = first.emplace(affinity, row);
    if (!is_new && at(row, same->second).near != Near::sys) join(of, row, same->second);
  }
  if (none) join_by_nvlinks(of);
  for (std::size_t gpu = 1; !none && gpu < of.size(); ++gpu)
    if (is_gpu(gpu) && is_gpu(gpu - 1) && is_cut_off(gpu)) join(of, gpu, gpu - 1);
  return of;
}

// NVLinks also join GPUs of different CPUs.  Those that are far from the same device come first,
// then the widest; and classes with devices that are far from each other stay apart.
void MatrixReader::join_by_nvlinks(std::vector<std::size_t>& of) const {
  const std::size_t size = of.size();
  std::vector<std::vector<char>> far(size, std::vector<char>(size)), far_classes = far;
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < size; ++b)
      if (at(a, b).near == Near::sys) far[a][b] = far_classes[of[a]][of[b]] = 1;
  struct Pair {
    bool far_from_the_same;
    int links;
    std::size_t a, b;
  };
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (const Cell cell = at(a, b); cell.near == Near::nvlink)
        pairs.push_back({std::inner_product(far[a].begin(), far[a].end(), far[b].begin(), 0) > 0,
                         cell.links, a, b});
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& one, const Pair& other) {
    return std::pair(one.far_from_the_same, one.links) >
           std::pair(other.far_from_the_same, other.links);
  });
  for (const Pair& pair : pairs) {
    const std::size_t a = of[pair.a], b = of[pair.b], joined = std::min(a, b);
    if (a == b || far_classes[a][b] != 0) continue;
    join(of, pair.a, pair.b);
    for (std::size_t other = 0; other < size; ++other)
      far_classes[joined][other] = far_classes[other][joined] =
          static_cast<char>(far_classes[a][other] | far_classes[b][other]);
  }
}

// A GPU whose row was cut before what says where it is.
bool MatrixReader::is_cut_off(std::size_t gpu) const {
  return affinity_of(gpu).empty() && rows_[gpu].cells.size() < columns_.size();
}

// NICs that are near to no GPU go to the CPUs of the GPUs, as many to each.
void MatrixReader::spread_far_nics(const std::vector<std::size_t>& kept,
                                   std::vector<std::size_t>& of) {
  std::vector<std::size_t> hosts, nics;
  std::set<std::size_t> with_gpu;
  for (std::size_t column = 0; column < of.size(); ++column)
    if (is_gpu(column) && with_gpu.insert(of[column]).second) hosts.push_back(of[column]);
  std::vector<std::string> names;
  for (const std::size_t column : kept) {
    if (with_gpu.contains(of[column])) continue;
    nics.push_back(column);
    names.push_back(columns_[column]);
  }
  for (std::size_t i = 0; i < nics.size(); ++i) of[nics[i]] = hosts[i * hosts.size() / nics.size()];
  if (hosts.size() > 1 && !names.empty())
    machine_.assumed.push_back(
        fmt::format("CPUs of {}: as many NICs on each; in the matrix they are far from all GPUs",
                    few_of(names)));
}

// All GPUs, and of the NICs those near to GPUs when there are such.
std::vector<std::size_t> MatrixReader::kept_columns() {
  const std::vector<std::size_t> cpu = cpu_classes();
  std::vector<Near> nearest(columns_.size(), Near::unknown);
  std::vector<bool> all_known(columns_.size(), true);
  Near best = Near::unknown;
  for (std::size_t nic = 0; nic < columns_.size(); ++nic) {
    if (is_gpu(nic)) continue;
    for (std::size_t gpu = 0; gpu < columns_.size(); ++gpu)
      if (is_gpu(gpu)) nearest[nic] = std::min(nearest[nic], at(nic, gpu).near);
    // What was cut off may be near only on the NIC's own CPU, where that is known.
    for (std::size_t gpu = 0; gpu < columns_.size(); ++gpu)
      if (is_gpu(gpu) && at(nic, gpu).near == Near::unknown &&
          (nearest[nic] > Near::node || cpu[nic] == cpu[gpu]))
        all_known[nic] = false;
    best = std::min(best, nearest[nic]);
  }
  std::vector<std::size_t> kept;
  std::vector<std::string> far, unknown;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (is_gpu(column)) continue;
    if (nearest[column] == Near::unknown)
      unknown.push_back(columns_[column]);
    else if (best <= Near::pxb && nearest[column] > Near::pxb && all_known[column])
      far.push_back(columns_[column]);
    else
      kept.push_back(column);
  }
  if (!far.empty())
    machine_.notes.push_back(
        fmt::format("left out: {}, which no GPU is near to, unlike the other NICs", few_of(far)));
  if (!unknown.empty())
    machine_.notes.push_back(
        fmt::format("left out: {}, of which the matrix says nothing", few_of(unknown)));
  return kept;
}

void MatrixReader::build_slots(const std::vector<std::size_t>& kept) {
  const auto one_switch = classes(Near::pix), switches = classes(Near::pxb);
  auto cpu = cpu_classes();
  spread_far_nics(kept, cpu);
  std::map<std::size_t, std::size_t> size, parts, joint, upper, host;
  std::set<std::size_t> seen;
  for (const std::size_t column : kept) {
    ++size[one_switch[column]];
    if (seen.insert(one_switch[column]).second) ++parts[switches[column]];
  }
  const auto add = [&](std::string_view name, NodeKind kind) {
    machine_.devices.push_back({free_name(machine_, name), kind});
    return machine_.devices.size() - 1;
  };
  const auto host_of = [&](std::size_t column) {
    const auto known = host.find(cpu[column]);
    if (known != host.end()) return known->second;
    return host[cpu[column]] = add("cpu" + std::to_string(host.size()), NodeKind::cpu);
  };
  std::size_t count = 0;
  // The device that the switch or slot of a column hangs on.
  const auto above = [&](std::size_t column) {
    const std::size_t of = switches[column];
    if (parts[of] < 2) return host_of(column);
    if (const auto known = upper.find(of); known != upper.end()) return known->second;
    const std::size_t made = add("pcie" + std::to_string(count++), NodeKind::network_switch);
    machine_.cables.push_back({made, host_of(column), CableKind::uplink, 0, 16});
    return upper[of] = made;
  };
  for (const std::size_t column : kept) {
    std::size_t on = above(column);
    if (size[one_switch[column]] > 1) {
      const auto known = joint.find(one_switch[column]);
      if (known == joint.end()) {
        const std::size_t made = add("pcie" + std::to_string(count++), NodeKind::network_switch);
        machine_.cables.push_back({made, on, CableKind::uplink, 0, 16});
        joint[one_switch[column]] = made;
      }
      on = joint[one_switch[column]];
    }
    machine_.cables.push_back({device_[column], on, CableKind::pcie, 0, 16});
  }
  for (auto a = host.begin(); a != host.end(); ++a)
    for (auto b = host.begin(); b != a; ++b)
      machine_.cables.push_back({b->second, a->second, CableKind::socket, 0, 0});
}

bool MatrixReader::has_gpu_numa_ids() const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    return has_numa_ && row.affinity.size() > 2 && small_number(row.affinity[2]).has_value();
  });
}

// The cells of GPUs on NVSwitches are all alike; so are those of a few GPUs that are joined
// directly, whose links then add up to no more than one GPU has.
void MatrixReader::add_nvlinks() {
  constexpr int most_links_of_a_gpu = 18;
  std::vector<std::size_t> gpus;
  for (std::size_t column = 0; column < columns_.size(); ++column)
    if (is_gpu(column)) gpus.push_back(column);
  std::set<int> kinds;
  for (const std::size_t a : gpus)
    for (const std::size_t b : gpus)
      if (a != b) kinds.insert(at(a, b).links);
  if (kinds.empty() || kinds == std::set<int>{0}) return;
  const int links = *kinds.rbegin();
  const auto peers = static_cast<int>(gpus.size()) - 1;
  const bool switched = kinds.size() == 1 && peers > 1 && links * peers > most_links_of_a_gpu;
  if (switched) {
    const std::size_t node = machine_.devices.size();
    machine_.devices.push_back({free_name(machine_, "nvswitch"), NodeKind::network_switch});
    for (const std::size_t gpu : gpus)
      machine_.cables.push_back({device_[gpu], node, CableKind::nvswitch, 0, links});
  } else {
    for (const std::size_t a : gpus)
      for (const std::size_t b : gpus)
        if (a < b && at(a, b).links > 0)
          machine_.cables.push_back({device_[a], device_[b], CableKind::nvlink, 0, at(a, b).links});
  }
  if (has_gpu_numa_ids()) machine_.gpu = switched ? "GB200" : "GH200";
}

void MatrixReader::build() {
  machine_.format = "nvidia-smi topo -m";
  tell_cut();
  device_.resize(columns_.size());
  std::vector<std::size_t> kept;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (!is_gpu(column)) continue;
    device_[column] = machine_.devices.size();
    machine_.devices.push_back({fmt::format("gpu{}", machine_.devices.size()), NodeKind::gpu});
    kept.push_back(column);
  }
  for (const std::size_t column : kept_columns()) {
    const auto name = nic_names_.find(columns_[column]);
    device_[column] = machine_.devices.size();
    machine_.devices.push_back(
        {free_name(machine_, name == nic_names_.end() ? lower(columns_[column]) : name->second),
         NodeKind::nic});
    kept.push_back(column);
  }
  add_nvlinks();
  build_slots(kept);
}

Refusal MatrixReader::refuse_text() const {
  for (const Word& word : words_)
    if (word.text == "NPU0")
      return file_.wrong(
          word.place, "other-format",
          "this is the matrix of Ascend NPUs (npu-smi info -t topo); the rates of their "
          "HCCS links are not known here",
          "describe the machine by \"devices\" and \"links\"");
  return file_.refuse(
      "unknown-format", "this is not a machine in a format that is known here",
      "known are NCCL_TOPO_DUMP_FILE, nvidia-smi topo -m, the system graph of NCCL_DEBUG=INFO, "
      "rocm-smi --showtopo, amd-smi topology, p2pBandwidthLatencyTest and nvbandwidth");
}

std::optional<ImportedMachine> MatrixReader::read() {
  constexpr std::size_t most_words = 400'000;
  words_ = words_of_matrix(file_.text, most_words);
  if (!find_header()) return refuse_text();
  const std::string_view header = words_[next_].place;
  if (!read_header())
    return file_.wrong(header, "cut", "the matrix has no rows below this line",
                       "paste the whole output of nvidia-smi topo -m");
  if (!read_rows()) return std::nullopt;
  read_nic_legend();
  if (!check()) return std::nullopt;
  build();
  return std::move(machine_);
}

}  // namespace

std::optional<ImportedMachine> read_smi_matrix(const MachineText& file) {
  return MatrixReader(file).read();
}

}  // namespace collsim
