-- Times are unix milliseconds; `hour` and `day` are unix hours and days. Text is already cut and cleaned (src/event.rs).

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
);

CREATE TABLE projects (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    public_origin TEXT,
    created_ms    BIGINT NOT NULL
);

-- A key is known by its SHA-256 only. signing_key is derived from it and checks feedback ids; it stays when the key retires.
CREATE TABLE project_keys (
    id          INTEGER PRIMARY KEY,
    project_id  BIGINT NOT NULL REFERENCES projects (id),
    sha256      BLOB NOT NULL UNIQUE,
    signing_key TEXT NOT NULL,
    created_ms  BIGINT NOT NULL,
    retired_ms  BIGINT
);
CREATE INDEX project_keys_by_project ON project_keys (project_id);

CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    project_id  BIGINT NOT NULL,
    event_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    received_ms BIGINT NOT NULL,
    feedback_id TEXT,
    body        TEXT NOT NULL
);
CREATE UNIQUE INDEX events_once ON events (project_id, event_id);
CREATE INDEX events_by_project ON events (project_id, id);
CREATE INDEX events_by_feedback_id ON events (project_id, feedback_id) WHERE feedback_id IS NOT NULL;
CREATE INDEX events_escalations ON events (project_id, id) WHERE kind = 'escalation';

-- matched = 0: the call's event has not arrived yet. settled: 1, 0, or NULL when no receipt was seen.
CREATE TABLE ratings (
    project_id      BIGINT NOT NULL,
    feedback_id     TEXT NOT NULL,
    outcome         TEXT NOT NULL,
    issue           TEXT,
    note            TEXT,
    via             TEXT NOT NULL,
    user_agent      TEXT,
    request_headers TEXT,
    created_ms      BIGINT NOT NULL,
    updated_ms      BIGINT NOT NULL,
    matched         BIGINT NOT NULL DEFAULT 0,
    route           TEXT,
    status          BIGINT,
    settled         BIGINT,
    PRIMARY KEY (project_id, feedback_id)
);
CREATE INDEX ratings_by_time ON ratings (project_id, created_ms);
CREATE INDEX ratings_waiting ON ratings (created_ms) WHERE matched = 0;

-- Counted once per stored event, in the event's own transaction, so figures cost the same at any size.
-- latency_0..10: calls up to 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000 ms, and above.
CREATE TABLE route_hours (
    project_id BIGINT NOT NULL,
    hour       BIGINT NOT NULL,
    route      TEXT NOT NULL,
    challenges BIGINT NOT NULL,
    paid       BIGINT NOT NULL,
    settled    BIGINT NOT NULL,
    unsettled  BIGINT NOT NULL,
    delivered  BIGINT NOT NULL,
    client_errors BIGINT NOT NULL,
    server_errors BIGINT NOT NULL,
    discoveries BIGINT NOT NULL,
    visits     BIGINT NOT NULL,
    escalations BIGINT NOT NULL,
    others     BIGINT NOT NULL,
    latency_0  BIGINT NOT NULL,
    latency_1  BIGINT NOT NULL,
    latency_2  BIGINT NOT NULL,
    latency_3  BIGINT NOT NULL,
    latency_4  BIGINT NOT NULL,
    latency_5  BIGINT NOT NULL,
    latency_6  BIGINT NOT NULL,
    latency_7  BIGINT NOT NULL,
    latency_8  BIGINT NOT NULL,
    latency_9  BIGINT NOT NULL,
    latency_10 BIGINT NOT NULL,
    PRIMARY KEY (project_id, hour, route)
) WITHOUT ROWID;

-- kind: agent, client or user_agent.
CREATE TABLE caller_days (
    project_id BIGINT NOT NULL,
    day        BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    events     BIGINT NOT NULL,
    paid       BIGINT NOT NULL,
    PRIMARY KEY (project_id, day, kind, name)
) WITHOUT ROWID;
