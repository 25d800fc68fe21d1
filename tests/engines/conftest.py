"""A Spark of two cores on this machine, started once for each process of tests."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    sql = pytest.importorskip("pyspark.sql", reason="no PySpark here: pip install 'trueval[spark]'")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("no Java here, which Spark needs")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        session = (
            sql.SparkSession.builder.master("local[2]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "OFF")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
    yield session
    session.stop()
