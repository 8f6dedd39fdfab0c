"""Every use of what PySpark and Spark's JVM do not promise: private attributes, Scala's own classes, English texts.

Called by the rest of the package as ``module.function(...)``, so a call says where the ground is private. Imports
nothing of this package but what a process keeps.

Each use is a :class:`~oncelog.spark.private_apis.uses.PrivateApi`: a function, what it needs, the versions on which it
was seen, what it buys, and another way that is taken, and said once at info level, where Spark no longer has it. By
place: ``workers`` (Spark's Python workers), ``driver`` (its JVM), ``streams`` (queries), ``jobs`` (scheduler),
``plans`` (DataFrames and types); ``texts`` and ``java_errors`` go by what Spark says.
"""
