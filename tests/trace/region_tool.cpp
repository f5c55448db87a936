// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// A small tool of Kokkos Tools: writes one line per region, kernel and allocation, into a file per process.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace {

std::FILE* lines = nullptr;

}  // namespace

struct SpaceHandle {
  char name[64];
};

extern "C" {

void kokkosp_init_library(int /*sequence*/, std::uint64_t /*version*/, std::uint32_t /*devices*/,
                          void* /*infos*/) {
  const char* folder = std::getenv("REGION_TOOL_FOLDER");
  lines = std::fopen((std::string(folder) + "/" + std::to_string(getpid())).c_str(), "w");
}
void kokkosp_finalize_library() {
  std::fclose(lines);
}

void kokkosp_push_profile_region(const char* name) {
  std::fprintf(lines, "push %s\n", name);
}
void kokkosp_pop_profile_region() {
  std::fprintf(lines, "pop\n");
}

void kokkosp_begin_parallel_for(const char* name, std::uint32_t /*device*/, std::uint64_t* id) {
  *id = 0;
  std::fprintf(lines, "kernel %s\n", name);
}
void kokkosp_begin_parallel_reduce(const char* name, std::uint32_t device, std::uint64_t* id) {
  kokkosp_begin_parallel_for(name, device, id);
}

void kokkosp_allocate_data(SpaceHandle /*space*/, const char* name, const void* /*data*/,
                           std::uint64_t /*size*/) {
  std::fprintf(lines, "allocate %s\n", name);
}

}  // extern "C"
