"""APIs of settings and quotas."""
