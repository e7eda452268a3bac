"""Tables as they come: numbers, categories and dates, with cells missing, to numbers.

`tables` looks at a table and gives the ColumnTransformer that stands before a map or an
estimator in a Pipeline; `readers` are its parts that take cells of any form, which
`cells` reads. All can be saved and exported.
"""

from .data.column_readers import DateParts, Numbers, Texts
from .data.table_kinds import for_table, kinds, median_filler

__all__ = ["DateParts", "Numbers", "Texts", "for_table", "kinds", "median_filler"]
