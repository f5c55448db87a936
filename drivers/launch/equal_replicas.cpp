// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/options/option_fields.hpp>
#include <launch/equal_replicas.hpp>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kadam::launch {

std::uint64_t require_equal_replicas(Communicator& communicator, const ExecutionSpace& exec,
                                     const Vector<float>& parameters) {
  exec.fence("kadam::launch::require_equal_replicas");
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, parameters);
  const std::string_view bytes(reinterpret_cast<const char*>(host.data()), host.size() * sizeof(float));
  const std::array<std::string, 1> names = {"the parameters (hash)"};
  const std::array<std::uint64_t, 1> hashes = {hash_of(bytes)};
  try {
    communicator.require_equal(names, hashes);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(
        std::string("the ranks' parameters are not the same any more, and must be: report it. ") +
        error.what());
  }
  return hashes.front();
}

}  // namespace kadam::launch
