# SPDX-License-Identifier: Apache-2.0
# What every target of collsim has in common.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

if(PROJECT_IS_TOP_LEVEL)
  get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo or MinSizeRel" FORCE)
  endif()
  find_program(CCACHE_PROGRAM ccache)
  mark_as_advanced(CCACHE_PROGRAM)
  if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  endif()
endif()

# For quick builds: what -O2 and -O3 add is of use to engines, routes and the sums of real runs only, which say so, and
# GCC spends a tenth of its time on collecting garbage, where a unit needs less than 1 GiB in all.
add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>
                    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>)

# The same results on every machine: a fused multiply-add rounds once where two instructions round
# twice.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

if(COLLSIM_SANITIZE)
  list(JOIN COLLSIM_SANITIZE "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fno-sanitize=function)  # does not go together with coroutines in Clang 14
  endif()
  add_link_options(-fsanitize=${sanitizers})
endif()
add_feature_info(sanitizers "COLLSIM_SANITIZE" "${COLLSIM_SANITIZE}")

add_library(collsim_compile_options INTERFACE)
target_compile_options(
  collsim_compile_options
  INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>
    # Where several files are compiled as one, names of one shadow those of another, and GCC takes the
    # types of a file's own namespace for those of a header.
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-shadow>
    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-subobject-linkage>
    # {.chunks = 4} means to leave the other members at their defaults.
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
    # Device code calls constexpr functions; registers that do not suffice are an error, not a slow
    # kernel.
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=--warn-on-spills,--warn-on-local-memory-usage>
    # GCC 12 sees overlapping copies in "literal" + std::string where there are none (GCC bug 105651).
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)

# collsim_library(name SOURCES ... HEADERS ... [PUBLIC ...] [PRIVATE ...])
#
# A static library collsim::name.  HEADERS are its interface: they are installed, and each must
# compile alone (target all_verify_interface_header_sets).  PUBLIC and PRIVATE are what it links.
function(collsim_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "collsim_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(collsim_${name} STATIC ${arg_SOURCES})
  add_library(collsim::${name} ALIAS collsim_${name})
  set_target_properties(collsim_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(collsim_${name} PUBLIC cxx_std_20)
  target_sources(
    collsim_${name}
    PUBLIC FILE_SET HEADERS
           BASE_DIRS "${PROJECT_SOURCE_DIR}"
           FILES ${arg_HEADERS})
  target_link_libraries(
    collsim_${name}
    PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:collsim_compile_options>)
  set_property(GLOBAL APPEND PROPERTY COLLSIM_LIBRARIES collsim_${name})
endfunction()
