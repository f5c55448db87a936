// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/c_api/guarded.hpp>
#include <kadam/c_api/optimizer.hpp>
#include <kadam/config.hpp>
#include <kadam/execution.hpp>

#include <utility>

#ifdef KADAM_ENABLE_MPI
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/comm/socket_communicator.hpp>
#endif

using kadam::c_api::guarded;
using kadam::c_api::required;
using kadam::c_api::usable;

kadam_optimizer::kadam_optimizer(const kadam_setup& of,
                                 const std::shared_ptr<kadam::Communicator>& communicator)
    : setup(of),
      optimizer(of.make(communicator)),
      memory(of.memory),
      copies(memory == KADAM_MEMORY_HOST && !kadam::kernels_run_on_host),
      arrays("kadam::c_api", elements(), copies),
      read_("kadam::c_api::read", copies) {}

kadam::Parameters kadam_optimizer::in(float* parameters) {
  return arrays.in(exec, &required(parameters, "the array of parameters"));
}

kadam::Parameters kadam_optimizer::out(float* parameters) {
  return arrays.out(exec, &required(parameters, "the array of parameters"));
}

void kadam_optimizer::give_back(const kadam::Parameters& written, float* parameters) {
  arrays.give_back(exec, written, parameters);
  finish();
}

kadam::Vector<const float> kadam_optimizer::read(const float* parameters) {
  const float& first = required(parameters, "the array of parameters");
  // Read, never written, as a gradient is.
  return read_.in(exec, const_cast<float*>(&first), elements());
}

kadam::Gradient kadam_optimizer::gradient_of(const void* data) {
  (void)required(static_cast<const std::byte*>(data), "the array of the gradient");
  return kadam::caller::gradient_in(exec, read_, data, optimizer->gradient_format(), elements());
}

namespace kadam::c_api {

void require_kokkos() {
  if (Kokkos::is_initialized()) return;
  throw Failure(
      KADAM_NOT_READY,
      Kokkos::is_finalized()
          ? "Kokkos was finalised already: destroy optimizers before that"
          : "Kokkos is not initialised: call kadam_kokkos_initialize() or Kokkos::initialize() first");
}

kadam_optimizer& usable(kadam_optimizer* optimizer) {
  require_kokkos();
  return required(optimizer, "the optimizer");
}

namespace {

void create(const kadam_setup* setup, kadam_optimizer** optimizer,
            const std::shared_ptr<Communicator>& communicator) {
  *optimizer = new kadam_optimizer(*setup, communicator);
}

/// Throws for arguments that are wrong before there is a communicator; writes NULL to *optimizer.
void require_creatable(const kadam_setup* setup, kadam_optimizer** optimizer) {
  required(optimizer, "the place for the optimizer") = nullptr;
  (void)required(setup, "the setup");
  require_kokkos();
}

#ifdef KADAM_ENABLE_MPI

std::shared_ptr<Communicator> communicator_of(const kadam_setup& setup, MPI_Comm communicator) {
  MpiOptions mpi;
  mpi.exchange = setup.exchange;
  mpi.ranks_per_node = setup.over_tcp ? 1 : setup.ranks_per_node;
  mpi.allow_alone = setup.allow_alone;
  std::shared_ptr<Communicator> ranks = make_mpi_communicator(communicator, mpi);
  if (!setup.over_tcp) return ranks;
  SocketOptions tcp;
  tcp.exchange = setup.exchange;
  tcp.ranks_per_node = setup.ranks_per_node;
  return make_socket_communicator(*ranks, tcp);
}

#endif

}  // namespace

kadam_status without_checkpoints(const char* call, kadam_error* error) {
  return guarded(call, error, [] {
    throw Failure(KADAM_NOT_BUILT,
                  "this library was built without checkpoints: build it with KADAM_ENABLE_CHECKPOINT=ON");
  });
}

}  // namespace kadam::c_api

kadam_status kadam_create_alone(const kadam_setup* setup, kadam_optimizer** optimizer, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam::c_api::require_creatable(setup, optimizer);
    kadam::c_api::create(setup, optimizer, kadam::Communicator::self());
  });
}

#ifdef KADAM_ENABLE_MPI

kadam_status kadam_create(const kadam_setup* setup, MPI_Comm communicator, kadam_optimizer** optimizer,
                          kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam::c_api::require_creatable(setup, optimizer);
    kadam::c_api::create(setup, optimizer, kadam::c_api::communicator_of(*setup, communicator));
  });
}

kadam_status kadam_create_fortran(const kadam_setup* setup, MPI_Fint communicator,
                                  kadam_optimizer** optimizer, kadam_error* error) {
  return kadam_create(setup, MPI_Comm_f2c(communicator), optimizer, error);
}

#endif

kadam_status kadam_destroy(kadam_optimizer** optimizer, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer*& own = required(optimizer, "the place of the optimizer");
    if (own == nullptr) return;
    kadam::c_api::require_kokkos();
    delete std::exchange(own, nullptr);
  });
}

kadam_status kadam_set_stream(kadam_optimizer* optimizer, void* stream, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    of.exec.fence("kadam::c_api: another stream");
#if defined(KOKKOS_ENABLE_CUDA)
    of.exec = kadam::ExecutionSpace(static_cast<cudaStream_t>(stream));
#elif defined(KOKKOS_ENABLE_HIP)
    of.exec = kadam::ExecutionSpace(static_cast<hipStream_t>(stream));
#else
    (void)stream;
    throw kadam::c_api::Failure(
        KADAM_NOT_BUILT, "this library computes on the host, where there are no streams: leave out this call");
#endif
  });
}

kadam_format kadam_gradient_format(const kadam_optimizer* optimizer) {
  if (optimizer == nullptr) return KADAM_FLOAT32;
  switch (optimizer->optimizer->gradient_format()) {
    case kadam::NumberFormat::bfloat16:
      return KADAM_BFLOAT16;
    case kadam::NumberFormat::float16:
      return KADAM_FLOAT16;
    case kadam::NumberFormat::float32:
      break;
  }
  return KADAM_FLOAT32;
}

kadam_status kadam_set_model(kadam_optimizer* optimizer, void* model, kadam_format format,
                             kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    if (model != nullptr && format != KADAM_BFLOAT16 && format != KADAM_FLOAT16) {
      throw std::invalid_argument(
          "kadam_set_model: expected the format KADAM_BFLOAT16 (1) or KADAM_FLOAT16 (2), got " +
          std::to_string(format));
    }
    of.arrays.set_model(
        model, format == KADAM_FLOAT16 ? kadam::NumberFormat::float16 : kadam::NumberFormat::bfloat16,
        of.copies);
  });
}
