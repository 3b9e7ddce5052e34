# SPDX-License-Identifier: Apache-2.0
# Run while building, because the engine is built.  Lists are separated by commas.
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/CollsimPage.cmake")
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
string(REPLACE "," ";" STYLES "${STYLES}")
collsim_page("${OUTPUT}" TEMPLATE "${TEMPLATE}" STYLES ${STYLES} SCRIPTS ${SCRIPTS} LIBRARIES "${LIBRARY}")
