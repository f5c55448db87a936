// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "slab.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace gray_scott {

Slab::Slab(MPI_Comm program, std::int64_t width, std::int64_t height, std::int64_t halo, bool is_staged)
    : width_(width), height_(height), halo_(halo), is_staged_(is_staged) {
  MPI_Comm_rank(program, &rank_);
  MPI_Comm_size(program, &size_);
  if (height / size_ < halo) {
    throw std::invalid_argument(
        fmt::format("a grid of {} rows cannot give each of {} ranks at least {} rows: take a larger "
                    "solver.height, or fewer ranks",
                    height, size_, halo));
  }
  if (is_staged) host_ = decltype(host_)("gray_scott::halos_on_host", 4 * halo * species * width);
  MPI_Comm_dup(program, &ranks_);
}

Field Slab::make_field(const ExecutionSpace& exec, const std::string& label) const {
  return Field(Kokkos::view_alloc(exec, label), static_cast<std::size_t>(rows() + 2 * halo_), species,
               static_cast<std::size_t>(width_));
}

void Slab::exchange(const ExecutionSpace& exec, const Field& field, std::int64_t count) const {
  const auto rows_from = [&](std::int64_t first) {
    return Field(field.data() + first * species * width_, count, species, width_);
  };
  // The first two are sent, the other two are received.
  const std::array<Field, 4> strips = {rows_from(halo_), rows_from(halo_ + rows() - count),
                                       rows_from(halo_ + rows()), rows_from(halo_ - count)};
  std::array<HostField, 4> on_host;
  std::array<double*, 4> data{};
  for (std::size_t k = 0; k < strips.size(); ++k) {
    if (is_staged_) on_host[k] = HostField(host_.data() + k * host_.size() / 4, count, species, width_);
    if (is_staged_ && k < 2) Kokkos::deep_copy(exec, on_host[k], strips[k]);
    data[k] = is_staged_ ? on_host[k].data() : strips[k].data();
  }
  exec.fence("gray_scott: rows are ready to be sent");
  const int above = (rank_ + size_ - 1) % size_;
  const int below = (rank_ + 1) % size_;
  const auto n = static_cast<int>(count * species * width_);
  MPI_Sendrecv(data[0], n, MPI_DOUBLE, above, 0, data[2], n, MPI_DOUBLE, below, 0, ranks_, MPI_STATUS_IGNORE);
  MPI_Sendrecv(data[1], n, MPI_DOUBLE, below, 1, data[3], n, MPI_DOUBLE, above, 1, ranks_, MPI_STATUS_IGNORE);
  for (std::size_t k = 2; is_staged_ && k < 4; ++k) Kokkos::deep_copy(exec, strips[k], on_host[k]);
}

std::int64_t Slab::bytes_sent(std::int64_t count) const {
  return size_ == 1 ? 0 : 2 * count * species * width_ * static_cast<std::int64_t>(sizeof(double));
}

HostField Slab::gather(const Field& field) const {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, field);
  std::vector<int> counts;
  std::vector<int> offsets;
  for (int rank = 0; rank < size_; ++rank) {
    offsets.push_back(static_cast<int>(begin_of(rank) * species * width_));
    counts.push_back(static_cast<int>((begin_of(rank + 1) - begin_of(rank)) * species * width_));
  }
  const HostField whole("gray_scott::whole_field", height_, species, width_);
  MPI_Allgatherv(&host(halo_, 0, 0), static_cast<int>(rows() * species * width_), MPI_DOUBLE, whole.data(),
                 counts.data(), offsets.data(), MPI_DOUBLE, ranks_);
  return whole;
}

}  // namespace gray_scott
