# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands in for Spack's ROCmPackage, with some of its targets."""
from spack.package import PackageBase, conflicts, depends_on, variant


class ROCmPackage(PackageBase):
    amdgpu_targets = ("gfx906", "gfx908", "gfx90a", "gfx90a:xnack-", "gfx90a:xnack+", "gfx942")
    variant("rocm")
    variant("amdgpu_target", default="none", values=("none",) + amdgpu_targets, multi=True, sticky=True, when="+rocm")
    depends_on("hip-lang", type="build", when="+rocm")
    conflicts("amdgpu_target=none", when="+rocm")
