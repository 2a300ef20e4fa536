import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import pg from 'pg';
import { observer } from '../process/observer.ts';
import { BoundedClient } from './bounded-client.ts';
import { SilenceWatch } from './silence.ts';
import type { Statement } from './sql.ts';

export type { Generated, GeneratedAlways } from 'kysely';

export interface PoolOptions {
  url: string;
  /** An address for `connect` that bypasses a connection pooler, because LISTEN doesn't work through one. */
  listenUrl?: string;
  /**
   * False for a pooler that doesn't support named prepared statements: each is then sent and parsed again on every
   * call.
   */
  namedStatements?: boolean;
  /** The maximum number of connections. A request waits for one of them for at most `connectTimeoutMs`. */
  connectionsMax: number;
  applicationName: string;
  statementTimeoutMs: number;
  lockTimeoutMs: number;
  /**
   * A transaction that is idle for longer than this is rolled back: if it hung, it would delay every journal reader.
   */
  idleInTransactionTimeoutMs: number;
  connectTimeoutMs?: number;
  /** The client's timeout for a statement, for an unreachable server; by default 1 s more than the server's. */
  queryTimeoutMs?: number;
  /** The client's timeout for a transaction, from BEGIN to the response to COMMIT; 30 s by default. */
  transactionTimeoutMs?: number;
  /** If a statement gets no response for this long, its connection is checked; see `SilenceWatch`. 2 s by default. */
  silentMsMax?: number;
  /** Runs on every new connection before its first use; if it throws, the waiting request fails with that error. */
  onConnect?(db: Db): Promise<void>;
  onError(error: Error): void;
}

/** Runs statements: on the pool one by one, or inside a transaction. */
export interface Db {
  rows<Row>(statement: Statement<Row>): Promise<Row[]>;
  /** The first row, or undefined. */
  row<Row>(statement: Statement<Row>): Promise<Row | undefined>;
  /** The number of rows changed. */
  run(statement: Statement<unknown>): Promise<number>;
}

export interface Pool extends Db {
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws.
   * `work` must not call the network: an open transaction delays every reader of the journal.
   * If the response to COMMIT is lost this throws, although the transaction may be committed.
   */
  transaction<T>(work: (tx: Db, awaitWithCommit: AwaitWithCommit) => Promise<T>): Promise<T>;
  /** A connection outside the pool, for LISTEN; the caller closes it. */
  connect(): Promise<pg.Client>;
  usage(): PoolUsage;
  close(): Promise<void>;
}

/**
 * Registers a write that has been sent and whose response isn't needed before COMMIT is sent, which saves a round trip.
 * The transaction waits for the write together with COMMIT, and fails if it fails.
 */
export type AwaitWithCommit = (write: Promise<unknown>) => void;

/** The current number of connections in a pool. */
export interface PoolUsage {
  readonly inUse: number;
  readonly idle: number;
  /** Requests that wait for a connection. */
  readonly waiting: number;
}

/**
 * Every statement in a service uses an index. Without `enable_seqscan=off`, a prepared statement that is planned while
 * its tables are empty gets a sequential scan, and keeps it while they grow: the first 3,000 claims of a fresh
 * installation took 60 s instead of 3. `jit=off`: compiling costs more than any of these statements.
 */
const planningOptions = '-c TimeZone=UTC -c enable_seqscan=off -c jit=off';

/**
 * The server detects within 11 s that a client has vanished, and ends its transaction and locks. By default it would
 * check only after two hours.
 */
const keepAliveOptions = '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3';
const sessionOptions = `${planningOptions} ${keepAliveOptions}`;

const timestamptzOid = 1184;
const int8Oid = 20;
const numericOid = 1700;

/**
 * The wire format, RFC 3339 in UTC with milliseconds, converted from the server's text without a `Date`. Every column
 * that reaches the wire is timestamptz(3), so nothing is lost and the same instant prints the same everywhere.
 */
export function timestampText(text: string): string {
  // 2026-11-21 12:00:00.123+00, the format of a session whose TimeZone is UTC
  if (text.length >= 22 && text.length <= 26 && text.endsWith('+00') && text[4] === '-') {
    const fraction = text.length > 22 ? text.slice(20, -3).padEnd(3, '0') : '000';
    return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
  }
  return new Date(text).toISOString();
}

const parsers = new Map<number, (text: string) => unknown>([
  [timestamptzOid, timestampText],
  [int8Oid, Number],
  [numericOid, Number],
]);

const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    const parser = format === 'binary' ? undefined : parsers.get(oid);
    return parser ?? pg.types.getTypeParser(oid, format);
  },
};

export function createPool(options: PoolOptions): Pool {
  const pool = openPool(options);
  const watch = new SilenceWatch(pool, {
    probe: { connectionString: options.url, application_name: `${options.applicationName} (probing)` },
    silentMsMax: options.silentMsMax ?? 2000,
    onError: options.onError,
  });
  const db = dbOver((statement) => pool.query(statement), options.namedStatements);
  return {
    ...db,
    transaction: (work) => inTransaction(pool, options, work),
    async connect() {
      const client = new BoundedClient({
        connectionString: options.listenUrl ?? options.url,
        application_name: `${options.applicationName} (listening)`,
        connectionTimeoutMillis: options.connectTimeoutMs ?? 5000,
        query_timeout: queryTimeoutMsOf(options),
      });
      await client.connect();
      return client;
    },
    usage: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    async close() {
      await pool.end();
      watch.close();
    },
  };
}

