"""`simulate`: worlds whose truth is known, by the name of their kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from trueval.arguments import checked
from trueval.errors import DefinitionError, suggest
from trueval.simulation.latent import latent_world
from trueval.simulation.like import fitted_world
from trueval.simulation.opposed import opposed_world
from trueval.simulation.skew import skewed_world
from trueval.simulation.world import World
from trueval.splits import as_log

__all__ = ["KINDS", "World", "options_of_kind", "simulate"]

KINDS: dict[str, Callable[..., World]] = {
    "world": latent_world,
    "skew": skewed_world,
    "opposed": opposed_world,
    "like": fitted_world,
}


@checked
def simulate(kind: str = "world", data: Any = None, *, seed: int = 0, **options: Any) -> World:
    """Make a world: a log, and the complete truth behind it.

    The rating of every pair and the probability that it is in the log are known, and computed when asked for: no table
    of all pairs is made. The same seed gives the same bits.

    Parameters
    ----------
    kind : {"world", "skew", "opposed", "like"}, default "world"
        - "world": tastes for genres and quality of items, observed by popularity and by what is liked.
        - "skew": ratings skewed by popularity with no preference in them (Bellogín et al. 2017, §5.2).
        - "opposed": the least liked items get the most ratings (Mena-Maldonado et al. 2020, §5.5).
        - "like": a world fitted to `data`: how popular items are and when, how active users are and when, ratings,
          sparsity, and what people meet and like together; `World.fit` tells how well it fits.
    data : log, table, file, folder or name of a data set, optional
        Needed by "like"; "skew" takes its size, curve and rating values from it, "opposed" a world fitted to it.
    seed : int, default 0
        Seed of everything.
    **options : options of the kind
        - world: `users` (1000), `items` (500), `ratings` (about how many; a twentieth of the pairs), `gamma` (1: the
          probability of a pair is ∝ popularity^gamma; 0 is uniform), `value_bias` (0.5: each level below the best
          rating makes a row less likely by the factor e^-value_bias; negative: the disliked is rated more),
          `self_selection` (0: people meet rare items because they expect to like them, popular ones anyhow. A pair is
          met with the probability by popularity times 2 / (1 + e^(-s z)), where z is how many levels more the user is
          expected to give the item than the averages of both say, and s is self_selection times log10 of how many times
          rarer the item is than the most popular one), `alignment` (0.3: correlation of quality and log popularity,
          from -1 opposed to 1 aligned), `alpha` (1.6, skewness of popularity), `taste` (1, spread of personal taste),
          `noise` (0.7, spread of ratings around their means),
          `drift` (0: how much the mean of an item rises or falls over the period), `fade` (1.3: above 1, interest is
          strongest when an item is new), `genres` (8), `providers` (5), `groups` ((0.7, 0.3), shares of user groups),
          `threshold` (4).
        - skew: `alpha` (1.4), `users`, `items`, `ratings`, `c1`, `c2` of `|R(i_k)| = c1 + β (c2 + k)^(-alpha)`, `prior`
          (mapping from rating to share), `threshold`.
        - opposed: `strength` (1; less mixes the order with chance), and the options of "world" or, with data, "like".
        - like: `taste` (share of what item and user do not explain of ratings that is taste; default: what ratings
          show), `value_bias` (0, assumed), `liked` (0.2, share of liked pairs where the log has no ratings),
          `threshold`, `check` (False: also fit a world to four fifths of the rows, and compare six systems on the rest
          of the log and in that world: `World.fit.systems`).

    Returns
    -------
    World
        `World.log` is the log; `World.truth(system, metric)`, `World.propensity`, `World.sample` tell the truth.

    Raises
    ------
    TruevalError
        For kinds and options that do not exist, and for worlds that are impossible.

    Examples
    --------
    >>> import trueval as tv
    >>> world = tv.simulate("world", users=100, items=60, seed=1)
    >>> parts = tv.split(world.log, "holdout", seed=1)
    >>> result = tv.evaluate(parts, ["popularity"], metrics="precision@5", threshold=4, interval="none")
    >>> observed = result["popularity", "precision@5"].value
    >>> observed < world.truth("popularity", "precision@5", train=parts.train)
    True
    """
    if kind not in KINDS:
        raise DefinitionError(f"there is no world of kind {kind!r}", found=repr(kind), do=suggest(kind, KINDS))
    known = options_of_kind(kind, with_data=data is not None)
    for name, value in options.items():
        if name not in known:
            raise DefinitionError(
                f"worlds of kind {kind} have no option {name!r}", found=f"{name} = {value!r}", do=suggest(name, known)
            )
    if kind == "like" and data is None:
        raise DefinitionError("a world of kind like needs data", found="no data", do='tv.simulate("like", log)')
    if kind == "world" and data is not None:
        raise DefinitionError(
            "a world of kind world takes no data", found=type(data).__name__, do='tv.simulate("like", data)'
        )
    given = () if data is None else (as_log(data, "data"),)
    world = KINDS[kind](*given, seed=seed, **options)
    best = max(world.tastes.levels)
    if options.get("threshold") is not None and options["threshold"] > best:
        raise DefinitionError(
            "no rating of the world reaches the threshold", where="threshold",
            found=f"threshold {options['threshold']:g}, ratings up to {best:g}",
            do=f"give at most {best:g}, or leave it out",
        )  # fmt: skip
    return world


def options_of_kind(kind: str, *, with_data: bool = False) -> list[str]:
    """Names of the options of a kind of world.

    >>> options_of_kind("like")
    ['taste', 'value_bias', 'liked', 'threshold', 'check']
    """
    own = [
        name for name, one in inspect.signature(KINDS[kind]).parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY and name != "seed"
    ]  # fmt: skip
    if kind == "opposed":
        others = options_of_kind("like" if with_data else "world")
        own += [name for name in others if name not in ("alignment", "check")]
    return own
