"""Arguments and results of the admin client.

Called by ``client.aio.admin``; code that shows results imports the types, too. It may import ``protocol`` and
``client.core``.
"""
