# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spack/ against CMake's files and a stand-in for Spack's packaging API: recipe_test.py FOLDER_OF_SOURCES [RELEASE]

RELEASE: a folder of scripts/release.sh, whose recipe is taken instead of that of the sources.
"""
import hashlib
import importlib
import pathlib
import re
import sys

from expect import expect

sys.dont_write_bytecode = True
ROOT = pathlib.Path(sys.argv[1]).resolve()
RELEASE = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
STAND_IN = pathlib.Path(__file__).resolve().parent / "stand_in"
# spack_repo is a package in two places, as in Spack.
sys.path[:0] = [str(STAND_IN), str((RELEASE or ROOT) / "spack")]
import solver  # noqa: E402
import specs  # noqa: E402
import yaml_subset  # noqa: E402
import spack.package  # noqa: E402

Kadam = importlib.import_module("spack_repo.kadam.packages.kadam.package").Kadam
REPOSITORY = (RELEASE or ROOT) / "spack" / "spack_repo" / "kadam"

# What a variant switches: an option of CMake, and packages.
SWITCHES = {
    "mpi": ("KADAM_ENABLE_MPI", {"mpi"}),
    "shared": ("BUILD_SHARED_LIBS", set()),
    "openmp": (None, set()),
    "drivers": ("KADAM_ENABLE_DRIVERS", {"cli11", "tomlplusplus", "fmt", "zlib-api", "kokkos-kernels", "python",
                                         "py-matplotlib", "py-jinja2"}),
    "checkpoint": ("KADAM_ENABLE_CHECKPOINT", {"nlohmann-json"}),
    "fortran": ("KADAM_ENABLE_FORTRAN", {"fortran"}),
    "python": ("KADAM_ENABLE_PYTHON", {"python", "py-nanobind", "py-numpy", "py-mpi4py"}),
    "nccl": ("KADAM_ENABLE_NCCL", {"nccl"}),
    "tests": ("KADAM_ENABLE_TESTS", {"googletest", "fmt", "nlohmann-json", "python", "py-numpy", "zlib-api"}),
}

# Options of CMake that a package must not set, and why.
LEFT_ALONE = {
    "KADAM_ENABLE_KOKKOS_INSTALL": "Spack's Kokkos is a package of its own",
    "KADAM_ENABLE_NATIVE_ARCH": "Spack's compiler wrapper says for which processor, by the target of the spec",
    "KADAM_ENABLE_PRECOMPILED_HEADERS": "for developers: Spack caches what it has built",
    "KADAM_ENABLE_WARNINGS_AS_ERRORS": "a newer compiler may warn of more, and must still install",
    "KADAM_ENABLE_KOKKOS_KERNELS": "the programs bring it; without them products are Kadam's own",
    "KADAM_ENABLE_WORKLOADS": "the programs bring them; nothing of them is installed",
    "KADAM_ENABLE_HOST_TEAMS": "for developers: a GPU's way on a CPU is slow, and is there for tests",
    "KADAM_SANITIZERS": "for developers: an instrumented library needs an instrumented program",
}

# Which package has what find_package() looks for.
PACKAGE_OF = {
    "Kokkos": "kokkos", "MPI": "mpi", "NCCL": "nccl", "KokkosKernels": "kokkos-kernels", "CLI11": "cli11",
    "tomlplusplus": "tomlplusplus", "ZLIB": "zlib-api", "fmt": "fmt", "nlohmann_json": "nlohmann-json",
    "GTest": "googletest", "Python3": "python", "CUDAToolkit": "cuda",
    "Python": "python", "nanobind": "py-nanobind",
}


def cmake(name):
    """A file of CMake's without its comments."""
    return re.sub(r"#.*", "", (ROOT / name).read_text())


