"""The triggers that note changes, in the transaction that makes them, whatever statement does it.

Each statement that changes rows of a noted table adds an entry a row, or one for all where there are many.
"""

from __future__ import annotations

import hashlib
from functools import cache

import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal

from observatory.store.audit.actor import SETTING
from observatory.store.audit.subjects import PSEUDONYM, Subject, subjects

TABLE = "clusters_auditentry"
UPKEEP = "observatory.audit_upkeep"
"""a setting of the transaction in which entries may be changed and deleted: retention, forgetting people"""
MOST_SINGLE = 20
"""rows of a statement that have an entry each"""
MOST_NAMED = 5
"""of more rows: those whose names are noted"""
LONGEST_VALUE = 500
"""characters"""
LOCK = 4783 << 48
"""an advisory lock whose number, beyond this, is the newest entry as its transaction began to add some"""
SCHEMA = "observatory_audit"
PERSONAL = "ARRAY['username', 'first_name', 'last_name', 'email', 'uid', 'name', 'user_name', 'external_id']"
"""columns of what belongs to a person that tell who it is"""

BASE = f"""
CREATE FUNCTION {SCHEMA}.shown(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN length(value::text) > {LONGEST_VALUE}
        THEN to_jsonb(left(value #>> '{{}}', {LONGEST_VALUE}) || '…') ELSE value END $$;

CREATE FUNCTION {SCHEMA}.fields(earlier jsonb, later jsonb, columns text[], hidden text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_object_agg(name, jsonb_build_array(
        CASE WHEN name = ANY(hidden) AND earlier ->> name <> '' THEN '"hidden"'
            ELSE {SCHEMA}.shown(earlier -> name) END,
        CASE WHEN name = ANY(hidden) AND later ->> name <> '' THEN '"hidden"'
            ELSE {SCHEMA}.shown(later -> name) END)), '{{}}')
    FROM unnest(columns) name
    WHERE coalesce(earlier -> name, 'null') <> coalesce(later -> name, 'null')
        AND NOT (coalesce(earlier ->> name, '') IN ('', '[]', '{{}}')
            AND coalesce(later ->> name, '') IN ('', '[]', '{{}}')) $$;

CREATE FUNCTION {SCHEMA}.actor() RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT nullif(current_setting('{SETTING}', true), '')::jsonb $$;

CREATE FUNCTION {SCHEMA}.before_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- readers learn by the lock which entries are not committed yet, and do not read past them
    IF current_setting('observatory.audit_locked', true) IS DISTINCT FROM txid_current()::text THEN
        PERFORM pg_advisory_xact_lock_shared({LOCK} + (SELECT last_value FROM {TABLE}_id_seq));
        PERFORM set_config('observatory.audit_locked', txid_current()::text, true);
    END IF;
    NEW.id := nextval('{TABLE}_id_seq');
    IF NOT EXISTS (SELECT FROM auth_user WHERE id = NEW.actor_id) AND NEW.actor_id IS NOT NULL THEN
        NEW.actor_name := '{PSEUDONYM}' || NEW.actor_id;
        NEW.token := '';
        NEW.address := '';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER audit_numbers BEFORE INSERT ON {TABLE}
    FOR EACH ROW EXECUTE FUNCTION {SCHEMA}.before_entry();

CREATE FUNCTION {SCHEMA}.keep_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('{UPKEEP}', true) = 'on' THEN
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are not changed and not deleted' USING ERRCODE = '42501';
END $$;
CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON {TABLE}
    FOR EACH ROW EXECUTE FUNCTION {SCHEMA}.keep_entry();

CREATE FUNCTION {SCHEMA}.add(action text, kind text, key text, name text, person int, projects int[],
    changes jsonb, rows bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE actor jsonb := {SCHEMA}.actor();
BEGIN
    INSERT INTO {TABLE} (at, actor_kind, actor_name, actor_id, token, address, door, action, kind, subject_id,
        subject, person_id, projects, changes, rows)
    VALUES (clock_timestamp(), coalesce(actor ->> 'kind', 'system'),
        left(coalesce(actor ->> 'name', ''), 200),
        (actor ->> 'person')::int, left(coalesce(actor ->> 'token', ''), 200),
        left(coalesce(actor ->> 'address', ''), 100), coalesce(actor ->> 'door', ''), action, kind,
        left(coalesce(key, ''), 200), left(coalesce(name, ''), 300), person, projects, changes, rows);
END $$;
"""
FUNCTION = """
CREATE FUNCTION {schema}.{function}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE found bigint; earlier text; actor jsonb := {schema}.actor();
BEGIN
    IF ({only_of_people} AND actor IS NULL)
            OR (NOT {always} AND actor ->> 'is_noted' = 'false') THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        SELECT count(*) INTO found FROM rows_before b JOIN rows_after r ON b.{key} = r.{key} WHERE {differs};
    ELSIF TG_OP = 'INSERT' THEN
        SELECT count(*) INTO found FROM rows_after;
    ELSE
        SELECT count(*) INTO found FROM rows_before;
    END IF;
    IF found = 0 THEN
        RETURN NULL;
    ELSIF TG_OP = 'UPDATE' AND found <= {single} THEN
        PERFORM {schema}.add({changed_action}, {kind}, r.{key}::text, {name}, {person}, {projects},
                {schema}.fields(to_jsonb(b), to_jsonb(r), {columns}, {hidden}), 1)
            FROM rows_before b JOIN rows_after r ON b.{key} = r.{key} WHERE {differs} ORDER BY r.{key};
    ELSIF TG_OP = 'INSERT' AND found <= {single} THEN
        PERFORM {schema}.add('make', {kind}, r.{key}::text, {name}, {person}, {projects},
                {schema}.fields('{{}}', to_jsonb(r), {columns}, {hidden}), 1)
            FROM rows_after r ORDER BY r.{key};
    ELSIF TG_OP = 'DELETE' AND found <= {single} THEN
        PERFORM {schema}.add('delete', {kind}, r.{key}::text, {name}, {person}, {projects},
                {schema}.fields(to_jsonb(r), '{{}}', {columns}, {hidden}), 1)
            FROM rows_before r ORDER BY r.{key};
    ELSIF TG_OP = 'UPDATE' THEN
        PERFORM {schema}.add_many({changed_action_of_many}, {kind}, found,
            ARRAY(SELECT {many_name} FROM rows_after r JOIN rows_before b ON b.{key} = r.{key} WHERE {differs}
                ORDER BY r.{key} LIMIT {named}),
            ARRAY(SELECT DISTINCT unnest({projects}) FROM rows_after r
                JOIN rows_before b ON b.{key} = r.{key} WHERE {differs}));
    ELSIF TG_OP = 'INSERT' THEN
        PERFORM {schema}.add_many('make', {kind}, found,
            ARRAY(SELECT {many_name} FROM rows_after r ORDER BY r.{key} LIMIT {named}),
            ARRAY(SELECT DISTINCT unnest({projects}) FROM rows_after r));
    ELSE
        PERFORM {schema}.add_many('delete', {kind}, found,
            ARRAY(SELECT {many_name} FROM rows_before r ORDER BY r.{key} LIMIT {named}),
            ARRAY(SELECT DISTINCT unnest({projects}) FROM rows_before r));
    END IF;
    {then}
    RETURN NULL;
END $$;
"""
ADD_PROJECTS = f"""
    IF TG_OP = 'INSERT' THEN
        earlier := coalesce(current_setting('{UPKEEP}', true), '');
        PERFORM set_config('{UPKEEP}', 'on', true);
        UPDATE {TABLE} entry SET projects = entry.projects || added.projects
            FROM (SELECT {{source}}::text AS subject, array_agg({{project}}) AS projects
                FROM rows_after GROUP BY {{source}}) added
            WHERE entry.at >= transaction_timestamp() AND entry.action = 'make' AND entry.kind = {{made}}
                AND entry.subject_id = added.subject;
        PERFORM set_config('{UPKEEP}', earlier, true);
    END IF;
"""
"""a row is made before it is put into projects; their owners read that it was made, in one transaction"""
MANY = f"""
CREATE FUNCTION {SCHEMA}.add_many(action text, kind text, rows bigint, names text[], projects int[])
RETURNS void LANGUAGE sql AS $$
    SELECT {SCHEMA}.add(action, kind, '', array_to_string(names, ', ') || ', …', NULL, projects, '{{}}', rows)
$$;
"""
FORGETTING = f"""
CREATE FUNCTION {SCHEMA}.forget() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE earlier text := coalesce(current_setting('{UPKEEP}', true), '');
BEGIN
    PERFORM set_config('{UPKEEP}', 'on', true);
    UPDATE {TABLE} entry SET actor_name = '{PSEUDONYM}' || gone.id, token = '', address = ''
        FROM rows_before gone WHERE entry.actor_id = gone.id;
    UPDATE {TABLE} entry SET subject = '{PSEUDONYM}' || gone.id, changes = changes - {PERSONAL}::text[],
            address = CASE WHEN entry.actor_kind = 'unknown' THEN '' ELSE entry.address END
        FROM rows_before gone WHERE entry.person_id = gone.id;
    PERFORM set_config('{UPKEEP}', earlier, true);
    RETURN NULL;
END $$;
-- PostgreSQL runs it after audit_delete, as the names say
CREATE TRIGGER audit_forget AFTER DELETE ON auth_user REFERENCING OLD TABLE AS rows_before
    FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.forget();
"""
"""who is deleted stays under a pseudonym: the number, which is never used again, links the entries"""
REFERENCING = {
    "INSERT": "REFERENCING NEW TABLE AS rows_after",
    "UPDATE": "REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after",
    "DELETE": "REFERENCING OLD TABLE AS rows_before",
}


