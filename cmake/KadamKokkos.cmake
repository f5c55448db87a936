# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Kokkos versions that Kadam compiles with. Read by the project, its installed package and scripts/setup.sh.
set(KADAM_KOKKOS_VERSIONS 4.5...<6)
