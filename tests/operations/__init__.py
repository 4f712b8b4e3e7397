"""The program as an operator runs it: real processes on a PostgreSQL of their own, stopped and started."""
