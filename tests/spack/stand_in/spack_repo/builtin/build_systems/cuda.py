# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands in for Spack's CudaPackage, with some of its architectures."""
from spack.package import PackageBase, depends_on, variant


class CudaPackage(PackageBase):
    cuda_arch_values = ("70", "80", "86", "89", "90", "90a", "100", "120")
    variant("cuda")
    variant("cuda_arch", default="none", values=("none",) + cuda_arch_values, multi=True, sticky=True, when="+cuda")
    depends_on("cuda", when="+cuda")
