"""The command line: `bochner`, also `python -m bochner`.

What commands do stands in `opening`, `fitting`, `predicting` and `describing`, without
printing; `main`, `compare_commands` and `model_commands` parse and print.
"""
