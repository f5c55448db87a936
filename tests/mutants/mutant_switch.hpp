// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CMake asks the compiler some things without saying which C++.
#if __cplusplus >= 202002L

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

/// Chooses one of the faults that scripts/mutants.sh compiles into a copy of the sources. No other build sees
/// this file.
///
/// KADAM_MUTANT names the fault that is on; KADAM_MUTANT_REACHED a file that exists as soon as the fault has
/// run, so that a test that never gets there is told from one that does not look.
namespace kadam_mutant {

constexpr std::uint64_t hash(const char* text) {
  std::uint64_t value = 14695981039346656037ULL;
  for (; *text != '\0'; ++text) value = (value ^ static_cast<unsigned char>(*text)) * 1099511628211ULL;
  return value;
}

/// A name that the compiler has turned into a number: kernels compare nothing else.
struct Name {
  std::uint64_t number;
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Name(const char* text) : number(hash(text)) {}
};

inline std::uint64_t chosen() {
  const char* name = std::getenv("KADAM_MUTANT");
  return name == nullptr ? 0 : hash(name);
}

inline const std::uint64_t active = chosen();
inline bool is_noted = false;  // a race of threads would write the same twice

inline void note_reached() {
  is_noted = true;
  const char* path = std::getenv("KADAM_MUTANT_REACHED");
  if (path == nullptr) return;
  if (std::FILE* file = std::fopen(path, "w")) std::fclose(file);
}

/// Whether this fault is on. Constants that a compiler computes are always those of the sources.
constexpr bool on(Name name) {
  if (std::is_constant_evaluated()) return false;
  if (name.number != active) return false;
  if (!is_noted) note_reached();
  return true;
}

}  // namespace kadam_mutant

#endif
