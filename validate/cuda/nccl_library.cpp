// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace collsim {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "libnccl.so.2";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Once, however many links lead there.
void add_if_there(std::vector<std::string>& places, const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  for (const std::string& known : places)
    if (fs::equivalent(known, path, ignored)) return;
  places.push_back(path.string());
}

std::vector<std::string> places_named(const std::string& named) {
  std::error_code ignored;
  if (!fs::is_directory(named, ignored)) return {named};
  std::vector<std::string> places;
  for (const char* below : {"", "lib", "lib64", "nccl/lib", "nvidia/nccl/lib"})
    add_if_there(places, fs::path(named) / below / file_name);
  if (places.empty()) places.push_back((fs::path(named) / file_name).string());
  return places;
}

// Sorted, because a folder has its entries in any order.
std::vector<fs::path> pythons_of(const fs::path& prefix) {
  std::vector<fs::path> pythons;
  std::error_code ignored;
  for (fs::directory_iterator entry(prefix / "lib", ignored), end; entry != end;
       entry.increment(ignored)) {
    if (ignored) break;
    if (entry->path().filename().string().starts_with("python3")) pythons.push_back(entry->path());
  }
  std::sort(pythons.begin(), pythons.end());
  return pythons;
}

void add_python_packages(std::vector<std::string>& places) {
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    fs::path folder = path.substr(begin, end - begin);
    begin = end + 1;
    if (!folder.has_filename()) folder = folder.parent_path();
    if (!folder.is_absolute()) continue;
    for (const fs::path& python : pythons_of(folder.parent_path()))
      for (const char* packages : {"site-packages", "dist-packages"})
        add_if_there(places, python / packages / "nvidia/nccl/lib" / file_name);
  }
}

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

// The name of the first missing function; "" if none is.
std::string look_up(void* library, NcclFunctions& call) {
  struct Entry {
    const char* name;
    bool found;
  };
  const Entry entries[] = {
      {"ncclGetErrorString", find(library, "ncclGetErrorString", call.error_string)},
      {"ncclGetLastError", find(library, "ncclGetLastError", call.last_error)},
      {"ncclCommInitAll", find(library, "ncclCommInitAll", call.init_all)},
      {"ncclGetUniqueId", find(library, "ncclGetUniqueId", call.get_id)},
      {"ncclCommInitRank", find(library, "ncclCommInitRank", call.init_rank)},
      {"ncclCommDestroy", find(library, "ncclCommDestroy", call.destroy)},
      {"ncclCommAbort", find(library, "ncclCommAbort", call.abort)},
      {"ncclCommGetAsyncError", find(library, "ncclCommGetAsyncError", call.async_error)},
      {"ncclGroupStart", find(library, "ncclGroupStart", call.group_start)},
      {"ncclGroupEnd", find(library, "ncclGroupEnd", call.group_end)},
      {"ncclAllReduce", find(library, "ncclAllReduce", call.all_reduce)},
      {"ncclBroadcast", find(library, "ncclBroadcast", call.broadcast)},
      {"ncclReduce", find(library, "ncclReduce", call.reduce)},
      {"ncclAllGather", find(library, "ncclAllGather", call.all_gather)},
      {"ncclReduceScatter", find(library, "ncclReduceScatter", call.reduce_scatter)},
      {"ncclSend", find(library, "ncclSend", call.send)},
      {"ncclRecv", find(library, "ncclRecv", call.receive)},
  };
  find(library, "ncclGroupSimulateEnd", call.group_simulate_end);
  for (const Entry& entry : entries)
    if (!entry.found) return entry.name;
  return "";
}

// "" when the opened file is an NCCL that serves; fills in `library`.
std::string problem_with(void* handle, NcclLibrary& library) {
  if (!find(handle, "ncclGetVersion", library.call.get_version))
    return "is not NCCL: it has no function ncclGetVersion";
  if (library.call.get_version(&library.version) != nccl_success) return "cannot tell its version";
  if (library.version < oldest_nccl)
    return "is NCCL " + nccl_version_text(library.version) + ", and " +
           nccl_version_text(oldest_nccl) + " or newer is needed";
  const std::string missing = look_up(handle, library.call);
  if (!missing.empty())
    return "calls itself NCCL " + nccl_version_text(library.version) + " but has no function " +
           missing;
  return "";
}

std::string path_of(const NcclLibrary& library, const std::string& place) {
  Dl_info info{};
  const bool known =
      dladdr(reinterpret_cast<const void*>(library.call.get_version), &info) != 0 && info.dli_fname;
  return known ? info.dli_fname : place;
}

}  // namespace

std::string nccl_version_text(int version) {
  const int major_unit = version < 10000 ? 1000 : 10000;
  return std::to_string(version / major_unit) + "." + std::to_string(version % major_unit / 100) +
         "." + std::to_string(version % 100);
}

std::vector<std::string> nccl_places() {
  if (const std::string named = variable("COLLSIM_NCCL"); !named.empty())
    return places_named(named);
  std::vector<std::string> places{file_name};
  for (const std::string& folder :
       {std::string("/usr/local/cuda"), variable("CUDA_HOME"), variable("CONDA_PREFIX")}) {
    if (folder.empty()) continue;
    add_if_there(places, fs::path(folder) / "lib64" / file_name);
    add_if_there(places, fs::path(folder) / "lib" / file_name);
  }
  add_python_packages(places);
  return places;
}

NcclSearch load_nccl(const std::vector<std::string>& places) {
  std::string tried;
  for (const std::string& place : places) {
    void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    NcclLibrary library;
    std::string problem;
    if (handle == nullptr) {
      const char* reason = dlerror();
      problem = std::string("cannot be loaded (") + (reason == nullptr ? "?" : reason) + ")";
    } else {
      problem = problem_with(handle, library);
    }
    if (problem.empty()) {
      library.path = path_of(library, place);
      return {std::move(library), ""};
    }
    tried.append(tried.empty() ? "" : "; ").append(place).append(" ").append(problem);
    if (handle != nullptr) dlclose(handle);
  }
  if (tried.empty()) tried = "there was nothing to try";
  return {std::nullopt, "no usable NCCL: " + tried +
                            ". Set COLLSIM_NCCL to libnccl.so.2 or to the folder that has it, such "
                            "as a Python's site-packages"};
}

}  // namespace collsim
