"""A release as an ``mteb`` retrieval task, with the ranking and the mean of this project's own evaluation.

    >>> import mteb
    >>> from tendril_assets.release.mteb import retrieval_task
    >>> mteb.evaluate(mteb.get_model("..."), retrieval_task("release/toy/1.0.0")).task_results[0].get_score()

The source is a release folder, a BEIR folder (a release's ``beir`` or anybody's) or the id of a dataset on the hub.

``mteb`` ranks every passage for every query and takes the plain mean over queries. Neither fits a collection in which a
query is judged within some groups only. So the task hands it one ranking per query and group, over the group's own
passages (``evaluation.collection``), and:

* rankings without a relevant passage are left out and counted (``excluded``); ``mteb`` would count them as 0;
* scores are rounded as ours are before they are ranked, so that equal passages tie, and ties fall as in trec_eval;
* the main score, ``macro_ndcg_at_10``, is the mean over the queries of a group, then over groups, as in the table
  ``system_scores``; ``macro_ndcg_at_10_<level>`` is the same per level. ``ndcg_at_10`` is mteb's own plain mean over queries,
  ``ndcg_at_10_<level>`` the same per level. A query counts in the group that its ``area`` names, where it names one.

Every ranking, grade and measure in it is mteb's and pytrec_eval's; of ours are the scope, the rounding and the mean.
``mteb`` is no dependency of this package: ``python -m pip install "mteb>=2.26"``.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.evaluation.aggregate import ALL, group_scores, macro_means, with_levels
from tendril_assets.evaluation.collection import Reach, judged_collection
from tendril_assets.evaluation.metrics import excluded
from tendril_assets.evaluation.ranking import DECIMALS, UNIT
from tendril_assets.release.beir import BEIR, CORPUS, read_beir
from tendril_assets.release.huggingface import CONFIGS, PART_COLUMN, SPLIT, Rows, read_rows
from tendril_assets.release.manifest import MANIFEST, read_manifest
from tendril_assets.release.withdrawn import require_not_withdrawn

try:
    from datasets import Dataset, load_dataset
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models import CrossEncoderProtocol, SearchCrossEncoderWrapper, SearchEncoderWrapper, SearchProtocol
except ImportError as error:  # pragma: no cover - the message is all there is
    raise ImportError(f'{error}. Install it: python -m pip install "mteb>=2.26"') from error

MAIN = "macro_ndcg_at_10"
_DEFAULT = "default"
_HUB_ID = re.compile(r"([\w-][\w.-]*/)?[\w-][\w.-]*")
# Columns that no release names its groups by.
_NO_GROUP = ("id", "text", "document", "page", "title")


class Source(NamedTuple):
    """Published rows under the names of the evaluation's tables, and what they are a version of.

    ``corpus``: passage_id, group_id, text; ``queries``: query_id, text, level, and group_id where the area of a query names
    a group; ``qrels``: query_id, passage_id, score.
    """

    name: str
    revision: str
    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame
    split: str


def retrieval_task(
    source: str | Path,
    *,
    revision: str | None = None,
    scope: Reach = "group",
    group_column: str | None = None,
    split: str | None = None,
    language: str = "deu-Latn",
) -> "JudgedRetrieval":
    """The task of a release.

    Args:
        source: a release folder, a BEIR folder, or the id of a dataset on the hub.
        revision: tag or commit on the hub; a folder has none.
        scope: ``group`` ranks each group's passages for the queries judged in it; ``collection`` ranks all passages,
            which suits a collection that is judged as one.
        group_column: the corpus column that names the group; by default the first column after the text.
        split: the split of the judgments; by default ``test`` where there are several, else ``train``.
        language: ISO 639-3 and script, as mteb names them; some models choose a prompt by it.

    Raises:
        ExportInvariantError: the folder is not there, is no release and no BEIR folder, was withdrawn, or has no group
            column although the scope is ``group``.
        TendrilError: judgments of passages or queries that are not there.
    """
    rows = read_source(source, revision=revision, group_column=group_column, split=split, scope=scope)
    # mteb keeps a task's metadata on its class.
    kind = type("JudgedRetrieval", (JudgedRetrieval,), {"metadata": _metadata(rows, scope, rows.split, language)})
    return kind(rows, scope, rows.split)


def read_source(
    source: str | Path, *, revision: str | None = None, group_column: str | None, split: str | None, scope: Reach
) -> Source:
    """The rows behind a task. Raises ExportInvariantError as ``retrieval_task`` does."""
    folder = Path(source)
    if not folder.exists():
        if isinstance(source, Path) or not _HUB_ID.fullmatch(source):
            raise ExportInvariantError(f"there is no folder {folder}, and no dataset on the hub has such an id")
        rows = _fetched(source, revision)
        return _source(source, revision or "main", rows, group_column, scope, split)
    if (folder / CORPUS).is_file():
        whole = folder.resolve().parent
        if folder.resolve().name == BEIR and (whole / MANIFEST).is_file():
            require_not_withdrawn(whole, read_manifest(whole))
        there = sorted(path.stem for path in (folder / "qrels").glob("*.tsv"))
        chosen = split or _default_split(there)
        _require_split(folder.as_posix(), chosen, there)
        return _source(folder.resolve().name, "folder", read_beir(folder, chosen), group_column, scope, chosen)
    if not (folder / MANIFEST).is_file():
        raise ExportInvariantError(f"{folder} is no release and no BEIR folder: it has neither {MANIFEST} nor {CORPUS}")
    manifest = read_manifest(folder)
    require_not_withdrawn(folder, manifest)
    return _source(manifest["name"], manifest["version"], read_rows(folder), group_column, scope, split)


def _fetched(source: str, revision: str | None) -> Rows:
    corpus, queries, qrels = (load_dataset(source, name, revision=revision) for name in CONFIGS)
    parts = {part: cast("pl.DataFrame", found.to_polars()) for part, found in qrels.items()}
    several = parts.keys() != {SPLIT} or corpus.keys() != {SPLIT}
    named = [f.with_columns(pl.lit(part).alias(PART_COLUMN)) if several else f for part, f in parts.items()]
    texts = (
        pl.concat([cast("pl.DataFrame", one.to_polars()) for one in found.values()]) for found in (corpus, queries)
    )
    return Rows(*texts, pl.concat(named))


def _default_split(there: Sequence[str]) -> str:
    return SPLIT if set(there) <= {SPLIT} else "test"


def _require_split(name: str, chosen: str, there: Sequence[str]) -> None:
    if chosen not in there:
        raise ExportInvariantError(
            f"{name} has no split {chosen!r} of the judgments; it has {', '.join(there) or 'none'}"
        )


def _of_split(name: str, rows: Rows, split: str | None) -> tuple[Rows, str]:
    """The judgments of one split. Raises ExportInvariantError for a split that there is not."""
    if PART_COLUMN not in rows.qrels.columns:
        return rows, split or SPLIT
    there = rows.qrels[PART_COLUMN].unique().sort().to_list()
    chosen = split or _default_split(there)
    _require_split(name, chosen, there)
    return Rows(rows.corpus, rows.queries, rows.qrels.filter(pl.col(PART_COLUMN) == chosen).drop(PART_COLUMN)), chosen


def _source(name: str, revision: str, rows: Rows, group_column: str | None, scope: Reach, split: str | None) -> Source:
    rows, split = _of_split(name, rows, split)
    found = group_column or next((c for c in rows.corpus.columns if c not in _NO_GROUP), None)
    if scope == "group" and found not in rows.corpus.columns:
        raise ExportInvariantError(
            f"{name}: the corpus has no column that names groups ({', '.join(rows.corpus.columns)}): name one as "
            "group_column, or rank the whole collection with scope='collection'"
        )
    group = pl.col(found) if found in rows.corpus.columns else pl.lit(_DEFAULT)
    level = pl.col("level") if "level" in rows.queries.columns else pl.lit(ALL)
    corpus = rows.corpus.select(passage_id="id", group_id=group.cast(pl.String), text="text")
    queries = rows.queries.select(query_id="id", text="text", level=level)
    if "area" in rows.queries.columns:
        own = rows.queries["area"].cast(pl.String)
        named = own.is_in(corpus["group_id"].unique().implode())
        if named.any():
            queries = queries.with_columns(group_id=pl.when(named).then(own))
    return Source(
        name,
        revision,
        corpus,
        queries,
        rows.qrels.select(query_id="query-id", passage_id="corpus-id", score=pl.col("score").cast(pl.Int8)),
        split,
    )


class RoundedSearch:
    """Any model that mteb can search with; its scores rounded as ``evaluation.ranking`` rounds."""

    def __init__(self, search: SearchProtocol) -> None:
        self._search = search

    @property
    def mteb_model_meta(self) -> Any:
        return self._search.mteb_model_meta

    def index(self, corpus: Any, **options: Any) -> None:
        self._search.index(corpus, **options)

    def search(self, queries: Any, **options: Any) -> dict[str, dict[str, float]]:
        found = self._search.search(queries, **options)
        return {unit: {p: round(float(s), DECIMALS) + 0.0 for p, s in scores.items()} for unit, scores in found.items()}


class JudgedRetrieval(AbsTaskRetrieval):
    """One ranking per (query, group) unit; see the module. Made by ``retrieval_task``."""

    def __init__(self, source: Source, scope: Reach, split: str) -> None:
        super().__init__()
        self.judged = judged_collection(source.corpus, source.queries, source.qrels, scope)
        self._split = split
        left_out = excluded(self.judged.qrels)
        self._excluded = left_out.height
        self._units = self.judged.units.join(left_out, on=UNIT, how="anti").with_columns(unit=_unit(scope)).sort("unit")
        if self._units.is_empty():
            raise ExportInvariantError(
                f"{source.name}: no query has a relevant passage, so there is nothing to measure"
            )

    def load_data(self, num_proc: int | None = None, **options: Any) -> None:
        """Rankings of the judged units that have a relevant passage; nothing is fetched."""
        if self.data_loaded:
            return
        judged, units = self.judged, self._units
        queries = units.join(judged.queries, on="query_id", maintain_order="left")
        self.dataset = {
            _DEFAULT: {
                self._split: RetrievalSplitData(
                    corpus=Dataset.from_polars(judged.corpus.select(id="passage_id", text="text")),
                    queries=Dataset.from_polars(queries.select(id="unit", text="text")),
                    relevant_docs=_by_unit(judged.qrels.join(units, on=UNIT).sort("unit", "passage_id")),
                    top_ranked=self._own_passages() if judged.reach == "group" else None,
                )
            }
        }
        self.data_loaded = True

    def _own_passages(self) -> dict[str, list[str]]:
        groups = self.judged.corpus.sort("passage_id").group_by("group_id", maintain_order=True).agg("passage_id")
        return dict(self._units.join(groups, on="group_id").select("unit", "passage_id").iter_rows())

    def _evaluate_subset(self, model: Any, data_split: Any, **options: Any) -> Any:
        return super()._evaluate_subset(RoundedSearch(_searching(model)), data_split, **options)

    def task_specific_scores(
        self, scores: Mapping[str, Mapping[str, float]], qrels: Any, results: Any, hf_split: str, hf_subset: str
    ) -> dict[str, float]:
        """mteb's scores per unit, averaged as the table ``system_scores`` is."""
        by_query = self.query_scores(scores)
        means = macro_means(group_scores(by_query))
        plain = by_query.group_by("level").agg(pl.col("value").mean()).sort("level")
        named = {
            MAIN if level == ALL else f"{MAIN}_{_slug(level)}": value
            for level, value in means.select("level", "value").iter_rows()
        }
        named |= {f"ndcg_at_10_{_slug(level)}": value for level, value in plain.iter_rows()}
        return named | {"excluded": float(self._excluded), "rankings": float(self._units.height)}

    def query_scores(self, scores: Mapping[str, Mapping[str, float]]) -> pl.DataFrame:
        """query_id, group_id, measure, value and level of mteb's scores per unit; a unit that it left out has 0."""
        values = {unit: float(of["ndcg_cut_10"]) for unit, of in scores.items()}
        per_unit = self._units.with_columns(
            measure=pl.lit("ndcg@10"),
            value=pl.Series([values.get(u, 0.0) for u in self._units["unit"]], dtype=pl.Float64),
        )
        return with_levels(per_unit.drop("unit"), self.judged.queries)


