"""The loops of kernels that are called without numba once they are compiled (see `machine_code`).

Such a loop takes arrays and numbers, returns nothing or a number, allocates nothing and raises nothing: its machine
code then refers to nothing outside of it.
"""

# Lists up to this length are put in order by counting: it lets the processor guess nothing, and for a hundred
# scores takes a third of the time that sorting does.
COUNTED = 256
LANES = 16  # numbers of 32 bits that a processor compares at a time