def are_current(connection: psycopg.Connection) -> bool:
    """Whether the triggers are there as this version has them."""
    row = connection.execute(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s", [SCHEMA]
    ).fetchone()
    return row is not None and row[0] == _digest(connection)


def create_triggers(connection: psycopg.Connection) -> None:
    """Make the triggers as this version has them. Needs all tables."""
    with connection.transaction():
        drop_triggers(connection)
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(SCHEMA)))
        for statement in _definitions():
            connection.execute(statement)
        comment = SQL("COMMENT ON SCHEMA {} IS {}")
        connection.execute(comment.format(Identifier(SCHEMA), Literal(_digest(connection))))


def drop_triggers(connection: psycopg.Connection) -> None:
    """Before migrations: the functions name columns. Changes meanwhile are not noted."""
    connection.execute(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(SCHEMA)))


def _digest(connection: psycopg.Connection) -> str:
    text = "".join(statement.as_string(connection) for statement in _definitions())
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _definitions() -> list[Composed]:
    found: list[Composed] = [_text(BASE), _text(MANY)]
    for subject in subjects():
        found += [_function(subject), *(_trigger(subject, operation) for operation in subject.operations)]
    found.append(_text(FORGETTING))
    return found


def _function(subject: Subject) -> Composed:
    is_revoked = "CASE WHEN b.revoked IS NULL AND r.revoked IS NOT NULL THEN 'revoke' ELSE 'change' END"
    compared = [SQL("b.{0} IS DISTINCT FROM r.{0}").format(Identifier(column)) for column in subject.columns]
    name = _text(subject.name)
    return SQL(FUNCTION).format(
        schema=Identifier(SCHEMA),
        function=Identifier(subject.table),
        key=Identifier(subject.key),
        kind=Literal(subject.kind),
        name=name,
        # a list of people would have no one whose leaving takes the names out of it
        many_name=name if subject.person == "NULL" else SQL("'account ' || {}").format(_text(subject.person)),
        person=_text(subject.person),
        projects=_text(subject.projects),
        columns=_array(subject.columns),
        hidden=_array(subject.hidden),
        differs=SQL("({})").format(SQL(" OR ").join(compared)),
        changed_action=_text(is_revoked if subject.revocable else "'change'"),
        changed_action_of_many=Literal("change"),
        only_of_people=_text(str(subject.only_of_people)),
        always=_text(str(subject.always)),
        single=Literal(MOST_SINGLE),
        named=Literal(MOST_NAMED),
        then=_add_projects(subject),
    )


def _add_projects(subject: Subject) -> Composed:
    if subject.puts_into_projects is None:
        return _text("")
    source, project, kind = subject.puts_into_projects
    return SQL(ADD_PROJECTS).format(
        source=Identifier(source), project=Identifier(project), made=Literal(kind)
    )


def _trigger(subject: Subject, operation: str) -> Composed:
    return SQL(
        "CREATE TRIGGER {name} AFTER {operation} ON {table} {referencing} "
        "FOR EACH STATEMENT EXECUTE FUNCTION {schema}.{table}()"
    ).format(
        name=Identifier(f"audit_{operation.lower()}"),
        operation=_text(operation),
        table=Identifier(subject.table),
        referencing=_text(REFERENCING[operation]),
        schema=Identifier(SCHEMA),
    )


def _text(made_here: str) -> Composed:
    """SQL of constants and of the names of tables and columns."""
    return Composed([SQL(made_here)])


def _array(names: tuple[str, ...]) -> Composed:
    return SQL("ARRAY[{}]::text[]").format(SQL(", ").join(map(Literal, names)))
