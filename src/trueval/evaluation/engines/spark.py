"""Runs measured on a Spark cluster: each worker measures some of the users, with the kernels of one machine.

The recommendations stay on the cluster, spread over it by user. What they are evaluated against (test and train set,
catalogue) is read where the evaluation was started and sent to the workers, so it has to fit into their memory. The
values of all users come back, and are summed up in one order: the result is that of the local engine.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.data.column_roles import RUN_ROLES, find_roles
from trueval.data.failures import empty
from trueval.data.ids import plain
from trueval.data.logged_tables import LOG_FILES, check_whole, scan_logged
from trueval.data.missing_ids import ids_missing, what_to_do
from trueval.data.read import locate
from trueval.data.run_tables import read_run
from trueval.data.tables import parquet_parts
from trueval.errors import DataError, DefinitionError, TruevalError
from trueval.evaluation.engines.plan import MeasurementPlan, Partition, RunOptions
from trueval.evaluation.held_out import HeldOut
from trueval.evaluation.measure_and_conclude import MeasuredSystem
from trueval.evaluation.options import specs_of
from trueval.facts.truth import check_common_ids
from trueval.kernels import use_threads
from trueval.metrics.compute import inputs_of
from trueval.progress import bars_are_shown, note

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Recommendations that a worker has in memory at once.
PART_ROWS = 2_000_000

# The answer of a worker: what was measured, or what is wrong with its rows.
Answer = Partition | TruevalError | None


def here(source: Any) -> Any:
    """A test set, train set or catalogue of the cluster, brought here; others as they are."""
    if not _is_on_cluster(source):
        return source
    with _spark_errors(str(source)):
        return pl.DataFrame(_table(source).toArrow())


def items_of(source: Any, how: RunOptions) -> pl.Series:
    """The items a run recommends."""
    with _spark_errors(str(source)):
        return _distinct(_recommendations(source, how), "item", str(source))


def measure_run(source: Any, name: str, held_out: HeldOut, how: RunOptions, *, first: bool) -> MeasuredSystem:
    """Measure one run."""
    with _spark_errors(name):
        rows = _recommendations(source, how)
        number = rows.count()
        if not number:
            raise empty(name)
        ids = {role: _distinct(rows, role, name) for role in ("user", "item")}
        plan = MeasurementPlan.of(name, held_out, ids, first=first)
        check_common_ids(ids["user"], ids["item"], plan.truth, name)
        return plan.merge(_parts(rows, number, plan))


def _parts(rows: DataFrame, number: int, plan: MeasurementPlan) -> list[Partition]:
    """What the workers measured; what they found wrong is raised here."""
    context = rows.sparkSession.sparkContext
    parts = max(-(-number // PART_ROWS), min(context.defaultParallelism, -(-number // 10_000)))
    unit = "partition" if parts == 1 else "partitions"
    note(f"{plan.name}: {number:,} recommendations on Spark, {parts:,} {unit} by user")
    sent = context.broadcast(_sent(plan))

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return answer_part(batches, sent.value)

    try:
        answers = rows.repartition(parts, "user").mapInArrow(work, "answer binary").toArrow()
    finally:
        sent.destroy()
    found: list[Answer] = [pickle.loads(answer.as_py()) for answer in answers["answer"]]
    wrong = [answer for answer in found if isinstance(answer, TruevalError)]
    if wrong:
        raise min(wrong, key=str)  # not whichever worker was first
    return [answer for answer in found if isinstance(answer, Partition)]


def _sent(plan: MeasurementPlan) -> MeasurementPlan:
    """The plan without what the workers do not need."""
    options, context = plan.options, plan.prepared.context
    needed = {name for spec in specs_of(options).values() for name in inputs_of(spec)}
    metrics = options.metrics if isinstance(options.metrics, str) else [str(one) for one in options.metrics]
    options = replace(options, metrics=metrics, by=None, users=None, only_users=None, propensity=None)
    context = replace(context, options=options, inputs=context.inputs.only(needed))
    return replace(plan, prepared=replace(plan.prepared, context=context, removed_head=None), ids={})


def answer_part(batches: Iterable[pa.RecordBatch], plan: MeasurementPlan) -> Iterator[pa.RecordBatch]:
    """On a worker: measure the users of a partition. Errors travel as answers, since Spark loses their messages."""
    import pyarrow as pa
    from pyspark.cloudpickle import dumps  # system metrics carry the function that ends them

    tables = [batch for batch in batches if batch.num_rows]
    if not tables:
        return
    try:
        with use_threads(1):  # Spark has a worker for every core
            answer = _measured(pl.DataFrame(pa.Table.from_batches(tables)), plan)
    except TruevalError as error:
        answer = error
    yield pa.RecordBatch.from_pydict({"answer": pa.array([dumps(answer)], pa.binary())})


def _refuse_order_of_rows(run: pl.DataFrame, ties: str, compat: str | None) -> None:
    """Refuse equal scores that are to stay in the order of rows, which Spark does not keep."""
    ranks_count = "rank" in run.columns and not (ties == "ranx" and "score" in run.columns)
    if ranks_count or ("score" in run.columns and not run.select("user", "score").is_duplicated().any()):
        return
    raise DefinitionError(
        f"Spark does not keep the order of rows, which ties={ties} needs",
        found=f"ties={ties}" + (f", set by compat={compat}" if compat else ""),
        do="use another rule for ties, or the local engine",
    )


def _measured(frame: pl.DataFrame, plan: MeasurementPlan) -> Answer:
    run = read_run(frame)
    if plan.options.ties in ("given", "ranx"):
        _refuse_order_of_rows(run, plan.options.ties, plan.options.compat)
    codes = np.unique(plan.truth.users.codes(run["user"]))
    codes = codes[codes >= 0]
    return plan.part(run, codes) if len(codes) else None


def _recommendations(source: Any, how: RunOptions) -> DataFrame:
    """The rows of a run as a table of Spark, columns named by their roles."""
    if _is_on_cluster(source):
        frame = _table(source)
    elif isinstance(source, str | Path) and _spark_reads(locate(source)):
        frame = _table(locate(source).resolve().as_uri())
    else:
        return _session().createDataFrame(read_run(source, columns=how.run_columns).to_arrow())
    roles = find_roles(frame.columns, how.run_columns, roles=RUN_ROLES, where=str(source))
    return frame.select(*(frame[f"`{column}`"].alias(role) for role, column in roles.items()))


def _spark_reads(path: Path) -> bool:
    """Whether Spark reads a path as it is meant: parquet, but no table with a log, of which it takes all files."""
    if path.is_dir() and scan_logged(path) is None:
        return bool(parquet_parts(path))
    if path.is_file() and path.suffix == ".parquet":
        check_whole(path)
        return True
    return False


def _distinct(rows: DataFrame, role: str, where: str) -> pl.Series:
    """The users or items of a run."""
    found = pl.DataFrame(rows.select(role).distinct().toArrow())[role]
    if found.null_count():
        without = rows.filter(rows[role].isNull()).count()
        raise ids_missing(
            role, where=f"{where}, column {role}", found=f"{without:,} rows", do=what_to_do(role)
        )  # fmt: skip
    return plain(found, where=f"{where}, column {role}")


def _is_on_cluster(source: Any) -> bool:
    """Whether this is a table of Spark, or an address that Spark knows (hdfs://…, s3a://…)."""
    return _is_frame(source) or (isinstance(source, str) and "://" in source)


def _is_frame(source: Any) -> bool:
    return type(source).__module__.startswith("pyspark.sql.")


def _table(source: Any) -> DataFrame:
    if _is_frame(source):
        frame: DataFrame = source
        return frame
    _refuse_log(source)
    return _session().read.parquet(source)


def _refuse_log(address: str) -> None:
    """Refuse a table with a log: Spark would take all its files, also those whose rows were overwritten."""
    from pyspark.errors import AnalysisException

    for name, kind in LOG_FILES.items():
        try:
            _session().read.text(f"{address.rstrip('/')}/{name}").schema  # noqa: B018  it looks for the files
        except AnalysisException:
            continue
        raise DataError(
            "the folder has a log that says which rows count, which Spark does not follow here", where=address,
            found=kind, do="give the table as a DataFrame: evaluate_run(spark.table(…), …)",
        )  # fmt: skip


def _session() -> SparkSession:
    """The session in use, or a new one as Spark is set up here (without a cluster: on this machine)."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if (used := SparkSession.getActiveSession()) is not None:
        return used
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # where workers are on this machine, they find trueval
    # what goes wrong comes as an exception; the log would add a hundred lines of Java to it
    settings: dict[str, Any] = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": bars_are_shown()}
    if not {"", os.getcwd()} & set(sys.path):  # workers are started in a way that would import from there
        settings["spark.executorEnv.PYTHONSAFEPATH"] = "1"
    try:
        return SparkSession.builder.appName("trueval").config(map=settings).getOrCreate()
    except (PySparkException, RuntimeError) as error:
        raise DefinitionError(
            "Spark could not be started", found=_gist(error), do="install Java 17 or newer, or set JAVA_HOME"
        ) from error


@contextmanager
def _spark_errors(where: str) -> Iterator[None]:
    """Raise failures of Spark as errors of trueval; its warnings about pandas concern nothing that is used here."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession  # noqa: F401
    except ImportError as error:
        raise DefinitionError(
            "the Spark engine needs PySpark", found=str(error), do="install it: pip install 'trueval[spark]'"
        ) from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        try:
            yield
        except (Py4JError, PySparkException) as error:
            found = _gist(error)
            do = "check the file and the cluster"
            if "No module named" in found:
                do = "install trueval for the Python of the workers (PYSPARK_PYTHON)"
            raise DataError("Spark failed", where=where, found=found, do=do) from error


def _gist(error: Exception) -> str:
    """The line of a long message that says what happened."""
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip(" :")]
    errors = [line for line in lines if "Error:" in line or "Exception:" in line]
    return (errors or lines or [type(error).__name__])[0][:300]
