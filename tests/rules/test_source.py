"""What no source file may contain."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# These look into stores with the process's one library, while no store is open in their own process or by its side.
OPENS_STORES = {
    "tests/integration/store/raw.py", "tests/support/product.py", "tests/acceptance/test_kills.py",
    "benchmarks/library.py",
}  # fmt: skip
SQLITE_MODULES = {"sqlite3", "_sqlite3", "pysqlite3"}

# Built of parts, so that this file does not contain them.
REGISTRIES = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "conda" + ".io", "index" + "-url"]
MACHINE_PATHS = ["/" + folder + "/" for folder in ("work", "root", "Users")] + ["/" + "home/" + r"\w"]
READERS = {"open", "read_bytes", "read_text", "write_bytes", "write_text", "copy", "copyfile", "copy2"}
STORE_PATH = re.compile(r"\bplace\.path\b|\bstore\.place\b|-wal\b|-shm\b")


def tracked() -> list[str]:
    """The files of the project, those that are about to be added too."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in listing.stdout.decode().splitlines() if (ROOT / name).is_file()]


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every Python file of the project, parsed."""
    for folder in ("app", "worker", "tests", "migrations", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_bytes())


MODULES = list(modules())


def imported(tree: ast.AST) -> set[str]:
    """The first part of every module that is imported."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module).split(".")[0])
    return names


def swallowing(tree: ast.AST) -> list[int]:
    """Lines of handlers of every exception there is that do not raise again."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and _catches_all(node.type) and not _raises(node)
    ]


def _catches_all(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(one is None or (isinstance(one, ast.Name) and one.id in ("Exception", "BaseException")) for one in kinds)


def _raises(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def opening(tree: ast.AST) -> list[int]:
    """Lines where a store's own file is read, written or copied."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _name(node.func) in READERS and STORE_PATH.search(ast.unparse(node))
    ]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_sqlite_is_imported_by_the_store_alone() -> None:
    found = [name for name, tree in MODULES if imported(tree) & SQLITE_MODULES and not name.startswith("app/store/")]
    assert set(found) <= OPENS_STORES
    assert "tests/integration/store/raw.py" in found


def test_a_stores_own_files_are_opened_by_the_store_alone() -> None:
    """Closing a second descriptor drops the locks of the first, and committed rows are lost at the next kill."""
    found = {
        f"{name}:{line}"
        for name, tree in MODULES
        for line in opening(tree)
        if not name.startswith("app/store/") and name not in OPENS_STORES
    }
    assert found == set()


def test_nothing_on_the_datas_way_swallows_every_exception() -> None:
    found = {f"{name}:{line}" for name, tree in MODULES if not name.startswith("tests/") for line in swallowing(tree)}
    assert found == set()


def test_no_template_trusts_a_text_as_markup() -> None:
    trusting = re.compile(r"\|\s*safe\b|autoescape\s+false|\bMarkup\(")
    files = [*sorted((ROOT / "templates").rglob("*.html")), *sorted((ROOT / "app" / "web").rglob("*.py"))]
    assert [str(path) for path in files if trusting.search(path.read_text(encoding="utf-8"))] == []


def foreign_parts(text: str) -> list[str]:
    """What a content policy kills or what lets others in: inline script and style, handlers, assets of other places."""
    found = re.compile(
        r"<style|\sstyle\s*=|\son[a-z]+\s*=\s*[\"']|javascript:|srcdoc|<script(?! src=\"\{\{ frame\.root \}\}/static/)|"
        r"(?:src|href|action|url)\s*[=(]\s*[\"']?(?:https?:)?//|@import|<iframe|<object|<embed|<base\b"
    )
    return found.findall(text)


def test_no_page_has_script_style_or_assets_of_others() -> None:
    pages = [*sorted((ROOT / "templates").rglob("*.html")), *sorted((ROOT / "app" / "web" / "static").iterdir())]
    assert len(pages) > 20
    assert {str(page): found for page in pages if (found := foreign_parts(page.read_text(encoding="utf-8")))} == {}
    script = (ROOT / "app" / "web" / "static" / "dashboard.js").read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.style\b", script
    )
    assert len(script.splitlines()) <= 250


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    forbidden = re.compile(
        "|".join([*(re.escape(host) for host in REGISTRIES), *(rf"(?<![\w.])(?:{path})" for path in MACHINE_PATHS)])
    )
    found = []
    for name in tracked():
        if name.startswith("tests/cases/"):
            continue  # public rows, verbatim: their texts speak of folders
        text = (ROOT / name).read_bytes().decode(errors="replace")
        found += [f"{name}: {hit[0]}" for hit in forbidden.finditer(text)]
    assert found == []


def test_the_checks_see_what_they_look_for() -> None:
    assert imported(ast.parse("from sqlite3 import dbapi2")) == {"sqlite3"}
    assert imported(ast.parse("def f():\n import pysqlite3.dbapi2")) == {"pysqlite3"}
    assert swallowing(ast.parse("try: f()\nexcept Exception: pass")) == [2]
    assert swallowing(ast.parse("try: f()\nexcept: pass")) == [2]
    assert swallowing(ast.parse("try: f()\nexcept (ValueError, BaseException) as e: log(e)")) == [2]
    assert swallowing(ast.parse("try: f()\nexcept Exception as e: raise Ours from e")) == []
    assert swallowing(ast.parse("try: f()\nexcept ValueError: pass")) == []
    assert opening(ast.parse("open(store.place.path)")) == [1]
    assert opening(ast.parse("x = place.path.read_bytes()")) == [1]
    assert opening(ast.parse("store.place.size()")) == []
    for text in ('<p style="x">', '<a onclick="x">', "<script>x", '<img src="//x">', '<a href="https://x">', "<style>"):
        assert foreign_parts(text), text
    assert not foreign_parts('<a href="{{ row.href }}"><script src="{{ frame.root }}/static/dashboard.js"></script>')
