"""``oncelog verify copy``: is each committed record of a topic once in another one, in its key's order?"""
