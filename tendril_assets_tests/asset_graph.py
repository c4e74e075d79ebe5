"""The asset graph as text. ``python -m tendril_assets_tests.asset_graph`` rewrites the snapshot after a wanted change."""

import json
from pathlib import Path

import dagster as dg

SNAPSHOT = Path(__file__).with_name("asset_graph.json")


def describe(definitions: dg.Definitions) -> dict[str, dict[str, object]]:
    """Per asset key: group, kinds, pool, dependencies and blocking checks."""
    graph = definitions.resolve_asset_graph()
    described: dict[str, dict[str, object]] = {}
    for key in sorted(graph.get_all_asset_keys(), key=lambda k: k.to_user_string()):
        node = graph.get(key)
        checks = sorted(f"{c.name}{' (blocking)' if graph.get_check_spec(c).blocking else ''}" for c in node.check_keys)
        described[key.to_user_string()] = {
            "group": node.group_name,
            "kinds": sorted(node.kinds or ()),
            "pools": sorted(node.pools or ()),
            "deps": sorted(k.to_user_string() for k in node.parent_keys),
            "checks": checks,
        }
    return described


if __name__ == "__main__":
    from tendril_assets.definitions import definitions

    SNAPSHOT.write_text(json.dumps(describe(definitions()), indent=1) + "\n", encoding="utf-8")
