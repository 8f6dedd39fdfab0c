"""The pages, one module for each subject.

Called by the console's routes. They may import the rest of ``apps.console``, ``client.aio.admin``, ``schemas`` and
``apps.redrive``.
"""
