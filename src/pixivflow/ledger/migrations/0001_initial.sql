-- The first schema. States are repeated in CHECKs so that no writer, ours or a person with a shell, can store a
-- state the code does not know. Times are epoch milliseconds.

CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired')),
  -- What is still to be done: works to collect, deliveries to wait for, nothing.
  phase TEXT NOT NULL CHECK (phase IN ('collect', 'deliver', 'done')),
  plan_id TEXT NOT NULL,
  account TEXT NOT NULL,
  trigger_source TEXT NOT NULL,
  idempotency_key TEXT UNIQUE,
  correlation_id TEXT,
  callback_url TEXT,
  labels TEXT,
  params TEXT,
  -- The targets as they were at admission: a running job keeps its snapshot when the config changes.
  snapshot TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  deadline_at INTEGER,
  heartbeat_at INTEGER,
  progress_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  stage TEXT NOT NULL DEFAULT 'queued',
  stage_message TEXT,
  reason TEXT,
  message TEXT,
  CHECK ((state IN ('succeeded', 'failed', 'cancelled', 'expired')) = (finished_at IS NOT NULL)),
  CHECK ((state IN ('succeeded', 'failed', 'cancelled', 'expired')) = (phase = 'done')),
  CHECK (state <> 'queued' OR started_at IS NULL),
  CHECK (state <> 'succeeded' OR reason IS NULL),
  CHECK (state NOT IN ('failed', 'cancelled', 'expired') OR reason IS NOT NULL)
) STRICT;
-- What may be granted next is found through this small index however many jobs have ended.
CREATE INDEX jobs_to_collect ON jobs (account, seq) WHERE phase = 'collect';
CREATE INDEX jobs_open ON jobs (deadline_at, seq) WHERE phase <> 'done';
CREATE INDEX jobs_by_state ON jobs (state, seq);
-- Two for the type: an order by number over one state, and over all.
CREATE INDEX jobs_by_type ON jobs (type, seq);
CREATE INDEX jobs_by_type_and_state ON jobs (type, state, seq);
CREATE INDEX jobs_by_correlation ON jobs (correlation_id, seq) WHERE correlation_id IS NOT NULL;

CREATE TABLE attempts (
  id TEXT PRIMARY KEY,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  number INTEGER NOT NULL,
  account TEXT NOT NULL,
  slot INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('granted', 'running', 'done', 'lost')),
  -- Repeats the state, because a comparison with one number is ten times cheaper than with a list of words.
  live INTEGER NOT NULL DEFAULT 1 CHECK (live = (state IN ('granted', 'running'))),
  owner TEXT,
  granted_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  lease_until INTEGER NOT NULL,
  UNIQUE (job_id, number)
) STRICT, WITHOUT ROWID;
-- At most one live attempt per place of an account, and one per job: the database says so, not a process.
CREATE UNIQUE INDEX attempts_live_slot ON attempts (account, slot) WHERE live = 1;
CREATE UNIQUE INDEX attempts_live_job ON attempts (job_id) WHERE live = 1;

-- When an account was last freed, without reading its history.
CREATE INDEX attempts_by_account ON attempts (account, ended_at);

CREATE TABLE cells (
  job_id TEXT NOT NULL REFERENCES jobs (id),
  target_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  work_type TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'selected', 'artifact_ready', 'delivery_pending', 'submitted',
                                       'stored', 'no_candidate', 'duplicate', 'failed')),
  reason TEXT,
  message TEXT,
  report TEXT,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (job_id, target_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE picks (
  job_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  work_type TEXT NOT NULL,
  work_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('selected', 'artifact_ready', 'delivery_pending', 'submitted', 'stored',
                                       'duplicate', 'failed')),
  reason TEXT,
  message TEXT,
  -- What the consumer is told of the work, frozen when it became ready; files may change, an ended job may not.
  described TEXT,
  updated_at INTEGER NOT NULL,
  -- A work can be claimed by only one cell of a job.
  PRIMARY KEY (job_id, work_type, work_id),
  FOREIGN KEY (job_id, target_id) REFERENCES cells (job_id, target_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX picks_by_cell ON picks (job_id, target_id, ordinal);
CREATE INDEX picks_by_work ON picks (work_type, work_id);

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  visible INTEGER NOT NULL,
  terminal INTEGER NOT NULL,
  detail TEXT
) STRICT;
CREATE INDEX events_by_job ON events (job_id, seq) WHERE visible = 1;
CREATE UNIQUE INDEX events_one_end ON events (job_id) WHERE terminal = 1;
-- Each visible kind happens once to a job.
CREATE UNIQUE INDEX events_once ON events (job_id, kind) WHERE visible = 1;

CREATE TABLE event_cursors (
  job_id TEXT PRIMARY KEY REFERENCES jobs (id),
  acked_seq INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
  key TEXT PRIMARY KEY,
  route TEXT NOT NULL,
  job_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  work_type TEXT NOT NULL,
  work_id TEXT NOT NULL,
  storage TEXT NOT NULL CHECK (storage IN ('persistent', 'cache', 'gone')),
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'duplicate', 'failed', 'dead', 'cancelled')),
  remote_id TEXT,
  error_class TEXT,
  detail TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_by_work ON deliveries (work_type, work_id, route);
-- Works whose files are still to be removed; `gone` once they are, so that this stays small.
CREATE INDEX deliveries_in_cache ON deliveries (work_type, work_id) WHERE storage = 'cache';
CREATE INDEX deliveries_by_pick ON deliveries (job_id, target_id, work_type, work_id);

CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  route TEXT NOT NULL,
  job_id TEXT,
  payload TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'processing', 'retry_wait', 'done', 'dead', 'cancelled')),
  attempt INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  lease_until INTEGER,
  token TEXT,
  error_class TEXT,
  detail TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (kind, key),
  CHECK ((state = 'processing') = (token IS NOT NULL))
) STRICT;
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE state IN ('pending', 'retry_wait');
CREATE INDEX outbox_leased ON outbox (lease_until) WHERE state = 'processing';
CREATE INDEX outbox_by_job ON outbox (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX outbox_by_state ON outbox (state, id);

CREATE TABLE works (
  type TEXT NOT NULL,
  id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('incomplete', 'reduced', 'complete')),
  title TEXT NOT NULL,
  author_id TEXT NOT NULL,
  author_name TEXT NOT NULL,
  page_count INTEGER NOT NULL,
  created_at TEXT,
  first_seen_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (type, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX works_recent ON works (updated_at);

-- A path is claimed before its file is written, so that a file found there after a crash is known to be ours.
CREATE TABLE files (
  path TEXT PRIMARY KEY,
  work_type TEXT NOT NULL,
  work_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('reserved', 'complete', 'removed')),
  role TEXT,
  number INTEGER,
  key TEXT,
  bytes INTEGER,
  sha256 TEXT,
  mime TEXT,
  width INTEGER,
  height INTEGER,
  quality TEXT,
  source_url TEXT,
  duration_ms INTEGER,
  updated_at INTEGER NOT NULL,
  CHECK (state <> 'complete' OR (role IS NOT NULL AND sha256 IS NOT NULL AND bytes IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_work ON files (work_type, work_id);

CREATE TABLE author_folders (
  author_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  bound_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE account_state (
  account TEXT PRIMARY KEY,
  tokens TEXT,
  gate TEXT,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
