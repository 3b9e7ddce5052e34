#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far simulated training steps are from published ones, which are not part of this repository.

usage: training_accuracy.py COLLSIM TABLES [-o REPORT] [--runs FILE]

TABLES is a folder with the tables named below.  Every row is asked as a scenario, on a preset with
the device that comes with it.  --runs also writes the rows as tables for `collsim calibrate
--from-training`, by which the presets' devices were fitted: FILE.a100.csv and FILE.h100.csv.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ("source,scheme,tp,pp,dp,chunks,global_batch,micro_batch,hidden,heads,layers,seq,vocab,"
           "recompute,sequence_parallel,attention,iteration_s").split(",")
CONSTANTS = {"fitted for each kind of GPU, eight": "efficiency, attention, memory_bandwidth, latency, launch, skew, sharding, slowdown",
             "fixed for all, two": "bytes moved of a logit (52) and of a parameter in Adam (28)",
             "counted, fitted to nothing, one": "bytes moved of a logit with a fused loss (12)"}
MPT = {"760m": (1536, 12, 24), "1b": (2048, 16, 24), "7b": (4096, 32, 32), "30b": (7168, 56, 48),
       "70b": (8192, 64, 80)}
NEMO = {"GPT3-5B": (4096, 32, 24, 16384, 51200), "GPT3-175B": (12288, 96, 96, 49152, 51200),
        "LLAMA2-7B": (4096, 32, 32, 11008, 32000), "LLAMA3-70B": (8192, 64, 80, 28672, 128256),
        "Nemotron-8B": (4096, 32, 32, 16384, 256000)}
# Of the rows of Megatron's first table, which does not say it: what fits its memory.
MICRO_BATCH = {"1.7": 16, "7.5": 4, "39.1": 4, "145.6": 2, "529.6": 1}


def row(source, gpus, tp, pp, dp, batch, micro, hidden, heads, layers, seq, seconds, **more):
    known = {"source": source, "gpus": int(gpus), "tp": int(tp), "pp": int(pp), "dp": int(dp),
             "global_batch": int(batch), "micro_batch": int(micro), "hidden": int(hidden),
             "heads": int(heads), "layers": int(layers), "seq": int(seq), "iteration_s": float(seconds),
             "scheme": "train", "chunks": 1, "vocab": 51200, "recompute": "none",
             "sequence_parallel": "false", "attention": "plain", "preset": "dgx-a100"}
    known.update(more)
    return known


def table(folder, name):
    with open(os.path.join(folder, name + ".csv"), encoding="utf-8") as file:
        return list(csv.DictReader(file))


def megatron(source, r, seconds, **more):
    return row(source, r["gpus"], r["tp"], r["pp"], r["dp"], r["global_batch"], r["micro_batch"],
               r["hidden"], r["heads"], r["layers"], r["seq"], seconds, **more)


def read_rows(folder):
    rows = []
    for r in table(folder, "vtrain_single_node_a100"):
        rows.append(megatron("vTrain on one node", r, float(r["iteration_ms"]) / 1e3))
    for r in table(folder, "vtrain_multi_node_a100"):
        rows.append(megatron(f"vTrain {r['params_b']} B on {r['gpus']} GPUs", r,
                             float(r["iteration_ms"]) / 1e3, recompute="full"))
    for r in table(folder, "megatron_sc21"):
        if r["scheme"] != "ptd-p":
            continue
        micro = int(r["micro_batch"] or MICRO_BATCH[r["params_b"]])
        while int(r["global_batch"]) // int(r["dp"]) % micro:
            micro //= 2
        r.update(micro_batch=micro, seq=2048)
        rows.append(megatron("Megatron-LM SC21", r, r["step_s_from_flops"], recompute="full"))
    for r in table(folder, "korthikanti_table5"):
        full = r["recompute"] == "full"
        r.update(heads={"22B": 64, "530B": 128}[r["model"]])
        rows.append(megatron("Korthikanti et al.", r, r["iteration_s"], chunks=int(r["interleave"]),
                             recompute="full" if full else "selective",
                             sequence_parallel="false" if full else "true"))
    for r in table(folder, "llm_foundry_fsdp"):
        name = {"a100_80gb": "A100 80 GB", "a100_40gb": "A100 40 GB", "h100_80gb": "H100"}.get(r["gpu"])
        if name and "fp8" not in r["precision"]:
            rows.append(foundry(f"LLM Foundry FSDP on {name}", r))
    return rows


