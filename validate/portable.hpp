// SPDX-License-Identifier: Apache-2.0
#pragma once

// Code that both a CPU thread and a GPU thread run: nvcc makes it device code, other compilers
// ordinary functions.  Such code includes nothing but plain C++20 headers.
#ifdef __CUDACC__
#define COLLSIM_LANE_CODE __device__
#else
#define COLLSIM_LANE_CODE
#endif
