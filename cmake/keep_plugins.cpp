// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Linked into sanitized programs only. MPI closes its plugins at the end; what they leaked then has no module
// name that a suppression could match, and looking for it takes minutes. So they stay.
extern "C" int dlclose(void* /*handle*/) {
  return 0;
}