def foundry(source, r, **more):
    hidden, heads, layers = MPT[r["model"]]
    return row(source, r["gpus"], 1, 1, r["gpus"], r["global_batch"], r["micro_batch"], hidden, heads, layers, r["seq"],
               r["step_s_from_tokens"], scheme="fsdp", attention="fused", vocab=50368, model=r["model"],
               recompute="full" if r["activation_checkpointing"] == "True" else "none",
               preset="dgx-h100" if r["gpu"] == "h100_80gb" else "dgx-a100", **more)


def rows_in_8_bits(folder):
    """Of H100, to which no device is fitted.  NeMo shards the optimizer and overlaps gradients."""
    rows = [foundry("LLM Foundry FSDP", r, dtype="float8") for r in table(folder, "llm_foundry_fsdp")
            if r["gpu"] == "h100_80gb" and "fp8" in r["precision"]]
    for r in table(folder, "nemo_dgx_h100_fp8"):
        if r["model"] not in NEMO:
            continue
        hidden, heads, layers, ffn, vocab = NEMO[r["model"]]
        replica = int(r["tp"]) * int(r["cp"]) * int(r["pp"])
        rows.append(row("NeMo, " + r["model"], r["gpus"], r["tp"], r["pp"], int(r["gpus"]) // replica,
                        r["global_batch"], r["micro_batch"], hidden, heads, layers, r["seq"], r["step_s_from_tokens"],
                        kv_heads=8 if r["model"] == "LLAMA3-70B" else heads,
                        chunks=int(r["vp"]), vocab=vocab, attention="fused", ffn=ffn, preset="dgx-h100", dtype="float8",
                        architecture="llama" if "LLAMA" in r["model"] else "gpt",
                        sequence_parallel="true" if r["tp"] != "1" else "false",
                        options={"cp": int(r["cp"]), "zero": 1, "overlap": True}))
    return rows


def rows_of_one_gpu(gpu, preset):
    """Of this repository: written by bench/gpu/training_steps.py."""
    rows = []
    for path in (ROOT / "docs" / "measurements").glob(f"*-{gpu}-steps.csv"):
        with open(path, encoding="utf-8") as file:
            for r in csv.DictReader(file):
                numbers = [int(r[name]) for name in ("global_batch", "micro_batch", "hidden", "heads", "layers", "seq")]
                rows.append(row(r["source"], 1, 1, 1, 1, *numbers, float(r["iteration_s"]), vocab=int(r["vocab"]),
                                recompute=r["recompute"], attention=r["attention"], preset=preset,
                                peak_bytes=int(r["peak_bytes"])))
    return rows


