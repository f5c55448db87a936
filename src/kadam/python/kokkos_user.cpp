// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/python/kokkos_user.hpp>

#include <Kokkos_Core.hpp>

#include <stdexcept>
#include <vector>

namespace kadam::python {
namespace {

/// Who uses Kokkos in this process. Guarded by Python's lock, under which objects come and go.
struct KokkosHere {
  std::vector<KokkosUser*> users;
  bool is_ours = false;      ///< initialised here
  bool is_attended = false;  ///< let_all_go() is called before Kokkos ends, whoever ends it
};

/// Never destroyed: Python may end after C++ has destroyed what is static.
KokkosHere& here() {
  static auto* const only = new KokkosHere;
  return *only;
}

void let_all_go() {
  for (KokkosUser* const user : here().users) user->let_go();
}

void start_kokkos() {
  if (Kokkos::is_finalized()) {
    throw std::runtime_error(
        "Kokkos has ended already, and cannot start again: make optimizers before the program ends");
  }
  if (!Kokkos::is_initialized()) {
    Kokkos::InitializationSettings settings;
    settings.set_disable_warnings(true);  // printed by Kokkos, to nobody who asked
    Kokkos::initialize(settings);
    here().is_ours = true;
  }
  if (here().is_attended) return;
  Kokkos::push_finalize_hook(let_all_go);
  here().is_attended = true;
}

}  // namespace

KokkosUser::KokkosUser() {
  start_kokkos();
  here().users.push_back(this);
}

KokkosUser::~KokkosUser() {
  std::erase(here().users, this);
}

int host_threads() {
  start_kokkos();
  return Kokkos::DefaultHostExecutionSpace().concurrency();
}

void end_kokkos() {
  if (here().is_ours && Kokkos::is_initialized()) {
    Kokkos::finalize();  // all let go there
  } else {
    let_all_go();
  }
}

}  // namespace kadam::python
