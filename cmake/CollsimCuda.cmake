# SPDX-License-Identifier: Apache-2.0
# Decides once whether this build has CUDA: COLLSIM_HAVE_CUDA, and enables the language when it has.
#
# AUTO does without when something is missing and says what; ON stops; OFF does not look.

set(COLLSIM_HAVE_CUDA FALSE)
set(cuda_reason "COLLSIM_CUDA=OFF")

if(NOT COLLSIM_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "COLLSIM_CUDA is AUTO, ON or OFF, not \"${COLLSIM_CUDA}\"")
endif()

if(NOT COLLSIM_CUDA STREQUAL "OFF")
  # The toolkit first: check_language alone misses an nvcc that is not on PATH.
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(cuda_reason "no CUDA toolkit found")
  elseif(CUDAToolkit_VERSION VERSION_LESS 12.0)
    set(cuda_reason "CUDA ${CUDAToolkit_VERSION} is too old, C++20 needs 12.0")
  else()
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
      set(ENV{CUDACXX} "${CUDAToolkit_NVCC_EXECUTABLE}")
    endif()
    # Two host compilers in one program are an ABI trap.
    if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
      set(ENV{CUDAHOSTCXX} "${CMAKE_CXX_COMPILER}")
    endif()
    # "native" configures silently where there is no GPU, and proves nothing.
    # Machine code for what there is, and the newest in a form that later GPUs can still compile.
    if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
      if(CUDAToolkit_VERSION VERSION_LESS 12.8)
        set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
      else()
        set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
      endif()
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      enable_language(CUDA)
      # CMake 3.25 does not know how to ask nvcc for C++20.
      if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      endif()
      set(CMAKE_CUDA_STANDARD 20)
      set(CMAKE_CUDA_STANDARD_REQUIRED ON)
      if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
        set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
      endif()
      set(COLLSIM_HAVE_CUDA TRUE)
      list(JOIN CMAKE_CUDA_ARCHITECTURES ", " architectures)
      set(cuda_reason "nvcc ${CUDAToolkit_VERSION}, for architectures ${architectures}")
    else()
      set(cuda_reason "${CUDAToolkit_NVCC_EXECUTABLE} cannot compile with ${CMAKE_CXX_COMPILER}")
    endif()
  endif()
  if(COLLSIM_CUDA STREQUAL "ON" AND NOT COLLSIM_HAVE_CUDA)
    message(FATAL_ERROR "COLLSIM_CUDA=ON, but ${cuda_reason}")
  endif()
endif()

add_feature_info("CUDA compiler" COLLSIM_HAVE_CUDA "${cuda_reason}")
