# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kadam_compile_flags: what every translation unit of this project is compiled with. Never installed.
add_library(kadam_compile_flags INTERFACE)
target_compile_features(kadam_compile_flags INTERFACE cxx_std_20)
# The same for CUDA: CMake 3.25 does not know cuda_std_20 for nvcc 13, which falls to C++17.
set(kadam_device_standard $<$<COMPILE_LANGUAGE:CUDA,HIP>:-std=c++20>)
target_compile_options(kadam_compile_flags INTERFACE ${kadam_device_standard})

set(kadam_host_cxx "$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>")
set(kadam_host_c "$<COMPILE_LANG_AND_ID:C,GNU,Clang>")
# sqrtf that may set errno, or trap, keeps the update loops scalar: half the speed of memory.
target_compile_options(kadam_compile_flags INTERFACE
  $<${kadam_host_cxx}:-fno-math-errno -fno-trapping-math>
  # A fused h - q s would leave another error than the rounded q s that all ranks decode: no contraction, so that
  # nothing is lost and results do not depend on the compiler. Kernels wait for memory; it costs nothing.
  $<${kadam_host_cxx}:-ffp-contract=off>)
# As a part of another project, warnings would be those of its Kokkos.
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(kadam_compile_flags INTERFACE
    "$<$<OR:${kadam_host_cxx},${kadam_host_c}>:-Wall;-Wextra;-Wpedantic;-Wconversion>"
    # clang remarks on loops that it was asked to vectorise, and could not.
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>
    "$<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-Wall;-Wextra;-std=f2018>")
  # Where files are united, a local name that a constant of another file has is no mistake.
  if(NOT CMAKE_UNITY_BUILD)
    target_compile_options(kadam_compile_flags INTERFACE $<${kadam_host_cxx}:-Wshadow>)
  endif()
endif()
if(KADAM_ENABLE_WARNINGS_AS_ERRORS)
  target_compile_options(kadam_compile_flags INTERFACE
    $<${kadam_host_cxx}:-Werror> $<${kadam_host_c}:-Werror>
    $<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-Werror>)
endif()
# What the user says of the processor comes first.
if(KADAM_ENABLE_NATIVE_ARCH AND NOT CMAKE_CXX_FLAGS MATCHES "-m(arch|cpu)=")
  target_compile_options(kadam_compile_flags INTERFACE $<${kadam_host_cxx}:-march=native>)
  # Compilers prefer vectors of 256 bits where AVX-512 has 512. Memory is a tenth faster with the longer ones, because
  # more of it is under way at a time.
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-mprefer-vector-width=512 KADAM_HAS_PREFER_VECTOR_WIDTH)
  if(KADAM_HAS_PREFER_VECTOR_WIDTH)
    target_compile_options(kadam_compile_flags INTERFACE $<${kadam_host_cxx}:-mprefer-vector-width=512>)
  endif()
endif()
if(KADAM_SANITIZERS)
  target_compile_options(kadam_compile_flags INTERFACE -fsanitize=${KADAM_SANITIZERS} -fno-omit-frame-pointer)
  target_link_options(kadam_compile_flags INTERFACE -fsanitize=${KADAM_SANITIZERS})
endif()
# Kokkos' fences: g++ says that it does not follow them, which can only make it suspect too much.
if(KADAM_SANITIZERS MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kadam_compile_flags INTERFACE -Wno-tsan)
endif()
if(KADAM_SANITIZERS MATCHES "undefined")
  target_compile_options(kadam_compile_flags INTERFACE -fno-sanitize-recover=undefined)
endif()
if(KADAM_SANITIZERS MATCHES "address")
  if(KADAM_ENABLE_MPI)
    set(kadam_is_executable $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
    target_sources(kadam_compile_flags INTERFACE
      $<${kadam_is_executable}:${PROJECT_SOURCE_DIR}/cmake/keep_plugins.cpp>)
    target_link_options(kadam_compile_flags INTERFACE
      $<${kadam_is_executable}:LINKER:--export-dynamic-symbol=dlclose>)
  endif()
endif()

# For targets of the examples, whose files know nothing of this project.
function(kadam_own_flags)
  foreach(target IN LISTS ARGV)
    target_link_libraries(${target} PRIVATE kadam_compile_flags)
  endforeach()
endfunction()

if(Kokkos_COMPILE_LANGUAGE STREQUAL "CUDA")
  target_compile_options(kadam_compile_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-math-errno,-fno-trapping-math,-Wall,-Wextra>)
  find_package(CUDAToolkit REQUIRED)
  if(Kokkos_VERSION VERSION_LESS 4.7.1 AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(kadam_compile_flags INTERFACE
      "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/cuda13_compat.hpp>")
  endif()
endif()
