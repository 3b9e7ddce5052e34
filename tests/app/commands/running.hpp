// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "app/commands/command_line.hpp"

namespace collsim {

struct Ran {
  int code;
  std::string out, err;
};

// The program in this process, writing to no terminal.
inline Ran run_collsim(const std::vector<std::string>& arguments, bool interrupted = false) {
  std::ostringstream out, err;
  const std::atomic<bool> flag{interrupted};
  Terminal terminal{out, err, false, false, false, false, false, flag};
  const int code = run_command_line(arguments, terminal);
  return {code, out.str(), err.str()};
}

// A folder that goes away with its files.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "collsim.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename().string());
    return all;
  }

 private:
  std::filesystem::path path_;
};

// A chain broadcast among four; `more` is put behind its last member.
inline std::string chain_scenario(const std::string& more = "") {
  return R"({ "scenario": 1,
  "cluster": { "shape": "chain", "ranks": 4, "link": { "bandwidth": "25GB/s", "overhead": "5us" } },
  "collective": { "op": "broadcast", "algorithm": "chain", "size": "1MiB" })" +
         more + "}\n";
}

}  // namespace collsim