def cmake_options():
    """Name and default of every option, the default as CMake has it."""
    text = cmake("cmake/KadamOptions.cmake")
    found = dict(re.findall(r'option\(\s*(\w+)\s+"[^"]*"\s+([^\s)]+)\s*\)', text))
    found |= dict(re.findall(r'set\(\s*(KADAM_\w+)\s+("[^"]*"|\S+)\s+CACHE', text))
    expect(len(found) >= 7, "cmake/KadamOptions.cmake was not understood:", found)
    return found


def arguments_of(asked):
    return solver.build(Kadam, asked).package().cmake_args()


def value_of(arguments, option):
    found = [argument.split("=", 1)[1] for argument in arguments if re.match(rf"-D{option}[:=]", argument)]
    expect(len(found) <= 1, option, "is set more than once:", arguments)
    return found[0] if found else None


def variants(kind=Kadam):
    """What the recipe itself adds to those of its bases."""
    inherited = {directive.spec for base in kind.__bases__ for directive in base.of_kind("variant")}
    return {directive.spec: directive for directive in kind.of_kind("variant") if directive.spec not in inherited}


def the_version_is_the_projects():
    text = cmake("CMakeLists.txt")
    project = re.search(r"project\(Kadam VERSION ([\d.]+)", text)[1]
    numbered = [directive for directive in Kadam.of_kind("version") if directive.spec[0].isdigit()]
    expect([directive.spec for directive in numbered] == [project], "the recipe has", numbered, "CMakeLists.txt has", project)
    licences = [directive.spec for directive in Kadam.of_kind("license")]
    expect(licences == ["Apache-2.0 WITH LLVM-exception"], licences)
    if RELEASE is None:
        expect(Kadam.git == ROOT.as_uri(), "the recipe clones", Kadam.git)
    else:
        archive = RELEASE / f"kadam-{project}.tar.gz"
        expect(not hasattr(Kadam, "git"), "the recipe of a release clones", getattr(Kadam, "git", ""))
        expect(numbered[0].keywords["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest(),
               "the recipe has another SHA-256 than", archive)
        expect(numbered[0].keywords["url"].endswith(f"/{archive.name}"), "the recipe fetches", numbered[0].keywords["url"])


def a_release_has_a_recipe_that_fetches_its_archive():
    if RELEASE is not None:
        return
    sys.path.insert(0, str(ROOT / "scripts" / "release"))
    recipe = importlib.import_module("recipe")
    text = (REPOSITORY / "packages" / "kadam" / "package.py").read_text()
    made = recipe.of_release(text, "9.8.7", "0123abcd", "https://example.org/kadam-9.8.7.tar.gz")
    versions = re.findall(r"^    version\((.*)\)$", made, re.MULTILINE)
    expect(versions == ['"9.8.7", sha256="0123abcd", url="https://example.org/kadam-9.8.7.tar.gz"'], versions)
    expect("git" not in re.sub("#.*", "", made).split("variant(")[0], "the recipe of a release still clones")
    try:
        recipe.of_release(made, "9.8.8", "0123abcd", "https://example.org/kadam-9.8.8.tar.gz")
    except ValueError:
        return
    expect(False, "a recipe without the lines that a release replaces was taken")


def every_option_of_cmake_is_set_or_left_alone():
    options = cmake_options()
    arguments = arguments_of("kadam")
    given = {re.match(r"-D(\w+)", argument)[1] for argument in arguments}
    forgotten = set(options) - given - set(LEFT_ALONE)
    expect(not forgotten, "the recipe neither sets nor is known to leave alone", forgotten)
    expect(set(LEFT_ALONE) <= set(options), "CMake has no option", set(LEFT_ALONE) - set(options))
    expect(not given & set(LEFT_ALONE), "a package must not set", given & set(LEFT_ALONE))
    unknown = given - set(options) - {"BUILD_SHARED_LIBS"}
    expect(not unknown, "the recipe sets, and cmake/KadamOptions.cmake does not have", unknown)
    # Where CMake's default does not depend on who builds, a package has the same.
    for option, default in options.items():
        if option in given - {"BUILD_SHARED_LIBS"} and default in ("ON", "OFF"):
            expect(value_of(arguments, option) == default, option, "is", default, "in CMake")


def each_variant_switches_its_option_and_its_packages():
    expect(set(variants()) == set(SWITCHES), "variants of the recipe:", set(variants()), "known here:", set(SWITCHES))
    for name, (option, packages) in SWITCHES.items():
        rest = {"tests": "kadam~checkpoint", "nccl": "kadam+cuda cuda_arch=90"}.get(name, "kadam")
        off, on = solver.build(Kadam, f"{rest} ~{name}"), solver.build(Kadam, f"{rest} +{name}")
        changed = set(on.package().cmake_args()) - set(off.package().cmake_args())
        expect(changed == ({f"-D{option}:BOOL=ON"} if option else set()), name, "switches", changed)
        more = set(on.names()) - set(off.names())
        expect(more == packages, name, "brings", more, "and should bring", packages)
        expect(len(variants()[name].keywords["description"]) > 10, name, "is not described")


def dependencies_are_cmakes():
    wanted = set()
    files = cmake("cmake/KadamDependencies.cmake") + cmake("cmake/KadamPython.cmake")
    for name in re.findall(r"find_package\(\s*(\w+)", files):
        expect(name in PACKAGE_OF, f"find_package({name}): which package of Spack's is it? Say so in PACKAGE_OF")
        wanted.add(PACKAGE_OF[name])
    everything = solver.build(Kadam, "kadam+drivers+tests+fortran+python+nccl+cuda cuda_arch=90")
    expect(wanted <= set(everything.names()), "CMake looks for", wanted, "the recipe has", everything.names())

    low, high = re.search(r"KADAM_KOKKOS_VERSIONS ([\d.]+)\.\.\.<(\d+)\)", cmake("cmake/KadamKokkos.cmake")).groups()
    depended = [directive.spec for directive in Kadam.of_kind("depends_on")]
    kokkos = f"kokkos@{low}:{int(high) - 1} "
    expect(any(spec.startswith(kokkos) for spec in depended), "CMake takes Kokkos", low, "to below", high)
    needed = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake("CMakeLists.txt"))[1]
    expect(f"cmake@{needed}:" in depended, "CMake has to be of version", needed)
    header_only = [directive for directive in Kadam.of_kind("depends_on") if directive.spec == "nlohmann-json"]
    expect(header_only and all(directive.keywords["type"] == ("build",) for directive in header_only), header_only)


