"""What is measured: the suites of `measure.py`, and who takes part in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aspects_data import make_aspects
from bootstrap_contenders import make_values
from w1_data import make_w1
from w2_data import make_w2

DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class Contender:
    name: str
    entry: str  # module:function, which returns a worker.Work
    packages: tuple[str, ...]
    environment: str = "bench"


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    folder: Path
    tiny: Path
    contenders: tuple[Contender, ...]
    references: tuple[str, ...]  # whose values the others must have
    tolerance: float
    differing_users: float  # share of users allowed beyond the tolerance (float32 sums differ by library)
    prepare: Callable[[], None]


TRUEVAL = Contender("trueval", "w1_columns:trueval", ("trueval", "numba", "numpy", "polars"))
STREAMED = Contender("trueval, sorted_by_user", "w1_columns:trueval_streamed", TRUEVAL.packages)
POLARS = Contender("polars expressions", "w1_columns:polars", ("polars",))
RECTOOLS = Contender("RecTools", "w1_peers:rectools", ("rectools", "pandas", "numpy"), "bench-rectools")
REPLAY = Contender("RePlay", "w1_peers:replay", ("replay-rec", "polars"), "bench-replay")
RANX = Contender("ranx", "w1_peers:ranx", ("ranx", "numba"))
RANX_ARRAYS = Contender("ranx, on arrays sorted by polars", "w1_peers:ranx_arrays", RANX.packages)
PYTREC = Contender("pytrec_eval", "w1_peers:pytrec_eval", ("pytrec_eval-terrier",))
IR_MEASURES = Contender("ir-measures", "w1_peers:ir_measures", ("ir-measures", "pytrec_eval-terrier"))
PEERS = (RECTOOLS, RANX, RANX_ARRAYS, PYTREC, IR_MEASURES, REPLAY)

# The names are the columns of the table: the query that ranks over users is the one that trueval is held to.
QUERY_CONTENDERS = (
    Contender("polars, rank over users", "query_contenders:polars_rank", ("polars",)),
    Contender("polars, lists by group_by", "query_contenders:polars_lists", ("polars",)),
    Contender("trueval", "query_contenders:trueval", TRUEVAL.packages),
)

W2_CONTENDERS = (
    Contender("pure float32 GEMM (numpy)", "w2_contenders:gemm", ("numpy",)),
    Contender("torch matmul + mask + topk", "w2_contenders:torch_topk", ("torch",)),
    Contender("trueval", "w2_contenders:trueval_ranking", TRUEVAL.packages),
    Contender("trueval, evaluate() from tables", "w2_contenders:trueval_w2", TRUEVAL.packages),
    Contender("naive, 300 users (check)", "w2_contenders:naive", ("numpy",)),
)

BOOTSTRAP_CONTENDERS = (
    Contender("trueval", "bootstrap_contenders:trueval", TRUEVAL.packages),
    Contender("trueval, BCa", "bootstrap_contenders:trueval_bca", TRUEVAL.packages),
    Contender("scipy.stats.bootstrap, vectorized", "bootstrap_contenders:scipy", ("scipy", "numpy")),
    Contender("NumPy indexing", "bootstrap_contenders:indexing", ("numpy",)),
)


def _w1(variant: str, title: str, contenders: tuple[Contender, ...], users: int = 100_000) -> Suite:
    name = "w1" if users == 100_000 else "w1-large"

    def prepare() -> None:
        make_w1(DATA / "w1-tiny", users=50, variants=(variant,))
        make_w1(DATA / name, users=users, variants=(variant,))

    folders = DATA / name / variant, DATA / "w1-tiny" / variant
    return Suite(f"{name}-{variant}", title, *folders, contenders, (POLARS.name,), 1e-6, 0.0, prepare)


def _prepare_bootstrap() -> None:
    make_values(DATA / "bootstrap-tiny", users=100)
    make_values(DATA / "bootstrap")


def _prepare_w2() -> None:
    make_w2(DATA / "w2-tiny", users=200, items=500)
    make_w2(DATA / "w2")


ASPECT_CONTENDERS = (
    Contender("plain compiled α-nDCG@100", "aspects_contenders:plain_alpha", ("numba", "numpy")),
    Contender("trueval, α-nDCG@100", "aspects_contenders:alpha_ndcg", TRUEVAL.packages),
    Contender("trueval", "aspects_contenders:abndcg", TRUEVAL.packages),
    Contender("naive αβ-nDCG@100, 40 users (check)", "aspects_contenders:naive", ("numpy",)),
)


def _prepare_aspects() -> None:
    make_aspects(DATA / "aspects-tiny", users=100)
    make_aspects(DATA / "aspects", users=100_000)


SUITES: dict[str, tuple[Suite, ...]] = {
    "aspects": (
        Suite(
            "aspects",
            "Aspect metrics: αβ-nDCG@100 (trueval), 100,000 users × 100 items × 20 aspects, from facts",
            DATA / "aspects",
            DATA / "aspects-tiny",
            ASPECT_CONTENDERS,
            (ASPECT_CONTENDERS[0].name, ASPECT_CONTENDERS[3].name),
            1e-9,
            0.0,
            _prepare_aspects,
        ),
    ),
    "w1": (
        _w1("ints", "W1, whole-number ids, rows by user and score", (TRUEVAL, STREAMED, POLARS, *PEERS)),
        _w1("strings", "W1, text ids", (TRUEVAL, POLARS, RECTOOLS, PYTREC)),
        _w1("shuffled", "W1, whole-number ids, rows shuffled", (TRUEVAL, POLARS, RECTOOLS)),
    ),
    "w1-large": (_w1("ints", "W1 with 1,000,000 users (100M rows)", (TRUEVAL, STREAMED, POLARS), 1_000_000),),
    "w2": (
        Suite(
            "w2",
            "W2, full ranking: 138,000 users × 27,000 items, rank 64",
            DATA / "w2",
            DATA / "w2-tiny",
            W2_CONTENDERS,
            (W2_CONTENDERS[1].name, W2_CONTENDERS[3].name),
            1e-4,  # above what one swap of two nearly equal float32 scores does to AUC
            0.001,
            _prepare_w2,
        ),
    ),
    "bootstrap": (
        Suite(
            "bootstrap",
            "Bootstrap intervals: 10,000 resamples of 100,000 users, 10 metrics",
            DATA / "bootstrap",
            DATA / "bootstrap-tiny",
            BOOTSTRAP_CONTENDERS,
            (BOOTSTRAP_CONTENDERS[3].name,),
            0.1,  # of an interval's width
            0.0,
            _prepare_bootstrap,
        ),
    ),
}
