"""The rules of the house, enforced: imports run one way, files stay small, no collection is special."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "tendril_assets"
REPOSITORY = PACKAGE.parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Layers from the bottom up; a module imports its own layer and those below.
LAYERS = {
    "child_pool": 0,
    "children": 0,
    "errors": 0,
    "files": 0,
    "hub_cache": 0,
    "licences": 0,
    "model_registry": 0,
    "progress_file": 0,
    "quoting": 0,
    "records": 0,
    "strict_yaml": 0,
    "tables": 0,
    "spec": 0,
    "spec_base": 0,
    "spec_calibration": 0,
    "spec_corpus": 0,
    "spec_evaluation": 0,
    "spec_problems": 0,
    "spec_registers": 0,
    "spec_release": 0,
    "spec_training": 0,
    "settings": 0,
    **dict.fromkeys(("corpus", "queries", "judging", "qrels", "training", "evaluation", "release"), 1),
    "landing_state": 2,
    "resources": 2,
    "assets": 3,
    "components": 4,
    "defs": 5,
    "definitions": 5,
    "anchoring": 6,
    "annotating": 6,
    "audit": 6,
    "cli_audit": 6,
    "cli_guideline": 6,
    "asking_display": 6,
    "costing": 6,
    "costing_report": 6,
    "doctor": 6,
    "removal_state": 6,
    "summary": 6,
    "summary_registers": 6,
    "watching": 6,
    "wide": 6,
    "other_runs": 6,
    "model_needs": 6,
    "running": 6,
    "cli_ledger": 6,
    "cli_models": 6,
    "cli_publish": 6,
    "cli_split": 6,
    "splitting": 6,
    "publishing": 6,
    "cli": 7,
    "sandbox": 8,
}
# Inside otherwise pure stages these adapt a library; they are imported inside functions, never at load.
ADAPTERS = {
    "corpus/extract.py",
    "evaluation/bm25.py",
    "evaluation/cross_encoder.py",
    "evaluation/dense.py",
    "evaluation/encoding.py",
    "evaluation/model_shape.py",
    "evaluation/models.py",
    "training/bookkeeping.py",
    "training/child.py",
    "training/devices.py",
    "training/evaluating.py",
    "training/fit.py",
    "training/grouping.py",
    "training/launcher.py",
    "training/loss.py",
    "training/record.py",
    "training/trainer.py",
}
FRAMEWORKS = {"dagster", "dagster_duckdb", "duckdb", "httpx"}
MODELS = {"torch", "transformers", "sentence_transformers"}
PURE_STAGES = {"corpus", "queries", "judging", "qrels", "training", "evaluation", "release"}
NEVER_AT_LOAD = ("torch", "transformers", "sentence_transformers", "datasets", "matplotlib", "scipy", "gheim", "mteb")


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imports(path: Path, *, lazy: bool = True) -> set[str]:
    """Absolute names of imported modules; without ``lazy`` only those run when the module is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    if not lazy:
        inner = {id(n) for f in nodes if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)}
        typing_only = {
            id(n) for i in nodes if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.dump(i.test) for n in ast.walk(i)
        }
        nodes = [n for n in nodes if id(n) not in inner | typing_only]
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def layer(name: str) -> int:
    return LAYERS[name.removesuffix(".py").split("/")[0].split(".")[0]]


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_imports_run_one_way(path: Path) -> None:
    own = relative(path)
    if own == "__init__.py":
        return
    for name in imports(path):
        if name.startswith("tendril_assets."):
            inner = name.removeprefix("tendril_assets.")
            # The command line starts the sandbox; nothing else knows it.
            if own in ("cli.py",) and inner.startswith("sandbox"):
                continue
            assert layer(inner) <= layer(own), f"{own} imports {name}"


@pytest.mark.parametrize("path", [p for p in MODULES if relative(p).split("/")[0] in PURE_STAGES], ids=relative)
def test_pure_stages_import_no_framework(path: Path) -> None:
    banned = FRAMEWORKS if relative(path) in ADAPTERS else FRAMEWORKS | MODELS
    assert not {name.split(".")[0] for name in imports(path)} & banned


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_only_the_outer_layers_know_dagster(path: Path) -> None:
    outer = (
        "resources/",
        "assets/",
        "components/",
        "defs/",
        "definitions.py",
        "model_needs.py",
        "running.py",
        "other_runs.py",
        "cli.py",
        "summary.py",
    )
    if not relative(path).startswith(outer):
        assert not {n.split(".")[0] for n in imports(path)} & {"dagster", "dagster_duckdb"}


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_dagster_modules_do_not_postpone_annotations(path: Path) -> None:
    if "dagster" in {n.split(".")[0] for n in imports(path)}:
        assert "__future__" not in imports(path), "postponed annotations break context and Config parameters"


def test_no_module_is_longer_than_400_lines() -> None:
    long = {relative(p): n for p in MODULES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400}
    assert not long


def test_no_collection_is_named_outside_its_folder() -> None:
    names = [p.parent.name for p in (PACKAGE / "defs").glob("*/defs.yaml")]
    assert names
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    engine = [p for p in MODULES if relative(p).split("/")[0] not in ("defs", "sandbox")]
    engine += sorted((REPOSITORY / "sql").rglob("*.sql"))
    found = {
        f"{p.name}:{number}"
        for p in engine
        for number, line in enumerate(p.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    }
    assert not found


def test_loading_the_code_location_imports_no_heavy_package(tmp_path: Path) -> None:
    code = (
        "import sys; from tendril_assets.definitions import definitions; definitions(); "
        f"print([m for m in {NEVER_AT_LOAD!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True, timeout=120
    )
    assert done.stdout.strip().splitlines()[-1] == "[]"
