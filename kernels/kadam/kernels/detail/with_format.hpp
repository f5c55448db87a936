// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace kadam::detail {

/// Calls function(functor) or, if functor has one of several number formats at run time and so a member
/// with_format(), function(typed functor), with a functor for this format alone.
///
/// Call it around a loop over a block or tile: then the loop contains no choice, so that it vectorises on
/// CPUs, and all threads of a GPU's team take the same branch.
template <class Functor, class Function>
KOKKOS_FORCEINLINE_FUNCTION void with_format(const Functor& functor, const Function& function) {
  if constexpr (requires { functor.with_format(function); }) {
    functor.with_format(function);
  } else {
    function(functor);
  }
}

}  // namespace kadam::detail
