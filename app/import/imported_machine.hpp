// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "topo/topology.hpp"

namespace collsim {

// What a cable of a real machine is.
enum class CableKind : std::uint8_t {
  nvlink,    // between two GPUs
  nvswitch,  // the NVLinks of a GPU into the NVSwitches together
  xgmi,      // between two AMD GPUs
  c2c,       // between a GPU and its CPU, not PCIe
  pcie,      // a slot: GPU or NIC to PCIe switch or CPU
  uplink,    // PCIe switch to PCIe switch or CPU
  socket,    // between two CPUs
  measured   // between two GPUs, as a bandwidth test saw it
};
[[nodiscard]] std::string_view to_string(CableKind kind);

// A machine as a file of another program describes it: devices, cables between them, and what the
// file leaves open.  One node; GPUs come first, in the order of their ranks.
struct ImportedMachine {
  struct Device {
    std::string name;
    NodeKind kind = NodeKind::gpu;
    double network_gbs = 0;  // of a NIC into the network, GB/s one way; 0: the file does not say
  };
  struct Cable {
    std::size_t from = 0, to = 0;  // of devices
    CableKind kind = CableKind::pcie;
    double gbs = 0;  // one way; 0: the file does not say
    int lanes = 0;   // NVLinks or xGMI links side by side, lanes of PCIe; 0: unknown
    bool half_duplex = false;
  };

  std::string format;  // "NCCL topology XML"
  std::vector<Device> devices;
  std::vector<Cable> cables;
  std::string gpu;                   // a model of gpu_models(); empty: the file does not say
  std::string cpu;                   // "intel", "amd", "arm"; likewise
  std::string network;               // the kind that joins nodes: "roce"; likewise
  std::string nics;                  // the kind that NICs of a cloud are of: "efa"; likewise
  std::string preset;                // of which collsim topo export wrote it; likewise
  bool nvlinks_known = true;         // false: the file lists devices on PCIe only
  std::vector<std::string> notes;    // what the file says beyond that, what was left out of it
  std::vector<std::string> assumed;  // what it does not say, and what was taken instead

  [[nodiscard]] std::size_t count(NodeKind kind) const;
};

// Stated limits on what is imported.
inline constexpr std::size_t max_imported_bytes = 16U << 20U;
inline constexpr std::size_t max_imported_devices = 4096;
inline constexpr std::size_t max_imported_cables = 16384;

// Reads a machine from a text of any of these formats, which it tells apart by themselves:
//
//   NCCL_TOPO_DUMP_FILE            read_nccl_topo_xml()
//   nvidia-smi topo -m             read_smi_matrix()
//   rocm-smi --showtopo, amd-smi topology   read_amd_tables()
//   NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=GRAPH   read_nccl_graph_log()
//   p2pBandwidthLatencyTest, nvbandwidth       read_p2p_bandwidth()
//
// `source` is what the text is in `diagnostics`.  Nothing when it is none of them, or wrong, or
// holds no machine, which is then in the diagnostics, with line and column.
[[nodiscard]] std::optional<ImportedMachine> read_machine(std::string_view text,
                                                          std::uint32_t source,
                                                          Diagnostics& diagnostics);

// What a user says about a machine beyond its file; it wins over the file.
struct MachineAnswers {
  std::string gpu;          // a model of gpu_models(); empty: not said
  double network_gbs = 0;   // of every NIC; 0: not said
  std::string network;      // the kind of network that joins nodes; empty: not said
  int pcie_generation = 0;  // of every slot; 0: not said
};
struct MachineQuestion {
  std::string message, hint;
};

// Gives every cable a rate: as the user says, else as the file, else by the model of the GPUs, else
// by what is common; what was not in the file is added to `assumed`.  Leaves out NICs that NCCL
// would not use beside better ones.  Returns a question when nothing sensible can be assumed, which
// only MachineAnswers::gpu answers.
[[nodiscard]] std::optional<MachineQuestion> complete(ImportedMachine& machine,
                                                      const MachineAnswers& answers);

}  // namespace collsim
