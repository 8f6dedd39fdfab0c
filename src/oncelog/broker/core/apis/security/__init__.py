"""APIs of ACLs, SCRAM users and logins."""
