# shellcheck shell=bash disable=SC2034
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every fact about what Kadam is built from, in one place. Sourced, never run.

# Kokkos and Kokkos Kernels have no usable Debian package; a Python source package carries both in its tpls/ folder.
KADAM_KOKKOS_VERSION=4.7.0
KADAM_KOKKOS_KERNELS_VERSION=4.4.0
KADAM_CARRIER=pygenten
KADAM_CARRIER_VERSION=0.1.5
KADAM_CARRIER_SHA256=e620f05c742905e2db705d875f1cac92ef0ed453f9e6734e9beda26cc0f9cce7
# pip asks the carrier for its metadata, which takes these.
KADAM_PYTHON_CARRIER_NEEDS=(scikit-build-core==1.1.2 setuptools_scm==10.3.4 pybind11==3.1.0)
# kadam-report draws and writes its pages with these.
KADAM_PYTHON_REPORT_NEEDS=(matplotlib==3.11.2 jinja2==3.1.6)
# Tests compare files with NumPy, and read the equations of pages with docutils.
KADAM_PYTHON_TEST_NEEDS=(numpy==2.4.6 docutils==0.22.4)
# For the Python module, and its tests under mpirun.
KADAM_PYTHON_MODULE_NEEDS=(nanobind==3.1.0 mpi4py==4.1.2)
# For scripts/device_kernels.sh, where the CUDA toolkit comes without them.
KADAM_PYTHON_CUOBJDUMP_NEEDS=(nvidia-cuda-cuobjdump==13.2.51 nvidia-cuda-nvdisasm==13.2.51)
# For scripts/docs.sh. docutils, which Sphinx is built on, makes MathML of equations.
KADAM_PYTHON_DOCS_NEEDS=(sphinx==9.0.4 docutils==0.22.4 myst-parser==5.2.0 furo==2025.12.19 breathe==5.1.0)

