# SPDX-License-Identifier: Apache-2.0
# Text files as part of the program, so that it needs no file beside itself.

# collsim_embed(target function file...)
#
# Gives the target the function `std::span<const EmbeddedFile> collsim::function()` of
# app/embedded_files.hpp: the files in the given order.
function(collsim_embed target function)
  set(entries "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM stem)
    file(READ "${file}" text)
    string(APPEND entries "    {\"${stem}\", R\"embedded(${text})embedded\"sv},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
// Made by cmake/CollsimEmbed.cmake.
#include "app/embedded_files.hpp"

#pragma GCC diagnostic ignored "-Woverlength-strings"  // of any length

namespace collsim {
namespace {
// These literals carry their length: char_traits::length would hit -fconstexpr-loop-limit (262,144).
using namespace std::string_view_literals;

constexpr EmbeddedFile @function@_files[] = {
@entries@};
}  // namespace

std::span<const EmbeddedFile> @function@() {
  return @function@_files;
}
}  // namespace collsim
]])
  target_sources(${target} PRIVATE "${source}")
endfunction()
