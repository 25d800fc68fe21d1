"""The description on the package index: the README without its picture, which the index cannot show."""

import re
from pathlib import Path

from setuptools import setup

readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
setup(long_description=re.sub(r"!\[[^\]]*\]\([^)]*\)\n+", "", readme), long_description_content_type="text/markdown")
