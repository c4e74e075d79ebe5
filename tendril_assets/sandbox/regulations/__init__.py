"""The sample of the regulations collection: acts of an invented regulator, questions about them and their truth.

Every clause says one thing (a facet) of one object to one kind of organisation: that is its matter, and the truth of every
query and of every pair that people graded follows from matters.
"""
