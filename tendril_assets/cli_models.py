"""``tendril models``: the models of a collection, whether they are on this machine, and what may be done with them."""

import json
from pathlib import Path

import click
from rich.console import Console

from tendril_assets.defs import DEFAULT_COLLECTION, collection_spec
from tendril_assets.evaluation.model_limits import cut_warning, told_cut
from tendril_assets.evaluation.model_state import ModelState, RerankerState, model_states, reranker_states
from tendril_assets.hub_cache import cache_folder
from tendril_assets.release.model_licence import licence_text, where_to_put
from tendril_assets.settings import Settings

console = Console(highlight=False, soft_wrap=True)


@click.command()
@click.option("--collection", default=DEFAULT_COLLECTION, show_default=True, help="Folder name under defs/.")
@click.option("--json", "as_json", is_flag=True, help="One JSON list instead of words.")
def models(collection: str, as_json: bool) -> None:
    """The collection's models: where each base is or how it is fetched, how it is fed and trained, its licence; and its
    rerankers.

    Reads only: nothing is fetched, and no weights are loaded. The active profile counts. Exit code 1 where a model cannot
    be used as the specification says; a base that is only not fetched or installed yet is told, and is no fault.
    """
    spec = collection_spec(collection, Settings.from_env().profile)
    states, rerankers = model_states(spec), reranker_states(spec)
    if as_json:
        click.echo(json.dumps([state.to_json() for state in (*states, *rerankers)], ensure_ascii=False, indent=1))
    elif not states and not rerankers:
        console.print(f"{collection} has no models")
    else:
        for state in states:
            console.print(f"[bold]{state.name}[/]")
            for what, found in model_lines(state):
                console.print(f"  {what:<9} {found}", markup=False)
        for reranker in rerankers:
            console.print(f"[bold]{reranker.name}[/] (reranker)")
            for what, found in reranker_lines(reranker):
                console.print(f"  {what:<9} {found}", markup=False)
    if any(state.problem and not state.missing for state in (*states, *rerankers)):
        raise SystemExit(1)


def model_lines(state: ModelState) -> list[tuple[str, str]]:
    """What is said of a model, as (what, found)."""
    spec, licence = state.spec, state.spec.licence
    rests = "".join(f" It rests on {work.name} ({work.licence.title})." for work in spec.upstream)
    processes = f" x {spec.processes} processes" if spec.processes > 1 else ""
    training = f"batch {spec.batch} x {state.accumulation} accumulated{processes} = {state.effective_batch}"
    width = told_cut(spec, state.width) or f"{spec.dimensions:,} dimensions"
    warning = cut_warning(spec, state.width)
    return [
        ("base", spec.base),
        *([] if spec.published_base else [("origin", "not told; card and notice cannot name the base: set origin")]),
        *here(state),
        ("pinned", pinned(state)),
        ("embeds", f"{spec.pooling} pooling, {width}, at most {spec.max_length:,} tokens"),
        *([("warning", warning)] if warning else []),
        ("prompts", f"query {_prompt(spec.query_prompt)}, document {_prompt(spec.document_prompt)}"),
        ("training", training),
        ("licence", f"{licence.title}. {' '.join(licence.consequences)}{rests}"),
        ("text", _licence_text(state)),
    ]


def reranker_lines(state: RerankerState) -> list[tuple[str, str]]:
    """What is said of a reranker, as (what, found). It is not trained and not published, so its licence is not looked at."""
    return [
        ("base", state.spec.base),
        *here(state),
        ("pinned", pinned(state)),
        (
            "reads",
            f"query and passage together, at most {state.spec.max_length:,} tokens, {state.spec.batch} pairs at once",
        ),
    ]


def here(state: ModelState | RerankerState) -> list[tuple[str, str]]:
    """Where the base is, how it is fetched, or what is wrong with it."""
    if state.problem is None:
        return [("here", str(state.folder))]
    if state.missing and state.fetch is not None:
        return [("here", f"no, it is not in the hub's cache {cache_folder()}"), ("fetch", state.fetch)]
    return [("here", f"cannot be used: {state.problem}")]


def pinned(state: ModelState | RerankerState) -> str:
    """By what the base is known; else what would pin it."""
    if not state.spec.is_hub_id and not state.is_pinned:
        return "not known: by its content, once it can be used"
    if state.is_pinned:
        return f"yes, commit {state.spec.revision}" if state.fetch else "yes, by its content"
    if state.commit:
        return f"no: set revision to {state.commit}, the commit that is here"
    named = f"{state.spec.revision!r} is no full commit" if state.spec.revision else "no revision is given"
    return f"no: {named}; results of an unpinned base are not used again"


def _licence_text(state: ModelState) -> str:
    """Whether the licence's text will lie in the model's folder."""
    folder = Path(state.folder) if state.folder else None
    text = licence_text(state.spec.licence, folder)
    if text is not None and text.whole == "base":
        return f"the base's own {text.path.name} goes along"
    if text is not None:
        return "ships with this product and goes along"
    if state.spec.licence.text != "required":
        return "not needed: name and address of the licence go along"
    if folder is None:
        return "goes along if the base has a LICENSE of its own; to be seen once it is here"
    return f"missing, and copies need it: {where_to_put(state.spec, folder)}"


def _prompt(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text else "none"
