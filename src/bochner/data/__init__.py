"""Data: what the user has (arrays, frames, files) as a stream of blocks of rows.

`blocks` opens files (`formats`) and iterables as a `stream`; `tables` reads columns by
name; `table_kinds`, `table_transformer` and `column_readers` turn columns of text,
categories and dates into numbers.
"""

from .blocks import blocks
from .stream import Blocks

__all__ = ["Blocks", "blocks"]
