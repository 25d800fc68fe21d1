"""`trueval simulate`: worlds whose truth is known, written into folders, and feedback loops in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from trueval.cli.guard import guarded
from trueval.cli.options import CsvSafe, Format, Quiet, Seed, Threads, give, result_format
from trueval.cli.options import Output as ResultFile
from trueval.report.output_formats import check_folder_name, rendered

if TYPE_CHECKING:
    from trueval.simulation.world import World

_DATA = "A log to follow: a file, the folder of a data set or the name of a known one."
_WORLD = "A folder that trueval simulate wrote, or a log, to which a world is fitted (default: a small world)."

Folder = Annotated[Path, Option("--output", "-o", help="Output folder; it must be new or empty.")]
Force = Annotated[bool, Option("--force", help="Replace a world made earlier.")]
Columns = Annotated[str | None, Option(help="Roles of columns: user=uid,item=sku,time=ts.")]
Users = Annotated[int | None, Option(help="Number of users (default 1000).")]
Items = Annotated[int | None, Option(help="Number of items (default 500).")]
Ratings = Annotated[int | None, Option(help="Number of ratings, about (default: a twentieth of all pairs).")]
Threshold = Annotated[float | None, Option(help="Ratings from here on are relevant.")]
ValueBias = Annotated[
    float | None, Option(help="How much less likely each level below the best rating is logged: e^-bias (default 0.5).")
]


def world_command(
    output: Folder,
    users: Users = None,
    items: Items = None,
    ratings: Ratings = None,
    gamma: Annotated[float | None, Option(help="Pairs are met ∝ popularity^gamma (default 1; 0 is uniform).")] = None,
    value_bias: ValueBias = None,
    self_selection: Annotated[
        float | None,
        Option(help="How far people meet rare items because they expect to like them, 0 to 4 (default 0: not at all)."),
    ] = None,
    alignment: Annotated[
        float | None, Option(help="Correlation of quality and popularity, -1 opposed to 1 aligned (default 0.3).")
    ] = None,
    alpha: Annotated[float | None, Option(help="Skewness of popularity (default 1.6).")] = None,
    taste: Annotated[float | None, Option(help="Spread of personal taste (default 1).")] = None,
    noise: Annotated[float | None, Option(help="Spread of ratings around their means (default 0.7).")] = None,
    drift: Annotated[float | None, Option(help="How much means of items change over the period (default 0).")] = None,
    fade: Annotated[float | None, Option(help="Above 1, interest is strongest in new items (default 1.3).")] = None,
    genres: Annotated[int | None, Option(help="Number of genres (default 8).")] = None,
    providers: Annotated[int | None, Option(help="Number of providers of items (default 5).")] = None,
    threshold: Threshold = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Make a world of tastes and quality, observed by popularity and by what is liked.

    Writes log.parquet (in a stream: any number of rows), users.parquet, items.parquet, the truth in user_truth.parquet
    and item_truth.parquet, and world.json. In Python, tv.World.load(DIR) reads it and answers: truth(system, metric),
    propensity, sample, clicks, value.

    Examples:

      trueval simulate world --users 2000 --items 1000 --seed 7 -o world

      trueval simulate world --gamma 0 --value-bias 0 -o uniform

      trueval simulate world --alignment -0.8 -o against

      trueval simulate world --self-selection 1.5 -o chosen
    """
    _make(
        "world", output, None, seed=seed, force=force, quiet=quiet, threads=threads, users=users, items=items,
        ratings=ratings, gamma=gamma, value_bias=value_bias, self_selection=self_selection, alignment=alignment,
        alpha=alpha, taste=taste, noise=noise, drift=drift, fade=fade, genres=genres, providers=providers,
        threshold=threshold,
    )  # fmt: skip


