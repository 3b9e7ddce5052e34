// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/scenario/presets.hpp"
#include "app/study/nccl_tuner.hpp"
#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

constexpr const char* two_4090s =
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tSYS\t0-31\t0\n"
    "GPU1\tSYS\t X \t32-63\t1\n";

Ran topo_import(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"topo", "import"});
  return run_collsim(arguments);
}

TEST(TopoImport, SaysWhatItUnderstoodAndWhatItAssumed) {
  const Folder folder;
  const Ran ran = topo_import({folder.write("box.txt", two_4090s), "--gpu", "rtx-4090"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_text(ran.out, R"(nvidia-smi topo -m
  GPUs      2     gpu[0-1], RTX-4090
  NICs      none
  switches  none
  CPUs      2     cpu[0-1]
links, each direction
     2 x      24 GB/s  PCIe, 16 lanes
     1 x      16 GB/s  between CPUs
assumed: PCIe: Gen4 x16 (24 GB/s) where the file has no speed (2 links), as RTX-4090 GPUs have
assumed: between CPUs: 16 GB/s, as NCCL counts between AMD CPUs
assumed: latencies, overheads and launch costs: those of preset rtx-4090; such a file has none
)");
}

TEST(TopoImport, TellsAScenarioFromAMachine) {
  const Folder folder;
  const std::string file = folder.write("case.json", R"({"scenario": 1, "cluster": {"shape": "ring",
    "ranks": 3, "link": {"bandwidth": "25GB/s"}}})");
  expect_contains(run_collsim({"topo", "import", file}).err, "this is a scenario");
}

TEST(TopoImport, WritesAClusterThatScenariosInclude) {
  const Folder folder;
  const std::string box = folder.write("box.txt", two_4090s);
  const Ran ran = topo_import({box, "-o", folder.path("machine.json")});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.err, "use it in a scenario beside it: \"include\": [\"");
  const std::string collective =
      R"("collective": {"op": "all-reduce", "algorithm": "ring", "size": "1MiB"})";
  const std::string by_include =
      folder.write("a.json", R"({"scenario": 1, "include": ["machine.json"], )" + collective + "}");
  const std::string by_file = folder.write(
      "b.json", R"({"scenario": 1, "cluster": {"topo_matrix": "box.txt"}, )" + collective + "}");
  const Ran one = run_collsim({"run", by_include, "--format", "csv", "--quiet"});
  const Ran other = run_collsim({"run", by_file, "--format", "csv", "--quiet"});
  EXPECT_EQ(one.code, exit_fine) << one.err;
  EXPECT_EQ(other.code, exit_fine) << other.err;
  EXPECT_EQ(one.out, other.out);
  const Ran loud = run_collsim({"run", by_file});
  expect_contains(loud.out + loud.err, "not in the file of the machine, so assumed: PCIe: Gen4");
}

TEST(TopoImport, IsQuietWhenAFileTellsAll) {
  const Folder folder;
  const std::string box = folder.write("box.txt", two_4090s);
  EXPECT_EQ(topo_import({box, "--gpu", "RTX-4090", "-o", folder.path("m.json"), "--quiet"}).out,
            "");
  expect_contains(topo_import({box, "--gpu", "RTX-4090", "--quiet"}).out, "GPUs");
}

TEST(TopoImport, AsksForWhatNothingCanBeAssumedOf) {
  const Folder folder;
  const std::string file = folder.write("slots.xml",
                                        "<system version=\"1\"><cpu><pci class=\"0x030200\"/><pci "
                                        "class=\"0x030200\"/></cpu></system>");
  const Ran ran = topo_import({file});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.out, "GPUs      2     gpu[0-1]\n");
  expect_contains(ran.err, "slots.xml: the file does not say which GPUs these are");
  expect_contains(ran.err, "--gpu MODEL: say the model, such as H100, A100 or A100-PCIe");
  EXPECT_EQ(topo_import({file, "--gpu", "A100"}).code, exit_fine);
}