def handed_down(asked, *wanted):
    build = solver.build(Kadam, asked)
    for text in wanted:
        spec = specs.parse(text)
        node = build.nodes.get(spec.name)
        expect(node and node.satisfies(spec, node.variants), asked, "should give", text, "and gives",
               node and node.said)
    return build


def architectures_are_handed_down():
    cuda = "+cuda cuda_arch=90"
    arguments = handed_down("kadam+drivers+nccl+cuda cuda_arch=90", f"kokkos{cuda}", f"kokkos-kernels{cuda}",
                            f"nccl{cuda}", "kokkos+cmake_lang", "kokkos-kernels+cublas").package().cmake_args()
    expect(value_of(arguments, "CMAKE_CUDA_COMPILER") == "/prefix/cuda/bin/nvcc", arguments)
    expect(value_of(arguments, "CMAKE_CUDA_ARCHITECTURES") is None, "it follows Kokkos'", arguments)
    handed_down("kadam+drivers+nccl ^kokkos+cuda cuda_arch=80", "kokkos-kernels+cuda cuda_arch=80",
                "nccl cuda_arch=80", "kokkos+cmake_lang")
    handed_down("kadam ^kokkos@4.7+cuda cuda_arch=80", "kokkos+cuda_lambda")
    expect("kokkos-kernels" not in solver.build(Kadam, "kadam+cuda cuda_arch=90").names(), "it is for programs only")

    for asked in ("kadam+drivers+rocm amdgpu_target=gfx90a:xnack-",
                  "kadam+drivers ^kokkos+rocm amdgpu_target=gfx90a:xnack-"):
        arguments = handed_down(asked, "kokkos+rocm~cmake_lang amdgpu_target=gfx90a:xnack-",
                                "kokkos-kernels+rocblas").package().cmake_args()
        expect(value_of(arguments, "CMAKE_CXX_COMPILER") == "/prefix/hip/bin/hipcc", arguments)
    arguments = handed_down("kadam", "kokkos+openmp+shared+pic~cuda~rocm cxxstd=20").package().cmake_args()
    expect(not [word for word in arguments if "COMPILER" in word], "the compiler is Spack's:", arguments)
    handed_down("kadam~openmp", "kokkos+serial~openmp")
    handed_down("kadam ^kokkos~openmp", "kadam~openmp")
    handed_down("kadam ^kokkos~shared", "kadam~shared", "kokkos+pic")


