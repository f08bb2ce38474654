"""The arrows of the design: which room may import which, and what is imported when."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import wafermock

HOME = Path(wafermock.__file__).parent
MODULES = sorted(HOME.rglob("*.py"))
ROOMS = ("spec", "mockserver", "conformance", "reports")

# A room, and the rooms that it may import.
MAY_IMPORT = {
    "spec": {"spec"},
    "mockserver": {"mockserver", "spec"},
    "conformance": {"conformance", "spec", "reports"},
    "reports": {"reports"},
}
# The edge of the mock: sockets and HTTP, and the one clock. Everything else in it is pure.
HTTP = {
    "mockserver/embedded/serving.py",
    "mockserver/one_write.py",
    "mockserver/record/proxy.py",
    "mockserver/server.py",
    "mockserver/web.py",
    "mockserver/wire/perform.py",
}
# What stands for aiohttp in the mock.
WEB = "wafermock.mockserver.web"
EDGE = HTTP | {
    "mockserver/clock.py",
    "mockserver/control/held.py",
    "mockserver/embedded/held.py",
    "mockserver/interruption.py",
    "mockserver/process.py",
    "mockserver/record/recorder.py",
    "mockserver/record/upstream.py",
}
# What costs much to import: only where it is used, when it is used.
HEAVY = {"faker", "hypothesis", "jinja2", "jsonschema", "pytest", "schemathesis"}
# Modules that exist for such a package, and are imported only with it.
AT_HOME = {
    "pytest_": {"pytest"},
    "strategies.py": {"hypothesis"},
    "conformance/": {"hypothesis", "jsonschema", "pytest", "schemathesis"},
}


def name_of(path: Path) -> str:
    return path.relative_to(HOME).as_posix()


@cache
def imports(path: Path, *, at_module_level: bool = False) -> tuple[str, ...]:
    """Return the absolute name of everything a module imports (types alone apart)."""
    return tuple(_imports(path, at_module_level))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path, at_module_level: bool) -> Iterator[str]:
    tree = parsed(path)
    package = ["wafermock", *path.relative_to(HOME).parent.parts]
    for node in statements(tree) if at_module_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is imported: no function bodies, no `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from statements(child)


def test_rooms() -> None:
    wrong = []
    for path in MODULES:
        room = name_of(path).split("/")[0]
        allowed = MAY_IMPORT.get(room)  # what stands on top may import every room
        for imported in imports(path):
            parts = imported.split(".")
            if allowed and parts[0] == "wafermock" and len(parts) > 1 and parts[1] not in allowed:
                wrong.append(f"{name_of(path)} imports {imported}")
    assert wrong == []


def test_sockets_stay_at_the_edge() -> None:
    wrong = []
    sockets = {"aiohttp", "asyncio", "socket", "ssl", "http", "httpx", "requests"}
    for path in MODULES:
        name = name_of(path)
        used = {imported.split(".")[0] for imported in imports(path)}
        if name.startswith(("spec/", "reports/", "mockserver/")) and name not in EDGE:
            wrong += [f"{name} imports {package}" for package in used & sockets]
        knows = "aiohttp" in used or any(i.startswith(f"{WEB}.") or i == WEB for i in imports(path))
        if not name.startswith("conformance/") and knows and name not in HTTP:
            wrong.append(f"{name} imports aiohttp")
    assert wrong == []


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    wrong = []
    for path in MODULES:
        home = {package for place, packages in AT_HOME.items() if name_of(path).startswith(place)
                for package in packages}  # fmt: skip
        loaded = {imported.split(".")[0] for imported in imports(path, at_module_level=True)}
        wrong += [f"{name_of(path)} imports {package}" for package in loaded & HEAVY - home]
    assert wrong == []


def test_nothing_that_a_seed_does_not_decide() -> None:
    """No clock, no global random numbers, no `hash()` in what is a function of its inputs."""
    wrong = []
    for path in MODULES:
        name = name_of(path)
        if not name.startswith(("spec/", "mockserver/")) or name in EDGE:
            continue
        used = {imported.split(".")[0] for imported in imports(path)}
        wrong += [f"{name}: {p}" for p in used & {"datetime", "secrets", "time", "uuid"}]
        nodes = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call))
        calls = {ast.unparse(node.func) for node in nodes}
        chance = {call for call in calls if call.startswith("random.")} - {"random.Random"}
        wrong += [f"{name}: {call}" for call in chance | (calls & {"hash"})]
        wrong += [f"{name}: {i}" for i in imports(path) if i.startswith("random.")]
    assert wrong == []


def test_the_walk_sees_what_it_must() -> None:
    """The test of the test: relative, absolute, aliased, nested and type-only imports."""
    by_name = {name_of(path): set(imports(path)) for path in MODULES}
    assert "wafermock.spec.contract.Contract" in by_name["spec/__init__.py"]
    assert "wafermock.spec.schema.Schema" in by_name["spec/lint/subject.py"]
    assert "wafermock.spec.lint.lint_files" in by_name["spec_commands.py"]
    assert WEB in by_name["mockserver/server.py"]
    assert WEB in by_name["mockserver/wire/perform.py"]
    assert set(imports(HOME / "spec_commands.py", at_module_level=True)).isdisjoint(
        {"wafermock.spec.lint.lint_files"}
    )


def test_every_room_has_its_signpost() -> None:
    assert {name_of(path).split("/")[0] for path in MODULES if "/" in name_of(path)} == set(ROOMS)


@pytest.mark.parametrize(
    "code",
    [
        "import wafermock.cli",
        "from wafermock.spec import load_contract; load_contract()",
        "from wafermock.spec import load_contract; from wafermock.mockserver.mock import Mock; "
        "Mock(load_contract())",
    ],
)
def test_starting_imports_nothing_heavy(code: str) -> None:
    heavy = sorted(HEAVY)
    check = f"import sys; print([name for name in {heavy} if name in sys.modules])"
    command = [sys.executable, "-c", f"{code}; {check}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, "[]", "")


def test_the_command_line_alone_starts_no_server() -> None:
    check = "import sys, wafermock.cli; print('aiohttp' in sys.modules)"
    command = [sys.executable, "-c", check]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "False"