TEST(TopoImport, MistakesInAFileHaveTheirPlace) {
  const Folder folder;
  const std::string file = folder.write("bad.xml", "<system version=\"1\">\n  <cpu>\n</system>\n");
  const Ran ran = topo_import({file});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "bad.xml:3:");
  const std::string scenario =
      folder.write("case.json",
                   "{\"scenario\": 1,\n \"cluster\": {\"nccl_topo\": \"bad.xml\"},\n"
                   " \"collective\": {\"op\": \"all-reduce\", \"size\": \"1MiB\"}}");
  const Ran run = run_collsim({"run", scenario});
  EXPECT_EQ(run.code, exit_usage);
  expect_contains(run.err, "bad.xml:3:");
  expect_contains(run.err, "at /cluster/nccl_topo");
  expect_contains(run.err, "1 error; nothing was run");
}

TEST(TopoImport, AFileThatIsNotThereIsOneMistake) {
  const Folder folder;
  const std::string scenario = folder.write(
      "case.json",
      "{\"scenario\": 1,\n \"cluster\": {\"nccl_topo\": \"none.xml\", \"gpu\": \"H100\"},\n"
      " \"collective\": {\"op\": \"all-reduce\", \"size\": \"1MiB\"}}");
  const Ran run = run_collsim({"run", scenario});
  EXPECT_EQ(run.code, exit_usage);
  expect_contains(run.err, "case.json:2:27: ");
  expect_contains(run.err, "none.xml");
  expect_contains(run.err, "1 error; nothing was run");
  EXPECT_EQ(topo_import({folder.path("none.xml")}).code, exit_usage);
}

TEST(TopoImport, OptionsAreChecked) {
  const Folder folder;
  const std::string box = folder.write("box.txt", two_4090s);
  expect_contains(topo_import({box, "--gpu", "H10"}).err, "did you mean \"H100\"?");
  expect_contains(topo_import({box, "--nic", "400"}).err, "--nic 400: ");
  expect_contains(topo_import({box, "--pcie", "gen2"}).err, "--pcie cannot be");
  expect_contains(topo_import({}).err, "FILE");
}

