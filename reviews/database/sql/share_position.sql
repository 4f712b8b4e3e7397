-- Returns the position of a record in [0, 1) for a purpose: a share contains the records below it.
-- Called for the generated column evaluation.blind_position. Keep it equal to allocation.position in Python.
-- A parsed body, because a restore finds no function by an unqualified name.
CREATE FUNCTION share_position(purpose text, record text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || left(encode(sha256(convert_to(purpose || ':' || record, 'UTF8')), 'hex'), 12))::bit(48)::bigint
    / 281474976710656.0::float8;
