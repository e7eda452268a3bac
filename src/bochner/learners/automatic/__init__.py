"""Everything that learners choose by themselves: map, bandwidth, scaling and penalty.

`leave_one_out` chooses for classes, `evidence` for numbers, `penalty` chooses α where
moments do not give it.
"""
