"""Every use of unstable parts of PySpark and Spark's JVM: private attributes, internal Scala classes, English texts.

Called by the rest of the package as ``module.function(...)``, so each call shows that it uses a private API. Of this
package it imports only the state that a process keeps. Each use is a
:class:`~oncelog.spark.private_apis.uses.PrivateApi`: a function, its requirements, the versions on which it was tested,
its benefit, and a fallback. Where Spark no longer has the API, the fallback is used, and this is logged once at info
level.

The modules are ``workers`` (Spark's Python workers), ``driver`` (its JVM), ``streams`` (queries), ``jobs`` (scheduler),
``plans`` (DataFrames and types), ``bounds``, and ``texts`` and ``java_errors``, which parse Spark's messages.
"""
