# The image of PostgreSQL runs this once, when docker-compose.yml creates the database. `migrate` grants the role its rights.
psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
\set password `cat /run/secrets/web_password`
CREATE ROLE cognireview_web LOGIN PASSWORD :'password';
SQL