def contradictions_meet_words():
    for asked, advice in (
            ("kadam+cuda", "cuda_arch=90"),
            ("kadam+rocm", "amdgpu_target=gfx90a"),
            ("kadam+cuda+rocm", "choose"),
            ("kadam+cuda ^kokkos+cuda cuda_arch=90", "leave it to Kokkos"),
            ("kadam+cuda cuda_arch=90 ^kokkos cuda_arch=80", "the same GPU"),
            ("kadam+cuda cuda_arch=90 ^kokkos~cuda", "the same GPU"),
            ("kadam+rocm amdgpu_target=gfx90a ^kokkos amdgpu_target=gfx942", "the same GPU"),
            ("kadam ^kokkos+cuda+wrapper cuda_arch=90", "cmake_lang"),
            ("kadam ^kokkos+cuda~cmake_lang cuda_arch=90", "cmake_lang"),
            ("kadam ^kokkos+rocm+cmake_lang amdgpu_target=gfx90a", "hipcc"),
            ("kadam+cuda cuda_arch=90 %llvm@18", "%gcc"),
            ("kadam %gcc@9.4", "GCC 11"),
            ("kadam %llvm@13", "Clang 14"),
            ("kadam~openmp ^kokkos+openmp", "host backend"),
            ("kadam+shared ^kokkos~shared", "kadam~shared"),
            ("kadam+nccl~mpi+cuda cuda_arch=90", "+mpi"),
            ("kadam+fortran~mpi", "+mpi"),
            ("kadam+drivers~checkpoint", "+checkpoint"),
            ("kadam+nccl+rocm amdgpu_target=gfx90a", "NVIDIA"),
            ("kadam+cuda cuda_arch=80,90", "one value"),
            ("kadam+nccl", "cuda_arch=none")):
        try:
            build = solver.build(Kadam, asked)
        except solver.Refused as refused:
            expect(any(advice in words for words in refused.words), asked, "should speak of", advice, refused.words)
        else:
            expect(False, asked, "contradicts itself and was taken:", build.picture())
    for directive in Kadam.of_kind("conflicts") + Kadam.of_kind("requires"):
        inherited = any(directive in base.directives for base in Kadam.__bases__)
        expect(inherited or re.fullmatch(r".{30,}\.", directive.msg), "no sentence at", directive)
    for asked in ("kadam@9.0.0", "kadam ^kokkos@4.4", "kadam ^kokkos cxxstd=17", "kadam~drivers ^kokkos-kernels"):
        try:
            solver.build(Kadam, asked)
        except solver.Refused:
            continue
        expect(False, asked, "was taken")


def the_repository_is_one_of_spacks():
    said = yaml_subset.read(REPOSITORY / "repo.yaml")["repo"]
    expect(said["namespace"] == REPOSITORY.name and re.fullmatch(r"v2\.\d+", said["api"]), said)
    expect(Kadam.__name__.lower() == "kadam" and (REPOSITORY / "packages" / "kadam" / "package.py").exists(), Kadam)


