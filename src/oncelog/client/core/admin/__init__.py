"""Arguments and results of the admin client."""
