# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Spack's own recipes (package repository `builtin`, early 2026) say of the packages that Kadam may depend on:
the newest version, and the variants that matter here with their defaults. Other names are taken for mistakes."""

ARCHITECTURES = {"cuda": False, "cuda_arch": "none"}
TARGETS = {"rocm": False, "amdgpu_target": "none"}

PACKAGES = {
    "c": ("", {}),
    "cxx": ("", {}),
    "fortran": ("", {}),
    "cmake": ("3.31", {}),
    "cuda": ("12.9", {}),
    "hip": ("6.4", {}),
    "hip-lang": ("", {}),
    "mpi": ("4", {}),
    "kokkos": ("5.0.2", ARCHITECTURES | TARGETS | {
        "openmp": False, "serial": False, "threads": False, "shared": True, "pic": False, "cxxstd": "20",
        "cmake_lang": False, "wrapper": False, "cuda_lambda": False}),
    "kokkos-kernels": ("5.0.2", ARCHITECTURES | {
        "shared": True, "blas": False, "cublas": False, "rocblas": False, "scalars": "double"}),
    "nlohmann-json": ("3.12.0", {}),
    "cli11": ("2.4.1", {}),
    "tomlplusplus": ("3.4.0", {}),
    "fmt": ("11.2.0", {"shared": True}),
    "zlib-api": ("", {}),
    "googletest": ("1.17.0", {"gmock": True}),
    "python": ("3.13", {}),
    "py-nanobind": ("2.13.0", {}),
    "py-numpy": ("2.3", {}),
    "py-matplotlib": ("3.10.7", {}),
    "py-jinja2": ("3.1.6", {}),
    "py-mpi4py": ("4.1", {}),
    "nccl": ("2.27.7-1", ARCHITECTURES | {"cuda": True}),
}

# What these refuse by themselves, without words that would help.
REFUSED = {"kokkos": ["+cuda cuda_arch=none", "+rocm amdgpu_target=none", "+cuda+rocm", "+wrapper+cmake_lang"],
           "kokkos-kernels": [], "nccl": ["~cuda", "cuda_arch=none"]}

# What they bring along, and a recipe asks for by name.
BROUGHT = {"kokkos": {"cuda": "cuda", "rocm": "hip"}}
