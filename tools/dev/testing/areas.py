"""Which tests belong to which files: for ./dev test --changed, and for a source that is named.

Of C++ sources, --changed runs all that is linked with them, as the build tree knows it; what stands
here is the rest. A file that is in no area, or in EVERYTHING, means every test.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

# Files that any test may depend on; everything that is not listed below counts as one, too.
EVERYTHING = (
    "*CMakeLists.txt",
    "CMakePresets.json",
    "cmake/*",
    "tests/*.cmake",
    "tests/precompiled*",
    "pyproject.toml",
    "dev",
    ".ci/*",
    ".gitignore",
    "backend_template/include/*",
    "backend_template/core/runtime/torch_version.h",
    "tests/python/conftest.py",
    "tests/python/fork*.py",
    "tools/dev/*",
)

_STREAMS = ("tests/python/streams", "tests/python/graphs", "tests/python/pinned")
_MEMORY = ("tests/python/memory", "tests/python/test_faults.py", "tests/python/graphs")
_PROCESSES = (
    "tests/python/ecosystem/test_multiprocessing.py",
    "tests/python/ecosystem/test_shared_memory.py",
)
_METHODS = (
    "tests/python/methods",
    "tests/python/oracle",
    "tests/python/test_module_methods.py",
    "tests/python/test_tensor_methods.py",
)
_STARTING = (
    "tests/python/test_registration.py",
    "tests/python/test_autoload.py",
    "tests/python/test_exit.py",
    "tests/python/test_fork.py",
    "tests/python/test_no_device.py",
)
_DEV = "tests/package/test_dev_*.py"

# Tests that read the files of the tree, of all areas: seconds, and whichever file has changed.
READERS = (
    "tests/package/test_docs.py",
    "tests/package/test_gpu_needs.py",
    "tests/package/test_layers.py",
    "tests/package/test_mutants.py",
    "tests/package/test_refused_scalars.py",
    "tests/package/test_variables_page.py",
)


@dataclass(frozen=True)
class Area:
    """The first area whose patterns match a file has it; `*` matches slashes too."""

    name: str
    files: tuple[str, ...]
    python: tuple[str, ...] = ()  # tests, files or folders, as patterns
    runs: tuple[str, ...] = ("host",)  # of tests/python, where those of `python` are tried
    everywhere: tuple[str, ...] = ()  # those of tests/python to try on every run
    near: str = ""  # of a source that is named: ctest's entries, as a regular expression
    first: tuple[str, ...] = ()  # and Python tests
    always: str = ""  # ctest's entries for what no program is linked with
    parts: tuple[str, ...] = ()  # of ./dev test
    itself: bool = False  # a changed test is what to run, on every run that takes it


AREAS = (
    # ---- Sources
    Area(
        "the host runtime",
        ("backend_template/runtimes/host/*",),
        python=(*_STREAMS, *_MEMORY, *_PROCESSES),
        runs=("host", "host-memory-apart"),
        near=r"^(host_\w+_test|protected_addresses_test|host_suite\.summary)$",
    ),
    Area(
        "the CUDA runtime",
        ("backend_template/runtimes/cuda/*",),
        python=(*_STREAMS, *_MEMORY, "tests/python/module"),
        runs=("cuda",),
        near=r"^(cuda_\w+_test|cuda_loading\..*|cuda_suite\.summary)$",
    ),
    Area(
        "the Level Zero runtime",
        ("backend_template/runtimes/level_zero/*",),
        python=(*_STREAMS, *_MEMORY, "tests/python/module"),
        runs=("level-zero",),
        near=r"^(ze_\w+_test|ze_suite\.summary)$",
    ),
    Area(
        "the null runtime",
        ("backend_template/runtimes/null/*",),
        python=("tests/python/module", "tests/python/streams", "tests/python/ops"),
        runs=("null",),
        near=r"^(null_suite\.(summary|unsupported)|absent_groups_test)$",
    ),
    Area(
        "what the runtimes share",
        ("backend_template/runtimes/*",),
        python=(*_STREAMS, *_MEMORY, *_PROCESSES),
        runs=("host", "host-memory-apart", "cuda", "level-zero"),
        near=r"^(host_\w+_test|(host|cuda|ze)_suite\.summary)$",
    ),
    Area(
        "the layers",
        ("backend_template/layers/*",),
        python=("tests/python/test_faults.py", "tests/python/module/test_visible_devices.py"),
        near=r"^(layers_test|layers_program)$",
    ),
    Area(
        "the allocator",
        ("backend_template/core/memory/allocator/*", "backend_template/core/memory/*allocator*"),
        python=("tests/python",),
        everywhere=(*_MEMORY, "tests/python/pinned", "tests/python/streams"),
        near=r"^(core_test|allocator_trace_test)$",
    ),
    Area(
        "the race finder",
        (
            "backend_template/core/races/*",
            "backend_template/module/*races*",
            "*/sanitizer.py",
            "tests/python/races/*",
        ),
        python=("tests/python/races", "tests/python/streams"),
        near=r"^core_test$",
        first=("tests/python/races",),
    ),
    Area(
        "the operator report",
        (
            "backend_template/core/operators/*",
            "backend_template/ops/report/*",
            "backend_template/ops/copies/fallback_counts*",
            "backend_template/module/*operators*",
            "backend_template/module/program_place*",
            "backend_template/module/_outback/operators.py",
            "tests/python/operators/*",
        ),
        python=("tests/python/operators", "tests/python/ops"),
        near=r"^core_test$",
        first=("tests/python/operators",),
    ),
    Area(
        "the timeline",
        (
            "backend_template/core/timeline/*",
            "backend_template/core/interfaces/kineto.cpp",
            "tests/python/timeline/*",
        ),
        python=("tests/python/timeline", "tests/python/ecosystem/test_profiler.py"),
        near=r"^core_test$",
        first=("tests/python/timeline",),
    ),
    Area(
        "the core",
        ("backend_template/core/*",),
        python=("tests/python", "tests/package/test_layers.py"),
        everywhere=(*_STREAMS, *_MEMORY, "tests/python/module"),
        near=r"^(core|absent_groups|device_index)_test$",
    ),
    Area(
        "operators",
        ("backend_template/ops/*",),
        python=("tests/python", "tests/kernels"),
        everywhere=("tests/python/ops", "tests/python/test_opinfo_subset.py"),
        near=r"^(fallback|to_backend)_test$",
        first=("tests/python/ops",),
    ),
    Area(
        "what kernels are written with",
        ("backend_template/kernels/*",),
        python=("tests/kernels", "tests/python/amp", "tests/package/test_kernel_interface.py"),
        near=r"^(kernels_test|precedence_test|services_test)$",
    ),
    Area(
        "the process group",
        ("backend_template/distributed/*", "backend_template/module/_outback/distributed.py"),
        python=("tests/python/distributed", "tests/package/test_layers.py"),
        runs=("host", "host-memory-apart"),
        first=("tests/python/distributed",),
    ),
    Area(
        "the device module",
        ("backend_template/module/*",),
        python=(
            *("tests/python/module", "tests/python/amp", "tests/python/random"),
            *("tests/python/test_device_module.py", "tests/python/test_compile.py"),
            *("tests/python/ecosystem", *_STREAMS, *_MEMORY, *_STARTING),
        ),
        everywhere=("tests/python/module", "tests/python/test_device_module.py"),
        first=("tests/python/module", "tests/python/test_device_module.py"),
        parts=("stubs",),
    ),
    Area(
        "what moves, for torch::nn",
        ("backend_template/nn/*",),
        python=("tests/package/test_layers.py",),
        near=r"^nn_test$",
    ),
    Area(
        "registration from Python",
        ("registration/python/*", "backend_template/python/*"),
        python=(
            *(*_STARTING, *_METHODS, "tests/python/module"),
            *("tests/package/test_import.py", "tests/package/test_names.py"),
        ),
        first=("tests/python/test_registration.py", "tests/python/test_device_module.py"),
    ),
    Area(
        "registration",
        ("registration/*",),
        python=(
            *(*_STARTING, *_METHODS, "tests/python/ecosystem", "tests/python/ops"),
            "tests/package/test_names.py",
        ),
        near=r"^(registration|cpp_program|concurrent_registration|nn)_test$",
    ),
    Area(
        "the methods of tensors and modules",
        ("generators/methods/*",),
        python=(*_METHODS, "tests/python/ecosystem"),
        first=("tests/python/test_tensor_methods.py", "tests/python/test_module_methods.py"),
        parts=("stubs",),
    ),
    Area("the loader", ("generators/loader/*",), python=("tests/package/test_load.py",)),
    Area(
        "the type stubs",
        ("generators/project/torch-stubs/*", "tests/types/*"),
        python=("tests/package/test_new.py",),
        parts=("stubs",),
    ),
    Area(
        "the scaffold",
        ("generators/project/*",),
        python=("tests/package", "tests/python/test_autoload.py", "tests/python/module"),
        near=r"^scaffold_cpp_suite\.summary$",
    ),
    Area(
        "conformance",
        ("conformance/*",),
        python=(
            *("tests/conformance", "tests/package/test_current_folder.py"),
            *("tests/package/test_safe_files.py", "tests/package/test_wheel.py"),
        ),
        parts=("conformance-quick", "conformance-page"),
    ),
    Area(
        "outback doctor",
        ("generators/cli/torch_outback/doctor/*",),
        python=(
            *("tests/package/test_doctor*.py", "tests/package/test_variables_page.py"),
            *("tests/package/test_current_folder.py", "tests/package/test_wheel.py"),
        ),
    ),
    Area(
        "outback ops",
        ("generators/cli/torch_outback/operators/*",),
        python=(
            *("tests/package/test_ops.py", "tests/package/test_current_folder.py"),
            "tests/package/test_wheel.py",
        ),
    ),
    Area("the command outback", ("generators/*",), python=("tests/package",)),
    # ---- Tests
    Area(
        "one-line defects",
        ("tests/mutants/*",),
        python=("tests/package/test_mutants.py",),
    ),
    Area(
        "Python tests",
        ("tests/*/test_*.py",),
        python=("tests/package/test_works_table.py",),
        itself=True,
    ),
    Area("the oracle", ("tests/python/oracle/*",), python=("tests/python/oracle",)),
    Area(
        "tests of other parts of torch",
        ("tests/python/ecosystem/*",),
        python=("tests/python/ecosystem",),
    ),
    Area("tests of graphs", ("tests/python/graphs/*",), python=("tests/python/graphs",)),
    Area("tests of memory", ("tests/python/memory/*",), python=("tests/python/memory",)),
    Area("tests of streams", ("tests/python/streams/*",), python=("tests/python/streams",)),
    Area(
        "distributed tests", ("tests/python/distributed/*",), python=("tests/python/distributed",)
    ),
    Area("tests of kernels", ("tests/kernels/*.py",), python=("tests/kernels",)),
    Area("torch's CUDA build", ("tests/cuda_in_place/*",), python=("tests/cuda_in_place",)),
    Area("programs beside torch.cuda's", ("tests/beside/*",), python=("tests/beside",)),
    Area("tests of conformance", ("tests/conformance/*",), python=("tests/conformance",)),
    Area(
        "tests of examples",
        ("tests/examples/*.py", "tests/examples/*.cpp"),
        python=("tests/examples",),
    ),
    Area("package tests", ("tests/package/*",), python=("tests/package",)),
    Area("backends for tests", ("tests/backends/*",), python=("tests/python", "tests/package")),
    Area(
        "what the suite is expected to find",
        ("tests/runtime/*.expectations",),
        always=r"^(cuda|ze|c|expected_faults|null)_\w*suite\.|^expectations\.",
        parts=("runtimes-page",),
    ),
    Area("traces", ("tests/core/traces/*",), always=r"^allocator_trace_test$"),
    Area("a C++ program's check", ("tests/layers/*.py",), always=r"^layers_program$"),
    Area(
        "C++ tests",
        tuple(
            f"tests/{folder}/*"
            for folder in (
                "core",
                "fakes",
                "kernels",
                "layers",
                "ops",
                "registration",
                "runtime",
                "twin",
            )
        ),
        always=r"^layers(\..*)?$",
    ),
    # ---- Documentation, examples, tools
    Area(
        "the tutorial",
        ("docs/tutorial.md",),
        python=("tests/package/test_tutorial.py", "tests/package/test_docs.py"),
        parts=("site",),
    ),
    Area(
        "the page on the doctor",
        ("docs/doctor.md",),
        python=("tests/package/test_doctor.py", "tests/package/test_docs.py"),
        parts=("site",),
    ),
    Area(
        "the page on loading",
        ("docs/loading.md",),
        python=("tests/package/test_loading_page.py", "tests/package/test_docs.py"),
        parts=("site",),
    ),
    Area(
        "the page on conformance",
        ("docs/conformance.md", "docs/pictures/*"),
        python=("tests/conformance/test_page.py", "tests/package/test_docs.py"),
        parts=("site", "conformance-page"),
    ),
    Area(
        "documentation",
        (
            *("docs/*", "mkdocs.yml", "*/what_work*"),
            *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
        ),
        python=("tests/package/test_docs.py", "tests/package/test_readme.py"),
        always=r"^quotes\.",
        parts=("site", "contract-page", "runtimes-page", "works-table"),
    ),
    Area(
        "examples",
        ("examples/*",),
        python=("tests/examples", "tests/kernels", "tests/python/test_train_digits.py"),
        always=r"^(quotes\.|cpp_runtime|runtime_in_c|rust_runtime|libtorch_only)",
    ),
    Area("benchmarks", ("bench/*",), python=("tests/python/test_bench.py",)),
    Area(
        "how sources are written",
        (".clang-format", ".clang-tidy", ".editorconfig", "LICENSE"),
        python=("tests/package/test_wheel.py", "tests/package/test_layers.py"),
    ),
)

# Tools of ./dev that few tests look at, out of EVERYTHING's tools/dev/*.
TOOLS = (
    Area(
        "./dev test itself",
        ("tools/dev/testing/*", "tools/dev/report.py", "tools/dev/build_graph.py"),
        python=(_DEV,),
    ),
    Area(
        "tools that write pages",
        (
            *("tools/dev/contract_page.py", "tools/dev/runtime_table.py"),
            *("tools/dev/works_table.py", "tools/dev/doc*.py", "tools/dev/architecture/*"),
        ),
        python=(
            *("tests/package/test_docs.py", "tests/package/test_works_table.py"),
            *("tests/package/test_architecture.py", "tests/package/test_layers.py"),
        ),
        parts=("site", "contract-page", "runtimes-page", "works-table", "architecture-page"),
    ),
    Area(
        "the tool that writes the table of suites",
        ("tools/dev/suites_page.py",),
        python=("tests/conformance/test_page.py",),
        parts=("conformance-page",),
    ),
    Area(
        "tools that write stubs",
        ("tools/dev/stub*.py",),
        python=("tests/package/test_new.py",),
        parts=("stubs",),
    ),
    Area(
        "commands that no test run needs",
        ("tools/dev/bench.py", "tools/dev/demo.py", "tools/dev/gpu*", "tools/dev/lint.py"),
        python=(_DEV, "tests/package/test_gpu*.py"),
    ),
    Area(
        "what sanitizers are not to report",
        ("tools/dev/sanitizers/*",),
        parts=("asan", "tsan", "valgrind"),
    ),
)


def of(path: str) -> Area | None:
    """The area of a file; None where it means everything."""
    for area in TOOLS:
        if _matches(path, area.files):
            return area
    if _matches(path, EVERYTHING):
        return None
    return next((area for area in AREAS if _matches(path, area.files)), None)


def is_listed(path: str) -> bool:
    """Whether somebody has thought of this file."""
    return _matches(path, EVERYTHING) or of(path) is not None


def tests(patterns: Iterable[str], files: Sequence[str]) -> list[str]:
    """The files and folders that patterns of tests mean, out of all `files`."""
    found = []
    for pattern in patterns:
        if "*" in pattern:
            found += [file for file in files if fnmatchcase(file, pattern)]
        else:
            found.append(pattern)
    return list(dict.fromkeys(found))


# Names that a file has for what it is, not for what it is about.
_GENERAL = frozenset({"call", "device", "module", "register", "submodules", "table", "text"})


def mirrors(path: str, files: Sequence[str]) -> list[str]:
    """The tests that have the name of a source, and where there are none, the folder of Python
    tests that has its name or its folder's."""
    folders = Path(path.removeprefix("backend_template/")).parent.parts
    stem = Path(path).stem
    if stem in _GENERAL:
        stem = ""
    wanted = {f"{stem}_test.cpp"} if stem else set()
    python = folders[0] in ("core", "layers", "module", "ops", "registration", "generators")
    found = [
        file
        for file in files
        if (file.startswith(f"tests/{folders[0]}/") and Path(file).name in wanted)
        or (python and file.startswith("tests/python/") and Path(file).name == f"test_{stem}.py")
    ]
    if found or folders[0] != "module":
        return found
    subjects = {Path(file).parts[2] for file in files if file.startswith("tests/python/")}
    return [f"tests/python/{name}" for name in (stem, *folders[1:]) if name in subjects]


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)
