"""Every file below ``sql/``: says what it gives and reads, reads exactly that, plans on the declared tables, is used."""

import ast
from pathlib import Path

import duckdb
import pytest

from tendril_assets.assets.figures import PARTS_QUERIES, ROWS
from tendril_assets.errors import WarehouseError
from tendril_assets.release.figures import REGISTER_QUERIES, REGISTER_REPORT_FIGURES, REPORT_FIGURES
from tendril_assets.release.invariants import BREACH_QUERIES, POLICY_BREACHES
from tendril_assets.resources import sql
from tendril_assets.resources.snapshot import write_snapshot
from tendril_assets.resources.warehouse import create_statements
from tendril_assets.tables import TABLES
from tendril_assets_tests.test_architecture import MODULES

STAGES = sorted(p.name for p in sql.folder().iterdir() if p.is_dir())
NAMES = [name for stage in STAGES for name in sql.names(stage)]
# Values of the right type for the parameters that queries take.
PARAMETERS = {
    "final": ["answered"],
    "systems": ["bm25"],
    "depth": 1,
    **{name: ["an-id"] for name in ("groups", "documents", "passages", "hit")},
}


@pytest.fixture(scope="module")
def empty() -> duckdb.DuckDBPyConnection:
    """Every declared table, empty, in the schema that queries resolve names in."""
    connection = duckdb.connect()
    for table in TABLES.values():
        for statement in create_statements("toy", table):
            connection.execute(statement)
    connection.execute("USE toy")
    return connection


def plan(connection: duckdb.DuckDBPyConnection, name: str) -> list:
    """Rows of EXPLAIN; one row where the query could be planned."""
    text = sql.query(name)
    (statement,) = connection.extract_statements(text)
    assert statement.type == duckdb.StatementType.SELECT
    values = {parameter: PARAMETERS[parameter] for parameter in statement.named_parameters}
    return connection.execute(f"EXPLAIN {text}", values or None).fetchall()


def test_there_are_no_files_beside_the_stage_folders() -> None:
    found = {p.relative_to(sql.folder()).with_suffix("").as_posix() for p in sql.folder().rglob("*") if p.is_file()}
    assert found == set(NAMES)
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_header_names_a_grain_and_declared_tables(name: str) -> None:
    assert sql.query(name).startswith("--")
    assert sql.grain(name).startswith("one row")
    inputs = sql.inputs(name)
    assert inputs
    assert len(set(inputs)) == len(inputs)
    assert set(inputs) <= set(TABLES)


@pytest.fixture(scope="module")
def view_columns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str | None]]:
    """View -> column -> comment, as a reader of the snapshot finds them."""
    folder = tmp_path_factory.mktemp("snapshot")
    with duckdb.connect(str(folder / "warehouse.duckdb")) as connection:
        for table in TABLES.values():
            for statement in create_statements("toy", table):
                connection.execute(statement)
    made = write_snapshot(folder / "warehouse.duckdb", folder / "snapshot.duckdb")
    assert (made.stale, made.left_out_views) == ([], [])
    with duckdb.connect(str(made.path), read_only=True) as connection:
        rows = connection.execute(
            "SELECT view_name, column_name, duckdb_columns.comment FROM duckdb_columns() JOIN duckdb_views() "
            "ON view_name = table_name AND duckdb_views.schema_name = duckdb_columns.schema_name "
            "WHERE duckdb_columns.schema_name = 'toy' ORDER BY view_name, column_index"
        ).fetchall()
    found: dict[str, dict[str, str | None]] = {}
    for view, column, comment in rows:
        found.setdefault(view, {})[column] = comment
    return found


@pytest.mark.parametrize("name", sql.names("views"))
def test_the_snapshot_says_of_each_column_of_a_view_what_it_is(
    view_columns: dict[str, dict[str, str | None]], name: str
) -> None:
    """The header has a line for each column, in the order of the columns, and for no other."""
    found = view_columns[name.removeprefix("views/")]
    assert None not in found.values(), [column for column, comment in found.items() if comment is None]
    assert list(sql.columns(name).items()) == list(found.items())
    # A line that is no description ends the block, so what stands below it would say nothing.
    header = [line for line in sql.query(name).splitlines() if line.startswith("--")]
    assert header[-len(found)].startswith(f"-- {next(iter(found))}: ")


def test_lines_of_the_grain_describe_no_column_and_a_column_is_described_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "once.sql").write_text(
        "-- Grain: one row per text, the\n-- first: the longest.\n-- Inputs: corpus.\n-- n: texts: all\nSELECT 1 AS n\n-- m: 2\n"
    )
    (tmp_path / "views" / "twice.sql").write_text(
        "-- Grain: one row.\n-- Inputs: corpus.\n-- n: texts\n-- n: documents\nSELECT 1 AS n\n"
    )
    monkeypatch.setattr(sql, "folder", lambda: tmp_path)
    sql.query.cache_clear()
    try:
        assert sql.columns("views/once") == {"n": "texts: all"}
        assert sql.grain("views/once") == "one row per text, the first: the longest."
        assert sql.inputs("views/once") == ("corpus",)
        with pytest.raises(WarehouseError, match=r"sql/views/twice.sql: .* column n twice"):
            sql.columns("views/twice")
    finally:
        sql.query.cache_clear()


@pytest.mark.parametrize("name", NAMES)
def test_it_plans_on_empty_tables(empty: duckdb.DuckDBPyConnection, name: str) -> None:
    assert len(plan(empty, name)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_every_table_of_its_header_and_no_other(name: str) -> None:
    connection = duckdb.connect()
    for table in sql.inputs(name):
        for statement in create_statements("toy", TABLES[table]):
            connection.execute(statement)
    connection.execute("USE toy")
    assert plan(connection, name)  # a table that the header leaves out is not there
    for table in sql.inputs(name):
        connection.execute("BEGIN")
        connection.execute(f"DROP TABLE {sql.identifier(table)}")
        with pytest.raises(duckdb.CatalogException, match=f"Table with name {table} does not exist"):
            plan(connection, name)
        connection.execute("ROLLBACK")


def test_every_file_is_asked_for_and_every_name_asked_for_is_a_file() -> None:
    constants = {
        node.value
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    by_name = {text for text in constants if text.partition("/")[0] in STAGES and sql._NAME.fullmatch(text)}
    # The release asks by the names of its figures, rows and breaches; the snapshot takes every view.
    asked = by_name | {
        f"release/{name}"
        for name in (
            *REPORT_FIGURES,
            *REGISTER_REPORT_FIGURES,
            *ROWS,
            *PARTS_QUERIES,
            *REGISTER_QUERIES.values(),
            *BREACH_QUERIES,
            *POLICY_BREACHES,
        )
    }
    assert asked | set(sql.names("views")) == set(NAMES)


def test_no_query_is_written_twice() -> None:
    """Apart from comments and blanks."""
    bodies = {
        name: " ".join(line for line in sql.query(name).split("\n") if not line.startswith("--")) for name in NAMES
    }
    assert len({" ".join(body.split()) for body in bodies.values()}) == len(NAMES)
