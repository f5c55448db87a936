// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/process_grid.hpp>
#include <kadam/config.hpp>

#include <stdexcept>

#ifdef KADAM_ENABLE_MPI
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/comm/mpi_error.hpp>

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace kadam::insitu {
namespace {

/// Persistent requests of two messages to the neighbours and two from there.
class MpiNeighbourMessages final : public NeighbourMessages {
 public:
  MpiNeighbourMessages(MPI_Comm cartesian, Axis axis, const NeighbourBuffers& buffers) {
    const int direction = axis == Axis::x ? 1 : 0;
    std::array<int, 2> neighbours{};
    KADAM_MPI(MPI_Cart_shift(cartesian, direction, 1, &neighbours[0], &neighbours[1]));
    if (buffers.bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw std::invalid_argument("kadam-insitu: a halo is longer than 2 GiB: take more ranks");
    }
    const auto bytes = static_cast<int>(buffers.bytes);
    for (int side = 0; side < 2; ++side) {
      const auto at = static_cast<std::size_t>(side);
      // Both neighbours may be the same rank: the tag says which way a message goes. What comes from below
      // goes up.
      KADAM_MPI(MPI_Recv_init(buffers.from[at], bytes, MPI_BYTE, neighbours[at], 1 - side, cartesian,
                              &requests_[at]));
      KADAM_MPI(MPI_Send_init(buffers.to[at], bytes, MPI_BYTE, neighbours[at], side, cartesian,
                              &requests_[2 + at]));
    }
  }
  ~MpiNeighbourMessages() override {
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }
  MpiNeighbourMessages(const MpiNeighbourMessages&) = delete;
  MpiNeighbourMessages& operator=(const MpiNeighbourMessages&) = delete;

  void start() override { KADAM_MPI(MPI_Startall(static_cast<int>(requests_.size()), requests_.data())); }
  void wait() override {
    KADAM_MPI(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }

 private:
  std::array<MPI_Request, 4> requests_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                                          MPI_REQUEST_NULL};
};

/// Nodes of consecutive ranks, or those that share memory: as the program's communicator has them.
int ranks_per_node(Communicator& program) {
  if (!program.has_two_levels()) return 1;
  const int ranks = program.node().size();
  const double is_elsewhere = program.node().rank() == program.rank() % ranks ? 0.0 : 1.0;
  const std::vector<double> all = program.all_gather_values({&is_elsewhere, 1});
  return std::find(all.begin(), all.end(), 1.0) == all.end() ? ranks : 0;
}

MPI_Comm split_world(int rank) {
  MPI_Comm program = MPI_COMM_WORLD;  // or the one that the simulation was given
  MPI_Comm training = MPI_COMM_NULL;
  const int trains = 0;  // all ranks train; MPI_UNDEFINED for those that do not
  MPI_Comm_split(program, trains, rank, &training);
  return training;
}

}  // namespace

struct ProcessGrid::Cartesian {
  MPI_Comm communicator = MPI_COMM_NULL;

  explicit Cartesian(const Decomposition& decomposition) {
    const std::array<int, 2> extents = {decomposition.rows(), decomposition.columns()};
    const std::array<int, 2> periodic = {1, 1};
    const int may_reorder = 0;  // a rank's block follows from its rank
    KADAM_MPI(
        MPI_Cart_create(MPI_COMM_WORLD, 2, extents.data(), periodic.data(), may_reorder, &communicator));
    KADAM_MPI(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN));
  }
  ~Cartesian() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Comm_free(&communicator);
  }
  Cartesian(const Cartesian&) = delete;
  Cartesian& operator=(const Cartesian&) = delete;
};

std::unique_ptr<NeighbourMessages> ProcessGrid::messages(Axis axis, const NeighbourBuffers& buffers) const {
  return std::make_unique<MpiNeighbourMessages>(cartesian_->communicator, axis, buffers);
}

std::shared_ptr<Communicator> make_training_communicator(Communicator& program) {
  MpiOptions options;
  options.exchange.staging = program.stages_through_host() ? Staging::always : Staging::never;
  options.exchange.piece_bytes = program.piece_bytes();
  options.ranks_per_node = ranks_per_node(program);
  MPI_Comm training = split_world(program.rank());
  std::shared_ptr<Communicator> communicator = make_mpi_communicator(training, options);
  KADAM_MPI(MPI_Comm_free(&training));  // the library works on a duplicate
  return communicator;
}

}  // namespace kadam::insitu

#else

namespace kadam::insitu {

struct ProcessGrid::Cartesian {
  explicit Cartesian(const Decomposition& /*decomposition*/) {}
};

std::unique_ptr<NeighbourMessages> ProcessGrid::messages(Axis /*axis*/,
                                                         const NeighbourBuffers& /*buffers*/) const {
  throw std::logic_error("kadam-insitu: one rank is its own neighbour");
}

std::shared_ptr<Communicator> make_training_communicator(Communicator& program) {
  return program.duplicate();
}

}  // namespace kadam::insitu

#endif

namespace kadam::insitu {

ProcessGrid::ProcessGrid(const Decomposition& decomposition, const Communicator& program)
    : decomposition_(decomposition),
      rank_(program.rank()),
      staged_(program.stages_through_host()),
      // One rank is its own neighbour, and needs no MPI.
      cartesian_(decomposition.ranks() > 1 ? std::make_unique<Cartesian>(decomposition) : nullptr) {}

ProcessGrid::~ProcessGrid() = default;

}  // namespace kadam::insitu