def scenario(r, device):
    nodes = -(-r["gpus"] // 8)
    model = {key: r[key] for key in ("layers", "hidden", "heads", "seq", "vocab", "micro_batch",
                                     "global_batch", "recompute", "attention")}
    model.update({key: r[key] for key in ("dtype", "ffn", "architecture", "kv_heads", "loss") if key in r})
    scheme = {}
    if r["scheme"] == "train":
        scheme = {**r.get("options", {}), "tp": r["tp"], "pp": r["pp"], "dp": r["dp"],
                  "sequence_parallel": r["sequence_parallel"] == "true"}
        if r["chunks"] > 1:
            scheme.update(schedule="interleaved", chunks=r["chunks"])
    workload = {r["scheme"]: scheme, "model": {"transformer": model}}
    if r["gpus"] < 8:
        workload["ranks"] = r["gpus"]
    if device:
        workload["device"] = device
    return {"scenario": 1, "cluster": {"preset": r["preset"], "nodes": nodes}, "workload": workload}


def step_row(collsim, r, device=None):
    run = subprocess.run([collsim, "run", "-", "--format", "json"], capture_output=True, text=True,
                         input=json.dumps(scenario(r, device)), check=False)
    if run.returncode != 0:
        raise SystemExit(f"{run.stderr}\nin {json.dumps(scenario(r, device))}")
    return json.loads(run.stdout)["rows"][0]


def errors(collsim, rows, device=None):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        predicted = list(pool.map(lambda r: step_row(collsim, r, device), rows))
    for r, row_of_step in zip(rows, predicted):
        r["predicted_s"], r["predicted_bytes"] = row_of_step["step_s"], max(row_of_step.get("memory_bytes", [0]))
    return [r["predicted_s"] / r["iteration_s"] - 1 for r in rows]


def memory_errors(rows):
    """After errors(); the optimizer of training_steps.py has 8 bytes less for each parameter than is predicted."""
    for r in rows:
        hidden = r["hidden"]
        parameters = r["layers"] * (12 * hidden + 13) * hidden + (r["vocab"] + r["seq"] + 2) * hidden
        yield (r["predicted_bytes"] - 8 * parameters) / r["peak_bytes"] - 1


def without_room(rows):
    """After errors(): how many are said to need more memory than they had."""
    return sum(r["predicted_bytes"] > (40e9 if "40 GB" in r["source"] else 80e9) for r in rows)


def room_of_published(collsim, rows):
    of_foundry = [r for r in rows if "Foundry" in r["source"]]
    plain = without_room(of_foundry)
    fused = [{**r, "loss": "fused"} for r in of_foundry]
    errors(collsim, fused)
    return (f"All of them ran, so all had room: of {len(rows) - len(of_foundry)} steps with `train` {without_room(rows) - plain} "
            f"are said to have none, of {len(of_foundry)}\nof LLM Foundry, whose loss is one kernel, {without_room(fused)} "
            f"(`\"loss\": \"fused\"`; {plain} without, as with PyTorch's own).")


def quantile(sizes, part):
    ordered = sorted(sizes)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def line(name, found):
    sizes = [abs(error) for error in found]
    return (f"| {name} | {len(found)} | {100 * statistics.median(sizes):.1f} % | "
            f"{100 * quantile(sizes, 0.95):.1f} % | {100 * statistics.median(found):+.1f} % |")


def write_runs(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def splits(collsim, rows):
    """Each number of GPUs of one node, predicted with a device fitted to all other runs."""
    for left_out in (2, 4, 8):
        device = fitted_device(collsim, [r for r in rows if r["gpus"] != left_out], "dgx-a100")
        asked = [r for r in rows if r["gpus"] == left_out]
        yield line(f"{left_out} GPUs, fitted to the others", errors(collsim, asked, device))


def spreads(rows):
    """T m/(m+p-1) of 175 B models, inside a tensor degree: largest / smallest."""
    groups = collections.defaultdict(list)
    for r in rows:
        if r["source"].startswith("vTrain 175"):
            m = r["global_batch"] / r["dp"] / r["micro_batch"]
            share = m / (m + r["pp"] - 1)
            groups[r["tp"]].append((r["predicted_s"] * share, r["iteration_s"] * share))
    for tp, times in sorted(groups.items()):
        columns = (" | ".join(f"{100 * (max(column) / statistics.median(column) - 1):+.1f} % / "
                              f"{100 * (min(column) / statistics.median(column) - 1):+.1f} %"
                              for column in zip(*times)))
        yield f"| {tp} | {len(times)} | {columns} |"


def over_gpus(rows):
    """FSDP: throughput per GPU against that of the fewest GPUs with the same settings."""
    groups = collections.defaultdict(list)
    for r in rows:
        if r["scheme"] == "fsdp":
            accumulated = r["global_batch"] // r["dp"] // r["micro_batch"]
            groups[(r["source"], r["model"], r["seq"], r["micro_batch"], accumulated, r["recompute"])].append(r)
    for (source, model, _, micro, _, _), group in groups.items():
        group.sort(key=lambda r: r["gpus"])
        first = group[0]
        for r in group[1:]:
            predicted = first["predicted_s"] / r["predicted_s"]
            measured = first["iteration_s"] / r["iteration_s"]
            yield predicted / measured - 1, (
                f"| {source}, {model}, {micro} sequences | {first['gpus']} to {r['gpus']} | "
                f"{measured:.3f} | {predicted:.3f} |")


def fitted_device(collsim, rows, preset, *options):
    with tempfile.TemporaryDirectory() as folder:
        write_runs(folder + "/runs.csv", rows)
        subprocess.run([collsim, "calibrate", "--from-training", folder + "/runs.csv", "--preset", preset, *options,
                        "-o", folder + "/machine.json"], check=True, capture_output=True)
        with open(folder + "/machine.json", encoding="utf-8") as file:
            return json.load(file)["workload"]["device"]


def on_one_gpu(collsim):
    h100, h200 = rows_of_one_gpu("h100", "dgx-h100"), rows_of_one_gpu("h200", "hgx-h200")
    yield line("H100, the preset's device", errors(collsim, h100))
    yield line("H200, the preset's device", errors(collsim, h200))
    yield line("both: memory, with 8 bytes less for each parameter", list(memory_errors(h100 + h200)))
    device = fitted_device(collsim, h100, "dgx-h100", "--hold", "skew,sharding,slowdown")
    yield line("H100, a device fitted to these rows", errors(collsim, h100, device))
    bandwidth = float(device["memory_bandwidth"].removesuffix("GB/s"))
    device["memory_bandwidth"] = f"{bandwidth * 4800 / 3350:.1f}GB/s"
    yield line("H200, that device with 4800/3350 of its bandwidth", errors(collsim, h200, device))


def report(collsim, rows, in_8_bits):
    by_source = collections.defaultdict(list)
    for r in rows:
        by_source[r["source"]].append(r)
    text = ["# Training steps: predicted and published", "",
            "Written by `./dev accuracy`. Published steps of transformers, each asked as a scenario with `train` or `fsdp` on the "
            "presets", "`dgx-a100` and `dgx-h100` with the devices that come with them. Those are fitted by `collsim calibrate "
            "--from-training` to the", "same rows: to all of A100 with 80 GB, and to those of H100, of which latency, launch and "
            "memory_bandwidth were measured", "(below) and are held. The tables are not part of this repository.", "",
            *(f"- Constants {kind}: {names}" for kind, names in CONSTANTS.items()), "",
            "| Runs | Rows | Half within | 95 % within | Median |", "|---|---|---|---|---|"]
    pooled = []
    for source, group in by_source.items():
        pooled += (found := errors(collsim, group))
        text.append(line(source, found))
    text.append(line("all", pooled))
    text += ["", room_of_published(collsim, rows), "", "One node, each number of GPUs predicted with a device fitted to the others:", "",
             "| Runs | Rows | Half within | 95 % within | Median |", "|---|---|---|---|---|",
             *splits(collsim, by_source["vTrain on one node"]), "",
             "T m/(m+p-1) of the 175 B models, largest and smallest against the median inside a tensor degree:", "",
             "| tp | Rows | Predicted | Measured |", "|---|---|---|---|", *spreads(rows), "",
             "FSDP over numbers of GPUs: throughput per GPU against that of the fewest:", "",
             "| Runs | GPUs | Measured | Predicted |", "|---|---|---|---|"]
    ratios = list(over_gpus(rows))
    text += [one for _, one in ratios]
    text += ["", f"The largest of these errors is {100 * max(abs(error) for error, _ in ratios):.1f} %.", "",
             "In 8 bits (`\"dtype\": \"float8\"`) on H100, to which nothing is fitted:", "",
             "| Runs | GPUs | Measured | Predicted | Error |", "|---|---|---|---|---|"]
    for r, error in zip(in_8_bits, errors(collsim, in_8_bits)):
        text.append(f"| {r['source']} | {r['gpus']} | {r['iteration_s']:.3f} s | {r['predicted_s']:.3f} s | {100 * error:+.1f} % |")
    text += ["", "Today's PyTorch on one GPU (2.11; [H100](2026-11-28-h100-steps.csv), [H200](2026-11-28-h200-steps.csv)), by "
             "`bench/gpu/training_steps.py`. Of these", "rows the preset's H100 has its latency, launch and memory_bandwidth "
             "only:", "", "| Device | Rows | Half within | 95 % within | Median |", "|---|---|---|---|---|",
             *on_one_gpu(collsim)]
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collsim")
    parser.add_argument("tables")
    parser.add_argument("-o", dest="output")
    parser.add_argument("--runs")
    asked = parser.parse_args()
    rows = read_rows(asked.tables)
    if asked.runs:
        write_runs(asked.runs + ".a100.csv", [r for r in rows if r["preset"] == "dgx-a100" and "40 GB" not in r["source"]])
        write_runs(asked.runs + ".h100.csv", [r for r in rows if r["preset"] == "dgx-h100"])
    text = report(asked.collsim, rows, rows_in_8_bits(asked.tables))
    print(text, end="")
    if asked.output:
        with open(asked.output, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
