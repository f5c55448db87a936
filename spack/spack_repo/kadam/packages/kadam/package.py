# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Kadam(CMakePackage, CudaPackage, ROCmPackage):
    """Distributed Adam optimizers that send a fraction of a gradient, on Kokkos and MPI: for training that is limited
    by the network, alone or next to a solver."""

    # There is no public repository yet: Spack clones the checkout that this recipe lies in (docs/spack.md).
    git = pathlib.Path(__file__).resolve().parents[5].as_uri()

    test_requires_compiler = True

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")
    # In a checkout it is what the branch has; scripts/release.sh makes the recipe that fetches an archive.
    version("0.2.0", branch="main")

    variant("mpi", default=True, description="Exchange over MPI (without: one rank only)")
    variant("shared", default=True, description="Build shared libraries")
    variant("openmp", default=True, description="OpenMP as Kokkos' host backend (without: serial)")
    variant("drivers", default=False, description="Install the programs: kadam-train, kadam-plan, ...")
    variant("checkpoint", default=True, description="Save and restore optimizers")
    variant("fortran", default=False, description="Install the Fortran module")
    variant("python", default=False, description="Install the Python module")
    variant("nccl", default=False, description="Use NCCL between the NVIDIA GPUs of a node")
    variant("tests", default=False, description="Build the tests")

    # As in Kokkos, which is built for one architecture: a second value is refused here already.
    variant(
        "cuda_arch",
        default="none",
        values=("none",) + CudaPackage.cuda_arch_values,
        multi=False,
        sticky=True,
        when="+cuda",
        description="CUDA architecture",
    )
    variant(
        "amdgpu_target",
        default="none",
        values=("none",) + ROCmPackage.amdgpu_targets,
        multi=False,
        sticky=True,
        when="+rocm",
        description="AMD GPU architecture",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")

    conflicts("%gcc@:10", msg="Kadam needs the library of C++20 (std::bit_cast): take GCC 11 or newer.")
    conflicts("%llvm@:13", msg="Kadam needs the library of C++20 (std::bit_cast): take Clang 14 or newer.")

    # ---- Kokkos ---------------------------------------------------------------------------------------------

    depends_on("kokkos@4.5:5 cxxstd=20 +pic")
    depends_on("kokkos+shared", when="+shared")
    requires(
        "^kokkos+shared",
        when="+shared",
        msg="A shared Kadam needs a shared Kokkos, or a program would hold two of them: kadam ^kokkos+shared, "
        "or kadam~shared.",
    )
    depends_on("kokkos+openmp", when="+openmp")
    depends_on("kokkos+serial~openmp", when="~openmp")
    for _variant in ("+openmp", "~openmp"):
        requires(
            f"^kokkos{_variant}",
            when=_variant,
            msg=f"kadam{_variant} is about Kokkos' host backend, and ^kokkos says another: leave one of them away.",
        )

    # depends_on() hands down, also what is sticky there; requires() says in words what went wrong if it could not.
    for _arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos+cuda cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
        requires(
            f"^kokkos+cuda cuda_arch={_arch}",
            when=f"+cuda cuda_arch={_arch}",
            msg=f"Kadam and Kokkos have to be built for the same GPU: with kadam+cuda cuda_arch={_arch} leave +cuda, "
            "+rocm and cuda_arch of ^kokkos away.",
        )
    for _target in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos+rocm amdgpu_target={_target}", when=f"+rocm amdgpu_target={_target}")
        requires(
            f"^kokkos+rocm amdgpu_target={_target}",
            when=f"+rocm amdgpu_target={_target}",
            msg=f"Kadam and Kokkos have to be built for the same GPU: with kadam+rocm amdgpu_target={_target} leave "
            "+rocm, +cuda and amdgpu_target of ^kokkos away.",
        )
    conflicts("+cuda", when="+rocm", msg="Kokkos is built for NVIDIA's GPUs or for AMD's: choose +cuda or +rocm.")
    conflicts(
        "cuda_arch=none",
        when="+cuda",
        msg="Say for which GPU: kadam+cuda cuda_arch=90 (H100), or leave it to Kokkos: "
        "kadam ^kokkos+cuda cuda_arch=90.",
    )
    conflicts(
        "amdgpu_target=none",
        when="+rocm",
        msg="Say for which GPU: kadam+rocm amdgpu_target=gfx90a (MI250), or leave it to Kokkos: "
        "kadam ^kokkos+rocm amdgpu_target=gfx90a.",
    )

    # How sources are compiled for a GPU. Errors kept by compression are exact only without contraction of products and
    # sums: Kadam's CMake tells nvcc so where CUDA is a language of CMake, and clang where HIP is C++.
    requires(
        "^kokkos+cmake_lang~wrapper",
        when="^kokkos+cuda",
        msg="Kadam compiles for NVIDIA's GPUs with a Kokkos for which CUDA is a language of CMake: "
        "^kokkos+cmake_lang~wrapper.",
    )
    requires(
        "^kokkos~cmake_lang",
        when="^kokkos+rocm",
        msg="Kadam compiles for AMD's GPUs with a Kokkos whose C++ compiler is hipcc: ^kokkos~cmake_lang.",
    )
    requires("^kokkos+cuda_lambda", when="^kokkos@:4+cuda", msg="Kadam's kernels are lambdas: ^kokkos+cuda_lambda.")
    conflicts("%llvm", when="^kokkos+cuda", msg="Kadam's options for CUDA are nvcc's: take GCC for C++ (%gcc).")

    # ---- by feature -----------------------------------------------------------------------------------------

    depends_on("mpi", when="+mpi")
    depends_on("nlohmann-json", type="build", when="+checkpoint")
    conflicts("+fortran", when="~mpi", msg="The Fortran module's communicators are those of mpi_f08: +fortran+mpi.")

    with when("+drivers"):
        conflicts("~checkpoint", msg="kadam-train saves and restores: +drivers+checkpoint.")
        depends_on("cli11", type="build")
        depends_on("tomlplusplus", type="build")
        depends_on("fmt")
        depends_on("zlib-api")
        depends_on("kokkos-kernels+blas scalars=float")
        depends_on("kokkos-kernels+rocblas", when="^kokkos+rocm")
        for _arch in CudaPackage.cuda_arch_values:
            depends_on(f"kokkos-kernels+cublas+cuda cuda_arch={_arch}", when=f"^kokkos+cuda cuda_arch={_arch}")
        # kadam-report is a Python program.
        depends_on("python@3.9:", type=("build", "run"))
        depends_on("py-matplotlib@3.6:", type="run")
        depends_on("py-jinja2@3:", type="run")

    with when("+tests"):
        depends_on("googletest")
        depends_on("zlib-api")
        depends_on("fmt")
        depends_on("nlohmann-json", type="build")
        depends_on("python@3.9:", type="build")
        depends_on("py-numpy", type="build")

    with when("+python"):
        extends("python@3.10:")
        depends_on("py-nanobind@2.4:", type="build")
        depends_on("py-numpy", type="run")
        depends_on("py-mpi4py", type="run", when="+mpi")

    with when("+nccl"):
        conflicts("~mpi", msg="NCCL works inside a node, between nodes it is MPI: +nccl+mpi.")
        requires("^kokkos+cuda", msg="NCCL is for NVIDIA's GPUs: +nccl+cuda cuda_arch=90, or ~nccl.")
        for _arch in CudaPackage.cuda_arch_values:
            depends_on(f"nccl+cuda cuda_arch={_arch}", when=f"^kokkos+cuda cuda_arch={_arch}")

    # ---- build ----------------------------------------------------------------------------------------------

    #: Which option of CMake a variant switches. `openmp`, `cuda` and `rocm` are told by Kokkos.
    option_of_variant = {
        "mpi": "KADAM_ENABLE_MPI",
        "shared": "BUILD_SHARED_LIBS",
        "drivers": "KADAM_ENABLE_DRIVERS",
        "checkpoint": "KADAM_ENABLE_CHECKPOINT",
        "fortran": "KADAM_ENABLE_FORTRAN",
        "python": "KADAM_ENABLE_PYTHON",
        "nccl": "KADAM_ENABLE_NCCL",
        "tests": "KADAM_ENABLE_TESTS",
    }

    def cmake_args(self):
        options = [self.define_from_variant(option, name) for name, option in self.option_of_variant.items()]
        options.append(self.define("KADAM_ENABLE_INSTALL", True))
        return options + self.device_compiler()

    def device_compiler(self):
        """What compiles for the GPU; its architecture is Kokkos'."""
        if self.spec.satisfies("^kokkos+cuda"):
            return [self.define("CMAKE_CUDA_COMPILER", join_path(self.spec["cuda"].prefix.bin, "nvcc"))]
        if self.spec.satisfies("^kokkos+rocm"):
            return [self.define("CMAKE_CXX_COMPILER", self.spec["hip"].hipcc)]
        return []

    sanity_check_is_file = [join_path("include", "kadam", "version.hpp")]

    # ---- smoke test -----------------------------------------------------------------------------------------

    #: A project that knows nothing but find_package(Kadam).
    foreign_project = join_path("tests", "install")

    @run_after("install")
    def keep_foreign_project(self):
        cache_extra_test_sources(self, self.foreign_project)

    def test_foreign_project(self):
        """build and run a program with the installed package"""
        source = join_path(self.test_suite.current_test_cache_dir, self.foreign_project)
        prefixes = [self.prefix, *get_cmake_prefix_path(self)]
        cmake = self.spec["cmake"].command
        ctest = Executable(join_path(self.spec["cmake"].prefix.bin, "ctest"))
        with working_dir("foreign_project", create=True):
            cmake(source, self.define("CMAKE_PREFIX_PATH", prefixes), *self.device_compiler())
            cmake("--build", ".")
            ctest("--output-on-failure", "--no-tests=error")