// Times of several sizes; `cluster`: what a scenario has of a cluster.
std::string times(const Folder& folder, const std::string& cluster,
                  const std::string& collective = R"("op": "all-reduce", "algorithm": "ring")") {
  const std::string file = folder.write(
      "case.json", R"({"scenario": 1, )" + cluster + R"(, "collective": {"size": "1MiB", )" +
                       collective +
                       R"(}, "sweep": {"collective.size": ["1KiB", "1MiB", "256MiB"]}})");
  const Ran ran = run_collsim({"run", file, "--format", "nccl-tests", "--quiet"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  std::string rows;
  for (std::size_t begin = 0; begin < ran.out.size();) {
    const std::size_t end = ran.out.find('\n', begin);
    const std::string line = ran.out.substr(begin, end - begin);
    if (line.find('#') == std::string::npos) rows += line + "\n";
    begin = end + 1;
  }
  return rows;
}

// As nvidia-smi prints it, but for the columns behind; NIC1 and NIC2, two ports of an adapter for
// storage, are near to no GPU.
constexpr const char* dgx_h100 = R"(
      GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7 NIC0 NIC1 NIC2 NIC3 NIC4 NIC5 NIC6 NIC7 NIC8 NIC9
GPU0   X   NV18 NV18 NV18 NV18 NV18 NV18 NV18 PXB  NODE NODE NODE NODE NODE SYS  SYS  SYS  SYS 
GPU1  NV18  X   NV18 NV18 NV18 NV18 NV18 NV18 NODE NODE NODE PXB  NODE NODE SYS  SYS  SYS  SYS 
GPU2  NV18 NV18  X   NV18 NV18 NV18 NV18 NV18 NODE NODE NODE NODE PXB  NODE SYS  SYS  SYS  SYS 
GPU3  NV18 NV18 NV18  X   NV18 NV18 NV18 NV18 NODE NODE NODE NODE NODE PXB  SYS  SYS  SYS  SYS 
GPU4  NV18 NV18 NV18 NV18  X   NV18 NV18 NV18 SYS  SYS  SYS  SYS  SYS  SYS  PXB  NODE NODE NODE
GPU5  NV18 NV18 NV18 NV18 NV18  X   NV18 NV18 SYS  SYS  SYS  SYS  SYS  SYS  NODE PXB  NODE NODE
GPU6  NV18 NV18 NV18 NV18 NV18 NV18  X   NV18 SYS  SYS  SYS  SYS  SYS  SYS  NODE NODE PXB  NODE
GPU7  NV18 NV18 NV18 NV18 NV18 NV18 NV18  X   SYS  SYS  SYS  SYS  SYS  SYS  NODE NODE NODE PXB 
NIC0  PXB  NODE NODE NODE SYS  SYS  SYS  SYS   X   NODE NODE NODE NODE NODE SYS  SYS  SYS  SYS
NIC1  NODE NODE NODE NODE SYS  SYS  SYS  SYS  NODE  X   PIX  NODE NODE NODE SYS  SYS  SYS  SYS
NIC2  NODE NODE NODE NODE SYS  SYS  SYS  SYS  NODE PIX   X   NODE NODE NODE SYS  SYS  SYS  SYS
NIC3  NODE PXB  NODE NODE SYS  SYS  SYS  SYS  NODE NODE NODE  X   NODE NODE SYS  SYS  SYS  SYS
NIC4  NODE NODE PXB  NODE SYS  SYS  SYS  SYS  NODE NODE NODE NODE  X   NODE SYS  SYS  SYS  SYS
NIC5  NODE NODE NODE PXB  SYS  SYS  SYS  SYS  NODE NODE NODE NODE NODE  X   SYS  SYS  SYS  SYS
NIC6  SYS  SYS  SYS  SYS  PXB  NODE NODE NODE SYS  SYS  SYS  SYS  SYS  SYS   X   NODE NODE NODE
NIC7  SYS  SYS  SYS  SYS  NODE PXB  NODE NODE SYS  SYS  SYS  SYS  SYS  SYS  NODE  X   NODE NODE
NIC8  SYS  SYS  SYS  SYS  NODE NODE PXB  NODE SYS  SYS  SYS  SYS  SYS  SYS  NODE NODE  X   NODE
NIC9  SYS  SYS  SYS  SYS  NODE NODE NODE PXB  SYS  SYS  SYS  SYS  SYS  SYS  NODE NODE NODE  X
)";

// Nothing is said about the algorithm: on such a machine it is NCCL's choice.
TEST(TopoImport, AMatrixPredictsAsThePresetDoes) {
  const Folder folder;
  const std::string matrix = folder.write("dgx.txt", dgx_h100);
  ASSERT_EQ(topo_import({matrix, "-o", folder.path("machine.json")}).code, exit_fine);
  for (const std::string nodes : {"1", "2"})
    for (const std::string op : {"all-reduce", "all-gather", "all-to-all"}) {
      SCOPED_TRACE(op + " on " + nodes);
      const std::string of_preset =
          times(folder, R"("cluster": {"preset": "dgx-h100", "nodes": )" + nodes + "}",
                R"("op": ")" + op + R"(", "algorithm": "nccl")");
      EXPECT_NE(of_preset, "");
      const std::string collective = R"("op": ")" + op + "\"";
      EXPECT_EQ(times(folder, R"("cluster": {"topo_matrix": "dgx.txt", "nodes": )" + nodes + "}",
                      collective),
                of_preset);
      EXPECT_EQ(times(folder, R"("include": ["machine.json"], "cluster": {"nodes": )" + nodes + "}",
                      collective),
                of_preset);
    }
}

