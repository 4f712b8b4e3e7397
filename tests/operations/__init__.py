"""The program as an operator runs it: processes of its own on a PostgreSQL of its own, stopped and started."""
