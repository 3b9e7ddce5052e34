// SPDX-License-Identifier: Apache-2.0

extern "C" int ncclGetVersion(int* version) {
  *version = FAKE_NCCL_VERSION;
  return 0;
}
