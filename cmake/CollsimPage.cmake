# SPDX-License-Identifier: Apache-2.0
# Pages that need no other file: style and script inside, and nothing else may run.
# Works while configuring and in scripts (cmake -P).
cmake_policy(VERSION 3.25)

# collsim_sha256_base64(text variable)
function(collsim_sha256_base64 text variable)
  string(SHA256 hash "${text}")
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(result "")
  # Three hexadecimal digits are two letters; 64 digits and two zeros are 22 times three.
  foreach(triple RANGE 0 21)
    math(EXPR start "${triple} * 3")
    string(SUBSTRING "${hash}00" ${start} 3 digits)
    math(EXPR first "0x${digits} / 64")
    math(EXPR second "0x${digits} % 64")
    string(SUBSTRING "${alphabet}" ${first} 1 first)
    string(SUBSTRING "${alphabet}" ${second} 1 second)
    string(APPEND result "${first}${second}")
  endforeach()
  string(SUBSTRING "${result}" 0 43 result) # the rest was padding
  set(${variable} "${result}=" PARENT_SCOPE)
endfunction()

# collsim_page(output TEMPLATE file STYLES file... SCRIPTS file... [LIBRARIES file...])
#
# Writes the template with @STYLE@, @SCRIPT@ and their hashes @STYLE_HASH@, @SCRIPT_HASH@ filled in.
# LIBRARIES come first as they are; SCRIPTS share one function in strict mode.
function(collsim_page output)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TEMPLATE" "STYLES;SCRIPTS;LIBRARIES")
  foreach(kind STYLES SCRIPTS LIBRARIES)
    set(${kind} "")
    foreach(file IN LISTS arg_${kind})
      file(READ "${file}" text)
      string(APPEND ${kind} "${text}")
    endforeach()
  endforeach()
  set(style "\n${STYLES}")
  set(script "\n${LIBRARIES}(() => {\n\"use strict\";\n${SCRIPTS}})();\n")
  if(script MATCHES "</script|<!--" OR style MATCHES "</style")
    message(FATAL_ERROR "${output}: a script or style would end too early")
  endif()
  collsim_sha256_base64("${style}" style_hash)
  collsim_sha256_base64("${script}" script_hash)
  file(READ "${arg_TEMPLATE}" page)
  string(REPLACE "@STYLE_HASH@" "${style_hash}" page "${page}")
  string(REPLACE "@SCRIPT_HASH@" "${script_hash}" page "${page}")
  string(REPLACE "@STYLE@" "${style}" page "${page}")
  string(REPLACE "@SCRIPT@" "${script}" page "${page}")
  file(CONFIGURE OUTPUT "${output}" CONTENT "@page@" @ONLY)
  if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${arg_TEMPLATE}" ${arg_STYLES} ${arg_SCRIPTS}
                                           ${arg_LIBRARIES})
  endif()
endfunction()