// Whatever algorithm: collsim's own over links alone, and NCCL's over its protocols.
TEST(TopoExport, ImportedAgainEveryPresetPredictsTheSame) {
  const Folder folder;
  const std::string imported = R"("cluster": {"nccl_topo": "topo.xml", "nodes": )";
  const std::vector<std::string> collectives = {R"("op": "all-reduce", "algorithm": "ring")",
                                                R"("op": "all-reduce")", R"("op": "all-gather")",
                                                R"("op": "all-to-all")"};
  constexpr int few = 16;  // GPUs of a node: two of more, as an imported graph, take a minute
  for (const Preset& preset : presets()) {
    const Ran ran = run_collsim(
        {"topo", "export", "--nccl-xml", "--preset", preset.name, "-o", folder.path("topo.xml")});
    ASSERT_EQ(ran.code, exit_fine) << preset.name << ran.err;
    std::vector<std::string> all = collectives;
    if (const NcclGraph* const known = NcclTuner::of_version("2.28").machine(preset.name))
      if (!known->ring)  // what NCCL finds there is written down, not derived
        all.emplace_back(R"("op": "all-gather", "nccl_tuner": "2.28")");
    for (const std::string nodes : {"1", "2"}) {
      if (nodes == "2" && preset.gpus > few) continue;
      for (const std::string& collective : all) {
        const std::string there = times(
            folder, R"("cluster": {"preset": ")" + preset.name + R"(", "nodes": )" + nodes + "}",
            collective);
        EXPECT_NE(there, "");
        EXPECT_EQ(times(folder, imported + nodes + "}", collective), there)
            << preset.name << " x " << nodes << ": " << collective;
      }
    }
  }
}

