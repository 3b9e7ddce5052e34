// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/nccl_choice.hpp"

#include <cctype>
#include <optional>
#include <span>

#include "app/json/value.hpp"
#include "app/scenario/object_reader.hpp"

namespace collsim {
namespace {

const Vocabulary& algorithm_names() {
  static const Vocabulary names{
      .what = "algorithm of NCCL",
      .allowed = {"Tree", "Ring", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"}};
  return names;
}

const Vocabulary& protocol_names() {
  static const Vocabulary names{.what = "protocol of NCCL", .allowed = {"LL", "LL128", "Simple"}};
  return names;
}

std::string_view without_blanks(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string list_of_names(const Vocabulary& names) {
  std::string list;
  for (const std::string& name : names.allowed) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string unknown_name(std::string_view name, const Vocabulary& names) {
  if (name.empty()) return "a name is missing between its commas";
  std::string message = "NCCL knows no " + quoted(std::string(name));
  const std::string meant = names.nearest(name);
  message += meant.empty() ? "." : ", did you mean " + meant + "?";
  return message + " It has " + list_of_names(names);
}

std::string read_names(std::string_view list, const Vocabulary& names, std::span<bool> chosen) {
  const bool all_but = leaves_out(list);
  list = without_blanks(list);
  if (all_but) list.remove_prefix(1);
  for (bool& one : chosen) one = all_but;
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    const std::string_view name = without_blanks(list.substr(0, comma));
    const std::optional<std::string> known = names.canonical(name);
    if (!known) return unknown_name(name, names);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (names.allowed[i] == *known) chosen[i] = !all_but;
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return {};
}

}  // namespace

const char* to_string(NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::p2p) return "p2p";
  return algorithm_names().allowed[static_cast<std::size_t>(algorithm)].c_str();
}

LinkProtocol nccl_protocol_of(LinkProtocol protocol) {
  if (protocol == LinkProtocol::p2p_ll) return LinkProtocol::ll;
  const bool simple = protocol == LinkProtocol::p2p_simple || protocol == LinkProtocol::nvls;
  return simple ? LinkProtocol::simple : protocol;
}

std::string nccl_text(NcclAlgorithm algorithm, LinkProtocol protocol) {
  return std::string(to_string(algorithm)) + " " + to_string(nccl_protocol_of(protocol));
}

bool NcclChoice::allows(NcclAlgorithm algorithm, LinkProtocol protocol) const {
  return protocols.at(static_cast<std::size_t>(nccl_protocol_of(protocol))) &&
         (algorithm == NcclAlgorithm::p2p || algorithms.at(static_cast<std::size_t>(algorithm)));
}

bool leaves_out(std::string_view list) {
  return without_blanks(list).starts_with('^');
}

std::string read_nccl_algorithms(std::string_view list, NcclChoice& choice) {
  choice.algo_text = list;
  return read_names(list, algorithm_names(), choice.algorithms);
}

std::string read_nccl_protocols(std::string_view list, NcclChoice& choice) {
  choice.proto_text = list;
  return read_names(list, protocol_names(), choice.protocols);
}

}  // namespace collsim
