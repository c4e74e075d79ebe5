"""Every file below ``sql/``: says what it gives and reads, reads exactly that, plans on the declared tables, is used."""

import ast

import duckdb
import pytest

from tendril_assets.assets.release import ROWS
from tendril_assets.release.figures import REPORT_FIGURES
from tendril_assets.release.invariants import BREACH_QUERIES
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import create_statements
from tendril_assets.tables import TABLES
from tendril_assets_tests.test_architecture import MODULES

STAGES = sorted(p.name for p in sql.folder().iterdir() if p.is_dir())
NAMES = [name for stage in STAGES for name in sql.names(stage)]
# Values of the right type for the parameters that queries take.
PARAMETERS = {"final": ["answered"], **{name: ["an-id"] for name in ("groups", "documents", "passages", "hit")}}


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
    asked = by_name | {f"release/{name}" for name in (*REPORT_FIGURES, *ROWS, *BREACH_QUERIES)}
    assert asked | set(sql.names("views")) == set(NAMES)


def test_no_query_is_written_twice() -> None:
    """Apart from comments and blanks."""
    bodies = {
        name: " ".join(line for line in sql.query(name).split("\n") if not line.startswith("--")) for name in NAMES
    }
    assert len({" ".join(body.split()) for body in bodies.values()}) == len(NAMES)