def skew_command(
    output: Folder,
    data: Annotated[str | None, Argument(help=_DATA)] = None,
    alpha: Annotated[float, Option(help="Skewness: 0 is uniform, 2 very steep.")] = 1.4,
    users: Users = None,
    items: Items = None,
    ratings: Ratings = None,
    c1: Annotated[float | None, Option(help="Ratings that every item has (default: 0, or as in DATA).")] = None,
    c2: Annotated[float | None, Option(help="Shift of the ranks (default: items/50, or as in DATA).")] = None,
    threshold: Threshold = None,
    columns: Columns = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Make ratings skewed by popularity with no preference in them (Bellogín et al. 2017, §5.2).

    The k-th most popular item has c1 + β (c2 + k)^-alpha ratings, with β such that the sum is right; users and rating
    values are drawn at random. With DATA, size, shifts and the shares of rating values are those of the data.

    Examples:

      trueval simulate skew --alpha 1.4 -o skewed

      trueval simulate skew ml-1m --alpha 2 -o steep
    """
    _make(
        "skew", output, data, columns=columns, seed=seed, force=force, quiet=quiet, threads=threads, alpha=alpha,
        users=users, items=items, ratings=ratings, c1=c1, c2=c2, threshold=threshold,
    )  # fmt: skip


def opposed_command(
    output: Folder,
    data: Annotated[str | None, Argument(help=_DATA)] = None,
    strength: Annotated[float, Option(help="1: exactly by dislike; less mixes the order with chance.")] = 1.0,
    users: Users = None,
    items: Items = None,
    ratings: Ratings = None,
    value_bias: ValueBias = None,
    threshold: Threshold = None,
    columns: Columns = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Make a world whose least liked items have the most ratings (Mena-Maldonado et al. 2020, §5.5).

    With DATA the world is one fitted to it, whose numbers of ratings are dealt anew over the items.

    Examples:

      trueval simulate opposed -o opposed

      trueval simulate opposed ratings.csv --strength 0.8 -o opposed
    """
    _make(
        "opposed", output, data, columns=columns, seed=seed, force=force, quiet=quiet, threads=threads,
        strength=strength, users=users, items=items, ratings=ratings, value_bias=value_bias, threshold=threshold,
    )  # fmt: skip


def like_command(
    data: Annotated[str, Argument(help=_DATA)],
    output: Folder,
    taste: Annotated[
        float, Option(help="Share of unexplained rating variance that is stable taste: a log does not tell.")
    ] = 0.5,
    value_bias: Annotated[float, Option(help="Assumed: each level below the best is less likely by e^-bias.")] = 0.0,
    liked: Annotated[float, Option(help="Share of liked pairs, where the log has no ratings.")] = 0.2,
    threshold: Threshold = None,
    columns: Columns = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Fit a world to a log, and tell how well it fits.

    Users and items are those of the log, with as many rows each on average; ratings, the spread of items and users,
    when users come and when items are popular follow it, too.

    Examples:

      trueval simulate like ml-1m -o world

      trueval simulate like log.csv --columns user=uid,item=sku -o world
    """
    _make(
        "like", output, data, columns=columns, seed=seed, force=force, quiet=quiet, threads=threads, taste=taste,
        value_bias=value_bias, liked=liked, threshold=threshold,
    )  # fmt: skip


def loop_command(
    world: Annotated[str | None, Argument(help=_WORLD)] = None,
    system: Annotated[str, Option(help="The system, see trueval systems: itemknn, average[mu=2]…")] = "popularity",
    rounds: Annotated[int, Option(help="Number of rounds.")] = 10,
    k: Annotated[int, Option("-k", "--length", help="Length of the lists.")] = 10,
    model: Annotated[str, Option(help="How lists are clicked: position or cascade.")] = "position",
    active: Annotated[float, Option(help="Share of the users who come in a round.")] = 1.0,
    by: Annotated[str | None, Option(help="Column of items whose groups share the exposure.")] = None,
    columns: Columns = None,
    format: Format = None,
    output: ResultFile = None,
    csv_safe: CsvSafe = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Let a system learn from what it has shown, round after round, and track what becomes of everybody.

    In each round the system is fitted, shows lists, users click, and clicks become rows. The table has the Gini
    coefficient, coverage, how alike lists are, true and observed precision, and the exposure of groups.

    Examples:

      trueval simulate loop --system itemknn --rounds 20

      trueval simulate loop world/ --system popularity -o rounds.csv
    """
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.simulation.feedback_loop import feedback_loop

    set_quiet(quiet)
    chosen = result_format(format, output, csv_safe=csv_safe)
    with use_threads(threads):
        found = feedback_loop(
            _world_of(world, columns, seed), system, rounds=rounds, k=k, model=model, active=active, by=by, seed=seed
        )
    give(rendered(found, chosen, csv_safe=csv_safe), output)


def _world_of(source: str | None, columns: str | None, seed: int) -> World:
    """The world of a folder, one fitted to a log, or a small one."""
    from trueval.data.read import read
    from trueval.simulation.files import MANIFEST, load_world
    from trueval.simulation.simulate import simulate

    if source is None:
        return simulate("world", seed=seed)
    if (Path(source) / MANIFEST).exists():
        return load_world(source)
    return simulate("like", read(source, columns=columns), seed=seed)


def _make(
    kind: str, output: Path, data: str | None, *, seed: int, force: bool, quiet: bool, threads: int | None,
    columns: str | None = None, **options: Any,
) -> None:  # fmt: skip
    from trueval.data.read import read
    from trueval.errors import visible
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.simulation.files import check_free
    from trueval.simulation.simulate import simulate

    set_quiet(quiet)
    check_folder_name(output)
    check_free(output, force=force)
    with use_threads(threads):
        log = None if data is None else read(data, columns=columns)
        given = {name: value for name, value in options.items() if value is not None}
        world = simulate(kind, log, seed=seed, **given)
        world.save(output, force=force)
    if not quiet:
        lines = [str(world), *([] if world.fit is None else ["", str(world.fit)]), f"written to {output}"]
        typer.echo(visible("\n".join(lines)))


def _always(output: str | None) -> bool:
    """These commands write folders."""
    return True


app = typer.Typer(
    help="Make worlds whose truth is known, and run feedback loops in them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _name, _command in (
    ("world", world_command), ("skew", skew_command), ("opposed", opposed_command), ("like", like_command),
):  # fmt: skip
    app.command(_name)(guarded(_command, folder=_always))
app.command("loop")(guarded(loop_command))
