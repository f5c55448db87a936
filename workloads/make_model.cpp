// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/make_model.hpp>

#include <stdexcept>

// Null unless OpenBLAS is linked: its own header is not needed, and other BLAS libraries do not have them.
extern "C" {
__attribute__((weak)) void openblas_set_num_threads(int threads);
__attribute__((weak)) int openblas_get_parallel(void);
}

namespace kadam::workloads {
namespace {

/// Keeps OpenBLAS, if it is the BLAS behind Kokkos Kernels, within the threads of Kokkos, for the whole
/// process. By itself it takes every core of the machine, on each MPI rank.
///
/// OpenBLAS built for OpenMP shares Kokkos' threads and gets all of them. Its build for POSIX threads brings
/// its own, which would fight for cores with those that OpenMP keeps spinning between kernels, so it gets
/// one: for more than one thread per rank install the other build (Debian: libopenblas0-openmp).
///
/// Returns the number of threads that OpenBLAS now has. 0: its functions are not there, because the BLAS is
/// another library, or Debian's libblas.so.3, which hides them. Then OPENBLAS_NUM_THREADS, or
/// OMP_NUM_THREADS, decides when the program starts.
int set_blas_threads(int kokkos_threads) {
  if (openblas_set_num_threads == nullptr || openblas_get_parallel == nullptr) {
    return 0;
  }
  constexpr int built_for_openmp = 2;
  const int threads = openblas_get_parallel() == built_for_openmp ? kokkos_threads : 1;
  openblas_set_num_threads(threads);
  return threads;
}

/// What to use instead of a kind that does not fit.
std::string kinds_for(const DataShape& shape) {
  if (shape.is_text()) {
    return "text: use transformer";
  }
  return shape.patch > 0 ? "images with a class per patch: use vit" : "images: use mlp, cnn or vit";
}

bool fits(const std::string& kind, const DataShape& shape) {
  return shape.is_text() == (kind == "transformer") && (shape.patch == 0 || kind == "vit");
}

}  // namespace

void ModelOptions::validate() const {
  if (kind == "mlp") {
    mlp.validate();
  } else if (kind == "cnn") {
    cnn.validate();
  } else if (kind == "transformer") {
    transformer.validate();
  } else if (kind == "vit") {
    transformer.validate();
    vit.validate();
  } else {
    throw std::invalid_argument("kadam::workloads::ModelOptions: kind '" + kind +
                                "' is not known: use mlp, cnn, vit or transformer");
  }
}

std::unique_ptr<Model> make_model(const ModelOptions& options, const DataShape& shape) {
  options.validate();
  if (!fits(options.kind, shape)) {
    throw std::invalid_argument("kadam::workloads::make_model: kind '" + options.kind + "' does not fit " +
                                kinds_for(shape));
  }
  set_blas_threads(ExecutionSpace().concurrency());
  if (options.kind == "mlp") {
    return std::make_unique<Mlp>(options.mlp, shape.pixels(), shape.classes);
  }
  if (options.kind == "cnn") {
    return std::make_unique<Cnn>(options.cnn, shape);
  }
  if (options.kind == "vit") {
    return std::make_unique<Vit>(options.vit, options.transformer, shape);
  }
  return std::make_unique<Transformer>(options.transformer, shape);
}

}  // namespace kadam::workloads