def _slug(level: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", level.lower())


def _unit(scope: Reach) -> pl.Expr:
    """Ids hold no white space, so no two units share a name."""
    return pl.col("query_id") if scope == "collection" else pl.concat_str("query_id", "group_id", separator=" ")


def _by_unit(labelled: pl.DataFrame) -> dict[str, dict[str, int]]:
    per_unit = labelled.group_by("unit", maintain_order=True).agg("passage_id", "score")
    return {unit: dict(zip(ids, grades, strict=True)) for unit, ids, grades in per_unit.iter_rows()}


def _searching(model: Any) -> SearchProtocol:
    if isinstance(model, SearchProtocol):
        return model
    return SearchCrossEncoderWrapper(model) if isinstance(model, CrossEncoderProtocol) else SearchEncoderWrapper(model)


def _metadata(source: Source, scope: Reach, split: str, language: str) -> TaskMetadata:
    name = re.sub(r"[^A-Za-z0-9]+", "-", source.name.rsplit("/", 1)[-1]).strip("-") or "Collection"
    return TaskMetadata(
        name=name if scope == "group" else f"{name}-all",
        description=f"Judged retrieval over {source.name}, {source.revision}, ranked per {scope}.",
        reference=None,
        dataset={"path": source.name, "revision": source.revision},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[split],
        eval_langs=[language],
        main_score=MAIN,
        date=None,
        domains=["Written"],
        task_subtypes=None,
        license=None,
        annotations_creators="LM-generated",
        dialect=None,
        sample_creation="found",
        bibtex_citation=None,
    )