TEST(TopoExport, TheFileThatIsWrittenIsTheSameMachineInItsClusterAndModel) {
  const Folder folder;
  for (const std::string preset : {"gh200-quad", "rtx-2080ti", "p4d"}) {
    const std::string topo = folder.path("topo.xml"), machine = folder.path("machine.json");
    ASSERT_EQ(run_collsim({"topo", "export", "--preset", preset, "-o", topo}).code, exit_fine);
    ASSERT_EQ(topo_import({topo, "-o", machine, "--quiet"}).code, exit_fine);
    const std::string both = R"(, "nodes": 2})", op = R"("op": "all-reduce")";
    EXPECT_EQ(times(folder, R"("include": ["machine.json"], "cluster": {"nodes": 2})", op),
              times(folder, R"("cluster": {"preset": ")" + preset + '"' + both, op))
        << preset;
  }
}

TEST(TopoImport, PassesOverNamesThatCollsimDoesNotKnow) {
  const Folder folder;
  const std::string topo = folder.path("topo.xml");
  ASSERT_EQ(run_collsim({"topo", "export", "--preset", "dgx-h100", "-o", topo}).code, exit_fine);
  std::string text = folder.read("topo.xml");
  const std::size_t begin = text.find("<system");
  text.replace(begin, text.find('>') - begin,
               R"(<system version="1" collsim_preset="dgx-x" collsim_network="wifi")");
  const std::string said = topo_import({folder.write("other.xml", text)}).out;
  expect_contains(said, "collsim knows no preset \"dgx-x\", which the file names");
  expect_contains(said, "collsim knows no kind of network \"wifi\"");
  expect_contains(said, "the kind of network (");
}

// The kind of network is in the file, in the ids of the NICs, or said beside it.
TEST(TopoImport, KnowsWhatJoinsTheNodes) {
  const Folder folder;
  const auto on = [&](const std::string& cluster) {
    return times(folder, R"("cluster": {"nodes": 2, )" + cluster + "}", R"("op": "all-reduce")");
  };
  ASSERT_EQ(run_collsim({"topo", "export", "--preset", "p4d", "-o", folder.path("efa.xml")}).code,
            exit_fine);
  std::string text = folder.read("efa.xml");
  text.replace(text.find("<system"), text.find('>') - text.find("<system"),
               R"(<system version="1")");
  folder.write("ids.xml", text);
  const std::string efa = on(R"("preset": "p4d")"), ib = on(R"("preset": "p4d", "network": "ib")");
  EXPECT_NE(efa, ib);
  EXPECT_EQ(on(R"("nccl_topo": "efa.xml")"), efa);
  EXPECT_EQ(on(R"("nccl_topo": "ids.xml")"), efa);
  EXPECT_EQ(on(R"("nccl_topo": "efa.xml", "network": "ib")"), ib);
  EXPECT_EQ(on(R"("nccl_topo": "ids.xml", "network": "infiniband")"), ib);
}

TEST(TopoImport, TellsNcclsTunerWhichGpusTheseAre) {
  const Folder folder;
  const std::string tuned = R"("op": "all-reduce", "nccl_tuner": "2.28")";
  const std::string topo = folder.path("topo.xml");
  ASSERT_EQ(run_collsim({"topo", "export", "--preset", "dgx-h100", "-o", topo}).code, exit_fine);
  ASSERT_EQ(topo_import({topo, "-o", folder.path("machine.json"), "--quiet"}).code, exit_fine);
  const std::string there = times(folder, R"("cluster": {"preset": "dgx-h100"})", tuned);
  EXPECT_NE(there, "");
  EXPECT_EQ(times(folder, R"("cluster": {"nccl_topo": "topo.xml"})", tuned), there);
  EXPECT_EQ(times(folder, R"("include": ["machine.json"])", tuned), there);
}

TEST(TopoExport, WritesGpusOfAmdAsRcclDoes) {
  const std::string xml = run_collsim({"topo", "export", "--preset", "mi300x"}).out;
  expect_contains(xml, "<system version=\"2\" ");
  expect_contains(xml, "class=\"0x120000\" vendor=\"0x1002\" device=\"0x74a1\"");
  expect_contains(xml, "gcn=\"gfx942\"");
  expect_contains(xml, "<xgmi target=");
}

TEST(TopoExport, WritesWhatNcclReads) {
  const Ran ran = run_collsim({"topo", "export", "--preset", "pcie-gen4-4gpu-2s"});
  EXPECT_EQ(ran.code, exit_fine);
  expect_contains(ran.err,
                  "note: latencies and overheads are left out, which the format does not have");
  expect_contains(
      ran.out,
      "<system version=\"1\" collsim_preset=\"pcie-gen4-4gpu-2s\" collsim_network=\"ib\">\n  <cpu "
      "numaid=\"0\" affinity=\"ffffffff\" arch=\"x86_64\" "
      "vendor=\"AuthenticAMD\" familyid=\"143\" modelid=\"49\">\n");
  expect_contains(ran.out, "class=\"0x030200\"");
  expect_contains(ran.out,
                  "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">\n      <gpu dev=\"0\" sm=\"");
  expect_contains(ran.out,
                  "<net name=\"nic0\" dev=\"0\" speed=\"200000\" port=\"1\" guid=\"0x1\" ");
  EXPECT_EQ(ran.out.substr(ran.out.size() - 10), "</system>\n");
}

TEST(TopoExport, SaysWhatTheFormatCannotSay) {
  const Folder folder;
  const std::string file = folder.write("case.json", R"({"scenario": 1,
    "cluster": {"shape": "fully-connected", "ranks": 3, "link": {"bandwidth": "25GB/s"}},
    "collective": {"op": "all-reduce", "size": "1MiB"}})");
  const Ran ran = run_collsim({"topo", "export", file});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.err, "note: NVLinks of 25 GB/s are written as");
  expect_contains(ran.err, "note: one CPU was added, on which all PCIe hangs");
}

TEST(TopoExport, RefusesWhatIsNoTree) {
  const Folder folder;
  const std::string file = folder.write("case.json", R"({"scenario": 1, "cluster": {
    "devices": [{"id": "gpu", "kind": "gpu", "count": 2}, {"id": "s", "kind": "switch", "count": 3},
                {"id": "cpu", "kind": "cpu"}],
    "links": [{"from": "gpu0", "to": "s0", "bandwidth": "24GB/s"}, {"from": "gpu1", "to": "s1", "bandwidth": "24GB/s"},
              {"from": "s[0-1]", "to": "s2", "bandwidth": "24GB/s"}, {"from": "s[0-2]", "to": "cpu", "bandwidth": "24GB/s"}]},
    "collective": {"op": "all-reduce", "size": "1MiB"}})");
  const Ran ran = run_collsim({"topo", "export", file});
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_EQ(ran.out, "");
  expect_contains(ran.err, "are no tree");
  EXPECT_EQ(run_collsim({"topo", "export"}).code, exit_usage);
  expect_contains(run_collsim({"topo", "export", "--preset", "dgx-h10"}).err,
                  "did you mean \"dgx-h100\"?");
}

}  // namespace
}  // namespace collsim
