"""Window functions.

``registry`` lists the ranking functions and the functions that read other rows; ``frames`` computes aggregate
functions over frames; ``placed`` holds a result whose long values are written only when a batch needs them.
"""
