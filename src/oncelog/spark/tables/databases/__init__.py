"""Tables in databases: PostgreSQL and SQLite, rows and identity in one transaction."""
