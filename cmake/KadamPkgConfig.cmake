# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kadam.pc, for programs that are built without CMake: mpicc -c $(pkg-config --cflags kadam), mpicxx $(pkg-config --libs
# kadam). Kokkos has no such file of its own, so its libraries stand here: static ones are installed with Kadam, in
# lib/kadam, so that the file names no folder of who built them; shared ones stand with their places. MPI is the
# compiler wrapper's business. Kokkos Kernels comes with its BLAS.
set(kadam_pc_names kokkoscontainers kokkosalgorithms kokkossimd kokkoscore)
if(KADAM_ENABLE_KOKKOS_KERNELS)
  list(PREPEND kadam_pc_names kokkoskernels)
endif()
set(kadam_pc_kokkos)
foreach(library IN LISTS kadam_pc_names)
  if(TARGET Kokkos::${library})
    get_target_property(type Kokkos::${library} TYPE)
    if(KADAM_ENABLE_KOKKOS_INSTALL AND type MATCHES "STATIC|SHARED")
      list(APPEND kadam_pc_kokkos "\${libdir}/kadam/kokkos/lib/$<TARGET_FILE_NAME:Kokkos::${library}>")
    elseif(type STREQUAL "STATIC_LIBRARY")
      install(FILES $<TARGET_FILE:Kokkos::${library}> DESTINATION ${CMAKE_INSTALL_LIBDIR}/kadam)
      list(APPEND kadam_pc_kokkos "\${libdir}/kadam/$<TARGET_FILE_NAME:Kokkos::${library}>")
    elseif(NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND kadam_pc_kokkos $<TARGET_FILE:Kokkos::${library}>)
    endif()
  endif()
endforeach()
if(KADAM_ENABLE_KOKKOS_KERNELS)
  foreach(target IN ITEMS LAPACK BLAS)
    if(TARGET Kokkos::${target})
      get_target_property(libraries Kokkos::${target} INTERFACE_LINK_LIBRARIES)
      if(libraries)
        list(APPEND kadam_pc_kokkos ${libraries})
      endif()
    endif()
  endforeach()
endif()
list(JOIN kadam_pc_kokkos " " kadam_pc_kokkos)
set(kadam_pc_rpath)
if(BUILD_SHARED_LIBS)
  set(kadam_pc_rpath "-Wl,-rpath,\${libdir} ")
endif()
set(kadam_pc_system "-ldl -lpthread -lstdc++ -lm")
if(Kokkos_ENABLE_OPENMP)
  string(PREPEND kadam_pc_system "-fopenmp ")
endif()
set(kadam_pc_fortran)
if(KADAM_ENABLE_FORTRAN)
  set(kadam_pc_fortran "-lkadam_fortran ")
endif()

file(RELATIVE_PATH kadam_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/kadam.pc CONTENT "prefix=\${pcfiledir}/${kadam_pc_prefix}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}

Name: kadam
Description: ${PROJECT_DESCRIPTION}
Version: ${Kadam_VERSION}
Cflags: -I\${includedir}
Libs: ${kadam_pc_rpath}-L\${libdir} ${kadam_pc_fortran}-lkadam ${kadam_pc_kokkos} ${kadam_pc_system}
")
install(FILES ${PROJECT_BINARY_DIR}/kadam.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
