"""Finds routes of the merchant's own under the paths that our rating routes take. Only exact paths: a catch-all is no claim."""

import logging

logger = logging.getLogger("forge_x402")


def warn_of_own_routes(app, base_path):
    ours = {base_path, f"{base_path}/rate", f"{base_path}/summary"}
    try:
        for path in sorted(ours & set(_paths(app))):
            logger.warning(
                "the application's own route %s is hidden by the rating routes; give another base_path than %s",
                path,
                base_path,
            )
    except Exception:
        logger.debug("the application's routes could not be listed", exc_info=True)


def _paths(app):
    """Starlette and FastAPI have `routes`, Flask has `url_map`; elsewhere nobody can tell."""
    for route in getattr(app, "routes", None) or ():
        path = getattr(route, "path", None)
        if isinstance(path, str):
            yield path
    url_map = getattr(app, "url_map", None)
    if url_map is not None:
        for rule in url_map.iter_rules():
            yield rule.rule
