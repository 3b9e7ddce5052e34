# SPDX-License-Identifier: Apache-2.0
# `cmake --install` puts the headers under include/collsim and makes find_package(collsim) work.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/collsim")
get_property(libraries GLOBAL PROPERTY COLLSIM_LIBRARIES)

install(
  TARGETS ${libraries}
  EXPORT collsim-targets
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/collsim")
install(
  EXPORT collsim-targets
  NAMESPACE collsim::
  DESTINATION "${package_dir}")

write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/collsim-config-version.cmake" COMPATIBILITY SameMinorVersion)
configure_file("${PROJECT_SOURCE_DIR}/cmake/collsim-config.cmake.in"
               "${PROJECT_BINARY_DIR}/collsim-config.cmake" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/collsim-config.cmake"
              "${PROJECT_BINARY_DIR}/collsim-config-version.cmake" DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
