// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/c_api/guarded.hpp>
#include <kadam/comm/communicator.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <string_view>

namespace kadam::c_api {
namespace {

kadam_status report(kadam_error* error, kadam_status status,
                    std::initializer_list<std::string_view> texts) noexcept {
  if (error == nullptr) return status;
  error->status = status;
  std::size_t end = 0;
  for (const std::string_view text : texts) {
    const std::size_t length = std::min(text.size(), static_cast<std::size_t>(KADAM_ERROR_LENGTH) - 1 - end);
    std::memcpy(error->text + end, text.data(), length);
    end += length;
  }
  error->text[end] = '\0';
  return status;
}

}  // namespace

kadam_status report_success(kadam_error* error) noexcept {
  return report(error, KADAM_SUCCESS, {});
}

kadam_status report_exception(const char* call, kadam_error* error) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return report(error, failure.status(), {failure.what()});
  } catch (const MpiError& failure) {
    return report(error, KADAM_MPI_FAILURE, {failure.what()});
  } catch (const PeerFailure& failure) {
    return report(error, KADAM_PEER_FAILURE, {failure.what()});
  } catch (const NullPointer& failure) {
    return report(error, KADAM_INVALID_ARGUMENT, {call, ": ", failure.what()});
  } catch (const std::invalid_argument& failure) {
    return report(error, KADAM_INVALID_ARGUMENT, {failure.what()});
  } catch (const std::bad_alloc&) {
    return report(error, KADAM_OUT_OF_MEMORY, {"out of memory"});
  } catch (const std::exception& failure) {
    return report(error, KADAM_FAILURE, {failure.what()});
  } catch (...) {
    return report(error, KADAM_FAILURE, {"an exception that is not a std::exception"});
  }
}

}  // namespace kadam::c_api
