# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kadam_compile_flags: what every translation unit of this project is compiled with. Never installed.
add_library(kadam_compile_flags INTERFACE)
target_compile_features(kadam_compile_flags INTERFACE cxx_std_20)

set(host_cxx "$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>")
# sqrtf that may set errno, or trap, keeps the update loops scalar: half the speed of memory.
target_compile_options(kadam_compile_flags INTERFACE
  $<${host_cxx}:-fno-math-errno -fno-trapping-math>
  $<${host_cxx}:-Wall -Wextra -Wpedantic -Wshadow -Wconversion>)
if(KADAM_ENABLE_WARNINGS_AS_ERRORS)
  target_compile_options(kadam_compile_flags INTERFACE $<${host_cxx}:-Werror>)
endif()
if(KADAM_ENABLE_NATIVE_ARCH)
  target_compile_options(kadam_compile_flags INTERFACE $<${host_cxx}:-march=native>)
endif()
if(KADAM_ENABLE_SANITIZERS)
  target_compile_options(kadam_compile_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(kadam_compile_flags INTERFACE -fsanitize=address,undefined)
endif()
