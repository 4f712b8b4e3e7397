"""Operations checks: real processes on a separate PostgreSQL server, stopped and started."""