/**
 * The server's timeout ends a statement first, and returns a reason; the client's timeout is for an unreachable server.
 */
function queryTimeoutMsOf({ queryTimeoutMs, statementTimeoutMs }: PoolOptions): number {
  return queryTimeoutMs ?? statementTimeoutMs + 1000;
}

function openPool(options: PoolOptions): pg.Pool {
  const { onConnect } = options;
  const pool = new pg.Pool({
    Client: BoundedClient,
    connectionString: options.url,
    max: options.connectionsMax,
    application_name: options.applicationName,
    statement_timeout: options.statementTimeoutMs,
    lock_timeout: options.lockTimeoutMs,
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5000,
    // With a pipeline, the driver closes the connection after this timeout, because later statements would wait for the
    // same response.
    query_timeout: queryTimeoutMsOf(options),
    options: sessionOptions,
    types,
    // A statement is sent without waiting for the previous one's response.
    pipeline: true,
    ...(onConnect && {
      // The pool awaits the returned promise, although its type returns void.
      // oxlint-disable-next-line typescript/no-misused-promises
      onConnect: (client: pg.ClientBase) =>
        onConnect(dbOver((statement) => client.query(statement), options.namedStatements)),
    }),
  });
  // Without this listener, a restart of the database would end the process.
  pool.on('error', options.onError);
  return pool;
}

async function inTransaction<T>(
  pool: pg.Pool,
  { transactionTimeoutMs = 30_000, namedStatements }: PoolOptions,
  work: (tx: Db, awaitWithCommit: AwaitWithCommit) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const markBroken = (error: Error) => {
    broken ??= error;
  };
  // Between two statements the pool doesn't listen, and an 'error' event without a listener would end the process.
  client.on('error', markBroken);
  const bound = discardAfter(transactionTimeoutMs, client);
  try {
    // BEGIN and the last writes are awaited together with COMMIT, which saves two round trips, a quarter of a small
    // command's time.
    const unanswered: Promise<unknown>[] = [handled(client.query('begin'))];
    const working = work(
      dbOver((statement) => client.query(statement), namedStatements),
      (write) => unanswered.push(handled(write)),
    );
    const result = await Promise.race([working, bound.reached]);
    const [committed] = await Promise.all([client.query('commit'), ...unanswered]);
    // COMMIT of a failed transaction succeeds, but with the command tag ROLLBACK.
    if (committed.command !== 'COMMIT') throw new Error(`commit answered ${committed.command}`);
    return result;
  } catch (error) {
    await client.query('rollback').catch(markBroken);
    throw error;
  } finally {
    bound.clear();
    client.off('error', markBroken);
    client.release(broken);
  }
}

/** Destroys the connection after a timeout: its statements then fail, and `reached` rejects. */
function discardAfter(ms: number, client: pg.PoolClient): { reached: Promise<never>; clear(): void } {
  let timer: NodeJS.Timeout | undefined;
  const reached = new Promise<never>((_, refuse) => {
    timer = setTimeout(() => {
      refuse(new Error(`Transaction timeout: it took longer than ${ms} ms`));
      (client as pg.Client as BoundedClient).discard();
    }, ms);
  });
  return { reached: handled(reached), clear: () => clearTimeout(timer) };
}

/**
 * If something else fails first, nothing awaits this promise; its rejection must not end the process as an unhandled
 * one.
 */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function dbOver(query: (config: pg.QueryConfig) => Promise<pg.QueryResult>, namedStatements = true): Db {
  const send = <Row>({ text, values, name }: Statement<Row>) => {
    observer()?.ran(text);
    return query(
      name === undefined || !namedStatements
        ? { text, values: values as unknown[] }
        : { text, values: values as unknown[], name },
    );
  };
  return {
    async rows<Row>(statement: Statement<Row>) {
      return (await send(statement)).rows as Row[];
    },
    async row<Row>(statement: Statement<Row>) {
      return (await send(statement)).rows[0] as Row | undefined;
    },
    async run(statement) {
      return (await send(statement)).rowCount ?? 0;
    },
  };
}

/** A query builder over `Tables` that never connects; run its queries with `db.rows(compiled(query))`. */
export function queryBuilder<Tables>(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

/** The SQLSTATE of an error that PostgreSQL raised, or undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The unique constraint or index that was violated, or undefined for any other error. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '23505' ? error.constraint : undefined;
}

const unreachableCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND']);

/** Messages of errors without a code: the connection was lost or destroyed, or none was available in time. */
const unusableMessages =
  /^(Connection terminated|timeout (exceeded when trying to connect|expired)|Query read timeout|Transaction timeout|Client (was closed|has encountered)|Cannot use a pool)/;

/** Whether an error means that the database can't be used now (down, starting, out of connections). */
export function isUnreachable(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return state.startsWith('08') || state.startsWith('57P0') || state === '53300';
  if (!(error instanceof Error)) return false;
  return (
    unreachableCodes.has((error as NodeJS.ErrnoException).code ?? '') || unusableMessages.test(error.message)
  );
}