# The package of Debian and Ubuntu; of Fedora and RHEL (with EPEL and CodeReady Builder); of openSUSE (- where there is
# none); and how to see without a package manager that it is not needed (a command, a header that the compiler finds, a
# library that the linker finds, a module or a header of python3, a file).
# Of BLAS, a header is not enough: with Debian's reference BLAS the transformer trains 20 times more slowly.
KADAM_PACKAGES_BUILD="
cmake                  cmake              cmake                 command:cmake
ninja-build            ninja-build        ninja                 command:ninja
g++                    gcc-c++            gcc-c++               command:c++
python3-venv           python3            python3               python:ensurepip
zlib1g-dev             zlib-devel         zlib-devel            header:zlib.h
libfmt-dev             fmt-devel          fmt-devel             header:fmt/format.h
libcli11-dev           cli11-devel        cli11-devel           header:CLI/CLI.hpp
libtomlplusplus-dev    tomlplusplus-devel tomlplusplus-devel    header:toml++/toml.h
nlohmann-json3-dev     json-devel         nlohmann_json-devel   header:nlohmann/json.hpp
libgtest-dev           gtest-devel        gtest                 header:gtest/gtest.h
libopenblas-dev        openblas-devel     openblas-common-devel library:openblas
"
# With it, a Fortran compiler for the module, and iproute2 for the network of scripts/netlab.sh.
KADAM_PACKAGES_MPI="
gfortran               gcc-gfortran       gcc-fortran           command:gfortran
openmpi-bin            openmpi            openmpi               command:mpirun
libopenmpi-dev         openmpi-devel      openmpi-devel         command:mpicxx
iproute2               iproute            iproute2              command:ip
"
KADAM_PACKAGES_PYTHON="
python3-dev            python3-devel      python3-devel         python-header:Python.h
"
KADAM_PACKAGES_MPICH="
gfortran               gcc-gfortran       gcc-fortran           command:gfortran
mpich                  mpich              mpich                 command:mpiexec.mpich
libmpich-dev           mpich-devel        mpich-devel           command:mpicxx.mpich
"
# Real data for the examples: other systems go on without them.
KADAM_PACKAGES_DATA="
dataset-fashion-mnist  -                  -                     file:/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz
bible-kjv              -                  -                     command:bible
bible-kjv-text         -                  -                     command:bible
"
KADAM_PACKAGES_HIP="
hipcc                  hipcc              -                     command:hipcc
libamdhip64-dev        rocm-hip-devel     -                     header:hip/hip_version.h
clang-16               clang16            clang16               command:clang++-16
clang-tools-16         clang16            clang16               command:clang-offload-bundler-16
llvm-16                llvm16             llvm16                command:llvm-config-16
libclang-rt-16-dev     compiler-rt16      clang16               file:/usr/lib/llvm-16/lib/clang/16/lib/linux/libclang_rt.builtins-x86_64.a
lld-16                 lld16              lld16                 command:ld.lld-16
"
# A second compiler, for scripts/check_processors.sh, with its OpenMP.
KADAM_PACKAGES_CLANG="
clang-16               clang16            clang16               command:clang++-16
libomp-16-dev          libomp-devel       libomp16-devel        file:/usr/lib/llvm-16/lib/libomp.so
"
# For scripts/check_arm.sh: a compiler for 64-bit Arm, qemu to run what it makes, and what the tests are linked with.
KADAM_PACKAGES_ARM="
g++-aarch64-linux-gnu  -                  -                     command:aarch64-linux-gnu-g++
qemu-user              -                  -                     command:qemu-aarch64
libc6-dev:arm64        -                  -                     file:/usr/lib/aarch64-linux-gnu/libc.so
libstdc++6:arm64       -                  -                     file:/usr/lib/aarch64-linux-gnu/libstdc++.so.6
libgomp1:arm64         -                  -                     file:/usr/lib/aarch64-linux-gnu/libgomp.so.1
libfmt-dev:arm64       -                  -                     file:/usr/lib/aarch64-linux-gnu/libfmt.so
libgtest-dev:arm64     -                  -                     file:/usr/lib/aarch64-linux-gnu/libgtest.a
zlib1g-dev:arm64       -                  -                     file:/usr/lib/aarch64-linux-gnu/libz.so
"
# For scripts/slurmlab.sh.
KADAM_PACKAGES_SLURM="
slurmctld              slurm-slurmctld    slurm                 command:slurmctld
slurmd                 slurm-slurmd       slurm-node            command:slurmd
slurm-client           slurm              slurm                 command:sbatch
munge                  munge              munge                 command:munged
"
# For the Debian package of scripts/release.sh.
KADAM_PACKAGES_RELEASE="
dpkg-dev               dpkg-dev           -                     command:dpkg-shlibdeps
file                   file               file                  command:file
"
KADAM_PACKAGES_DOCS="
doxygen                doxygen            doxygen               command:doxygen
python3-venv           python3            python3               python:ensurepip
"
KADAM_PACKAGES_CI="
clang-format           clang-tools-extra  clang-tools           command:clang-format
clang-tidy             clang-tools-extra  clang-tools           command:clang-tidy
shellcheck             ShellCheck         ShellCheck            command:shellcheck
pkg-config             pkgconf-pkg-config pkg-config            command:pkg-config
"

# GPU architectures that the dependencies are built for where nothing else is said; Kadam follows its Kokkos.
KADAM_CUDA_ARCHITECTURE=90
KADAM_CUDA_KOKKOS_ARCH=Kokkos_ARCH_HOPPER90
KADAM_HIP_KOKKOS_ARCH=Kokkos_ARCH_AMD_GFX90A
KADAM_APU_KOKKOS_ARCH=Kokkos_ARCH_AMD_GFX942_APU
# Debian's hipcc brings a clang 15 that crashes on C++20: its clang 16 compiles HIP as well.
KADAM_HIP_COMPILER=/usr/lib/llvm-16/bin/clang++
KADAM_HIP_FLAGS="--rocm-path=/usr --rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
# It knows the first MI300 (gfx940) and no gfx942: code for that, by what Kokkos has for the APU.
KADAM_APU_STAND_IN_KOKKOS_ARCH=Kokkos_ARCH_AMD_GFX940
KADAM_APU_STAND_IN_FLAGS=-DKOKKOS_ARCH_AMD_GFX942_APU