def environments_can_be_built():
    if RELEASE is not None:
        return  # they take their source from a checkout
    gpu = {"cpu": None, "cuda": "cuda", "rocm": "rocm"}
    folders = {path.parent.name: path for path in (ROOT / "spack" / "environments").glob("*/spack.yaml")}
    expect(set(folders) == set(gpu), "environments:", set(folders))
    for name, path in folders.items():
        said = yaml_subset.read(path)["spack"]
        expect(len(said["specs"]) == 1, name, said)
        build = solver.build(Kadam, said["specs"][0])
        node = build.nodes["kokkos"]
        expect([backend for backend in ("cuda", "rocm") if node.said.get(backend)] == [gpu[name]] * bool(gpu[name]),
               name, "has another Kokkos:", node.said)
        expect(build.variants["drivers"], name, "is without programs")
        expect((path.parent / said["repos"]["kadam"]).resolve() == REPOSITORY, name, said["repos"])
        source = said["develop"]["kadam"]
        expect((path.parent / source["path"]).resolve() == ROOT, name, "takes its source from", source["path"])
        expect(build.asked.version == specs.parse(source["spec"]).version, name, "installs another version")


def the_smoke_test_builds_the_foreign_project():
    package = solver.build(Kadam, "kadam+cuda cuda_arch=90").package()
    package.test_suite = type("Suite", (), {"current_test_cache_dir": "/cache"})
    expect(package.keep_foreign_project.runs_after == "install" and package.test_requires_compiler, "not kept")
    package.keep_foreign_project()
    package.test_foreign_project()
    kept, folder, configure, compile_, run = spack.package.calls
    expect(kept == ("cache", "tests/install") and folder == ("cd", "foreign_project", True), kept, folder)
    lists = ROOT / "tests" / "install" / "CMakeLists.txt"
    text = lists.read_text()
    expect("find_package(Kadam" in text and "add_test" in text, lists, "is no project that finds Kadam")
    for sources in re.findall(r"add_executable\(\w+ ([^)]+)\)", text):
        for source in sources.split():
            expect((lists.parent / source).exists(), source, "is missing")
    expect("kadam_kokkos_sources(" in text, lists, "does not compile kernels as CUDA where Kokkos wants that")
    expect(configure[:2] == ("/prefix/cmake/bin/cmake", "/cache/tests/install"), configure)
    expect("/prefix/kadam" in value_of(configure[2:], "CMAKE_PREFIX_PATH").split(";"), configure)
    expect(value_of(configure[2:], "CMAKE_CUDA_COMPILER"), configure)
    expect(compile_[1] == "--build" and run[0] == "/prefix/cmake/bin/ctest" and "--no-tests=error" in run, run)


def the_documentation_knows_the_variants():
    rows = dict(re.findall(r"^\| `([+~]\w+)` \|(.*)\|$", (ROOT / "docs" / "spack.md").read_text(), re.MULTILINE))
    marks = {f"{'+' if directive.keywords['default'] else '~'}{name}" for name, directive in variants().items()}
    expect(marks | {"~cuda", "~rocm"} == set(rows), "docs/spack.md has", set(rows), "the recipe", marks)
    for name, (option, _) in SWITCHES.items():
        row = next(text for mark, text in rows.items() if mark[1:] == name)
        expect(not option or f"`{option}`" in row, "docs/spack.md does not say that", name, "is", option)


for test in (the_version_is_the_projects, a_release_has_a_recipe_that_fetches_its_archive,
             every_option_of_cmake_is_set_or_left_alone,
             each_variant_switches_its_option_and_its_packages, dependencies_are_cmakes, architectures_are_handed_down,
             contradictions_meet_words, the_repository_is_one_of_spacks, environments_can_be_built,
             the_smoke_test_builds_the_foreign_project, the_documentation_knows_the_variants):
    test()
