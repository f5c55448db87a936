// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/device_event.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>

namespace kadam {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
namespace gpu {
namespace {

#if defined(KOKKOS_ENABLE_CUDA)
using Event = cudaEvent_t;
using Status = cudaError_t;
constexpr Status success = cudaSuccess;
constexpr Status not_ready = cudaErrorNotReady;

const char* words_of(Status status) {
  return cudaGetErrorString(status);
}
/// To ask too early counts as an error, which the next launch of a kernel would find.
void forget_error() {
  (void)cudaGetLastError();
}
Status make_event(const ExecutionSpace& exec, Event& event) {
  const Status status = cudaSetDevice(exec.cuda_device());
  return status == success ? cudaEventCreateWithFlags(&event, cudaEventDisableTiming) : status;
}
void drop_event(Event event) {
  (void)cudaEventDestroy(event);
}
Status set_event(const ExecutionSpace& exec, Event event) {
  return cudaEventRecord(event, exec.cuda_stream());
}
Status ask_event(Event event) {
  return cudaEventQuery(event);
}
Status wait_for_event(const ExecutionSpace& exec, Event event) {
  return cudaStreamWaitEvent(exec.cuda_stream(), event, 0);
}
#else
using Event = hipEvent_t;
using Status = hipError_t;
constexpr Status success = hipSuccess;
constexpr Status not_ready = hipErrorNotReady;

const char* words_of(Status status) {
  return hipGetErrorString(status);
}
/// To ask too early counts as an error, which the next launch of a kernel would find.
void forget_error() {
  (void)hipGetLastError();
}
Status make_event(const ExecutionSpace& exec, Event& event) {
  const Status status = hipSetDevice(exec.hip_device());
  return status == success ? hipEventCreateWithFlags(&event, hipEventDisableTiming) : status;
}
void drop_event(Event event) {
  (void)hipEventDestroy(event);
}
Status set_event(const ExecutionSpace& exec, Event event) {
  return hipEventRecord(event, exec.hip_stream());
}
Status ask_event(Event event) {
  return hipEventQuery(event);
}
Status wait_for_event(const ExecutionSpace& exec, Event event) {
  return hipStreamWaitEvent(exec.hip_stream(), event, 0);
}
#endif

void require_success(Status status, const char* what) {
  if (status == success) return;
  throw std::runtime_error(std::string("kadam::DeviceEvent: the device cannot ") + what + ": " +
                           words_of(status));
}

}  // namespace
}  // namespace gpu

DeviceEvent::~DeviceEvent() {
  if (event_ != nullptr) gpu::drop_event(static_cast<gpu::Event>(event_));
}

void DeviceEvent::record(const ExecutionSpace& exec) {
  if (event_ == nullptr) {
    gpu::Event made = nullptr;
    gpu::require_success(gpu::make_event(exec, made), "create an event");
    event_ = made;
  }
  gpu::require_success(gpu::set_event(exec, static_cast<gpu::Event>(event_)), "record an event");
}

bool DeviceEvent::is_reached() {
  if (event_ == nullptr) return true;
  const gpu::Status status = gpu::ask_event(static_cast<gpu::Event>(event_));
  if (status == gpu::not_ready) {
    gpu::forget_error();
    return false;
  }
  gpu::require_success(status, "query an event");
  return true;
}

void DeviceEvent::hold_back(const ExecutionSpace& exec) const {
  if (event_ == nullptr) return;
  gpu::require_success(gpu::wait_for_event(exec, static_cast<gpu::Event>(event_)), "wait for an event");
}

#else
namespace {

/// Whether kernels are done when their launch returns.
template <class Space>
constexpr bool launches_wait = false;
#ifdef KOKKOS_ENABLE_SERIAL
template <>
constexpr bool launches_wait<Kokkos::Serial> = true;
#endif
#ifdef KOKKOS_ENABLE_OPENMP
template <>
constexpr bool launches_wait<Kokkos::OpenMP> = true;
#endif

}  // namespace

DeviceEvent::~DeviceEvent() = default;

void DeviceEvent::record(const ExecutionSpace& exec) {
  if constexpr (!launches_wait<ExecutionSpace>) exec.fence("kadam::DeviceEvent::record");
  (void)exec;
  questions_left_ = late_by;
}

bool DeviceEvent::is_reached() {
  if (questions_left_ == 0) return true;
  --questions_left_;
  return false;
}

void DeviceEvent::hold_back(const ExecutionSpace& /*exec*/) const {}
#endif

}  // namespace kadam
