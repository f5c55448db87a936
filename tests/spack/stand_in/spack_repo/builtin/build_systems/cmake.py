# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands in for Spack's CMakePackage."""
from spack.package import PackageBase, depends_on, variant


class CMakePackage(PackageBase):
    variant("build_type", default="Release", values=("Debug", "Release", "RelWithDebInfo", "MinSizeRel"))
    variant("generator", default="make", values=("make", "ninja"))
    depends_on("cmake", type="build")

    def define(self, option, value):
        if isinstance(value, bool):
            return f"-D{option}:BOOL={'ON' if value else 'OFF'}"
        return f"-D{option}:STRING={value if isinstance(value, str) else ';'.join(value)}"

    def define_from_variant(self, option, name):
        if name not in {directive.spec for directive in self.of_kind("variant")}:
            raise KeyError(f'"{name}" is not a variant of "{type(self).__name__}"')
        return self.define(option, self.spec.variants[name]) if name in self.spec.variants else ""
